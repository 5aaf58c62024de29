/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of connections and operations (weft/view.h). */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "weft/view.h"

enum { LIMIT = 20000, LONG = 400000 };

static uint8_t memory[2][LONG];

static void open_with(struct duo *d, uint32_t rndv_bytes)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = rndv_bytes;
	duo_open(d, &conf);
}

static void submit(struct duo *d, int side, struct weft_op op)
{
	op.peer = d->peer[side];
	assert_int_equal(weft_submit(d->ep[side], &op), 0);
	d->due[side] = d->now;
}

static void send_bytes(struct duo *d, uint64_t len, uint16_t flags)
{
	submit(d, 0, (struct weft_op){.kind = WEFT_OP_TSEND, .buf = memory[0], .len = len, .tag = 7, .flags = flags});
}

static enum duo_fate drop_all(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return DUO_DROP;
}

/* All rows of a side, page by page. */
static unsigned all_ops(const struct duo *d, int side, struct weft_op_row *rows, unsigned room)
{
	uint32_t cursor = 0;
	unsigned count = 0;
	do {
		assert_true(room - count >= WEFT_OP_ROWS_MIN);
		count += weft_engine_ops(d->e[side], d->now, &cursor, rows + count, WEFT_OP_ROWS_MIN);
	} while (cursor);
	return count;
}

static struct weft_op_row only_op(const struct duo *d, int side)
{
	struct weft_op_row rows[4 * WEFT_OP_ROWS_MIN];
	assert_int_equal(all_ops(d, side, rows, 4 * WEFT_OP_ROWS_MIN), 1);
	return rows[0];
}

/* Of the first operation that waits for this. */
static struct weft_op_row op_waiting(const struct duo *d, int side, uint8_t wait)
{
	struct weft_op_row rows[4 * WEFT_OP_ROWS_MIN];
	unsigned count = all_ops(d, side, rows, 4 * WEFT_OP_ROWS_MIN);
	for (unsigned i = 0; i < count; i++)
		if (rows[i].wait == wait)
			return rows[i];
	fail_msg("nothing waits for %s", weft_op_wait_name(wait));
	return rows[0];
}

static struct weft_conn_row only_conn(const struct duo *d, int side)
{
	struct weft_conn_row rows[4];
	uint32_t cursor = 0;
	assert_int_equal(weft_engine_conns(d->e[side], d->now, &cursor, rows, 4), 1);
	assert_int_equal(cursor, 0);
	return rows[0];
}

/* ---- connections ---- */

static void conns__none(void **state)
{
	struct weft_conn_row row;
	uint32_t cursor = 0;
	struct duo d;
	open_with(&d, 0);
	assert_int_equal(weft_engine_conns(d.e[0], d.now, &cursor, &row, 1), 0);
	assert_int_equal(cursor, 0);
	duo_close(&d);
}

static void conns__both_ends(void **state)
{
	struct duo d;
	open_with(&d, 0);
	duo_transfer(&d, 0, 100000);
	d.now += WEFT_MS(1);
	const struct weft_conn_row from = only_conn(&d, 0), to = only_conn(&d, 1);
	assert_true(from.sends && !from.receives && !from.by_peer && !from.has_ops && !from.background);
	assert_int_equal(from.state, WEFT_CONN_OPEN);
	assert_int_equal(from.id, first_tx(d.e[0])->pdc.id);
	assert_int_equal(from.cwnd_bytes, first_tx(d.e[0])->cc.cwnd_bytes);
	assert_int_equal(from.brtt_ns, first_tx(d.e[0])->brtt_ns);
	assert_true(from.srtt_ns >= from.brtt_ns / 2 && from.payload_bytes > 0);
	assert_int_equal(from.inflight_bytes, 0);
	assert_true(from.silent_ns >= WEFT_MS(1));
	assert_true(to.receives && to.by_peer && !to.sends);
	assert_true(to.received_bytes >= 100000);
	assert_true(weft_ip_eq(&from.ip, &weft_peer_addr(d.e[0], d.peer[0])->ip));
	assert_true(weft_ip_eq(&to.ip, &weft_peer_addr(d.e[1], d.peer[1])->ip));
	duo_close(&d);
}

