/* SPDX-License-Identifier: BSD-3-Clause */
#include "series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "file.h"
#include "lab_args.h"
#include "temp_dir.h"

enum { ROWS_MAX = 20000 };

/* A row of ports.csv. */
struct port_row {
	double us;
	char port[WEFT_PORT_NAME_MAX];
	uint64_t queue, tx, marked, trimmed, dropped, credits_dropped, credits_marked;
	double utilisation;
};

struct conn_row {
	double us;
	uint32_t src, dst, cwnd, cached, frozen;
	uint64_t inflight;
	double srtt_us, brtt_us;
	char ev[8];
};

struct fixture {
	char dir[32];
	struct options o;
	struct lab *lab;
	struct outputs *outputs; /* open until the run is over */
	struct weft_err err;
	struct port_row ports[ROWS_MAX];
	struct conn_row conns[ROWS_MAX];
	uint32_t port_count, conn_count;
};

static int setup(void **state)
{
	struct fixture *f = *state = calloc(1, sizeof *f);
	if (!f)
		return -1;
	strcpy(f->dir, "/tmp/weft-series-XXXXXX");
	return mkdtemp(f->dir) ? 0 : -1;
}

static void finish(struct fixture *f)
{
	outputs_close(f->outputs, false, NULL);
	f->outputs = NULL;
	assert_int_equal(lab_destroy(f->lab), 0);
	f->lab = NULL;
	options_free(&f->o);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	finish(f);
	temp_dir_remove(f->dir);
	free(f);
	return 0;
}

#define MAKE(f, ...)                                                                                                   \
	args_outputs(&(f)->o, (const char *const[]){__VA_ARGS__, NULL}, &(f)->lab, &(f)->outputs, &(f)->err)

/* To the end, with all files. */
static int run_all(struct fixture *f)
{
	int rc = outputs_run(f->outputs, f->lab, &f->err);
	f->outputs = NULL;
	return rc;
}

static void run(struct fixture *f)
{
	int rc = run_all(f);
	if (rc)
		fail_msg("%s", f->err.msg);
}

static FILE *open_file(const struct fixture *f, const char *name)
{
	char path[64], line[256];
	snprintf(path, sizeof path, "%s/%s", f->dir, name);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	return file;
}

static void load_ports(struct fixture *f)
{
	FILE *file = open_file(f, "ports.csv");
	struct port_row *r = f->ports;
	while (fscanf(file, "%lf,%31[^,],%lu,%lf,%lu,%lu,%lu,%lu,%lu,%lu\n", &r->us, r->port, &r->queue,
		      &r->utilisation, &r->tx, &r->marked, &r->trimmed, &r->dropped, &r->credits_dropped,
		      &r->credits_marked) == 10) {
		r = &f->ports[++f->port_count];
		assert_true(f->port_count < ROWS_MAX);
	}
	assert_true(feof(file));
	fclose(file);
}

static void load_conns(struct fixture *f)
{
	FILE *file = open_file(f, "conns.csv");
	char line[256];
	while (fgets(line, sizeof line, file)) {
		struct conn_row *r = &f->conns[f->conn_count++];
		assert_true(f->conn_count < ROWS_MAX);
		int n = sscanf(line, "%lf,%u,%u,%u,%lu,%lf,%lf,%u,%u,%7s", &r->us, &r->src, &r->dst, &r->cwnd,
			       &r->inflight, &r->srtt_us, &r->brtt_us, &r->cached, &r->frozen, r->ev);
		assert_in_range(n, 9, 10);
	}
	fclose(file);
}

