/* SPDX-License-Identifier: BSD-3-Clause */
/* DCTCP in its per-ACK form, as MP-RDMA has it (Lu et al., NSDI 2018, section 3.2): an unmarked ACK grows the window by
 * one packet per window, a marked one costs half a packet. With a share F of marks that is DCTCP's cut by F/2 per RTT
 * (Alizadeh et al., SIGCOMM 2010), without its averaging. doc/reference/algorithms.md lists the departures. */
#include "bdp.h"
#include "cc_ops.h"

struct mprdma {
	uint64_t growth;  /* bytes acknowledged without a mark times packet size, not applied yet: byte^2 */
	uint32_t brtt_ns; /* what the largest window was computed for */
	uint32_t max_cwnd_bytes;
	uint32_t cut_ns;    /* low 32 bits of the last cut for a loss that is not a trim */
	uint32_t decreases; /* for traces */
};
_Static_assert(sizeof(struct mprdma) <= WEFT_CC_STATE_MAX, "fits the connection");

static struct mprdma *state(struct weft_cc *cc)
{
	return (struct mprdma *)cc->state;
}

static const struct mprdma_tune *tune(const struct weft_cc *cc)
{
	return cc->params->tune;
}

static void rescale(struct weft_cc *cc, weft_ns brtt_ns)
{
	struct mprdma *s = state(cc);

	s->brtt_ns = cc_brtt_ns(brtt_ns);
	s->max_cwnd_bytes =
		cc_window_bytes(cc->params, cc_bdp_bytes(cc->params->link_bps, s->brtt_ns), tune(cc)->max_cwnd_pct);
	cc->cwnd_bytes = cc_clamp_bytes(cc, cc->cwnd_bytes, s->max_cwnd_bytes);
}

static void init(struct weft_cc *cc, weft_ns now)
{
	*state(cc) = (struct mprdma){.cut_ns = (uint32_t)now - (1u << 31)};
	cc->pace = 0;
	cc->cwnd_bytes = UINT32_MAX; /* rescale brings it down to the largest window */
	rescale(cc, cc->params->brtt_ns);
}

static void shrink(struct weft_cc *cc, uint64_t bytes)
{
	struct mprdma *s = state(cc);

	s->decreases++;
	cc->cwnd_bytes = cc_clamp_bytes(cc, cc->cwnd_bytes > bytes ? cc->cwnd_bytes - bytes : 0, s->max_cwnd_bytes);
}

/* One packet per window acknowledged; the division waits until it makes a packet. */
static void grow(struct weft_cc *cc, uint32_t bytes)
{
	struct mprdma *s = state(cc);

	if (cc->cwnd_bytes >= s->max_cwnd_bytes)
		return;
	s->growth += (uint64_t)bytes * cc->params->mtu_bytes;
	if (!cc->cwnd_bytes || s->growth < (uint64_t)cc->cwnd_bytes * cc->params->mtu_bytes)
		return;
	cc->cwnd_bytes = cc_clamp_bytes(cc, cc->cwnd_bytes + s->growth / cc->cwnd_bytes, s->max_cwnd_bytes);
	s->growth = 0;
}

/* A mark is answered at once, so the other packets of a marked ACK carried none. */
static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct mprdma *s = state(cc);

	if (ev->brtt_ns != s->brtt_ns)
		rescale(cc, ev->brtt_ns);
	uint32_t marked_bytes = 0;
	if (ev->ce) {
		marked_bytes = cc->params->mtu_bytes;
		shrink(cc, (uint64_t)marked_bytes * tune(cc)->mark_cut_pct / 100);
	}
	if (ev->bytes > marked_bytes)
		grow(cc, ev->bytes - marked_bytes);
}

/* A trimmed packet costs its size: it is a mark that the queue has no room for, and one per packet. Gaps and timeouts
 * come in bursts long after the fact; unless told otherwise they halve the window at most once per base RTT. */
static void on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	struct mprdma *s = state(cc);

	if (ev->kind == WEFT_CC_LOSS_TRIM || !tune(cc)->loss_halves) {
		shrink(cc, ev->bytes);
		return;
	}
	if ((uint32_t)now - s->cut_ns < s->brtt_ns)
		return;
	s->cut_ns = (uint32_t)now;
	s->growth = 0;
	shrink(cc, cc->cwnd_bytes / 2);
}

static void view(const struct weft_cc *cc, struct weft_cc_view *view)
{
	*view = (struct weft_cc_view){.decreases = ((const struct mprdma *)cc->state)->decreases};
}

#define TUNE(name, help, def, min, max)                                                                                \
	{                                                                                                              \
#name, help, def, min, max, offsetof(struct mprdma_tune, name), WEFT_PARAM_U32                         \
	}

static const struct weft_param tunes[] = {
	TUNE(max_cwnd_pct, "largest and initial window, percent of the BDP", 150, 1, 10000),
	TUNE(mark_cut_pct, "a marked ACK costs this percent of a packet", 50, 1, 100),
	{"loss_halves", "a loss that is no trim halves the window, once per base RTT; off: costs a packet", 1, 0, 1,
	 offsetof(struct mprdma_tune, loss_halves), WEFT_PARAM_BOOL},
	{NULL},
};

const struct weft_cc_ops weft_cc_mprdma = {
	.name = "mprdma",
	.help = "DCTCP in MP-RDMA's per-ACK form",
	.tunes = tunes,
	.tune_size = sizeof(struct mprdma_tune),
	.state_size = sizeof(struct mprdma),
	.init = init,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.view = view,
};
