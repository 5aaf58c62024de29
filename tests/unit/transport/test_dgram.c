/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* A datagram endpoint on each side, and what side 0 calls the other's. */
struct pair {
	struct duo d;
	struct weft_ep *ep[2];
	uint32_t peer[2];
};

static void pair_open_over(struct pair *p, bool ipv6)
{
	struct duo_conf conf;
	struct weft_err err;
	duo_conf_init(&conf);
	conf.ipv6 = ipv6;
	duo_open(&p->d, &conf);
	p->d.logging = true;
	for (int i = 0; i < 2; i++)
		assert_int_equal(weft_ep_open_dgram(p->d.e[i], 0, 16, 16, &p->ep[i], &err), 0);
	for (int i = 0; i < 2; i++) {
		const struct weft_addr addr = {p->d.e[!i]->pds.conf.ip, weft_ep_port(p->ep[!i])};
		assert_int_equal(weft_peer_add(p->d.e[i], &addr, &p->peer[i]), 0);
	}
}

static void pair_open(struct pair *p)
{
	pair_open_over(p, false);
}

static void run(struct pair *p)
{
	duo_run(&p->d, p->d.now + WEFT_US(50));
}

static void submit(struct pair *p, int side, struct weft_op op)
{
	assert_int_equal(weft_submit(p->ep[side], &op), 0);
	duo_poll(&p->d, side);
}

static void send_dgram(struct pair *p, const void *buf, uint64_t len)
{
	submit(p, 0,
	       (struct weft_op){
		       .kind = WEFT_OP_DGRAM, .peer = p->peer[0], .buf = (void *)buf, .len = len, .context = p});
	run(p);
}

static void post(struct pair *p, uint8_t *buf, uint64_t len)
{
	submit(p, 1,
	       (struct weft_op){.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = buf, .len = len, .context = buf});
}

static struct weft_cqe expect(struct pair *p, int side, const void *context, int err)
{
	struct weft_cqe cqe = {.err = -1};
	assert_int_equal(weft_cq_take(p->ep[side], &cqe, 1), 1);
	assert_ptr_equal(cqe.context, context);
	assert_int_equal(cqe.err, err);
	return cqe;
}

static void expect_none(struct pair *p, int side)
{
	struct weft_cqe cqe;
	assert_int_equal(weft_cq_take(p->ep[side], &cqe, 1), 0);
}

static void check_arrival(bool ipv6)
{
	struct pair p;
	pair_open_over(&p, ipv6);
	uint64_t len = weft_dgram_bytes_max(p.d.e[0]);
	uint8_t *out = duo_pattern(len, 1), *in = calloc(1, len);
	post(&p, in, len);
	submit(&p, 0,
	       (struct weft_op){.kind = WEFT_OP_DGRAM,
				.flags = WEFT_OP_HAS_DATA,
				.peer = p.peer[0],
				.buf = out,
				.len = len,
				.data = UINT64_C(0x123456789abcdef0),
				.context = out});
	expect(&p, 0, out, 0); /* at once: the port took it */
	run(&p);
	struct weft_cqe cqe = expect(&p, 1, in, 0);
	assert_int_equal(cqe.len, len);
	assert_int_equal(cqe.flags, WEFT_OP_HAS_DATA);
	assert_true(cqe.data == UINT64_C(0x123456789abcdef0));
	assert_int_equal(cqe.peer, p.peer[1]);
	assert_memory_equal(in, out, len);
	assert_int_equal(p.d.log_len, 1); /* one packet and nothing else: no connection, no ACK */
	assert_int_equal(p.d.log[0].w.pds.type, WIRE_PDS_UUD_REQ);
	assert_int_equal(p.d.e[1]->pds.stats.rx_dgram, 1);
	duo_close(&p.d);
	free(in);
	free(out);
}

static void dgram__arrives_with_source_and_data(void **state)
{
	check_arrival(false);
	check_arrival(true);
}

