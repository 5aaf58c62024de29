/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "rx_msg.h"

static void open__first_packets_lost(void **state)
{
	struct hit h = {0, 9, DUO_DROP};
	struct duo d;
	open_default(&d);
	d.logging = true;
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 200 * 4096);
	assert_int_equal(weft_engine_stats(d.e[1])->pdc_accepted, 1);
	/* 0-RTT: whole packets of data go out before the target's id is known, each able to open the connection. */
	uint32_t syns = 0;
	for (uint32_t i = 0; i < d.log_len; i++)
		if (d.log[i].from == 0 && d.log[i].w.pds.flags & WIRE_F_SYN) {
			assert_int_equal(d.log[i].w.pds.psn - d.log[i].w.pds.psn_offset, d.log[0].w.pds.psn);
			assert_int_equal(d.log[i].w.pds.dpdcid, 0);
			syns++;
		}
	assert_in_range(syns, 20, 60);
	duo_close(&d);
}

/* From the first message that is queued until all of them are acknowledged. */
static void busy_conns__counts_connections_with_something_to_do(void **state)
{
	uint8_t *out = duo_pattern(200000, 3), *in = calloc(2, 200000);
	struct duo d;
	open_default(&d);
	const uint32_t *busy = &d.e[0]->pds.busy_conns;
	assert_int_equal(*busy, 0);
	for (unsigned i = 0; i < 2; i++) {
		duo_recv(&d, 1, in + 200000 * i, 200000, 7 + i, 0, NULL);
		duo_send(&d, 0, out, 200000, 7 + i, out);
	}
	duo_poll(&d, 0);
	assert_int_equal(*busy, 1);
	assert_ptr_equal(first_tx(d.e[0])->cc.params->busy_conns, busy);
	duo_run(&d, d.now + WEFT_MS(1));
	assert_int_equal(*busy, 0);
	duo_run(&d, d.now + WEFT_MS(1500)); /* closed */
	assert_null(first_tx(d.e[0]));
	assert_int_equal(*busy, 0);
	free(in);
	free(out);
	duo_close(&d);
}

static void close__after_idling(void **state)
{
	struct duo d;
	open_default(&d);
	d.logging = true;
	duo_transfer(&d, 0, 10000);
	duo_run(&d, d.now + WEFT_MS(1500));
	const struct weft_stats *a = weft_engine_stats(d.e[0]);
	assert_int_equal(a->pdc_closed, 1);
	assert_int_equal(a->tx_retx, 0);
	assert_null(first_tx(d.e[0]));
	assert_null(first_rx(d.e[1])); /* after its time of waiting for late copies */
	duo_transfer(&d, 0, 10000);
	assert_int_equal(a->pdc_opened, 2);
	duo_close(&d);
}

/* CLOSE_REQ, the first packet of the target's direction, to an initiator that is idle or has data under way. */
static void close__when_the_target_asks(void **state)
{
	for (int busy = 0; busy < 2; busy++) {
		struct duo d;
		open_default(&d);
		duo_transfer(&d, 0, 10000);
		struct pdc_tx *p = first_tx(d.e[0]);
		struct plain_pkt ask = {.pds = {.type = WIRE_PDS_CP,
						.ctl = WIRE_CTL_CLOSE_REQ,
						.psn = p->start_psn,
						.spdcid = p->remote_id,
						.dpdcid = p->pdc.id}};
		uint8_t *in = calloc(1, 20000), *out = duo_pattern(20000, 3);
		if (busy) {
			duo_recv(&d, 1, in, 20000, 7, 0, in);
			duo_send(&d, 0, out, 20000, 7, out);
			duo_poll(&d, 0);
		}
		d.logging = true;
		for (int i = 0; i < 2; i++) /* a copy changes nothing */
			duo_inject_pkt(&d, 0, &ask, NULL);
		duo_poll(&d, 0);
		assert_int_equal(d.log[0].w.pds.type, WIRE_PDS_ACK_CC);
		assert_int_equal(d.log[0].w.pds.next_hdr, WIRE_NH_NONE);
		assert_int_equal(d.log[0].w.pds.psn, ask.pds.psn);
		assert_int_equal(weft_engine_stats(d.e[0])->pdc_closed, 0);
		duo_run(&d, d.now + WEFT_MS(1));
		assert_int_equal(weft_engine_stats(d.e[0])->pdc_closed, 1);
		assert_int_equal(weft_engine_stats(d.e[0])->pdc_failed, 0);
		if (busy) {
			duo_expect(&d, 0, out, 0);
			duo_expect(&d, 1, in, 0);
			assert_memory_equal(in, out, 20000);
		}
		assert_null(first_tx(d.e[0]));
		duo_transfer(&d, 0, 10000); /* over another connection */
		duo_close(&d);
		free(in);
		free(out);
	}
}

