/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <string.h>

#include "cmocka_all.h"
#include "lb_box.h"
#include "lb_ops.h"
#include "rng.h"

enum { EVS = 65536, BDP = 20, TICK = 1024, FREEZE = 100 * TICK, BRTT_TICKS = 10000 / TICK };

static struct reps_tune *tune(struct lb_box *box)
{
	return (struct reps_tune *)box->tune;
}

static void setup(struct lb_box *box, weft_ns now)
{
	lb_box_init(box, &weft_lb_reps, EVS, 1, now);
	tune(box)->freeze_ns = FREEZE;
}

/* Acknowledges entropies first..first + n - 1. */
static void cache(struct lb_box *box, uint16_t first, uint16_t n, weft_ns now)
{
	for (uint16_t i = 0; i < n; i++)
		lb_box_feed(box, first + i, WEFT_LB_OK, now);
}

/* ---- Algorithms 1 and 2 as printed, plus the departures doc/reference/algorithms.md lists ---- */

struct model {
	struct {
		uint16_t cached_ev;
		bool is_valid, written, covered;
	} buffer[128];
	int size;
	bool freezing, evict, refreeze, was_covered;
	int head, valid_evs, explore;
	weft_ns exit_freezing, explore_since;
	uint64_t random;
};

static int model_written(const struct model *m)
{
	int n = 0;

	for (int i = 0; i < m->size; i++)
		n += m->buffer[i].written;
	return n;
}

static uint16_t model_rand(struct model *m)
{
	m->random = m->random * UINT64_C(6364136223846793005) + 1;
	return (uint16_t)(m->random >> 48);
}

/* With 32 entries or more, some may be taken for covered. */
static bool model_covered(const struct model *m, int i)
{
	bool any = false;

	for (int at = i % 32; at < m->size; at += 32)
		any |= m->buffer[at].covered;
	return any;
}

static void model_on_ack(struct model *m, uint16_t ev, bool covered, weft_ns now)
{
	if (covered && (m->freezing || m->explore))
		return;
	m->was_covered |= covered;
	if (!m->buffer[m->head].is_valid)
		m->valid_evs++;
	m->buffer[m->head].cached_ev = ev;
	m->buffer[m->head].is_valid = m->buffer[m->head].written = true;
	m->buffer[m->head].covered = covered || (m->size > 32 && m->buffer[m->head].covered);
	m->head = (m->head + 1) % m->size;
	if (m->freezing && now > m->exit_freezing) {
		m->freezing = false;
		m->explore = BDP;
		m->explore_since = now;
	}
}

/* The packet was taken for unmarked when another ACK covered it; the oldest entropy fills the gap. */
static void model_on_mark(struct model *m, uint16_t ev)
{
	if (!m->was_covered || m->freezing || m->explore)
		return;
	int oldest = (m->head - m->valid_evs + m->size) % m->size;
	for (int i = 0; i < m->valid_evs; i++) {
		int at = (oldest + i) % m->size;
		if (m->buffer[at].cached_ev != ev)
			continue;
		bool moved = model_covered(m, oldest);
		m->buffer[at].cached_ev = m->buffer[oldest].cached_ev;
		m->buffer[at].covered = moved || (m->size > 32 && m->buffer[at].covered);
		m->buffer[oldest].is_valid = false;
		m->valid_evs--;
		return;
	}
}

static void model_evict(struct model *m, uint16_t ev)
{
	int n = model_written(m), other = -1;

	for (int back = n; back >= 1; back--) {
		int at = (m->head - back + n) % n;
		other = m->buffer[at].cached_ev != ev ? m->buffer[at].cached_ev : other;
	}
	for (int i = 0; i < n; i++) {
		if (other < 0)
			m->buffer[i].is_valid = m->buffer[i].written = false;
		else if (m->buffer[i].cached_ev == ev)
			m->buffer[i].cached_ev = (uint16_t)other;
	}
	if (other < 0)
		m->head = m->valid_evs = 0;
}

/* Entries that no ACK came back with are left out when it freezes. */
static void model_drop_covered(struct model *m)
{
	struct model old = *m;
	bool any = false;
	int n = model_written(m), kept = 0;

	for (int i = 0; i < n; i++)
		any |= old.buffer[i].covered;
	if (!any && !m->was_covered)
		return;
	memset(m->buffer, 0, sizeof m->buffer);
	for (int back = n; back >= 1; back--) {
		int at = (old.head - back + n) % n;
		if (model_covered(&old, at))
			continue;
		m->buffer[kept].cached_ev = old.buffer[at].cached_ev;
		m->buffer[kept++].written = true;
	}
	m->head = kept % m->size;
	m->valid_evs = 0;
	m->was_covered = false;
}