static void conns__in_pages(void **state)
{
	struct weft_conn_row rows[2];
	uint32_t cursor = 0;
	struct duo d;
	unsigned count = 0;
	open_with(&d, 0);
	send_bytes(&d, 100, 0);
	send_bytes(&d, 100, WEFT_OP_BACKGROUND);
	duo_run(&d, d.now + WEFT_MS(1));
	do
		count += weft_engine_conns(d.e[0], d.now, &cursor, rows + count, 1);
	while (cursor);
	assert_int_equal(count, 2);
	assert_true(rows[0].background != rows[1].background);
	assert_int_not_equal(rows[0].id, rows[1].id);
	duo_close(&d);
}

/* A cursor of before the table grew, or anything else. */
static void conns__cursor_beyond_the_table(void **state)
{
	struct weft_op_row ops[WEFT_OP_ROWS_MIN];
	struct weft_conn_row row;
	uint32_t cursor = 60000;
	struct duo d;
	open_with(&d, 0);
	duo_transfer(&d, 0, 10);
	assert_int_equal(weft_engine_conns(d.e[0], d.now, &cursor, &row, 1), 0);
	assert_int_equal(cursor, 0);
	cursor = UINT32_MAX - 1;
	assert_int_equal(weft_engine_ops(d.e[0], d.now, &cursor, ops, WEFT_OP_ROWS_MIN), 0);
	assert_int_equal(cursor, 0);
	duo_close(&d);
}

static void conns__count_what_befell_packets(void **state)
{
	const struct {
		enum duo_fate fate;
		uint32_t marked, trimmed, retx;
	} cases[] = {{DUO_MARK, 1, 0, 0}, {DUO_TRIM, 0, 1, 1}, {DUO_DROP, 0, 0, 1}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct hit hit = {3, 3, cases[i].fate};
		struct duo d;
		open_with(&d, 0);
		d.fate = hit_data;
		d.fate_arg = &hit;
		duo_transfer(&d, 0, 100000);
		const struct weft_conn_row row = only_conn(&d, 0);
		assert_int_equal(row.marked_acks, cases[i].marked);
		assert_int_equal(row.trimmed_pkts, cases[i].trimmed);
		assert_int_equal(row.retx_pkts, cases[i].retx);
		duo_close(&d);
	}
}

static void conns__of_a_silent_peer(void **state)
{
	struct duo d;
	open_with(&d, 0);
	duo_transfer(&d, 0, 100);
	d.fate = drop_all;
	send_bytes(&d, 100, 0);
	duo_run(&d, d.now + WEFT_MS(20));
	const struct weft_conn_row row = only_conn(&d, 0);
	assert_true(row.has_ops && row.timeouts > 0 && row.retx_pkts > 0);
	assert_true(row.silent_ns >= WEFT_MS(19));
	assert_int_equal(row.inflight_pkts + row.lost_pkts, 1);
	duo_close(&d);
}

/* ---- operations ---- */

static void ops__none(void **state)
{
	struct weft_op_row rows[2 * WEFT_OP_ROWS_MIN];
	struct duo d;
	open_with(&d, 0);
	duo_transfer(&d, 0, 1000);
	assert_int_equal(all_ops(&d, 0, rows, 2 * WEFT_OP_ROWS_MIN), 0);
	assert_int_equal(all_ops(&d, 1, rows, 2 * WEFT_OP_ROWS_MIN), 0);
	duo_close(&d);
}

/* The sender waits for the receiver's application, whose side says so as well. */
static void ops__without_a_receive(void **state)
{
	struct duo d;
	open_with(&d, LIMIT);
	send_bytes(&d, LONG, 0);
	duo_run(&d, d.now + WEFT_MS(5));
	const struct weft_op_row out = only_op(&d, 0), in = only_op(&d, 1);
	assert_int_equal(out.kind, WEFT_OP_TSEND);
	assert_int_equal(out.wait, WEFT_WAIT_RECEIVE);
	assert_int_equal(out.bytes, LONG);
	assert_int_equal(out.done_bytes, 0);
	assert_int_equal(out.tag, 7);
	assert_int_equal(out.ep, 100);
	assert_int_equal(out.peer.port, 200);
	assert_int_equal(out.conn, first_tx(d.e[0])->pdc.id);
	assert_true(out.age_ns >= WEFT_MS(4) && out.age_ns <= WEFT_MS(5));
	assert_int_equal(in.kind, WEFT_OP_TRECV);
	assert_int_equal(in.wait, WEFT_WAIT_MATCH);
	assert_int_equal(in.bytes, LONG);
	assert_int_equal(in.peer.port, 100);
	assert_true(in.age_ns >= WEFT_MS(4));
	duo_close(&d);
}

