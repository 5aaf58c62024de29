/* SPDX-License-Identifier: BSD-3-Clause */
/* NewReno (RFC 5681, RFC 6582) as TCP ran it when switches' choices were measured with TCP: slow start, congestion
 * avoidance, half the flight once per window of losses, one packet after a timeout. It is told of each lost packet and
 * of all that arrived, so there is nothing to guess from duplicate ACKs: during recovery the window is ssthresh and
 * what was acknowledged beyond the gap has left it, where RFC 6582 inflates the window by the duplicates.
 * doc/reference/algorithms.md lists the departures. */
#include "bdp.h"
#include "cc_ops.h"

enum phase { OPEN, FAST_RECOVERY, AFTER_TIMEOUT };

struct newreno {
	uint32_t brtt_ns; /* what the largest window was computed for */
	uint32_t max_cwnd_bytes;
	uint32_t ssthresh_bytes;
	uint32_t recover_bytes; /* of what was in flight when the loss was found: not acknowledged yet */
	uint32_t acked_bytes;   /* congestion avoidance: since the window last grew */
	uint32_t last_ns;       /* low 32 bits of the last ACK or transmission */
	uint32_t decreases;     /* for traces */
	uint8_t phase;
};
_Static_assert(sizeof(struct newreno) <= WEFT_CC_STATE_MAX, "fits the connection");

static struct newreno *state(struct weft_cc *cc)
{
	return (struct newreno *)cc->state;
}

static const struct newreno_tune *tune(const struct weft_cc *cc)
{
	return cc->params->tune;
}

static void rescale(struct weft_cc *cc, weft_ns brtt_ns)
{
	struct newreno *s = state(cc);

	s->brtt_ns = cc_brtt_ns(brtt_ns);
	s->max_cwnd_bytes =
		cc_window_bytes(cc->params, cc_bdp_bytes(cc->params->link_bps, s->brtt_ns), tune(cc)->max_cwnd_pct);
	cc->cwnd_bytes = cc_clamp_bytes(cc, cc->cwnd_bytes, s->max_cwnd_bytes);
}

/* As a new connection: nothing is known of the path. */
static void begin(struct weft_cc *cc)
{
	struct newreno *s = state(cc);

	s->ssthresh_bytes = UINT32_MAX;
	s->acked_bytes = 0;
	cc->cwnd_bytes =
		cc_clamp_bytes(cc, (uint64_t)tune(cc)->initial_pkts * cc->params->mtu_bytes, s->max_cwnd_bytes);
}

static void init(struct weft_cc *cc, weft_ns now)
{
	*state(cc) = (struct newreno){.last_ns = (uint32_t)now};
	cc->pace = 0;
	cc->cwnd_bytes = UINT32_MAX;
	rescale(cc, cc->params->brtt_ns);
	begin(cc);
}

/* A flow that starts on an idle connection has nothing to do with the last one; with TCP it would have its own. */
static void on_sent(struct weft_cc *cc, const struct weft_cc_sent *ev, weft_ns now)
{
	struct newreno *s = state(cc);
	bool idle = ev->inflight_bytes == ev->bytes && (uint32_t)now - s->last_ns > s->brtt_ns;

	s->last_ns = (uint32_t)now;
	if (tune(cc)->restart && idle && s->phase == OPEN)
		begin(cc);
}

/* RFC 5681 sec. 3.1, in bytes as RFC 3465 counts them. */
static void grow(struct weft_cc *cc, uint32_t bytes)
{
	struct newreno *s = state(cc);

	if (cc->cwnd_bytes < s->ssthresh_bytes) {
		uint64_t grown = (uint64_t)cc->cwnd_bytes + bytes;
		cc->cwnd_bytes = cc_clamp_bytes(cc, grown, s->max_cwnd_bytes);
		return;
	}
	s->acked_bytes = cc_clamp32((uint64_t)s->acked_bytes + bytes);
	if (s->acked_bytes < cc->cwnd_bytes)
		return;
	s->acked_bytes -= cc->cwnd_bytes;
	cc->cwnd_bytes = cc_clamp_bytes(cc, (uint64_t)cc->cwnd_bytes + cc->params->mtu_bytes, s->max_cwnd_bytes);
}

