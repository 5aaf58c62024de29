/* SPDX-License-Identifier: BSD-3-Clause */
/* Which load balancer suits a fabric; doc/guide/choosing-lb.md has the measurements behind it. */
#include "lb_ops.h"

static const char *reps_because(const struct weft_lb_offer *offer)
{
	if (!offer->ecn)
		return "switches hash entropies and mark nothing: acknowledged paths are used again, failed ones "
		       "avoided";
	if (offer->ack_every > 1 && !offer->all_acked)
		return "switches hash entropies and mark; ACKs are coalesced: without lb_all_acked it learns less";
	if (offer->ack_every > 1)
		return "switches hash entropies and mark; coalesced ACKs speak for all their packets (lb_all_acked)";
	if (!offer->trimming)
		return "switches hash entropies and mark; without trimming a timeout after low RTTs means a failed "
		       "path";
	return "switches hash entropies and mark: unmarked paths in time are used again, failed ones avoided";
}

const struct weft_lb_ops *weft_lb_auto(const struct weft_lb_offer *offer, const char **reason)
{
	if (offer->switches_choose) {
		*reason = "switches choose the path of each packet: entropies change nothing";
		return &weft_lb_spray;
	}
	if (offer->digits) {
		*reason = "switches forward by the digits of an entropy: every path in turn, congested ones passed "
			  "over while they are few";
		return &weft_lb_prime2;
	}
	*reason = reps_because(offer);
	return &weft_lb_reps2;
}