static void ops__receives(void **state)
{
	struct duo d;
	open_with(&d, 0);
	duo_recv(&d, 1, memory[1], 500, 9, 0, NULL);
	d.due[1] = d.now;
	duo_run(&d, d.now + WEFT_MS(1));
	const struct weft_op_row row = only_op(&d, 1);
	assert_int_equal(row.kind, WEFT_OP_TRECV);
	assert_int_equal(row.wait, WEFT_WAIT_MESSAGE);
	assert_true(row.any_peer);
	assert_int_equal(row.bytes, 500);
	assert_int_equal(row.tag, 9);
	assert_int_equal(row.conn, 0);
	duo_close(&d);
}

/* Nothing is heard of the peer. Those behind the first wait for their turn, and not all are shown. */
static void ops__to_a_silent_peer(void **state)
{
	struct weft_op_row rows[4 * WEFT_OP_ROWS_MIN];
	struct duo d;
	open_with(&d, 0);
	d.fate = drop_all;
	for (int i = 0; i < 9; i++)
		send_bytes(&d, LONG, 0);
	duo_run(&d, d.now + WEFT_MS(20));
	unsigned count = all_ops(&d, 0, rows, 4 * WEFT_OP_ROWS_MIN);
	assert_int_equal(count, 6);
	assert_int_equal(rows[0].wait, WEFT_WAIT_ACK);
	assert_true(rows[0].silent_ns >= WEFT_MS(19) && rows[0].done_bytes > 0);
	for (unsigned i = 1; i < count; i++)
		assert_int_equal(rows[i].wait, WEFT_WAIT_TURN);
	assert_true(!rows[4].more && rows[5].more);
	duo_close(&d);
}

static int reach_code;

static int reach(const struct weft_port *port, const struct weft_ip *ip, struct weft_ip *next_hop)
{
	return reach_code;
}

/* The port knows why. */
static void ops__without_a_way(void **state)
{
	const struct {
		int code;
		uint8_t wait;
	} cases[] = {{-EINPROGRESS, WEFT_WAIT_ADDRESS},
		     {-EHOSTUNREACH, WEFT_WAIT_ADDRESS},
		     {-ENETUNREACH, WEFT_WAIT_ROUTE},
		     {0, WEFT_WAIT_ACK}};
	struct weft_port_ops ops;
	struct duo d;
	open_with(&d, 0);
	ops = *d.port[0].port.ops;
	ops.reach = reach;
	d.port[0].port.ops = &ops;
	d.fate = drop_all;
	send_bytes(&d, 100, 0);
	duo_poll(&d, 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		reach_code = cases[i].code;
		assert_int_equal(only_op(&d, 0).wait, cases[i].wait);
	}
	duo_close(&d);
}

static void ops__in_the_window(void **state)
{
	struct duo d;
	open_with(&d, 0);
	send_bytes(&d, LONG, 0);
	duo_run(&d, d.now + WEFT_US(8));
	const struct weft_op_row row = only_op(&d, 0);
	assert_int_equal(row.wait, WEFT_WAIT_CWND);
	assert_true(row.done_bytes > 0 && row.done_bytes < LONG);
	duo_close(&d);
}

static void ops__fenced(void **state)
{
	struct duo d;
	open_with(&d, 0);
	duo_transfer(&d, 0, 100);
	send_bytes(&d, 100, 0);
	send_bytes(&d, 200, WEFT_OP_FENCE);
	duo_poll(&d, 0);
	assert_int_equal(op_waiting(&d, 0, WEFT_WAIT_ACK).bytes, 100);
	assert_int_equal(op_waiting(&d, 0, WEFT_WAIT_FENCE).bytes, 200);
	duo_close(&d);
}

static void ops__of_a_peer_short_of_memory(void **state)
{
	struct duo d;
	open_with(&d, 0);
	duo_transfer(&d, 0, 100);
	first_tx(d.e[0])->hold_until_ns = d.now + WEFT_MS(1);
	send_bytes(&d, 100, 0);
	duo_poll(&d, 0);
	assert_int_equal(only_op(&d, 0).wait, WEFT_WAIT_RESOURCES);
	duo_close(&d);
}

