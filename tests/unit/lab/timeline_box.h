/* SPDX-License-Identifier: BSD-3-Clause */
/* Timelines for tests, from the user's words. */
#ifndef WEFT_TEST_TIMELINE_BOX_H
#define WEFT_TEST_TIMELINE_BOX_H

#include "cmocka_all.h"
#include "timeline.h"
#include "timeline_parse.h"

#define GBPS100 UINT64_C(100000000000)

static inline struct weft_topo topo_of(const char *preset)
{
	struct weft_topo topo;
	assert_int_equal(weft_topo_preset(preset, GBPS100, &topo, NULL), 0);
	return topo;
}

static inline void add(struct timeline *t, const char *spec)
{
	struct weft_err err = {""};
	if (timeline_parse(t, spec, &err))
		fail_msg("%s", err.msg);
}

static inline void resolve(struct timeline *t, const char *preset, uint64_t seed, weft_ns reconverge)
{
	struct weft_topo topo = topo_of(preset);
	struct weft_err err = {""};
	if (timeline_resolve(t, &topo, seed, reconverge, &err))
		fail_msg("%s", err.msg);
}

#endif
