/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <string.h>

#include "cmocka_all.h"
#include "lb_box.h"
#include "lb_ops.h"

enum { LEAF = 4, SPINE = 8, PATHS = LEAF * SPINE, BDP = 100 };

/* A fabric of three tiers whose switches read digits. */
static void setup(struct lb_box *box, const struct weft_lb_ops *ops, uint64_t seed)
{
	lb_box_init(box, ops, 65536, 1, 0);
	weft_lb_digits_init(&box->params.digits, (const uint32_t[WEFT_LB_PARTS]){LEAF, SPINE});
	box->params.digits_read = 1;
	box->params.bdp_pkts = BDP;
	lb_box_again(box, seed, 0);
}

static struct prime_tune *tune(struct lb_box *box)
{
	return (struct prime_tune *)box->tune;
}

static uint32_t digit(const struct lb_box *box, uint16_t ev, uint32_t tier)
{
	return weft_lb_digit(&box->params.digits, ev, tier);
}

/* How often `ev` is among the next `n` picks. */
static uint32_t count(struct lb_box *box, uint16_t ev, uint32_t n, weft_ns now)
{
	uint32_t found = 0;
	for (uint32_t psn = 0; psn < n; psn++)
		found += lb_box_pick(box, psn, now) == ev;
	return found;
}

/* Algorithm 2: a full turn meets every path once, a round of a part every digit; the upper digit moves on when a round
 * of the lower one begins. */
static void pick__every_path_once_per_turn(void **state)
{
	static const struct weft_lb_ops *const both[] = {&weft_lb_prime, &weft_lb_co_prime};
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct lb_box box;
		setup(&box, both[seed % 2], seed);
		for (uint32_t turn = 0; turn < 5; turn++) {
			uint64_t paths = 0;
			uint32_t leafs = 0, spine = 0;
			for (uint32_t i = 0; i < PATHS; i++) {
				uint16_t ev = lb_box_pick(&box, i, 0);
				if (i % LEAF == 0)
					leafs = 0, spine = digit(&box, ev, 1);
				leafs |= 1u << digit(&box, ev, 0);
				paths |= UINT64_C(1) << ev;
				assert_int_equal(digit(&box, ev, 1), spine);
				if (i % LEAF == LEAF - 1)
					assert_int_equal(leafs, (1u << LEAF) - 1);
			}
			assert_true(paths == (UINT64_C(1) << PATHS) - 1);
		}
	}
}

/* Section III-B: the order changes with every round and from host to host. 24 orders of four digits, 2,400 rounds. */
static void pick__orders_are_random(void **state)
{
	uint32_t seen[256] = {0}, orders = 0;
	struct lb_box box;
	setup(&box, &weft_lb_prime, 3);
	for (uint32_t round = 0; round < 2400; round++) {
		uint32_t order = 0;
		for (uint32_t i = 0; i < LEAF; i++)
			order = order << 2 | digit(&box, lb_box_pick(&box, i, 0), 0);
		seen[order]++;
	}
	for (uint32_t i = 0; i < 256; i++) {
		orders += seen[i] > 0;
		if (seen[i])
			assert_in_range(seen[i], 60, 140);
	}
	assert_int_equal(orders, 24);
}

static void setup_host(struct lb_box *box, uint32_t host)
{
	setup(box, &weft_lb_prime2, host);
	box->params.host = host;
	lb_box_again(box, host, 0);
}

/* The paths that the hosts 1..PATHS, LEAF of them under a leaf, take at the same time: a host meets every path once in
 * a turn, hosts of a leaf never meet at an uplink, nor those of a pod above. Hosts of the next pod begin as these do.
 */
static void prime2__hosts_that_begin_together_do_not_meet(void **state)
{
	struct lb_box box[PATHS + 1];
	uint64_t met[PATHS] = {0};

	for (uint32_t h = 0; h <= PATHS; h++)
		setup_host(&box[h], h + 1);
	for (uint32_t i = 0; i < 3 * PATHS; i++) {
		uint64_t taken = 0;
		for (uint32_t h = 0; h < PATHS; h++) {
			uint16_t ev = lb_box_pick(&box[h], i, 0);
			met[h] |= UINT64_C(1) << ev;
			taken |= UINT64_C(1) << ev;
		}
		assert_true(taken == (UINT64_C(1) << PATHS) - 1);
		uint16_t next_pod = lb_box_pick(&box[PATHS], i, 0);
		assert_int_equal(digit(&box[PATHS], next_pod, 0), i % LEAF);
	}
	for (uint32_t h = 0; h < PATHS; h++)
		assert_true(met[h] == (UINT64_C(1) << PATHS) - 1);
}

