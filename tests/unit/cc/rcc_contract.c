/* SPDX-License-Identifier: BSD-3-Clause */
/* What every receiver-driven algorithm must keep, whatever it is. */
#include <string.h>

#include "cmocka_all.h"
#include "rcc_box.h"
#include "rng.h"

enum { UNIT = WEFT_RCC_UNIT_BYTES, PLACES = 4 };

/* Links and round trips from a slow one to the longest and fastest. */
static void open_place(struct rcc_box *box, const struct weft_rcc_ops *ops, int place)
{
	static const struct {
		uint64_t bps;
		weft_ns brtt_ns;
	} places[PLACES] = {{1000000000, WEFT_US(20)},
			    {100000000000, WEFT_US(12)},
			    {800000000000, WEFT_US(10)},
			    {800000000000, WEFT_MS(100)}};
	rcc_box_init(box, ops, places[place].bps, places[place].brtt_ns);
	rcc_box_start(box);
}

static void each(void (*check)(const struct weft_rcc_ops *ops, int place))
{
	for (unsigned i = 0; weft_rcc_table[i]; i++)
		for (int place = 0; place < PLACES; place++)
			check(weft_rcc_table[i], place);
}

/* Those that answer demand with amounts, and those that send credits to everybody who has data. */
static void each_of_kind(bool schedules, void (*check)(const struct weft_rcc_ops *ops, int place))
{
	unsigned found = 0;
	for (unsigned i = 0; weft_rcc_table[i]; i++) {
		if (!!weft_rcc_table[i]->schedule != schedules)
			continue;
		found++;
		for (int place = 0; place < PLACES; place++)
			check(weft_rcc_table[i], place);
	}
	assert_true(found > 0);
}

/* Most a sender may have been promised and not used. */
static uint64_t bound(const struct rcc_box *box)
{
	return (uint64_t)box->limits.credit_bytes + UNIT;
}

/* One turn, judged. */
static uint32_t turn(struct rcc_box *box)
{
	uint32_t before = box->rcc.wanted_bytes;
	uint32_t bytes = rcc_box_credit(box);
	assert_true(bytes > 0);
	assert_int_equal(bytes % UNIT, 0);
	assert_true(bytes <= before);
	assert_true(box->rcc.wanted_bytes <= before - bytes);
	return bytes;
}

static void check_limits(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box;
	open_place(&box, ops, place);
	assert_true(box.limits.credit_bytes >= box.params.mtu_bytes);
	assert_true(box.limits.credit_bytes <= WEFT_RCC_MAX_BYTES);
	assert_true(box.limits.first_bytes <= WEFT_RCC_MAX_BYTES);
	/* Never faster than the link, and not slower than half of it. */
	double byte_ns = 8e9 / (double)box.params.link_bps, pace_ns = (double)box.limits.pace / (1 << 20);
	assert_true(pace_ns >= byte_ns * 0.9999);
	assert_true(pace_ns <= byte_ns * 2);
}

static void limits__fit_the_link(void **state)
{
	each(check_limits);
}

static void names__are_complete(void **state)
{
	for (unsigned i = 0; weft_rcc_table[i]; i++) {
		const struct weft_rcc_ops *ops = weft_rcc_table[i];
		assert_ptr_equal(weft_rcc_find(ops->name), ops);
		assert_null(weft_cc_find(ops->name));
		assert_null(strchr(ops->name, '+'));
		assert_non_null(weft_cc_find(ops->sender));
		assert_true(ops->state_size <= WEFT_RCC_STATE_MAX);
		assert_true(!ops->next_credit == !!ops->schedule);
		assert_true(!ops->on_stop == !ops->schedule);
	}
}

static void check_idle(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box;
	open_place(&box, ops, place);
	assert_int_equal(box.rcc.wanted_bytes, 0);
	rcc_box_data(&box, 4200, false);
	assert_int_equal(box.rcc.wanted_bytes, 0);
	for (size_t i = ops->state_size; i < sizeof box.rcc.state; i++)
		assert_int_equal(box.rcc.state[i], 0xa5);
}

static void init__no_credit_for_the_idle(void **state)
{
	each(check_idle);
}

/* Demand ends with what was asked for, however the news come. */
static void check_demand(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box;
	open_place(&box, ops, place);
	uint32_t ask = box.limits.credit_bytes / UNIT * UNIT;
	uint64_t granted = 0;
	rcc_box_demand(&box, ask);
	rcc_box_demand(&box, ask);  /* told twice */
	rcc_box_demand(&box, UNIT); /* late news */
	while (box.rcc.wanted_bytes)
		granted += turn(&box);
	assert_int_equal(granted, ask);
}

