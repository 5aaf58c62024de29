/* SPDX-License-Identifier: BSD-3-Clause */
#include "pdc_rx.h"

#include <errno.h>

#include "ack_tx.h"
#include "credit_rx.h"
#include "ip_key.h"
#include "pdc_tx.h"
#include "record.h"
#include "rx_drop.h"
#include "validate.h"

enum { TIME_WAIT_RTOS = 8, REAP_IDLE_CLOSES = 4, PDC_IDS_FOR_OURS = PDC_IDS / 4 };
#define TIME_WAIT_MIN_NS WEFT_MS(200) /* longer than a packet is on its way: a late SYN would be carried out again */

static uint64_t syn_key(const struct pds *pds, const struct weft_ip *ip, uint16_t remote_id)
{
	return ip_key(&pds->hash_key, ip, UINT64_C(2) << 32 | remote_id);
}

static uint32_t start_psn_of(const struct wire_view *v)
{
	return wire_hdr_psn(v->hdr) - wire_hdr_psn_offset(v->hdr);
}

/* The direction in which we answer, or NULL. */
static struct pdc_tx *return_of(const struct pdc_rx *p)
{
	return p->pdc.is_return ? NULL : p->other;
}

static void end_return(struct pds *pds, struct pdc_rx *p, int err)
{
	struct pdc_tx *t = return_of(p);
	if (!t)
		return;
	p->other = NULL;
	t->other = NULL;
	pdc_tx_end_return(pds, t, err);
}

uint8_t *pdc_rx_keep_data(struct pds *pds, struct pdc_rx *p, const struct wire_view *v, uint32_t bytes)
{
	assert(bytes > 0 && bytes <= RXWIN_DATA_MAX && !p->pdc.is_return);
	struct gtd_rsp *kept = rxwin_keep_data(&p->win, &pds->win,
					       (struct gtd_rsp){.head = wire_head(v->std),
								.psn = wire_hdr_psn(v->hdr),
								.return_code = WIRE_RC_OK,
								.data_bytes = (uint8_t)bytes,
								.length = bytes});
	return kept ? kept->data : NULL;
}

void pdc_rx_free(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	assert(!p->pdc.is_return);
	end_return(pds, p, ECONNRESET);
	validate_end(pds, p);
	if (pds->recent_syn == p)
		pds->recent_syn = NULL;
	if (u64map_get(&pds->syns, syn_key(pds, &p->ip, p->remote_id)) == p)
		u64map_del(&pds->syns, syn_key(pds, &p->ip, p->remote_id));
	rx_drop(pds, p, now);
}

static size_t pdc_rx_bytes(const struct pds *pds)
{
	return pds->credit.rcc ? sizeof(struct pdc_rx) + credit_rx_more_bytes(pds) : offsetof(struct pdc_rx, credit);
}

static struct pdc_rx *pdc_rx_alloc(struct pds *pds)
{
	struct pdc_rx *p = weft_mem_alloc(&pds->mem, pdc_rx_bytes(pds));
	if (!p)
		return NULL;
	p->pdc.is_rx = true;
	wheel_node_init(&p->pdc.timer);
	list_init(&p->ack_link);
	if (pds->credit.rcc)
		list_init(&p->credit.link);
	list_init(&p->link);
	p->ack_at_ns = WEFT_NEVER;
	return p;
}

static struct pdc_rx *new_rx(struct pds *pds, const struct wire_view *v, uint32_t start_psn, weft_ns now)
{
	struct pdc_rx *p = pdc_rx_alloc(pds);
	if (!p)
		return NULL;
	p->ip = *wire_view_src(v);
	p->remote_id = wire_hdr_spdcid(v->hdr);
	p->start_psn = start_psn;
	p->gap_psn = p->start_psn - 1;
	p->pdc.encap = v->outer->encap;
	rxwin_init(&p->win, p->start_psn);
	p->last_heard_ns = now;
	return p;
}

static void start(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	list_add_tail(&pds->rxs, &p->link);
	wheel_set(&pds->timers.wheel, &p->pdc.timer, now + pds->conf.tune.peer_timeout_ns);
	if (pds->credit.rcc)
		credit_rx_start(pds, p, now);
	pds->events->on_accept(pds->ses, p);
}

