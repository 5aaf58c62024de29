/* SPDX-License-Identifier: BSD-3-Clause */
/* A receiver-driven algorithm's state for one sender, with its parameters, for tests. */
#ifndef RCC_BOX_H
#define RCC_BOX_H

#include <assert.h>
#include <string.h>

#include "weft/spi/rcc.h"

enum { RCC_BOX_TUNE_MAX = 256, RCC_BOX_MORE_MAX = 32768 };

struct rcc_box {
	struct weft_rcc rcc;
	struct weft_cc_params params;
	struct weft_rcc_limits limits;
	_Alignas(8) uint8_t tune[RCC_BOX_TUNE_MAX];
	_Alignas(8) uint8_t more[RCC_BOX_MORE_MAX];
	weft_ns now;
};

static inline void rcc_box_init(struct rcc_box *box, const struct weft_rcc_ops *ops, uint64_t link_bps, weft_ns brtt_ns)
{
	assert(ops->tune_size <= RCC_BOX_TUNE_MAX);
	*box = (struct rcc_box){.now = WEFT_MS(1)};
	weft_param_defaults(ops->tunes, box->tune);
	box->params = (struct weft_cc_params){
		.link_bps = link_bps, .brtt_ns = brtt_ns, .mtu_bytes = 4200, .trimming = true, .tune = box->tune};
	box->rcc.ops = ops;
	box->rcc.params = &box->params;
}

/* The state is filled with junk first, so that init must set all of it. */
static inline void rcc_box_start(struct rcc_box *box)
{
	memset(box->rcc.state, 0xa5, sizeof box->rcc.state);
	size_t more = box->rcc.ops->more_bytes ? box->rcc.ops->more_bytes(&box->params) : 0;
	assert(more <= sizeof box->more);
	box->rcc.more = more ? box->more : NULL;
	memset(box->more, 0, more);
	box->rcc.ops->limits(&box->params, &box->limits);
	box->rcc.ops->init(&box->rcc, box->now);
}

static inline void rcc_box_demand(struct rcc_box *box, uint32_t bytes)
{
	box->rcc.ops->on_demand(&box->rcc, bytes, box->now);
}

static inline void rcc_box_data(struct rcc_box *box, uint32_t bytes, bool trimmed)
{
	struct weft_rcc_data ev = {.bytes = bytes, .trimmed = trimmed};
	if (box->rcc.ops->on_data)
		box->rcc.ops->on_data(&box->rcc, &ev, box->now);
}

static inline uint32_t rcc_box_credit(struct rcc_box *box)
{
	return box->rcc.ops->next_credit(&box->rcc, box->now);
}

#endif
