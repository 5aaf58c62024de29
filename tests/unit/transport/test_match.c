/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* A message of one byte, sent and arrived. */
static void arrive(struct duo *d, uint8_t byte, uint64_t tag)
{
	static uint8_t bytes[256];
	bytes[byte] = byte;
	duo_send(d, 0, &bytes[byte], 1, tag, NULL);
	duo_run(d, d->now + WEFT_US(50));
	duo_expect(d, 0, NULL, 0);
}

static void submit(struct duo *d, struct weft_op op)
{
	assert_int_equal(weft_submit(d->ep[1], &op), 0);
	duo_poll(d, 1);
}

static void posted__first_that_fits(void **state)
{
	struct duo d;
	uint8_t in[4] = {0};
	open_default(&d);
	duo_recv(&d, 1, &in[0], 1, 0x10, 0, &in[0]);
	duo_recv(&d, 1, &in[1], 1, 0x20, 0xf, &in[1]);
	duo_recv(&d, 1, &in[2], 1, 0, UINT64_MAX, &in[2]);
	duo_recv(&d, 1, &in[3], 1, 0, UINT64_MAX, &in[3]);
	duo_poll(&d, 1);
	arrive(&d, 1, 0x2a);
	arrive(&d, 2, 0x2b);
	arrive(&d, 3, 0x10);
	arrive(&d, 4, 0x99);
	duo_expect(&d, 1, &in[1], 0);
	assert_int_equal(duo_expect(&d, 1, &in[2], 0).tag, 0x2b);
	duo_expect(&d, 1, &in[0], 0);
	duo_expect(&d, 1, &in[3], 0);
	assert_memory_equal(in, ((uint8_t[]){3, 1, 2, 4}), 4);
	duo_close(&d);
}

static void posted__untagged_and_tagged_do_not_mix(void **state)
{
	struct duo d;
	uint8_t in[2] = {0};
	struct weft_cqe cqe;
	open_default(&d);
	submit(&d, (struct weft_op){.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = in, .len = 1, .context = in});
	arrive(&d, 1, 0);
	assert_false(duo_cqe(&d, 1, &cqe));
	duo_recv(&d, 1, &in[1], 1, 0, 0, &in[1]);
	duo_poll(&d, 1);
	duo_expect(&d, 1, &in[1], 0);
	duo_close(&d);
}

static void posted__only_from_the_peer_named(void **state)
{
	struct weft_addr other = {weft_ip_v4(0x0a000077), 5};
	struct weft_cqe cqe;
	struct duo d;
	uint8_t in[2] = {0};
	uint32_t stranger;
	open_default(&d);
	assert_int_equal(weft_peer_add(d.e[1], &other, &stranger), 0);
	struct weft_op op = {.kind = WEFT_OP_TRECV, .peer = stranger, .buf = in, .len = 1, .context = &in[0]};
	submit(&d, op);
	arrive(&d, 1, 0);
	assert_false(duo_cqe(&d, 1, &cqe));
	op.peer = d.peer[1];
	op.context = &in[1];
	submit(&d, op);
	assert_int_equal(duo_expect(&d, 1, &in[1], 0).peer, d.peer[1]);
	duo_close(&d);
}

static void unexpected__oldest_that_fits(void **state)
{
	struct duo d;
	uint8_t in[3] = {0};
	open_default(&d);
	arrive(&d, 1, 5);
	arrive(&d, 2, 6);
	arrive(&d, 3, 6);
	for (int i = 0; i < 2; i++)
		duo_recv(&d, 1, &in[i], 1, 6, 0, &in[i]);
	duo_recv(&d, 1, &in[2], 1, 0, UINT64_MAX, &in[2]);
	duo_poll(&d, 1);
	for (int i = 0; i < 3; i++)
		duo_expect(&d, 1, &in[i], 0);
	assert_memory_equal(in, ((uint8_t[]){2, 3, 1}), 3);
	duo_close(&d);
}