static void model_on_failure(struct model *m, uint16_t ev, weft_ns now)
{
	if (m->refreeze && now > m->explore_since + BRTT_TICKS * TICK)
		m->explore = 0;
	bool freezes = !m->freezing && m->explore == 0;
	if (freezes)
		model_drop_covered(m);
	if (m->evict)
		model_evict(m, ev);
	if (freezes) {
		m->freezing = true;
		m->exit_freezing = now + FREEZE;
	}
}

static uint16_t model_next_entropy(struct model *m, uint32_t psn)
{
	int offset = m->head;

	if (m->valid_evs > 0) {
		offset = (m->head - m->valid_evs + m->size) % m->size;
		m->buffer[offset].is_valid = false;
		m->valid_evs--;
	} else if (model_written(m) < m->size) {
		offset = (int)(psn % (uint32_t)model_written(m));
	} else {
		m->head = (m->head + 1) % m->size;
	}
	return m->buffer[offset].cached_ev;
}

static uint16_t model_on_send(struct model *m, uint32_t psn)
{
	if (model_written(m) == 0 || (m->valid_evs == 0 && !m->freezing) || m->explore) {
		m->explore = m->explore > 0 ? m->explore - 1 : 0;
		return model_rand(m);
	}
	return model_next_entropy(m, psn);
}

/* Random events; entropies come from a small set, so that evictions hit. */
static void compare_with_model(uint64_t seed, bool evict, unsigned timeouts_per_1000, int ring)
{
	struct lb_box box;
	bool refreeze = seed / 2 & 1, covered = seed / 4 & 1;
	struct model m = {.evict = evict, .refreeze = refreeze, .size = ring};
	struct rng rng = {seed};
	weft_ns now = rng_below(&rng, 1000) * TICK;

	lb_box_init(&box, &weft_lb_reps, EVS, seed, now);
	tune(&box)->freeze_ns = FREEZE;
	tune(&box)->evict = evict;
	tune(&box)->refreeze = refreeze;
	tune(&box)->ring = (uint32_t)ring;
	lb_box_again(&box, seed, now);
	m.random = rng_mix(seed);
	for (uint32_t psn = 0; psn < 5000;) {
		uint16_t ev = (uint16_t)rng_below(&rng, 12);
		now += rng_below(&rng, 3) * TICK;
		if (rng_below(&rng, 1000) < timeouts_per_1000) {
			lb_box_feed(&box, ev, WEFT_LB_TIMEOUT, now);
			model_on_failure(&m, ev, now);
		} else if (rng_below(&rng, 2)) {
			enum weft_lb_fb fb = rng_below(&rng, covered ? 5 : 4) + !covered;
			fb = fb == WEFT_LB_COVERED && !covered ? WEFT_LB_OK : fb;
			lb_box_feed(&box, ev, fb, now);
			if (fb <= WEFT_LB_COVERED)
				model_on_ack(&m, ev, fb == WEFT_LB_COVERED, now);
			else if (fb == WEFT_LB_CE)
				model_on_mark(&m, ev);
		} else {
			assert_int_equal(lb_box_pick(&box, psn, now), model_on_send(&m, psn));
			psn++;
		}
		assert_int_equal(lb_box_view(&box).frozen, m.freezing);
		assert_int_equal(lb_box_view(&box).cached_evs, model_written(&m));
	}
}

static void reps__equals_pseudo_code(void **state)
{
	for (uint64_t seed = 0; seed < 60; seed++)
		compare_with_model(seed, seed & 1, 1 + (unsigned)(seed % 3) * 20, 8);
}

static void reps__equals_pseudo_code_with_any_ring(void **state)
{
	static const int rings[] = {1, 2, 4, 16, 64, 128};

	for (uint64_t seed = 0; seed < 60; seed++)
		compare_with_model(seed, seed & 1, 1 + (unsigned)(seed % 3) * 20, rings[seed % 6]);
}

static void state_bytes__two_per_entropy(void **state)
{
	struct lb_box box;

	lb_box_init(&box, &weft_lb_reps, EVS, 1, 0);
	assert_true(weft_lb_state_bytes(&weft_lb_reps, &box.params) <= 32);
	tune(&box)->ring = 100;
	assert_int_equal(weft_lb_state_bytes(&weft_lb_reps, &box.params), 16 + 256);
}

