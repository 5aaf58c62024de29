/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

static void inject(struct duo *d, struct plain_pkt w, const uint8_t *payload)
{
	duo_inject_pkt(d, 1, &w, payload);
	duo_poll(d, 1);
}

/* Message `id` of side 0's hand-made connection, tagged 7, in a packet of its own. */
static struct plain_pkt whole(uint16_t id, uint16_t bytes)
{
	struct plain_pkt w = duo_syn(1, bytes);
	w.pds.psn += id - 1u;
	w.pds.psn_offset = id - 1;
	w.ses.message_id = id;
	return w;
}

/* Part of message 1, in the packet with the given PSN offset. */
static struct plain_pkt part(uint16_t psn_offset, uint32_t offset, uint16_t bytes, uint32_t total)
{
	struct plain_pkt w = duo_syn(1, bytes);
	w.pds.psn += psn_offset;
	w.pds.psn_offset = psn_offset;
	w.ses.request_length = total;
	if (bytes < total)
		w.ses.flags &= (uint8_t)~WIRE_SES_EOM;
	if (offset) {
		w.ses.flags = WIRE_SES_REL;
		w.ses.message_offset = offset;
	}
	return w;
}

static void order__messages_match_as_sent(void **state)
{
	static const uint8_t payload[3] = {1, 2, 3};
	struct duo d;
	uint8_t in[3] = {0};
	open_default(&d);
	for (int i = 0; i < 3; i++)
		duo_recv(&d, 1, &in[i], 1, 7, 0, &in[i]);
	inject(&d, whole(3, 1), &payload[2]);
	inject(&d, whole(2, 1), &payload[1]);
	struct weft_cqe cqe;
	assert_false(duo_cqe(&d, 1, &cqe));
	inject(&d, whole(1, 1), &payload[0]);
	for (int i = 0; i < 3; i++)
		duo_expect(&d, 1, &in[i], 0);
	assert_memory_equal(in, payload, 3);
	assert_int_equal(weft_engine_stats(d.e[1])->msg_unexpected, 0);
	duo_close(&d);
}

static void order__parts_arrive_backwards(void **state)
{
	struct duo d;
	uint8_t *out = duo_pattern(5000, 1), in[5000] = {0};
	open_default(&d);
	duo_recv(&d, 1, in, sizeof in, 7, 0, in);
	inject(&d, part(4, 4000, 1000, 5000), out + 4000);
	for (int i = 3; i >= 0; i--)
		inject(&d, part((uint16_t)i, (uint32_t)i * 1000, 1000, 5000), out + i * 1000);
	duo_expect(&d, 1, in, 0);
	assert_memory_equal(in, out, sizeof in);
	duo_close(&d);
	free(out);
}

static void unexpected__kept_until_received(void **state)
{
	struct duo d;
	uint8_t *out = duo_pattern(60000, 1), in[60000] = {0};
	open_default(&d);
	duo_send(&d, 0, out, sizeof in, 7, out);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 0, out, 0); /* acknowledged without a receive */
	assert_int_equal(weft_engine_stats(d.e[1])->msg_unexpected, 1);
	assert_int_equal(d.e[1]->ses.unexpected_bytes, sizeof in);
	duo_recv(&d, 1, in, sizeof in, 7, 0, in);
	duo_poll(&d, 1);
	duo_expect(&d, 1, in, 0);
	assert_memory_equal(in, out, sizeof in);
	assert_int_equal(d.e[1]->ses.unexpected_bytes, 0);
	duo_close(&d);
	free(out);
}

static void unexpected__received_when_half_here(void **state)
{
	struct duo d;
	uint8_t *out = duo_pattern(2000, 1), in[2000] = {0};
	open_default(&d);
	inject(&d, part(0, 0, 1000, 2000), out);
	duo_recv(&d, 1, in, sizeof in, 7, 0, in);
	inject(&d, part(1, 1000, 1000, 2000), out + 1000);
	duo_expect(&d, 1, in, 0);
	assert_memory_equal(in, out, sizeof in);
	duo_close(&d);
	free(out);
}

