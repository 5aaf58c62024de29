/* SPDX-License-Identifier: BSD-3-Clause */
/* A congestion control with its parameters, and short ways to give it events, for tests. */
#ifndef CC_BOX_H
#define CC_BOX_H

#include <assert.h>
#include <string.h>

#include "weft/spi/cc.h"

enum { CC_BOX_TUNE_MAX = 256 };

struct cc_box {
	struct weft_cc cc;
	struct weft_cc_params params;
	_Alignas(8) uint8_t tune[CC_BOX_TUNE_MAX];
	weft_ns now;
};

/* Describes the algorithm's surroundings with default parameters; change them before cc_box_start. */
static inline void cc_box_init(struct cc_box *box, const struct weft_cc_ops *ops, uint64_t link_bps, weft_ns brtt_ns)
{
	assert(ops->tune_size <= CC_BOX_TUNE_MAX);
	*box = (struct cc_box){.now = WEFT_MS(1)};
	weft_param_defaults(ops->tunes, box->tune);
	box->params = (struct weft_cc_params){
		.link_bps = link_bps, .brtt_ns = brtt_ns, .mtu_bytes = 4200, .trimming = true, .tune = box->tune};
	box->cc.ops = ops;
	box->cc.params = &box->params;
}

/* The state is filled with junk first, so that init must set all of it. */
static inline void cc_box_start(struct cc_box *box)
{
	memset(box->cc.state, 0xa5, sizeof box->cc.state);
	box->cc.cwnd_bytes = box->cc.pace = 0xa5a5a5a5;
	box->cc.ops->init(&box->cc, box->now);
}

static inline void cc_box_ack(struct cc_box *box, uint32_t bytes, weft_ns rtt_ns, bool ce)
{
	struct weft_cc_ack ev = {.bytes = bytes,
				 .inflight_bytes = box->cc.cwnd_bytes,
				 .rtt_ns = rtt_ns,
				 .brtt_ns = box->params.brtt_ns,
				 .ce = ce};

	box->cc.ops->on_ack(&box->cc, &ev, box->now);
}

/* `n` ACKs of a packet each, `gap_ns` apart. */
static inline void cc_box_acks(struct cc_box *box, unsigned n, weft_ns gap_ns, weft_ns rtt_ns, bool ce)
{
	while (n--) {
		box->now += gap_ns;
		cc_box_ack(box, box->params.mtu_bytes, rtt_ns, ce);
	}
}

static inline void cc_box_lose(struct cc_box *box, enum weft_cc_loss_kind kind, unsigned n, uint64_t inflight_bytes)
{
	struct weft_cc_loss ev = {kind, box->params.mtu_bytes, inflight_bytes};

	while (n--)
		box->cc.ops->on_loss(&box->cc, &ev, box->now);
}

static inline void cc_box_sent(struct cc_box *box, uint32_t bytes, uint64_t inflight_bytes)
{
	struct weft_cc_sent ev = {bytes, inflight_bytes};

	if (box->cc.ops->on_sent)
		box->cc.ops->on_sent(&box->cc, &ev, box->now);
}

static inline struct weft_cc_view cc_box_view(const struct cc_box *box)
{
	struct weft_cc_view view = {0};

	if (box->cc.ops->view)
		box->cc.ops->view(&box->cc, &view);
	return view;
}

#endif
