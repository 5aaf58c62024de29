/* SPDX-License-Identifier: BSD-3-Clause */
/* A scenario is a command line of `weft sim` and bounds on what comes out. */
#ifndef WEFT_TEST_SCENARIO_H
#define WEFT_TEST_SCENARIO_H

#include <stdio.h>

#include "cmocka_all.h"
#include "options.h"

#define LS16         WEFT_CONFIGS "/topologies/ls16_50g.topo"
#define FT128        WEFT_CONFIGS "/topologies/ft128_800g_tor1os.topo"
#define MATRIX(name) WEFT_CONFIGS "/matrices/" name ".cm"

struct scenario {
	struct options options;
	struct lab *lab;
	int rc; /* of lab_run */
	struct weft_err err;
	struct run_result result; /* valid after scenario_run */
	struct run_summary summary;
	struct weft_stats stats; /* over all engines */
	struct weft_net_stats net;
};

/* Builds the lab; fails the test when the options are refused. The list ends with NULL. */
void scenario_start(struct scenario *s, const char *const *args);
#define SCENARIO(s, ...) scenario_start(s, (const char *const[]){__VA_ARGS__, NULL})

/* Runs to the end and collects; does not judge. */
void scenario_run(struct scenario *s);

/* Every flow is complete and verified. */
void scenario_all_verified(const struct scenario *s);

/* Releases everything; fails the test when a packet was not given back. */
void scenario_end(struct scenario *s);

/* Start, run, all verified; leaves the scenario open for bounds. */
#define SCENARIO_PASSES(s, ...)                                                                                        \
	do {                                                                                                           \
		SCENARIO(s, __VA_ARGS__);                                                                              \
		scenario_run(s);                                                                                       \
		scenario_all_verified(s);                                                                              \
	} while (0)

/* A file for a matrix, opened to be written; `path` gets its name. The test closes it, and unlinks it after the run. */
enum { SCENARIO_PATH_MAX = 32 };
FILE *scenario_matrix(char path[SCENARIO_PATH_MAX]);

/* Fails with both numbers when a > b. */
void assert_at_most(double a, double b);

#endif
