/* SPDX-License-Identifier: BSD-3-Clause */
#include "bounce.h"

#include <string.h>

#include "rx_msg.h"

enum {
	SHARE = 4,          /* of what is left, that a host may hold */
	UNPROVEN_SHARE = 8, /* all addresses that have shown nothing hold together an eighth of what is left at most */
	MSGS_MIN = 4096,    /* messages without payload that are always allowed, whatever the limit in bytes */
};

/* ---- quotas ---- */

/* Whether one who holds `held` of something may have `more`, when `used` of `limit` are in use. */
static bool is_within(uint64_t limit, uint64_t used, uint64_t held, uint64_t more, bool is_unproven)
{
	uint64_t left = used < limit ? limit - used : 0;
	return more <= left && (is_unproven ? (held + more) * UNPROVEN_SHARE <= left : held + more <= left * SHARE);
}

static struct remote *remote_of(const struct ses *ses, const struct rx_msg *m)
{
	return peer_get(&ses->peers, m->src_peer)->remote;
}

static bool is_unproven(const struct rx_msg *m)
{
	return m->pdc && m->pdc->pdc.marks & PDC_UNPROVEN;
}

static bool may_hold(const struct ses *ses, const struct rx_msg *m, uint64_t bytes)
{
	bool unproven = is_unproven(m);
	uint64_t held = unproven ? ses->unproven_bytes : remote_of(ses, m)->unexpected_bytes;
	return m->req || is_within(ses->pds->conf.tune.unexpected_bytes, ses->unexpected_bytes, held, bytes, unproven);
}

static void hold(struct ses *ses, struct rx_msg *m, uint64_t bytes)
{
	uint64_t unproven = is_unproven(m) ? bytes : 0;
	ses->unexpected_bytes += bytes;
	ses->unproven_bytes += unproven;
	remote_of(ses, m)->unexpected_bytes += bytes;
	m->bounce->held_bytes += bytes;
	m->bounce->unproven_bytes += unproven;
}

/* ---- memory ---- */

static uint32_t chunks_of(const struct rx_msg *m)
{
	return m->bytes / BOUNCE_CHUNK + !!(m->bytes % BOUNCE_CHUNK);
}

static uint32_t chunk_bytes(const struct rx_msg *m, uint32_t i)
{
	uint32_t left = m->bytes - i * BOUNCE_CHUNK;
	return left < BOUNCE_CHUNK ? left : BOUNCE_CHUNK;
}

static bool begin(struct ses *ses, struct rx_msg *m, bool anyway)
{
	uint32_t count = chunks_of(m);
	size_t table = sizeof(struct bounce) + count * sizeof(uint8_t *);
	uint64_t counts = count == 1 ? m->bytes : count * sizeof(uint8_t *);
	assert(!m->bounce && count > 0);
	if (!anyway && !may_hold(ses, m, counts))
		return false;
	m->bounce = weft_mem_alloc(ses->mem, table + (count == 1 ? m->bytes : 0));
	if (!m->bounce)
		return false;
	m->bounce->count = count;
	hold(ses, m, counts);
	if (count == 1)
		m->bounce->chunks[0] = (uint8_t *)m->bounce + table;
	return true;
}

static bool add_chunk(struct ses *ses, struct rx_msg *m, uint32_t i, bool anyway)
{
	uint32_t bytes = chunk_bytes(m, i);
	if (m->bounce->chunks[i])
		return true;
	if (!anyway && !may_hold(ses, m, bytes))
		return false;
	m->bounce->chunks[i] = weft_mem_alloc(ses->mem, bytes);
	if (!m->bounce->chunks[i])
		return false;
	hold(ses, m, bytes);
	return true;
}

