/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "credit_sched.h"
#include "inside.h"

enum { FULL_WIRE = 4096 + 20 + 8 + 60 + 38 };

static void transfer__every_packet_has_its_credit(void **state)
{
	struct duo d;
	open_with_cc(&d, "spraypass", NULL);
	duo_transfer(&d, 0, 3 << 20);
	duo_run(&d, d.now + WEFT_MS(1));
	const struct weft_stats *s = duo_stats(&d, 0);
	assert_int_equal(s->tx_retx, 0);
	assert_int_equal(s->rx_credit, duo_stats(&d, 1)->tx_credit);
	assert_int_equal(s->tx_credit_req, 2); /* one asks, one stops */
	assert_int_equal(s->tx_data + s->credit_unused, s->rx_credit);
	assert_in_range(s->credit_unused, 1, 40); /* those on their way when we said stop: an RTT's */
	for (uint32_t i = 0; i < d.log_len; i++) {
		if (is_data(&d.log[i].w))
			assert_true(d.log[i].w.pds.ccc_id & SCHED_SYNCED);
	}
	duo_close(&d);
}

static void transfer__first_of_all_a_request(void **state)
{
	struct duo d;
	open_with_cc(&d, "expresspass", NULL);
	duo_transfer(&d, 0, 100);
	assert_int_equal(d.log[0].w.pds.ctl, WIRE_CTL_CREDIT_REQ);
	assert_true(d.log[0].w.pds.flags & WIRE_F_SYN);
	assert_int_equal(d.log[1].w.pds.ctl, WIRE_CTL_CREDIT);
	assert_true(is_data(&d.log[2].w));
	assert_false(d.log[2].w.pds.flags & WIRE_F_SYN);
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 1);
	duo_close(&d);
}

/* The credit of this number in the log. */
static const struct plain_pkt *credit_of(const struct duo *d, uint32_t number)
{
	for (uint32_t i = 0; i < d->log_len; i++) {
		const struct plain_pkt *w = &d->log[i].w;
		if (w->pds.type == WIRE_PDS_CP && w->pds.ctl == WIRE_CTL_CREDIT && w->pds.payload == number)
			return w;
	}
	return NULL;
}

static enum duo_fate mark_some(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return w->pds.type == WIRE_PDS_CP && w->pds.ctl == WIRE_CTL_CREDIT && w->pds.payload % 3 == 1 ? DUO_MARK
												      : DUO_PASS;
}

static void fill__path_number_and_mark_of_the_credit(void **state)
{
	struct duo d;
	bool paths[65536] = {false};
	uint32_t different = 0, marked = 0;
	open_with_cc(&d, "spraypass", NULL);
	d.fate = mark_some;
	duo_transfer(&d, 0, 1 << 20);
	for (uint32_t i = 0; i < d.log_len; i++) {
		const struct plain_pkt *w = &d.log[i].w;
		if (!is_data(w))
			continue;
		const struct plain_pkt *c = credit_of(&d, w->pds.credit);
		assert_non_null(c);
		assert_int_equal(w->net.entropy, c->net.entropy);
		assert_int_equal(c->net.dscp, WIRE_DSCP_CREDIT);
		assert_int_equal(w->net.ecn, c->pds.payload % 3 == 1 ? WEFT_ECN_CE : WEFT_ECN_ECT0);
		assert_int_equal(!!(w->pds.ccc_id & SCHED_MARKED), c->pds.payload % 3 == 1);
		different += !paths[w->net.entropy];
		paths[w->net.entropy] = true;
		marked += w->net.ecn == WEFT_ECN_CE;
	}
	assert_int_equal(different, 64);
	assert_in_range(marked, 70, 110);
	duo_close(&d);
}

/* Twenty messages of 120 bytes, 246 on the wire, need the amount of two credits and get no more. */
static void allows__small_packets_share_a_credit(void **state)
{
	struct duo d;
	uint8_t buf[120] = {0};
	uint32_t last = UINT32_MAX, credits = 0;
	open_with_cc(&d, "spraypass", NULL);
	for (int i = 0; i < 20; i++) {
		duo_recv(&d, 1, NULL, 120, 7, 0, NULL);
		duo_send(&d, 0, buf, 120, 7, NULL);
	}
	duo_run(&d, d.now + WEFT_MS(1));
	assert_int_equal(duo_stats(&d, 1)->msg_received, 20);
	for (uint32_t i = 0; i < d.log_len; i++) {
		if (is_data(&d.log[i].w) && d.log[i].w.pds.credit != last) {
			last = d.log[i].w.pds.credit;
			credits++;
		}
	}
	assert_int_equal(credits, 2);
	duo_close(&d);
}

