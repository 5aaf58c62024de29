/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_IDEAL_H
#define WEFT_IDEAL_H

#include "lab_config.h"
#include "net.h"

/* Arithmetic bound for a whole workload: the bytes, with headers, through the busiest cut (a host's link in either
 * direction, or all uplinks of a leaf or pod) plus the idle latency of the longest path among its flows and the last
 * ACK's way back. No queueing, and no waiting between flows that start one another. A run can be below it by what the
 * paths differ, when a flow with a short path ends last. 0 with a message when there is no memory. */
weft_ps ideal_ps(const struct lab_config *c, const struct weft_net *net, struct weft_err *err);

/* The same for one flow alone in the fabric. */
weft_ps ideal_flow_ps(const struct lab_config *c, const struct weft_net *net, const struct weft_flow *f);

#endif
