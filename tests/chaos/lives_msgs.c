/* SPDX-License-Identifier: BSD-3-Clause */
/* The application of both hosts: what it sends and receives, and what must be true of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "lives.h"

enum { ALL_TAGS = -1 };

/* No two messages of a run have the same bytes: another one's are noticed. */
static uint64_t pattern_of(const struct lives *l, uint64_t tag)
{
	return l->conf.seed % 251 + tag * 7;
}

static int submit(struct lives *l, int side, const struct weft_op *op)
{
	int rc = weft_submit(l->d.ep[side], op);
	assert_true(rc == 0 || rc == -ENOMEM || rc == -EAGAIN);
	l->d.due[side] = l->d.now;
	return rc;
}

static void post_one(struct lives *l, int side)
{
	struct lives_recv *r = &l->recvs[l->recv_count];
	*r = (struct lives_recv){calloc(1, l->conf.bytes), side};
	assert_non_null(r->buf);
	struct weft_op op = {.kind = WEFT_OP_TRECV,
			     .peer = WEFT_PEER_ANY,
			     .buf = r->buf,
			     .len = l->conf.bytes,
			     .ignore = (uint64_t)ALL_TAGS,
			     .context = r};
	if (submit(l, side, &op) == 0) {
		l->recv_count++;
		return;
	}
	free(r->buf);
	r->buf = NULL;
}

void lives_post(struct lives *l, int side)
{
	uint32_t room = (uint32_t)(sizeof l->recvs / sizeof l->recvs[0]);
	for (uint32_t i = 0; i < l->conf.messages + LIVES_SPARE && l->recv_count < room; i++)
		post_one(l, side);
}

void lives_send(struct lives *l)
{
	struct lives_msg *m = &l->msgs[l->msg_count];
	int side = (int)rng_below(&l->dice, 2);
	uint32_t len = rng_below(&l->dice, 1 + (rng_below(&l->dice, 2) ? l->conf.bytes : l->conf.bytes / 16));
	if (!l->up[side] || l->msg_count == LIVES_MESSAGES)
		return;
	*m = (struct lives_msg){.len = len, .from = side, .ended_at = WEFT_NEVER, .sent = true};
	memcpy(m->life, l->life, sizeof m->life);
	m->buf = duo_pattern(len, pattern_of(l, l->msg_count));
	struct weft_op op = {.kind = WEFT_OP_TSEND,
			     .peer = l->d.peer[side],
			     .buf = m->buf,
			     .len = len,
			     .tag = l->msg_count,
			     .context = m};
	if (submit(l, side, &op) == 0) {
		l->msg_count++;
		return;
	}
	free(m->buf);
	m->buf = NULL;
}

bool lives_exposed(const struct lives *l, const struct lives_msg *m)
{
	int to = !m->from;
	return l->life[m->from] != m->life[m->from] || l->life[to] != l->round_life[to];
}

static void sent(struct lives *l, struct lives_msg *m, const struct weft_cqe *cqe)
{
	assert_non_null(m->buf);
	m->err = cqe->err;
	m->ended_at = l->d.now;
	if (cqe->err) { /* only a crash fails a message */
		assert_true(lives_exposed(l, m));
		/* Without memory for a copy of what an answer carries, its connection fails, and all that is on it. */
		bool short_of_memory = cqe->err == ENOMEM && l->conf.nomem > 0;
		if (cqe->err != ETIMEDOUT && !short_of_memory)
			assert_int_equal(cqe->err, ECONNRESET);
		l->failed++;
	}
	free(m->buf);
	m->buf = NULL;
}

/* A message came whole, with its own bytes, at most once in a life, and not after its end in the lives before: a copy
 * that was sent just before its end may be late. */
static void check_delivery(struct lives *l, const struct lives_recv *r, const struct weft_cqe *cqe)
{
	assert_true(cqe->tag < l->msg_count);
	struct lives_msg *m = &l->msgs[cqe->tag];
	assert_int_equal(m->from, !r->side);
	assert_int_equal(cqe->len, m->len);
	uint8_t *right = duo_pattern(m->len, pattern_of(l, cqe->tag));
	assert_memory_equal(r->buf, right, m->len);
	free(right);
	assert_false(m->taken && m->taken_life == l->life[r->side]);
	assert_true(m->ended_at >= l->born[r->side] || l->born[r->side] - m->ended_at < lives_late_ns(l));
	m->taken++;
	m->taken_life = l->life[r->side];
	l->delivered++;
}

static void received(struct lives *l, struct lives_recv *r, const struct weft_cqe *cqe)
{
	assert_non_null(r->buf);
	if (!cqe->err)
		check_delivery(l, r, cqe);
	else if (cqe->err != ECANCELED) /* the sender crashed within the message */
		assert_true(l->life[!r->side] != l->round_life[!r->side] || l->life[r->side] != l->round_life[r->side]);
	free(r->buf);
	r->buf = NULL;
}

void lives_collect(struct lives *l, int side)
{
	struct weft_cqe cqe;
	while (l->up[side] && duo_cqe(&l->d, side, &cqe)) {
		if (cqe.kind == WEFT_OP_TSEND)
			sent(l, cqe.context, &cqe);
		else
			received(l, cqe.context, &cqe);
	}
}

void lives_drop(struct lives *l, int side)
{
	for (uint32_t i = 0; i < l->msg_count; i++) {
		struct lives_msg *m = &l->msgs[i];
		if (!m->buf || m->from != side)
			continue;
		m->ended_at = l->d.now;
		m->err = ECANCELED;
		free(m->buf);
		m->buf = NULL;
	}
	for (uint32_t i = 0; i < l->recv_count; i++) {
		struct lives_recv *r = &l->recvs[i];
		if (r->side != side)
			continue;
		free(r->buf);
		r->buf = NULL;
	}
}

void lives_cancel(struct lives *l)
{
	for (uint32_t i = 0; i < l->recv_count; i++) {
		const struct weft_op op = {.kind = WEFT_OP_CANCEL, .context = &l->recvs[i]};
		if (l->recvs[i].buf)
			assert_int_equal(submit(l, l->recvs[i].side, &op), 0);
	}
}

uint32_t lives_open_sends(const struct lives *l)
{
	uint32_t open = 0;
	for (uint32_t i = 0; i < l->msg_count; i++)
		open += l->msgs[i].buf != NULL;
	return open;
}

uint32_t lives_open_recvs(const struct lives *l)
{
	uint32_t open = 0;
	for (uint32_t i = 0; i < l->recv_count; i++)
		open += l->recvs[i].buf != NULL;
	return open;
}

uint32_t lives_owed(const struct lives *l)
{
	uint32_t owed = 0;
	for (uint32_t i = 0; i < l->msg_count; i++)
		owed += !l->msgs[i].taken && !lives_exposed(l, &l->msgs[i]);
	return owed;
}
