/* SPDX-License-Identifier: BSD-3-Clause */
#include "rto.h"

enum { RTO_BACKOFF_MAX = 16 };

weft_ns rto_max_rtt(const struct pdc_tx *p)
{
	return p->max_rtt_ns[0] > p->max_rtt_ns[1] ? p->max_rtt_ns[0] : p->max_rtt_ns[1];
}

static uint32_t saturated(weft_ns ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static weft_ns first_rto(const struct pds_conf *conf, const struct pdc_tx *p)
{
	weft_ns rto = 2 * rto_max_rtt(p);
	return rto > conf->rto_ns ? rto : conf->rto_ns;
}

/* Twice the largest recent RTT keeps noisy hosts from timing out; the back-off is UET's RTO_Init_Time x 2^retry. It
 * holds for what was sent after the expiry that doubled it: what was in flight before has waited long enough, and would
 * block the window meanwhile. */
weft_ns rto_of(const struct pds_conf *conf, const struct pdc_tx *p, const struct sent *s)
{
	assert(p->rto_backoff <= RTO_BACKOFF_MAX);
	unsigned doublings = s->sent_at >= p->backoff_at_ns ? p->rto_backoff : 0;
	weft_ns rto = first_rto(conf, p);
	if (rto >= conf->tune.rto_max_ns >> doublings)
		return conf->tune.rto_max_ns > conf->rto_ns ? conf->tune.rto_max_ns : conf->rto_ns;
	return rto << doublings;
}

/* Without this, an RTT beyond the timeout would never be measured: every answer would be ambiguous. What shows that the
 * timeout raised last is too short was sent since and has waited for all of it; sooner it is something that timed out
 * together with others and was sent again late. */
void rto_raise(const struct pds_conf *conf, struct pdc_tx *p, const struct sent *s, weft_ns now)
{
	assert(s->state != SENT_ACKED);
	weft_ns rto = first_rto(conf, p);
	if (!s->timed_out || s->sent_at <= p->rto_raised_ns || rto >= conf->tune.rto_max_ns)
		return;
	if (p->rto_raised_ns != 0 && now < p->rto_raised_ns + rto)
		return;
	p->max_rtt_ns[0] = saturated(rto);
	p->rto_raised_ns = now;
}

weft_ns rto_deadline(const struct pds *pds, const struct pdc_tx *p)
{
	if (!p->q.inflight.count)
		return WEFT_NEVER;
	const struct sent *oldest = sendq_at(&p->q, p->q.inflight.head);
	assert(oldest->state == SENT_INFLIGHT);
	weft_ns at = oldest->sent_at + rto_of(&pds->conf, p, oldest);
	weft_ns sure = pds->timers.grace_ns > pds->timers.full_ns ? pds->timers.grace_ns : pds->timers.full_ns;
	return at > sure ? at : sure;
}

/* Where nothing was known of the path beforehand, the configured timeout may be shorter than an RTT. */
static weft_ns period_ns(const struct pds_conf *conf, const struct pdc_tx *p)
{
	weft_ns ns = conf->rto_srtts * p->srtt_ns;
	ns = ns > conf->rto_ns ? ns : conf->rto_ns;
	return ns > conf->tune.rtt_memory_ns ? ns : conf->tune.rtt_memory_ns;
}

/* A full packet takes the time of our link at least. Samples seem shorter where the rate that was told is below the
 * link's: packets that were given to the port ahead of their time leave at once. */
static weft_ns floored(const struct pds_conf *conf, const struct pdc_tx *p, weft_ns rtt_ns)
{
	weft_ns floor_ns = conf->tune.brtt_floor_ns;
	if (conf->tune.probe_rate == RATE_TOLD) {
		uint32_t bytes = conf->overhead_bytes + p->pdc.payload_bytes;
		weft_ns packet_ns = rate_floor_ns(conf->cc_params.link_bps, bytes, 1);
		floor_ns = packet_ns > floor_ns ? packet_ns : floor_ns;
	}
	return rtt_ns > floor_ns ? rtt_ns : floor_ns;
}

void rto_lower_brtt(const struct pds_conf *conf, struct pdc_tx *p, weft_ns rtt_ns)
{
	assert(rtt_ns < p->min_rtt_ns);
	p->min_rtt_ns = (uint32_t)rtt_ns;
	if (rtt_ns < p->brtt_ns)
		p->brtt_ns = floored(conf, p, rtt_ns);
}

void rto_brtt_window_start(struct pdc_tx *p, weft_ns now)
{
	p->min_rtt_ns = UINT32_MAX;
	p->min_rtt_from_ms = (uint32_t)(now / WEFT_MS(1));
}

/* What was measured long ago may be of another path, or of a shaper's first burst. A base RTT that was configured is an
 * upper bound. The next ACK asks for a probe, which does not wait in the queues of data. */
static void renew_brtt(const struct pds_conf *conf, struct pdc_tx *p, weft_ns now)
{
	bool told = conf->tune.brtt_ns != 0;
	if (p->min_rtt_ns != UINT32_MAX)
		p->brtt_ns = floored(conf, p,
				     told && p->min_rtt_ns > conf->tune.brtt_ns ? conf->tune.brtt_ns : p->min_rtt_ns);
	rto_brtt_window_start(p, now);
	if (!told)
		p->chores |= CHORE_BRTT;
}

/* Twice our link, as for a probe: what the hops behind it take, samples tell, but none of the other size does. */
void rto_resized(const struct pds_conf *conf, struct pdc_tx *p, uint32_t before_bytes, weft_ns now)
{
	uint32_t bytes = p->pdc.payload_bytes;
	if (bytes > before_bytes)
		p->brtt_ns += 2 * ((uint64_t)(bytes - before_bytes) * 8 * WEFT_S(1) / p->cc.params->link_bps);
	rto_brtt_window_start(p, now);
	if (!conf->tune.brtt_ns)
		p->chores |= CHORE_BRTT;
	else if (p->brtt_ns > conf->tune.brtt_ns)
		p->brtt_ns = floored(conf, p, conf->tune.brtt_ns);
}

void rto_sample(const struct pds_conf *conf, struct pdc_tx *p, weft_ns rtt_ns, weft_ns now)
{
	assert(rtt_ns > 0);
	if (unlikely(now >= p->max_rtt_until_ns)) {
		p->max_rtt_ns[1] = p->max_rtt_ns[0];
		p->max_rtt_ns[0] = 0;
		p->max_rtt_until_ns = now + period_ns(conf, p);
		if ((uint32_t)(now / WEFT_MS(1)) - p->min_rtt_from_ms > conf->tune.brtt_window_ns / WEFT_MS(1))
			renew_brtt(conf, p, now);
	}
	if (rtt_ns > p->max_rtt_ns[0])
		p->max_rtt_ns[0] = saturated(rtt_ns);
	p->srtt_ns = p->srtt_ns ? p->srtt_ns - p->srtt_ns / 8 + rtt_ns / 8 : rtt_ns;
}

void rto_back_off(struct pdc_tx *p, weft_ns now)
{
	p->rto_backoff += p->rto_backoff < RTO_BACKOFF_MAX;
	p->backoff_at_ns = now;
}