static enum duo_fate drop_closes(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	uint32_t *left = arg;
	bool close = w->pds.type == WIRE_PDS_CP && w->pds.ctl == WIRE_CTL_CLOSE_CMD;
	return close && *left && (*left)-- ? DUO_DROP : DUO_PASS;
}

static void close__lost_is_repeated(void **state)
{
	uint32_t left = 3;
	struct duo d;
	open_default(&d);
	d.fate = drop_closes;
	d.fate_arg = &left;
	duo_transfer(&d, 0, 10000);
	weft_engine_shutdown(d.e[0], d.now);
	assert_false(weft_engine_idle(d.e[0]));
	duo_run(&d, d.now + WEFT_MS(100));
	assert_int_equal(left, 0);
	assert_true(weft_engine_idle(d.e[0]));
	assert_int_equal(weft_engine_stats(d.e[0])->pdc_closed, 1);
	duo_close(&d);
}

static enum duo_fate drop_acks_of_closes(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	uint32_t *left = arg;
	return from == 1 && w->pds.next_hdr == WIRE_NH_NONE && *left && (*left)-- ? DUO_DROP : DUO_PASS;
}

static void close__answer_lost(void **state)
{
	uint32_t left = 2;
	struct duo d;
	open_default(&d);
	d.fate = drop_acks_of_closes;
	d.fate_arg = &left;
	duo_transfer(&d, 0, 10000);
	weft_engine_shutdown(d.e[0], d.now);
	duo_run(&d, d.now + WEFT_MS(100));
	assert_int_equal(left, 0);
	assert_true(weft_engine_idle(d.e[0]));
	duo_close(&d);
}

/* Messages given while the CLOSE_CMD is on its way go over a new connection, each once, however often that happens. */
static void close__crossed_by_new_messages(void **state)
{
	struct duo d;
	uint8_t out[3000] = {7}, in[3000];
	open_default(&d);
	for (int i = 0; i < 20; i++) {
		duo_transfer(&d, 0, 3000);
		while (!first_tx(d.e[0]) || first_tx(d.e[0])->state != PDC_TX_CLOSING) {
			if (!first_tx(d.e[0]))
				duo_transfer(&d, 0, 1);
			duo_run(&d, d.now + 500);
		}
		duo_recv(&d, 1, in, sizeof in, 3, 0, in);
		duo_send(&d, 0, out, sizeof out, 3, out);
		duo_run(&d, d.now + WEFT_MS(1));
		duo_expect(&d, 0, out, 0);
		duo_expect(&d, 1, in, 0);
		assert_memory_equal(in, out, sizeof in);
		const struct weft_stats *from = duo_stats(&d, 0);
		assert_int_equal(from->pdc_opened - from->pdc_closed, first_tx(d.e[0]) != NULL);
	}
	assert_int_equal(weft_engine_stats(d.e[0])->pdc_failed, 0);
	assert_int_equal(weft_engine_stats(d.e[1])->msg_unexpected, 0);
	duo_close(&d);
}