static const struct weft_op peek = {
	.kind = WEFT_OP_PEEK, .flags = WEFT_OP_TAGGED, .peer = WEFT_PEER_ANY, .tag = 7, .context = (void *)&peek};

static void peek__tells_and_leaves(void **state)
{
	struct duo d;
	uint8_t in[1];
	open_default(&d);
	submit(&d, peek);
	duo_expect(&d, 1, &peek, ENOMSG);
	arrive(&d, 9, 7);
	for (int i = 0; i < 2; i++) {
		submit(&d, peek);
		struct weft_cqe cqe = duo_expect(&d, 1, &peek, 0);
		assert_int_equal(cqe.len, 1);
		assert_int_equal(cqe.tag, 7);
		assert_int_equal(cqe.peer, d.peer[1]);
		assert_int_equal(cqe.kind, WEFT_OP_PEEK);
	}
	duo_recv(&d, 1, in, 1, 7, 0, in);
	duo_poll(&d, 1);
	duo_expect(&d, 1, in, 0);
	duo_close(&d);
}

static void peek__discard(void **state)
{
	struct duo d;
	struct weft_op op = peek;
	open_default(&d);
	arrive(&d, 9, 7);
	op.flags |= WEFT_OP_DISCARD;
	submit(&d, op);
	duo_expect(&d, 1, &peek, 0);
	submit(&d, op);
	duo_expect(&d, 1, &peek, ENOMSG);
	assert_int_equal(d.e[1]->ses.unexpected_bytes, 0);
	assert_int_equal(d.e[1]->ses.rx_msg_pool.used, 0);
	duo_close(&d);
}

static void claim__only_its_context_receives_it(void **state)
{
	struct duo d;
	struct weft_op op = peek;
	uint8_t in[2] = {0};
	struct weft_cqe cqe;
	open_default(&d);
	arrive(&d, 9, 7);
	op.flags |= WEFT_OP_CLAIM;
	submit(&d, op);
	duo_expect(&d, 1, &peek, 0);
	duo_recv(&d, 1, in, 1, 7, 0, in); /* an ordinary receive does not see it */
	duo_poll(&d, 1);
	assert_false(duo_cqe(&d, 1, &cqe));
	struct weft_op recv = {
		.kind = WEFT_OP_TRECV, .flags = WEFT_OP_CLAIM, .buf = &in[1], .len = 1, .context = &in[1]};
	submit(&d, recv);
	duo_expect(&d, 1, &in[1], ENOMSG); /* claimed for another context */
	recv.context = (void *)&peek;
	submit(&d, recv);
	duo_expect(&d, 1, &peek, 0);
	assert_int_equal(in[1], 9);
	duo_close(&d);
}

static void claim__discarded_or_never_fetched(void **state)
{
	struct duo d;
	struct weft_op op = peek, recv = {.kind = WEFT_OP_TRECV,
					  .flags = WEFT_OP_CLAIM | WEFT_OP_DISCARD,
					  .context = (void *)&peek};
	open_default(&d);
	op.flags |= WEFT_OP_CLAIM;
	arrive(&d, 9, 7);
	arrive(&d, 8, 7);
	submit(&d, op);
	duo_expect(&d, 1, &peek, 0);
	submit(&d, recv);
	duo_expect(&d, 1, &peek, 0);
	submit(&d, op);
	duo_expect(&d, 1, &peek, 0);
	assert_int_equal(d.e[1]->ses.rx_msg_pool.used, 1);
	duo_close(&d); /* the second one is freed with its endpoint */
}

static void cancel__only_what_is_waiting(void **state)
{
	struct duo d;
	uint8_t in[2] = {0};
	struct weft_cqe cqe;
	open_default(&d);
	duo_recv(&d, 1, &in[0], 1, 7, 0, &in[0]);
	duo_recv(&d, 1, &in[1], 1, 7, 0, &in[1]);
	submit(&d, (struct weft_op){.kind = WEFT_OP_CANCEL, .context = &in[0]});
	duo_expect(&d, 1, &in[0], ECANCELED);
	submit(&d, (struct weft_op){.kind = WEFT_OP_CANCEL, .context = &in[0]});
	assert_false(duo_cqe(&d, 1, &cqe));
	arrive(&d, 5, 7);
	duo_expect(&d, 1, &in[1], 0);
	assert_memory_equal(in, ((uint8_t[]){0, 5}), 2);
	duo_close(&d);
}

