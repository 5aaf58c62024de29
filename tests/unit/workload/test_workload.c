/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "text_file.h"

static const char good[] = "Nodes 4\n"                                         /* 1 */
			   "Connections 3\n"                                   /* 2 */
			   "Triggers 2\n"                                      /* 3 */
			   "Failures 0\n"                                      /* 4 */
			   "0->1 id 7 start 5 size 100 send_done_trigger 20\n" /* 5 */
			   "1->2 id 8 trigger 20 size 200 prio 3 msg 4 msg\n"  /* 6 */
			   "3->2 start 0 size 1 recv_done_trigger 10\n"        /* 7 */
			   "trigger id 20 oneshot\n"                           /* 8 */
			   "trigger id 10 barrier count 2\n";                  /* 9 */

static void weft_workload_parse__fields(void **state)
{
	struct weft_workload w;

	assert_int_equal(weft_workload_parse(good, strlen(good), "g", &w, NULL), 0);
	assert_int_equal(w.nodes, 4);
	assert_int_equal(w.flow_count, 3);
	assert_int_equal(w.trigger_count, 2);
	assert_int_equal(w.flows[0].id, 7);
	assert_int_equal(w.flows[0].start_ns, 5000);
	assert_int_equal(w.flows[0].start_trigger, -1);
	assert_int_equal(w.flows[0].send_done_trigger, 0);
	assert_int_equal(w.flows[1].src, 1);
	assert_int_equal(w.flows[1].dst, 2);
	assert_int_equal(w.flows[1].bytes, 200);
	assert_true(w.flows[1].start_ns == WEFT_NEVER);
	assert_int_equal(w.flows[1].start_trigger, 0);
	assert_int_equal(w.flows[2].recv_done_trigger, 1);
	assert_int_equal(w.triggers[0].target_count, 1);
	assert_int_equal(w.triggers[0].targets[0], 1);
	assert_int_equal(w.triggers[1].kind, WEFT_TRIGGER_BARRIER);
	assert_int_equal(w.triggers[1].count, 2);
	weft_workload_free(&w);
}

