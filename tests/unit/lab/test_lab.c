/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "lab_args.h"

struct fixture {
	struct options o;
	struct lab *lab;
	struct weft_err err;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	uint32_t left = lab_destroy(f->lab);
	options_free(&f->o);
	free(f);
	return left ? -1 : 0;
}

#define MAKE(f, ...) args_lab_made(&(f)->o, (const char *const[]){__VA_ARGS__, NULL}, &(f)->lab, &(f)->err)

static void lab_run__says_what_had_not_ended(void **state)
{
	struct fixture *f = *state;
	MAKE(f, "--topology", "star:4", "--matrix", "permutation:4:1MiB", "--end", "20us");
	assert_int_equal(lab_run(f->lab, &f->err), -ETIMEDOUT);
	assert_non_null(strstr(f->err.msg, "4 of 4 flows"));
	assert_true(lab_now(f->lab) <= 20 * 1000000);
	assert_int_equal(lab_flows_ended(f->lab), 0);
}

static void lab_run__flows_start_when_the_matrix_says(void **state)
{
	struct fixture *f = *state;
	struct run_result r;
	MAKE(f, "--topology", WEFT_CONFIGS "/topologies/ls16_50g.topo", "--matrix",
	     WEFT_CONFIGS "/matrices/sa2a_16n_1M.cm", "--end", "20ms");
	assert_int_equal(lab_run(f->lab, &f->err), 0);
	assert_int_equal(result_of_lab(f->lab, &r, NULL), 0);
	assert_int_equal(lab_flows_ended(f->lab), r.flow_count);
	for (uint32_t i = 0; i < r.flow_count; i++) {
		const struct weft_flow *flow = &f->o.lab.workload.flows[i];
		if (flow->start_ns != WEFT_NEVER)
			assert_int_equal(r.flows[i].start, flow->start_ns * 1000);
		for (uint32_t j = 0; j < r.flow_count; j++) {
			/* a one-shot trigger starts its target in the instant it fires */
			if (flow->send_done_trigger >= 0 &&
			    f->o.lab.workload.flows[j].start_trigger == flow->send_done_trigger)
				assert_int_equal(r.flows[j].start, r.flows[i].acked);
		}
	}
}

/* Retransmissions of a lossy run with a seed. */
static uint64_t repeated(const char *seed)
{
	struct options o = {0};
	struct lab *lab = NULL;
	struct weft_err err = {""};
	struct weft_stats sum;
	args_lab_made(&o,
		      (const char *const[]){"--topology", "star:4", "--matrix", "incast:3:256KiB", "--set",
					    "fault_loss_ppm=20000", "--seed", seed, NULL},
		      &lab, &err);
	assert_int_equal(lab_run(lab, &err), 0);
	lab_stats(lab, &sum);
	assert_int_equal(lab_destroy(lab), 0);
	options_free(&o);
	return sum.tx_retx;
}

/* What the NICs lose depends on the run's seed, as all else that is random. */
static void lab_run__seed_draws_nic_faults(void **state)
{
	uint64_t first = repeated("1"), others = 0;
	char seed[4];
	assert_true(repeated("1") == first);
	for (int i = 2; i < 6; i++) {
		snprintf(seed, sizeof seed, "%d", i);
		others += repeated(seed) != first;
	}
	assert_true(others > 0);
}

/* A host that looks late has its ring full by then. */
static void lab_result__counts_what_hosts_drop(void **state)
{
	struct fixture *f = *state;
	struct run_result r;
	MAKE(f, "--topology", "star:5", "--matrix", "incast:4:1MiB", "--set", "nic_rx_entries=4", "--set",
	     "poll_delay_ns=100000", "--end", "5ms");
	lab_run(f->lab, &f->err);
	assert_int_equal(result_of_lab(f->lab, &r, NULL), 0);
	assert_true(r.drops.host > 0);
	assert_int_equal(r.drops.host, lab_rx_dropped(f->lab));
	assert_true(r.packets.dropped >= r.drops.host);
}