static void shutdown__refuses_new_operations(void **state)
{
	struct duo d;
	uint8_t out[1];
	open_default(&d);
	weft_engine_shutdown(d.e[0], d.now);
	assert_true(weft_engine_idle(d.e[0]));
	duo_send(&d, 0, out, 1, 1, out);
	duo_poll(&d, 0);
	duo_expect(&d, 0, out, ESHUTDOWN);
	duo_close(&d);
}

static void shutdown__waits_for_messages(void **state)
{
	struct duo d;
	uint8_t *out = duo_pattern(100000, 1), *in = malloc(100000);
	open_default(&d);
	duo_recv(&d, 1, in, 100000, 1, 0, in);
	duo_send(&d, 0, out, 100000, 1, out);
	duo_poll(&d, 0);
	weft_engine_shutdown(d.e[0], d.now);
	duo_run(&d, d.now + WEFT_MS(10));
	duo_expect(&d, 0, out, 0);
	duo_expect(&d, 1, in, 0);
	assert_memory_equal(in, out, 100000);
	assert_true(weft_engine_idle(d.e[0]));
	duo_close(&d);
	free(in);
	free(out);
}

static enum duo_fate drop_all(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return DUO_DROP;
}

static void silence__ends_operations_in_time(void **state)
{
	struct duo_conf conf;
	struct duo d;
	uint8_t out[20000] = {1};
	duo_conf_init(&conf);
	conf.tune.peer_timeout_ns = WEFT_MS(300);
	duo_open(&d, &conf);
	d.fate = drop_all;
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_send(&d, 0, out, 10, 1, out + 1);
	weft_ns start = d.now;
	struct weft_cqe cqe;
	duo_run(&d, start + WEFT_MS(299));
	assert_false(duo_cqe(&d, 0, &cqe));
	duo_run(&d, start + WEFT_MS(317)); /* the timing wheel's deadlines are exact, polls here follow them */
	duo_expect(&d, 0, out, ETIMEDOUT);
	duo_expect(&d, 0, out + 1, ETIMEDOUT);
	assert_int_equal(weft_engine_stats(d.e[0])->pdc_failed, 1);
	assert_int_equal(weft_engine_stats(d.e[0])->msg_failed, 2);
	assert_null(first_tx(d.e[0]));
	d.fate = NULL;
	duo_transfer(&d, 0, 100); /* the peer is back */
	duo_close(&d);
}

/* Stopped for longer than the timeout: what arrived meanwhile counts. */
static void silence__not_when_we_slept(void **state)
{
	struct duo d;
	uint8_t out[100] = {1};
	open_default(&d);
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_poll(&d, 0);
	d.now += WEFT_US(4);
	duo_poll(&d, 1);
	d.now += WEFT_S(6);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 0, out, 0);
	uint8_t more[100];
	duo_send(&d, 0, more, sizeof more, 1, more);
	duo_poll(&d, 0);
	d.now += WEFT_S(6);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 0, more, 0);
	duo_close(&d);
}

/* The target forgets everything, as a restarted process does. */
static void forget(struct weft_engine *e)
{
	while (first_rx(e))
		pdc_rx_free(&e->pds, first_rx(e), 0);
}

static void restart__of_the_peer_within_a_message_is_an_error(void **state)
{
	struct duo d;
	static uint8_t out[1 << 20];
	open_default(&d);
	duo_recv(&d, 1, NULL, sizeof out, 1, 0, NULL);
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_run(&d, d.now + WEFT_US(30));
	assert_true(weft_engine_stats(d.e[0])->rx_ack > 0);
	forget(d.e[1]);
	duo_run(&d, d.now + WEFT_MS(10));
	duo_expect(&d, 0, out, ECONNRESET);
	assert_true(weft_engine_stats(d.e[1])->rx_no_pdc > 0);
	duo_close(&d);
}