static bool reserve(struct ses *ses, struct rx_msg *m, uint32_t offset, uint32_t len, bool anyway)
{
	assert(len > 0 && (uint64_t)offset + len <= m->bytes);
	if (!m->bounce && !begin(ses, m, anyway))
		return false;
	for (uint32_t i = offset / BOUNCE_CHUNK; i <= (offset + len - 1) / BOUNCE_CHUNK; i++)
		if (!add_chunk(ses, m, i, anyway))
			return false;
	return true;
}

bool bounce_reserve(struct ses *ses, struct rx_msg *m, uint32_t offset, uint32_t len)
{
	return reserve(ses, m, offset, len, false);
}

bool bounce_reserve_all(struct ses *ses, struct rx_msg *m)
{
	return reserve(ses, m, 0, m->bytes, true);
}

bool bounce_has(const struct rx_msg *m, uint32_t offset, uint32_t len)
{
	for (uint32_t i = offset / BOUNCE_CHUNK; m->bounce && len && i <= (offset + len - 1) / BOUNCE_CHUNK; i++)
		if (!m->bounce->chunks[i])
			return false;
	return m->bounce;
}

void bounce_store(struct rx_msg *m, uint32_t offset, const uint8_t *payload, uint32_t len)
{
	assert(bounce_has(m, offset, len));
	for (uint32_t n; len; offset += n, payload += n, len -= n) {
		uint32_t at = offset % BOUNCE_CHUNK;
		n = len < BOUNCE_CHUNK - at ? len : BOUNCE_CHUNK - at;
		memcpy(m->bounce->chunks[offset / BOUNCE_CHUNK] + at, payload, n);
	}
}

void bounce_hand_over(const struct rx_msg *m)
{
	assert(!m->bounce || bounce_has(m, 0, m->bytes));
	if (!m->bounce) /* its sender had no buffer: the bytes are any */
		rx_place_in(&m->req->op, m->into, NULL, m->bytes, false);
	for (uint32_t i = 0; m->bounce && i < m->bounce->count; i++)
		rx_place_in(&m->req->op, m->into + (uint64_t)i * BOUNCE_CHUNK, m->bounce->chunks[i], chunk_bytes(m, i),
			    false);
}

uint8_t *bounce_flat(const struct rx_msg *m)
{
	assert(!m->bounce || m->bytes <= BOUNCE_CHUNK);
	return m->bounce ? m->bounce->chunks[0] : NULL;
}

void bounce_free(struct ses *ses, struct rx_msg *m)
{
	struct bounce *b = m->bounce;
	if (!b)
		return;
	struct remote *r = remote_of(ses, m);
	assert(ses->unexpected_bytes >= b->held_bytes && ses->unproven_bytes >= b->unproven_bytes &&
	       r->unexpected_bytes >= b->held_bytes);
	ses->unexpected_bytes -= b->held_bytes;
	ses->unproven_bytes -= b->unproven_bytes;
	r->unexpected_bytes -= b->held_bytes;
	for (uint32_t i = 0; b->count > 1 && i < b->count; i++)
		weft_mem_free(ses->mem, b->chunks[i]);
	weft_mem_free(ses->mem, b);
	m->bounce = NULL;
}

/* ---- records ---- */

struct rx_msg *bounce_record(struct ses *ses, uint32_t peer, bool is_unproven, bool wanted)
{
	uint64_t limit = ses->pds->conf.tune.unexpected_bytes / sizeof(struct rx_msg);
	struct remote *r = peer_get(&ses->peers, peer)->remote;
	limit = limit > MSGS_MIN ? limit : MSGS_MIN;
	if (!wanted && !is_within(limit, ses->rx_msg_pool.used, r->msgs, 1, is_unproven))
		return NULL;
	struct rx_msg *m = pool_get(&ses->rx_msg_pool);
	r->msgs += m != NULL;
	return m;
}

void bounce_record_free(struct ses *ses, struct rx_msg *m)
{
	struct remote *r = remote_of(ses, m);
	assert(r->msgs > 0);
	r->msgs--;
	pool_put(&ses->rx_msg_pool, m);
}