static void lab_result__counts_agree(void **state)
{
	struct fixture *f = *state;
	struct run_result r;
	struct weft_stats sum;
	MAKE(f, "--topology", "star:4", "--matrix", "permutation:4:1MiB");
	assert_int_equal(lab_run(f->lab, &f->err), 0);
	assert_int_equal(result_of_lab(f->lab, &r, NULL), 0);
	lab_stats(f->lab, &sum);
	assert_int_equal(r.packets.data, 4 * 256);
	assert_int_equal(sum.tx_data, r.packets.data);
	assert_int_equal(sum.rx_data, r.packets.data);
	assert_int_equal(sum.rx_ack, r.packets.acks);
	assert_int_equal(sum.msg_sent, 4);
	assert_int_equal(sum.msg_received, 4);
	assert_true(r.ideal > 0 && r.elapsed >= r.ideal);
}

static void lab_fault_port__only_when_asked_for(void **state)
{
	struct fixture *f = *state;
	MAKE(f, "--topology", "star:4");
	assert_null(lab_fault_port(f->lab, 0));
	lab_destroy(f->lab);
	options_free(&f->o);
	MAKE(f, "--topology", "star:4", "--set", "fault_loss_ppm=0");
	assert_non_null(lab_fault_port(f->lab, 3));
	assert_non_null(lab_engine(f->lab, 3));
	assert_int_equal(weft_net_hosts(lab_net(f->lab)), 4);
}

static struct run_reordering order_of(struct fixture *f)
{
	struct run_result r;
	assert_int_equal(lab_run(f->lab, &f->err), 0);
	assert_int_equal(result_of_lab(f->lab, &r, &f->err), 0);
	assert_true(r.order.known);
	assert_int_equal(r.order.packets, r.packets.data);
	return r.order;
}

static void lab_result__one_path_reorders_nothing(void **state)
{
	struct fixture *f = *state;
	MAKE(f, "--topology", "leafspine:2:4:4", "--matrix", "permutation:8:256KiB", "--lb", "ecmp");
	assert_int_equal(order_of(f).reordered, 0);
}

static void lab_result__lost_packets_are_not_late(void **state)
{
	struct fixture *f = *state;
	MAKE(f, "--topology", "star:2", "--matrix", "permutation:2:1MiB", "--lb", "ecmp", "--set",
	     "fault_loss_ppm=9000");
	struct run_reordering order = order_of(f);
	assert_int_equal(order.reordered, 0);
	assert_float_equal(order.dup_ack3_flows, 1, 1e-9);
	assert_float_equal(order.reorder_ack_flows, 0, 0);
	assert_true(order.dup_acks_max >= REORDER_THRESHOLD);
}

/* Short messages of one pair on many paths overtake each other; each of their packets counts all the same. */
static void lab_result__messages_that_overtake(void **state)
{
	struct fixture *f = *state;
	MAKE(f, "--topology", "leafspine:2:4:1", "--matrix", "poisson:googlerpc:0.9:200us", "--lb", "ops", "--route",
	     "random", "--no-trim", "--mtu", "500");
	order_of(f);
}

static void lab_result__spraying_reorders(void **state)
{
	struct fixture *f = *state;
	MAKE(f, "--topology", "leafspine:2:4:4", "--matrix", "permutation:8:256KiB", "--lb", "ops");
	struct run_reordering order = order_of(f);
	assert_true(order.reordered > 0 && order.beyond >= order.reordered);
	assert_true(order.reorder_ack_flows > 0 && order.reorder_ack_flows >= order.reorder_ack3_flows);
	assert_true(order.extent_max >= order.extent_p99 && order.ooo_max > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lab_result__one_path_reorders_nothing),
		TEST(lab_result__lost_packets_are_not_late),
		TEST(lab_result__messages_that_overtake),
		TEST(lab_result__spraying_reorders),
		TEST(lab_run__says_what_had_not_ended),
		TEST(lab_run__flows_start_when_the_matrix_says),
		TEST(lab_result__counts_agree),
		TEST(lab_result__counts_what_hosts_drop),
		cmocka_unit_test(lab_run__seed_draws_nic_faults),
		TEST(lab_fault_port__only_when_asked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