/* All that was ever sent was called for. */
static void allows__no_more_than_was_granted(void **state)
{
	struct duo d;
	open_with_cc(&d, "spraypass", NULL);
	for (int i = 0; i < 40; i++) {
		duo_recv(&d, 1, NULL, 5000, 7, 0, NULL);
		duo_send(&d, 0, NULL, 5000, 7, NULL);
	}
	int64_t granted = 0, sent = 0;
	duo_run(&d, d.now + WEFT_MS(1));
	for (uint32_t i = 0; i < d.log_len; i++) {
		const struct plain_pkt *w = &d.log[i].w;
		if (w->pds.type == WIRE_PDS_CP && w->pds.ctl == WIRE_CTL_CREDIT)
			granted += w->pds.opaque;
		if (is_data(w))
			sent += FULL_WIRE - 4096 + w->payload_bytes;
		assert_true(sent <= granted);
	}
	assert_int_equal(duo_stats(&d, 1)->msg_received, 40);
	assert_int_equal(sent, 40 * (5000 + 2 * (FULL_WIRE - 4096)));
	duo_close(&d);
}

static void stop__after_a_while_and_a_new_request_later(void **state)
{
	struct duo d;
	open_with_cc(&d, "spraypass", NULL);
	for (int i = 1; i <= 3; i++) {
		duo_transfer(&d, 0, 100000);
		duo_run(&d, d.now + WEFT_US(100));
		assert_int_equal(duo_stats(&d, 0)->tx_credit_req, 2 * i);
		assert_int_equal(first_tx(d.e[0])->credit.sched->count, 0);
		assert_int_equal(first_rx(d.e[1])->credit.rcc.wanted_bytes, 0);
		uint64_t credits = duo_stats(&d, 1)->tx_credit;
		duo_run(&d, d.now + WEFT_US(100));
		assert_int_equal(duo_stats(&d, 1)->tx_credit, credits);
		assert_int_equal(first_tx(d.e[0])->credit.unsent_bytes, 0);
	}
	assert_int_equal(duo_stats(&d, 0)->rx_credit_stale, 0);
	duo_close(&d);
}

/* Of each kind of packet the first few are lost, on either way. */
static void loss__of_anything_is_repaired(void **state)
{
	static const struct {
		int from;
		uint8_t ctl;
	} kinds[] = {{0, WIRE_CTL_CREDIT_REQ}, {1, WIRE_CTL_CREDIT}};
	for (uint64_t count = 1; count < 200; count *= 3) {
		for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
			struct lose_ctl l = {kinds[kind].from, kinds[kind].ctl, kind ? count : count % 5};
			struct duo d;
			open_with_cc(&d, "spraypass", NULL);
			d.fate = lose_ctl;
			d.fate_arg = &l;
			duo_transfer(&d, 0, 1 << 20);
			duo_transfer(&d, 0, 1000);
			assert_int_equal(duo_stats(&d, 0)->timeouts, 0);
			duo_close(&d);
		}
		struct hit h = {count, 2 * count, DUO_DROP};
		struct duo d;
		open_with_cc(&d, "spraypass", NULL);
		d.fate = hit_data;
		d.fate_arg = &h;
		duo_transfer(&d, 0, 1 << 20);
		duo_close(&d);
	}
}

static enum duo_fate lose_stops(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	uint32_t *left = arg;
	bool stop = w->pds.type == WIRE_PDS_CP && w->pds.ctl == WIRE_CTL_CREDIT_REQ && !w->pds.payload;
	return stop && (*left)-- > 0 ? DUO_DROP : DUO_PASS;
}

static void stop__a_lost_one_is_repeated(void **state)
{
	struct duo d;
	uint32_t left = 2;
	open_with_cc(&d, "spraypass", NULL);
	d.fate = lose_stops;
	d.fate_arg = &left;
	duo_transfer(&d, 0, 100000);
	duo_run(&d, d.now + WEFT_MS(1));
	assert_int_equal(duo_stats(&d, 0)->tx_credit_req, 4);
	assert_int_equal(first_rx(d.e[1])->credit.rcc.wanted_bytes, 0);
	duo_close(&d);
}

static void silence__a_peer_without_credit_is_not_waited_for(void **state)
{
	struct duo d;
	open_with_cc(&d, "spraypass", "fixed");
	duo_transfer(&d, 0, 100000);
	assert_int_equal(duo_stats(&d, 0)->rx_credit, 0);
	duo_close(&d);
}

