/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints: a number on this engine, a ring of submissions, a ring of completions. */
#include <errno.h>

#include "completion.h"
#include "doorbell.h"

enum { EP_RING_MIN = 16, EP_RING_MAX = 1 << 20 };

static bool in_use(const struct ses *ses, uint16_t port)
{
	return u64map_get(&ses->by_port, port);
}

/* The smallest that is free, so that numbers of programs that open and close alike stay alike; 0: none is. */
static uint16_t find_free_port(struct ses *ses)
{
	uint32_t port = ses->free_port_from;
	while (port <= UINT16_MAX && in_use(ses, (uint16_t)port))
		port++;
	ses->free_port_from = port;
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

static uint32_t ring_entries(uint32_t requested)
{
	uint32_t n = EP_RING_MIN;
	while (n < requested && n < EP_RING_MAX)
		n *= 2;
	assert((n & (n - 1)) == 0);
	return n;
}

static bool ring_open(struct ses *ses, struct spsc *r, void **slots, uint32_t requested, uint32_t elem_bytes)
{
	uint32_t entries = ring_entries(requested);
	*slots = weft_mem_alloc(ses->mem, spsc_bytes(entries, elem_bytes));
	if (*slots)
		spsc_init(r, *slots, entries, elem_bytes);
	return *slots;
}

static struct weft_ep *ep_alloc(struct ses *ses, uint32_t sq_entries, uint32_t cq_entries)
{
	struct weft_ep *ep = weft_mem_alloc(ses->mem, sizeof *ep);
	if (!ep)
		return NULL;
	ep->ses = ses;
	list_init(&ep->link);
	list_init(&ep->ready_link);
	for (int i = 0; i < 2; i++) {
		list_init(&ep->own.posted[i]);
		list_init(&ep->own.unexpected[i]);
	}
	list_init(&ep->own.claimed);
	ep->rx = &ep->own;
	ep->overflow_tail = &ep->overflow;
	if (ring_open(ses, &ep->sq, &ep->sq_slots, sq_entries, sizeof(struct weft_op)) &&
	    ring_open(ses, &ep->cq, &ep->cq_slots, cq_entries, sizeof(struct weft_cqe)))
		return ep;
	ep_free(ep);
	return NULL;
}

/* Hidden. NULL: no memory, says `err`. */
static struct weft_ep *ep_new(struct ses *ses, uint16_t port, uint32_t sq_entries, uint32_t cq_entries,
			      struct weft_err *err)
{
	struct weft_ep *ep = ep_alloc(ses, sq_entries, cq_entries);
	if (!ep) {
		weft_err_set(err, -ENOMEM, "endpoint %u: no memory for its rings", port);
		return NULL;
	}
	ep->port = port;
	ep->hidden = true;
	list_add_tail(&ses->eps, &ep->link);
	return ep;
}

int ses_ep_open_hidden(struct ses *ses, uint16_t port, uint32_t sq_entries, uint32_t cq_entries, struct weft_ep **out,
		       struct weft_err *err)
{
	struct weft_ep *ep = ep_new(ses, port, sq_entries, cq_entries, err);
	if (!ep)
		return -ENOMEM;
	*out = ep;
	return 0;
}

int ses_ep_open(struct ses *ses, uint16_t port, uint32_t sq_entries, uint32_t cq_entries, struct weft_ep **out,
		struct weft_err *err)
{
	if (port && in_use(ses, port))
		return weft_err_set(err, -EADDRINUSE, "endpoint %u is open already", port);
	if (!port && !(port = find_free_port(ses)))
		return weft_err_set(err, -EADDRINUSE, "all endpoint numbers from %u up are open", EP_PORT_FIRST_FREE);
	struct weft_ep *ep = ep_new(ses, port, sq_entries, cq_entries, err);
	if (!ep)
		return -ENOMEM;
	if (!u64map_put(&ses->by_port, port, ep)) {
		ep_free(ep);
		return weft_err_set(err, -ENOMEM, "endpoint %u: no memory for its number", port);
	}
	ep->hidden = false;
	*out = ep;
	return 0;
}

int ses_ep_open_dgram(struct ses *ses, uint16_t port, uint32_t sq_entries, uint32_t cq_entries, struct weft_ep **out,
		      struct weft_err *err)
{
	int ret = ses_ep_open(ses, port, sq_entries, cq_entries, out, err);
	if (!ret)
		(*out)->is_dgram = true;
	return ret;
}

void weft_ep_share(struct weft_ep *ep, struct weft_ep *with)
{
	ep->rx = &with->own;
}

void weft_ep_only_from(struct weft_ep *ep, const struct weft_addr *partner)
{
	assert(!ep->is_dgram && !ep->hidden);
	ep->exclusive = true;
	ep->partner = partner ? *partner : (struct weft_addr){.port = 0};
}

/* Of 0, of an endpoint that had no memory: there is none. */
static void forget_port(struct ses *ses, uint16_t port)
{
	u64map_del(&ses->by_port, port);
	if (port >= EP_PORT_FIRST_FREE && port < ses->free_port_from)
		ses->free_port_from = port;
}

void ep_free(struct weft_ep *ep)
{
	struct ses *ses = ep->ses;
	while (ep->overflow) {
		struct cqe_node *n = ep->overflow;
		ep->overflow = n->next;
		cqe_release(ses, n);
	}
	assert(list_empty(&ep->own.claimed));
	for (int i = 0; i < 2; i++)
		assert(list_empty(&ep->own.posted[i]) && list_empty(&ep->own.unexpected[i]));
	if (!ep->hidden)
		forget_port(ses, ep->port);
	assert(list_empty(&ep->ready_link) && !ep->is_rung);
	list_del(&ep->link);
	weft_mem_free(ses->mem, ep->sq_slots);
	weft_mem_free(ses->mem, ep->cq_slots);
	weft_mem_free(ses->mem, ep);
}

uint16_t weft_ep_port(const struct weft_ep *ep)
{
	return ep->port;
}

void weft_ep_scope(struct weft_ep *ep, uint32_t scope, bool events)
{
	ep->scope = scope;
	ep->events = events;
}

int weft_submit(struct weft_ep *ep, const struct weft_op *op)
{
	if (!spsc_push(&ep->sq, op))
		return -EAGAIN;
	doorbell_ring(ep);
	return 0;
}

unsigned weft_sq_space(const struct weft_ep *ep)
{
	return spsc_space(&ep->sq);
}

unsigned weft_cq_take(struct weft_ep *ep, struct weft_cqe *cqes, unsigned n)
{
	unsigned taken = 0;
	while (taken < n && spsc_pop(&ep->cq, &cqes[taken]))
		taken++;
	return taken;
}