static void cancel__not_once_the_message_has_begun(void **state)
{
	struct hit h = {1, 3, DUO_DROP};
	struct duo d;
	uint8_t *out = duo_pattern(20000, 1), *in = malloc(20000);
	open_default(&d);
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_recv(&d, 1, in, 20000, 7, 0, in);
	duo_send(&d, 0, out, 20000, 7, out);
	duo_run(&d, d.now + WEFT_US(10));
	submit(&d, (struct weft_op){.kind = WEFT_OP_CANCEL, .context = in});
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 1, in, 0);
	assert_memory_equal(in, out, 20000);
	duo_close(&d);
	free(in);
	free(out);
}

/* ---- receives for many messages ---- */

static void submit_multi(struct duo *d, uint8_t *buf, uint64_t len, uint64_t min_room)
{
	submit(d, (struct weft_op){.kind = WEFT_OP_TRECV,
				   .flags = WEFT_OP_MULTI,
				   .peer = WEFT_PEER_ANY,
				   .ignore = UINT64_MAX,
				   .buf = buf,
				   .len = len,
				   .min_room = min_room,
				   .context = buf});
}

static void expect_piece(struct duo *d, const uint8_t *buf, uint64_t offset, uint64_t len, uint8_t flags)
{
	struct weft_cqe cqe = duo_expect(d, 1, buf, 0);
	assert_int_equal(cqe.kind, WEFT_OP_TRECV);
	assert_int_equal(cqe.offset, offset);
	assert_int_equal(cqe.len, len);
	assert_int_equal(cqe.flags & WEFT_OP_MULTI, flags);
}

static void multi__pieces_follow_each_other(void **state)
{
	struct duo d;
	uint8_t in[4] = {0};
	open_default(&d);
	arrive(&d, 1, 0); /* unexpected */
	submit_multi(&d, in, 4, 2);
	expect_piece(&d, in, 0, 1, 0);
	arrive(&d, 2, 0);
	expect_piece(&d, in, 1, 1, 0);
	arrive(&d, 3, 0);
	expect_piece(&d, in, 2, 1, WEFT_OP_MULTI); /* less than 2 bytes are left */
	arrive(&d, 4, 0);
	assert_memory_equal(in, ((uint8_t[]){1, 2, 3, 0}), 4);
	assert_int_equal(d.e[1]->ses.rx_reqs.used, 0);
	assert_int_equal(d.e[1]->ses.cqe_nodes.used, 0);
	duo_close(&d);
}

static void multi__unexpected_ones_fill_it_at_once(void **state)
{
	struct duo d;
	uint8_t in[2] = {0};
	struct weft_cqe cqe;
	open_default(&d);
	for (uint8_t i = 1; i <= 3; i++)
		arrive(&d, i, 0);
	submit_multi(&d, in, 2, 0);
	expect_piece(&d, in, 0, 1, 0);
	expect_piece(&d, in, 1, 1, WEFT_OP_MULTI);
	assert_false(duo_cqe(&d, 1, &cqe));
	assert_int_equal(d.e[1]->ses.rx_msg_pool.used, 1);
	duo_close(&d);
}

