/* SPDX-License-Identifier: BSD-3-Clause */
#include "credit_loop.h"

enum { ONE = CREDIT_LOOP_ONE, CREDIT_BITS = 24 };

static uint32_t permille(uint32_t value)
{
	return (uint32_t)(((uint64_t)value << 20) / 1000);
}

static uint32_t times(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * b >> 20);
}

void credit_loop_start(struct credit_loop *l, const struct schedule_tune *tune, weft_ns period_ns, weft_ns now)
{
	*l = (struct credit_loop){.period_end_ns = now + period_ns,
				  .rate = permille(tune->w_init_permille),
				  .sent_rate = permille(tune->w_init_permille),
				  .w = permille(tune->w_init_permille)};
}

/* How far number `a` is ahead of `b`; negative: behind. */
static int32_t ahead(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << (32 - CREDIT_BITS)) >> (32 - CREDIT_BITS);
}

static void add(struct credit_loop *l, uint32_t total, uint32_t bad)
{
	uint32_t all = l->total + total, lost = l->bad + bad;

	for (; all > UINT16_MAX; all /= 2)
		lost /= 2;
	l->total = (uint16_t)all;
	l->bad = (uint16_t)lost;
}

/* ExpressPass: a gap in the numbers is lost credits. One that comes late was counted as lost when it was overtaken, and
 * stays so: that is what spraying does to this feedback (sec. III-A). Packets that share a credit count once. */
static void count_by_number(struct credit_loop *l, const struct weft_rcc_data *ev)
{
	int32_t gap = l->numbered ? ahead(ev->credit, l->next_credit) : 0;

	if (gap < 0)
		return;
	add(l, (uint32_t)gap + 1, (uint32_t)gap);
	l->next_credit = ev->credit + 1;
	l->numbered = 1;
}

/* What the fabric did to data counts as well: without credit queues it is the only sign of too much. But what nobody
 * called for may be lost. */
void credit_loop_count(struct credit_loop *l, const struct schedule_tune *tune, const struct weft_rcc_data *ev)
{
	bool suffered = ev->trimmed || (ev->retx && !tune->unscheduled);

	if (!ev->scheduled)
		return;
	if (tune->feedback == SCHEDULE_SEQUENCE) {
		count_by_number(l, ev);
		add(l, suffered, suffered);
	} else {
		add(l, 1, suffered || ev->ce);
	}
}

/* "aim_ratio". Public simulations of ExpressPass tolerate the less the faster a sender is, so that of senders that see
 * the same losses the slow one goes on and the fast one gives way. */
static uint32_t aim(const struct credit_loop *l, const struct schedule_tune *tune)
{
	uint32_t left = l->rate < ONE ? ONE - l->rate : 0;

	return tune->aim_scaled ? times(left, permille(tune->aim_permille)) : permille(tune->aim_permille);
}

static void increase(struct credit_loop *l, const struct schedule_tune *tune)
{
	if (l->increased)
		l->w = (l->w + permille(tune->w_max_permille)) / 2;
	l->rate = times(ONE - l->w, l->rate) + times(l->w, ONE + aim(l, tune));
	l->increased = 1;
}

static void decrease(struct credit_loop *l, const struct schedule_tune *tune, uint32_t share)
{
	uint32_t w_min = permille(tune->w_min_permille);

	uint32_t base = tune->sent_base ? l->sent_rate : l->rate;
	uint32_t rate = times(times(base, ONE - share), ONE + aim(l, tune));

	l->rate = tune->sent_base && rate > l->rate ? l->rate : rate;
	l->w = l->w / 2 > w_min ? l->w / 2 : w_min;
	l->increased = 0;
}

void credit_loop_update(struct credit_loop *l, const struct schedule_tune *tune, weft_ns period_ns, uint32_t floor,
			weft_ns now)
{
	if (now < l->period_end_ns || !l->total)
		return;
	uint32_t share = (uint32_t)(((uint64_t)l->bad << 20) / l->total);

	uint32_t now_rate = l->rate;

	if (share > ONE)
		share = ONE;
	if (share <= aim(l, tune))
		increase(l, tune);
	else
		decrease(l, tune, share);
	if (l->rate < floor)
		l->rate = floor;
	l->sent_rate = now_rate;
	l->total = l->bad = 0;
	l->period_end_ns = now + period_ns;
}