/* Beyond the limit packets are refused and come again; a later message whose receive is posted passes. */
static void unexpected__memory_limit(void **state)
{
	struct duo_conf conf;
	struct duo d;
	uint8_t *out = duo_pattern(100000, 1), *in = calloc(1, 100000), small[100];
	struct weft_cqe cqe;
	duo_conf_init(&conf);
	conf.tune.unexpected_bytes = 50000;
	duo_open(&d, &conf);
	duo_recv(&d, 1, small, sizeof small, 9, 0, small);
	duo_send(&d, 0, out, 100000, 7, out);
	duo_send(&d, 0, out, 100, 9, out + 1);
	duo_run(&d, d.now + WEFT_MS(1));
	assert_false(duo_cqe(&d, 0, &cqe) && cqe.context == out);
	duo_expect(&d, 1, small, 0);
	assert_memory_equal(small, out, sizeof small);
	assert_true(weft_engine_stats(d.e[1])->rx_no_mem > 0);
	assert_in_range(d.e[1]->ses.unexpected_bytes, 0, 50000);
	duo_recv(&d, 1, in, 100000, 7, 0, in);
	duo_run(&d, d.now + WEFT_MS(5));
	duo_expect(&d, 1, in, 0);
	duo_expect(&d, 0, out, 0);
	assert_memory_equal(in, out, 100000);
	duo_close(&d);
	free(in);
	free(out);
}

static void unexpected__limit_freed_by_a_receive(void **state)
{
	struct duo_conf conf;
	struct duo d;
	uint8_t *out = duo_pattern(40000, 1), *in = calloc(2, 40000);
	duo_conf_init(&conf);
	conf.tune.unexpected_bytes = 50000;
	duo_open(&d, &conf);
	duo_send(&d, 0, out, 40000, 7, out);
	duo_send(&d, 0, out, 40000, 7, out + 1);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 0, out, 0);
	duo_recv(&d, 1, in, 40000, 7, 0, in);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 1, in, 0);
	duo_expect(&d, 0, out + 1, 0); /* there was room for the second one now */
	duo_recv(&d, 1, in + 40000, 40000, 7, 0, in + 1);
	duo_poll(&d, 1);
	duo_expect(&d, 1, in + 1, 0);
	assert_memory_equal(in, out, 40000);
	assert_memory_equal(in + 40000, out, 40000);
	duo_close(&d);
	free(in);
	free(out);
}

static void truncated__fills_the_buffer_and_tells(void **state)
{
	for (int early = 0; early < 2; early++) {
		struct duo d;
		uint8_t *out = duo_pattern(10000, 1), in[6001] = {0};
		open_default(&d);
		if (early)
			duo_recv(&d, 1, in, 6000, 7, 0, in);
		duo_poll(&d, 1);
		duo_send(&d, 0, out, 10000, 7, out);
		duo_run(&d, d.now + WEFT_MS(1));
		if (!early)
			duo_recv(&d, 1, in, 6000, 7, 0, in);
		duo_poll(&d, 1);
		duo_expect(&d, 0, out, 0);
		struct weft_cqe cqe = duo_expect(&d, 1, in, EMSGSIZE);
		assert_int_equal(cqe.len, 6000);
		assert_int_equal(cqe.olen, 4000);
		assert_memory_equal(in, out, 6000);
		assert_int_equal(in[6000], 0);
		assert_int_equal(weft_engine_stats(d.e[1])->msg_truncated, 1);
		duo_close(&d);
		free(out);
	}
}

static void data__travels_with_the_message(void **state)
{
	struct duo d;
	uint8_t out[9000] = {3}, in[9000];
	struct weft_op op = {.kind = WEFT_OP_SEND,
			     .flags = WEFT_OP_HAS_DATA,
			     .buf = out,
			     .len = sizeof out,
			     .data = 0x123456789abcdef0};
	open_default(&d);
	op.peer = d.peer[0];
	assert_int_equal(weft_submit(d.ep[0], &op), 0);
	op = (struct weft_op){.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = in, .len = sizeof in, .context = in};
	assert_int_equal(weft_submit(d.ep[1], &op), 0);
	duo_run(&d, d.now + WEFT_MS(1));
	struct weft_cqe cqe = duo_expect(&d, 1, in, 0);
	assert_int_equal(cqe.flags, WEFT_OP_HAS_DATA);
	assert_true(cqe.data == 0x123456789abcdef0);
	assert_int_equal(cqe.kind, WEFT_OP_RECV);
	assert_int_equal(cqe.peer, d.peer[1]);
	duo_close(&d);
}

