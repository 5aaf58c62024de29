/* SPDX-License-Identifier: BSD-3-Clause */
/* EQDS (Olteanu et al., NSDI 2022), the control loop NDP introduced: an idle sender begins with one bandwidth-delay
 * product nobody allowed; from then on the receiver pulls. Its pulls leave at slightly less than the rate of its link,
 * in turn over all senders that want to send, so that an incast fills the last link and no queue. A trimmed packet
 * tells what the sender lacks again before the sender knows. */
#include "bdp.h"
#include "cc_ops.h"

struct eqds {
	uint32_t max_bytes;  /* most that is wanted at once: what a sender may have unused */
	uint32_t pull_bytes; /* one turn */
};

_Static_assert(sizeof(struct eqds) <= 8, "EQDS needs little per sender");
_Static_assert(sizeof(struct eqds) <= WEFT_RCC_STATE_MAX, "state fits the connection");

static uint32_t to_units(uint32_t bytes)
{
	return (bytes + WEFT_RCC_UNIT_BYTES - 1) / WEFT_RCC_UNIT_BYTES * WEFT_RCC_UNIT_BYTES;
}

static uint32_t share_of_bdp(const struct weft_cc_params *params, uint32_t pct)
{
	return cc_window_bytes(params, cc_bdp_bytes(params->link_bps, cc_brtt_ns(params->brtt_ns)), pct);
}

static void limits(const struct weft_cc_params *params, struct weft_rcc_limits *l)
{
	const struct eqds_tune *tune = params->tune;

	l->first_bytes = tune->pull_first_pct ? share_of_bdp(params, tune->pull_first_pct) : 0;
	l->credit_bytes = share_of_bdp(params, tune->pull_max_pct);
	l->pace = (UINT64_C(8) * WEFT_S(1) << 20) / params->link_bps * 1000 / tune->pull_rate_permille;
	if (!l->pace)
		l->pace = 1;
}

static void init(struct weft_rcc *rcc, weft_ns now)
{
	const struct eqds_tune *tune = rcc->params->tune;
	struct eqds *q = (struct eqds *)rcc->state;

	q->max_bytes = to_units(share_of_bdp(rcc->params, tune->pull_max_pct));
	q->pull_bytes = to_units(rcc->params->mtu_bytes * tune->pull_pkts);
}

static void want(struct weft_rcc *rcc, uint64_t bytes)
{
	const struct eqds *q = (const struct eqds *)rcc->state;

	rcc->wanted_bytes = bytes < q->max_bytes ? (uint32_t)bytes : q->max_bytes;
}

static void on_demand(struct weft_rcc *rcc, uint32_t bytes, weft_ns now)
{
	if (bytes > rcc->wanted_bytes)
		want(rcc, bytes);
}

static void on_data(struct weft_rcc *rcc, const struct weft_rcc_data *ev, weft_ns now)
{
	if (ev->trimmed)
		want(rcc, (uint64_t)rcc->wanted_bytes + to_units(ev->bytes));
}

static uint32_t next_credit(struct weft_rcc *rcc, weft_ns now)
{
	const struct eqds *q = (const struct eqds *)rcc->state;
	uint32_t bytes = rcc->wanted_bytes < q->pull_bytes ? rcc->wanted_bytes : q->pull_bytes;

	rcc->wanted_bytes -= bytes;
	return bytes;
}

#define TUNE(field, help, def, min, max)                                                                               \
	{                                                                                                              \
#field, help, def, min, max, offsetof(struct eqds_tune, field), WEFT_PARAM_U32                         \
	}

static const struct weft_param tunes[] = {
	TUNE(pull_first_pct, "what an idle sender may send without credit, percent of the BDP", 100, 0, 1000),
	TUNE(pull_max_pct, "most a sender asks for ahead and keeps unused, percent of the BDP", 150, 1, 1000),
	TUNE(pull_rate_permille, "rate of all credit together, permille of the link", 990, 1, 1000),
	TUNE(pull_pkts, "full packets per credit", 4, 1, 64),
	{NULL},
};

const struct weft_rcc_ops weft_rcc_eqds = {
	.name = "eqds",
	.help = "EQDS: the receiver grants credit to its senders in turn, at the rate of its link",
	.sender = "fixed",
	.sender_set = "cwnd_pct=150",
	.tunes = tunes,
	.tune_size = sizeof(struct eqds_tune),
	.state_size = sizeof(struct eqds),
	.limits = limits,
	.init = init,
	.on_demand = on_demand,
	.on_data = on_data,
	.next_credit = next_credit,
};