static enum duo_fate mute(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 1 ? DUO_DROP : DUO_PASS;
}

static void silence__a_dead_peer_is_noticed(void **state)
{
	struct duo d;
	struct weft_cqe cqe;
	open_with_cc(&d, "spraypass", NULL);
	d.fate = mute;
	duo_send(&d, 0, NULL, 1 << 20, 7, NULL);
	duo_run(&d, d.now + WEFT_S(20));
	assert_true(duo_cqe(&d, 0, &cqe));
	assert_int_equal(cqe.err, ETIMEDOUT);
	const struct weft_stats *s = duo_stats(&d, 0);
	assert_in_range(s->tx_credit_req_again, 5, 1000); /* doubling its patience up to 8 timeouts */
	assert_int_equal(s->tx_credit_req, s->tx_credit_req_again + 1);
	duo_close(&d);
}

/* The peer dies after so many packets of both sides. */
static enum duo_fate dies(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	uint64_t *left = arg;
	if (!*left)
		return DUO_DROP;
	--*left;
	return DUO_PASS;
}

static void silence__a_peer_that_dies_after_any_packet(void **state)
{
	enum { MOMENTS = 60 };
	for (uint64_t moment = 0; moment < MOMENTS; moment++) {
		struct duo d;
		struct weft_cqe cqe;
		uint64_t left = moment;
		open_with_cc(&d, "spraypass", NULL);
		d.fate = dies;
		d.fate_arg = &left;
		duo_send(&d, 0, NULL, 8, 7, NULL);
		duo_run(&d, d.now + WEFT_S(20));
		bool arrived = duo_cqe(&d, 0, &cqe) && !cqe.err;
		if (!arrived)
			assert_int_equal(cqe.err, ETIMEDOUT);
		duo_send(&d, 0, NULL, 1 << 20, 8, NULL);
		duo_run(&d, d.now + WEFT_S(20));
		assert_true(duo_cqe(&d, 0, &cqe));
		assert_int_equal(cqe.err, ETIMEDOUT);
		duo_close(&d);
	}
}

static enum duo_fate no_credit(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	bool about_credit = w->pds.ctl == WIRE_CTL_CREDIT || w->pds.ctl == WIRE_CTL_CREDIT_REQ;
	return w->pds.type == WIRE_PDS_CP && about_credit ? DUO_DROP : DUO_PASS;
}

/* Whoever lives but whose credits, or our requests, never arrive gets a packet per so many timeouts. */
static void silence__requests_that_never_arrive(void **state)
{
	struct duo d;
	open_with_cc(&d, "spraypass", NULL);
	d.fate = no_credit;
	duo_transfer(&d, 0, 20000);
	assert_int_equal(duo_stats(&d, 0)->rx_credit, 0);
	assert_true(duo_stats(&d, 0)->tx_credit_req_again >= 5);
	assert_in_range(duo_stats(&d, 0)->tx_unscheduled, 5, 20);
	duo_close(&d);
}

static void poll_for(struct duo *d, int side, weft_ns step, weft_ns span)
{
	for (weft_ns until = d->now + span; d->now < until; d->now += step)
		duo_poll(d, side);
}

/* Its link went down with it, and the port is full of credits it had asked for: nothing can be sent, so nothing is on
 * its way whose acknowledgement could be missed. */
static void silence__a_dead_peer_behind_a_full_port(void **state)
{
	struct duo_conf conf;
	struct duo d;
	struct weft_cqe cqe;
	duo_conf_init(&conf);
	conf.cc = "spraypass";
	conf.tune.peer_timeout_ns = WEFT_MS(100);
	conf.tune.idle_close_ns = 0;
	duo_open(&d, &conf);
	duo_transfer(&d, 0, 8);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_send(&d, 1, NULL, 1 << 20, 7, NULL);
	poll_for(&d, 1, WEFT_US(1), WEFT_US(10));
	d.port[0].tx_room = 0;
	poll_for(&d, 0, WEFT_US(1), WEFT_MS(1));
	assert_in_range(d.e[0]->pds.out.count, OUT_DATA, OUT_MAX);
	duo_send(&d, 0, NULL, 100000, 8, NULL);
	poll_for(&d, 0, WEFT_US(10), WEFT_MS(90));
	assert_false(duo_cqe(&d, 0, &cqe));
	poll_for(&d, 0, WEFT_US(10), WEFT_MS(20));
	assert_true(duo_cqe(&d, 0, &cqe));
	assert_int_equal(cqe.err, ETIMEDOUT);
	assert_int_equal(duo_stats(&d, 0)->tx_data, 1);
	d.port[0].tx_room = UINT32_MAX;
	duo_close(&d);
}