/* A window that was not used says nothing about the path (RFC 7661). */
static bool is_limiting(const struct weft_cc *cc, const struct weft_cc_ack *ev)
{
	uint64_t used = ev->inflight_bytes + ev->bytes;
	bool slow_start = cc->cwnd_bytes < ((const struct newreno *)cc->state)->ssthresh_bytes;

	return used < ev->bytes || used >= (slow_start ? cc->cwnd_bytes / 2 : cc->cwnd_bytes - cc->params->mtu_bytes);
}

static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	struct newreno *s = state(cc);
	bool growing = s->phase != FAST_RECOVERY;

	s->last_ns = (uint32_t)now;
	if (cc_brtt_ns(ev->brtt_ns) != s->brtt_ns)
		rescale(cc, ev->brtt_ns);
	if (s->phase != OPEN) {
		s->recover_bytes -= ev->bytes < s->recover_bytes ? ev->bytes : s->recover_bytes;
		s->phase = s->recover_bytes ? s->phase : OPEN;
	}
	if (growing && ev->bytes && is_limiting(cc, ev))
		grow(cc, ev->bytes);
}

/* What was in flight when the loss was found, and half of that, but never below two packets. */
static uint32_t flight(const struct weft_cc_loss *ev)
{
	return cc_clamp32(ev->inflight_bytes > UINT64_MAX - ev->bytes ? UINT64_MAX : ev->inflight_bytes + ev->bytes);
}

static void halve(struct weft_cc *cc, const struct weft_cc_loss *ev)
{
	struct newreno *s = state(cc);
	uint32_t half = flight(ev) / 2, least = 2 * cc->params->mtu_bytes;

	s->ssthresh_bytes = half > least ? half : least;
	s->recover_bytes = flight(ev);
	s->acked_bytes = 0;
	s->decreases++;
}

/* RFC 5681 sec. 3.1 and 5: packets that time out together, and again before what was sent first has arrived, leave
 * ssthresh where the first put it. */
static void timed_out(struct weft_cc *cc, const struct weft_cc_loss *ev)
{
	struct newreno *s = state(cc);

	if (s->phase != AFTER_TIMEOUT)
		halve(cc, ev);
	s->phase = AFTER_TIMEOUT;
	cc->cwnd_bytes = cc->params->mtu_bytes;
}

static void on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	struct newreno *s = state(cc);

	if (ev->kind == WEFT_CC_LOSS_TIMEOUT) {
		timed_out(cc, ev);
		return;
	}
	if (s->phase != OPEN)
		return; /* a partial acknowledgement: of the same window */
	halve(cc, ev);
	s->phase = FAST_RECOVERY;
	if (cc->cwnd_bytes > s->ssthresh_bytes)
		cc->cwnd_bytes = cc_clamp_bytes(cc, s->ssthresh_bytes, s->max_cwnd_bytes);
}

static void view(const struct weft_cc *cc, struct weft_cc_view *view)
{
	*view = (struct weft_cc_view){.decreases = ((const struct newreno *)cc->state)->decreases};
}

static const struct weft_param tunes[] = {
	{"initial_pkts", "initial window, packets", 10, 1, 65536, offsetof(struct newreno_tune, initial_pkts),
	 WEFT_PARAM_U32},
	{"max_cwnd_pct", "largest window, percent of the BDP", 1000, 1, 100000,
	 offsetof(struct newreno_tune, max_cwnd_pct), WEFT_PARAM_U32},
	{"restart", "a connection that was idle for a base RTT begins as a new one", 0, 0, 1,
	 offsetof(struct newreno_tune, restart), WEFT_PARAM_BOOL},
	{NULL},
};

const struct weft_cc_ops weft_cc_newreno = {
	.name = "newreno",
	.help = "TCP NewReno: reacts to losses only; best with dup_ack_threshold=3",
	.tunes = tunes,
	.tune_size = sizeof(struct newreno_tune),
	.state_size = sizeof(struct newreno),
	.init = init,
	.on_sent = on_sent,
	.on_ack = on_ack,
	.on_loss = on_loss,
	.view = view,
};
