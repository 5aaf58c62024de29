/* SPDX-License-Identifier: BSD-3-Clause */
/* Swift: congestion control from delay alone (Kumar et al., SIGCOMM 2020, section 3, Algorithm 1). Names in quotes are
 * the paper's. doc/reference/algorithms.md lists the departures. */
#include <stdbool.h>

#include "bdp.h"
#include "cc_ops.h"

enum {
	FRAC = 16,      /* fraction bits of the window, of packets and of factors */
	PACE_FRAC = 20, /* weft_cc.pace */
	RTT_MAX_NS = 1 << 29,
};

struct swift {
	uint64_t cwnd;         /* 2^-FRAC bytes; may be below a packet, unlike what the engine reads */
	uint64_t max_cwnd;     /* the same unit */
	uint32_t decreased_ns; /* "t_last_decrease", low 32 bits */
	uint32_t timeout_ns;   /* last expiry that was counted, low 32 bits */
	uint32_t rtt_ns;       /* last sample */
	uint32_t brtt_ns;
	uint32_t base_target_ns;
	uint32_t fs_alpha_ns; /* flow scaling: alpha for windows in packets, and -beta */
	uint32_t fs_beta_ns;
	uint16_t decreases; /* for traces */
	uint8_t retransmit_cnt;
};
_Static_assert(sizeof(struct swift) <= WEFT_CC_STATE_MAX, "fits the connection");

static struct swift *state(struct weft_cc *cc)
{
	return (struct swift *)cc->state;
}

static const struct swift_tune *tune(const struct weft_cc *cc)
{
	return cc->params->tune;
}

/* Square root, rounded down. */
static uint32_t root(uint64_t x)
{
	uint64_t r, next = x ? UINT64_C(1) << ((65 - __builtin_clzll(x)) / 2) : 0;

	do {
		r = next;
		next = r ? (r + x / r) / 2 : 0;
	} while (next < r);
	return (uint32_t)r;
}

/* range / sqrt(packets / 100) in 1/FRAC; `packets_pct` > 0. */
static uint64_t over_root(uint64_t range, uint32_t packets_pct)
{
	return (range << FRAC) / root(((uint64_t)packets_pct << 2 * FRAC) / 100);
}

/* What depends on the base RTT. Flow scaling: alpha = range / (1/sqrt(min) - 1/sqrt(max)), beta = -alpha / sqrt(max)
 * (section 3.1, "target delay window", equation 3). */
static void rescale(struct weft_cc *cc, weft_ns brtt_ns)
{
	struct swift *s = state(cc);
	const struct swift_tune *t = tune(cc);
	uint64_t bdp_bytes;

	s->brtt_ns = cc_brtt_ns(brtt_ns);
	s->base_target_ns = (uint32_t)((uint64_t)s->brtt_ns * t->target_pct / 100);
	uint64_t range_ns = (uint64_t)s->brtt_ns * t->fs_range_pct / 100;
	uint32_t max_pct = t->fs_max_pct > t->fs_min_pct ? t->fs_max_pct : t->fs_min_pct + 1;
	uint64_t span = over_root(1 << FRAC, t->fs_min_pct) - over_root(1 << FRAC, max_pct);
	s->fs_alpha_ns = cc_clamp32((range_ns << FRAC) / (span ? span : 1));
	s->fs_beta_ns = cc_clamp32(over_root(s->fs_alpha_ns, max_pct));
	bdp_bytes = cc_bdp_bytes(cc->params->link_bps, s->brtt_ns);
	s->max_cwnd = (uint64_t)cc_window_bytes(cc->params, bdp_bytes, t->max_cwnd_pct) << FRAC;
}

/* "max(0, min(alpha / sqrt(fcwnd) + beta, fs_range))", on top of the base target. The path's length is in the base RTT
 * already, so there is no term per hop. */
static uint32_t target_ns(const struct weft_cc *cc, const struct swift *s)
{
	uint64_t range_ns = (uint64_t)s->brtt_ns * tune(cc)->fs_range_pct / 100;
	uint32_t root_pkts = root((s->cwnd << FRAC) / cc->params->mtu_bytes); /* FRAC bits */
	uint64_t scaled_ns = ((uint64_t)s->fs_alpha_ns << FRAC) / (root_pkts ? root_pkts : 1);

	scaled_ns = scaled_ns > s->fs_beta_ns ? scaled_ns - s->fs_beta_ns : 0;
	return s->base_target_ns + (uint32_t)(scaled_ns < range_ns ? scaled_ns : range_ns);
}

/* Bounds the window and shows it to the engine: whole packets as a window, less than one as a pace of one packet per
 * rtt / cwnd ("pacing_delay"). */
static void publish(struct weft_cc *cc, uint64_t cwnd)
{
	struct swift *s = state(cc);
	uint64_t packet = (uint64_t)cc->params->mtu_bytes << FRAC;
	uint64_t min_cwnd = packet * tune(cc)->min_cwnd_permille / 1000;

	if (cwnd > s->max_cwnd)
		cwnd = s->max_cwnd;
	s->cwnd = cwnd < min_cwnd ? min_cwnd : cwnd;
	cc->cwnd_bytes = s->cwnd < packet ? cc->params->mtu_bytes : (uint32_t)(s->cwnd >> FRAC);
	cc->pace = 0;
	if (s->cwnd < packet && s->cwnd >> 4)
		cc->pace = cc_clamp32(((uint64_t)s->rtt_ns << (FRAC + PACE_FRAC - 4)) / (s->cwnd >> 4));
}