/* One flow alone: host 1 sends to host 0 at 100 Gb/s, and both hops of its way are busy all the time. */
static void series_sample__shows_a_link_busy_with_one_flow(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(MAKE(f, "--topology", "star:2", "--link-gbps", "100", "--matrix", "incast:1:1MiB", "--out",
			      f->dir, "--series", "1us"),
			 0);
	run(f);
	load_ports(f);
	double flow_us = (double)lab_now(f->lab) / 1e6;
	uint64_t wire = lab_data_wire_bytes(&f->o.lab, f->o.lab.engine.payload_bytes), sent = 0, rows = 0;
	for (uint32_t i = 0; i < f->port_count; i++) {
		const struct port_row *r = &f->ports[i];
		bool to_0 = !strcmp(r->port, "leaf0:host0") || !strcmp(r->port, "host1");
		if (to_0 && r->us > 10 && r->us < flow_us - 10) {
			assert_true(r->utilisation > 0.9999);
			assert_true(r->tx % wire == 0);
			assert_in_range(r->tx, 12500 - wire, 12500 + wire);
			assert_int_equal(r->queue, 0);
			rows++;
		}
		if (!strcmp(r->port, "host1"))
			sent += r->tx;
		assert_true(r->utilisation >= 0 && r->utilisation <= 1);
	}
	assert_int_equal(rows, 2 * ((uint64_t)flow_us - 20));
	assert_int_equal(sent, ((1 << 20) + f->o.lab.engine.payload_bytes - 1) / f->o.lab.engine.payload_bytes * wire);
}

/* Without trimming only data waits there, and a sample every 50 ns misses less than one packet of the deepest queue. */
static void series_sample__finds_the_deepest_queue(void **state)
{
	struct fixture *f = *state;
	struct weft_net_stats stats;
	uint64_t deepest = 0, marked = 0, dropped = 0;
	assert_int_equal(MAKE(f, "--topology", "star:9", "--matrix", "incast:8:64KiB", "--no-trim", "--out", f->dir,
			      "--series", "50ns", "--series-ports", "leaf0:host0"),
			 0);
	run(f);
	load_ports(f);
	weft_net_get_stats(lab_net(f->lab), &stats);
	uint32_t wire = lab_data_wire_bytes(&f->o.lab, f->o.lab.engine.payload_bytes);
	for (uint32_t i = 0; i < f->port_count; i++) {
		const struct port_row *r = &f->ports[i];
		assert_string_equal(r->port, "leaf0:host0");
		deepest = r->queue > deepest ? r->queue : deepest;
		marked += r->marked;
		dropped += r->dropped;
	}
	assert_true(stats.max_queue_bytes > 4 * wire);
	assert_in_range(deepest, stats.max_queue_bytes - wire, stats.max_queue_bytes);
	assert_int_equal(marked, stats.marked);
	assert_int_equal(dropped, stats.dropped_data);
}

/* Of two flows into one host, what arrived adds up to their sizes, and while both do, to the host's link. */
static void series_sample__tells_what_arrived_of_each_flow(void **state)
{
	struct fixture *f = *state;
	double us, interval_us, at_20us = 0;
	uint32_t flow;
	uint64_t bytes, sum[2] = {0, 0};
	assert_int_equal(MAKE(f, "--topology", "star:3", "--link-gbps", "100", "--matrix", "incast:2:256KiB", "--out",
			      f->dir, "--series", "1us"),
			 0);
	run(f);
	FILE *file = open_file(f, "arrivals.csv");
	while (fscanf(file, "%lf,%lf,%u,%lu\n", &us, &interval_us, &flow, &bytes) == 4) {
		assert_true(flow < 2);
		assert_true(interval_us > 0 && interval_us < 1.0001);
		assert_true(bytes > 0);
		sum[flow] += bytes;
		at_20us += us > 10 && us < 20.5 ? (double)bytes : 0;
	}
	assert_true(feof(file));
	fclose(file);
	assert_int_equal(sum[0], 256 << 10);
	assert_int_equal(sum[1], 256 << 10);
	assert_true(at_20us > 0.9 * 10 * 12500 && at_20us < 10 * 12500);
}

/* A sender alone on eight paths: its credits come to be as many as its link carries, no path is given up, and the paths
 * are compared all the time. With an algorithm that schedules nothing there is no such file. */