static struct pdc_rx *accept(struct pds *pds, const struct wire_view *v, weft_ns now)
{
	bool may = pds->ids.count < PDC_IDS - PDC_IDS_FOR_OURS;
	struct pdc_rx *p = may ? new_rx(pds, v, start_psn_of(v), now) : NULL;
	if (!p)
		return NULL;
	if (!pdc_id_take(&pds->ids, &p->pdc) || !u64map_put(&pds->syns, syn_key(pds, &p->ip, p->remote_id), p)) {
		pdc_id_put(&pds->ids, &p->pdc);
		weft_mem_free(&pds->mem, p);
		return NULL;
	}
	if (!v->outer->trimmed)
		pds_heard(pds, &p->ip, p->pdc.encap);
	start(pds, p, now);
	pds->stats.pdc_accepted++;
	record_opened(pds, &p->pdc, &p->ip, true, now);
	if (!validate_is_answered(pds, v, now))
		validate_begin(pds, p, now);
	return p;
}

/* Whether the packet may be the first that arrives of its direction: an answer to a connection of ours that waits for
 * one, or a request to close it. Its PSN tells it from those of an earlier connection that had the same PDCID. */
static bool begins_return(const struct pds *pds, struct pdc_tx *t, const struct wire_view *v)
{
	bool asks_close = v->type == WIRE_PDS_CP && wire_hdr_ctl(v->hdr) == WIRE_CTL_CLOSE_REQ;
	return !t->pdc.is_return && (t->awaiting || asks_close) &&
	       wire_hdr_psn(v->hdr) - t->start_psn < pds->win.window_pkts && pdc_tx_learn_target(t, v);
}

static struct pdc_rx *__attribute__((noinline))
accept_return(struct pds *pds, struct pdc_tx *t, const struct wire_view *v, weft_ns now)
{
	struct pdc_rx *p = new_rx(pds, v, t->start_psn, now);
	if (!p)
		return NULL;
	assert(!t->other);
	p->pdc.id = t->pdc.id;
	p->pdc.is_return = true;
	p->other = t;
	t->other = p;
	start(pds, p, now);
	return p;
}

/* A SYN finds its connection by (initiator, its PDCID). One with another Start_PSN never takes its place, however
 * silent that has been: nobody can tell a restarted initiator's from one that was on its way since before the restart.
 * An initiator that is alive starts over under another PDCID when the refusal reaches it. */
static struct pdc_rx *__attribute__((noinline))
find_syn(struct pds *pds, const struct wire_view *v, bool may_accept, weft_ns now)
{
	struct pdc_rx *p = pds->recent_syn;
	if (p && pdc_rx_is_from(p, v) && p->start_psn == start_psn_of(v))
		return p;
	p = u64map_get(&pds->syns, syn_key(pds, wire_view_src(v), wire_hdr_spdcid(v->hdr)));
	if (p && !pdc_rx_is_from(p, v))
		return NULL;
	if (p && p->start_psn == start_psn_of(v)) {
		pds->recent_syn = p;
		return p;
	}
	if (!may_accept)
		return NULL;
	if (p) {
		nack_send(pds, v, 0, WIRE_NACK_INVALID_SYN, now);
		return NULL;
	}
	if (validate_is_due(pds, now) && !validate_is_answered(pds, v, now)) {
		validate_ask(pds, v, now);
		return NULL;
	}
	p = accept(pds, v, now);
	if (!p)
		nack_send(pds, v, 0, WIRE_NACK_NO_PDC_AVAIL, now);
	return p;
}

static struct pdc_rx *find_established(struct pds *pds, const struct wire_view *v, bool may_accept, weft_ns now)
{
	struct pdc_rx *p = pdc_rx_by_id(&pds->ids, wire_hdr_dpdcid(v->hdr));
	if (p && pdc_rx_is_from(p, v))
		validate_end(pds, p);
	if (p)
		return pdc_rx_is_from(p, v) ? p : NULL;
	struct pdc_tx *t = pdc_tx_of(&pds->ids, v);
	return t && may_accept && begins_return(pds, t, v) ? accept_return(pds, t, v, now) : NULL;
}

/* What a packet is answered that has no connection here: it names one that there is not, or that is another host's or
 * has another PDCID there, or there is no memory. */
static uint8_t refusal(const struct pds *pds, const struct wire_view *v)
{
	if (pdc_rx_by_id(&pds->ids, wire_hdr_dpdcid(v->hdr)))
		return WIRE_NACK_PDC_HDR_MISMATCH;
	struct pdc_tx *t = pdc_tx_of(&pds->ids, v);
	return t && !t->other && begins_return(pds, t, v) ? WIRE_NACK_NO_PDC_AVAIL : WIRE_NACK_INV_DPDCID;
}