/* ---- single rules ---- */

static void init__empty_ring_explores(void **state)
{
	struct lb_box box;
	bool varied = false;

	setup(&box, 0);
	uint16_t first = lb_box_pick(&box, 0, 0);
	for (uint32_t psn = 1; psn < 50; psn++)
		varied |= lb_box_pick(&box, psn, 0) != first;
	assert_true(varied);
	assert_int_equal(lb_box_view(&box).cached_evs, 0);
}

static void pick__oldest_cached_first_and_once(void **state)
{
	struct lb_box box;
	unsigned again = 0;

	setup(&box, 0);
	cache(&box, 100, 5, 0);
	for (uint16_t i = 0; i < 5; i++)
		assert_int_equal(lb_box_pick(&box, i, 0), 100 + i);
	for (uint32_t psn = 5; psn < 105; psn++) {
		uint16_t ev = lb_box_pick(&box, psn, 0);
		again += ev >= 100 && ev < 105;
	}
	assert_in_range(again, 0, 2);
}

static void pick__full_ring_keeps_the_newest_eight(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	cache(&box, 0, 21, 0);
	for (uint16_t i = 0; i < 8; i++)
		assert_int_equal(lb_box_pick(&box, i, 0), 13 + i);
}

static void feedback__only_ok_is_cached(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	for (int fb = WEFT_LB_CE; fb < WEFT_LB_FB_KINDS; fb++)
		lb_box_feed(&box, 7, (enum weft_lb_fb)fb, 0);
	assert_int_equal(lb_box_view(&box).cached_evs, 0);
}

static void feedback__entropy_outside_the_set_is_not_cached(void **state)
{
	struct lb_box box;

	lb_box_init(&box, &weft_lb_reps, 64, 1, 0);
	lb_box_feed(&box, 64, WEFT_LB_OK, 0);
	lb_box_feed(&box, 65535, WEFT_LB_OK, 0);
	assert_int_equal(lb_box_view(&box).cached_evs, 0);
	lb_box_feed(&box, 63, WEFT_LB_OK, 0);
	assert_int_equal(lb_box_pick(&box, 0, 0), 63);
}

static void freeze__walks_the_ring_in_circles(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	cache(&box, 10, 8, 0);
	lb_box_feed(&box, 500, WEFT_LB_TIMEOUT, 0);
	assert_int_equal(lb_box_view(&box).frozen, 1);
	for (uint32_t psn = 0; psn < 40; psn++)
		assert_int_equal(lb_box_pick(&box, psn, 0), 10 + psn % 8);
}

static void freeze__uses_fresh_entropies_first(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	cache(&box, 10, 8, 0);
	lb_box_feed(&box, 500, WEFT_LB_TIMEOUT, 0);
	for (uint32_t psn = 0; psn < 8; psn++)
		lb_box_pick(&box, psn, 0);
	cache(&box, 40, 1, 0);
	assert_int_equal(lb_box_pick(&box, 8, 0), 40);
	assert_int_equal(lb_box_pick(&box, 9, 0), 11);
}

static void freeze__part_filled_ring_gives_only_what_is_in_it(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	cache(&box, 10, 3, 0);
	lb_box_feed(&box, 500, WEFT_LB_TIMEOUT, 0);
	for (uint32_t psn = 0; psn < 40; psn++)
		assert_in_range(lb_box_pick(&box, psn, 0), 10, 12);
}

static void freeze__empty_ring_explores(void **state)
{
	struct lb_box box;
	bool varied = false;

	setup(&box, 0);
	lb_box_feed(&box, 500, WEFT_LB_TIMEOUT, 0);
	uint16_t first = lb_box_pick(&box, 0, 0);
	for (uint32_t psn = 1; psn < 50; psn++)
		varied |= lb_box_pick(&box, psn, 0) != first;
	assert_true(varied);
	assert_int_equal(lb_box_view(&box).frozen, 1);
}

/* Entropies 10.. came back, 20.. only arrived: the ring has both, a freeze only the first. */
static void freeze__leaves_out_what_no_ack_came_back_with(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	for (uint16_t i = 0; i < 4; i++) {
		lb_box_feed(&box, 10 + i, WEFT_LB_OK, 0);
		lb_box_feed(&box, 20 + i, WEFT_LB_COVERED, 0);
	}
	assert_int_equal(lb_box_pick(&box, 0, 0), 10);
	assert_int_equal(lb_box_pick(&box, 1, 0), 20);
	lb_box_feed(&box, 500, WEFT_LB_TIMEOUT, 0);
	lb_box_feed(&box, 30, WEFT_LB_COVERED, 0);
	for (uint32_t psn = 0; psn < 40; psn++)
		assert_in_range(lb_box_pick(&box, psn, 0), 10, 13);
	assert_int_equal(lb_box_view(&box).cached_evs, 4);
}