/* Nothing of the message was acknowledged by the process before: it starts over on a new connection. */
static void restart__of_the_peer_between_messages_goes_unnoticed(void **state)
{
	struct duo d;
	open_default(&d);
	duo_transfer(&d, 0, 100);
	forget(d.e[1]);
	duo_transfer(&d, 0, 20000);
	assert_true(weft_engine_stats(d.e[1])->rx_no_pdc > 0);
	assert_int_equal(weft_engine_stats(d.e[0])->pdc_failed, 0);
	duo_close(&d);
}

static void restart__while_closing_is_as_good_as_closed(void **state)
{
	struct duo d;
	open_default(&d);
	duo_transfer(&d, 0, 100);
	forget(d.e[1]);
	weft_engine_shutdown(d.e[0], d.now);
	duo_run(&d, d.now + WEFT_MS(10));
	assert_true(weft_engine_idle(d.e[0]));
	assert_int_equal(weft_engine_stats(d.e[0])->pdc_closed, 1);
	duo_close(&d);
}

/* Another connection of ours with the same id is alive at the target: we take another id. */
static void syn__refused_takes_another_id(void **state)
{
	struct duo d;
	uint8_t payload[8] = {0};
	open_default(&d);
	struct plain_pkt w = duo_syn(1, 8);
	w.ses.match = 99;
	w.pds.spdcid = 1; /* the first id that side 0 will use */
	duo_inject_pkt(&d, 1, &w, payload);
	duo_poll(&d, 1);
	duo_transfer(&d, 0, 20000);
	assert_int_equal(weft_engine_stats(d.e[0])->pdc_failed, 0);
	assert_true(first_tx(d.e[0])->pdc.id != 1);
	duo_close(&d);
}

/* Opens side 0's connection with the given first PSN. */
static struct pdc_tx *open_at(struct duo *d, uint32_t psn)
{
	struct pdc_tx *p = pdc_tx_get(&d->e[0]->pds, peer_get(&d->e[0]->ses.peers, d->peer[0])->remote, false, d->now);
	p->start_psn = psn;
	p->cack_psn = p->last_ack_psn = psn - 1;
	sendq_init(&p->q, psn);
	return p;
}

static enum duo_fate every_fifth_lost(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return nth % 5 == 3 ? DUO_DROP : nth % 7 == 2 ? DUO_LATE : DUO_PASS;
}

static void psn__wraps(void **state)
{
	static const uint32_t starts[] = {UINT32_MAX, UINT32_MAX - 700, 0x7fffffff, 0x7fffffff - 700, 0xffff, 0};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		struct duo d;
		open_default(&d);
		open_at(&d, starts[i]);
		d.fate = every_fifth_lost;
		duo_transfer(&d, 0, 1500 * 4096);
		duo_transfer(&d, 1, 100 * 4096);
		assert_true(first_tx(d.e[0])->q.una - starts[i] >= 1500);
		duo_close(&d);
	}
}

static void message_ids__wrap(void **state)
{
	struct duo d;
	open_default(&d);
	duo_transfer(&d, 0, 1);
	first_tx(d.e[0])->user = UINT16_MAX - 3; /* the message id given last */
	ses_rx_of(first_rx(d.e[1]))->next_match_id = UINT16_MAX - 2;
	for (int i = 0; i < 6; i++)
		duo_transfer(&d, 0, 5000);
	assert_int_equal(first_tx(d.e[0])->user, 3);
	duo_close(&d);
}

static void submit_background(struct duo *d, const void *buf, uint64_t len, uint64_t tag, const void *context)
{
	struct weft_op op = {.kind = WEFT_OP_TSEND,
			     .flags = WEFT_OP_BACKGROUND,
			     .peer = d->peer[0],
			     .buf = (void *)buf,
			     .len = len,
			     .tag = tag,
			     .context = (void *)context};
	assert_int_equal(weft_submit(d->ep[0], &op), 0);
	d->due[0] = d->now;
}

