/* SPDX-License-Identifier: BSD-3-Clause */
/* Words that the claims' list and the page share. */
#include <math.h>
#include <stdio.h>

#include "reproduce.h"

void reproduce_bound(const struct claim *c, char *text, size_t size)
{
	if (!claim_judges(c))
		snprintf(text, size, "nothing");
	else if (isnan(c->at_most))
		snprintf(text, size, "at least %g", c->at_least);
	else if (isnan(c->at_least))
		snprintf(text, size, "at most %g", c->at_most);
	else
		snprintf(text, size, "%g to %g", c->at_least, c->at_most);
}

const char *reproduce_doubt(const struct claim_verdict *v)
{
	return v->unsure ? ", within the interval" : "";
}