/* The target forgot us while we had nothing to say: its refusal of our request starts a new connection. */
static void refused__a_request_starts_over(void **state)
{
	struct duo d;
	open_with_cc(&d, "spraypass", NULL);
	duo_transfer(&d, 0, 10000);
	duo_run(&d, d.now + WEFT_US(100));
	pdc_rx_free(&d.e[1]->pds, first_rx(d.e[1]), d.now);
	weft_ns then = d.now, sent = 0;
	duo_transfer(&d, 0, 10000);
	for (uint32_t i = 0; i < d.log_len; i++)
		sent = is_data(&d.log[i].w) ? d.log[i].at : sent;
	assert_in_range(sent, then, then + WEFT_US(100));
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 2);
	duo_close(&d);
}

/* Side 0 in the middle of a message. */
static struct pdc_tx *midway(struct duo *d)
{
	open_with_cc(d, "spraypass", NULL);
	duo_send(d, 0, NULL, 100 << 20, 7, NULL);
	duo_run(d, d->now + WEFT_US(200));
	return first_tx(d->e[0]);
}

static struct plain_pkt credit(const struct pdc_tx *p, uint32_t number, uint16_t bytes)
{
	return (struct plain_pkt){.net = {.dscp = WIRE_DSCP_CREDIT, .entropy = 5},
				  .pds = {.type = WIRE_PDS_CP,
					  .ctl = WIRE_CTL_CREDIT,
					  .opaque = bytes,
					  .spdcid = p->remote_id,
					  .dpdcid = p->pdc.id,
					  .payload = number}};
}

static void credit__forged_ones_are_ignored(void **state)
{
	struct duo d;
	struct pdc_tx *p = midway(&d);
	uint32_t next = p->credit.sched->newest + 1;
	struct plain_pkt bad[] = {credit(p, next, 0),
				  credit(p, next, FULL_WIRE + 1),
				  credit(p, next, UINT16_MAX),
				  credit(p, next - 1, FULL_WIRE),
				  credit(p, (next - 2000) & SCHED_NUMBER_MASK, FULL_WIRE),
				  credit(p, (next + (1 << 20)) & SCHED_NUMBER_MASK, FULL_WIRE),
				  credit(p, 1u << 24 | next, FULL_WIRE),
				  credit(p, UINT32_MAX, FULL_WIRE),
				  credit(p, next, FULL_WIRE),
				  credit(p, next, FULL_WIRE)};
	bad[8].pds.dpdcid += 77;
	bad[9].pds.spdcid++;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		uint64_t stale = duo_stats(&d, 0)->rx_credit_stale, sent = duo_stats(&d, 0)->tx_data;
		duo_inject_pkt(&d, 0, &bad[i], NULL);
		d.port[0].tx_room = 0;
		duo_poll(&d, 0);
		assert_int_equal(duo_stats(&d, 0)->rx_credit_stale, stale + 1);
		assert_int_equal(duo_stats(&d, 0)->tx_data, sent);
		assert_int_equal(p->credit.sched->newest, next - 1);
	}
	duo_close(&d);
}

/* What waited in slow queues on its path is overtaken by hundreds, and counts once all the same. */
static void credit__late_ones_count_once(void **state)
{
	struct duo d;
	struct pdc_tx *p = midway(&d);
	uint32_t next = p->credit.sched->newest + 1;
	const uint32_t numbers[] = {next + 500, next + 100, next + 100, next + 499, next + 2000, next + 500};
	const uint64_t stale[] = {0, 0, 1, 1, 1, 2};
	uint64_t before = duo_stats(&d, 0)->rx_credit_stale;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct plain_pkt w = credit(p, numbers[i], FULL_WIRE);
		duo_inject_pkt(&d, 0, &w, NULL);
		d.port[0].tx_room = 0;
		duo_poll(&d, 0);
		assert_int_equal(duo_stats(&d, 0)->rx_credit_stale, before + stale[i]);
	}
	assert_int_equal(p->credit.sched->newest, next + 2000);
	duo_close(&d);
}

