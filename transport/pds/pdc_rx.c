/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets: accept, receive window, close. */
#include <errno.h>
#include <string.h>

#include "bitmap.h"
#include "engine_int.h"
#include "wire_hot.h"

enum { TIME_WAIT_RTOS = 8, REAP_IDLE_CLOSES = 4 };

static uint64_t syn_key(const struct weft_ip *ip, uint16_t remote_id)
{
	return ip_key(ip, UINT64_C(2) << 32 | remote_id);
}

static uint32_t start_psn_of(const struct wire_pkt *w)
{
	return w->pds.psn - w->pds.psn_offset;
}

static bool __attribute__((noinline)) window_alloc(struct weft_engine *e, struct pdc_rx *p)
{
	p->received = pool_get(&e->windows);
	if (!p->received)
		return false;
	uint32_t words = (e->rx_mask + 1) / 64;
	memset(p->received, 0, 2 * words * sizeof(uint64_t));
	p->unreported = p->received + words;
	return true;
}

/* Memory to receive this PSN: none in order, bitmaps ahead of a hole. */
static inline bool window_reserve(struct weft_engine *e, struct pdc_rx *p, uint32_t psn)
{
	return psn == p->next_expected || p->received || window_alloc(e, p);
}

static void window_release(struct weft_engine *e, struct pdc_rx *p)
{
	if (p->received)
		pool_put(&e->windows, p->received);
	p->received = p->unreported = NULL;
}

void pdc_rx_free(struct weft_engine *e, struct pdc_rx *p)
{
	msg_rx_fail(e, p, ECONNRESET);
	if (e->recent_syn == p)
		e->recent_syn = NULL;
	if (u64map_get(&e->syns, syn_key(&p->ip, p->remote_id)) == p)
		u64map_del(&e->syns, syn_key(&p->ip, p->remote_id));
	wheel_cancel(&e->wheel, &p->pdc.timer);
	credit_rx_stop(e, p);
	list_del(&p->ack_link);
	list_del(&p->stuck_link);
	list_del(&p->link);
	pdc_id_put(e, &p->pdc);
	window_release(e, p);
	weft_mem_free(&e->mem, p);
}

static struct pdc_rx *pdc_rx_alloc(struct weft_engine *e)
{
	struct pdc_rx *p = weft_mem_alloc(&e->mem, pdc_rx_bytes(e));
	if (!p)
		return NULL;
	p->pdc.is_rx = true;
	wheel_node_init(&p->pdc.timer);
	list_init(&p->ack_link);
	list_init(&p->stuck_link);
	if (e->rcc)
		list_init(&p->credit.link);
	list_init(&p->link);
	list_init(&p->msgs);
	p->ack_at_ns = WEFT_NEVER;
	p->next_match_id = 1;
	return p;
}

static struct pdc_rx *accept(struct weft_engine *e, const struct wire_pkt *w, weft_ns now)
{
	struct pdc_rx *p = pdc_rx_alloc(e);
	if (!p)
		return NULL;
	p->ip = w->net.src;
	p->remote_id = w->pds.spdcid;
	p->start_psn = start_psn_of(w);
	p->next_expected = p->start_psn;
	p->gap_psn = p->start_psn - 1;
	p->cack_psn = p->start_psn - 1;
	p->last_heard_ns = now;
	if (!pdc_id_take(e, &p->pdc) || !u64map_put(&e->syns, syn_key(&p->ip, p->remote_id), p)) {
		pdc_id_put(e, &p->pdc);
		weft_mem_free(&e->mem, p);
		return NULL;
	}
	list_add_tail(&e->rxs, &p->link);
	wheel_set(&e->wheel, &p->pdc.timer, now + e->tune.peer_timeout_ns);
	if (e->rcc)
		credit_rx_start(e, p, now);
	e->stats.pdc_accepted++;
	return p;
}

static bool is_from(const struct pdc_rx *p, const struct wire_pkt *w)
{
	return p->remote_id == w->pds.spdcid && weft_ip_eq(&p->ip, &w->net.src);
}

/* A SYN finds its connection by (initiator, its PDCID). One with another Start_PSN never takes its place, however
 * silent that has been: nobody can tell a restarted initiator's from one that was on its way since before the restart.
 * An initiator that is alive starts over under another PDCID when the refusal reaches it. */
