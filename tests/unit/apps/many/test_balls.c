/* SPDX-License-Identifier: BSD-3-Clause */
#include "balls.h"
#include "cmocka_all.h"

static struct balls_result run(struct balls_conf conf)
{
	struct balls_result r;
	struct weft_err err = {""};
	assert_int_equal(balls_run(&conf, NULL, NULL, &r, &err), 0);
	return r;
}

/* Figure 14, and more bins: with OPS they fill on and on, recycled ones stay near the threshold. */
static void balls_run__recycled_stays_near_the_threshold(void **state)
{
	static const struct balls_conf sizes[] = {{.bins = 8, .threshold = 9, .colors = 5},
						  {.bins = 32, .threshold = 14, .colors = 9},
						  {.bins = 128, .threshold = 20, .colors = 12}};
	for (uint32_t i = 0; i < 9; i++) {
		struct balls_conf conf = sizes[i % 3];
		conf.rounds = 3000;
		conf.load_pct = 100;
		conf.seed = 1 + i / 3;
		struct balls_result ops = run(conf);
		assert_int_equal(ops.settled, conf.rounds);
		assert_in_range(ops.max, 4 * conf.threshold, 100 * conf.threshold);
		conf.recycle = 1;
		struct balls_result recycled = run(conf);
		assert_in_range(ops.max, 3 * recycled.max, UINT32_MAX);
		assert_in_range(recycled.max, 1, 2 * conf.threshold);
	}
}

/* Figure 13: at a load of 0.99 the fullest bin grows with the number of bins. */
static void balls_run__more_bins_fuller_bins(void **state)
{
	struct balls_conf conf = {.bins = 8, .rounds = 5000, .load_pct = 99, .threshold = 9, .colors = 1, .seed = 1};
	struct balls_result few = run(conf);
	conf.bins = 256;
	struct balls_result many = run(conf);
	assert_true(many.mean_max > 1.3 * few.mean_max);
}

/* Figure 17: fewer ACKs, fuller bins, and never worse than OPS. */
static void balls_run__coalescing_costs(void **state)
{
	struct balls_conf conf = {.bins = 32, .rounds = 3000, .load_pct = 100, .threshold = 14, .colors = 9, .seed = 1};
	double ops = run(conf).mean_max, before = 0;
	for (conf.recycle = 1; conf.recycle <= 8; conf.recycle *= 2) {
		double now = run(conf).mean_max;
		assert_true(now > before && now < ops);
		before = now;
	}
}

static void count_all(void *arg, uint32_t round, const uint32_t *counts, uint32_t bins)
{
	uint32_t *sum = arg;
	*sum = 0;
	for (uint32_t i = 0; i < bins; i++)
		*sum += counts[i];
}

/* A round brings a ball per bin and takes one from each bin that has any. */
static void balls_run__brings_what_it_takes(void **state)
{
	struct balls_conf conf = {.bins = 1, .rounds = 50, .load_pct = 100, .colors = 4, .threshold = 6, .seed = 2};
	uint32_t sum;
	struct balls_result r;
	struct weft_err err = {""};
	assert_int_equal(balls_run(&conf, count_all, &sum, &r, &err), 0);
	assert_int_equal(sum, 1);
	assert_int_equal(r.max, 1);
	assert_int_equal(r.settled, 0);
}

static void balls_run__refuses_nonsense(void **state)
{
	struct balls_result r;
	struct weft_err err = {""};
	assert_int_equal(balls_run(&(struct balls_conf){.bins = 0, .rounds = 1, .load_pct = 1, .colors = 1}, NULL, NULL,
				   &r, &err),
			 -22);
	assert_int_equal(balls_run(&(struct balls_conf){.bins = 1, .rounds = 1, .load_pct = 101, .colors = 1}, NULL,
				   NULL, &r, &err),
			 -22);
	assert_true(err.msg[0]);
}

/* Figure 16, 32 uplinks: 32 flows with fewer than 256 entropies are more than 10 % off, with 65,536 less than 1 %. */
static void balls_imbalance__needs_many_entropies(void **state)
{
	struct weft_err err = {""};
	double few = 0, many = 0;
	for (uint64_t seed = 0; seed < 10; seed++) {
		few += balls_imbalance(32, 32, 128, seed, &err) / 10;
		many += balls_imbalance(32, 32, 65536, seed, &err) / 10;
	}
	assert_true(few > 0.1 && few < 0.3);
	assert_true(many > 0.003 && many < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(balls_run__recycled_stays_near_the_threshold),
		cmocka_unit_test(balls_run__more_bins_fuller_bins),
		cmocka_unit_test(balls_run__coalescing_costs),
		cmocka_unit_test(balls_run__brings_what_it_takes),
		cmocka_unit_test(balls_run__refuses_nonsense),
		cmocka_unit_test(balls_imbalance__needs_many_entropies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
