/* SPDX-License-Identifier: BSD-3-Clause */
#include "result.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "file.h"

#define US(n) ((weft_ps)(n)*1000000u)

/* Three flows: two equal ones from the start, one later, slower and without its last receipt. */
static const struct run_flow three[] = {
	{.bytes = 100000, .start = 0, .acked = US(10), .delivered = US(8), .verified = true},
	{.bytes = 100000, .start = 0, .acked = US(10), .delivered = US(9), .verified = true},
	{.bytes = 100000, .start = US(10), .acked = US(50), .delivered = US(45)},
};

static struct run_result result_of(const struct run_flow *flows, uint32_t count)
{
	return (struct run_result){.mode = "sim",
				   .cc = "smartt",
				   .lb = "reps",
				   .seed = 3,
				   .flows = flows,
				   .flow_count = count,
				   .ideal = US(40),
				   .elapsed = US(50),
				   .digest = 0xabc};
}

static void summarise__by_hand(void **state)
{
	struct run_result r = result_of(three, 3);
	struct run_summary s;
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_int_equal(s.completed, 3);
	assert_int_equal(s.verified, 2);
	assert_int_equal(s.failed, 0);
	assert_float_equal(s.fct_us.min, 10, 1e-9);
	assert_float_equal(s.fct_us.mean, 20, 1e-9);
	assert_float_equal(s.fct_us.p50, 10, 1e-9);
	assert_float_equal(s.fct_us.p99, 40, 1e-9);
	assert_float_equal(s.fct_us.max, 40, 1e-9);
	assert_float_equal(s.delivered_us.max, 35, 1e-9);
	assert_float_equal(s.makespan_us, 50, 1e-9);
	assert_float_equal(s.inflation, 50.0 / 40, 1e-9);
	assert_float_equal(s.goodput_gbps, 300000 * 8 / 50e3, 1e-9);
	/* rates 4:4:1 */
	assert_float_equal(s.jain, 81.0 / (3 * 33), 1e-9);
}

static void summarise__percentiles_by_nearest_rank(void **state)
{
	struct run_flow flows[200];
	struct run_summary s;
	for (unsigned i = 0; i < 200; i++)
		flows[i] = (struct run_flow){.bytes = 1, .acked = US(200 - i), .delivered = US(1)};
	struct run_result r = result_of(flows, 200);
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_float_equal(s.fct_us.p50, 100, 1e-9);
	assert_float_equal(s.fct_us.p99, 198, 1e-9);
	assert_float_equal(s.fct_us.max, 200, 1e-9);
}

/* Of completed flows with a known ideal only: 2 and 8 here. */
static void summarise__slowdown_is_each_flows_own(void **state)
{
	struct run_flow flows[] = {
		{.bytes = 1, .start = US(5), .acked = US(15), .delivered = US(14), .ideal = US(5)},
		{.bytes = 1, .start = US(100), .acked = US(108), .delivered = US(107), .ideal = US(1)},
		{.bytes = 1, .start = 0, .acked = US(50), .delivered = US(50)},
		{.bytes = 1, .start = 0, .acked = WEFT_NEVER, .delivered = WEFT_NEVER, .ideal = US(1)},
	};
	struct run_result r = result_of(flows, 4);
	struct run_summary s;
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_float_equal(s.slowdown.min, 2, 1e-9);
	assert_float_equal(s.slowdown.mean, 5, 1e-9);
	assert_float_equal(s.slowdown.p50, 2, 1e-9);
	assert_float_equal(s.slowdown.p99, 8, 1e-9);
	char name[] = "/tmp/weft-json-XXXXXX";
	struct run_record rec;
	close(mkstemp(name));
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	assert_int_equal(result_read_json(name, &rec, NULL), 0);
	assert_float_equal(rec.summary.slowdown.max, 8, 1e-9);
	unlink(name);
}

static void summarise__incomplete_has_no_inflation(void **state)
{
	struct run_flow flows[] = {
		three[0],
		{.bytes = 5, .start = 0, .acked = WEFT_NEVER, .delivered = WEFT_NEVER, .err = ETIMEDOUT},
		{.bytes = 5, .start = WEFT_NEVER, .acked = WEFT_NEVER, .delivered = WEFT_NEVER},
	};
	struct run_result r = result_of(flows, 3);
	struct run_summary s;
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_int_equal(s.completed, 1);
	assert_int_equal(s.failed, 1);
	assert_float_equal(s.inflation, 0, 0);
	assert_float_equal(s.jain, 1, 1e-9);
}