static void dgram__truncated_and_empty(void **state)
{
	struct pair p;
	uint8_t out[4] = {1, 2, 3, 4}, in[4] = {0};
	pair_open(&p);
	post(&p, in, 3);
	send_dgram(&p, out, 4);
	struct weft_cqe cqe = expect(&p, 1, in, EMSGSIZE);
	assert_int_equal(cqe.olen, 1);
	post(&p, in, 3);
	send_dgram(&p, NULL, 0);
	assert_int_equal(expect(&p, 1, in, 0).len, 0);
	assert_memory_equal(in, ((uint8_t[]){1, 2, 3, 0}), 4);
	duo_close(&p.d);
}

static void dgram__too_long_or_from_the_wrong_endpoint(void **state)
{
	struct pair p;
	pair_open(&p);
	uint64_t len = weft_dgram_bytes_max(p.d.e[0]) + 1;
	uint8_t *out = duo_pattern(len, 1);
	send_dgram(&p, out, len);
	expect(&p, 0, &p, EMSGSIZE);
	const struct weft_op op = {.kind = WEFT_OP_DGRAM, .peer = p.peer[0], .buf = out, .len = 1, .context = out};
	assert_int_equal(weft_submit(p.d.ep[0], &op), 0);
	duo_poll(&p.d, 0);
	duo_expect(&p.d, 0, out, EINVAL);
	duo_close(&p.d);
	free(out);
}

/* A few wait for a receive, the rest is dropped and counted; nothing is ever sent again. */
static void dgram__without_receive(void **state)
{
	enum { SENT = 70, KEPT = 64 };
	struct pair p;
	uint8_t out[SENT], in[SENT] = {0};
	pair_open(&p);
	for (int i = 0; i < SENT; i++) {
		out[i] = (uint8_t)(i + 1);
		send_dgram(&p, &out[i], 1);
		expect(&p, 0, &p, 0);
	}
	assert_int_equal(p.d.e[1]->pds.stats.rx_dgram_drop, SENT - KEPT);
	for (int i = 0; i < KEPT; i++) {
		post(&p, &in[i], 1);
		expect(&p, 1, &in[i], 0);
	}
	post(&p, &in[KEPT], 1);
	expect_none(&p, 1);
	assert_memory_equal(in, out, KEPT);
	assert_int_equal(p.d.e[0]->pds.stats.tx_dgram, SENT);
	assert_int_equal(p.d.e[1]->ses.unexpected_bytes, 0);
	duo_close(&p.d);
}

static enum duo_fate drop_first(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 0 && nth == 0 ? DUO_DROP : DUO_PASS;
}

static void dgram__lost_is_lost(void **state)
{
	struct pair p;
	uint8_t out[2] = {1, 2}, in[2] = {0};
	pair_open(&p);
	p.d.fate = drop_first;
	for (int i = 0; i < 2; i++)
		post(&p, &in[i], 1);
	for (int i = 0; i < 2; i++) {
		send_dgram(&p, &out[i], 1);
		expect(&p, 0, &p, 0);
	}
	duo_run(&p.d, p.d.now + WEFT_MS(20));
	expect(&p, 1, &in[0], 0);
	expect_none(&p, 1);
	assert_memory_equal(in, ((uint8_t[]){2, 0}), 2);
	duo_close(&p.d);
}

/* Messages and datagrams do not reach each other's endpoints. */
static void dgram__kinds_do_not_mix(void **state)
{
	struct pair p;
	uint8_t byte = 1;
	struct weft_addr addr;
	uint32_t to;
	pair_open(&p);
	addr = (struct weft_addr){p.d.e[1]->pds.conf.ip, weft_ep_port(p.ep[1])};
	assert_int_equal(weft_peer_add(p.d.e[0], &addr, &to), 0);
	const struct weft_op op = {.kind = WEFT_OP_SEND, .peer = to, .buf = &byte, .len = 1, .context = &byte};
	assert_int_equal(weft_submit(p.d.ep[0], &op), 0);
	run(&p);
	duo_expect(&p.d, 0, &byte, EHOSTUNREACH);
	addr.port = weft_ep_port(p.d.ep[1]);
	assert_int_equal(weft_peer_add(p.d.e[0], &addr, &p.peer[0]), 0);
	send_dgram(&p, &byte, 1);
	expect(&p, 0, &p, 0);
	assert_int_equal(p.d.e[1]->pds.stats.rx_dgram_drop, 1);
	duo_close(&p.d);
}