static void series_sample__tells_what_receivers_know_of_senders(void **state)
{
	struct fixture *f = *state;
	double us;
	char path[64];
	uint32_t src, dst, rate, paths, valid, looks, slowest, least, rows = 0, most = 0, last_looks = 0, last_rate = 1;
	assert_int_equal(MAKE(f, "--topology", "leafspine:2:2:1", "--matrix", "incast:1:4MiB", "--cc", "spraypass",
			      "--set", "paths=8", "--out", f->dir, "--series", "10us"),
			 0);
	run(f);
	FILE *file = open_file(f, "credits.csv");
	while (fscanf(file, "%lf,%u,%u,%u,%u,%u,%u,%u,%u\n", &us, &src, &dst, &rate, &paths, &valid, &looks, &slowest,
		      &least) == 9) {
		assert_int_equal(src, 1);
		assert_int_equal(dst, 0);
		assert_int_equal(paths, 8);
		assert_int_equal(valid, 8);
		assert_true(looks >= last_looks && least <= slowest && slowest <= 1000);
		last_looks = looks;
		last_rate = rate;
		most = rate > most ? rate : most;
		rows++;
	}
	assert_true(feof(file));
	fclose(file);
	assert_true(rows > 5 && last_looks > 5);
	assert_in_range(most, 950, 1000); /* the highest, beyond which no loss is tolerated */
	assert_int_equal(last_rate, 0);
	finish(f);
	assert_int_equal(MAKE(f, "--topology", "star:2", "--matrix", "incast:1:64KiB", "--cc", "eqds", "--out", f->dir,
			      "--series", "1us"),
			 0);
	snprintf(path, sizeof path, "%s/credits.csv", f->dir);
	unlink(path);
	run(f);
	assert_int_equal(access(path, F_OK), -1);
}

/* The intervals of a port add up to what links.csv says of it, and shares of a switch's uplinks to one. */
static void series_close__agrees_with_the_samples(void **state)
{
	struct fixture *f = *state;
	char port[32];
	double gbps, share, utilisation, paused_us, shares = 0;
	uint64_t pkts, bytes;
	uint32_t links = 0;
	assert_int_equal(MAKE(f, "--topology", "leafspine:2:2:4", "--matrix", "permutation:8:128KiB", "--out", f->dir,
			      "--series", "1us"),
			 0);
	run(f);
	load_ports(f);
	FILE *file = open_file(f, "links.csv");
	while (fscanf(file, "%31[^,],%lf,%lu,%lu,%lf,%lf,%lf\n", port, &gbps, &pkts, &bytes, &share, &utilisation,
		      &paused_us) == 7) {
		uint64_t sum = 0;
		assert_true(paused_us == 0);
		for (uint32_t i = 0; i < f->port_count; i++)
			sum += strcmp(f->ports[i].port, port) ? 0 : f->ports[i].tx;
		assert_int_equal(sum, bytes);
		assert_true(gbps == 50);
		double expect = (double)bytes * 8 / 50e9 / ((double)lab_now(f->lab) / 1e12);
		assert_true(utilisation > expect - 0.0001 && utilisation < expect + 0.0001);
		shares += strncmp(port, "leaf0:up", 8) ? 0 : share;
		links++;
	}
	fclose(file);
	assert_int_equal(links, 8 + 8 + 4 + 4);
	assert_true(shares > 0.9998 && shares < 1.0002);
}

/* A link that slows down at the end was not busy all the time before. */
static void series_close__tells_use_at_the_rates_of_the_time(void **state)
{
	struct fixture *f = *state;
	char port[32];
	double utilisation, up = -1;
	assert_int_equal(MAKE(f, "--topology", "leafspine:2:4:1", "--matrix", "permutation:2:1MiB", "--lb", "ops",
			      "--out", f->dir, "--fault", "150us degrade uplink:leaf:0:0 1%"),
			 0);
	run(f);
	FILE *file = open_file(f, "links.csv");
	while (fscanf(file, "%31[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lf,%*f\n", port, &utilisation) == 2)
		up = strcmp(port, "leaf0:up0") ? up : utilisation;
	fclose(file);
	assert_true(up > 0 && up < 0.6);
}

/* Seven senders, one sink: the others' NICs are paused, its own is not, and all of it is in the result. */
static void series_close__tells_who_was_paused(void **state)
{
	struct fixture *f = *state;
	char port[32];
	double paused_us, sum_us = 0;
	uint32_t nics = 0;
	struct weft_net_stats stats;
	assert_int_equal(MAKE(f, "--topology", "star:8", "--matrix", "incast:7:1MiB", "--out", f->dir, "--cc", "fixed",
			      "--no-trim", "--set", "pfc=1", "--set", "cwnd_pct=1000"),
			 0);
	run(f);
	weft_net_get_stats(lab_net(f->lab), &stats);
	FILE *file = open_file(f, "links.csv");
	while (fscanf(file, "%31[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lf\n", port, &paused_us) == 2) {
		nics += !strncmp(port, "host", 4) && paused_us > 0;
		sum_us += paused_us;
	}
	fclose(file);
	assert_int_equal(nics, 7);
	assert_true(sum_us > (double)stats.paused_ns / 1e3 - 1 && sum_us < (double)stats.paused_ns / 1e3 + 1);
}