static struct pdc_rx *__attribute__((noinline))
find_syn(struct weft_engine *e, const struct wire_pkt *w, bool may_accept, weft_ns now)
{
	struct pdc_rx *p = e->recent_syn;
	if (p && is_from(p, w) && p->start_psn == start_psn_of(w))
		return p;
	p = u64map_get(&e->syns, syn_key(&w->net.src, w->pds.spdcid));
	if (p && !is_from(p, w))
		return NULL;
	if (p && p->start_psn == start_psn_of(w)) {
		e->recent_syn = p;
		return p;
	}
	if (!may_accept)
		return NULL;
	if (p) {
		nack_send(e, w, 0, WIRE_NACK_INVALID_SYN, now);
		return NULL;
	}
	p = accept(e, w, now);
	if (!p)
		nack_send(e, w, 0, WIRE_NACK_NO_PDC_AVAIL, now);
	return p;
}

static struct pdc_rx *find_established(struct weft_engine *e, const struct wire_pkt *w)
{
	struct pdc_rx *p = pdc_rx_by_id(e, w->pds.dpdcid);
	return p && is_from(p, w) ? p : NULL;
}

/* The same for an engine with has_hot. */
static inline struct pdc_rx *find_hot(const struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_pkt *w)
{
	struct pdc_rx *p = pdc_rx_by_id(e, w->pds.dpdcid);
	return likely(p && p->remote_id == w->pds.spdcid && wire_hot_is_from(pkt->head, &p->ip)) ? p : NULL;
}

/* CACK stays below the oldest response that the initiator has not confirmed. */
static inline void update_cack(struct pdc_rx *p)
{
	uint32_t cack = p->next_expected - 1;
	for (uint32_t i = 0; i < p->gtd_count; i++)
		if (psn_diff(p->gtd[i].psn, cack) <= 0)
			cack = p->gtd[i].psn - 1;
	p->cack_psn = cack;
}

static void cleared(struct pdc_rx *p, uint32_t clear_psn)
{
	if (!p->gtd_count)
		return;
	uint8_t kept = 0;
	for (uint8_t i = 0; i < p->gtd_count; i++)
		if (psn_after(p->gtd[i].psn, clear_psn))
			p->gtd[kept++] = p->gtd[i];
	p->gtd_count = kept;
	update_cack(p);
}

static bool is_received(const struct weft_engine *e, const struct pdc_rx *p, uint32_t psn)
{
	return psn_before(psn, p->next_expected) || (p->ooo_pkts && bitmap_test(p->received, e->rx_mask, psn));
}

/* The hole at next_expected is filled: everything contiguous is covered by CACK from now on. */
static void __attribute__((noinline)) close_hole(struct weft_engine *e, struct pdc_rx *p)
{
	uint32_t run = bitmap_run(p->received, e->rx_mask, p->next_expected, e->tune.window_pkts);
	for (uint32_t i = 0; i < run; i += 64) {
		uint32_t n = run - i < 64 ? run - i : 64;
		uint64_t bits = bitmap_get64(p->unreported, e->rx_mask, p->next_expected + i);
		bits &= n < 64 ? ~(UINT64_MAX << n) : UINT64_MAX;
		p->unreported_pkts -= (uint32_t)__builtin_popcountll(bits);
	}
	bitmap_clear_range(p->received, e->rx_mask, p->next_expected, run);
	bitmap_clear_range(p->unreported, e->rx_mask, p->next_expected, run);
	p->next_expected += run;
	p->ooo_pkts -= run;
	if (!p->ooo_pkts)
		window_release(e, p);
}

static void mark_ahead(const struct weft_engine *e, struct pdc_rx *p, uint32_t psn)
{
	bitmap_set(p->received, e->rx_mask, psn);
	bitmap_set(p->unreported, e->rx_mask, psn);
	p->unreported_pkts++;
	p->ooo_pkts++;
}

static inline void mark_received(struct weft_engine *e, struct pdc_rx *p, uint32_t psn)
{
	if (psn == p->next_expected) {
		p->next_expected++;
		if (p->ooo_pkts)
			close_hole(e, p);
	} else {
		mark_ahead(e, p, psn);
	}
	update_cack(p);
}

static bool in_window(const struct weft_engine *e, const struct pdc_rx *p, uint32_t psn)
{
	return psn_diff(psn, p->cack_psn) <= (int32_t)e->tune.window_pkts;
}

static void __attribute__((noinline))
refuse(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, uint8_t code, uint64_t *counter, weft_ns now)
{
	(*counter)++;
	nack_send(e, w, p->pdc.id, code, now);
}

