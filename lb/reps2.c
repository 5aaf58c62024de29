/* SPDX-License-Identifier: BSD-3-Clause */
/* "reps2": REPS that goes by how long packets waited, too. It also leaves out entropies whose packets came late without
 * a mark, the stricter the fewer packets are left: queues of random spraying grow for as long as a link is full, and
 * where a BDP has hundreds of packets they are long before switches mark. It keeps entropies whose packets were marked
 * and came as early as others: a random path would be no better. It gives up few at a time, as what that changes shows
 * a round trip later. And in place of an entropy it gives up it uses the best of the last round trip once more. */
#include "likely.h"
#include "reps.h"

enum {
	MEAN_SHIFT = 4, /* the mean wait counts 2^-4 ns, and a sample weighs as much */
	WAIT_MAX_NS = 1 << 26,
	WAIT_NONE_NS = WAIT_MAX_NS + 1,
	SINCE_MOVE_START = 1 << 30, /* no mark gave anything up yet */
	END_PKTS = 8,               /* what chance and the last hop have in a queue */
};

/* What it has behind the ring of REPS. */
struct waits {
	uint32_t mean;          /* of what was measured, 2^-MEAN_SHIFT ns */
	uint32_t trimmed_ticks; /* when the last NACK came for a packet trimmed before the last hop; 0: none did */
	uint32_t best_ns;       /* shortest wait of the last unmarked packets; WAIT_NONE_NS: none, or used again */
	uint32_t since_best;    /* packets answered since, modulo 2^32 */
	uint32_t since_move;    /* the same since a mark gave an entropy up, but one that move_pkts did not bind */
	uint16_t best_ev;       /* whose wait best_ns is */
};
_Static_assert(sizeof(struct waits) % 8 == 0, "the state stays a multiple of 8");

static size_t state_bytes(const struct weft_lb_params *params)
{
	return reps_state_bytes(params) + sizeof(struct waits);
}

static inline struct waits *waits(struct reps *s)
{
	return (struct waits *)(void *)&s->ring[(s->mask + 2u) & ~1u];
}

static void init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
	reps_init(lb, seed, now);
	*waits(reps_state(lb)) = (struct waits){.best_ns = WAIT_NONE_NS, .since_move = SINCE_MOVE_START};
}

/* Far above the mean, so that most paths are better, and by more packets than chance and the last hop have in a queue.
 * Where the latter is long against a base RTT, marks come earlier. */
static inline bool is_late(const struct weft_lb *lb, uint32_t mean, uint32_t wait_ns)
{
	const struct weft_lb_params *params = lb->params;

	return ((uint64_t)wait_ns << MEAN_SHIFT) * 100 > (uint64_t)mean * reps_tune(lb)->late_pct &&
	       (uint64_t)wait_ns * params->bdp_pkts > params->brtt_ns * reps_tune(lb)->late_pkts;
}

/* Whether the next packet on that path may be the one that the end of the message waits for: what the packets behind it
 * take to leave hides how late it is, up to that; half of it, as paths grow no better meanwhile. */
static __attribute__((noinline)) bool is_late_for_end(const struct weft_lb *lb, uint32_t mean_ns, uint32_t wait_ns,
						      weft_ns left_ns)
{
	const struct weft_lb_params *params = lb->params;
	uint64_t share = reps_tune(lb)->late_left_pct;
	uint64_t hidden_ns = params->brtt_ns * END_PKTS / params->bdp_pkts + left_ns * share / 100;

	return share && wait_ns > mean_ns && wait_ns - mean_ns > hidden_ns;
}

/* Some path is so bad that packets are trimmed on it. Then a random one is likelier to be bad than a late one is. The
 * time is compared modulo 73 min, so a trim may count again after that. */
static bool trimmed_lately(const struct weft_lb *lb, const struct waits *w, weft_ns now)
{
	return w->trimmed_ticks &&
	       reps_ticks(now) - w->trimmed_ticks <= reps_ticks(lb->params->brtt_ns * reps_tune(lb)->late_trim_brtts);
}

/* Whether a mark says something of the path. Where all paths have queues a mark is a matter of chance, and the random
 * path in place of a marked one would unbalance what recycling has balanced. */
static bool mark_counts(const struct weft_lb *lb, uint32_t mean, uint32_t wait_ns)
{
	return ((uint64_t)wait_ns << MEAN_SHIFT) * 100 > (uint64_t)mean * reps_tune(lb)->mark_wait_pct;
}

/* Whether what the last mark changed may not show yet. All that share a queue hear of it, and what they move, they move
 * blindly: as few as this is less than a queue holds. Where packets are trimmed or one waits far longer than others, a
 * path is so much worse than the rest that all may leave it. */
static bool moved_lately(const struct weft_lb *lb, const struct waits *w, uint32_t wait_ns, weft_ns now)
{
	bool sure = ((uint64_t)wait_ns << MEAN_SHIFT) * 100 > (uint64_t)w->mean * reps_tune(lb)->move_sure_pct;

	return w->since_move < reps_tune(lb)->move_pkts && !sure && !trimmed_lately(lb, w, now);
}

static inline void note_best(const struct weft_lb *lb, struct waits *w, uint16_t ev, uint32_t wait_ns)
{
	if (wait_ns > w->best_ns && w->since_best < lb->params->bdp_pkts)
		return;
	w->best_ns = wait_ns;
	w->best_ev = ev;
	w->since_best = 0;
}