static void weft_workload_parse__shipped_files(void **state)
{
	static const struct {
		const char *file;
		uint32_t nodes, flows, triggers, waiting;
	} cases[] = {
		{"matrices/a2a_16n_p4_1M.cm", 16, 240, 48, 176},   {"matrices/incast_128n_32to1_1M.cm", 128, 32, 0, 0},
		{"matrices/incast_16n_15to1_1M.cm", 16, 15, 0, 0}, {"matrices/perm_1024n_2M.cm", 1024, 1024, 0, 0},
		{"matrices/perm_128n_2M.cm", 128, 128, 0, 0},      {"matrices/perm_16n_16M.cm", 16, 16, 0, 0},
		{"matrices/perm_16n_1M.cm", 16, 16, 0, 0},         {"matrices/sa2a_16n_1M.cm", 16, 240, 224, 224},
		{"matrices/xperm_128n_2M.cm", 128, 128, 0, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		size_t len = 0;
		char *text = config_read(cases[i].file, &len);
		struct weft_workload w;
		uint32_t waiting = 0;
		assert_non_null(text);
		assert_int_equal(weft_workload_parse(text, len, cases[i].file, &w, NULL), 0);
		assert_int_equal(w.nodes, cases[i].nodes);
		assert_int_equal(w.flow_count, cases[i].flows);
		assert_int_equal(w.trigger_count, cases[i].triggers);
		for (uint32_t t = 0; t < w.trigger_count; t++)
			waiting += w.triggers[t].target_count;
		assert_int_equal(waiting, cases[i].waiting);
		weft_workload_free(&w);
		free(text);
	}
}

/* Replaces line `line` of `good` by `with` and expects the message. */
static void check_refused(int line, const char *with, const char *message)
{
	char text[1024];
	struct weft_err err = {""};
	struct weft_workload w;

	text_replace(good, line, with, text);
	assert_int_equal(weft_workload_parse(text, strlen(text), "m", &w, &err), -EINVAL);
	assert_string_equal(err.msg, message);
	assert_null(w.flows);
}

static void weft_workload_parse__bad_connections(void **state)
{
	check_refused(5, "0->4 start 0 size 1", "m:5: destination 4 is not one of the nodes 0..3");
	check_refused(5, "9->1 start 0 size 1", "m:5: source 9 is not one of the nodes 0..3");
	check_refused(5, "x->1 start 0 size 1", "m:5: the source of SOURCE->DESTINATION is not a number");
	check_refused(5, "1-> start 0 size 1", "m:5: the destination of SOURCE->DESTINATION is not a number");
	check_refused(5, "1->1 start 0 size 1", "m:5: node 1 sends to itself");
	check_refused(5, "0->1 start 0 size 0", "m:5: size: 0 is not in 1..1099511627776");
	check_refused(5, "0->1 start 0", "m:5: size is missing");
	check_refused(5, "0->1 start 0.5 size 1", "m:5: start (whole microseconds): '0.5' is not a number");
	check_refused(5, "0->1 size 1", "m:5: one of start and trigger must be given");
	check_refused(5, "0->1 id 7 start 1 trigger 20 size 1", "m:5: one of start and trigger must be given");
	check_refused(5, "0->1 trigger 20 size 1", "m:5: a connection that waits for a trigger needs an id");
	check_refused(5, "0->1 id 8 start 0 size 1", "m:6: connection id 8 is used twice");
	check_refused(5, "0->1 id 7 trigger 21 size 1", "m:5: there is no trigger with id 21");
	check_refused(5, "0->1 start 0 size 1 send_done_trigger 9", "m:5: there is no trigger with id 9");
	check_refused(5, "0->1 start 0 length 1",
		      "m:5: 'length' is none of: id start trigger size prio msg send_done_trigger recv_done_trigger");
	check_refused(5, "0->1 start", "m:5: start (whole microseconds): a number is missing");
	check_refused(1, "", "m:5: a connection before the line 'Nodes N'");
}

static void weft_workload_parse__bad_triggers(void **state)
{
	check_refused(8, "trigger 20 oneshot", "m:8: 'id' is missing");
	check_refused(8, "trigger id 20 sometimes", "m:8: the kind of a trigger is one of: oneshot multishot barrier");
	check_refused(8, "trigger id 20", "m:8: the kind of a trigger is one of: oneshot multishot barrier");
	check_refused(8, "trigger id 20 barrier", "m:8: a barrier needs 'count N'");
	check_refused(8, "trigger id 20 oneshot twice", "m:8: only 'count N' may follow the kind of a trigger");
	check_refused(8, "trigger id 10 oneshot", "m:9: trigger id 10 is used twice");
	check_refused(9, "trigger id 10 barrier count 0", "m:9: count: 0 is not in 1..4294967295");
}

static void weft_workload_parse__bad_header(void **state)
{
	check_refused(1, "Nodes 0", "m:1: Nodes: 0 is not in 1..65536");
	check_refused(2, "Nodes 4\nConnections 3", "m:2: a second line 'Nodes N'");
	check_refused(2, "Connections 4", "m:2: Connections 4, but there are 3");
	check_refused(2, "", "m:9: the line 'Connections N' is missing");
	check_refused(3, "Triggers 1", "m:3: Triggers 1, but there are 2");
	check_refused(3, "", "m:8: Triggers 0, but there are 2");
	check_refused(4, "Failures 1", "m:4: failures are not part of a matrix here; only 'Failures 0' is read");
	check_refused(4, "failure switch_type AGG switch_id 0 link_id 0",
		      "m:4: failures are not part of a matrix here; only 'Failures 0' is read");
	check_refused(4, "what",
		      "m:4: a line is one of: Nodes N, Connections N, Triggers N, Failures 0, S->D ..., trigger ...");
}

static void weft_workload_parse__truncated(void **state)
{
	struct weft_workload w;

	for (size_t n = 0; n < strlen(good) - 10; n++) {
		char *copy = malloc(n + 1);
		memcpy(copy, good, n);
		assert_int_equal(weft_workload_parse(copy, n, "m", &w, NULL), -EINVAL);
		free(copy);
	}
}

static void weft_workload_parse__never_started(void **state)
{
	check_refused(5, "0->1 id 7 start 5 size 100",
		      "m:6: connection id 8 (1->2) never starts: trigger id 20 is activated 0 times, it needs 1");
	check_refused(8, "trigger id 20 barrier count 2",
		      "m:6: connection id 8 (1->2) never starts: trigger id 20 is activated 1 times, it needs 2");
	check_refused(5, "0->1 id 7 trigger 20 size 100 send_done_trigger 20",
		      "m:5: connection id 7 (0->1) never starts: trigger id 20 is activated 0 times, it needs 1");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_workload_parse__fields),
		cmocka_unit_test(weft_workload_parse__shipped_files),
		cmocka_unit_test(weft_workload_parse__bad_connections),
		cmocka_unit_test(weft_workload_parse__bad_triggers),
		cmocka_unit_test(weft_workload_parse__bad_header),
		cmocka_unit_test(weft_workload_parse__truncated),
		cmocka_unit_test(weft_workload_parse__never_started),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