static void next_credit__grants_what_was_asked_for(void **state)
{
	each_of_kind(false, check_demand);
}

static void check_bound(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box;
	open_place(&box, ops, place);
	struct rng rng = {(uint64_t)place};
	for (int i = 0; i < 20000; i++) {
		switch (rng_below(&rng, 3)) {
		case 0:
			rcc_box_demand(&box, (uint32_t)(1 + rng_below(&rng, WEFT_RCC_MAX_BYTES / UNIT)) * UNIT);
			break;
		case 1:
			rcc_box_data(&box, 1 + (uint32_t)rng_below(&rng, 9000), rng_below(&rng, 2));
			break;
		default:
			if (box.rcc.wanted_bytes)
				turn(&box);
		}
		assert_true(box.rcc.wanted_bytes <= bound(&box));
		assert_int_equal(box.rcc.wanted_bytes % UNIT, 0);
		box.now += 100;
	}
}

static void on_demand__absurd_amounts_stay_within_the_bound(void **state)
{
	each_of_kind(false, check_bound);
}

static void check_trim(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box;
	open_place(&box, ops, place);
	rcc_box_data(&box, 4200, true);
	uint32_t granted = 0;
	while (box.rcc.wanted_bytes)
		granted += turn(&box);
	assert_true(granted >= 4200);
	assert_true(granted < 4200 + UNIT);
}

static void on_data__a_trimmed_packet_gets_credit_again(void **state)
{
	each_of_kind(false, check_trim);
}

/* Three senders that always want more and one that has nothing, served in turn like the engine does. */
static void check_fairness(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box[4];
	uint64_t granted[4] = {0}, most = 0;
	for (int i = 0; i < 4; i++)
		open_place(&box[i], ops, place);
	for (int round = 0; round < 1000; round++) {
		for (int i = 0; i < 3; i++)
			rcc_box_demand(&box[i], box[i].limits.credit_bytes / UNIT * UNIT);
		for (int i = 0; i < 4; i++) {
			uint32_t bytes = box[i].rcc.wanted_bytes ? turn(&box[i]) : 0;
			granted[i] += bytes;
			most = bytes > most ? bytes : most;
		}
	}
	for (int i = 1; i < 3; i++)
		assert_in_range(granted[i], granted[0] - most, granted[0] + most);
	assert_int_equal(granted[3], 0);
}

static void next_credit__serves_equal_demand_equally(void **state)
{
	each_of_kind(false, check_fairness);
}

/* More than fits the 24 bits of units the wire has, and 32 bits of bytes. */
static void check_long_run(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box;
	open_place(&box, ops, place);
	uint32_t ask = box.limits.credit_bytes < 1 << 20 ? box.limits.credit_bytes / UNIT * UNIT : 1 << 20;
	uint64_t asked = 0, granted = 0;
	for (uint64_t goal = UINT64_C(5) << 30; asked < goal; asked += ask) {
		rcc_box_demand(&box, ask);
		while (box.rcc.wanted_bytes)
			granted += turn(&box);
	}
	assert_int_equal(granted, asked);
}

static void next_credit__long_run(void **state)
{
	for (unsigned i = 0; weft_rcc_table[i]; i++) {
		if (weft_rcc_table[i]->schedule)
			continue;
		for (int place = 1; place < PLACES; place++) /* the slowest would need half a million rounds more */
			check_long_run(weft_rcc_table[i], place);
	}
}

/* ---- those that schedule ---- */

static struct weft_rcc_credit scheduled(struct rcc_box *box, struct rng *rng)
{
	struct weft_rcc_credit credit = {UINT32_MAX, 0};
	box->rcc.ops->schedule(&box->rcc, rng_next(rng), &credit, box->now);
	assert_true(credit.path < box->limits.paths);
	assert_true(credit.wait_ns > 0);
	return credit;
}

static void check_wanted(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box;
	open_place(&box, ops, place);
	rcc_box_demand(&box, UNIT);
	assert_true(box.rcc.wanted_bytes > 0);
	rcc_box_data(&box, 4200, false);
	assert_true(box.rcc.wanted_bytes > 0); /* more may follow */
	ops->on_stop(&box.rcc, box.now);
	assert_int_equal(box.rcc.wanted_bytes, 0);
	rcc_box_data(&box, 4200, true);
	assert_int_equal(box.rcc.wanted_bytes, 0);
	rcc_box_demand(&box, WEFT_RCC_MAX_BYTES);
	assert_in_range(box.rcc.wanted_bytes, 1, WEFT_RCC_MAX_BYTES);
}