static void summarise__nothing_completed(void **state)
{
	struct run_result r = result_of(NULL, 0);
	struct run_summary s;
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_float_equal(s.fct_us.max, 0, 0);
	assert_float_equal(s.goodput_gbps, 0, 0);
}

static void set_fabric__mean_queue(void **state)
{
	struct run_result r = result_of(three, 3);
	struct weft_net_stats net = {.dropped_data = 1,
				     .dropped_control = 2,
				     .dropped_down = 4,
				     .dropped_route = 8,
				     .dropped_error = 16,
				     .ports = 10,
				     .queue_byte_ps = 5000,
				     .max_queue_bytes = 77,
				     .pauses = 3,
				     .paused_ns = 4500};
	result_set_fabric(&r, &net, 1000 << 10);
	assert_int_equal(r.packets.dropped, 31);
	assert_int_equal(r.drops.error, 16);
	assert_int_equal(r.queue_max_bytes, 77);
	assert_int_equal(r.pauses, 3);
	assert_float_equal(r.paused_us, 4.5, 1e-9);
	assert_float_equal(r.queue_mean_bytes, 5000.0 * 1024 / 1000 / 10, 1e-6);
}

static void set_fabric__by_hop(void **state)
{
	struct run_result r = result_of(three, 3);
	struct run_record rec;
	struct weft_net_stats net = {.ports = 1};
	char name[] = "/tmp/weft-json-XXXXXX";
	net.at[0][WEFT_PORT_UP] = (struct weft_hop_stats){10, 50000000, 9000000, 3, 4};
	net.at[1][WEFT_PORT_DOWN] = (struct weft_hop_stats){.data = 1, .wait_ps = 2000000, .wait_max_ps = 2000000};
	result_set_fabric(&r, &net, 1000);
	r.spread[SPREAD_DOWN] = r.spread[SPREAD_UP] = (struct spread_result){7, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5};
	assert_float_equal(r.hops[0][WEFT_PORT_UP].wait_mean_us, 5, 1e-9);
	assert_float_equal(r.hops[0][WEFT_PORT_UP].wait_max_us, 9, 1e-9);
	close(mkstemp(name));
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	assert_int_equal(result_read_json(name, &rec, NULL), 0);
	assert_memory_equal(rec.result.hops, r.hops, sizeof r.hops);
	assert_memory_equal(rec.result.spread, r.spread, sizeof r.spread);
	assert_true(rec.result.fabric);
	unlink(name);
}

static void add_engine__sums(void **state)
{
	struct run_packets p = {.data = 1};
	struct weft_stats stats = {.tx_data = 10, .tx_retx = 2, .tx_ack = 9, .tx_nack = 3, .timeouts = 4};
	result_add_engine(&p, &stats);
	result_add_engine(&p, &stats);
	assert_int_equal(p.data, 21);
	assert_int_equal(p.retransmitted, 4);
	assert_int_equal(p.acks, 18);
	assert_int_equal(p.nacks, 6);
	assert_int_equal(p.timeouts, 8);
}

static double number(json_t *json, const char *object, const char *key)
{
	json_t *in = object ? json_object_get(json, object) : json;
	json_t *value = json_object_get(in, key);
	assert_true(json_is_number(value));
	return json_number_value(value);
}