/* The next ACK answers this packet. */
static inline void trigger(struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_pkt *w)
{
	p->trigger_at_ns = pkt->arrived_ns;
	p->trigger_psn = w->pds.psn;
	p->trigger_ev = w->net.entropy;
	p->trigger_message_id = w->has_ses ? w->ses.message_id : 0;
	p->trigger_flags = (uint8_t)((w->pds.flags & WIRE_F_RETX) | (w->net.ecn == WEFT_ECN_CE ? WIRE_F_ACK_M : 0));
}

/* The sender's wish was for everything up to its packet: what that one overtook is answered when the last of it
 * arrives, instead of after ack_delay_ns. */
static bool hole_closed(struct pdc_rx *p, const struct wire_pkt *w)
{
	bool closed = p->asked && !p->ooo_pkts;
	p->asked = (p->asked || (w->pds.flags & WIRE_F_AR)) && p->ooo_pkts;
	return closed;
}

/* Also after a trigger is set: CE is reported at once (ACK_On_ECN), as are the sender's wishes and a connection's first
 * packet. Of marks that credits brought the sender has no use. */
static bool answer_at_once(const struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, bool first)
{
	return hole_closed(p, w) || first || (w->pds.flags & WIRE_F_AR) ||
	       ((p->trigger_flags & WIRE_F_ACK_M) && !e->sched);
}

/* The last place is for the oldest PSN missing: the initiator can't confirm anything beyond before that has arrived. */
static bool keep_response(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, uint8_t rc)
{
	if (p->gtd_count >= (w->pds.psn == p->next_expected ? PDC_GTD_MAX : PDC_GTD_MAX - 1))
		return false;
	p->gtd[p->gtd_count++] = (struct gtd_rsp){w->pds.psn, w->ses.message_id, rc};
	if (rc == WIRE_RC_UNDELIVERABLE)
		e->stats.rx_no_ep++;
	else
		e->stats.rx_bad_ses++;
	return true;
}

/* Something new has arrived and is where it belongs, or was refused for good. Returns whether it was the first. */
static inline bool count_in(struct weft_engine *e, struct pdc_rx *p, const struct weft_pkt *pkt,
			    const struct wire_pkt *w)
{
	bool first = !p->rcvd_bytes;
	e->stats.rx_data++;
	e->stats.rx_ce += w->net.ecn == WEFT_ECN_CE;
	p->rcvd_bytes += e->overhead_bytes + w->payload_bytes;
	mark_received(e, p, w->pds.psn);
	trigger(p, pkt, w);
	return first;
}

static void new_data(struct weft_engine *e, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_pkt *w,
		     const uint8_t *payload, weft_ns now)
{
	if (!window_reserve(e, p, w->pds.psn)) {
		refuse(e, p, w, WIRE_NACK_NO_BITMAP, &e->stats.rx_no_mem, now);
		return;
	}
	e->rx_flags = w->pds.flags;
	int rc = msg_rx_packet(e, p, w, payload);
	if (rc == MSG_RX_NO_MEM) {
		refuse(e, p, w, WIRE_NACK_NO_SES_MSG_AVAIL, &e->stats.rx_no_mem, now);
		return;
	}
	if (rc && !keep_response(e, p, w, (uint8_t)rc)) {
		refuse(e, p, w, WIRE_NACK_NO_GTD_DEL_AVAIL, &e->stats.rx_no_gtd, now);
		return;
	}
	bool first = count_in(e, p, pkt, w);
	ack_data(e, p, answer_at_once(e, p, w, first) || rc, now);
}

static bool is_ordered(const struct wire_pkt *w)
{
	return w->pds.type == WIRE_PDS_ROD_REQ || w->pds.type == WIRE_PDS_ROD_CC_REQ;
}

/* Go-back-N (UE 1.0 sec. 3.5, ROD): the packet is dropped, and the gap reported once, behind the ACK for all before it.
 */
static void __attribute__((noinline))
out_of_order(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, weft_ns now)
{
	e->stats.rx_ooo++;
	if (p->gap_psn == p->next_expected)
		return;
	p->gap_psn = p->next_expected;
	ack_flush(e, p, now);
	nack_send(e, w, p->pdc.id, WIRE_NACK_ROD_OOO, now);
}

static void __attribute__((noinline))
duplicate(struct weft_engine *e, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now)
{
	e->stats.rx_dup++;
	trigger(p, pkt, w);
	ack_again(e, p, now);
}

static void __attribute__((noinline))
trimmed(struct weft_engine *e, struct pdc_rx *p, const struct wire_pkt *w, weft_ns now)
{
	e->stats.rx_trimmed++;
	uint8_t code = w->net.dscp == WIRE_DSCP_TRIMMED_LASTHOP ? WIRE_NACK_TRIMMED_LASTHOP : WIRE_NACK_TRIMMED;
	nack_send(e, w, p ? p->pdc.id : 0, code, now);
}

