/* SPDX-License-Identifier: BSD-3-Clause */
/* Credit-scheduled transport: a credit comes before every packet and crosses the path the packet will take; queues for
 * credits in the fabric drop what the link could not answer with data. The receiver sends credits to everybody who has
 * data and adjusts each sender's rate to what is lost. */
#include "schedule.h"

#include "bdp.h"
#include "spray.h"

enum {
	CREDIT_WIRE_BYTES = 84, /* a credit on the link: a minimum frame */
	PERIOD_BRTTS_MAX = 64,  /* measured round trips beyond that are the sender's idleness */
};

_Static_assert(sizeof(struct credit_loop) <= WEFT_RCC_STATE_MAX, "state fits the connection");

const char schedule_sender[] = "fixed", schedule_sender_set[] = "cwnd_pct=200";

static const struct schedule_tune *tune_of(const struct weft_rcc *rcc)
{
	return rcc->params->tune;
}

static struct credit_loop *loop_of(struct weft_rcc *rcc)
{
	return (struct credit_loop *)rcc->state;
}

/* Time between two credits at the highest rate, 2^-10 ns: the link, whichever direction is the fuller, carries a
 * packet, or the credit and the ACK of the other direction beside data. */
static uint64_t credit_time(const struct weft_cc_params *params)
{
	uint64_t bits = 8 * ((uint64_t)params->mtu_bytes + CREDIT_WIRE_BYTES + params->ack_bytes);

	return (bits * WEFT_S(1) / (params->link_bps / 1000 + 1) << 10) / 1000;
}

static weft_ns percent_of_brtt(const struct weft_cc_params *params, uint32_t pct)
{
	return (uint64_t)cc_brtt_ns(params->brtt_ns) * pct / 100;
}

void schedule_limits(const struct weft_cc_params *params, struct weft_rcc_limits *l)
{
	const struct schedule_tune *tune = params->tune;
	uint64_t bdp_bytes = cc_bdp_bytes(params->link_bps, cc_brtt_ns(params->brtt_ns));

	*l = (struct weft_rcc_limits){
		.first_bytes =
			tune->unscheduled && tune->first_pct ? cc_window_bytes(params, bdp_bytes, tune->first_pct) : 0,
		.credit_bytes = cc_window_bytes(params, bdp_bytes, 200),
		.pace = (credit_time(params) << 10) / params->mtu_bytes,
		.paths = tune->paths ? tune->paths : 1,
		.queue_credits = tune->nic_credits,
		.linger_ns = percent_of_brtt(params, tune->linger_pct),
		.strict = tune->strict,
	};
}

size_t schedule_more_bytes(const struct weft_cc_params *params)
{
	return spray_bytes(params->tune);
}

void schedule_init(struct weft_rcc *rcc, weft_ns now)
{
	spray_init(rcc->more, tune_of(rcc));
	credit_loop_start(loop_of(rcc), tune_of(rcc), rcc->params->brtt_ns, now);
}

/* Measured, as far as it is the fabric's. */
static weft_ns period_ns(const struct weft_rcc *rcc)
{
	const struct spray *spray = rcc->more;
	weft_ns most = PERIOD_BRTTS_MAX * rcc->params->brtt_ns;

	if (!spray->rtt_ns)
		return rcc->params->brtt_ns;
	return spray->rtt_ns < most ? spray->rtt_ns : most;
}

void schedule_view(const struct weft_rcc *rcc, struct weft_rcc_view *view)
{
	const struct credit_loop *loop = (const struct credit_loop *)rcc->state;
	const struct spray *spray = rcc->more;

	*view = (struct weft_rcc_view){
		.rate_permille = rcc->wanted_bytes ? (uint32_t)((uint64_t)loop->rate * 1000 / CREDIT_LOOP_ONE) : 0,
		.looks = spray->looks,
		.paths = spray->paths,
		.valid = spray->valid,
		.slowest_permille = spray->slowest,
		.least_permille = spray->least,
	};
}

/* A flow begins with the first demand after a stop; what its forerunner found out about rates is old by then, what it
 * found out about paths is not. */
void schedule_on_demand(struct weft_rcc *rcc, uint32_t bytes, weft_ns now)
{
	if (!rcc->wanted_bytes)
		credit_loop_start(loop_of(rcc), tune_of(rcc), period_ns(rcc), now);
	rcc->wanted_bytes = bytes < WEFT_RCC_MAX_BYTES ? bytes : WEFT_RCC_MAX_BYTES;
}

void schedule_on_stop(struct weft_rcc *rcc, weft_ns now)
{
	rcc->wanted_bytes = 0;
}

/* One credit per round trip: less would be deaf. */
static uint32_t floor_rate(const struct weft_rcc *rcc)
{
	uint64_t floor = (credit_time(rcc->params) << 10) / period_ns(rcc);

	return floor < CREDIT_LOOP_ONE ? (uint32_t)floor + 1 : CREDIT_LOOP_ONE;
}

void schedule_on_data(struct weft_rcc *rcc, const struct weft_rcc_data *ev, weft_ns now)
{
	const struct schedule_tune *tune = tune_of(rcc);

	spray_data(rcc->more, tune, ev, rcc->params->mtu_bytes, now);
	credit_loop_count(loop_of(rcc), tune, ev);
	credit_loop_update(loop_of(rcc), tune, period_ns(rcc), floor_rate(rcc), now);
}

/* Without jitter, the credits of connections with the same pace meet in the same order in every queue, and the last
 * ones are always those that are dropped (ExpressPass varies it, too). */
static weft_ns jittered(uint64_t wait_ns, uint32_t pct, uint32_t draw)
{
	uint64_t range = wait_ns * pct / 100;

	return wait_ns - range + (2 * range * draw >> 32);
}

void schedule_next(struct weft_rcc *rcc, uint64_t draw, struct weft_rcc_credit *credit, weft_ns now)
{
	const struct schedule_tune *tune = tune_of(rcc);
	uint64_t wait_ns = (credit_time(rcc->params) << 10) / loop_of(rcc)->rate;

	credit->path = spray_next(rcc->more, tune, draw, now);
	credit->wait_ns = jittered(wait_ns ? wait_ns : 1, tune->jitter_pct, (uint32_t)draw);
}
