/* SPDX-License-Identifier: BSD-3-Clause */
#include "net_conf.h"

#include <errno.h>
#include <stddef.h>

#define FIELD(name) offsetof(struct weft_net_tune, name)

const struct weft_param weft_net_tunes[] = {
	{.key = "queue_bytes",
	 .help = "data queue of a switch port, bytes; 0: one BDP with trimming, five without",
	 .max = 1u << 30,
	 .offset = FIELD(queue_bytes)},
	{.key = "ecn_min_pct",
	 .help = "marking starts at this depth, % of one BDP; 0 with ecn_max_pct 0: no marking",
	 .def = 20,
	 .max = 100,
	 .offset = FIELD(ecn_min_pct)},
	{.key = "ecn_max_pct",
	 .help = "every packet is marked beyond this depth, % of one BDP",
	 .def = 80,
	 .max = 1000,
	 .offset = FIELD(ecn_max_pct)},
	{.key = "ecn_prob_pct",
	 .help = "share of packets that is marked just below ecn_max_pct, %; linear from ecn_min_pct on",
	 .def = 100,
	 .min = 1,
	 .max = 100,
	 .offset = FIELD(ecn_prob_pct)},
	{.key = "trim",
	 .help = "full queues: 0 drop, 1 trim the arriving packet, 2 it or the queue's last, by coin, 3 as 2 but drop",
	 .def = WEFT_TRIM_ARRIVING,
	 .max = WEFT_TRIM_OFF_COIN,
	 .offset = FIELD(trim)},
	{.key = "pfc",
	 .help = "lossless fabric: switches send PFC pauses instead of dropping data",
	 .max = 1,
	 .offset = FIELD(pfc),
	 .type = WEFT_PARAM_BOOL},
	{.key = "pfc_xoff_pct",
	 .help = "PFC: data of one incoming link that waits in a switch and pauses it, % of one BDP",
	 .def = 100,
	 .min = 1,
	 .max = 10000,
	 .offset = FIELD(pfc_xoff_pct)},
	{.key = "pfc_xon_pct",
	 .help = "PFC: a pause ends when so much of that is left, %",
	 .def = 80,
	 .max = 100,
	 .offset = FIELD(pfc_xon_pct)},
	{.key = "ordered_pct",
	 .help = "background flows wait in a queue of their own that gets this share of a port, %; 100: strict "
		 "priority; 0: one queue for all data",
	 .max = 100,
	 .offset = FIELD(ordered_pct)},
	{.key = "credit_queue",
	 .help = "credits that may wait at a port, hosts' NICs included; 0: no queues for credits",
	 .max = UINT16_MAX,
	 .offset = FIELD(credit_queue)},
	{.key = "credit_refresh",
	 .help = "credits between two updates of a port's loss share P_d, with which it marks",
	 .def = 4,
	 .min = 1,
	 .max = UINT16_MAX,
	 .offset = FIELD(credit_refresh)},
	{.key = "credit_data_bytes",
	 .help = "wire bytes of the data a credit stands for; 0: a full packet",
	 .max = 1000000,
	 .offset = FIELD(credit_data_bytes)},
	{.key = "credit_ack_bytes",
	 .help = "wire bytes of the acknowledgements of that data; 0: of one per ack_every packets, weft switch: one",
	 .max = UINT16_MAX,
	 .offset = FIELD(credit_ack_bytes)},
	{.key = NULL},
};

_Static_assert(WEFT_PARAM_U32 == 0, "the type of an entry that names none");

static int check_sizes(const struct weft_net_conf *c, struct weft_err *err)
{
	if (c->mtu_bytes < WEFT_WIRE_MIN_BYTES || c->mtu_bytes > UINT16_MAX)
		return weft_err_set(err, -EINVAL, "fabric: a full packet of %u bytes, not %d..%d", c->mtu_bytes,
				    WEFT_WIRE_MIN_BYTES, UINT16_MAX);
	if (c->tune.queue_bytes && c->tune.queue_bytes < c->mtu_bytes)
		return weft_err_set(err, -EINVAL, "fabric: a queue of %u bytes does not hold a packet of %u",
				    c->tune.queue_bytes, c->mtu_bytes);
	return 0;
}

static int check_marking(const struct weft_net_tune *c, struct weft_err *err)
{
	if (c->ecn_min_pct > c->ecn_max_pct)
		return weft_err_set(err, -EINVAL, "fabric: marking starts at %u %% of a BDP, above its end at %u %%",
				    c->ecn_min_pct, c->ecn_max_pct);
	if (c->ecn_max_pct > 1000 || c->ecn_prob_pct > 100)
		return weft_err_set(err, -EINVAL, "fabric: marking of %u %% of the packets at %u %% of a BDP",
				    c->ecn_prob_pct, c->ecn_max_pct);
	return 0;
}

static int check_classes(const struct weft_net_tune *c, struct weft_err *err)
{
	if (c->pfc && (!c->pfc_xoff_pct || c->pfc_xon_pct > 100))
		return weft_err_set(err, -EINVAL, "fabric: PFC pauses at %u %% of a BDP and ends it at %u %% of that",
				    c->pfc_xoff_pct, c->pfc_xon_pct);
	if (c->ordered_pct > 100 || (c->ordered_pct && c->pfc))
		return weft_err_set(err, -EINVAL, "fabric: %u %% of a port for ordered data, or that with PFC",
				    c->ordered_pct);
	if (c->credit_queue && c->pfc)
		return weft_err_set(err, -EINVAL,
				    "fabric: credit queues with PFC: data that credits schedule needs none");
	return 0;
}

int weft_net_conf_check(const struct weft_net_conf *c, struct weft_err *err)
{
	int rc = check_sizes(c, err);

	if (!rc)
		rc = check_marking(&c->tune, err);
	if (!rc)
		rc = check_classes(&c->tune, err);
	if (!rc && (c->tune.trim > WEFT_TRIM_OFF_COIN || !c->free_pkt))
		rc = weft_err_set(err, -EINVAL, "fabric: unknown trim mode, or no free_pkt callback");
	return rc;
}
