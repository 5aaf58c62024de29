/* SPDX-License-Identifier: BSD-3-Clause */
/* A small result made by hand. */
#ifndef WEFT_TEST_RESULT_BOX_H
#define WEFT_TEST_RESULT_BOX_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Its JSON, read back from a file; to be released by the caller. */
static inline json_t *json_of(const struct run_result *r)
{
	char name[] = "/tmp/weft-json-XXXXXX";
	close(mkstemp(name));
	assert_int_equal(result_write_json(r, name, NULL), 0);
	json_t *json = json_load_file(name, 0, NULL);
	unlink(name);
	assert_non_null(json);
	return json;
}

/* The number at a path of names: "fct_us.max". */
static inline double number_at(const json_t *json, const char *path)
{
	char name[32];
	for (size_t len; *path; path += len + (path[len] == '.')) {
		len = strcspn(path, ".");
		snprintf(name, sizeof name, "%.*s", (int)len, path);
		json = json_object_get(json, name);
	}
	assert_true(json_is_number(json));
	return json_number_value(json);
}

#endif