static const uint8_t *payload_of(const struct weft_pkt *pkt, const struct wire_pkt *w)
{
	return pkt->head_len > w->header_bytes ? pkt->head + w->header_bytes : pkt->payload;
}

static struct pdc_rx *find(struct weft_engine *e, const struct wire_pkt *w, bool may_accept, weft_ns now)
{
	if (w->pds.flags & WIRE_F_SYN)
		return find_syn(e, w, may_accept, now);
	struct pdc_rx *p = find_established(e, w);
	if (!p && may_accept)
		nack_send(e, w, 0, WIRE_NACK_INV_DPDCID, now);
	return p;
}

/* A trimmed packet opens nothing, unless credit is needed to send it again: then there must be a place for it. */
static bool may_accept(const struct weft_engine *e, const struct wire_pkt *w)
{
	return !w->trimmed || (e->rcc && (w->pds.flags & WIRE_F_SYN));
}

void pdc_rx_request(struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now)
{
	struct pdc_rx *p = find(e, w, may_accept(e, w), now);
	if (p)
		p->last_heard_ns = now;
	if (p && e->rcc)
		credit_rx_data(e, p, w, now);
	if (w->trimmed) {
		trimmed(e, p, w, now);
		return;
	}
	if (!p) {
		e->stats.rx_no_pdc++;
		return;
	}
	cleared(p, w->pds.psn + (uint32_t)w->pds.offset);
	if (!in_window(e, p, w->pds.psn))
		refuse(e, p, w, WIRE_NACK_PSN_OOR_WINDOW, &e->stats.rx_window, now);
	else if (is_received(e, p, w->pds.psn))
		duplicate(e, p, pkt, w, now);
	else if (p->closed)
		nack_send(e, w, p->pdc.id, p->given_up ? WIRE_NACK_CLOSING_IN_ERR : WIRE_NACK_CLOSING, now);
	else if (is_ordered(w) && w->pds.psn != p->next_expected)
		out_of_order(e, p, w, now);
	else
		new_data(e, p, pkt, w, payload_of(pkt, w), now);
}

/* Nothing of this PSN has arrived, and there is room to note that it has. */
static inline bool is_awaited(struct weft_engine *e, struct pdc_rx *p, uint32_t psn)
{
	return likely(psn == p->next_expected) ||
	       (in_window(e, p, psn) && !is_received(e, p, psn) && window_reserve(e, p, psn));
}

/* Inline wherever files are optimised together. */
inline __attribute__((always_inline)) bool pdc_rx_hot(struct weft_engine *e, const struct weft_pkt *pkt, weft_ns now)
{
	struct wire_pkt w; /* in registers, as long as nothing here needs its address */
	if (unlikely(!wire_decode_hot_middle(pkt->head, pkt->head_len, pkt->payload_len, WIRE_UDP_PORT, &e->ip,
					     &e->seen[0], &w)))
		return false;
	struct pdc_rx *p = find_hot(e, pkt, &w);
	struct rx_msg *m = likely(p && !p->gtd_count) ? p->recent : NULL; /* closed connections have no messages */
	if (unlikely(!m || !msg_rx_expects(m, &w) || !is_awaited(e, p, w.pds.psn)))
		return false;
	p->last_heard_ns = now;
	e->rx_flags = w.pds.flags;
	msg_rx_take(e, m, w.ses.message_offset, payload_of(pkt, &w), w.payload_bytes);
	bool first = count_in(e, p, pkt, &w);
	if (likely(e->ack_each))
		ack_hot(e, p, now);
	else
		ack_data(e, p, answer_at_once(e, p, &w, first), now);
	return true;
}

/* Nothing new is taken; late copies are still answered for a while. */
static void shut(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	p->closed = true;
	credit_rx_stop(e, p);
	p->gtd_count = 0;
	update_cack(p);
	msg_rx_fail(e, p, ECONNRESET);
	wheel_set(&e->wheel, &p->pdc.timer, now + TIME_WAIT_RTOS * e->rto_ns);
}

void pdc_rx_give_up(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	p->given_up = true;
	p->last_heard_ns = now;
	list_del(&p->stuck_link);
	shut(e, p, now);
}