/* To an endpoint number that nobody opened. */
static void send_to_nobody(struct duo *d, const uint8_t *out, uint32_t len)
{
	struct weft_addr nobody = *weft_peer_addr(d->e[0], d->peer[0]);
	struct weft_op op = {.kind = WEFT_OP_TSEND, .buf = (void *)out, .len = len, .context = (void *)out};
	nobody.port = 999;
	assert_int_equal(weft_peer_add(d->e[0], &nobody, &op.peer), 0);
	assert_int_equal(weft_submit(d->ep[0], &op), 0);
	d->due[0] = d->now;
}

static enum duo_fate drop_first_acks(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 1 && nth < 3 ? DUO_DROP : DUO_PASS;
}

static void undeliverable__error_survives_lost_answers(void **state)
{
	struct duo d;
	uint8_t out[100] = {1};
	open_default(&d);
	d.fate = drop_first_acks;
	send_to_nobody(&d, out, sizeof out);
	duo_run(&d, d.now + WEFT_MS(2));
	duo_expect(&d, 0, out, EHOSTUNREACH);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_no_ep, 1);
	duo_run(&d, d.now + WEFT_MS(1));
	assert_int_equal(first_rx(d.e[1])->win.gtd_count, 0); /* confirmed */
	duo_transfer(&d, 0, 100000);
	duo_close(&d);
}

static enum duo_fate drop_some(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	const uint64_t *mask = arg;
	return *mask >> (nth & 63) & 1 ? DUO_DROP : DUO_PASS;
}

/* More errors than the target may keep, the oldest packet among the lost: no deadlock. */
static void undeliverable__long_messages(void **state)
{
	static const uint64_t masks[] = {0, 1, 3, 0x5555555555555555, 0x1111111111111111, 0xff};
	uint8_t *out = duo_pattern(60 * 4096, 1);
	for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
		uint64_t mask = masks[i];
		struct duo d;
		open_default(&d);
		d.fate = drop_some;
		d.fate_arg = &mask;
		send_to_nobody(&d, out, 60 * 4096);
		send_to_nobody(&d, out + 1, 60 * 4000);
		duo_run(&d, d.now + WEFT_MS(400));
		struct weft_cqe ends[2] = {{0}, {0}}; /* a loss may make the first the last */
		assert_true(duo_cqe(&d, 0, &ends[0]) && duo_cqe(&d, 0, &ends[1]));
		assert_int_equal(ends[0].err, EHOSTUNREACH);
		assert_int_equal(ends[1].err, EHOSTUNREACH);
		size_t first = ends[0].context != out;
		assert_ptr_equal(ends[first].context, out);
		assert_ptr_equal(ends[!first].context, out + 1);
		duo_transfer(&d, 0, 100000);
		assert_int_equal(weft_engine_stats(d.e[0])->pdc_failed, 0);
		duo_close(&d);
	}
	free(out);
}

static void inconsistent__later_packets_keep_to_the_first(void **state)
{
	uint8_t out[4000] = {1}, *in = malloc(2000);
	for (int posted = 0; posted < 2; posted++) {
		struct duo d;
		open_default(&d);
		if (posted)
			duo_recv(&d, 1, in, 2000, 7, 0, in);
		duo_poll(&d, 1);
		inject(&d, part(0, 0, 1000, 2000), out);
		inject(&d, part(1, 100000, 1000, 200000), out); /* far beyond */
		inject(&d, part(2, 1500, 1000, 2500), out);     /* just beyond */
		inject(&d, part(3, 0x7fffffff, 1000, 0xfffffff0), out);
		struct plain_pkt untagged = part(4, 1000, 500, 2000);
		untagged.ses.opcode = WIRE_OP_SEND;
		inject(&d, untagged, out);
		assert_int_equal(weft_engine_stats(d.e[1])->rx_bad_ses + weft_engine_stats(d.e[1])->rx_no_gtd, 4);
		struct weft_cqe cqe;
		assert_false(duo_cqe(&d, 1, &cqe));
		duo_close(&d);
	}
	free(in);
}