static void schedule__from_demand_to_stop(void **state)
{
	each_of_kind(true, check_wanted);
}

/* One sender's data of the credit it is for, later by `rtt_ns`. */
static void arrives(struct rcc_box *box, uint32_t number, uint32_t path, bool ce)
{
	struct weft_rcc_data ev = {.bytes = 4200,
				   .ce = ce,
				   .scheduled = true,
				   .path = (uint16_t)path,
				   .credit = number & 0xffffff,
				   .rtt_ns = box->params.brtt_ns};
	box->rcc.ops->on_data(&box->rcc, &ev, box->now);
}

/* Every credit answered: the rate gets to what the link carries, and never above that and the tolerated share of
 * losses; over numbers that wrap. */
static void check_full_rate(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box;
	struct rng rng = {7};
	open_place(&box, ops, place);
	rcc_box_demand(&box, WEFT_RCC_MAX_BYTES);
	weft_ns full_ns = (box.limits.pace * box.params.mtu_bytes) >> 20, spent = 0;
	for (uint32_t i = 0; i < 20000; i++) {
		struct weft_rcc_credit c = scheduled(&box, &rng);
		box.now += c.wait_ns;
		spent += i < 19000 ? 0 : c.wait_ns;
		arrives(&box, 0xfff000 + i, c.path, false);
	}
	if (box.params.brtt_ns < full_ns * 1000) /* otherwise there were too few round trips */
		assert_in_range(spent, 1000 * full_ns * 85 / 100, 1000 * full_ns * 105 / 100);
}

static void schedule__all_answered_the_full_rate(void **state)
{
	each_of_kind(true, check_full_rate);
}

/* Nothing but bad news: the rate falls to something small, and never to nothing. */
static void check_bad_news(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box;
	struct rng rng = {9};
	open_place(&box, ops, place);
	rcc_box_demand(&box, WEFT_RCC_MAX_BYTES);
	for (uint32_t i = 0; i < 1000; i++) {
		struct weft_rcc_credit c = scheduled(&box, &rng);
		box.now += c.wait_ns;
		arrives(&box, 100 * i, c.path, true);
	}
	struct weft_rcc_credit c = scheduled(&box, &rng);
	weft_ns full_ns = (box.limits.pace * box.params.mtu_bytes) >> 20;
	weft_ns slowest = 2 * (box.params.brtt_ns > full_ns ? box.params.brtt_ns : full_ns);
	assert_in_range(c.wait_ns, 0, slowest);
	if (box.params.brtt_ns > 10 * full_ns)
		assert_true(c.wait_ns > 5 * full_ns);
}

static void schedule__bad_news_slow_it_down(void **state)
{
	each_of_kind(true, check_bad_news);
}

/* Whatever arrives, in whatever order, with whatever numbers and paths. */
static void check_nonsense(const struct weft_rcc_ops *ops, int place)
{
	struct rcc_box box;
	struct rng rng = {(uint64_t)place};
	open_place(&box, ops, place);
	for (int i = 0; i < 50000; i++) {
		switch (rng_below(&rng, 8)) {
		case 0:
			rcc_box_demand(&box, (uint32_t)(1 + rng_below(&rng, WEFT_RCC_MAX_BYTES / UNIT)) * UNIT);
			break;
		case 1:
			ops->on_stop(&box.rcc, box.now);
			break;
		default:
			arrives(&box, (uint32_t)rng_next(&rng), (uint32_t)rng_below(&rng, 65536), rng_below(&rng, 2));
		}
		if (box.rcc.wanted_bytes)
			box.now += scheduled(&box, &rng).wait_ns;
	}
}

static void on_data__nonsense_is_survived(void **state)
{
	each_of_kind(true, check_nonsense);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names__are_complete),
		cmocka_unit_test(limits__fit_the_link),
		cmocka_unit_test(init__no_credit_for_the_idle),
		cmocka_unit_test(on_demand__absurd_amounts_stay_within_the_bound),
		cmocka_unit_test(on_data__a_trimmed_packet_gets_credit_again),
		cmocka_unit_test(next_credit__grants_what_was_asked_for),
		cmocka_unit_test(next_credit__serves_equal_demand_equally),
		cmocka_unit_test(next_credit__long_run),
		cmocka_unit_test(schedule__from_demand_to_stop),
		cmocka_unit_test(schedule__all_answered_the_full_rate),
		cmocka_unit_test(schedule__bad_news_slow_it_down),
		cmocka_unit_test(on_data__nonsense_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