/* Without prime_in_turn, where switches hash and where a leaf is oversubscribed it draws its orders as PRIME does, the
 * same by the same seed. */
static void prime2__draws_its_orders_elsewhere(void **state)
{
	enum { OFF, HASHED, OVERSUBSCRIBED };
	for (int why = OFF; why <= OVERSUBSCRIBED; why++) {
		struct lb_box box, published;
		setup(&published, &weft_lb_prime, 7);
		setup(&box, &weft_lb_prime2, 7);
		published.params.digits_read = box.params.digits_read = why != HASHED;
		box.params.oversubscribed = why == OVERSUBSCRIBED;
		tune(&box)->in_turn = why != OFF;
		lb_box_again(&published, 7, 0);
		lb_box_again(&box, 7, 0);
		for (uint32_t i = 0; i < 3 * PATHS; i++)
			assert_int_equal(lb_box_pick(&box, i, 0), lb_box_pick(&published, i, 0));
	}
}

/* Any address, and parts of any size. */
static void prime2__every_address_has_an_order(void **state)
{
	static const uint32_t hosts[] = {0, 1, 77, UINT32_MAX / 2, UINT32_MAX - 1, UINT32_MAX};

	for (uint32_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
		struct lb_box box;
		uint32_t met = 0;
		setup_host(&box, hosts[i]);
		weft_lb_digits_init(&box.params.digits, (const uint32_t[WEFT_LB_PARTS]){3, 7});
		lb_box_again(&box, 1, 0);
		for (uint32_t psn = 0; psn < 21; psn++) {
			uint16_t ev = lb_box_pick(&box, psn, 0);
			met |= 1u << (digit(&box, ev, 0) + 3 * digit(&box, ev, 1));
		}
		assert_int_equal(met, (1u << 21) - 1);
	}
}

static void ce__rests_for_its_penalty(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime, 1);
	tune(&box)->ce_pct = 32; /* 32 packets and the next turn */
	lb_box_again(&box, 1, 0);
	uint16_t ev = lb_box_pick(&box, 0, 0);
	lb_box_feed(&box, ev, WEFT_LB_CE, 0);
	assert_int_equal(count(&box, ev, 2 * PATHS, 0), 0);
	assert_in_range(count(&box, ev, 2 * PATHS, 0), 1, 2);
}

/* Section III-D: no penalty on top of another. */
static void ce__repeated_is_not_added(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime, 1);
	tune(&box)->ce_pct = 20;
	lb_box_again(&box, 1, 0);
	uint16_t ev = lb_box_pick(&box, 0, 0);
	for (uint32_t i = 0; i < 40; i++) {
		lb_box_feed(&box, ev, WEFT_LB_CE, 0);
		assert_true(i == 0 || lb_box_pick(&box, i, 0) != ev);
	}
	/* 20 % of a BDP and a turn are over. */
	assert_true(count(&box, ev, 52 - 39 + 2 * PATHS, 0) > 0);
}

static void trim__rests_longer_than_ce(void **state)
{
	static const enum weft_lb_fb kinds[] = {WEFT_LB_TRIM, WEFT_LB_LOSS};
	for (int i = 0; i < 2; i++) {
		struct lb_box box;
		setup(&box, &weft_lb_prime, 1);
		uint16_t ev = lb_box_pick(&box, 0, 0);
		lb_box_feed(&box, ev, WEFT_LB_CE, 0);
		lb_box_feed(&box, ev, kinds[i], 0); /* takes the place of the mark's */
		assert_int_equal(count(&box, ev, BDP + PATHS, 0), 0);
		assert_in_range(count(&box, ev, 2 * PATHS, 0), 1, 2);
	}
}

static void pick__smallest_penalty_when_all_are_congested(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime, 1);
	for (uint32_t ev = 0; ev < PATHS; ev++)
		lb_box_feed(&box, (uint16_t)ev, ev == 13 ? WEFT_LB_CE : WEFT_LB_TRIM, 0);
	assert_int_equal(lb_box_view(&box).cached_evs, 0);
	assert_int_equal(count(&box, 13, 20, 0), 20);
}

/* Every path was answered with trimmed packets for three turns, in the order of the entropies. */
static void congest_all(struct lb_box *box)
{
	for (uint32_t i = 0; i < 3 * PATHS; i++) {
		lb_box_feed(box, (uint16_t)(i % PATHS), WEFT_LB_TRIM, 0);
		lb_box_pick(box, i, 0); /* ages the penalties before */
	}
}

