/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "ideal.h"
#include "result.h"

int result_of_lab(struct lab *lab, struct run_result *r, struct weft_err *err)
{
	const struct lab_config *c = lab_conf(lab);
	struct weft_net_stats net;
	struct weft_stats sum;
	*r = (struct run_result){
		.mode = "sim",
		.cc = c->cc_name,
		.lb = c->lb->name,
		.cc_reason = c->cc_reason,
		.lb_reason = c->lb_reason,
		.route = c->route->name,
		.warning = c->warning,
		.seed = c->seed,
		.flows = lab_flows(lab),
		.flow_count = lab_flow_count(lab),
		.elapsed = lab_now(lab),
		.max_rss_kib = result_max_rss_kib(),
	};
	weft_net_get_stats(lab_net(lab), &net);
	result_set_fabric(r, &net, r->elapsed);
	result_add_host_drops(r, lab_rx_dropped(lab));
	for (uint32_t dir = 0; dir < SPREAD_DIRS; dir++)
		r->spread[dir] = lab_queue_spread(lab, dir);
	lab_stats(lab, &sum);
	result_add_engine(&r->packets, &sum);
	result_set_reordering(r, lab_reordering(lab));
	r->ideal = ideal_ps(c, lab_net(lab), err);
	return r->ideal ? 0 : -ENOMEM;
}