struct pdc_rx *pdc_rx_find(struct pds *pds, const struct wire_view *v, bool may_accept, weft_ns now)
{
	if (wire_hdr_flags(v->hdr) & WIRE_F_SYN)
		return find_syn(pds, v, may_accept, now);
	struct pdc_rx *p = find_established(pds, v, may_accept, now);
	if (!p && may_accept && v->kind != WIRE_KIND_TRIMMED)
		nack_send(pds, v, 0, refusal(pds, v), now);
	return p;
}

static weft_ns time_wait_ns(const struct pds *pds)
{
	weft_ns ns = TIME_WAIT_RTOS * pds->conf.rto_ns;
	return ns > TIME_WAIT_MIN_NS ? ns : TIME_WAIT_MIN_NS;
}

/* The connection is looked at then, or when an ACK that was held back is due. */
static void look_at(struct pds *pds, struct pdc_rx *p, weft_ns at)
{
	wheel_set(&pds->timers.wheel, &p->pdc.timer, at < p->ack_at_ns ? at : p->ack_at_ns);
}

void pdc_rx_shut(struct pds *pds, struct pdc_rx *p, int err, weft_ns now)
{
	p->closed = true;
	end_return(pds, p, p->given_up ? err : 0);
	credit_rx_stop(pds, p, now);
	if (!p->given_up) /* else an initiator may not have heard yet what was refused */
		rxwin_clear_all(&p->win);
	pds->events->on_shut(pds->ses, p, err);
	look_at(pds, p, now + time_wait_ns(pds));
}

void pdc_rx_give_up(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	p->given_up = true;
	p->last_heard_ns = now;
	pdc_rx_shut(pds, p, ECONNRESET, now);
}

void pdc_rx_give_up_id(struct pds *pds, uint16_t id, uint32_t start_psn, weft_ns now)
{
	struct pdc_rx *p = pdc_rx_by_id(&pds->ids, id);
	if (p && p->start_psn == start_psn && !p->pdc.is_return && !p->closed)
		pdc_rx_give_up(pds, p, now);
}

void pdc_rx_give_up_host(struct pds *pds, const struct weft_ip *ip, weft_ns now)
{
	list_for_each_safe (l, &pds->rxs) {
		struct pdc_rx *p = list_entry(l, struct pdc_rx, link);
		if (weft_ip_eq(&p->ip, ip) && !p->pdc.is_return && !p->closed)
			pdc_rx_give_up(pds, p, now);
	}
}

static bool is_return_idle(const struct pdc_rx *p)
{
	const struct pdc_tx *t = return_of(p);
	return !t || pdc_tx_is_idle(t);
}

static weft_ns last_heard(const struct pdc_rx *p)
{
	const struct pdc_tx *t = return_of(p);
	return t && t->last_heard_ns > p->last_heard_ns ? t->last_heard_ns : p->last_heard_ns;
}

/* Silence in the middle of a message means the initiator is gone. Between messages it may just have nothing to say,
 * until long after it would have closed. */
static weft_ns silence_deadline(const struct pds *pds, const struct pdc_rx *p)
{
	if (p->closed)
		return p->last_heard_ns + time_wait_ns(pds);
	if (pdc_rx_has_msgs(p))
		return p->last_heard_ns + pds->conf.tune.peer_timeout_ns;
	if (!pds->conf.tune.idle_close_ns || p->pdc.is_return || !is_return_idle(p))
		return WEFT_NEVER;
	return last_heard(p) + REAP_IDLE_CLOSES * pds->conf.tune.idle_close_ns + pds->conf.tune.peer_timeout_ns;
}

void pdc_rx_expire(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	if (now >= p->ack_at_ns) {
		p->ack_at_ns = WEFT_NEVER;
		ack_send_all(pds, p, now);
	}
	weft_ns at = silence_deadline(pds, p);
	if (now >= pds->timers.grace_ns) {
		pds->timers.put_off = false;
	} else {
		pds->timers.put_off |= now >= at;
		at = at > pds->timers.grace_ns ? at : pds->timers.grace_ns;
	}
	if (now >= at) {
		pds->stats.pdc_failed += pdc_rx_has_msgs(p);
		pds->events->on_shut(pds->ses, p, ETIMEDOUT);
		pdc_rx_free(pds, p, now);
		return;
	}
	/* A message may begin any time, so look at least that often. */
	if (at > now + pds->conf.tune.peer_timeout_ns)
		at = now + pds->conf.tune.peer_timeout_ns;
	look_at(pds, p, at);
}