/* How many of 20 senders that were told the same take the path that most of them take. */
static uint32_t together(const struct weft_lb_ops *ops)
{
	uint32_t took[PATHS] = {0}, most = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct lb_box box;
		setup(&box, ops, seed);
		box.params.oversubscribed = 1;
		lb_box_again(&box, seed, 0);
		congest_all(&box);
		uint16_t ev = lb_box_pick(&box, 0, 0);
		most = ++took[ev] > most ? took[ev] : most;
	}
	return most;
}

static void prime2__senders_part_when_all_is_congested(void **state)
{
	assert_int_equal(together(&weft_lb_prime), 20); /* as published: the smallest penalty */
	assert_in_range(together(&weft_lb_prime2), 1, 6);
}

static void prime2__every_path_in_turn_when_all_are_congested(void **state)
{
	uint32_t took[PATHS] = {0};
	struct lb_box box;
	setup(&box, &weft_lb_prime2, 1);
	congest_all(&box);
	for (uint32_t i = 0; i < 20 * PATHS; i++) {
		uint16_t ev = lb_box_pick(&box, i, 0);
		took[ev]++;
		lb_box_feed(&box, ev, WEFT_LB_TRIM, 0);
	}
	for (uint32_t ev = 0; ev < PATHS; ev++)
		assert_in_range(took[ev], 19, 21);
}

/* An uplink of four has it, then all, then that one again. */
static void prime2__few_congested_paths_are_passed_over(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime2, 1);
	for (int again = 0; again < 2; again++) {
		for (uint32_t i = 0; i < 1000; i++) {
			uint16_t ev = lb_box_pick(&box, i, 0);
			lb_box_feed(&box, ev, digit(&box, ev, 0) == 2 ? WEFT_LB_TRIM : WEFT_LB_OK, 0);
		}
		uint32_t bad = 0;
		for (uint32_t i = 0; i < 1000; i++) {
			uint16_t ev = lb_box_pick(&box, i, 0);
			bad += digit(&box, ev, 0) == 2;
			lb_box_feed(&box, ev, digit(&box, ev, 0) == 2 ? WEFT_LB_TRIM : WEFT_LB_OK, 0);
		}
		assert_in_range(bad, 1, 100); /* of 250 in turn; each path is tried again when its penalty is over */
		congest_all(&box);
	}
}

static void prime2__share_can_be_set(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime2, 1);
	tune(&box)->rest_pct = 100;
	lb_box_again(&box, 1, 0);
	for (uint32_t ev = 0; ev < PATHS; ev++)
		lb_box_feed(&box, (uint16_t)ev, ev == 13 ? WEFT_LB_CE : WEFT_LB_TRIM, 0);
	assert_int_equal(count(&box, 13, 20, 0), 20);
}

/* What failed is no congestion. */
static void prime2__failed_paths_rest_when_all_are_congested(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime2, 1);
	congest_all(&box);
	lb_box_feed(&box, 5, WEFT_LB_TIMEOUT, WEFT_US(10));
	uint64_t paths = 0;
	for (uint32_t i = 0; i < 200; i++) {
		uint16_t ev = lb_box_pick(&box, i, WEFT_MS(1));
		paths |= UINT64_C(1) << ev;
		lb_box_feed(&box, ev, WEFT_LB_TRIM, 0);
	}
	assert_true(paths == (((UINT64_C(1) << PATHS) - 1) & ~(UINT64_C(1) << 5)));
}

static void timeout__rests_for_the_time(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime, 1);
	lb_box_feed(&box, 5, WEFT_LB_TIMEOUT, WEFT_US(10));
	lb_box_feed(&box, 6, WEFT_LB_TIMEOUT, WEFT_MS(1));
	assert_true(lb_box_view(&box).frozen);
	assert_int_equal(lb_box_view(&box).freezes, 1);
	assert_int_equal(count(&box, 5, 20000, WEFT_MS(20)), 0);
	assert_in_range(count(&box, 5, 20 * PATHS, WEFT_MS(22)), 19, 21);
	assert_false(lb_box_view(&box).frozen);
}

/* Where switches hash: what came back unmarked first, oldest first and once, as REPS does. */
static void recycle__where_switches_hash(void **state)
{
	for (uint8_t digits_read = 0; digits_read < 2; digits_read++) {
		struct lb_box box;
		uint32_t same = 0;
		setup(&box, &weft_lb_prime, 1);
		box.params.digits_read = digits_read;
		lb_box_again(&box, 1, 0);
		for (uint16_t ev = 0; ev < 11; ev++)
			lb_box_feed(&box, ev, ev % 2 ? WEFT_LB_COVERED : WEFT_LB_OK, 0);
		for (uint32_t i = 0; i < 8; i++)
			same += lb_box_pick(&box, i, 0) == 3 + i;
		if (digits_read)
			assert_in_range(same, 0, 4);
		else
			assert_int_equal(same, 8);
	}
}