static void inconsistent__single_packets_are_refused(void **state)
{
	uint8_t out[2000] = {1};
	struct duo d;
	open_default(&d);
	d.logging = true;
	struct plain_pkt w = part(0, 0, 1000, 999); /* more than the message */
	inject(&d, w, out);
	w = part(1, 1500, 1000, 2000); /* over its end */
	inject(&d, w, out);
	w = part(2, 1000, 1000, 2000);
	w.ses.payload_length = 500; /* not all of its payload */
	inject(&d, w, out);
	w = part(3, 0, 0, 2000); /* none of it */
	inject(&d, w, out);
	w = part(3, 0, 10, 10);
	w.ses.request_length = UINT32_MAX;
	w.ses.flags &= (uint8_t)~WIRE_SES_EOM;
	inject(&d, w, out);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_bad_ses, 4);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_bad_short, 1);
	assert_int_equal(weft_engine_stats(d.e[1])->msg_unexpected, 0);
	assert_int_equal(d.log_len, 4);
	for (uint32_t i = 0; i < d.log_len; i++)
		assert_int_equal(d.log[i].w.ses.return_code, WIRE_RC_OP_VIOLATION);
	duo_close(&d);
}

static void unsupported__turn_passes_to_the_next(void **state)
{
	uint8_t out[10] = {1}, in[10];
	struct duo d;
	open_default(&d);
	d.logging = true;
	duo_recv(&d, 1, in, sizeof in, 7, 0, in);
	struct plain_pkt w = whole(1, 10);
	w.ses.opcode = WIRE_OP_TSEND_ATOMIC;
	inject(&d, w, out);
	assert_int_equal(d.log[0].w.ses.return_code, WIRE_RC_UNSUPPORTED_OP);
	inject(&d, whole(2, 10), out);
	duo_expect(&d, 1, in, 0);
	duo_close(&d);
}

struct seen {
	uint8_t bytes[20000];
	uint32_t total;
};

/* Whatever its message id, a withdrawal is refused, uses its PSN up and leaves every message alone. */
static void withdrawal__is_refused_without_effect(void **state)
{
	static const uint16_t ids[] = {1, 2, 40000};
	uint8_t *out = duo_pattern(2000, 1), in[2000];
	struct duo d;
	open_default(&d);
	d.logging = true;
	duo_recv(&d, 1, in, sizeof in, 7, 0, in);
	inject(&d, part(0, 0, 1000, 2000), out);
	for (uint16_t i = 0; i < 3; i++) {
		struct plain_pkt w = whole(ids[i], 0);
		w.pds.psn = 1001u + i;
		w.pds.psn_offset = i + 1;
		w.pds.flags |= WIRE_F_AR;
		w.ses.opcode = WIRE_OP_WITHDRAW;
		inject(&d, w, out);
		inject(&d, w, out);
		const struct plain_pkt *first = &d.log[d.log_len - 2].w, *again = &d.log[d.log_len - 1].w;
		assert_int_equal(first->ses.return_code, WIRE_RC_UNSUPPORTED_OP);
		assert_int_equal(again->ses.return_code, WIRE_RC_UNSUPPORTED_OP);
		assert_int_equal(again->pds.psn, 1000 + i);
		w = part(i + 1, 1000, 1000, 2000);
		inject(&d, w, out);
	}
	struct weft_cqe cqe;
	assert_false(duo_cqe(&d, 1, &cqe)); /* its data came too late */
	inject(&d, part(4, 1000, 1000, 2000), out + 1000);
	duo_expect(&d, 1, in, 0);
	assert_memory_equal(in, out, 2000);
	assert_int_equal(duo_stats(&d, 1)->rx_withdrawn, 3);
	assert_int_equal(duo_stats(&d, 1)->rx_bad_ses, 0);
	duo_close(&d);
	free(out);
}

static void sink(void *arg, uint64_t offset, const uint8_t *data, uint32_t len, bool retx)
{
	struct seen *s = arg;
	assert_true(offset + len <= sizeof s->bytes);
	if (data)
		memcpy(s->bytes + offset, data, len);
	s->total += len;
}

