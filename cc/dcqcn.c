/* SPDX-License-Identifier: BSD-3-Clause */
/* DCQCN's reaction point (Zhu et al., SIGCOMM 2015, section 3.1): a rate, cut when congestion is notified and raised by
 * a timer and a byte counter, in the rounds of QCN. Names in quotes are the paper's. Notification packets do not exist
 * here: the first marked ACK in `cnp_ns` stands for one. doc/reference/algorithms.md lists the departures. */
#include <stdbool.h>

#include "bdp.h"
#include "cc_ops.h"

enum {
	ALPHA_ONE = 1 << 16,
	ROUNDS_MAX = 255,
	CATCH_UP_MAX = 4096, /* timer expiries made up for after an idle time; by then everything has settled */
	PACE_FRAC = 20,      /* weft_cc.pace */
	BYTE_ROUND_NS = 2000000,
};

struct dcqcn {
	uint64_t current_bps; /* "R_C" */
	uint64_t target_bps;  /* "R_T" */
	weft_ns notified_ns;  /* last notification taken */
	weft_ns timer_ns;     /* start of the running timer round */
	weft_ns alpha_ns;     /* start of the running period without notifications */
	uint32_t alpha;       /* 1/ALPHA_ONE */
	uint32_t sent_bytes;  /* in the running byte counter round */
	uint32_t brtt_ns;
	uint8_t timer_rounds, byte_rounds; /* "T" and "BC" */
	uint16_t decreases;                /* for traces */
};
_Static_assert(sizeof(struct dcqcn) <= WEFT_CC_STATE_MAX, "fits the connection");

static struct dcqcn *state(struct weft_cc *cc)
{
	return (struct dcqcn *)cc->state;
}

static const struct dcqcn_tune *tune(const struct weft_cc *cc)
{
	return cc->params->tune;
}

static uint64_t share(const struct weft_cc *cc, uint32_t ppm)
{
	return cc->params->link_bps / 1000 * ppm / 1000;
}

/* The window only keeps the connection's record bounded; the pace is the control. */
static void rescale(struct weft_cc *cc, weft_ns brtt_ns)
{
	struct dcqcn *s = state(cc);

	s->brtt_ns = cc_brtt_ns(brtt_ns);
	cc->cwnd_bytes =
		cc_window_bytes(cc->params, cc_bdp_bytes(cc->params->link_bps, s->brtt_ns), tune(cc)->cwnd_pct);
}

static void publish(struct weft_cc *cc)
{
	struct dcqcn *s = state(cc);
	uint64_t min_bps = share(cc, tune(cc)->min_ppm), link_bps = cc->params->link_bps;

	if (s->target_bps > link_bps)
		s->target_bps = link_bps;
	if (s->current_bps < min_bps)
		s->current_bps = min_bps ? min_bps : 1;
	cc->pace = s->current_bps < link_bps ? cc_clamp32((8 * WEFT_S(1) << PACE_FRAC) / s->current_bps) : 0;
}

static void init(struct weft_cc *cc, weft_ns now)
{
	struct dcqcn *s = state(cc);

	*s = (struct dcqcn){.current_bps = cc->params->link_bps,
			    .target_bps = cc->params->link_bps,
			    .notified_ns = now - tune(cc)->cnp_ns,
			    .timer_ns = now,
			    .alpha_ns = now,
			    .alpha = ALPHA_ONE};
	rescale(cc, cc->params->brtt_ns);
	publish(cc);
}

/* Equations 1 and 2, and what comes with them. */
static void notified(struct weft_cc *cc, weft_ns now)
{
	struct dcqcn *s = state(cc);

	if (now - s->notified_ns < tune(cc)->cnp_ns)
		return;
	s->notified_ns = s->timer_ns = s->alpha_ns = now;
	s->sent_bytes = 0;
	s->timer_rounds = s->byte_rounds = 0;
	s->target_bps = s->current_bps;
	s->current_bps -= s->current_bps / (2 * ALPHA_ONE) * s->alpha;
	s->alpha += (ALPHA_ONE - s->alpha) >> tune(cc)->g_shift;
	s->decreases++;
	publish(cc);
}

/* One round of the timer or the byte counter is over: fast recovery, additive or hyper increase (equations 3 and 4). */
static void increase(struct weft_cc *cc)
{
	struct dcqcn *s = state(cc);
	uint32_t most = s->timer_rounds > s->byte_rounds ? s->timer_rounds : s->byte_rounds;
	uint32_t least = s->timer_rounds < s->byte_rounds ? s->timer_rounds : s->byte_rounds;
	uint32_t f = tune(cc)->rounds;

	if (least > f)
		s->target_bps += (least - f) * share(cc, tune(cc)->hai_ppm);
	else if (most > f)
		s->target_bps += share(cc, tune(cc)->ai_ppm);
	if (s->target_bps > cc->params->link_bps)
		s->target_bps = cc->params->link_bps;
	s->current_bps = (s->current_bps + s->target_bps + 1) / 2;
}

