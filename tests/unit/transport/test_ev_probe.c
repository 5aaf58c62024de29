/* SPDX-License-Identifier: BSD-3-Clause */
/* Few of the paths are alive: they are found by probes of many entropies, not by one packet per timeout. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "ctl_tx.h"
#include "ev_probe.h"
#include "inside.h"

enum { BYTES = 200000, LIVE_ONE_OF = 128, PROBES = 32 };

static enum duo_fate most_paths_are_dead(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return w->net.entropy % LIVE_ONE_OF ? DUO_DROP : DUO_PASS;
}

static void open_probing(struct duo *d, uint32_t probes)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.lb = "reps";
	conf.cc = "smartt";
	conf.tune.rto_max_ns = WEFT_MS(1);
	conf.tune.timeout_probes = probes;
	duo_open(d, &conf);
	duo_transfer(d, 0, 10); /* the connection is open */
}

/* How long a message takes where paths that were fine have died. */
static weft_ns detour_ns(uint32_t probes, struct weft_stats *stats)
{
	struct duo d;
	struct weft_cqe cqe;
	uint8_t *out = duo_pattern(BYTES, 3), *in = calloc(1, BYTES);
	open_probing(&d, probes);
	d.fate = most_paths_are_dead;
	weft_ns begin = d.now;
	duo_recv(&d, 1, in, BYTES, 7, 0, in);
	duo_send(&d, 0, out, BYTES, 7, out);
	while (!duo_cqe(&d, 0, &cqe))
		duo_run(&d, d.now + WEFT_US(10));
	assert_int_equal(cqe.err, 0);
	assert_memory_equal(in, out, BYTES);
	weft_ns took = d.now - begin;
	*stats = *duo_stats(&d, 0);
	duo_expect(&d, 1, in, 0);
	duo_close(&d);
	free(out);
	free(in);
	return took;
}

static void live_paths__found_at_once(void **state)
{
	struct weft_stats with, without;
	weft_ns alone_ns = detour_ns(0, &without);
	assert_true(detour_ns(PROBES, &with) < alone_ns / 4);
	assert_true(with.ev_probes >= PROBES && with.ev_answers > 0 && with.ev_answers < with.ev_probes);
	assert_int_equal(without.ev_probes, 0);
}

static enum duo_fate nothing_arrives(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return DUO_DROP;
}

static void run_until_timeouts(struct duo *d, uint64_t timeouts)
{
	while (duo_stats(d, 0)->timeouts < timeouts)
		duo_run(d, d->now + WEFT_US(1));
}

/* The first timeout may be that of packets on one path. From the second on each has its probes, not more of them than
 * the port's batch has room for, and there are some between timeouts. */
static void probes__from_the_second_timeout_on(void **state)
{
	for (uint32_t probes = PROBES; probes <= 64; probes *= 2) {
		struct duo d;
		static uint8_t byte;
		open_probing(&d, probes);
		d.fate = nothing_arrives;
		duo_send(&d, 0, &byte, 1, 7, &byte);
		while (duo_stats(&d, 0)->timeouts < 2) {
			assert_int_equal(duo_stats(&d, 0)->ev_probes, 0);
			duo_run(&d, d.now + WEFT_US(1));
		}
		uint32_t round = probes < OUT_DATA ? probes : OUT_DATA - 4;
		uint64_t sent = duo_stats(&d, 0)->ev_probes;
		assert_in_range(sent, round, probes);
		weft_ns second_ns = d.now, rto_ns = d.e[0]->pds.conf.rto_ns;
		run_until_timeouts(&d, 3);
		sent = duo_stats(&d, 0)->ev_probes - sent;
		assert_in_range(sent, 20 * round, ((uint64_t)(d.now - second_ns) * 32 / rto_ns + 2) * probes);
		d.fate = NULL;
		duo_run(&d, d.now + WEFT_MS(20));
		duo_expect(&d, 0, &byte, 0);
		duo_close(&d);
	}
}