static void sink__gets_each_byte_once(void **state)
{
	for (int with_bytes = 0; with_bytes < 2; with_bytes++)
		for (int early = 0; early < 2; early++) {
			struct hit h = {1, 2, DUO_DUP};
			struct seen seen = {.total = 0};
			struct duo d;
			uint8_t *out = duo_pattern(sizeof seen.bytes, 1);
			open_default(&d);
			d.fate = hit_data;
			d.fate_arg = &h;
			struct weft_op op = {.kind = WEFT_OP_TRECV,
					     .peer = WEFT_PEER_ANY,
					     .len = sizeof seen.bytes,
					     .sink = sink,
					     .sink_arg = &seen,
					     .context = &seen};
			if (early)
				weft_submit(d.ep[1], &op);
			duo_poll(&d, 1);
			duo_send(&d, 0, with_bytes ? out : NULL, sizeof seen.bytes, 0, out);
			duo_run(&d, d.now + WEFT_MS(1));
			if (!early)
				weft_submit(d.ep[1], &op);
			duo_poll(&d, 1);
			duo_expect(&d, 1, &seen, 0);
			assert_int_equal(seen.total, sizeof seen.bytes);
			if (with_bytes)
				assert_memory_equal(seen.bytes, out, sizeof seen.bytes);
			duo_close(&d);
			free(out);
		}
}

static void local__messages_to_ourselves(void **state)
{
	struct duo d;
	uint8_t out[5000] = {9}, in[5000] = {0};
	open_default(&d);
	struct weft_addr self = *weft_peer_addr(d.e[1], d.peer[1]);
	struct weft_op op = {.kind = WEFT_OP_TSEND, .buf = out, .len = sizeof out, .tag = 4, .context = out};
	assert_int_equal(weft_peer_add(d.e[0], &self, &op.peer), 0);
	for (int early = 0; early < 2; early++) {
		if (early)
			duo_recv(&d, 0, in, sizeof in, 4, 0, in);
		weft_submit(d.ep[0], &op);
		if (!early)
			duo_recv(&d, 0, in, sizeof in, 4, 0, in);
		duo_poll(&d, 0);
		struct weft_cqe first, second;
		assert_true(duo_cqe(&d, 0, &first) && duo_cqe(&d, 0, &second));
		assert_int_equal(first.err + second.err, 0);
		assert_int_equal(first.len + second.len, 10000);
		assert_memory_equal(in, out, sizeof in);
	}
	self.port = 999;
	assert_int_equal(weft_peer_add(d.e[0], &self, &op.peer), 0);
	weft_submit(d.ep[0], &op);
	duo_poll(&d, 0);
	duo_expect(&d, 0, out, EHOSTUNREACH);
	assert_int_equal(d.sent[0], 0);
	duo_close(&d);
}

/* A receive behind the send in the ring is what frees the memory. */
static void local__beyond_the_memory_limit(void **state)
{
	struct duo_conf conf;
	struct duo d;
	uint8_t out[5000] = {9}, in[5000] = {0};
	duo_conf_init(&conf);
	conf.tune.unexpected_bytes = 1000;
	duo_open(&d, &conf);
	struct weft_op op = {.kind = WEFT_OP_TSEND, .buf = out, .len = sizeof out, .tag = 4, .context = out};
	assert_int_equal(weft_peer_add(d.e[0], weft_peer_addr(d.e[1], d.peer[1]), &op.peer), 0);
	weft_submit(d.ep[0], &op);
	duo_recv(&d, 0, in, sizeof in, 4, 0, in);
	duo_poll(&d, 0);
	duo_expect(&d, 0, out, 0);
	duo_expect(&d, 0, in, 0);
	assert_memory_equal(in, out, sizeof in);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order__messages_match_as_sent),
		cmocka_unit_test(order__parts_arrive_backwards),
		cmocka_unit_test(unexpected__kept_until_received),
		cmocka_unit_test(unexpected__received_when_half_here),
		cmocka_unit_test(unexpected__memory_limit),
		cmocka_unit_test(unexpected__limit_freed_by_a_receive),
		cmocka_unit_test(truncated__fills_the_buffer_and_tells),
		cmocka_unit_test(data__travels_with_the_message),
		cmocka_unit_test(undeliverable__error_survives_lost_answers),
		cmocka_unit_test(undeliverable__long_messages),
		cmocka_unit_test(inconsistent__later_packets_keep_to_the_first),
		cmocka_unit_test(inconsistent__single_packets_are_refused),
		cmocka_unit_test(unsupported__turn_passes_to_the_next),
		cmocka_unit_test(withdrawal__is_refused_without_effect),
		cmocka_unit_test(sink__gets_each_byte_once),
		cmocka_unit_test(local__messages_to_ourselves),
		cmocka_unit_test(local__beyond_the_memory_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
