/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions per event: SMaRTT with one row per core case, and the other algorithms. Each call starts from a
 * connection prepared for its case, and afterwards the window must have moved the way the case says. */
#include <stdbool.h>

#include "cc_ops.h"
#include "perf_case.h"

enum { BRTT_NS = 12000, MTU_BYTES = 4198, SMARTT_BUDGET = 94 };
enum move { UP, DOWN, SAME };

struct cc_case {
	void (*prepare)(struct weft_cc *cc, weft_ns *now);
	void (*event)(struct weft_cc *cc, const struct cc_case *c, weft_ns now); /* the one that is counted */
	weft_ns rtt_ns;
	bool ce;
	enum move move;                /* of the window */
	const struct weft_cc_ops *ops; /* NULL: SMaRTT */
};

static _Alignas(8) uint8_t tune[256];
static struct weft_cc_params params = {
	.link_bps = 800000000000, .brtt_ns = BRTT_NS, .mtu_bytes = MTU_BYTES, .trimming = true, .tune = tune};

static __attribute__((noinline)) void measured_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	cc->ops->on_ack(cc, ev, now);
}

static __attribute__((noinline)) void measured_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	cc->ops->on_loss(cc, ev, now);
}

static __attribute__((noinline)) void measured_sent(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now)
{
	cc->ops->on_sent(cc, ev, now);
}

static struct weft_cc_ack ack(weft_ns rtt_ns, bool ce)
{
	return (struct weft_cc_ack){
		.bytes = MTU_BYTES, .inflight_bytes = 50 * MTU_BYTES, .rtt_ns = rtt_ns, .brtt_ns = BRTT_NS, .ce = ce};
}

static void acks(struct weft_cc *cc, weft_ns *now, weft_ns rtt_ns, bool ce, unsigned n)
{
	struct weft_cc_ack ev = ack(rtt_ns, ce);

	while (n--) {
		*now += 10;
		cc->ops->on_ack(cc, &ev, *now);
	}
}

static void trims(struct weft_cc *cc, weft_ns now, unsigned n)
{
	struct weft_cc_loss ev = {WEFT_CC_LOSS_TRIM, MTU_BYTES, 50 * MTU_BYTES};

	while (n--)
		cc->ops->on_loss(cc, &ev, now);
}

static void at_cap(struct weft_cc *cc, weft_ns *now)
{
	acks(cc, now, 15000, false, 5);
}

/* Half the window is gone and the QuickAdapt window has just begun. */
static void below_cap(struct weft_cc *cc, weft_ns *now)
{
	trims(cc, *now, 200);
	*now += BRTT_NS;
	acks(cc, now, 15000, true, 5);
}

/* Enough growth is collected that the next such ACK applies it. */
static void growth_due(struct weft_cc *cc, weft_ns *now, weft_ns rtt_ns)
{
	struct weft_cc after;

	below_cap(cc, now);
	do {
		acks(cc, now, rtt_ns, false, 1);
		after = *cc;
		acks(&after, now, rtt_ns, false, 1);
	} while (after.cwnd_bytes == cc->cwnd_bytes);
}

static void fair_due(struct weft_cc *cc, weft_ns *now)
{
	growth_due(cc, now, 30000);
}

static void proportional_due(struct weft_cc *cc, weft_ns *now)
{
	growth_due(cc, now, 15000);
}

/* The average is above the target, the last decrease long ago and the QuickAdapt window young. */
static void congested(struct weft_cc *cc, weft_ns *now)
{
	below_cap(cc, now);
	*now += 2 * BRTT_NS;
	acks(cc, now, 30000, false, 200);
}

static void just_decreased(struct weft_cc *cc, weft_ns *now)
{
	congested(cc, now);
	acks(cc, now, 30000, true, 1);
}

/* The next event ends a QuickAdapt window in which packets were trimmed. */
static void adapt_due(struct weft_cc *cc, weft_ns *now)
{
	at_cap(cc, now);
	trims(cc, *now, 100);
	*now += 2 * BRTT_NS;
}

static void window_ends(struct weft_cc *cc, weft_ns *now)
{
	at_cap(cc, now);
	*now += 2 * BRTT_NS;
}

static void adapted(struct weft_cc *cc, weft_ns *now)
{
	adapt_due(cc, now);
	acks(cc, now, 30000, true, 1);
}

static void fast(struct weft_cc *cc, weft_ns *now)
{
	struct weft_cc_view view;

	below_cap(cc, now);
	do {
		acks(cc, now, BRTT_NS, false, 1);
		cc->ops->view(cc, &view);
	} while (view.fast_increases == 0);
}

/* Long after the last decrease. */
static void rested(struct weft_cc *cc, weft_ns *now)
{
	below_cap(cc, now);
	*now += 10 * BRTT_NS;
}

static void just_cut(struct weft_cc *cc, weft_ns *now)
{
	rested(cc, now);
	acks(cc, now, 30000, true, 1);
}

static bool moved(uint32_t before, uint32_t after, enum move move)
{
	return move == UP ? after > before : move == DOWN ? after < before : after == before;
}

static void event_ack(struct weft_cc *cc, const struct cc_case *c, weft_ns now)
{
	struct weft_cc_ack ev = ack(c->rtt_ns, c->ce);

	measured_ack(cc, &ev, now);
}

static void event_trim(struct weft_cc *cc, const struct cc_case *c, weft_ns now)
{
	struct weft_cc_loss ev = {WEFT_CC_LOSS_TRIM, MTU_BYTES, 50 * MTU_BYTES};

	measured_loss(cc, &ev, now);
}

