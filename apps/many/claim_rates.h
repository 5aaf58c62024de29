/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures of how fast flows arrived over time, from a run's arrivals.csv. */
#ifndef WEFT_CLAIM_RATES_H
#define WEFT_CLAIM_RATES_H

#include "claim.h"

enum claim_rate {
	CLAIM_RATE_MEAN,     /* of the flows' rates, Gb/s of payload */
	CLAIM_RATE_MIN,      /* slowest flow */
	CLAIM_RATE_MAX,      /* fastest flow */
	CLAIM_RATE_JAIN,     /* fairness of the flows' rates */
	CLAIM_RATE_UNSTEADY, /* standard deviation over mean of a flow's samples, mean over the flows */
	CLAIM_RATE_REACH, /* us from `from` on until the end of the first sample with all flows within `within` of it */
	CLAIM_RATE_SETTLE, /* us from `from` on until all flows are within `within` of the fair rate and stay there */
};

/* Over the samples between `from` and `to` of the flows FIRST-LAST; of a run with `flow_count` flows. A flow without
 * arrivals has rate 0. The fair rate is the mean over the flows in the second half of that time; flows that never
 * settle have all of it. NaN: not a whole sample. -EINVAL: files of results that cannot be read, no such flows;
 * -ENOMEM. */
int claim_rate(enum claim_rate what, const struct claim_scope *scope, uint32_t flow_count, const char *dir,
	       double *value, struct weft_err *err);

#endif
