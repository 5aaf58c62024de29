/* SPDX-License-Identifier: BSD-3-Clause */
/* Two congestion controls on one bottleneck: every pair of the table, two senders each, into one host. What is asserted
 * holds by construction; how fairly they share is printed. */
#include <stdlib.h>

#include "sim_scenario.h"

enum { SENDERS = 4 };

static const weft_ns start_ns = WEFT_US(500);
static const double link_pkts = 1.5e-3 * 100e9 / 8 / 4198; /* from start_ns to the end */

struct duel {
	struct scenario s;
	void *odd_tune;
	uint64_t sent[SENDERS + 1];   /* data packets by host, between start_ns and the end ... */
	uint64_t resent[SENDERS + 1]; /* ... and retransmissions */
};

/* Adds `sign` times what every host has sent so far. */
static void count(struct duel *d, int sign)
{
	for (uint32_t i = 0; i <= SENDERS; i++) {
		const struct weft_stats *stats = weft_engine_stats(lab_engine(d->s.lab, i));
		d->sent[i] += (uint64_t)sign * stats->tx_data;
		d->resent[i] += (uint64_t)sign * stats->tx_retx;
	}
}

static void start_counting(struct lab *lab, void *arg)
{
	count(arg, -1);
}

static void duel(struct duel *d, const struct weft_cc_ops *even, const struct weft_cc_ops *odd)
{
	const char *args[] = {"sim",   "--topology", "star:5", "--link-gbps", "100", "--matrix", "incast:4:32MiB",
			      "--end", "2ms",        "--cc",   even->name,    NULL};
	int argc = sizeof args / sizeof args[0] - 1;

	*d = (struct duel){.odd_tune = calloc(1, odd->tune_size + 1)};
	assert_non_null(d->odd_tune);
	weft_param_defaults(odd->tunes, d->odd_tune);
	assert_int_equal(options_parse(&d->s.options, argc, (char **)(uintptr_t)args, NULL, NULL, &d->s.err), 0);
	d->s.options.lab.cc_odd = odd;
	d->s.options.lab.cc_odd_tune = d->odd_tune;
	assert_int_equal(lab_create(&d->s.options.lab, &d->s.lab, &d->s.err), 0);
	assert_int_equal(lab_at(d->s.lab, start_ns, start_counting, d), 0);
	lab_run(d->s.lab, &d->s.err);
	assert_int_equal(lab_flows_ended(d->s.lab), 0); /* all four send all the time */
	count(d, 1);
}

static void duel_end(struct duel *d)
{
	scenario_end(&d->s);
	free(d->odd_tune);
}

/* Jain's index of what the four senders got. */
static double jain(const struct duel *d)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 1; i <= SENDERS; i++) {
		sum += (double)d->sent[i];
		squares += (double)d->sent[i] * (double)d->sent[i];
	}
	return sum * sum / (SENDERS * squares);
}

/* The fewest packets one of the four got. */
static uint64_t least(const struct duel *d)
{
	uint64_t n = UINT64_MAX;

	for (uint32_t i = 1; i <= SENDERS; i++)
		n = d->sent[i] < n ? d->sent[i] : n;
	return n;
}

static void print(const struct duel *d, const char *even, const char *odd)
{
	print_message("    hosts 2, 4: %-8s hosts 1, 3: %-8s packets", even, odd);
	for (uint32_t i = 1; i <= SENDERS; i++)
		print_message(" %5llu", (unsigned long long)d->sent[i]);
	print_message("  Jain %.3f\n", jain(d));
}

/* Any two together fill the link, and nobody is left without a packet in flight: windows are never below one. */
static void check_any(struct duel *d)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i <= SENDERS; i++) {
		sum += d->sent[i];
		assert_true(d->sent[i] + d->resent[i] > 0);
	}
	assert_true((double)sum > 0.9 * link_pkts);
}

/* Windows clocked by ACKs see the same queue and answer to it within an RTT or two, if not at the same level: none is
 * pushed below a tenth of an equal share. DCQCN hears of congestion once in 50 us, tens of RTTs here, and a fixed
 * window never: against those the others give way, as they should. */
static bool acks_clock(const struct weft_cc_ops *cc)
{
	return cc != weft_cc_find("dcqcn") && cc != weft_cc_find("fixed");
}

/* With others of its kind. A fixed window shares nothing. smartt3 keeps unequal shares for milliseconds: its target is
 * above most queues, so that of two flows that meet the one that stays has all of the link at once. */
static bool shares_soon(const struct weft_cc_ops *cc)
{
	return cc != weft_cc_find("fixed") && cc != weft_cc_find("smartt3");
}

static void check_pair(struct duel *d, const struct weft_cc_ops *even, const struct weft_cc_ops *odd)
{
	check_any(d);
	if (even == odd && shares_soon(even))
		assert_true(jain(d) > 0.95);
	if (acks_clock(even) && acks_clock(odd))
		assert_true((double)least(d) > 0.1 * link_pkts / SENDERS);
}

static void every_pair(void **state)
{
	for (const struct weft_cc_ops *const *a = weft_cc_table; *a; a++) {
		for (const struct weft_cc_ops *const *b = a; *b; b++) {
			struct duel d;
			duel(&d, *a, *b);
			print(&d, (*a)->name, (*b)->name);
			check_pair(&d, *a, *b);
			duel_end(&d);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
