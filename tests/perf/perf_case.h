/* SPDX-License-Identifier: BSD-3-Clause */
/* Frame of the instruction counters. `PROGRAM` lists its cases, one line "name<TAB>budget<TAB>what" each; `PROGRAM NAME
 * N` runs one N times. What lies inside functions named measured is what scripts/instr.sh counts. */
#ifndef PERF_CASE_H
#define PERF_CASE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct perf_case {
	const char *name;
	unsigned budget; /* instructions per call; 0: none set */
	const char *what;
	/* Runs the case n times; false when it did not do what its name says. */
	int (*run)(const struct perf_case *c, uint64_t n);
	const void *arg;
};

static inline int perf_main(int argc, char **argv, const struct perf_case *cases)
{
	for (const struct perf_case *c = cases; c->name; c++) {
		if (argc == 1)
			printf("%s\t%u\t%s\n", c->name, c->budget, c->what);
		else if (argc == 3 && strcmp(c->name, argv[1]) == 0)
			return c->run(c, strtoull(argv[2], NULL, 0)) ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (argc == 1)
		return EXIT_SUCCESS;
	fprintf(stderr, "usage: %s [CASE COUNT]; without arguments it lists the cases\n", argv[0]);
	return EXIT_FAILURE;
}

#endif