/* A fabric that is known says why it dropped packets; real time does not claim to. */
static void write_json__drops(void **state)
{
	char name[] = "/tmp/weft-json-XXXXXX";
	close(mkstemp(name));
	struct run_result r = result_of(three, 3);
	struct weft_net_stats net = {
		.dropped_data = 1,
		.dropped_control = 2,
		.dropped_down = 4,
		.dropped_route = 8,
		.dropped_error = 16,
		.credits = {.injected = 100, .sent = 60, .dropped = 39, .marked = 20, .waiting = 1},
		.pauses = 32,
		.paused_ns = 64000};
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	json_t *json = json_load_file(name, 0, NULL);
	assert_null(json_object_get(json, "drops"));
	assert_null(json_object_get(json, "credit_queues"));
	assert_null(json_object_get(json, "warning"));
	json_decref(json);
	result_set_fabric(&r, &net, 1);
	r.warning = "no credit queues";
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	json = json_load_file(name, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(json, "warning")), "no credit queues");
	assert_float_equal(number(json, "credit_queues", "injected"), 100, 0);
	assert_float_equal(number(json, "credit_queues", "sent"), 60, 0);
	assert_float_equal(number(json, "credit_queues", "dropped"), 39, 0);
	assert_float_equal(number(json, "credit_queues", "marked"), 20, 0);
	assert_float_equal(number(json, "drops", "data"), 1, 0);
	assert_float_equal(number(json, "drops", "control"), 2, 0);
	assert_float_equal(number(json, "drops", "down"), 4, 0);
	assert_float_equal(number(json, "drops", "route"), 8, 0);
	assert_float_equal(number(json, "queues", "pauses"), 32, 0);
	assert_float_equal(number(json, "queues", "paused_us"), 64, 0);
	assert_float_equal(number(json, "drops", "error"), 16, 0);
	json_decref(json);
	unlink(name);
}

static void write_json__has_the_schema(void **state)
{
	char name[] = "/tmp/weft-json-XXXXXX";
	close(mkstemp(name));
	struct run_result r = result_of(three, 3);
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	json_t *json = json_load_file(name, 0, NULL);
	assert_non_null(json);
	assert_string_equal(json_string_value(json_object_get(json, "schema")), "weft.run/1");
	assert_string_equal(json_string_value(json_object_get(json, "mode")), "sim");
	assert_float_equal(number(json, NULL, "seed"), 3, 0);
	assert_float_equal(number(json, "flows", "count"), 3, 0);
	assert_float_equal(number(json, "flows", "verified"), 2, 0);
	assert_float_equal(number(json, "fct_us", "p99"), 40, 1e-9);
	assert_float_equal(number(json, "delivered_us", "min"), 8, 1e-9);
	assert_float_equal(number(json, NULL, "inflation"), 1.25, 1e-9);
	assert_float_equal(number(json, "packets", "credits"), 0, 0);
	assert_float_equal(number(json, "queues", "mean_bytes"), 0, 0);
	assert_float_equal(number(json, "run", "virtual_us"), 50, 1e-9);
	assert_string_equal(json_string_value(json_object_get(json_object_get(json, "run"), "digest")),
			    "0000000000000abc");
	json_decref(json);
	unlink(name);
}

/* Background flows are counted with all, and told apart; without any, nothing is said of them. */
static void write_json__background(void **state)
{
	char name[] = "/tmp/weft-json-XXXXXX";
	struct run_flow flows[] = {{.bytes = 1000, .acked = 10000000, .delivered = 8000000},
				   {.bytes = 1000, .acked = 30000000, .delivered = 8000000},
				   {.bytes = 1000, .acked = 70000000, .delivered = 8000000, .background = true}};
	struct run_result r = {.mode = "sim", .cc = "c", .lb = "l", .flows = flows, .flow_count = 3};
	close(mkstemp(name));
	for (int with = 1; with >= 0; with--) {
		flows[2].background = with;
		assert_int_equal(result_write_json(&r, name, NULL), 0);
		json_t *json = json_load_file(name, 0, NULL);
		assert_float_equal(number(json, "fct_us", "max"), 70, 1e-9);
		assert_int_equal(json_object_get(json, "background") != NULL, with);
		if (with) {
			assert_float_equal(number(json, NULL, "background"), 1, 0);
			assert_float_equal(number(json, "foreground_fct_us", "mean"), 20, 1e-9);
			assert_float_equal(number(json, "background_fct_us", "mean"), 70, 1e-9);
		}
		json_decref(json);
	}
	unlink(name);
}

static void write_json__names_the_file_it_could_not_write(void **state)
{
	struct run_result r = result_of(three, 3);
	struct weft_err err = {""};
	assert_int_not_equal(result_write_json(&r, "/nonexistent/r.json", &err), 0);
	assert_non_null(strstr(err.msg, "/nonexistent/r.json"));
}

