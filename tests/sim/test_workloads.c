/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of workload once, to the end, all bytes verified; chains start when they should. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim_scenario.h"

static void passes(const char *topology, const char *matrix)
{
	struct scenario s;
	print_message("%s on %s\n", matrix, topology);
	SCENARIO_PASSES(&s, "--topology", topology, "--matrix", matrix, "--link-gbps", "100", "--end", "50ms");
	assert_int_equal(s.result.flow_count, s.options.lab.workload.flow_count);
	scenario_end(&s);
}

static void workloads__every_pattern(void **state)
{
	static const char *const matrices[] = {
		"permutation:16:64KiB",
		"crosscore:16:64KiB",
		"tornado:16:64KiB",
		"random:40:64KiB",
		"incast:3:64KiB:4",
		"stride:16:4:64KiB",
		"requests:25:10kB",
		"repeat:3:20us:requests:25:10kB",
		"outcast-incast:4:4:64KiB",
		"alltoall:8:16KiB:2",
		"allreduce-ring:16:256KiB:spread",
		"allreduce-butterfly:16:32KiB",
		"allreduce-halving:16:256KiB:spread",
		"poisson:hadoop:0.4:100us:16:off-leaf",
		"poisson:hadoop:0.4:100us:16:one-receiver",
		"poisson:websearch:0.5:200us",
		"poisson:googlerpc:0.3:10us",
	};

	for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
		passes("leafspine:4:4:4", matrices[i]);
	for (const struct weft_workload_kind *k = weft_workload_kinds; k->usage; k++) {
		bool there = false;
		for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
			there |= !strncmp(k->usage, matrices[i], strcspn(k->usage, ":") + 1);
		assert_true(there);
	}
}

static void workloads__smallest_fabrics(void **state)
{
	static const struct {
		const char *topology, *matrices[3];
	} cases[] = {
		{"leafspine:2:2:2", {"crosscore:4:1MiB", "allreduce-ring:4:1MiB", "poisson:webserver:0.8:100us"}},
		{"fattree:2", {"crosscore:2:1MiB", "allreduce-ring:2:1MiB", "poisson:webserver:0.8:100us"}},
		{"fattree:4", {"crosscore:16:1MiB", "allreduce-halving:2:1MiB", "tornado:2:1"}},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		for (size_t k = 0; k < 3; k++)
			passes(cases[i].topology, cases[i].matrices[k]);
}

/* A rank of the ring sends on at the instant in which it has received. */
static void workloads__ring_waits_for_its_input(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--matrix", "allreduce-ring:8:1MiB", "--end", "50ms");
	const struct run_flow *flows = s.result.flows;
	for (uint32_t i = 8; i < s.result.flow_count; i++) {
		uint32_t before = (i / 8 - 1) * 8 + (i % 8 + 7) % 8;
		assert_true(flows[i].start == flows[before].delivered);
	}
	scenario_end(&s);
}

/* A rank of the butterfly goes on at the later of the ends of its own flow and its partner's. */
static void workloads__butterfly_waits_for_both(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--matrix", "allreduce-butterfly:16:256KiB", "--end", "50ms");
	const struct run_flow *flows = s.result.flows;
	for (uint32_t i = 16; i < s.result.flow_count; i++) {
		uint32_t own = i - 16, theirs = own / 16 * 16 + (own % 16 ^ (1u << own / 16));
		weft_ps sent = flows[own].acked, received = flows[theirs].delivered;
		assert_true(flows[i].start == (sent > received ? sent : received));
	}
	scenario_end(&s);
}

/* Flows start when the workload says, and the load arrives: an idle enough fabric carries what is offered. */
static void workloads__poisson_starts_on_time(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--matrix", "poisson:alistorage:0.3:500us", "--end", "50ms");
	for (uint32_t i = 0; i < s.result.flow_count; i++)
		assert_true(s.result.flows[i].start == s.options.lab.workload.flows[i].start_ns * 1000);
	assert_at_most((double)s.result.elapsed / 1e6, 2000);
	scenario_end(&s);
}

/* Two flows of the same two hosts, the second one while the first is under way. Returns how long the first took, ns. */
static double two_flows(const char *set, uint64_t connections)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--matrix", "repeat:2:10us:incast:1:1MiB", "--link-gbps", "100", "--set", set, "--end",
			"50ms");
	assert_int_equal(s.result.flow_count, 2);
	assert_int_equal(weft_engine_stats(lab_engine(s.lab, 1))->pdc_opened, connections);
	assert_int_equal(weft_engine_stats(lab_engine(s.lab, 0))->pdc_accepted, connections);
	assert_true(s.result.flows[1].start < s.result.flows[0].acked);
	double took = (double)(s.result.flows[0].acked - s.result.flows[0].start) / 1e3;
	scenario_end(&s);
	return took;
}

