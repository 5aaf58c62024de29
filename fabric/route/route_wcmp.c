/* SPDX-License-Identifier: BSD-3-Clause */
/* Weighted ECMP (WCMP, EuroSys 2014; as the baseline of DRILL section 4): a flow takes a next hop by hash, in
 * proportion to the capacity of the paths behind it. Where all are alike it is ECMP. */
#include "route_impl.h"

static uint32_t wcmp_choose(const struct net_tree *tree, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	return route_hash(&tree->switches[ways->sw], pkt, ways->count);
}

static bool wcmp_plan(const void *tune, struct route_planning *how)
{
	*how = (struct route_planning){QUIVER_BY_HOP, QUIVER_PAIRS};
	return true;
}

const struct weft_route_ops route_wcmp = {
	.name = "wcmp",
	.help = "by hash as ecmp, next hops weighted by the capacity of the paths behind them",
	.by_entropy = true,
	.choose = wcmp_choose,
	.plan = wcmp_plan,
};
