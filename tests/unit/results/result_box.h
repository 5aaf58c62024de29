/* SPDX-License-Identifier: BSD-3-Clause */
/* A small result made by hand. */
#ifndef WEFT_TEST_RESULT_BOX_H
#define WEFT_TEST_RESULT_BOX_H

#include <jansson.h>
#include <stdio.h>

#include "cmocka_all.h"
#include "result.h"

#define US(n) ((weft_ps)(n)*1000000u)

/* Three flows: two equal ones from the start, one later, slower and without its last receipt. */
static const struct run_flow three[] = {
	{.bytes = 100000, .start = 0, .acked = US(10), .delivered = US(8), .verified = true},
	{.bytes = 100000, .start = 0, .acked = US(10), .delivered = US(9), .verified = true},
	{.bytes = 100000, .start = US(10), .acked = US(50), .delivered = US(45)},
};

static inline struct run_result result_of(const struct run_flow *flows, uint32_t count)
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

/* All a run's JSON can say of where it comes from. */
static inline struct run_origin origin_of(const struct run_option *given, uint32_t count)
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

#endif