/* The timeout that would have begun the search came when probes were of no use. */
static void search__begins_with_a_later_timeout(void **state)
{
	struct duo d;
	static uint8_t byte;
	open_probing(&d, PROBES);
	d.fate = nothing_arrives;
	duo_send(&d, 0, &byte, 1, 7, &byte);
	first_tx(d.e[0])->probes_refused = true;
	run_until_timeouts(&d, 2);
	first_tx(d.e[0])->probes_refused = false;
	weft_ns begin_ns = d.now, rto_ns = d.e[0]->pds.conf.rto_ns;
	run_until_timeouts(&d, 4);
	assert_in_range(duo_stats(&d, 0)->ev_probes, 20 * PROBES,
			((uint64_t)(d.now - begin_ns) * 32 / rto_ns + 3) * PROBES);
	duo_close(&d);
}

static uint64_t probes_in_1_ms(struct duo *d)
{
	uint64_t before = duo_stats(d, 0)->ev_probes;
	duo_run(d, d->now + WEFT_MS(1));
	return duo_stats(d, 0)->ev_probes - before;
}

/* Probes of a search that finds nothing, in a time that begins so long after it did. */
static uint64_t probes_after(weft_ns begin_ns, uint32_t conns)
{
	struct duo d;
	static uint8_t out[1 << 20];
	open_probing(&d, PROBES);
	for (uint32_t i = 0; i < conns; i++)
		assert_int_equal(weft_submit(d.ep[0], &(struct weft_op){.kind = WEFT_OP_TSEND,
									.flags = WEFT_OP_APART,
									.peer = d.peer[0],
									.buf = out,
									.len = sizeof out}),
				 0);
	d.due[0] = d.now;
	duo_run(&d, d.now + WEFT_US(60)); /* all are open */
	d.fate = nothing_arrives;
	run_until_timeouts(&d, 2 * conns);
	duo_run(&d, d.now + begin_ns);
	uint64_t probes = probes_in_1_ms(&d);
	duo_close(&d);
	return probes;
}

static void probes__become_rare(void **state)
{
	assert_true(probes_after(WEFT_MS(50), 1) * 4 < probes_after(0, 1));
}

/* Longer than fits what it is kept in, an interval stays as long as it can be. */
static void probes__of_a_very_long_search_stay_rare(void **state)
{
	static const uint32_t last_ns = UINT32_MAX / 129 * 128 + 1000; /* a part of it more would be 2^32 */
	struct duo d;
	open_probing(&d, PROBES);
	struct pdc_tx *p = first_tx(d.e[0]);
	d.e[0]->pds.conf.tune.rto_max_ns = WEFT_S(8);
	p->ev_interval_ns = last_ns;
	ev_probe_expire(&d.e[0]->pds, p, d.now);
	assert_int_equal(p->ev_interval_ns, UINT32_MAX);
	assert_int_equal(p->ev_probe_at_ns, d.now + UINT32_MAX);
	duo_close(&d);
}

/* A message that no packet of arrives, until it has timed out twice. */
static void begin_search(struct duo *d)
{
	static uint8_t byte;
	d->fate = nothing_arrives;
	duo_send(d, 0, &byte, 1, 7, &byte);
	run_until_timeouts(d, duo_stats(d, 0)->timeouts + 2);
}

/* A search that begins `pause_ns` after a long one has ended: its probes in the first millisecond. */
static uint64_t probes_of_next_search(weft_ns pause_ns)
{
	struct duo d;
	struct weft_cqe cqe;
	open_probing(&d, PROBES);
	begin_search(&d);
	duo_run(&d, d.now + WEFT_MS(50));
	d.fate = NULL;
	while (!duo_cqe(&d, 0, &cqe))
		duo_run(&d, d.now + WEFT_US(1));
	duo_run(&d, d.now + pause_ns);
	begin_search(&d);
	uint64_t probes = probes_in_1_ms(&d);
	duo_close(&d);
	return probes;
}

/* Where timeouts come again and again, e.g. because the balancer learns nothing from answers. */
static void probes__stay_rare_in_a_search_soon_after(void **state)
{
	uint64_t first = probes_after(0, 1);
	assert_true(probes_of_next_search(0) * 4 < first);
	assert_in_range(probes_of_next_search(WEFT_MS(500)), first / 2, first * 2);
}

/* Beside those of timeouts. */
static void probes__of_many_are_as_many_as_of_one(void **state)
{
	uint64_t one = probes_after(0, 1), eight = probes_after(0, 8);
	assert_in_range(eight, one, one + one / 2 + 8ull * 16 * PROBES);
}

static enum duo_fate data_vanishes(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 0 && is_data(w) ? DUO_DROP : DUO_PASS;
}

