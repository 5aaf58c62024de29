/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_hang.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "prov_addr.h"
#include "prov_log.h"
#include "weft/recorder.h"
#include "weft/view.h"

/* Ages are counted in looks, so that an operation costs no look at the clock. */
enum { LOOKS = 8 };

void prov_hang_init(struct prov_nic *nic, weft_ns limit_ns)
{
	nic->hang = (struct prov_hang){.limit_ns = limit_ns, .look_at_ns = WEFT_NEVER};
	TAILQ_INIT(&nic->hang.young);
}

void prov_hang_add(struct prov_nic *nic, struct prov_req *req, uint32_t peer)
{
	struct prov_hang *h = &nic->hang;
	assert_locked(nic);
	assert(!req->is_young);
	if (h->look_at_ns == WEFT_NEVER)
		h->look_at_ns = 0; /* the next poll knows the time */
	req->is_young = true;
	req->peer = peer;
	req->looks = h->looks;
	TAILQ_INSERT_TAIL(&h->young, req, young_link);
}

void prov_hang_remove(struct prov_nic *nic, struct prov_req *req)
{
	assert_locked(nic);
	if (!req->is_young)
		return;
	TAILQ_REMOVE(&nic->hang.young, req, young_link);
	req->is_young = false;
}

/* What is known of the operations to a peer. */
struct standing {
	struct weft_ip ip;
	struct weft_op_row oldest; /* age_ns 0: none was found */
	struct weft_event last;
};

static bool is_of_ours(const struct weft_op_row *row, const struct weft_ip *ip)
{
	return row->wait < WEFT_WAIT_MESSAGE && !row->any_peer && weft_ip_eq(&row->peer.ip, ip);
}

/* Of an engine with very many operations the first pages. */
static void find_oldest(const struct prov_nic *nic, struct standing *s, weft_ns now)
{
	enum { PAGES = 64 };
	struct weft_op_row rows[WEFT_OP_ROWS_MIN];
	uint32_t cursor = 0;
	for (int page = 0; page == 0 || (cursor && page < PAGES); page++) {
		unsigned n = weft_engine_ops(nic->engine, now, &cursor, rows, WEFT_OP_ROWS_MIN);
		for (unsigned i = 0; i < n; i++)
			if (is_of_ours(&rows[i], &s->ip) && rows[i].age_ns > s->oldest.age_ns)
				s->oldest = rows[i];
	}
}

static void note_event(void *arg, const struct weft_event *e, const struct weft_ip *peer)
{
	struct standing *s = arg;
	if (peer && weft_ip_eq(peer, &s->ip))
		s->last = *e;
}

static const char *what_of(const struct prov_req *req)
{
	uint64_t flags = req->entry.flags;
	return flags & FI_ATOMIC  ? "an atomic operation"
	       : flags & FI_READ  ? "a read"
	       : flags & FI_WRITE ? "a write"
				  : "a message";
}

static const char *wait_text(uint8_t wait)
{
	static const char *const texts[WEFT_WAITS] = {
		[WEFT_WAIT_PORT] = "the device, which takes no packets",
		[WEFT_WAIT_TURN] = "operations before it",
		[WEFT_WAIT_FENCE] = "operations before its fence",
		[WEFT_WAIT_CWND] = "the congestion window",
		[WEFT_WAIT_PACE] = "its pace",
		[WEFT_WAIT_WINDOW] = "the peer's window",
		[WEFT_WAIT_CREDIT] = "credit from the peer",
		[WEFT_WAIT_RESOURCES] = "memory of the peer",
		[WEFT_WAIT_CLOSE] = "a connection that closes",
		[WEFT_WAIT_ACK] = "the peer's acknowledgement",
		[WEFT_WAIT_ANSWER] = "the peer's answer",
		[WEFT_WAIT_RECEIVE] = "a receive, which the peer's application has not posted",
		[WEFT_WAIT_FETCH] = "the peer to fetch it",
	};
	return wait < WEFT_WAITS && texts[wait] ? texts[wait] : "something that is not known";
}

/* What the operation waits for, as far as this end can tell. */
static void print_state(const struct prov_nic *nic, const struct standing *s, char *to, size_t size)
{
	const struct weft_op_row *op = &s->oldest;
	const struct weft_port *port = nic->engine_port;
	struct weft_ip hop;
	int way = port->ops->reach ? port->ops->reach(port, &s->ip, &hop) : 0;
	if (nic->port_link.err)
		snprintf(to, size, "the link is down");
	else if (way)
		snprintf(to, size, "%s",
			 way == -ENETUNREACH ? "no route leads there" : "its link address is not known");
	else if (!op->age_ns)
		snprintf(to, size, "it waits for the peer");
	else
		snprintf(to, size, "%" PRIu64 " of %" PRIu64 " bytes sent, waits for %s; peer silent for %.1f s",
			 op->done_bytes, op->bytes, wait_text(op->wait), (double)op->silent_ns / 1e9);
}

static double seconds(weft_ns now, weft_ns then)
{
	return now > then ? (double)(now - then) / 1e9 : 0;
}

static void print_last(const struct weft_event *e, weft_ns now, char *to, size_t size)
{
	to[0] = 0;
	if (e->kind)
		snprintf(to, size, "; last event: %s, PSN %" PRIu32 ", %.1f s ago", weft_event_name(e->kind), e->psn,
			 seconds(now, e->time_ns));
}

/* `others`: operations to the same peer that are as old. */
static void tell(const struct prov_nic *nic, const struct prov_req *req, unsigned others, weft_ns now)
{
	struct standing s = {.ip = weft_peer_addr(nic->engine, req->peer)->ip};
	struct weft_recording about;
	char peer[INET6_ADDRSTRLEN], state[192], last[96], more[48] = "";
	find_oldest(nic, &s, now);
	if (nic->recorder.buffer)
		weft_recorder_read(nic->recorder.buffer, nic->recorder.bytes, nic->recorder.buffer, &about, note_event,
				   &s);
	print_state(nic, &s, state, sizeof state);
	print_last(&s.last, now, last, sizeof last);
	if (others)
		snprintf(more, sizeof more, " (and %u others)", others);
	FI_WARN(&prov_weft, FI_LOG_EP_DATA, "%s: %s to peer %s takes more than %.1f s%s: %s%s\n", nic->name,
		what_of(req), prov_ip_print(&s.ip, peer, sizeof peer), (double)nic->hang.limit_ns / 1e9, more, state,
		last);
}

static bool is_old(const struct prov_nic *nic, const struct prov_req *req)
{
	return req && nic->hang.looks - req->looks > LOOKS;
}

/* Takes the oldest, and all right behind it to the same peer that are too old as well, for one line. */
static void tell_oldest(struct prov_nic *nic, weft_ns now)
{
	struct prov_req *first = TAILQ_FIRST(&nic->hang.young), *req;
	unsigned others = 0;
	prov_nic_no_cancel(nic);
	prov_hang_remove(nic, first);
	while (is_old(nic, req = TAILQ_FIRST(&nic->hang.young)) && req->peer == first->peer) {
		prov_hang_remove(nic, req);
		others++;
	}
	tell(nic, first, others, now);
}

weft_ns prov_hang_look(struct prov_nic *nic, weft_ns now)
{
	struct prov_hang *h = &nic->hang;
	assert_locked(nic);
	h->looks++;
	while (is_old(nic, TAILQ_FIRST(&h->young)))
		tell_oldest(nic, now);
	h->look_at_ns = TAILQ_EMPTY(&h->young) ? WEFT_NEVER : now + h->limit_ns / LOOKS;
	return h->look_at_ns;
}