static void recycle__can_be_switched_off(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime, 1);
	box.params.digits_read = 0;
	tune(&box)->recycle = 0;
	lb_box_again(&box, 1, 0);
	for (uint16_t ev = 100; ev < 108; ev++)
		lb_box_feed(&box, ev, WEFT_LB_OK, 0);
	uint32_t same = 0;
	for (uint32_t i = 0; i < 8; i++)
		same += lb_box_pick(&box, i, 0) == 100 + i;
	assert_in_range(same, 0, 1);
}

/* Of what was only covered no ACK came back; frozen, it could be that none does. */
static void timeout__leaves_out_what_was_only_covered(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime, 1);
	box.params.digits_read = 0;
	lb_box_again(&box, 1, 0);
	for (uint16_t ev = 0; ev < 8; ev++)
		lb_box_feed(&box, 100 + ev, ev % 4 ? WEFT_LB_COVERED : WEFT_LB_OK, 0);
	lb_box_feed(&box, 3, WEFT_LB_TIMEOUT, WEFT_US(100));
	lb_box_feed(&box, 200, WEFT_LB_COVERED, WEFT_US(101));
	for (uint32_t psn = 0; psn < 100; psn++) {
		uint16_t ev = lb_box_pick(&box, psn, WEFT_US(105));
		assert_true(ev == 100 || ev == 104);
	}
}

/* In the round trip after a failure others that fail with it are not known yet. */
static void timeout__at_first_only_what_answers(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime, 1);
	lb_box_feed(&box, 3, WEFT_LB_OK, 0);
	lb_box_feed(&box, 9, WEFT_LB_OK, 0);
	lb_box_feed(&box, 4, WEFT_LB_TIMEOUT, WEFT_US(100));
	for (uint32_t psn = 0; psn < 100; psn++) {
		uint16_t ev = lb_box_pick(&box, psn, WEFT_US(105));
		assert_true(ev == 3 || ev == 9);
	}
	assert_in_range(count(&box, 7, 4 * PATHS, WEFT_US(120)), 3, 5);
}

static void timeout__all_failed_goes_on(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime, 1);
	for (uint32_t ev = 0; ev < PATHS; ev++)
		lb_box_feed(&box, (uint16_t)ev, WEFT_LB_TIMEOUT, 0);
	for (uint32_t psn = 0; psn < 1000; psn++)
		assert_true(lb_box_pick(&box, psn, 0) < PATHS);
}

/* Switches that hash: more entropies than packets under way. After a failure only what answered is sent to. */
static void timeout__many_classes_use_what_answers(void **state)
{
	struct lb_box box;
	lb_box_init(&box, &weft_lb_prime, 65536, 4, 0);
	bool good[2048] = {false};
	for (uint32_t i = 0; i < 20; i++) {
		uint16_t ev = lb_box_pick(&box, i, 0);
		good[ev] = i % 4;
		if (good[ev])
			lb_box_feed(&box, ev, WEFT_LB_OK, 0);
		else
			lb_box_feed(&box, ev, WEFT_LB_TIMEOUT, 0);
	}
	for (uint32_t psn = 0; psn < 10000; psn++)
		assert_true(good[lb_box_pick(&box, psn, WEFT_MS(20))]);
}

/* Paths that nobody takes for so long that the packet count goes half around: their penalties stay over. */
static void timeout__paths_without_a_turn_stay_good(void **state)
{
	static const struct weft_lb_ops *const both[] = {&weft_lb_prime, &weft_lb_prime2};
	for (size_t i = 0; i < sizeof both / sizeof *both; i++)
		for (uint32_t pkts = 10000; pkts <= 70000; pkts += 10000) {
			struct lb_box box;
			lb_box_init(&box, both[i], 65536, 1, 0);
			weft_lb_digits_init(&box.params.digits, (const uint32_t[WEFT_LB_PARTS]){16, 16});
			box.params.digits_read = 1;
			box.params.bdp_pkts = 30;
			lb_box_again(&box, 1, 0);
			for (uint32_t psn = 0; psn < 300; psn++)
				lb_box_feed(&box, lb_box_pick(&box, psn, 0), WEFT_LB_OK, 0);
			lb_box_feed(&box, 7, WEFT_LB_TIMEOUT, 0);
			for (uint32_t psn = 0; psn < pkts; psn++)
				lb_box_pick(&box, psn, WEFT_US(10));
			assert_int_equal(lb_box_view(&box).cached_evs, 255);
		}
}