/* What has timed out is sent again when a probe of a later round is answered, not at the next timeout; but once: it
 * must time out, too. And further rounds follow until data gets through. */
static void answers__bring_data_once_and_no_end_of_the_search(void **state)
{
	struct duo d;
	static uint8_t byte;
	open_probing(&d, PROBES);
	weft_ns rto_ns = d.e[0]->pds.conf.rto_ns;
	d.fate = data_vanishes;
	duo_send(&d, 0, &byte, 1, 7, &byte);
	while (!duo_stats(&d, 0)->ev_answers)
		duo_run(&d, d.now + WEFT_US(1));
	uint64_t timeouts = duo_stats(&d, 0)->timeouts;
	duo_run(&d, d.now + rto_ns / 4);
	assert_int_equal(duo_stats(&d, 0)->tx_retx, timeouts + 1);
	uint64_t probes = duo_stats(&d, 0)->ev_probes;
	duo_run(&d, d.now + rto_ns / 4);
	assert_true(duo_stats(&d, 0)->ev_probes >= probes + 4ull * PROBES);
	assert_int_equal(duo_stats(&d, 0)->tx_retx, timeouts + 1);
	assert_int_equal(duo_stats(&d, 0)->timeouts, timeouts);
	run_until_timeouts(&d, timeouts + 1);
	duo_close(&d);
}

static struct plain_pkt last_answer(const struct duo *d)
{
	uint32_t i = d->log_len;
	while (i-- > 0)
		if (d->log[i].from == 1 && d->log[i].w.pds.opaque == EV_OPAQUE)
			return d->log[i].w;
	fail_msg("no probe was answered");
	return (struct plain_pkt){0};
}

/* An answer that was not asked for, or comes again, repeats nothing that is not late. */
static void answers__to_nothing(void **state)
{
	struct duo d;
	static uint8_t out[BYTES];
	open_probing(&d, PROBES);
	d.logging = true;
	ctl_send_by(&d.e[0]->pds, first_tx(d.e[0]), EV_OPAQUE, 5, d.now);
	duo_transfer(&d, 0, 10);
	struct plain_pkt answer = last_answer(&d);
	assert_int_equal(duo_stats(&d, 0)->ev_answers, 1);
	duo_send(&d, 0, out, sizeof out, 7, out);
	duo_poll(&d, 0);
	for (uint64_t i = 0; i < 10; i++) {
		duo_inject_pkt(&d, 0, &answer, NULL);
		duo_poll(&d, 0);
		assert_int_equal(duo_stats(&d, 0)->ev_answers, i + 2);
	}
	duo_run(&d, d.now + WEFT_MS(20));
	assert_int_equal(duo_stats(&d, 0)->tx_retx, 0);
	duo_expect(&d, 0, out, 0);
	duo_close(&d);
}

static enum duo_fate large_ones_are_lost(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return w->payload_bytes > 1400 ? DUO_DROP : DUO_PASS;
}

/* Answers to probes are no sign that data gets through. */
static void answers__do_not_delay_the_end(void **state)
{
	for (uint32_t probes = 0; probes <= PROBES; probes += PROBES) {
		struct duo d;
		struct weft_cqe cqe;
		static uint8_t out[BYTES];
		open_probing(&d, probes);
		d.fate = large_ones_are_lost;
		duo_send(&d, 0, out, sizeof out, 7, out);
		weft_ns start = d.now;
		while (!duo_cqe(&d, 0, &cqe)) {
			duo_run(&d, d.now + WEFT_MS(10));
			assert_true(d.now < start + WEFT_S(6));
		}
		assert_int_equal(cqe.err, ETIMEDOUT);
		assert_int_equal(duo_stats(&d, 0)->ev_answers > 0, probes > 0);
		duo_close(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_paths__found_at_once),
		cmocka_unit_test(probes__from_the_second_timeout_on),
		cmocka_unit_test(search__begins_with_a_later_timeout),
		cmocka_unit_test(probes__become_rare),
		cmocka_unit_test(probes__stay_rare_in_a_search_soon_after),
		cmocka_unit_test(probes__of_a_very_long_search_stay_rare),
		cmocka_unit_test(probes__of_many_are_as_many_as_of_one),
		cmocka_unit_test(answers__to_nothing),
		cmocka_unit_test(answers__bring_data_once_and_no_end_of_the_search),
		cmocka_unit_test(answers__do_not_delay_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