/* Flows of two hosts follow each other on one connection, or share the link on two. */
static void workloads__connection_per_flow(void **state)
{
	double one = two_flows("conn_per_flow=0", 1), two = two_flows("conn_per_flow=1", 2);
	print_message("first flow: %.0f ns on one connection, %.0f ns on two\n", one, two);
	assert_true(two > 1.5 * one);
}

/* The entropies one host's data packets had. */
struct paths {
	uint32_t pkts, changes;
	uint16_t last;
};

static void count_path(void *arg, const struct weft_event *e, const struct weft_ip *peer)
{
	struct paths *p = arg;
	if (e->kind != WEFT_EVENT_SENT && e->kind != WEFT_EVENT_SENT_AGAIN)
		return;
	p->changes += p->pkts++ && e->ev != p->last;
	p->last = e->ev;
}

/* A quarter of the flows is background, which changes its path at most so often. */
static void check_background(const char *lb, uint32_t changes_max)
{
	struct scenario s;
	struct paths paths[16] = {{0}};
	struct weft_recording recording;
	void *recorders[16];
	size_t bytes = weft_recorder_bytes(4096);
	uint32_t background = 0, most = 0;
	SCENARIO(&s, "--matrix", "crosscore:16:512KiB", "--background", "25%", "--background-lb", lb, "--lb", "ops",
		 "--end", "50ms");
	for (uint32_t i = 0; i < 16; i++) {
		recorders[i] = aligned_alloc(64, bytes);
		assert_non_null(recorders[i]);
		assert_int_equal(weft_engine_record(lab_engine(s.lab, i), recorders[i], bytes), 0);
	}
	scenario_run(&s);
	scenario_all_verified(&s);
	for (uint32_t i = 0; i < 16; i++) {
		bool is = s.options.lab.workload.flows[i].background;
		assert_int_equal(
			weft_recorder_read(recorders[i], bytes, recorders[i], &recording, count_path, &paths[i]), 0);
		assert_int_equal(recording.lost_events, 0);
		background += is;
		assert_true(paths[i].pkts >= 128);
		assert_in_range(paths[i].changes, is ? 0 : 120, is ? changes_max : 10000);
		most = is && paths[i].changes > most ? paths[i].changes : most;
	}
	assert_true(changes_max ? most >= 120 : !most);
	assert_int_equal(background, 4);
	assert_int_equal(s.summary.background, 4);
	scenario_end(&s);
	for (uint32_t i = 0; i < 16; i++)
		free(recorders[i]);
}

/* Background flows keep to one path, the others are sprayed; or all alike. */
static void workloads__background_is_ecmp(void **state)
{
	check_background("ecmp", 0);
}

static void workloads__background_by_the_same(void **state)
{
	check_background("same", 10000);
	check_background("ops", 10000);
}

enum { UPLINKS = 16, HASHED_BYTES = 256 * 1024 };

/* How many background flows take each uplink of leafspine:4:4:4 where switches forward by `route`. */
static void background_by_uplink(const char *route, uint32_t flows[UPLINKS])
{
	struct scenario s;
	struct weft_port_info info;
	uint32_t uplinks = 0;
	SCENARIO_PASSES(&s, "--matrix", "permutation:16:256KiB", "--background", "100%", "--route", route, "--end",
			"50ms");
	for (uint32_t i = 0; i < weft_net_port_count(lab_net(s.lab)); i++) {
		assert_int_equal(weft_net_port_info(lab_net(s.lab), i, &info), 0);
		if (info.tier == 0 && info.dir == WEFT_PORT_UP)
			flows[uplinks++] =
				(uint32_t)(info.counts.sent_bytes / HASHED_BYTES); /* ACKs are a few per cent */
	}
	assert_int_equal(uplinks, UPLINKS);
	scenario_end(&s);
}

/* The path of a background flow is the hash's, also where switches read digits. */
static void workloads__background_is_hashed_by_digits(void **state)
{
	uint32_t hashed[UPLINKS], digits[UPLINKS], crossing = 0;
	background_by_uplink("ecmp", hashed);
	background_by_uplink("digits", digits);
	assert_memory_equal(digits, hashed, sizeof hashed);
	for (uint32_t i = 0; i < UPLINKS; i++)
		crossing += hashed[i];
	assert_in_range(crossing, 8, 16);
}