static void print__is_readable(void **state)
{
	struct run_result r = result_of(three, 3);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	assert_int_equal(result_print(&r, f, NULL), 0);
	fclose(f);
	assert_non_null(strstr(text, "3 completed, 2 verified"));
	assert_non_null(strstr(text, "p99 40.0"));
	assert_non_null(strstr(text, "0000000000000abc"));
	free(text);
}

/* All a run's JSON can say of where it comes from. */
static struct run_origin origin_of(const struct run_option *given, uint32_t count)
{
	static const char *const axes[] = {"link-gbps", "lb"}, *const values[] = {"2.5", "reps"};
	return (struct run_origin){.given = given,
				   .given_count = count,
				   .scenario = "a title",
				   .label = "one link-gbps=2.5",
				   .case_name = "one",
				   .identity = "0123456789abcdef-0123456789abcdef",
				   .axes = axes,
				   .values = values,
				   .axis_count = 2,
				   .error = "flow 2 (0->1): not delivered correctly"};
}

static json_t *load(const char *dir, const char *name)
{
	char path[FILE_PATH_MAX];
	assert_int_equal(file_path(path, dir, name, NULL), 0);
	json_t *json = json_load_file(path, 0, NULL);
	assert_non_null(json);
	return json;
}

static void write_dir__origin_and_options(void **state)
{
	static const struct run_option given[] = {
		{"seed", "3"},     {"no-trim", NULL}, {"set", "ack_every=2"},          {"fault", "1us fail host:1"},
		{"set", "trim=0"}, {"out", "x"},      {"fault", "2us restore host:1"},
	};
	char dir[] = "/tmp/weft-run-XXXXXX";
	struct weft_flow flows[3] = {{.src = 0, .dst = 1}, {.src = 2, .dst = 1}, {.src = 0, .dst = 1}};
	struct weft_workload w = {.flows = flows, .flow_count = 3};
	struct run_origin origin = origin_of(given, 7);
	struct run_result r = result_of(three, 3);
	r.origin = &origin;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(result_write_dir(&r, &w, dir, NULL), 0);
	json_t *json = load(dir, "run.json");
	const char *label, *name;
	int seed, trimmed, ack_every;
	double gbps;
	json_t *faults;
	assert_int_equal(json_unpack(json, "{s:s, s:s, s:{s:f}, s:{s:i, s:b, s:{s:i}, s:o}}", "label", &label, "case",
				     &name, "values", "link-gbps", &gbps, "options", "seed", &seed, "no-trim", &trimmed,
				     "set", "ack_every", &ack_every, "faults", &faults),
			 0);
	assert_string_equal(label, "one link-gbps=2.5");
	assert_string_equal(name, "one");
	assert_float_equal(gbps, 2.5, 0);
	assert_int_equal(seed, 3);
	assert_int_equal(trimmed, 1);
	assert_int_equal(ack_every, 2);
	assert_int_equal(json_array_size(faults), 2);
	assert_null(json_object_get(json_object_get(json, "options"), "out"));
	json_decref(json);
	assert_int_equal(file_remove_tree(dir, NULL), 0);
}

/* A file's name can hold any bytes; the result is not lost for it. */
static void write_dir__text_that_is_no_utf8(void **state)
{
	static const struct run_option given[] = {{"matrix", "y\xff.cm"}, {"fault", "\xc3"}};
	char dir[] = "/tmp/weft-run-XXXXXX";
	struct weft_flow flows[3] = {{.dst = 1}, {.dst = 1}, {.dst = 1}};
	struct weft_workload w = {.flows = flows, .flow_count = 3};
	struct run_origin origin = origin_of(given, 2);
	struct run_result r = result_of(three, 3);
	origin.label = "\xc3\xbc cut \xc3";
	r.origin = &origin;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(result_write_dir(&r, &w, dir, NULL), 0);
	json_t *json = load(dir, "run.json");
	const char *label, *matrix, *fault;
	assert_int_equal(json_unpack(json, "{s:s, s:{s:s, s:[s]}}", "label", &label, "options", "matrix", &matrix,
				     "faults", &fault),
			 0);
	assert_string_equal(label, "?? cut ?");
	assert_string_equal(matrix, "y?.cm");
	assert_string_equal(fault, "?");
	json_decref(json);
	assert_int_equal(file_remove_tree(dir, NULL), 0);
}

