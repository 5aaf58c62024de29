/* SPDX-License-Identifier: BSD-3-Clause */
/* No congestion control: a constant window of a share of the BDP. A yardstick, and useful where something else (a
 * receiver's credit) decides how much may be sent. */
#include "bdp.h"
#include "cc_ops.h"

static void set_window(struct weft_cc *cc, weft_ns brtt_ns)
{
	const struct fixed_tune *tune = cc->params->tune;
	uint64_t bdp_bytes = cc_bdp_bytes(cc->params->link_bps, cc_brtt_ns(brtt_ns));

	cc->cwnd_bytes = cc_window_bytes(cc->params, bdp_bytes, tune->cwnd_pct);
}

static void init(struct weft_cc *cc, weft_ns now)
{
	uint64_t *brtt_ns = (uint64_t *)cc->state;

	*brtt_ns = cc->params->brtt_ns;
	cc->pace = 0;
	set_window(cc, *brtt_ns);
}

static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	uint64_t *brtt_ns = (uint64_t *)cc->state;

	if (ev->brtt_ns == *brtt_ns)
		return;
	*brtt_ns = ev->brtt_ns;
	set_window(cc, *brtt_ns);
}

static void on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
}

static const struct weft_param tunes[] = {
	{"cwnd_pct", "constant window, percent of the BDP", 100, 1, 10000, offsetof(struct fixed_tune, cwnd_pct),
	 WEFT_PARAM_U32},
	{NULL},
};

const struct weft_cc_ops weft_cc_fixed = {
	.name = "fixed",
	.help = "no congestion control: a constant window",
	.tunes = tunes,
	.tune_size = sizeof(struct fixed_tune),
	.state_size = sizeof(uint64_t),
	.init = init,
	.on_ack = on_ack,
	.on_loss = on_loss,
};
