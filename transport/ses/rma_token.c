/* SPDX-License-Identifier: BSD-3-Clause */
#include "rma_token.h"

#include <string.h>

enum { TABLE_ROOM_MIN = 64, TABLE_ROOM_MAX = RMA_TOKEN_INDEX + 1 };

static bool table_grow(struct ses *ses)
{
	struct rma_table *t = &ses->asks;
	uint32_t room = t->room ? t->room * 2 : TABLE_ROOM_MIN;
	assert((room & (room - 1)) == 0);
	if (room > TABLE_ROOM_MAX)
		return false;
	struct tx_msg **msgs = weft_mem_alloc(ses->mem, room * sizeof(struct tx_msg *));
	if (!msgs)
		return false;
	if (t->msgs)
		memcpy(msgs, t->msgs, t->room * sizeof(struct tx_msg *));
	weft_mem_free(ses->mem, t->msgs);
	t->msgs = msgs;
	t->room = room;
	return true;
}

static uint32_t token_index(const struct ses *ses, uint64_t token)
{
	return (token ^ ses->asks.salt) & RMA_TOKEN_INDEX;
}

/* Indices are handed out in turn, and the rest is random: an answer that comes late finds nobody, and nobody guesses
 * the token of a message. */
bool rma_token_take(struct ses *ses, struct tx_msg *m)
{
	struct rma_table *t = &ses->asks;
	assert(!m->rma->token && t->count <= t->room);
	if (t->count >= t->room / 2 && !table_grow(ses) && t->count + 1 >= t->room)
		return false;
	do
		t->cursor = (t->cursor + 1) & (t->room - 1);
	while (!t->cursor || t->msgs[t->cursor]);
	t->msgs[t->cursor] = m;
	t->count++;
	assert(t->cursor < t->room && t->count < t->room); /* entry 0 stays free */
	m->rma->token = (pds_unguessable(ses->pds) & ~(uint64_t)RMA_TOKEN_INDEX) | (t->cursor ^ t->salt);
	return true;
}

void rma_token_put(struct ses *ses, uint64_t token)
{
	assert(ses->asks.count > 0 && ses->asks.msgs[token_index(ses, token)]);
	ses->asks.msgs[token_index(ses, token)] = NULL;
	ses->asks.count--;
}

struct tx_msg *rma_token_find(const struct ses *ses, uint64_t token, uint64_t mask)
{
	uint32_t i = token_index(ses, token);
	struct tx_msg *m = i < ses->asks.room ? ses->asks.msgs[i] : NULL;
	assert(!m || m->rma);
	return m && !((m->rma->token ^ token) & mask) ? m : NULL;
}

struct tx_msg *rma_announced(const struct ses *ses, const struct weft_ip *ip, uint64_t token)
{
	struct tx_msg *m = rma_token_find(ses, token, UINT64_MAX);
	bool ours = m && m->rma->role == RMA_ANNOUNCE && weft_ip_eq(&m->rma->pdc->ip, ip);
	return ours && !m->err && !m->rma->answered && !m->rma->mate ? m : NULL;
}