/* What only sends shares the number of an endpoint, which is where answers go. */
static void dgram__from_a_hidden_endpoint(void **state)
{
	struct pair p;
	struct weft_ep *hidden;
	struct weft_err err;
	struct weft_cqe cqe;
	uint8_t in = 0;
	pair_open(&p);
	assert_int_equal(weft_ep_open_hidden(p.d.e[0], weft_ep_port(p.ep[0]), 16, 16, &hidden, &err), 0);
	post(&p, &in, 1);
	const struct weft_op op = {.kind = WEFT_OP_DGRAM, .peer = p.peer[0], .buf = "h", .len = 1, .context = hidden};
	assert_int_equal(weft_submit(hidden, &op), 0);
	run(&p);
	assert_int_equal(weft_cq_take(hidden, &cqe, 1), 1);
	assert_int_equal(cqe.err, 0);
	assert_int_equal(expect(&p, 1, &in, 0).peer, p.peer[1]);
	assert_int_equal(in, 'h');
	submit(&p, 1, (struct weft_op){.kind = WEFT_OP_DGRAM, .peer = p.peer[1], .buf = "a", .len = 1, .context = &p});
	run(&p);
	expect(&p, 1, &p, 0);
	assert_int_equal(p.d.e[0]->pds.stats.rx_dgram, 1); /* waits at the endpoint, not at the hidden one */
	submit(&p, 0,
	       (struct weft_op){.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = &in, .len = 1, .context = &in});
	expect(&p, 0, &in, 0);
	assert_int_equal(in, 'a');
	duo_close(&p.d);
}

static void dgram__to_ourselves(void **state)
{
	struct pair p;
	struct weft_err err;
	struct weft_ep *other;
	uint8_t byte = 7, in = 0;
	pair_open(&p);
	assert_int_equal(weft_ep_open_dgram(p.d.e[0], 0, 16, 16, &other, &err), 0);
	const struct weft_addr addr = {p.d.e[0]->pds.conf.ip, weft_ep_port(other)};
	assert_int_equal(weft_peer_add(p.d.e[0], &addr, &p.peer[0]), 0);
	send_dgram(&p, &byte, 1);
	expect(&p, 0, &p, 0);
	const struct weft_op recv = {.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = &in, .len = 1, .context = &in};
	assert_int_equal(weft_submit(other, &recv), 0);
	duo_poll(&p.d, 0);
	assert_int_equal(in, 7);
	duo_close(&p.d);
}

/* A datagram for side 1 as it should be. */
static struct plain_pkt eight_bytes(const struct pair *p)
{
	return (struct plain_pkt){.net = {.dst_port = WIRE_UDP_PORT, .entropy = 0xC000},
				  .pds = {.type = WIRE_PDS_UUD_REQ, .next_hdr = WIRE_NH_MEDIUM},
				  .ses = {.opcode = WIRE_OP_DATAGRAM_SEND,
					  .flags = WIRE_SES_SOM | WIRE_SES_EOM,
					  .pid_on_fep = weft_ep_port(p->ep[1]) >> 4,
					  .resource_index = weft_ep_port(p->ep[1]) & 15,
					  .initiator = 1,
					  .request_length = 8},
				  .payload_bytes = 8};
}

/* Whatever a stranger sends in such packets is counted and dropped. */
static void dgram__bad_packets(void **state)
{
	struct pair p;
	uint8_t bytes[8] = {0}, in = 0;
	pair_open(&p);
	post(&p, &in, 1);
	const struct plain_pkt good = eight_bytes(&p);
	struct plain_pkt w = good;
	w.ses.request_length = 9;
	duo_inject_pkt(&p.d, 1, &w, bytes);
	w = good;
	w.ses.opcode = WIRE_OP_SEND;
	duo_inject_pkt(&p.d, 1, &w, bytes);
	w = good;
	w.pds.next_hdr = WIRE_NH_STD;
	w.ses.request_length = 9;
	duo_inject_pkt(&p.d, 1, &w, bytes);
	w = good;
	w.ses.flags = WIRE_SES_SOM;
	duo_inject_pkt(&p.d, 1, &w, bytes);
	run(&p);
	assert_int_equal(p.d.e[1]->pds.stats.rx_bad_ses, 4);
	expect_none(&p, 1);
	w = good;
	w.ses.resource_index ^= 1;
	duo_inject_pkt(&p.d, 1, &w, bytes);
	run(&p);
	assert_int_equal(p.d.e[1]->pds.stats.rx_dgram_drop, 1);
	w = good;
	duo_inject_pkt(&p.d, 1, &w, bytes);
	run(&p);
	expect(&p, 1, &in, EMSGSIZE);
	duo_close(&p.d);
}

