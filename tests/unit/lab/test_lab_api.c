/* SPDX-License-Identifier: BSD-3-Clause */
/* The lab as a program uses it: topology, workload and configuration made by calls, no command line. */
#include "lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "lab_run.h"

/* Two labs of one configuration at the same time: what they count, triggers included, is their own. */
static void lab_create__shares_a_configuration(void **state)
{
	struct lab_config c;
	lab_run_configure(&c, "alltoall:16:16KiB:1");
	struct lab *first = lab_run_make(&c), *second = lab_run_make(&c);
	lab_run_finish(first);
	lab_run_finish(second);
	lab_run_assert_same(first, second);
	assert_ptr_equal(lab_conf(first), &c);
	assert_int_equal(lab_destroy(first), 0);
	assert_int_equal(lab_destroy(second), 0);
	weft_workload_free(&c.workload);
}

static void lab_run__ends_when_the_configuration_says(void **state)
{
	struct lab_config c;
	struct weft_err err = {""};
	lab_run_configure(&c, "permutation:16:1MiB");
	c.end_ns = WEFT_US(20);
	struct lab *lab = lab_run_make(&c);
	assert_int_equal(lab_run(lab, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.msg, "16 of 16 flows"));
	lab_destroy(lab);
	weft_workload_free(&c.workload);
}

/* An observer that counts, and at some packet has had enough. */
struct observer {
	uint32_t delivered, samples, skips, refuse_at; /* 0: never */
	weft_ps last;
};

static int on_pkt(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt, weft_ps now,
		  struct weft_err *err)
{
	struct observer *o = arg;
	o->delivered += event == WEFT_TAP_DELIVERED;
	return o->refuse_at && o->delivered >= o->refuse_at ? weft_err_set(err, -EIO, "enough") : 0;
}

static int on_sample(void *arg, weft_ps now, bool *active, struct weft_err *err)
{
	struct observer *o = arg;
	assert_true(now > o->last);
	o->last = now;
	o->samples++;
	*active = true;
	return 0;
}

static void on_skip(void *arg, weft_ps until)
{
	struct observer *o = arg;
	o->skips++;
}

static const struct lab_taps taps = {on_pkt, on_sample, on_skip};

static void lab_tap__tells_of_packets_and_samples(void **state)
{
	struct lab_config c;
	struct observer o = {0};
	struct weft_stats stats;
	lab_run_configure(&c, "incast:4:64KiB");
	struct lab *lab = lab_run_make(&c), *bare = lab_run_make(&c);
	lab_tap(lab, &taps, &o, WEFT_US(5));
	for (uint32_t id = 0; id < weft_net_port_count(lab_net(lab)); id++) {
		struct weft_port_info info;
		weft_net_port_info(lab_net(lab), id, &info);
		if (info.dir == WEFT_PORT_NIC)
			weft_net_tap_port(lab_net(lab), id);
	}
	lab_run_finish(lab);
	lab_run_finish(bare);
	lab_run_assert_same(lab, bare);
	lab_stats(lab, &stats);
	assert_true(o.delivered >= stats.rx_data);
	assert_int_equal(o.samples, lab_now(lab) / (1000 * WEFT_US(5)));
	assert_int_equal(o.skips, o.samples);
	lab_tap(lab, NULL, NULL, 0);
	assert_int_equal(lab_destroy(lab), 0);
	assert_int_equal(lab_destroy(bare), 0);
	weft_workload_free(&c.workload);
}

static void lab_tap__ends_the_run(void **state)
{
	struct lab_config c;
	struct observer o = {.refuse_at = 10};
	struct weft_err err = {""};
	lab_run_configure(&c, "incast:4:64KiB");
	struct lab *lab = lab_run_make(&c);
	lab_tap(lab, &taps, &o, 0);
	weft_net_tap_port(lab_net(lab), 0);
	assert_int_equal(lab_run(lab, &err), -EIO);
	assert_string_equal(err.msg, "enough");
	assert_int_equal(o.samples, 0);
	lab_destroy(lab);
	weft_workload_free(&c.workload);
}

static void lab_config_begin__is_auto(void **state)
{
	struct lab_config c;
	struct weft_engine_tune with = {0};
	weft_engine_tune_auto(&with);
	lab_config_begin(&c);
	assert_ptr_equal(c.cc, weft_cc_auto());
	assert_string_equal(c.cc_name, c.cc->name);
	assert_string_equal(c.lb->name, "reps2");
	assert_int_equal(c.engine.acks_per_window, with.acks_per_window);
	assert_int_equal(c.engine.lb_all_acked, with.lb_all_acked);
	assert_int_equal(c.engine.timeout_probes, with.timeout_probes);
	assert_int_equal(c.engine.short_acks, 1);
}

static void lab_wire_bytes__hold_headers(void **state)
{
	struct lab_config c;
	lab_config_begin(&c);
	assert_int_equal(lab_data_wire_bytes(&c, 4095), lab_data_wire_bytes(&c, 4096) - 1);
	assert_true(lab_data_wire_bytes(&c, 4096) > 4096 + WEFT_L1_OVERHEAD_BYTES);
	assert_true(lab_ack_wire_bytes(&c) >= WEFT_WIRE_MIN_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lab_create__shares_a_configuration),
		cmocka_unit_test(lab_run__ends_when_the_configuration_says),
		cmocka_unit_test(lab_tap__tells_of_packets_and_samples),
		cmocka_unit_test(lab_tap__ends_the_run),
		cmocka_unit_test(lab_config_begin__is_auto),
		cmocka_unit_test(lab_wire_bytes__hold_headers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