static void co_prime__ignores_everything(void **state)
{
	struct lb_box a, b;
	setup(&a, &weft_lb_co_prime, 9);
	setup(&b, &weft_lb_co_prime, 9);
	for (uint32_t psn = 0; psn < 1000; psn++) {
		uint16_t ev = lb_box_pick(&a, psn, 0);
		assert_int_equal(lb_box_pick(&b, psn, 0), ev);
		lb_box_feed(&b, ev, (enum weft_lb_fb)(psn % WEFT_LB_FB_KINDS), 0);
	}
}

/* 16 bits per path. */
static void state_bytes__by_the_shape(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime, 1);
	size_t history =
		weft_lb_state_bytes(&weft_lb_prime, &box.params) - weft_lb_state_bytes(&weft_lb_co_prime, &box.params);
	assert_int_equal(history, PATHS * 2);
	assert_true(weft_lb_state_bytes(&weft_lb_prime, &box.params) <= 176);
}

static void layout__parts_can_be_set(void **state)
{
	struct lb_box box;
	uint32_t seen = 0;
	setup(&box, &weft_lb_prime, 1);
	memcpy(tune(&box)->part, (const uint32_t[]){3, 2, 2}, 12);
	lb_box_again(&box, 1, 0);
	for (uint32_t i = 0; i < 12; i++)
		seen |= 1u << lb_box_pick(&box, i, 0);
	assert_int_equal(seen, 0x7777);
}

/* 1,600 paths whose digits need 12 bits. */
static void layout__all_uplinks_of_large_switches(void **state)
{
	static const struct weft_lb_ops *const all[] = {&weft_lb_prime, &weft_lb_prime2, &weft_lb_co_prime};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct lb_box box;
		bool taken[4096] = {false};
		lb_box_init(&box, all[i], 65536, 1, 0);
		weft_lb_digits_init(&box.params.digits, (const uint32_t[WEFT_LB_PARTS]){40, 40});
		box.params.digits_read = 1;
		lb_box_again(&box, 1, 0);
		for (uint32_t psn = 0; psn < 1600; psn++) {
			uint16_t ev = lb_box_pick(&box, psn, 0);
			assert_true(ev < 4096 && !taken[ev]);
			taken[ev] = true;
			assert_true(weft_lb_digit(&box.params.digits, ev, 0) < 40);
			assert_true(weft_lb_digit(&box.params.digits, ev, 1) < 40);
		}
	}
}

static void layout__small_entropy_set_cuts_parts(void **state)
{
	struct lb_box box;
	setup(&box, &weft_lb_prime, 1);
	box.params.evs_size = 11;
	lb_box_again(&box, 1, 0);
	for (uint32_t i = 0; i < 100; i++)
		assert_in_range(lb_box_pick(&box, i, 0), 0, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pick__every_path_once_per_turn),
		cmocka_unit_test(pick__orders_are_random),
		cmocka_unit_test(prime2__hosts_that_begin_together_do_not_meet),
		cmocka_unit_test(prime2__draws_its_orders_elsewhere),
		cmocka_unit_test(prime2__every_address_has_an_order),
		cmocka_unit_test(ce__rests_for_its_penalty),
		cmocka_unit_test(ce__repeated_is_not_added),
		cmocka_unit_test(trim__rests_longer_than_ce),
		cmocka_unit_test(pick__smallest_penalty_when_all_are_congested),
		cmocka_unit_test(prime2__senders_part_when_all_is_congested),
		cmocka_unit_test(prime2__every_path_in_turn_when_all_are_congested),
		cmocka_unit_test(prime2__few_congested_paths_are_passed_over),
		cmocka_unit_test(prime2__share_can_be_set),
		cmocka_unit_test(prime2__failed_paths_rest_when_all_are_congested),
		cmocka_unit_test(timeout__rests_for_the_time),
		cmocka_unit_test(timeout__at_first_only_what_answers),
		cmocka_unit_test(timeout__all_failed_goes_on),
		cmocka_unit_test(recycle__where_switches_hash),
		cmocka_unit_test(recycle__can_be_switched_off),
		cmocka_unit_test(timeout__leaves_out_what_was_only_covered),
		cmocka_unit_test(timeout__many_classes_use_what_answers),
		cmocka_unit_test(timeout__paths_without_a_turn_stay_good),
		cmocka_unit_test(co_prime__ignores_everything),
		cmocka_unit_test(state_bytes__by_the_shape),
		cmocka_unit_test(layout__parts_can_be_set),
		cmocka_unit_test(layout__all_uplinks_of_large_switches),
		cmocka_unit_test(layout__small_entropy_set_cuts_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
