/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side of scheduled credit: every sender that has data has a timer for its next credit; what is due goes
 * through the host's own credit queue, like through any other on the way. */
#include "credit_sched_rx.h"

#include "credit_sched_state.h"
#include "validate.h"

enum {
	RETRY_NS = 1000,
	SILENT_RTOS = 8,   /* a sender that does not answer credits for this long is gone; it asks again if not */
	LOOK_PKTS = 256,   /* data packets between two looks at what the fabric did to them ... */
	FOUL_PERCENT = 10, /* ... and how many of them may have met a long queue */
};

static struct sched_rx *sched_of(struct pdc_rx *p)
{
	return (struct sched_rx *)(p + 1);
}

size_t sched_rx_bytes(const struct credit *c)
{
	return sizeof(struct sched_rx) + (c->rcc->more_bytes ? c->rcc->more_bytes(&c->params) : 0);
}

void sched_rx_start(struct pds *pds, struct pdc_rx *p)
{
	struct sched_rx *r = sched_of(p);

	*r = (struct sched_rx){.rx = p,
			       .timed_at_ns = WEFT_NEVER,
			       .first_ev = (uint16_t)rng_below(&pds->rng, pds->conf.tune.evs_size)};
	wheel_node_init(&r->timer);
	p->credit.rcc.more = r + 1;
}

void sched_rx_stop(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	wheel_cancel(&pds->credit.sched->wheel, &sched_of(p)->timer);
	if (p->credit.rcc.wanted_bytes)
		pds->credit.rcc->on_stop(&p->credit.rcc, now);
}

static void arm(struct pds *pds)
{
	weft_ns at = wheel_next(&pds->credit.sched->wheel), next = credit_queue_next(&pds->credit.sched->queue);

	pds->credit.due_ns = at < next ? at : next;
}

static void set_timer(struct pds *pds, struct sched_rx *r, weft_ns at)
{
	r->at_ns = at;
	wheel_set(&pds->credit.sched->wheel, &r->timer, at);
}

/* Requests and stops may overtake each other. False: this one is late and means nothing. */
static bool note_serial(struct sched_rx *r, uint16_t serial)
{
	if (r->serial && (int16_t)(serial - r->serial) <= 0)
		return false;
	r->serial = serial;
	return true;
}

void sched_rx_request(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, weft_ns now)
{
	struct sched_rx *r = sched_of(p);

	if (!wire_hdr_opaque(v->hdr) || wire_cp_payload(v->cp) > WEFT_RCC_MAX_BYTES / WEFT_RCC_UNIT_BYTES ||
	    !note_serial(r, wire_hdr_opaque(v->hdr))) {
		pds->stats.rx_credit_stale++;
		return;
	}
	if (!wire_cp_payload(v->cp)) {
		sched_rx_stop(pds, p, now);
		return;
	}
	pds->credit.rcc->on_demand(&p->credit.rcc, wire_cp_payload(v->cp) * WEFT_RCC_UNIT_BYTES, now);
	if (r->timer.at == WEFT_NEVER && p->credit.rcc.wanted_bytes) {
		r->answered = r->number;
		set_timer(pds, r, now);
		pds->credit.due_ns = now;
	}
}

/* A fabric that limits credits has no long data queues: no data is marked that had no marked credit, none is trimmed.
 */
static void look(struct pds *pds, const struct wire_view *v)
{
	struct sched *s = pds->credit.sched;

	s->fouled += v->kind == WIRE_KIND_TRIMMED ||
		     (wire_view_ecn(v) == WEFT_ECN_CE && !(wire_view_ccc_id(v) & SCHED_MARKED));
	if (++s->looked < LOOK_PKTS)
		return;
	if (s->fouled * 100 > FOUL_PERCENT * LOOK_PKTS)
		sched_alarm(pds);
	s->looked = s->fouled = 0;
}

/* Path number of an entropy we gave; UINT16_MAX: of none. */
static uint16_t path_of(const struct pds *pds, const struct sched_rx *r, uint16_t ev)
{
	uint32_t n = (ev + pds->conf.tune.evs_size - r->first_ev) % pds->conf.tune.evs_size;

	return n < pds->credit.limits.paths ? (uint16_t)n : UINT16_MAX;
}

/* `a` - `b`, modulo the 24 bits of credit numbers. */
static int32_t number_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static void note_answer(struct sched_rx *r, uint32_t number)
{
	if (number_diff(number, r->answered) > 0 && number_diff(r->number, number) > 0)
		r->answered = number;
}

void sched_rx_data(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, uint32_t bytes, weft_ns now)
{
	struct sched_rx *r = sched_of(p);
	struct weft_rcc_data ev = {.bytes = bytes,
				   .trimmed = v->kind == WIRE_KIND_TRIMMED,
				   .ce = wire_view_ecn(v) == WEFT_ECN_CE,
				   .retx = wire_hdr_flags(v->hdr) & WIRE_F_RETX,
				   .scheduled = wire_view_ccc_id(v) & SCHED_SYNCED,
				   .path = path_of(pds, r, wire_view_entropy(v)),
				   .credit = wire_view_credit(v)};

	if (ev.scheduled && r->timed_at_ns != WEFT_NEVER && r->timed == wire_view_credit(v)) {
		ev.rtt_ns = now > r->timed_at_ns ? now - r->timed_at_ns : 1;
		r->timed_at_ns = WEFT_NEVER;
	}
	if (ev.scheduled) {
		look(pds, v);
		note_answer(r, wire_view_credit(v));
	}
	pds->credit.rcc->on_data(&p->credit.rcc, &ev, now);
}

