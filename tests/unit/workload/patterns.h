/* SPDX-License-Identifier: BSD-3-Clause */
/* Workloads by name, for tests. */
#ifndef WEFT_TEST_PATTERNS_H
#define WEFT_TEST_PATTERNS_H

#include "cmocka_all.h"
#include "workload.h"

/* A leaf-spine of 100 Gb/s. */
static inline struct weft_topo leafspine(const char *spec)
{
	struct weft_topo topo;

	assert_int_equal(weft_topo_preset(spec, UINT64_C(100000000000), &topo, NULL), 0);
	return topo;
}

/* The pattern on a topology, which may be NULL. */
static inline struct weft_workload make_on(const char *spec, uint64_t seed, const struct weft_topo *topo)
{
	struct weft_workload_site site = {.topo = topo, .seed = seed};
	struct weft_err err = {""};
	struct weft_workload w;

	if (weft_workload_pattern(spec, &site, &w, &err))
		fail_msg("%s", err.msg);
	return w;
}

static inline void refused_on(const char *spec, const struct weft_topo *topo, int rc, const char *message)
{
	struct weft_workload_site site = {.topo = topo, .seed = 1};
	struct weft_err err = {""};
	struct weft_workload w;

	assert_int_equal(weft_workload_pattern(spec, &site, &w, &err), rc);
	assert_string_equal(err.msg, message);
	assert_null(w.flows);
}

/* Everybody of 0..n-1 sends once and receives once, nothing to itself, all at time 0. */
static inline void check_is_permutation(const struct weft_workload *w, uint32_t n, uint64_t bytes)
{
	uint32_t received[256] = {0};

	assert_int_equal(w->nodes, n);
	assert_int_equal(w->flow_count, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(w->flows[i].src, i);
		assert_int_not_equal(w->flows[i].dst, i);
		assert_int_equal(w->flows[i].bytes, bytes);
		assert_int_equal(w->flows[i].start_ns, 0);
		received[w->flows[i].dst]++;
	}
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(received[i], 1);
}

#endif