/* A load of background beside the pattern; its flows are told apart in the result. */
static void workloads__background_as_load(void **state)
{
	struct scenario s;
	SCENARIO_PASSES(&s, "--matrix", "permutation:16:256KiB", "--background", "poisson:hadoop:0.2:100us", "--end",
			"50ms");
	assert_true(s.result.flow_count > 16);
	assert_int_equal(s.summary.background, s.result.flow_count - 16);
	for (uint32_t i = 0; i < s.result.flow_count; i++)
		assert_int_equal(s.result.flows[i].background, i >= 16);
	assert_true(s.summary.foreground_fct_us.min > 0 && s.summary.background_fct_us.min > 0);
	scenario_end(&s);
}

/* With one seed drawn as the next seed's foreground, runs with both would not be independent. */
static void workloads__background_is_of_no_other_seed(void **state)
{
	struct scenario s;
	uint32_t drawn[16], same = 0;

	SCENARIO(&s, "--matrix", "permutation:16:1kB", "--seed", "2");
	for (uint32_t i = 0; i < 16; i++)
		drawn[i] = s.options.lab.workload.flows[i].dst;
	scenario_end(&s);
	SCENARIO(&s, "--matrix", "permutation:16:1kB", "--background", "permutation:16:1kB", "--seed", "1");
	assert_int_equal(s.options.lab.workload.flow_count, 32);
	for (uint32_t i = 0; i < 16; i++)
		same += drawn[i] == s.options.lab.workload.flows[16 + i].dst;
	assert_in_range(same, 0, 8);
	scenario_end(&s);
}

static void refused(const char *background, const char *message)
{
	char *argv[] = {"sim", "--background", (char *)background, NULL};
	struct options o;
	struct weft_err err = {""};
	assert_true(options_parse(&o, 3, argv, NULL, NULL, &err) < 0);
	assert_string_equal(err.msg, message);
	options_free(&o);
}

static void workloads__background_refuses(void **state)
{
	refused("101%", "background: '101%' is neither a share (0% to 100%) nor a pattern or matrix");
	refused("-1%", "background: '-1%' is neither a share (0% to 100%) nor a pattern or matrix");
	refused("nan%", "background: 'nan%' is neither a share (0% to 100%) nor a pattern or matrix");
	refused("10", "background: '10' is neither a share (0% to 100%) nor a pattern or matrix");
	refused("permutation:17:1", "permutation:17:1 has 17 nodes, topology leafspine:4:4:4 only 16 hosts");
	refused("poisson:/no/such/file:0.5:1ms", "/no/such/file: No such file or directory");
}

/* A host that sends messages of `bytes` one behind the other to another, and nobody else does: it has the link. */
static void lone_stream(uint32_t bytes)
{
	struct scenario s;
	char path[SCENARIO_PATH_MAX];
	FILE *out = scenario_matrix(path);
	uint32_t count = (4 << 20) / bytes;
	fprintf(out, "Nodes 4\nConnections %u\n", count);
	for (uint32_t id = 1; id <= count; id++)
		fprintf(out, "2->0 id %u start 0 size %u\n", id, bytes);
	assert_int_equal(fclose(out), 0);
	SCENARIO_PASSES(&s, "--topology", "leafspine:2:2:2", "--matrix", path, "--end", "5ms");
	assert_at_most(s.summary.inflation, 1.01); /* 1.05 to 1.12 for a sender that counted as two */
	scenario_end(&s);
	unlink(path);
}

static void workloads__a_lone_sender_has_the_link(void **state)
{
	for (uint32_t bytes = 4096; bytes <= 1 << 20; bytes *= 2)
		lone_stream(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workloads__every_pattern),
		cmocka_unit_test(workloads__a_lone_sender_has_the_link),
		cmocka_unit_test(workloads__smallest_fabrics),
		cmocka_unit_test(workloads__ring_waits_for_its_input),
		cmocka_unit_test(workloads__butterfly_waits_for_both),
		cmocka_unit_test(workloads__poisson_starts_on_time),
		cmocka_unit_test(workloads__connection_per_flow),
		cmocka_unit_test(workloads__background_is_ecmp),
		cmocka_unit_test(workloads__background_by_the_same),
		cmocka_unit_test(workloads__background_is_hashed_by_digits),
		cmocka_unit_test(workloads__background_as_load),
		cmocka_unit_test(workloads__background_is_of_no_other_seed),
		cmocka_unit_test(workloads__background_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