/* Periods of `period_ns` that ended since *start_ns, which moves on to the running one. */
static uint32_t elapsed(weft_ns *start_ns, uint32_t period_ns, weft_ns now)
{
	uint64_t n = now > *start_ns ? (now - *start_ns) / period_ns : 0;

	*start_ns += n * period_ns;
	return n < CATCH_UP_MAX ? (uint32_t)n : CATCH_UP_MAX;
}

/* The published 10 MB are what the paper's 40 Gb/s carry in 2 ms: other links get the same time. */
static uint32_t byte_round_bytes(const struct weft_cc *cc)
{
	uint64_t bytes = cc->params->link_bps / 8 / (WEFT_S(1) / BYTE_ROUND_NS);

	if (tune(cc)->byte_counter)
		return tune(cc)->byte_counter;
	return bytes ? cc_clamp32(bytes) : 1;
}

/* The timers have no events of their own: what expired since the last event is made up for. */
static void tick(struct weft_cc *cc, uint32_t sent_bytes, weft_ns now)
{
	struct dcqcn *s = state(cc);
	uint32_t quiet = elapsed(&s->alpha_ns, tune(cc)->alpha_ns, now);
	uint32_t rounds = elapsed(&s->timer_ns, tune(cc)->timer_ns, now);
	bool byte_round = false;

	for (; quiet && s->alpha; quiet--)
		s->alpha -= (s->alpha + (1u << tune(cc)->g_shift) - 1) >> tune(cc)->g_shift;
	if (s->current_bps >= cc->params->link_bps)
		return;
	uint32_t round_bytes = byte_round_bytes(cc);
	s->sent_bytes += sent_bytes;
	if (s->sent_bytes >= round_bytes) {
		s->sent_bytes -= round_bytes;
		s->byte_rounds += s->byte_rounds < ROUNDS_MAX;
		byte_round = true;
		increase(cc);
	}
	if (!rounds && !byte_round)
		return;
	for (; rounds && s->current_bps < cc->params->link_bps; rounds--) {
		s->timer_rounds += s->timer_rounds < ROUNDS_MAX;
		increase(cc);
	}
	publish(cc);
}

static void on_sent(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now)
{
	tick(cc, ev->bytes, now);
}

static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (ev->brtt_ns != state(cc)->brtt_ns)
		rescale(cc, ev->brtt_ns);
	tick(cc, 0, now);
	if (ev->ce)
		notified(cc, now);
}

/* The paper's fabric loses nothing. In one that does, a loss is taken for a notification. */
static void on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	tick(cc, 0, now);
	notified(cc, now);
}

static void view(const struct weft_cc *cc, struct weft_cc_view *view)
{
	*view = (struct weft_cc_view){.decreases = ((const struct dcqcn *)cc->state)->decreases};
}

#define TUNE(name, help, def, min, max)                                                                                \
	{                                                                                                              \
#name, help, def, min, max, offsetof(struct dcqcn_tune, name), WEFT_PARAM_U32                          \
	}

static const struct weft_param tunes[] = {
	TUNE(cnp_ns, "at most one notification in this time, ns", 50000, 0, 1000000000),
	TUNE(alpha_ns, "alpha decays once in this time without notifications, ns", 55000, 1, 1000000000),
	TUNE(timer_ns, "a round of the increase timer, ns", 55000, 1, 1000000000),
	TUNE(byte_counter, "a round of the byte counter, bytes; 0: 2 ms of the link", 0, 0, 1000000000),
	TUNE(rounds, "rounds of fast recovery", 5, 1, 100),
	TUNE(ai_ppm, "additive increase, millionths of the link rate", 1000, 1, 1000000),
	TUNE(hai_ppm, "hyper increase, millionths of the link rate", 10000, 1, 1000000),
	TUNE(g_shift, "gain of alpha, 1/2^n", 8, 1, 16),
	TUNE(min_ppm, "smallest rate, millionths of the link rate", 1000, 1, 1000000),
	TUNE(cwnd_pct, "constant window, percent of the BDP", 1000, 1, 10000),
	{NULL},
};

const struct weft_cc_ops weft_cc_dcqcn = {
	.name = "dcqcn",
	.help = "DCQCN: RoCEv2's rate control by ECN marks",
	.tunes = tunes,
	.tune_size = sizeof(struct dcqcn_tune),
	.state_size = sizeof(struct dcqcn),
	.init = init,
	.on_sent = on_sent,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.view = view,
};
