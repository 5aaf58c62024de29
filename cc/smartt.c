/* SPDX-License-Identifier: BSD-3-Clause */
/* SMaRTT: sender-based, window-based congestion control from ECN marks, RTTs and trimmed packets (paper section III,
 * Algorithms 1-4, equations 1-3). Names in quotes are the paper's. doc/reference/algorithms.md lists the constants the
 * paper leaves open and every place where this differs from its pseudo-code, with reasons. */
#include "smartt_core.h"

/* Algorithm 2 lines 5-12: the window becomes what got through in one trtt. */
static void adapt(struct weft_cc *cc, uint64_t inflight_bytes, weft_ns now)
{
	struct smartt *s = smartt_state(cc);

	smartt_set_cwnd(cc, (uint64_t)s->acked_bytes * smartt_tune(cc)->qa_scaling_pct / 100);
	s->streak_bytes = smartt_ignored_bytes(inflight_bytes);
	s->pending = 0;
	s->quick_adapts++;
	s->trigger = 0;
	smartt_measure(s, now);
}

static __attribute__((noinline)) void on_ignored(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (!smartt_ignore(smartt_state(cc), ev->bytes, now))
		smartt_react(cc, ev, now);
}

static __attribute__((noinline)) void on_window_end(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct smartt *s = smartt_state(cc);

	if (smartt_triggered(cc, s, ev->rtt_ns, s->brtt_ns, s->measuring)) {
		adapt(cc, ev->inflight_bytes, now);
		return;
	}
	smartt_measure(s, now);
	smartt_react(cc, ev, now);
}

static __attribute__((noinline)) void on_odd_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct weft_cc_ack even = smartt_make_common(cc, ev);

	smartt_handle_ack(cc, &even, now, on_ignored, on_window_end, smartt_react);
}

static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (smartt_is_odd(cc, ev))
		on_odd_ack(cc, ev, now);
	else
		smartt_handle_ack(cc, ev, now, on_ignored, on_window_end, smartt_react);
}

/* Algorithm 4 lines 3 and 15-22. In the ignore phase no loss costs anything: sec. III-E ignores all congestion
 * information about what was in flight, although line 16 stands before the test. Growth was collected for the window as
 * it is; divided by a much smaller one it would count many times over. */
static void on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	struct smartt *s = smartt_state(cc);
	bool trim = ev->kind == WEFT_CC_LOSS_TRIM;
	bool ignored = smartt_ignore(s, ev->bytes, now);

	if (trim)
		s->trigger = 1;
	if (ignored)
		return;
	smartt_apply(cc, s->pending);
	smartt_set_cwnd(cc, ev->bytes < cc->cwnd_bytes ? cc->cwnd_bytes - ev->bytes : 0);
	s->streak_bytes = 0;
	if (!trim || !smartt_window_over(s, now))
		return;
	if (s->measuring)
		adapt(cc, ev->inflight_bytes, now);
	else
		smartt_measure(s, now);
}

static void init(struct weft_cc *cc, weft_ns now);

/* What all tables of handlers share. */
#define SMARTT_OPS                                                                                                     \
	.tune_size = sizeof(struct smartt_tune), .state_size = sizeof(struct smartt_more), .init = init,               \
	.view = smartt_view
#define SMARTT                                                                                                         \
	SMARTT_OPS, .name = "smartt", .help = "SMaRTT: ECN, delay and trimming, with QuickAdapt and FastIncrease",     \
		    .tunes = smartt_tunes
#define SMARTT2                                                                                                        \
	SMARTT_OPS, .name = "smartt2", .tunes = smartt2_tunes,                                                         \
		    .help = "SMaRTT with a faster ramp, no ignore phase and a target that accounts for coalesced ACKs"
#define SMARTT3                                                                                                        \
	SMARTT_OPS,                                                                                                    \
		.name = "smartt3", .tunes = smartt3_tunes,                                                             \
		.help = "SMaRTT that shares alike near and far, gives way to who was there, and starts by its share"
#define PUBLISHED .on_ack = on_ack, .on_loss = on_loss, .on_sent = smartt_on_sent
#define VARIANT   .on_loss = smartt_variant_on_loss, .on_sent = smartt_variant_on_sent
#define RARE      .on_ack = smartt_rare_on_ack, VARIANT
#define COMMON    .on_ack = smartt_common_on_ack, VARIANT
#define EACH      .on_ack = smartt_each_on_ack, VARIANT

/* The same code; what differs is in smartt_tune.c. */
const struct weft_cc_ops weft_cc_smartt = {SMARTT, PUBLISHED};
const struct weft_cc_ops weft_cc_smartt2 = {SMARTT2, PUBLISHED};
const struct weft_cc_ops weft_cc_smartt3 = {SMARTT3, PUBLISHED};
static const struct weft_cc_ops rare[] = {{SMARTT, RARE}, {SMARTT2, RARE}, {SMARTT3, RARE}};
static const struct weft_cc_ops common[] = {{SMARTT, COMMON}, {SMARTT2, COMMON}, {SMARTT3, COMMON}};
static const struct weft_cc_ops each[] = {{SMARTT, EACH}, {SMARTT2, EACH}, {SMARTT3, EACH}};
static const struct weft_cc_ops *const published[] = {&weft_cc_smartt, &weft_cc_smartt2, &weft_cc_smartt3};

/* The handlers are chosen once, here, by what the options concern. */
static const struct weft_cc_ops *choose(const struct weft_cc *cc)
{
	unsigned member = cc->ops->tunes == smartt3_tunes ? 2 : cc->ops->tunes == smartt2_tunes;

	if (smartt_varies_each_ack(smartt_tune(cc)))
		return &each[member];
	if (smartt_tune(cc)->common_rtt || smartt_tune(cc)->share_pct)
		return &common[member];
	return smartt_varies(smartt_tune(cc)) ? &rare[member] : published[member];
}

static void init(struct weft_cc *cc, weft_ns now)
{
	cc->ops = choose(cc);
	smartt_start(cc, now);
}