struct outcome {
	uint64_t digest, events;
	weft_ps end;
};

static struct outcome outcome_of(struct fixture *f)
{
	struct weft_net_stats stats;
	weft_net_get_stats(lab_net(f->lab), &stats);
	struct outcome o = {stats.digest, stats.events, lab_now(f->lab)};
	finish(f);
	return o;
}

static void assert_same(struct outcome a, struct outcome b)
{
	assert_int_equal(a.digest, b.digest);
	assert_int_equal(a.events, b.events);
	assert_int_equal(a.end, b.end);
}

static void series_sample__leaves_the_run_alone(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(MAKE(f, "--matrix", "incast:15:64KiB"), 0);
	run(f);
	struct outcome bare = outcome_of(f);
	assert_int_equal(MAKE(f, "--matrix", "incast:15:64KiB", "--out", f->dir, "--series", "700ns"), 0);
	run(f);
	assert_same(outcome_of(f), bare);
}

/* ... also one that does not come to its end. */
static void series_sample__does_not_prolong_a_run(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(MAKE(f, "--matrix", "incast:15:1MiB", "--end", "100us"), 0);
	assert_int_equal(run_all(f), -ETIMEDOUT);
	struct outcome bare = outcome_of(f);
	assert_int_equal(MAKE(f, "--matrix", "incast:15:1MiB", "--end", "100us", "--out", f->dir, "--series", "1us"),
			 0);
	assert_int_equal(run_all(f), -ETIMEDOUT);
	assert_same(outcome_of(f), bare);
}

/* Samples of host 0's link each microsecond, of flows from 0 to 1 as a matrix file has them. */
static void sample_flows(struct fixture *f, uint32_t count, const char *flows)
{
	char path[64];
	snprintf(path, sizeof path, "%s/flows.cm", f->dir);
	FILE *file = file_create(path, NULL);
	assert_non_null(file);
	fprintf(file, "Nodes 2\nConnections %u\n%s", count, flows);
	assert_int_equal(file_finish(file, path, NULL), 0);
	assert_int_equal(MAKE(f, "--topology", "star:2", "--matrix", path, "--out", f->dir, "--series", "1us",
			      "--series-ports", "host0"),
			 0);
	run(f);
	load_ports(f);
}

/* A second flow starts after 80 ms: the pause costs no rows but those at its ends, and a row after a pause says what
 * held until then. */
static void series_sample__leaves_pauses_out(void **state)
{
	struct fixture *f = *state;
	uint32_t pauses = 0;
	sample_flows(f, 2, "0->1 id 1 start 0 size 100000\n0->1 id 2 start 80000 size 100000\n");
	load_conns(f);
	assert_in_range(f->port_count, 30, 100);
	assert_in_range(f->conn_count, 30, 200);
	for (uint32_t i = 1; i < f->port_count; i++) {
		const struct port_row *r = &f->ports[i], *was = r - 1;
		assert_true(r->us > was->us);
		if (r->us - was->us > 1.5) {
			assert_int_equal(was->tx + was->queue, 0);
			assert_int_equal(r->tx + r->queue, 0);
			pauses++;
		}
	}
	assert_in_range(pauses, 1, 3);
}

/* A packet in every other sample: each sample has one row. */
static void series_sample__has_one_row_after_a_short_pause(void **state)
{
	struct fixture *f = *state;
	char flows[512];
	int len = 0;
	uint32_t idle = 0;
	for (uint32_t i = 0; i < 10; i++)
		len += snprintf(flows + len, sizeof flows - (size_t)len, "0->1 id %u start %u size 1000\n", i + 1,
				2 * i);
	assert_true(len < (int)sizeof flows);
	sample_flows(f, 10, flows);
	for (uint32_t i = 1; i < f->port_count; i++) {
		assert_true(f->ports[i].us > f->ports[i - 1].us);
		idle += f->ports[i].tx == 0 && f->ports[i].us - f->ports[i - 1].us < 1.5;
	}
	assert_true(idle >= 5);
}