/* The first message loses packets, so the second is complete first; both keep to their piece. */
static void multi__pieces_are_disjoint_whatever_completes_first(void **state)
{
	enum { LEN = 9000 };
	struct hit h = {1, 1, DUO_DROP};
	struct duo d;
	uint8_t *out = duo_pattern(2 * LEN, 1), *in = calloc(1, 2 * LEN);
	open_default(&d);
	d.fate = hit_data;
	d.fate_arg = &h;
	submit_multi(&d, in, 2 * LEN, 1);
	duo_send(&d, 0, out, LEN, 7, &out[0]);
	duo_send(&d, 0, out + LEN, LEN, 7, &out[1]);
	duo_run(&d, d.now + WEFT_MS(5));
	expect_piece(&d, in, LEN, LEN, 0);
	expect_piece(&d, in, 0, LEN, WEFT_OP_MULTI);
	assert_memory_equal(in, out, 2 * LEN);
	duo_close(&d);
	free(in);
	free(out);
}

static void multi__truncated_then_released(void **state)
{
	struct duo d;
	uint8_t out[3] = {1, 2, 3}, in[4] = {0};
	open_default(&d);
	submit_multi(&d, in, 3, 0);
	arrive(&d, 9, 0);
	expect_piece(&d, in, 0, 1, 0);
	duo_send(&d, 0, out, 3, 0, out);
	duo_run(&d, d.now + WEFT_US(50));
	struct weft_cqe cqe = duo_expect(&d, 1, in, EMSGSIZE);
	assert_int_equal(cqe.len, 2);
	assert_int_equal(cqe.olen, 1);
	assert_int_equal(cqe.offset, 1);
	assert_int_equal(cqe.flags & WEFT_OP_MULTI, 0);
	cqe = duo_expect(&d, 1, in, 0);
	assert_int_equal(cqe.kind, WEFT_OP_RELEASE);
	assert_int_equal(cqe.flags, WEFT_OP_MULTI);
	assert_memory_equal(in, ((uint8_t[]){9, 1, 2, 0}), 4);
	assert_int_equal(d.e[1]->ses.rx_reqs.used, 0);
	assert_int_equal(d.e[1]->ses.cqe_nodes.used, 0);
	duo_close(&d);
}

static void multi__cancelled_with_a_message_under_way(void **state)
{
	enum { LEN = 9000 };
	struct hit h = {1, 1, DUO_DROP};
	struct duo d;
	uint8_t *out = duo_pattern(LEN, 1), *in = calloc(1, 2 * LEN);
	open_default(&d);
	d.fate = hit_data;
	d.fate_arg = &h;
	submit_multi(&d, in, 2 * LEN, 1);
	duo_send(&d, 0, out, LEN, 7, out);
	duo_run(&d, d.now + WEFT_US(10));
	submit(&d, (struct weft_op){.kind = WEFT_OP_CANCEL, .context = in});
	duo_run(&d, d.now + WEFT_MS(5));
	expect_piece(&d, in, 0, LEN, 0);
	assert_int_equal(duo_expect(&d, 1, in, ECANCELED).flags, WEFT_OP_MULTI);
	assert_int_equal(d.e[1]->ses.rx_reqs.used, 0);
	assert_int_equal(d.e[1]->ses.cqe_nodes.used, 0);
	duo_close(&d);
	free(in);
	free(out);
}

static void multi__endpoint_closes_with_a_message_under_way(void **state)
{
	enum { LEN = 9000 };
	for (int retired = 0; retired < 2; retired++) {
		struct hit h = {1, 1, DUO_DROP};
		struct duo d;
		uint8_t *out = duo_pattern(LEN, 1), *in = calloc(1, LEN + 1);
		open_default(&d);
		d.fate = hit_data;
		d.fate_arg = &h;
		submit_multi(&d, in, retired ? LEN : LEN + 1, 1);
		duo_send(&d, 0, out, LEN, 7, out);
		duo_run(&d, d.now + WEFT_US(10));
		weft_ep_close(d.ep[1]);
		d.ep[1] = NULL;
		assert_int_equal(d.e[1]->ses.rx_reqs.used, 0);
		assert_int_equal(d.e[1]->ses.cqe_nodes.used, 0);
		duo_run(&d, d.now + WEFT_MS(5));
		duo_close(&d);
		free(in);
		free(out);
	}
}