/* Its path is not what it was. */
static void forget_best(struct waits *w, uint16_t ev)
{
	if (w->best_ev == ev)
		w->best_ns = WAIT_NONE_NS;
}

/* In place of an entropy that was given up: the best since the last use, of at most a BDP of packets ago. Once. */
static void use_best(struct weft_lb *lb, struct waits *w, weft_ns now)
{
	const struct reps *s = reps_state(lb);

	if (!reps_tune(lb)->move_to_best || w->best_ns == WAIT_NONE_NS || w->since_best > lb->params->bdp_pkts ||
	    s->frozen || s->exploring)
		return;
	reps_feedback(lb, w->best_ev, WEFT_LB_OK, now);
	w->best_ns = WAIT_NONE_NS;
}

static __attribute__((noinline)) void answered_marked(struct weft_lb *lb, uint16_t ev, uint32_t wait_ns, weft_ns now)
{
	struct waits *w = waits(reps_state(lb));

	if (!mark_counts(lb, w->mean, wait_ns) || moved_lately(lb, w, wait_ns, now)) {
		reps_feedback(lb, ev, WEFT_LB_OK, now);
		return;
	}
	if (w->since_move >= reps_tune(lb)->move_pkts)
		w->since_move = 0;
	reps_feedback(lb, ev, WEFT_LB_CE, now);
	forget_best(w, ev);
	use_best(lb, w, now);
}

/* A frozen ring takes what is alive, late or not. */
static void answered(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns wait_ns, weft_ns left_ns, weft_ns now)
{
	struct reps *s = reps_state(lb);
	struct waits *w = waits(s);
	uint32_t wait = wait_ns < WAIT_MAX_NS ? (uint32_t)wait_ns : WAIT_MAX_NS;

	w->since_move++;
	w->since_best++;
	if (unlikely(fb == WEFT_LB_CE)) {
		answered_marked(lb, ev, wait, now);
		return;
	}
	w->mean += wait - (w->mean >> MEAN_SHIFT);
	bool late = is_late(lb, w->mean, wait) ||
		    (unlikely(left_ns != WEFT_NEVER) && is_late_for_end(lb, w->mean >> MEAN_SHIFT, wait, left_ns));
	if (unlikely(late) && !s->frozen && !trimmed_lately(lb, w, now)) {
		forget_best(w, ev);
		use_best(lb, w, now);
		return;
	}
	note_best(lb, w, ev, wait);
	reps_feedback(lb, ev, WEFT_LB_OK, now);
}

/* Where no wait was measured. */
static void feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	struct waits *w = waits(reps_state(lb));

	if (unlikely(fb == WEFT_LB_TRIM))
		w->trimmed_ticks = reps_ticks(now);
	if (unlikely(fb == WEFT_LB_TRIM || fb == WEFT_LB_TIMEOUT))
		forget_best(w, ev);
	reps_feedback(lb, ev, fb, now);
}

static const struct weft_param tunes[] = {
	REPS_TUNES,
	REPS_TUNE(late_pct, U32, late_pct,
		  "an entropy is not used again after a packet that waited longer than this share of the mean wait, %, "
		  "and late_pkts",
		  200, 0, 1000000),
	REPS_TUNE(late_pkts, U32, late_pkts, "... and longer than so many full packets take on the link", 24, 0, 65536),
	REPS_TUNE(
		late_left_pct, U32, late_left_pct,
		"... or, in a message's last round trip, longer than the mean wait by 8 full packets and this share of "
		"the time in which what is left leaves, %; 0: no such bound",
		50, 0, 1000),
	REPS_TUNE(late_trim_brtts, U32, late_trim_brtts,
		  "... but neither bound counts for so many base RTTs after a packet was trimmed before the last hop",
		  4, 0, 1000000),
	REPS_TUNE(mark_wait_pct, U32, mark_wait_pct,
		  "an entropy is used again after a marked packet that waited no longer than this share of the mean "
		  "wait, %; 0: only if it did not wait",
		  120, 0, 1000000),
	REPS_TUNE(move_pkts, U32, move_pkts,
		  "after a mark gave an entropy up no other does before so many more packets were answered, 0: no such "
		  "limit; none while late_trim_brtts counts, and ...",
		  12, 0, 65536),
	REPS_TUNE(move_sure_pct, U32, move_sure_pct,
		  "... none for a packet that waited longer than this share of the mean wait, %", 500, 0, 1000000),
	REPS_TUNE(
		move_to_best, BOOL, move_to_best,
		"in place of an entropy given up the one with the shortest wait since the last such use, or since the "
		"best before it was a BDP of packets old, is used once more",
		1, 0, 1),
	{NULL},
};

const struct weft_lb_ops weft_lb_reps2 = {
	.name = "reps2",
	.help = "REPS that goes by how long packets waited, too",
	.tunes = tunes,
	.tune_size = sizeof(struct reps_tune),
	.state_size = sizeof(struct reps) + RING * sizeof(uint16_t) + sizeof(struct waits),
	.state_bytes = state_bytes,
	.init = init,
	.pick = reps_pick,
	.feedback = feedback,
	.answered = answered,
	.view = reps_view,
};