static void write_dir__a_line_per_flow(void **state)
{
	char dir[] = "/tmp/weft-run-XXXXXX", path[FILE_PATH_MAX];
	struct run_flow flows[] = {
		{.bytes = 1000,
		 .start = US(1),
		 .acked = US(10),
		 .delivered = US(8),
		 .ideal = US(7),
		 .verified = true,
		 .order = {.reordered = 4, .dup_acks = 3, .reorder_dup_acks = 2, .ooo_max = 1}},
		{.bytes = 2000, .start = WEFT_NEVER, .acked = WEFT_NEVER, .delivered = WEFT_NEVER, .ideal = US(2)},
		{.bytes = 3000, .start = 0, .acked = WEFT_NEVER, .delivered = US(3), .background = true},
	};
	struct weft_flow ends[3] = {{.src = 0, .dst = 1}, {.src = 2, .dst = 3}, {.src = 4, .dst = 5}};
	struct weft_workload w = {.flows = ends, .flow_count = 3};
	struct run_result r = result_of(flows, 3);
	size_t len;
	int rc = 0;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(result_write_dir(&r, &w, dir, NULL), 0);
	assert_int_equal(file_path(path, dir, "flows.csv", NULL), 0);
	char *text = file_read(path, &len, &rc, NULL);
	assert_string_equal(text, "flow,src,dst,bytes,start_us,fct_us,delivered_us,ideal_us,verified,background,"
				  "reordered,dup_acks,reorder_dup_acks,ooo_max\n"
				  "0,0,1,1000,1.000000,9.000000,7.000000,7.000000,1,0,4,3,2,1\n"
				  "1,2,3,2000,,,,2.000000,0,0,0,0,0,0\n"
				  "2,4,5,3000,0.000000,,3.000000,,0,1,0,0,0,0\n");
	free(text);
	assert_int_equal(file_remove_tree(dir, NULL), 0);
}

static void read_json__is_what_was_written(void **state)
{
	char dir[] = "/tmp/weft-run-XXXXXX", path[FILE_PATH_MAX];
	struct run_origin origin = origin_of(NULL, 0);
	struct run_result r = result_of(three, 3);
	struct run_summary s;
	struct run_record rec;
	r.origin = &origin;
	r.packets = (struct run_packets){1, 2, 3, 4, 5, 6, 7, 8, 9};
	r.queue_max_bytes = 77;
	r.fabric = true;
	r.drops = (struct run_drops){1, 2, 3, 4, 5};
	assert_int_equal(result_summarise(&r, &s), 0);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(file_path(path, dir, "run.json", NULL), 0);
	assert_int_equal(result_read_json(path, &rec, NULL), -ENOENT);
	assert_int_equal(result_write_json(&r, path, NULL), 0);
	assert_int_equal(result_read_json(path, &rec, NULL), 0);
	assert_string_equal(rec.cc, "smartt");
	assert_string_equal(rec.lb, "reps");
	assert_string_equal(rec.identity, origin.identity);
	assert_string_equal(rec.error, origin.error);
	assert_int_equal(rec.result.seed, 3);
	assert_int_equal(rec.result.flow_count, 3);
	assert_true(rec.result.digest == 0xabc);
	assert_memory_equal(&rec.result.packets, &r.packets, sizeof r.packets);
	assert_memory_equal(&rec.result.drops, &r.drops, sizeof r.drops);
	assert_int_equal(rec.result.queue_max_bytes, 77);
	assert_float_equal(rec.summary.fct_us.max, s.fct_us.max, 1e-6);
	assert_float_equal(rec.summary.makespan_us, s.makespan_us, 1e-6);
	assert_float_equal(rec.summary.goodput_gbps, s.goodput_gbps, 1e-6);
	assert_int_equal(rec.summary.verified, 2);
	assert_int_equal(rec.summary.failed, 1);
	assert_int_equal(file_remove_tree(dir, NULL), 0);
}