/* From the host `n`, wrapped as nobody here does. */
static void inject_from_stranger(struct pair *p, struct plain_pkt w, uint32_t n)
{
	uint8_t bytes[WEFT_PKT_HEAD_MAX + 8] = {0};
	uint16_t len = w.payload_bytes;
	w.net.src = w.net.dst = p->d.e[1]->pds.conf.ip;
	w.net.src.b[13] ^= 1;
	w.net.src.b[14] = (uint8_t)(n >> 8);
	w.net.src.b[15] = (uint8_t)n;
	w.net.dst_port = WIRE_UDP_PORT_49150;
	len = (uint16_t)(len + plain_encode(&w, bytes));
	duo_inject(&p->d, 1, bytes, len);
	duo_poll(&p->d, 1);
}

/* Forged sources take no more memory than so much, and who is known gets in nonetheless. */
static void dgram__strangers_are_few(void **state)
{
	enum { SOURCES = 10000, FEW = 4096 };
	struct pair p;
	uint8_t out[8] = {0}, in[8];
	pair_open(&p);
	struct plain_pkt w = eight_bytes(&p);
	w.ses.resource_index ^= 1; /* nobody is there */
	for (uint32_t n = 0; n < SOURCES; n++)
		inject_from_stranger(&p, w, n);
	assert_in_range(p.d.e[1]->pds.remotes.count, 0, 2);
	w = eight_bytes(&p);
	for (uint32_t n = 0; n < SOURCES; n++) {
		w.ses.initiator = n + 1;
		inject_from_stranger(&p, w, n % 5000);
	}
	assert_int_equal(p.d.e[1]->ses.peers.count, FEW);
	assert_in_range(p.d.e[1]->pds.remotes.count, 1, FEW);
	assert_true(p.d.e[1]->pds.stats.rx_dgram_drop >= 2 * SOURCES - FEW);
	for (int i = 0; i < 64; i++) {
		post(&p, in, 8);
		expect(&p, 1, in, 0);
	}
	post(&p, in, 8);
	send_dgram(&p, out, 8);
	assert_int_equal(expect(&p, 1, in, 0).peer, p.peer[1]);
	duo_close(&p.d);
}

/* The reference provider sends datagrams as a SEND with the standard header and a message id of its own. */
static void dgram__standard_form(void **state)
{
	struct pair p;
	uint8_t in[8] = {0}, bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	pair_open(&p);
	post(&p, in, sizeof in);
	struct plain_pkt w = {.net = {.dst_port = WIRE_UDP_PORT, .entropy = 0xC000},
			      .pds = {.type = WIRE_PDS_UUD_REQ, .next_hdr = WIRE_NH_STD},
			      .ses = {.opcode = WIRE_OP_SEND,
				      .flags = WIRE_SES_SOM | WIRE_SES_EOM | WIRE_SES_HD,
				      .message_id = 7,
				      .pid_on_fep = weft_ep_port(p.ep[1]) >> 4,
				      .resource_index = weft_ep_port(p.ep[1]) & 15,
				      .initiator = weft_ep_port(p.ep[0]),
				      .header_data = 99,
				      .request_length = 8},
			      .payload_bytes = 8};
	duo_inject_pkt(&p.d, 1, &w, bytes);
	run(&p);
	const struct weft_cqe cqe = expect(&p, 1, in, 0);
	assert_int_equal(cqe.len, 8);
	assert_int_equal(cqe.data, 99);
	assert_memory_equal(in, bytes, sizeof in);
	assert_int_equal(p.d.e[1]->pds.stats.rx_bad_ses, 0);
	duo_close(&p.d);
}