/* No memory for the completion of one more message: the one kept for the end is used, and the buffer given back. */
static void multi__released_early_without_memory(void **state)
{
	struct duo d;
	uint8_t in[8] = {0}, other[256];
	open_default(&d);
	submit_multi(&d, in, sizeof in, 1);
	arrive(&d, 1, 0); /* with memory for everything */
	expect_piece(&d, in, 0, 1, 0);
	struct weft_op recv = {.kind = WEFT_OP_TRECV, .peer = WEFT_PEER_ANY, .len = 1, .context = other, .tag = 99};
	while (d.e[1]->ses.cqe_nodes.free) {
		recv.buf = &other[d.e[1]->ses.cqe_nodes.used % sizeof other];
		submit(&d, recv);
	}
	d.mem[1].fail_at = d.mem[1].calls + 1;
	arrive(&d, 2, 0);
	expect_piece(&d, in, 1, 1, WEFT_OP_MULTI);
	assert_memory_equal(in, ((uint8_t[]){1, 2, 0}), 3);
	duo_close(&d);
}

/* ---- endpoints that share their receives ---- */

struct shared {
	struct duo d;
	struct weft_ep *srx, *ep[2];
	uint32_t peer[2]; /* side 0 knows them as */
};

static void shared_open(struct shared *s)
{
	struct weft_err err;
	open_default(&s->d);
	struct weft_engine *e = s->d.e[1];
	assert_int_equal(weft_ep_open_hidden(e, 0, 16, 16, &s->srx, &err), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(weft_ep_open(e, 0, 16, 16, &s->ep[i], &err), 0);
		weft_ep_share(s->ep[i], s->srx);
		const struct weft_addr addr = {e->pds.conf.ip, weft_ep_port(s->ep[i])};
		assert_int_equal(weft_peer_add(s->d.e[0], &addr, &s->peer[i]), 0);
	}
}

static void shared_send(struct shared *s, int to, const uint8_t *buf, uint64_t len)
{
	const struct weft_op op = {.kind = WEFT_OP_SEND, .peer = s->peer[to], .buf = (void *)buf, .len = len};
	assert_int_equal(weft_submit(s->d.ep[0], &op), 0);
	duo_run(&s->d, s->d.now + WEFT_US(50));
}

static void shared_recv(struct shared *s, uint8_t *buf, uint64_t len)
{
	const struct weft_op op = {.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = buf, .len = len, .context = buf};
	assert_int_equal(weft_submit(s->srx, &op), 0);
	duo_poll(&s->d, 1);
}

static void shared_expect(struct weft_ep *ep, const void *context)
{
	struct weft_cqe cqe;
	assert_int_equal(weft_cq_take(ep, &cqe, 1), 1);
	assert_ptr_equal(cqe.context, context);
	assert_int_equal(cqe.err, 0);
}

static void shared__each_message_completes_where_it_was_sent_to(void **state)
{
	struct shared s;
	uint8_t out[4] = {1, 2, 3, 4}, in[4] = {0};
	shared_open(&s);
	shared_recv(&s, &in[0], 1);
	shared_send(&s, 1, &out[0], 1);
	shared_expect(s.ep[1], &in[0]);
	shared_send(&s, 0, &out[1], 1); /* unexpected, and older than the next */
	shared_send(&s, 1, &out[2], 1);
	shared_recv(&s, &in[1], 1);
	shared_expect(s.ep[0], &in[1]);
	shared_recv(&s, &in[2], 1);
	shared_expect(s.ep[1], &in[2]);
	assert_memory_equal(in, out, 3);
	duo_close(&s.d);
}

static void shared__hidden_endpoint_has_no_address(void **state)
{
	struct shared s;
	uint8_t byte = 1, in = 0;
	struct weft_cqe cqe;
	shared_open(&s);
	const struct weft_addr addr = {s.d.e[1]->pds.conf.ip, weft_ep_port(s.srx)};
	assert_int_equal(weft_peer_add(s.d.e[0], &addr, &s.peer[0]), 0);
	shared_recv(&s, &in, 1);
	shared_send(&s, 0, &byte, 1);
	assert_true(duo_cqe(&s.d, 0, &cqe));
	assert_int_equal(cqe.err, EHOSTUNREACH);
	duo_close(&s.d);
}

