/* SPDX-License-Identifier: BSD-3-Clause */
#include "claim_flows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmocka_all.h"

enum { FLOWS = 20000 };

static const struct claim_scope everything = {.last_flow = UINT32_MAX};

/* Flow i takes i + 1 us for 125 bytes per us of it and i % 4 == 3 is background; flow `open` has no end. */
static void write_flows(char dir[32], uint32_t flows, uint32_t open)
{
	char path[64];
	snprintf(dir, 32, "/tmp/weft-flows-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/flows.csv", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("flow,src,dst,bytes,start_us,fct_us,delivered_us,ideal_us,verified,background\n", f);
	for (uint32_t i = 0; i < flows; i++) {
		fprintf(f, "%u,0,1,%u,0,", i, 125 * (i + 1));
		if (i != open)
			fprintf(f, "%u", i + 1);
		fprintf(f, ",1,1,1,%d\n", i % 4 == 3);
	}
	fclose(f);
}

static double measured(enum claim_flows what, const struct claim_scope *scope, const char *dir)
{
	struct weft_err err = {""};
	double value = -1;
	if (claim_flows(what, scope, dir, &value, &err))
		fail_msg("%s", err.msg);
	return value;
}

static void discard(const char *dir)
{
	char path[64];
	snprintf(path, sizeof path, "%s/flows.csv", dir);
	unlink(path);
	rmdir(dir);
}

static void claim_flows__percentiles(void **state)
{
	char dir[32];
	write_flows(dir, FLOWS, UINT32_MAX);
	assert_float_equal(measured(CLAIM_FLOWS_P999, &everything, dir), 19980, 0);
	assert_float_equal(measured(CLAIM_FLOWS_P9999, &everything, dir), 19998, 0);
	/* Foreground: 15,000 flows that end with 19,997, 19,998, 19,999; background: 5,000, every fourth. */
	assert_float_equal(measured(CLAIM_FLOWS_FOREGROUND_P99, &everything, dir), 19799, 0);
	assert_float_equal(measured(CLAIM_FLOWS_FOREGROUND_P9999, &everything, dir), 19998, 0);
	assert_float_equal(measured(CLAIM_FLOWS_BACKGROUND_P99, &everything, dir), 19800, 0);
	assert_float_equal(measured(CLAIM_FLOWS_BACKGROUND_P9999, &everything, dir), 20000, 0);
	assert_float_equal(measured(CLAIM_FLOWS_FOREGROUND_GBPS, &everything, dir), 1, 1e-9);
	discard(dir);
}

static void claim_flows__keeps_to_the_scope(void **state)
{
	const struct claim_scope some = {.first_flow = 10, .last_flow = 12};
	const struct claim_scope background = {.first_flow = 11, .last_flow = 11};
	char dir[32];
	write_flows(dir, 40, 20);
	assert_float_equal(measured(CLAIM_FLOWS_P9999, &some, dir), 13, 0);
	assert_float_equal(measured(CLAIM_FLOWS_FOREGROUND_P9999, &some, dir), 13, 0);
	assert_float_equal(measured(CLAIM_FLOWS_BACKGROUND_P99, &some, dir), 12, 0);
	assert_float_equal(measured(CLAIM_FLOWS_FOREGROUND_P99, &background, dir), 0, 0);
	discard(dir);
}

/* A flow without an end leaves what it belongs to unknown, and nothing else. */
static void claim_flows__open_flows_prove_nothing(void **state)
{
	char dir[32];
	write_flows(dir, 40, 20);
	assert_true(isnan(measured(CLAIM_FLOWS_P999, &everything, dir)));
	assert_true(isnan(measured(CLAIM_FLOWS_FOREGROUND_GBPS, &everything, dir)));
	assert_float_equal(measured(CLAIM_FLOWS_BACKGROUND_P9999, &everything, dir), 40, 0);
	discard(dir);
}

static void claim_flows__names_what_it_cannot_read(void **state)
{
	struct weft_err err = {""};
	double value;
	assert_true(claim_flows(CLAIM_FLOWS_P999, &everything, "/no/such", &value, &err) < 0);
	assert_string_equal(err.msg, "/no/such/flows.csv: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claim_flows__percentiles),
		cmocka_unit_test(claim_flows__keeps_to_the_scope),
		cmocka_unit_test(claim_flows__open_flows_prove_nothing),
		cmocka_unit_test(claim_flows__names_what_it_cannot_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