/* The port takes nothing: the datagram waits, and is forgotten with its endpoint. */
static void dgram__waits_for_the_port(void **state)
{
	struct pair p;
	uint8_t out = 1, in = 0;
	pair_open(&p);
	post(&p, &in, 1);
	const struct weft_op op = {.kind = WEFT_OP_DGRAM, .peer = p.peer[0], .buf = &out, .len = 1, .context = &out};
	p.d.port[0].tx_room = 0;
	submit(&p, 0, op);
	expect_none(&p, 0);
	p.d.port[0].tx_room = UINT32_MAX;
	run(&p);
	expect(&p, 0, &out, 0);
	expect(&p, 1, &in, 0);
	p.d.port[0].tx_room = 0;
	submit(&p, 0, op);
	weft_ep_close(p.ep[0]);
	assert_int_equal(p.d.e[0]->ses.dgram_pool.used, 0);
	assert_int_equal(p.d.e[0]->ses.cqe_nodes.used, 0);
	p.d.port[0].tx_room = UINT32_MAX;
	run(&p);
	duo_close(&p.d);
}

/* Counts packets that carry what the application writes once the buffer is its own again. */
enum { REUSED = 0x5c, MARK_BYTES = 16 };

static void count_reused(void *arg, int from, const uint8_t *bytes, uint16_t len)
{
	uint8_t mark[MARK_BYTES];
	memset(mark, REUSED, sizeof mark);
	*(uint32_t *)arg += memmem(bytes, len, mark, sizeof mark) != NULL;
}

/* Of two endpoints whose datagrams wait for the port one closes: its buffer is the application's again, and nothing of
 * it leaves; the other's datagram does. */
static void close__forgets_what_waits(void **state)
{
	enum { LEN = 2 * MARK_BYTES };
	struct pair p;
	struct weft_err err;
	struct weft_ep *other;
	uint8_t closed[LEN] = {0}, stays[LEN] = "stays", in[2][LEN] = {{0}};
	uint32_t reused = 0;
	pair_open(&p);
	assert_int_equal(weft_ep_open_dgram(p.d.e[0], 0, 16, 16, &other, &err), 0);
	for (int i = 0; i < 2; i++)
		post(&p, in[i], LEN);
	struct weft_op op = {.kind = WEFT_OP_DGRAM, .peer = p.peer[0], .buf = closed, .len = LEN, .context = closed};
	p.d.port[0].tx_room = 0;
	submit(&p, 0, op);
	op.buf = op.context = stays;
	assert_int_equal(weft_submit(other, &op), 0);
	duo_poll(&p.d, 0);
	weft_ep_close(p.ep[0]);
	memset(closed, REUSED, LEN);
	p.d.tap = count_reused;
	p.d.tap_arg = &reused;
	p.d.port[0].tx_room = UINT32_MAX;
	run(&p);
	assert_int_equal(reused, 0);
	assert_int_equal(p.d.log_len, 1);
	expect(&p, 1, in[0], 0);
	assert_memory_equal(in[0], stays, LEN);
	expect_none(&p, 1);
	duo_close(&p.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dgram__arrives_with_source_and_data),
		cmocka_unit_test(dgram__truncated_and_empty),
		cmocka_unit_test(dgram__too_long_or_from_the_wrong_endpoint),
		cmocka_unit_test(dgram__without_receive),
		cmocka_unit_test(dgram__lost_is_lost),
		cmocka_unit_test(dgram__kinds_do_not_mix),
		cmocka_unit_test(dgram__from_a_hidden_endpoint),
		cmocka_unit_test(dgram__to_ourselves),
		cmocka_unit_test(dgram__bad_packets),
		cmocka_unit_test(dgram__strangers_are_few),
		cmocka_unit_test(dgram__standard_form),
		cmocka_unit_test(dgram__waits_for_the_port),
		cmocka_unit_test(close__forgets_what_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