static void series_sample__shows_connections(void **state)
{
	struct fixture *f = *state;
	bool marked_down = false, in_flight[4] = {false};
	assert_int_equal(
		MAKE(f, "--topology", "star:4", "--matrix", "incast:3:256KiB", "--out", f->dir, "--series", "1us"), 0);
	run(f);
	load_conns(f);
	assert_true(f->conn_count > 100);
	for (uint32_t i = 0; i < f->conn_count; i++) {
		const struct conn_row *r = &f->conns[i];
		assert_in_range(r->src, 1, 3);
		assert_int_equal(r->dst, 0);
		assert_true((r->inflight > 0) == (r->ev[0] != '\0'));
		assert_true(r->brtt_us > 4 && r->brtt_us < 10);
		in_flight[r->src] |= r->inflight > 0 && r->srtt_us >= r->brtt_us;
		marked_down |= r->cwnd < f->conns[0].cwnd;
	}
	assert_true(in_flight[1] && in_flight[2] && in_flight[3] && marked_down);
}

/* Flows in the background have connections of their own, of which nothing is told. */
static void series_sample__leaves_background_out(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(MAKE(f, "--topology", "leafspine:2:2:4", "--matrix", "permutation:8:64KiB", "--background",
			      "100%", "--out", f->dir, "--series", "1us"),
			 0);
	run(f);
	load_ports(f);
	load_conns(f);
	assert_true(f->port_count > 100);
	assert_int_equal(f->conn_count, 0);
}

static void series_open__refuses(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(MAKE(f, "--series", "1us"), -EINVAL);
	assert_non_null(strstr(f->err.msg, "--out"));
	finish(f);
	assert_int_equal(MAKE(f, "--series", "1us", "--out", f->dir, "--series-ports", "spine9:*"), -EINVAL);
	assert_non_null(strstr(f->err.msg, "spine9:*"));
	finish(f);
	assert_true(MAKE(f, "--series", "1us", "--out", "/proc/nowhere") < 0);
	assert_non_null(strstr(f->err.msg, "/proc/nowhere"));
}

/* The run ends as soon as the buffer goes out and there is no room for it. */
static void series_sample__reports_a_full_disk(void **state)
{
	struct fixture *f = *state;
	char path[64];
	snprintf(path, sizeof path, "%s/ports.csv", f->dir);
	assert_int_equal(symlink("/dev/full", path), 0);
	assert_int_equal(MAKE(f, "--matrix", "incast:15:1MiB", "--out", f->dir, "--series", "20ns"), 0);
	assert_int_equal(run_all(f), -EIO);
	assert_non_null(strstr(f->err.msg, path));
	assert_true(lab_now(f->lab) < 1000 * WEFT_US(2000));
}

static void series_close__reports_a_full_disk(void **state)
{
	struct fixture *f = *state;
	char path[64];
	snprintf(path, sizeof path, "%s/links.csv", f->dir);
	assert_int_equal(symlink("/dev/full", path), 0);
	assert_int_equal(MAKE(f, "--matrix", "incast:15:4KiB", "--out", f->dir), 0);
	assert_int_equal(run_all(f), -EIO);
	assert_non_null(strstr(f->err.msg, path));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(series_open__refuses),
		TEST(series_sample__shows_a_link_busy_with_one_flow),
		TEST(series_sample__tells_what_arrived_of_each_flow),
		TEST(series_sample__tells_what_receivers_know_of_senders),
		TEST(series_sample__finds_the_deepest_queue),
		TEST(series_sample__shows_connections),
		TEST(series_sample__leaves_background_out),
		TEST(series_close__tells_use_at_the_rates_of_the_time),
		TEST(series_close__tells_who_was_paused),
		TEST(series_sample__leaves_the_run_alone),
		TEST(series_sample__does_not_prolong_a_run),
		TEST(series_sample__leaves_pauses_out),
		TEST(series_sample__has_one_row_after_a_short_pause),
		TEST(series_sample__reports_a_full_disk),
		TEST(series_close__agrees_with_the_samples),
		TEST(series_close__reports_a_full_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