/* How many entropies the data packets of a connection had. */
static uint32_t entropies(const struct duo *d, uint16_t pdc_id, uint32_t *pkts)
{
	static bool seen[65536];
	uint32_t different = 0;
	memset(seen, 0, sizeof seen);
	*pkts = 0;
	for (uint32_t i = 0; i < d->log_len; i++) {
		const struct plain_pkt *w = &d->log[i].w;
		if (d->log[i].from != 0 || !is_data(w) || w->pds.spdcid != pdc_id)
			continue;
		different += !seen[w->net.entropy];
		seen[w->net.entropy] = true;
		++*pkts;
	}
	return different;
}

/* A background message does not queue behind the others, keeps one path and leaves theirs alone; both are whole, in
 * spite of losses. */
static void background__has_its_own_connection(void **state)
{
	enum { LONG = 2000 * 4096, SHORT = 100 * 4096 };
	struct duo_conf conf;
	struct duo d;
	struct hit h = {50, 60, DUO_DROP};
	uint8_t *first = duo_pattern(LONG, 1), *second = duo_pattern(SHORT, 2), *in = malloc(LONG + SHORT);
	uint32_t pkts;
	duo_conf_init(&conf);
	conf.lb_background = "ecmp";
	duo_open(&d, &conf);
	d.logging = true;
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_recv(&d, 1, in, LONG, 1, 0, &conf);
	duo_recv(&d, 1, in + LONG, SHORT, 2, 0, &d);
	duo_send(&d, 0, first, LONG, 1, first);
	submit_background(&d, second, SHORT, 2, second);
	duo_run(&d, d.now + WEFT_MS(5));
	duo_expect(&d, 0, second, 0);
	duo_expect(&d, 0, first, 0);
	duo_expect(&d, 1, &d, 0);
	duo_expect(&d, 1, &conf, 0);
	assert_memory_equal(in, first, LONG);
	assert_memory_equal(in + LONG, second, SHORT);
	assert_int_equal(weft_engine_stats(d.e[0])->pdc_opened, 2);
	struct pdc_tx *usual = first_tx(d.e[0]), *other = list_entry(usual->link.next, struct pdc_tx, link);
	assert_true(entropies(&d, usual->pdc.id, &pkts) > 1900);
	assert_in_range(pkts, 2000, 2100);
	assert_int_equal(entropies(&d, other->pdc.id, &pkts), 1);
	assert_in_range(pkts, 100, 120);
	duo_run(&d, d.now + WEFT_S(3)); /* idle: both close, and can be opened again */
	assert_null(first_tx(d.e[0]));
	duo_transfer(&d, 0, 10000);
	assert_int_equal(weft_engine_stats(d.e[0])->pdc_opened, 3);
	duo_close(&d);
	free(first);
	free(second);
	free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open__first_packets_lost),
		cmocka_unit_test(background__has_its_own_connection),
		cmocka_unit_test(busy_conns__counts_connections_with_something_to_do),
		cmocka_unit_test(close__after_idling),
		cmocka_unit_test(close__when_the_target_asks),
		cmocka_unit_test(close__lost_is_repeated),
		cmocka_unit_test(close__answer_lost),
		cmocka_unit_test(close__crossed_by_new_messages),
		cmocka_unit_test(shutdown__refuses_new_operations),
		cmocka_unit_test(shutdown__waits_for_messages),
		cmocka_unit_test(silence__ends_operations_in_time),
		cmocka_unit_test(silence__not_when_we_slept),
		cmocka_unit_test(restart__of_the_peer_within_a_message_is_an_error),
		cmocka_unit_test(restart__of_the_peer_between_messages_goes_unnoticed),
		cmocka_unit_test(restart__while_closing_is_as_good_as_closed),
		cmocka_unit_test(syn__refused_takes_another_id),
		cmocka_unit_test(psn__wraps),
		cmocka_unit_test(message_ids__wrap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