enum { LONG = 9000 };

/* A message of LONG bytes to the first endpoint, which has a receive, and one packet of it is lost. */
static void shared_begin(struct shared *s, struct hit *h, uint8_t *in, uint8_t *out)
{
	const struct weft_op op = {.kind = WEFT_OP_SEND, .peer = s->peer[0], .buf = out, .len = LONG};
	s->d.fate = hit_data;
	s->d.fate_arg = h;
	shared_recv(s, in, LONG);
	assert_int_equal(weft_submit(s->d.ep[0], &op), 0);
}

/* A receive that one endpoint had begun to use serves another when that closes. */
static void shared__receive_survives_an_endpoint(void **state)
{
	struct hit h = {1, 1, DUO_DROP};
	struct shared s;
	uint8_t *out = duo_pattern(LONG, 1), *in = calloc(1, LONG);
	shared_open(&s);
	shared_begin(&s, &h, in, out);
	duo_run(&s.d, s.d.now + WEFT_US(10));
	weft_ep_close(s.ep[0]);
	duo_run(&s.d, s.d.now + WEFT_MS(5));
	shared_send(&s, 1, out, 100);
	shared_expect(s.ep[1], in);
	assert_memory_equal(in, out, 100);
	duo_close(&s.d);
	free(in);
	free(out);
}

/* Another endpoint's message that came meanwhile does not wait for one more receive. */
static void shared__receive_given_back_takes_what_waits(void **state)
{
	struct hit h = {1, 1, DUO_DROP};
	struct shared s;
	uint8_t *out = duo_pattern(LONG, 1), *in = calloc(1, LONG);
	shared_open(&s);
	shared_begin(&s, &h, in, out);
	const struct weft_op small = {.kind = WEFT_OP_SEND, .peer = s.peer[1], .buf = out, .len = 100};
	assert_int_equal(weft_submit(s.d.ep[0], &small), 0);
	duo_run(&s.d, s.d.now + WEFT_US(10));
	assert_int_equal(duo_stats(&s.d, 1)->msg_unexpected, 1);
	weft_ep_close(s.ep[0]);
	shared_expect(s.ep[1], in);
	assert_memory_equal(in, out, 100);
	duo_close(&s.d);
	free(in);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posted__first_that_fits),
		cmocka_unit_test(posted__untagged_and_tagged_do_not_mix),
		cmocka_unit_test(posted__only_from_the_peer_named),
		cmocka_unit_test(unexpected__oldest_that_fits),
		cmocka_unit_test(peek__tells_and_leaves),
		cmocka_unit_test(peek__discard),
		cmocka_unit_test(claim__only_its_context_receives_it),
		cmocka_unit_test(claim__discarded_or_never_fetched),
		cmocka_unit_test(cancel__only_what_is_waiting),
		cmocka_unit_test(cancel__not_once_the_message_has_begun),
		cmocka_unit_test(multi__pieces_follow_each_other),
		cmocka_unit_test(multi__unexpected_ones_fill_it_at_once),
		cmocka_unit_test(multi__pieces_are_disjoint_whatever_completes_first),
		cmocka_unit_test(multi__truncated_then_released),
		cmocka_unit_test(multi__cancelled_with_a_message_under_way),
		cmocka_unit_test(multi__endpoint_closes_with_a_message_under_way),
		cmocka_unit_test(multi__released_early_without_memory),
		cmocka_unit_test(shared__each_message_completes_where_it_was_sent_to),
		cmocka_unit_test(shared__hidden_endpoint_has_no_address),
		cmocka_unit_test(shared__receive_survives_an_endpoint),
		cmocka_unit_test(shared__receive_given_back_takes_what_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
