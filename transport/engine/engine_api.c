/* SPDX-License-Identifier: BSD-3-Clause */
/* The public functions that name an engine. */
#include "engine_state.h"

int weft_peer_add(struct weft_engine *e, const struct weft_addr *addr, uint32_t *id)
{
	return peer_add(&e->ses.peers, addr, id);
}

const struct weft_addr *weft_peer_addr(const struct weft_engine *e, uint32_t id)
{
	const struct peer *p = peer_get(&e->ses.peers, id);
	return p ? &p->addr : NULL;
}

int weft_ep_open(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries, struct weft_ep **out,
		 struct weft_err *err)
{
	return ses_ep_open(&e->ses, port, sq_entries, cq_entries, out, err);
}

int weft_ep_open_hidden(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries,
			struct weft_ep **out, struct weft_err *err)
{
	return ses_ep_open_hidden(&e->ses, port, sq_entries, cq_entries, out, err);
}

int weft_ep_open_dgram(struct weft_engine *e, uint16_t port, uint32_t sq_entries, uint32_t cq_entries,
		       struct weft_ep **out, struct weft_err *err)
{
	return ses_ep_open_dgram(&e->ses, port, sq_entries, cq_entries, out, err);
}

/* What that begins nobody would poll for otherwise. */
void weft_ep_close(struct weft_ep *ep)
{
	struct ses *ses = ses_ep_close(ep);
	struct weft_engine *e = list_entry(ses, struct weft_engine, ses);
	if (ses->kicked)
		e->due_ns = ses->polled_ns;
}

int weft_mr_add(struct weft_engine *e, const struct weft_mr_attr *attr, struct weft_mr **out)
{
	return ses_mr_add(&e->ses, attr, out);
}

void *weft_mr_find(const struct weft_engine *e, uint32_t scope, uint64_t key)
{
	const struct weft_mr *mr = mr_get(&e->ses.mrs, scope, key);
	return mr ? mr->attr.context : NULL;
}

uint32_t weft_dgram_bytes_max(const struct weft_engine *e)
{
	return e->pds.conf.tune.payload_bytes;
}

uint32_t weft_atomic_bytes(const struct weft_engine *e, uint8_t op)
{
	return ses_atomic_bytes(&e->ses, op);
}

void weft_engine_fail(struct weft_engine *e, int err)
{
	ses_fail(&e->ses, err);
	e->due_ns = e->ses.polled_ns;
}

bool weft_engine_idle(const struct weft_engine *e)
{
	return pds_is_quiet(&e->pds) && list_empty(&e->ses.rudi.ops);
}