/* Control packets that use a PSN: NOOP, NEGOTIATION, CLOSE_CMD. */
static void sequenced(struct weft_engine *e, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_pkt *w,
		      weft_ns now)
{
	if (!in_window(e, p, w->pds.psn)) {
		refuse(e, p, w, WIRE_NACK_PSN_OOR_WINDOW, &e->stats.rx_window, now);
		return;
	}
	if (p->given_up && w->pds.ctl == WIRE_CTL_NOOP) {
		nack_send(e, w, p->pdc.id, WIRE_NACK_CLOSING_IN_ERR, now);
		return;
	}
	if (!is_received(e, p, w->pds.psn)) {
		if (!window_reserve(e, p, w->pds.psn))
			return; /* it comes again */
		mark_received(e, p, w->pds.psn);
		if (w->pds.ctl == WIRE_CTL_CLOSE_CMD)
			shut(e, p, now);
	}
	trigger(p, pkt, w);
	ack_again(e, p, now);
}

static void ack_request(struct weft_engine *e, struct pdc_rx *p, const struct weft_pkt *pkt, const struct wire_pkt *w,
			weft_ns now)
{
	if (in_window(e, p, w->pds.psn) && is_received(e, p, w->pds.psn)) {
		trigger(p, pkt, w);
		ack_again(e, p, now);
	} else {
		nack_send(e, w, p->pdc.id, WIRE_NACK_PKT_NOT_RCVD, now);
	}
}

void pdc_rx_control(struct weft_engine *e, const struct weft_pkt *pkt, const struct wire_pkt *w, weft_ns now)
{
	e->stats.rx_ctrl++;
	if (w->pds.ctl == WIRE_CTL_CREDIT) {
		credit_tx_granted(e, w, now);
		return;
	}
	bool may_accept = e->sched && w->pds.ctl == WIRE_CTL_CREDIT_REQ;
	struct pdc_rx *p = find(e, w, may_accept, now);
	if (!p) {
		e->stats.rx_no_pdc++;
		if (w->pds.ctl == WIRE_CTL_CLOSE_CMD || w->pds.ctl == WIRE_CTL_NOOP)
			nack_send(e, w, 0, WIRE_NACK_INV_DPDCID, now);
		return;
	}
	p->last_heard_ns = now;
	switch (w->pds.ctl) {
	case WIRE_CTL_NOOP:
	case WIRE_CTL_NEGOTIATION:
	case WIRE_CTL_CLOSE_CMD:
		sequenced(e, p, pkt, w, now);
		break;
	case WIRE_CTL_ACK_REQ:
		ack_request(e, p, pkt, w, now);
		break;
	case WIRE_CTL_CLEAR_CMD:
		cleared(p, w->pds.payload);
		break;
	case WIRE_CTL_PROBE:
		ack_probe(e, p, pkt, w, now);
		break;
	case WIRE_CTL_CREDIT_REQ:
		credit_rx_request(e, p, w, now);
		break;
	default: /* nothing we ever ask for */
		break;
	}
}

void pdc_rx_ack_at(struct weft_engine *e, struct pdc_rx *p, weft_ns at)
{
	p->ack_at_ns = at;
	if (at < p->pdc.timer.at)
		wheel_set(&e->wheel, &p->pdc.timer, at);
}

/* Silence in the middle of a message means the initiator is gone. Between messages it may just have nothing to say,
 * until long after it would have closed. */
static weft_ns silence_deadline(const struct weft_engine *e, const struct pdc_rx *p)
{
	if (p->closed)
		return p->last_heard_ns + TIME_WAIT_RTOS * e->rto_ns;
	if (!list_empty(&p->msgs))
		return p->last_heard_ns + e->tune.peer_timeout_ns;
	if (!e->tune.idle_close_ns)
		return WEFT_NEVER;
	return p->last_heard_ns + REAP_IDLE_CLOSES * e->tune.idle_close_ns + e->tune.peer_timeout_ns;
}

void pdc_rx_timer(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	if (now >= p->ack_at_ns) {
		p->ack_at_ns = WEFT_NEVER;
		ack_flush(e, p, now);
	}
	weft_ns at = silence_deadline(e, p);
	if (at < e->grace_ns)
		at = e->grace_ns;
	if (now >= at) {
		e->stats.pdc_failed += !list_empty(&p->msgs);
		msg_rx_fail(e, p, ETIMEDOUT);
		pdc_rx_free(e, p);
		return;
	}
	/* A message may begin any time, so look at least that often. */
	if (at > now + e->tune.peer_timeout_ns)
		at = now + e->tune.peer_timeout_ns;
	wheel_set(&e->wheel, &p->pdc.timer, at < p->ack_at_ns ? at : p->ack_at_ns);
}