/* The message is half here. */
static void ops__arriving(void **state)
{
	struct hit hit = {20, UINT64_MAX, DUO_DROP};
	struct duo d;
	open_with(&d, 0);
	d.fate = hit_data;
	d.fate_arg = &hit;
	duo_recv(&d, 1, memory[1], LONG, 7, 0, NULL);
	d.due[1] = d.now;
	send_bytes(&d, LONG, 0);
	duo_run(&d, d.now + WEFT_MS(1));
	const struct weft_op_row row = only_op(&d, 1);
	assert_int_equal(row.kind, WEFT_OP_TRECV);
	assert_int_equal(row.wait, WEFT_WAIT_DATA);
	assert_int_equal(row.bytes, LONG);
	assert_true(row.done_bytes > 0 && row.done_bytes < LONG);
	assert_int_equal(row.conn, first_rx(d.e[1])->pdc.id);
	duo_close(&d);
}

/* Of an announced message, while the receiver fetches it. */
static void ops__fetching(void **state)
{
	struct duo d;
	open_with(&d, LIMIT);
	send_bytes(&d, LONG, 0);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_recv(&d, 1, memory[1], LONG, 7, 0, NULL);
	d.due[1] = d.now;
	duo_run(&d, d.now + WEFT_US(12)); /* the question is there, and the first answers are on their way */
	assert_int_equal(only_op(&d, 0).wait, WEFT_WAIT_FETCH);
	const struct weft_op_row in = only_op(&d, 1);
	assert_int_equal(in.wait, WEFT_WAIT_DATA);
	assert_int_equal(in.bytes, LONG);
	duo_close(&d);
}

static void ops__read(void **state)
{
	struct duo d;
	open_with(&d, 0);
	d.fate = drop_all;
	submit(&d, 0, (struct weft_op){.kind = WEFT_OP_READ, .buf = memory[0], .len = 5000, .rkey = 1});
	submit(&d, 0,
	       (struct weft_op){
		       .kind = WEFT_OP_READ, .buf = memory[0], .len = 60, .rkey = 1, .flags = WEFT_OP_IDEMPOTENT});
	duo_run(&d, d.now + WEFT_US(50));
	struct weft_op_row rows[4 * WEFT_OP_ROWS_MIN];
	assert_int_equal(all_ops(&d, 0, rows, 4 * WEFT_OP_ROWS_MIN), 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rows[i].kind, WEFT_OP_READ);
		assert_int_equal(rows[i].wait, WEFT_WAIT_ACK);
		assert_int_equal(rows[i].bytes, i ? 60 : 5000);
	}
	assert_int_equal(rows[1].conn, 0);
	duo_close(&d);
}

/* ---- names ---- */

static void names__all(void **state)
{
	for (uint8_t wait = 0; wait < WEFT_WAITS; wait++)
		assert_non_null(weft_op_wait_name(wait));
	assert_null(weft_op_wait_name(WEFT_WAITS));
	for (uint8_t kind = 0; kind <= WEFT_OP_REMOTE_READ; kind++)
		assert_non_null(weft_op_kind_name(kind));
	assert_null(weft_op_kind_name(WEFT_OP_REMOTE_READ + 1));
	assert_string_equal(weft_op_wait_name(WEFT_WAIT_RECEIVE), "receive");
	assert_string_equal(weft_op_kind_name(WEFT_OP_TSEND), "tsend");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conns__none),
		cmocka_unit_test(conns__both_ends),
		cmocka_unit_test(conns__in_pages),
		cmocka_unit_test(conns__cursor_beyond_the_table),
		cmocka_unit_test(conns__count_what_befell_packets),
		cmocka_unit_test(conns__of_a_silent_peer),
		cmocka_unit_test(ops__none),
		cmocka_unit_test(ops__without_a_receive),
		cmocka_unit_test(ops__receives),
		cmocka_unit_test(ops__to_a_silent_peer),
		cmocka_unit_test(ops__without_a_way),
		cmocka_unit_test(ops__in_the_window),
		cmocka_unit_test(ops__fenced),
		cmocka_unit_test(ops__of_a_peer_short_of_memory),
		cmocka_unit_test(ops__arriving),
		cmocka_unit_test(ops__fetching),
		cmocka_unit_test(ops__read),
		cmocka_unit_test(names__all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