/* A credit is due at `at`: it goes to the host's queue, if that has room. */
static void issue(struct pds *pds, struct sched_rx *r, weft_ns at)
{
	struct sched *s = pds->credit.sched;
	struct pdc_rx *p = r->rx;
	struct weft_rcc_credit credit;

	pds->credit.rcc->schedule(&p->credit.rcc, rng_next(&pds->rng), &credit, at);
	uint32_t number = r->number;
	r->number = (r->number + 1) & SCHED_NUMBER_MASK;
	/* A sender that does not answer, for example because nobody polls it, gets one credit per base RTT. */
	if (number_diff(r->number, r->answered) > (int32_t)s->unanswered_max &&
	    credit.wait_ns < pds->conf.cc_params.brtt_ns)
		credit.wait_ns = pds->conf.cc_params.brtt_ns;
	set_timer(pds, r, at + credit.wait_ns);
	if (!credit_queue_push(&s->queue)) {
		pds->stats.tx_credit_drop++;
		return;
	}
	uint16_t ev = (uint16_t)((r->first_ev + credit.path) % pds->conf.tune.evs_size);
	s->ring[(s->head + s->queue.waiting - 1) % SCHED_HOST_RING] = (struct sched_wait){at, p->pdc.id, ev, number};
}

/* The connection this credit is for; NULL: it is gone or held, or its sender has no more data, and the credit is
 * dropped. */
static struct pdc_rx *target_of_wait(const struct pds *pds, const struct sched_wait *c)
{
	struct pdc_rx *p = pdc_rx_by_id(&pds->ids, c->pdc_id);
	return p && p->credit.rcc.wanted_bytes && !validate_holds_credit(p) ? p : NULL;
}

static void send(struct pds *pds, struct pdc_rx *p, const struct sched_wait *c, bool marked, struct weft_pkt *pkt,
		 weft_ns now)
{
	const struct wire_net net =
		out_net(&pds->out, pdc_rx_way(p, c->ev), WIRE_DSCP_CREDIT, marked ? WEFT_ECN_CE : WEFT_ECN_ECT0);
	const struct wire_control credit = {.ctl = WIRE_CTL_CREDIT,
					    .opaque = (uint16_t)pds->conf.full_wire_bytes,
					    .psn = pds->has_secret ? p->start_psn : 0,
					    .spdcid = p->pdc.id,
					    .dpdcid = p->remote_id,
					    .payload = c->number};

	pkt->payload = NULL;
	pkt->payload_len = 0;
	out_send(&pds->out, pkt, &net, wire_build_control(out_pds(&pds->out, pkt, p->pdc.encap), &credit), now);
	validate_note_credit(pds, p);
}

/* The first credit of the queue leaves. False: there is no packet for it. */
static bool depart(struct pds *pds, weft_ns at, weft_ns now)
{
	struct sched *s = pds->credit.sched;
	const struct sched_wait *c = &s->ring[s->head];
	struct pdc_rx *p = target_of_wait(pds, c);
	struct weft_pkt *pkt = p ? out_get(&pds->out) : NULL;

	if (p && !pkt)
		return false;
	bool marked = credit_queue_pop(&s->queue, at, (uint32_t)(rng_next(&pds->rng) >> 32));
	s->head = (s->head + 1) % SCHED_HOST_RING;
	if (!p)
		return true;
	send(pds, p, c, marked, pkt, now);
	struct sched_rx *r = sched_of(p);
	if (r->timed_at_ns == WEFT_NEVER || now - r->timed_at_ns > SILENT_RTOS * pds->conf.rto_ns) {
		r->timed = c->number;
		r->timed_at_ns = now;
	}
	return true;
}

/* Polled late, it makes up for one base RTT: less would starve hosts that share a processor, more would leave in one
 * burst. */
static weft_ns no_earlier(const struct pds *pds, weft_ns at, weft_ns now)
{
	return at + pds->conf.cc_params.brtt_ns < now ? now - pds->conf.cc_params.brtt_ns : at;
}

static bool depart_until(struct pds *pds, weft_ns until, weft_ns now)
{
	struct sched *s = pds->credit.sched;

	while (credit_queue_due(&s->queue, until)) {
		weft_ns at = credit_queue_next(&s->queue), came = s->ring[s->head].at_ns;
		if (!depart(pds, no_earlier(pds, at > came ? at : came, now), now))
			return false;
	}
	return true;
}

void sched_rx_due(struct pds *pds, weft_ns now)
{
	struct wheel_node *n;

	while ((n = wheel_expire(&pds->credit.sched->wheel, now))) {
		struct sched_rx *r = list_entry(n, struct sched_rx, timer);
		struct pdc_rx *p = r->rx;
		weft_ns at = no_earlier(pds, r->at_ns, now);

		if (now - p->last_heard_ns > SILENT_RTOS * pds->conf.rto_ns)
			sched_rx_stop(pds, p, now);
		if (!p->credit.rcc.wanted_bytes)
			continue;
		depart_until(pds, at, now);
		issue(pds, r, at);
	}
	bool sent = depart_until(pds, now, now);
	arm(pds);
	if (!sent)
		pds->credit.due_ns = now + RETRY_NS;
}