static void freeze__not_by_congestion(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	cache(&box, 10, 8, 0);
	lb_box_feed(&box, 10, WEFT_LB_LOSS, 0);
	lb_box_feed(&box, 10, WEFT_LB_TRIM, 0);
	lb_box_feed(&box, 10, WEFT_LB_CE, 0);
	assert_int_equal(lb_box_view(&box).frozen, 0);
	assert_int_equal(lb_box_view(&box).freezes, 0);
}

/* Freezes at `start` and returns whether an OK `after` ns later ends it. */
static bool thaws(weft_ns start, weft_ns after)
{
	struct lb_box box;

	setup(&box, start);
	cache(&box, 10, 8, start);
	lb_box_feed(&box, 500, WEFT_LB_TIMEOUT, start);
	lb_box_feed(&box, 20, WEFT_LB_OK, start + after);
	return !lb_box_view(&box).frozen;
}

static void thaw__by_the_first_ok_after_the_timer(void **state)
{
	const weft_ns starts[] = {0, 5 * TICK, ((UINT64_C(1) << 32) - 50) * TICK, UINT64_C(1) << 60};

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		assert_false(thaws(starts[i], 0));
		assert_false(thaws(starts[i], FREEZE));
		assert_true(thaws(starts[i], FREEZE + TICK));
		assert_true(thaws(starts[i], WEFT_S(3600)));
	}
}

static void thaw__not_by_other_feedback(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	cache(&box, 10, 8, 0);
	lb_box_feed(&box, 500, WEFT_LB_TIMEOUT, 0);
	for (int fb = WEFT_LB_CE; fb < WEFT_LB_FB_KINDS; fb++)
		lb_box_feed(&box, 500, (enum weft_lb_fb)fb, 2 * FREEZE);
	assert_int_equal(lb_box_view(&box).frozen, 1);
}

static void thaw__explores_one_bdp_without_freezing(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	box.params.bdp_pkts = 300;
	cache(&box, 10, 8, 0);
	lb_box_feed(&box, 500, WEFT_LB_TIMEOUT, 0);
	lb_box_feed(&box, 20, WEFT_LB_OK, 2 * FREEZE);
	lb_box_feed(&box, 600, WEFT_LB_TIMEOUT, 2 * FREEZE);
	assert_int_equal(lb_box_view(&box).frozen, 0);
	unsigned cached = 0;
	for (uint32_t psn = 0; psn < 300; psn++)
		cached += lb_box_pick(&box, psn, 2 * FREEZE) < 30;
	assert_in_range(cached, 0, 3);
	assert_in_range(lb_box_pick(&box, 300, 2 * FREEZE), 11, 20);
	lb_box_feed(&box, 600, WEFT_LB_TIMEOUT, 2 * FREEZE);
	assert_int_equal(lb_box_view(&box).frozen, 1);
	assert_int_equal(lb_box_view(&box).freezes, 2);
}

/* Thaws at 2 * FREEZE, sends a packet and hears of a failure `after` ns later. True: frozen again, and it stays with
 * what it knows. */
static bool freezes_again(weft_ns after, uint8_t refreeze)
{
	struct lb_box box;

	setup(&box, 0);
	tune(&box)->refreeze = refreeze;
	cache(&box, 10, 8, 0);
	lb_box_feed(&box, 500, WEFT_LB_TIMEOUT, 0);
	cache(&box, 30, 8, 2 * FREEZE);
	lb_box_pick(&box, 0, 2 * FREEZE);
	lb_box_feed(&box, 600, WEFT_LB_TIMEOUT, 2 * FREEZE + after);
	for (uint32_t psn = 1; psn < 20 && lb_box_view(&box).frozen; psn++)
		assert_in_range(lb_box_pick(&box, psn, 2 * FREEZE + after), 30, 37);
	return lb_box_view(&box).frozen && lb_box_view(&box).freezes == 2;
}

static void thaw__failure_after_a_round_trip_freezes_again(void **state)
{
	assert_false(freezes_again(BRTT_TICKS * TICK, 1));
	assert_true(freezes_again((BRTT_TICKS + 1) * TICK, 1));
	assert_false(freezes_again((BRTT_TICKS + 1) * TICK, 0));
}