static void event_sent(struct weft_cc *cc, const struct cc_case *c, weft_ns now)
{
	struct weft_cc_sent ev = {MTU_BYTES, 51 * MTU_BYTES};

	measured_sent(cc, &ev, now);
}

static int run(const struct perf_case *perf, uint64_t n)
{
	const struct cc_case *c = perf->arg;
	bool good = true;

	const struct weft_cc_ops *ops = c->ops ? c->ops : &weft_cc_smartt;
	weft_param_defaults(ops->tunes, tune);
	for (uint64_t i = 0; i < n; i++) {
		struct weft_cc cc = {.ops = ops, .params = &params};
		weft_ns now = 1000000 + i;
		cc.ops->init(&cc, now);
		c->prepare(&cc, &now);
		uint32_t before = cc.cwnd_bytes;
		c->event(&cc, c, now);
		good &= moved(before, cc.cwnd_bytes, c->move);
	}
	return good;
}

#define ACK(prepare, rtt_ns, ce, move) (&(const struct cc_case){prepare, event_ack, rtt_ns, ce, move, NULL})
#define OTHER(cc, prepare, event, rtt_ns, ce, move)                                                                    \
	(&(const struct cc_case){prepare, event, rtt_ns, ce, move, &weft_cc_##cc})

int main(int argc, char **argv)
{
	const struct perf_case cases[] = {
		{"cap", SMARTT_BUDGET, "ACK, window at its cap", run, ACK(at_cap, 15000, false, SAME)},
		{"noop", SMARTT_BUDGET, "ACK marked, RTT below target", run, ACK(below_cap, 15000, true, SAME)},
		{"fair", SMARTT_BUDGET, "ACK, fair increase", run, ACK(below_cap, 30000, false, SAME)},
		{"fair_due", SMARTT_BUDGET, "ACK, fair increase applied", run, ACK(fair_due, 30000, false, UP)},
		{"prop", SMARTT_BUDGET, "ACK, proportional increase", run, ACK(below_cap, 15000, false, SAME)},
		{"prop_due", SMARTT_BUDGET, "ACK, proportional increase applied", run,
		 ACK(proportional_due, 15000, false, UP)},
		{"decrease", SMARTT_BUDGET, "ACK, multiplicative decrease", run, ACK(congested, 30000, true, DOWN)},
		{"held", SMARTT_BUDGET, "ACK, decreased less than a base RTT ago", run,
		 ACK(just_decreased, 30000, true, SAME)},
		{"window", SMARTT_BUDGET, "ACK, QuickAdapt window ends unused", run,
		 ACK(window_ends, 15000, true, SAME)},
		{"adapt", SMARTT_BUDGET, "ACK, QuickAdapt", run, ACK(adapt_due, 30000, true, DOWN)},
		{"ignored", SMARTT_BUDGET, "ACK, ignored after QuickAdapt", run, ACK(adapted, 30000, true, SAME)},
		{"fast", SMARTT_BUDGET, "ACK, fast increase", run, ACK(fast, BRTT_NS, false, UP)},
		{"trim", SMARTT_BUDGET, "trimmed packet", run, OTHER(smartt, below_cap, event_trim, 0, false, DOWN)},
		{"sent", SMARTT_BUDGET, "packet sent", run, OTHER(smartt, below_cap, event_sent, 0, false, SAME)},
		{"smartt3", 0, "smartt3: ACK, proportional increase", run,
		 OTHER(smartt3, below_cap, event_ack, 15000, false, UP)},
		{"smartt3_cut", 0, "smartt3: ACK, multiplicative decrease", run,
		 OTHER(smartt3, congested, event_ack, 30000, true, DOWN)},
		{"smartt3_sent", 0, "smartt3: packet sent", run, OTHER(smartt3, below_cap, event_sent, 0, false, SAME)},
		{"mprdma", 0, "mprdma: ACK", run, OTHER(mprdma, below_cap, event_ack, 15000, false, SAME)},
		{"mprdma_mark", 0, "mprdma: ACK marked", run, OTHER(mprdma, below_cap, event_ack, 15000, true, DOWN)},
		{"mprdma_trim", 0, "mprdma: trimmed packet", run, OTHER(mprdma, below_cap, event_trim, 0, false, DOWN)},
		{"swift", 0, "swift: ACK, increase", run, OTHER(swift, rested, event_ack, 15000, false, UP)},
		{"swift_cut", 0, "swift: ACK, decrease", run, OTHER(swift, rested, event_ack, 30000, false, DOWN)},
		{"swift_held", 0, "swift: ACK, decreased less than an RTT ago", run,
		 OTHER(swift, just_cut, event_ack, 30000, false, SAME)},
		{"dcqcn", 0, "dcqcn: ACK", run, OTHER(dcqcn, just_cut, event_ack, 15000, false, SAME)},
		{"dcqcn_mark", 0, "dcqcn: ACK marked, a notification", run,
		 OTHER(dcqcn, rested, event_ack, 15000, true, SAME)},
		{"dcqcn_sent", 0, "dcqcn: packet sent", run, OTHER(dcqcn, just_cut, event_sent, 0, false, SAME)},
		{"fixed", 0, "fixed: ACK", run, OTHER(fixed, at_cap, event_ack, 15000, true, SAME)},
		{NULL},
	};

	return perf_main(argc, argv, cases);
}