static void set_reordering__shares_of_flows(void **state)
{
	struct run_flow flows[] = {
		{.bytes = 1, .acked = US(1), .delivered = US(1), .order = {.dup_acks = 1, .ooo_max = 9}},
		{.bytes = 1,
		 .acked = US(1),
		 .delivered = US(1),
		 .order = {.dup_acks = 3, .reorder_dup_acks = 3, .ooo_max = 2}},
		{.bytes = 1, .acked = US(1), .delivered = US(1), .order = {.dup_acks = 7, .reorder_dup_acks = 1}},
		{.bytes = 1, .acked = US(1), .delivered = US(1)},
	};
	struct reorder_sum sum = {.packets = 1000,
				  .reordered = 20,
				  .beyond = 31,
				  .extents = {[2] = 20},
				  .extent_max = 2,
				  .waiting = 30,
				  .waits = {[4] = 30},
				  .wait_max = 4};
	struct run_result r = result_of(flows, 4);
	struct run_record rec;
	char name[] = "/tmp/weft-json-XXXXXX";
	result_set_reordering(&r, &sum);
	assert_true(r.order.known);
	assert_int_equal(r.order.extent_p50, 0);
	assert_int_equal(r.order.extent_p99, 2);
	assert_int_equal(r.order.ooo_max, 9);
	assert_int_equal(r.order.dup_acks_max, 7);
	assert_float_equal(r.order.dup_ack_flows, 0.75, 1e-9);
	assert_float_equal(r.order.dup_ack3_flows, 0.5, 1e-9);
	assert_float_equal(r.order.reorder_ack_flows, 0.5, 1e-9);
	assert_float_equal(r.order.reorder_ack3_flows, 0.25, 1e-9);
	close(mkstemp(name));
	assert_int_equal(result_write_json(&r, name, NULL), 0);
	assert_int_equal(result_read_json(name, &rec, NULL), 0);
	assert_true(rec.result.order.known);
	assert_int_equal(rec.result.order.packets, 1000);
	assert_int_equal(rec.result.order.reordered, 20);
	assert_int_equal(rec.result.order.beyond, 31);
	assert_int_equal(rec.result.order.extent_max, 2);
	assert_int_equal(rec.result.order.ooo_max, 9);
	assert_int_equal(rec.result.order.ooo_p50, 0);
	assert_int_equal(rec.result.order.ooo_p99, 4);
	assert_int_equal(rec.result.order.dup_acks_max, 7);
	assert_float_equal(rec.result.order.dup_ack3_flows, 0.5, 1e-9);
	assert_float_equal(rec.result.order.reorder_ack3_flows, 0.25, 1e-9);
	unlink(name);
}

static void read_json__refuses_other_files(void **state)
{
	static const char *const others[] = {"",      "[]", "{}", "{\"schema\": 3}", "{\"schema\": \"weft.sweep/1\"}",
					     "{\"sch"};
	char dir[] = "/tmp/weft-run-XXXXXX", path[FILE_PATH_MAX];
	struct run_record rec;
	struct weft_err err = {""};
	assert_non_null(mkdtemp(dir));
	assert_int_equal(file_path(path, dir, "run.json", NULL), 0);
	for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
		FILE *f = fopen(path, "w");
		fputs(others[i], f);
		fclose(f);
		assert_int_equal(result_read_json(path, &rec, &err), -EINVAL);
		assert_non_null(strstr(err.msg, path));
	}
	assert_int_equal(file_remove_tree(dir, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_dir__origin_and_options),
		cmocka_unit_test(write_dir__text_that_is_no_utf8),
		cmocka_unit_test(write_dir__a_line_per_flow),
		cmocka_unit_test(read_json__is_what_was_written),
		cmocka_unit_test(set_reordering__shares_of_flows),
		cmocka_unit_test(read_json__refuses_other_files),
		cmocka_unit_test(summarise__by_hand),
		cmocka_unit_test(summarise__percentiles_by_nearest_rank),
		cmocka_unit_test(summarise__slowdown_is_each_flows_own),
		cmocka_unit_test(summarise__incomplete_has_no_inflation),
		cmocka_unit_test(summarise__nothing_completed),
		cmocka_unit_test(set_fabric__mean_queue),
		cmocka_unit_test(set_fabric__by_hop),
		cmocka_unit_test(add_engine__sums),
		cmocka_unit_test(write_json__drops),
		cmocka_unit_test(write_json__has_the_schema),
		cmocka_unit_test(write_json__background),
		cmocka_unit_test(write_json__names_the_file_it_could_not_write),
		cmocka_unit_test(print__is_readable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
