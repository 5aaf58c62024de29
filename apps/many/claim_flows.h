/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures of completion times beyond a result's own numbers, from a run's flows.csv. */
#ifndef WEFT_CLAIM_FLOWS_H
#define WEFT_CLAIM_FLOWS_H

#include "claim.h"

enum claim_flows {
	CLAIM_FLOWS_NONE,
	CLAIM_FLOWS_P999,             /* percentiles of the completion times, us */
	CLAIM_FLOWS_P9999,            /* the 99.99th */
	CLAIM_FLOWS_FOREGROUND_P99,   /* of flows that are not of --background */
	CLAIM_FLOWS_FOREGROUND_P9999, /* their 99.99th */
	CLAIM_FLOWS_BACKGROUND_P99,   /* of those that are */
	CLAIM_FLOWS_BACKGROUND_P9999, /* their 99.99th */
	CLAIM_FLOWS_FOREGROUND_GBPS,  /* mean of the flows' payload rates, each over its own completion time, Gb/s */
};

/* Of the flows within the scope. By nearest rank: of fewer than 10,000 flows the 99.99th percentile is the slowest.
 * NaN: one has not completed; 0: there are none. -EINVAL: a file that cannot be read; -ENOMEM. */
int claim_flows(enum claim_flows what, const struct claim_scope *scope, const char *dir, double *value,
		struct weft_err *err);

#endif
