/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a publication, run and judged. */
#ifndef WEFT_REPRODUCE_H
#define WEFT_REPRODUCE_H

#include <stddef.h>
#include <stdint.h>

#include "claim.h"

/* One figure: a scenario with claims. */
struct figure {
	char name[64]; /* of the file, without its ending */
	struct scenario scenario;
	struct claims claims;
	struct sweep sweep;
	struct claim_verdict *verdicts; /* one for each claim; NULL: not judged yet */
};

struct reproduction {
	const char *paper; /* its name */
	const char *out;   /* directory of the results */
	struct figure *figures;
	uint32_t count;
};

/* Repeats a figure's runs that its `bench` names with `weft bench --local`, one after another, each in a process of its
 * own; keeps results of the same build and settings unless `fresh`. A run that fails has no result, which its claims
 * show. An errno of the file system with a message. */
int reproduce_real(const struct figure *f, bool fresh, struct weft_err *err);

/* The page report.html in the results' directory. */
int reproduce_page(const struct reproduction *p, struct weft_err *err);

/* A claim's bound in words. */
void reproduce_bound(const struct claim *c, char *text, size_t size);

/* What follows "holds" or "breaks" when the bound is within the interval; "" otherwise. */
const char *reproduce_doubt(const struct claim_verdict *v);

#endif