static void init(struct weft_cc *cc, weft_ns now)
{
	struct swift *s = state(cc);

	*s = (struct swift){.decreased_ns = (uint32_t)now - (1u << 31), .timeout_ns = (uint32_t)now - (1u << 31)};
	rescale(cc, cc->params->brtt_ns);
	s->rtt_ns = s->brtt_ns;
	publish(cc, UINT64_MAX);
}

/* "can_decrease": once per RTT. */
static bool may_decrease(const struct swift *s, weft_ns now)
{
	return (uint32_t)now - s->decreased_ns >= s->rtt_ns;
}

static void decrease(struct weft_cc *cc, uint64_t cut, weft_ns now)
{
	struct swift *s = state(cc);

	if (!may_decrease(s, now))
		return;
	s->decreased_ns = (uint32_t)now;
	s->decreases++;
	publish(cc, s->cwnd - (s->cwnd >> FRAC) * cut);
}

static uint64_t max_cut(const struct weft_cc *cc)
{
	return ((uint64_t)tune(cc)->max_mdf_pct << FRAC) / 100;
}

/* "ai / cwnd x num_acked" packets, or "ai x num_acked" below one packet. */
static void increase(struct weft_cc *cc, uint32_t bytes)
{
	struct swift *s = state(cc);
	uint64_t growth = (uint64_t)bytes * cc->params->mtu_bytes * tune(cc)->ai_pct / 100; /* byte^2 */

	if (s->cwnd < s->max_cwnd)
		publish(cc, s->cwnd + (growth << FRAC) / cc->cwnd_bytes);
}

static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct swift *s = state(cc);

	if (ev->brtt_ns != s->brtt_ns)
		rescale(cc, ev->brtt_ns);
	s->retransmit_cnt = 0;
	if (ev->rtt_ns)
		s->rtt_ns = (uint32_t)(ev->rtt_ns < RTT_MAX_NS ? ev->rtt_ns : RTT_MAX_NS);
	uint32_t target = target_ns(cc, s);
	/* Without a sample nothing speaks against the increase; the last one is old and would hold the window down for
	 * as long as all that arrives has been sent several times. */
	if (!ev->rtt_ns || s->rtt_ns < target) {
		increase(cc, ev->bytes);
	} else {
		uint64_t over = ((uint64_t)(s->rtt_ns - target) << FRAC) * tune(cc)->beta_pct / 100 / s->rtt_ns;
		decrease(cc, over < max_cut(cc) ? over : max_cut(cc), now);
	}
	if (s->cwnd > s->max_cwnd)
		publish(cc, s->cwnd);
}

/* One expiry may tell of many packets; it counts as one of "retransmit_cnt". */
static void on_timeout(struct weft_cc *cc, weft_ns now)
{
	struct swift *s = state(cc);

	if ((uint32_t)now - s->timeout_ns < s->brtt_ns)
		return;
	s->timeout_ns = (uint32_t)now;
	if (++s->retransmit_cnt < tune(cc)->retx_reset) {
		decrease(cc, max_cut(cc), now);
		return;
	}
	s->retransmit_cnt = 0;
	s->decreases++;
	s->decreased_ns = (uint32_t)now;
	publish(cc, 0);
}

static void on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	if (ev->kind == WEFT_CC_LOSS_TIMEOUT) {
		on_timeout(cc, now);
		return;
	}
	state(cc)->retransmit_cnt = 0;
	decrease(cc, max_cut(cc), now);
}

static void view(const struct weft_cc *cc, struct weft_cc_view *view)
{
	const struct swift *s = (const struct swift *)cc->state;

	*view = (struct weft_cc_view){
		.avg_rtt_ns = s->rtt_ns, .target_rtt_ns = target_ns(cc, s), .decreases = s->decreases};
}

#define TUNE(name, help, def, min, max)                                                                                \
	{                                                                                                              \
#name, help, def, min, max, offsetof(struct swift_tune, name), WEFT_PARAM_U32                          \
	}

static const struct weft_param tunes[] = {
	TUNE(target_pct, "base target delay, percent of the base RTT", 150, 101, 1000),
	TUNE(fs_range_pct, "flow scaling, largest addition to the target, percent of the base RTT", 50, 0, 1000),
	TUNE(fs_min_pct, "flow scaling, all of it at this window, percent of a packet", 10, 1, 10000),
	TUNE(fs_max_pct, "flow scaling, none of it at this window, percent of a packet", 10000, 2, 1000000),
	TUNE(ai_pct, "additive increase per RTT, percent of a packet", 100, 1, 10000),
	TUNE(beta_pct, "multiplicative decrease, percent of the excess delay", 80, 1, 100),
	TUNE(max_mdf_pct, "multiplicative decrease, largest cut in percent of the window", 50, 1, 99),
	TUNE(max_cwnd_pct, "largest and initial window, percent of the BDP", 150, 1, 10000),
	TUNE(min_cwnd_permille, "smallest window, thousandths of a packet; below 1000 packets are paced", 10, 1, 1000),
	TUNE(retx_reset, "timeouts in a row that bring the smallest window", 5, 1, 255),
	{NULL},
};

const struct weft_cc_ops weft_cc_swift = {
	.name = "swift",
	.help = "Swift: delay against a target that grows as the window shrinks, paced below a packet",
	.tunes = tunes,
	.tune_size = sizeof(struct swift_tune),
	.state_size = sizeof(struct swift),
	.init = init,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.view = view,
};