static void evict__timed_out_entropy_is_not_walked(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	cache(&box, 10, 8, 0);
	lb_box_feed(&box, 12, WEFT_LB_TIMEOUT, 0);
	lb_box_feed(&box, 17, WEFT_LB_TIMEOUT, 0);
	for (uint32_t psn = 0; psn < 40; psn++) {
		uint16_t ev = lb_box_pick(&box, psn, 0);
		assert_in_range(ev, 10, 16);
		assert_int_not_equal(ev, 12);
	}
}

static void evict__last_entropy_empties_the_ring(void **state)
{
	struct lb_box box;

	setup(&box, 0);
	for (int i = 0; i < 8; i++)
		lb_box_feed(&box, 12, WEFT_LB_OK, 0);
	lb_box_feed(&box, 12, WEFT_LB_TIMEOUT, 0);
	assert_int_equal(lb_box_view(&box).cached_evs, 0);
	cache(&box, 30, 1, 0);
	assert_int_equal(lb_box_pick(&box, 0, 0), 30);
	assert_int_equal(lb_box_pick(&box, 1, 0), 30);
}

static void evict__can_be_switched_off(void **state)
{
	struct lb_box box;
	bool seen = false;

	setup(&box, 0);
	tune(&box)->evict = 0;
	cache(&box, 10, 8, 0);
	lb_box_feed(&box, 12, WEFT_LB_TIMEOUT, 0);
	for (uint32_t psn = 0; psn < 8; psn++)
		seen |= lb_box_pick(&box, psn, 0) == 12;
	assert_true(seen);
}

/* A quarter of the entropies leads over a link that breaks. A packet is answered 50 packets later; a lost one is
 * noticed 350 packets later. One timeout and one round trip after the break nothing uses the dead link. */
static void freeze__leaves_a_dead_path_alone(void **state)
{
	enum { RTT_PKTS = 50, RTO_PKTS = 350, BREAK = 1000, END = 8000, SLOT = 84 };
	static uint16_t sent[END];
	struct lb_box box;

	lb_box_init(&box, &weft_lb_reps, EVS, 5, 0);
	for (uint32_t t = 0; t < END; t++) {
		weft_ns now = (weft_ns)t * SLOT;
		if (t >= RTT_PKTS && (sent[t - RTT_PKTS] % 4 != 0 || t - RTT_PKTS < BREAK))
			lb_box_feed(&box, sent[t - RTT_PKTS], WEFT_LB_OK, now);
		if (t >= BREAK + RTO_PKTS && sent[t - RTO_PKTS] % 4 == 0)
			lb_box_feed(&box, sent[t - RTO_PKTS], WEFT_LB_TIMEOUT, now);
		sent[t] = lb_box_pick(&box, t, now);
		if (t >= BREAK + RTO_PKTS + RTT_PKTS)
			assert_int_not_equal(sent[t] % 4, 0);
	}
	assert_int_equal(lb_box_view(&box).frozen, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reps__equals_pseudo_code),
		cmocka_unit_test(reps__equals_pseudo_code_with_any_ring),
		cmocka_unit_test(state_bytes__two_per_entropy),
		cmocka_unit_test(init__empty_ring_explores),
		cmocka_unit_test(pick__oldest_cached_first_and_once),
		cmocka_unit_test(pick__full_ring_keeps_the_newest_eight),
		cmocka_unit_test(feedback__only_ok_is_cached),
		cmocka_unit_test(feedback__entropy_outside_the_set_is_not_cached),
		cmocka_unit_test(freeze__walks_the_ring_in_circles),
		cmocka_unit_test(freeze__uses_fresh_entropies_first),
		cmocka_unit_test(freeze__part_filled_ring_gives_only_what_is_in_it),
		cmocka_unit_test(freeze__empty_ring_explores),
		cmocka_unit_test(freeze__leaves_out_what_no_ack_came_back_with),
		cmocka_unit_test(freeze__not_by_congestion),
		cmocka_unit_test(thaw__by_the_first_ok_after_the_timer),
		cmocka_unit_test(thaw__not_by_other_feedback),
		cmocka_unit_test(thaw__explores_one_bdp_without_freezing),
		cmocka_unit_test(thaw__failure_after_a_round_trip_freezes_again),
		cmocka_unit_test(evict__timed_out_entropy_is_not_walked),
		cmocka_unit_test(evict__last_entropy_empties_the_ring),
		cmocka_unit_test(evict__can_be_switched_off),
		cmocka_unit_test(freeze__leaves_a_dead_path_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