/* The same with nothing asked for: after a stop, and long after it. */
static void credit__nobody_asked_for(void **state)
{
	struct duo d;
	open_with_cc(&d, "spraypass", NULL);
	duo_transfer(&d, 0, 10000);
	duo_run(&d, d.now + WEFT_MS(1));
	struct pdc_tx *p = first_tx(d.e[0]);
	struct plain_pkt w = credit(p, p->credit.sched->newest + 1, FULL_WIRE);
	uint64_t stale = duo_stats(&d, 0)->rx_credit_stale;
	duo_inject_pkt(&d, 0, &w, NULL);
	duo_poll(&d, 0);
	assert_int_equal(duo_stats(&d, 0)->rx_credit_stale, stale + 1);
	assert_int_equal(p->credit.sched->count, 0);
	duo_close(&d);
}

static enum duo_fate twice(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return DUO_DUP;
}

static void credit__copies_call_for_nothing(void **state)
{
	struct duo d;
	open_with_cc(&d, "spraypass", NULL);
	d.fate = twice;
	duo_transfer(&d, 0, 1 << 20);
	duo_run(&d, d.now + WEFT_MS(1));
	const struct weft_stats *s = duo_stats(&d, 0);
	assert_true(s->rx_credit_stale >= s->rx_credit / 2);
	assert_true(s->tx_data + s->tx_retx <= duo_stats(&d, 1)->tx_credit);
	duo_close(&d);
}

/* More than our link could carry: no queue has seen these. */
static void credit__unpaced_ones_are_noticed(void **state)
{
	struct duo d;
	struct pdc_tx *p = midway(&d);
	uint32_t next = p->credit.sched->newest + 1;
	for (uint32_t i = 0; i < 300; i++) {
		struct plain_pkt w = credit(p, next + i, FULL_WIRE);
		duo_inject_pkt(&d, 0, &w, NULL);
		duo_poll(&d, 0);
	}
	assert_in_range(duo_stats(&d, 0)->rx_credit_unpaced, 1, 10);
	assert_int_equal(duo_stats(&d, 0)->credit_unlimited, duo_stats(&d, 0)->rx_credit_unpaced);
	assert_true(p->credit.sched->count <= SCHED_RING);
	assert_true(duo_stats(&d, 0)->credit_unused > 0); /* more than may wait */
	duo_close(&d);
}

static void credit__without_rcc_it_means_nothing(void **state)
{
	struct duo d;
	open_with_cc(&d, "fixed", "spraypass");
	duo_transfer(&d, 0, 100000);
	assert_int_equal(duo_stats(&d, 0)->rx_credit, 0);
	duo_close(&d);
}

/* No memory for what a connection needs to keep credits: later there is. */
static void open__without_memory_it_tries_again(void **state)
{
	for (uint64_t nth = 1; nth < 12; nth++) {
		struct duo d;
		open_with_cc(&d, "spraypass", NULL);
		d.mem[0].fail_at = d.mem[0].calls + nth;
		duo_transfer(&d, 0, 10000);
		duo_close(&d);
	}
}

static void memory__idle_connections_stay_small(void **state)
{
	assert_true(sizeof(struct pdc_tx) + sizeof(struct sched_tx) <= 1024);
	assert_int_equal(sizeof(struct sched_credit), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transfer__every_packet_has_its_credit),
		cmocka_unit_test(transfer__first_of_all_a_request),
		cmocka_unit_test(fill__path_number_and_mark_of_the_credit),
		cmocka_unit_test(allows__small_packets_share_a_credit),
		cmocka_unit_test(allows__no_more_than_was_granted),
		cmocka_unit_test(stop__after_a_while_and_a_new_request_later),
		cmocka_unit_test(stop__a_lost_one_is_repeated),
		cmocka_unit_test(loss__of_anything_is_repaired),
		cmocka_unit_test(silence__a_peer_without_credit_is_not_waited_for),
		cmocka_unit_test(silence__a_dead_peer_is_noticed),
		cmocka_unit_test(silence__a_peer_that_dies_after_any_packet),
		cmocka_unit_test(silence__requests_that_never_arrive),
		cmocka_unit_test(silence__a_dead_peer_behind_a_full_port),
		cmocka_unit_test(refused__a_request_starts_over),
		cmocka_unit_test(credit__forged_ones_are_ignored),
		cmocka_unit_test(credit__late_ones_count_once),
		cmocka_unit_test(credit__nobody_asked_for),
		cmocka_unit_test(credit__copies_call_for_nothing),
		cmocka_unit_test(credit__unpaced_ones_are_noticed),
		cmocka_unit_test(credit__without_rcc_it_means_nothing),
		cmocka_unit_test(open__without_memory_it_tries_again),
		cmocka_unit_test(memory__idle_connections_stay_small),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
