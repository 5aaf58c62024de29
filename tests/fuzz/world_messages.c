/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages carry their id as data. Their buffers are freed as soon as they are the application's again, so that
 * sanitizers see who uses them still. */
#include <errno.h>
#include <stdlib.h>

#include "cmocka_all.h"
#include "world.h"

/* Bits of what a program says of a message. */
enum { SIDE = 1, TAGGED = 2, MATCHED = 4, FENCE = 8, BACKGROUND = 0x30, APART = 0xc0 };
enum { TAGS = 4, MULTI_ROOM = 100, PROGRAM_POSTS = 400 }; /* the rest is for the end */

/* Short ones, those near the limits of packets and announcements, and long ones. */
static uint32_t length(struct world *w)
{
	uint8_t x = program_u8(&w->in);
	if (x < 64)
		return x;
	if (x < 112)
		return w->conf.tune.payload_bytes * (1 + x / 80) + x - 90;
	if (x < 128)
		return (uint32_t)w->conf.tune.rndv_bytes + x - 112;
	return (uint32_t)(x - 128) * (WORLD_MESSAGE_BYTES / 128);
}

static void submit(struct world *w, int side, const struct weft_op *op, bool *refused)
{
	*refused = !w->d.ep[side] || weft_submit(w->d.ep[side], op) != 0;
	w->d.due[side] = w->d.now;
}

/* Most go to the other side, some to ourselves and to nobody. */
static uint32_t choose_peer(struct world *w, struct sent *s, uint8_t how)
{
	switch (how & 15) {
	case 0:
		s->to = s->from;
		return w->self[s->from];
	case 1:
		s->nowhere = true;
		return w->nobody[s->from];
	default:
		return w->d.peer[s->from];
	}
}

/* A connection of its own, or a fence on the usual one, or nothing special. */
static uint16_t way(uint8_t what)
{
	uint16_t background = (what & BACKGROUND) == BACKGROUND ? WEFT_OP_BACKGROUND : 0;
	if ((what & APART) == APART)
		return background | WEFT_OP_APART;
	return (what & FENCE) && (what & BACKGROUND) == 0 ? WEFT_OP_FENCE : background;
}

void world_send(struct world *w)
{
	uint8_t what = program_u8(&w->in), how = program_u8(&w->in);
	uint32_t id = w->sent_count + 1, len = length(w);
	if (id > WORLD_SENDS)
		return;
	struct sent *s = &w->sends[id];
	*s = (struct sent){.len = len,
			   .from = what & SIDE,
			   .to = !(what & SIDE),
			   .kind = what & TAGGED ? WEFT_OP_TSEND : WEFT_OP_SEND,
			   .tag = what & TAGGED ? (how >> 4) % TAGS : 0,
			   .in_order = (what & BACKGROUND) != BACKGROUND && (what & APART) != APART};
	uint32_t peer = choose_peer(w, s, how);
	bool matched = what & MATCHED && s->in_order, refused;
	s->buf = duo_pattern(len, id);
	const struct weft_op op = {.kind = s->kind,
				   .flags = (uint16_t)(WEFT_OP_HAS_DATA | (matched ? WEFT_OP_MATCHED : 0) | way(what)),
				   .peer = peer,
				   .buf = s->buf,
				   .len = len,
				   .tag = s->tag,
				   .data = id,
				   .context = s};
	submit(w, s->from, &op, &refused);
	if (refused)
		free(s->buf);
	else
		w->sent_count++;
}

static void post(struct world *w, struct posted p)
{
	bool refused;
	if (w->posted_count == WORLD_POSTS)
		return;
	struct posted *at = &w->posts[w->posted_count];
	*at = p;
	at->buf = malloc(p.len ? p.len : 1);
	assert_non_null(at->buf);
	const struct weft_op op = {.kind = p.kind,
				   .flags = p.flags,
				   .peer = p.peer,
				   .buf = at->buf,
				   .len = p.len,
				   .tag = p.tag,
				   .ignore = p.ignore,
				   .min_room = MULTI_ROOM,
				   .context = at};
	submit(w, p.side, &op, &refused);
	if (refused) {
		free(at->buf);
		at->buf = NULL;
	} else {
		w->posted_count++;
	}
}

void world_recv(struct world *w)
{
	enum { MULTI = 4, ANYBODY = 8, ANY_TAG = 16 };
	uint8_t what = program_u8(&w->in);
	uint32_t len = length(w);
	if (w->posted_count >= PROGRAM_POSTS)
		return;
	int side = what & SIDE;
	bool tagged = what & TAGGED, multi = what & MULTI && !tagged && len;
	post(w, (struct posted){.side = side,
				.kind = tagged ? WEFT_OP_TRECV : WEFT_OP_RECV,
				.flags = multi ? WEFT_OP_MULTI : 0,
				.peer = what & ANYBODY ? WEFT_PEER_ANY : w->d.peer[side],
				.len = len,
				.tag = tagged ? what >> 6 : 0,
				.ignore = !tagged || what & ANY_TAG ? UINT64_MAX : 0});
}

void world_peek(struct world *w)
{
	enum { CLAIM = 4, DISCARD = 8 };
	uint8_t what = program_u8(&w->in);
	if (w->posted_count >= PROGRAM_POSTS)
		return;
	uint16_t flags = what & CLAIM ? WEFT_OP_CLAIM : what & DISCARD ? WEFT_OP_DISCARD : 0;
	post(w, (struct posted){.side = what & SIDE,
				.kind = WEFT_OP_PEEK,
				.flags = (uint16_t)(flags | (what & TAGGED ? WEFT_OP_TAGGED : 0)),
				.peer = WEFT_PEER_ANY,
				.len = WORLD_MESSAGE_BYTES,
				.ignore = UINT64_MAX});
}

static bool may_cancel(const struct world *w, const struct posted *p)
{
	return p->buf && p->kind != WEFT_OP_PEEK && w->d.ep[p->side];
}

static void cancel(struct world *w, struct posted *p)
{
	bool refused;
	const struct weft_op op = {.kind = WEFT_OP_CANCEL, .context = p};
	submit(w, p->side, &op, &refused);
}

void world_cancel(struct world *w)
{
	uint8_t back = program_u8(&w->in);
	if (back < w->posted_count && may_cancel(w, &w->posts[w->posted_count - 1 - back]))
		cancel(w, &w->posts[w->posted_count - 1 - back]);
}

void world_cancel_rest(struct world *w)
{
	for (uint32_t i = 0; i < w->posted_count; i++)
		if (may_cancel(w, &w->posts[i]))
			cancel(w, &w->posts[i]);
}

void world_recv_rest(struct world *w)
{
	for (uint32_t id = 1; id <= w->sent_count; id++) {
		const struct sent *s = &w->sends[id];
		if (s->received || s->nowhere) /* one that failed may have arrived, too */
			continue;
		post(w, (struct posted){.side = s->to,
					.kind = s->kind == WEFT_OP_TSEND ? WEFT_OP_TRECV : WEFT_OP_RECV,
					.peer = WEFT_PEER_ANY,
					.len = WORLD_MESSAGE_BYTES,
					.ignore = UINT64_MAX});
	}
}

uint32_t world_sends_open(const struct world *w)
{
	uint32_t open = 0;
	for (uint32_t id = 1; id <= w->sent_count; id++)
		open += !w->sends[id].ended;
	return open;
}

uint32_t world_posts_open(const struct world *w)
{
	uint32_t open = 0;
	for (uint32_t i = 0; i < w->posted_count; i++)
		open += w->posts[i].buf && w->d.ep[w->posts[i].side];
	return open;
}

static void send_ended(struct sent *s, int err)
{
	assert_false(s->ended);
	s->ended = true;
	s->err = err;
	free(s->buf);
	s->buf = NULL;
}

static bool same_wish(const struct posted *a, const struct posted *b)
{
	return a->side == b->side && a->kind == b->kind && a->peer == b->peer && a->tag == b->tag &&
	       a->ignore == b->ignore && !((a->flags | b->flags) & WEFT_OP_CLAIM);
}

/* Of receives that match the same, the one posted first has the message sent first. */
static void check_order(struct world *w, struct posted *p, uint32_t id)
{
	int from = w->sends[id].from;
	for (uint32_t i = 0; i < w->posted_count; i++) {
		const struct posted *q = &w->posts[i];
		if (q == p || !q->last_id[from] || !same_wish(p, q))
			continue;
		assert_true(q < p ? q->last_id[from] < id : q->first_id[from] > id);
	}
	if (!p->first_id[from] || p->first_id[from] > id)
		p->first_id[from] = id;
	if (p->last_id[from] < id)
		p->last_id[from] = id;
}

/* The message that a completion is about: it is one that was sent there, and comes for the first time. */
static struct sent *identify(struct world *w, const struct posted *p, const struct weft_cqe *cqe)
{
	assert_true(cqe->flags & WEFT_OP_HAS_DATA);
	assert_in_range(cqe->data, 1, w->sent_count);
	struct sent *s = &w->sends[cqe->data];
	bool tagged = p->kind == WEFT_OP_PEEK ? p->flags & WEFT_OP_TAGGED : p->kind == WEFT_OP_TRECV;
	assert_int_equal(s->to, p->side);
	assert_int_equal(s->kind, tagged ? WEFT_OP_TSEND : WEFT_OP_SEND);
	assert_int_equal(s->tag, cqe->tag);
	assert_false(s->received || s->nowhere);
	return s;
}

static void check_received(struct world *w, struct posted *p, const struct weft_cqe *cqe)
{
	struct sent *s = identify(w, p, cqe);
	uint8_t *want = duo_pattern(s->len, cqe->data);
	assert_int_equal(cqe->len + cqe->olen, s->len);
	assert_int_equal(cqe->err, cqe->olen ? EMSGSIZE : 0);
	assert_true(cqe->offset + cqe->len <= p->len);
	assert_memory_equal(p->buf + cqe->offset, want, cqe->len);
	free(want);
	s->received = true;
	if (s->in_order && !(p->flags & WEFT_OP_CLAIM))
		check_order(w, p, (uint32_t)cqe->data);
}

static void recv_ended(struct world *w, struct posted *p, const struct weft_cqe *cqe)
{
	bool has_message = cqe->kind != WEFT_OP_RELEASE && (!cqe->err || cqe->err == EMSGSIZE);
	assert_true(has_message || cqe->kind == WEFT_OP_RELEASE || cqe->err == ECANCELED || w->disturbed || w->hostile);
	if (has_message && !w->hostile)
		check_received(w, p, cqe);
	if (p->flags & WEFT_OP_MULTI && !(cqe->flags & WEFT_OP_MULTI))
		return;
	free(p->buf);
	p->buf = NULL;
}

/* A message is found before its first packet came, which has its data. */
static void check_found(struct world *w, const struct posted *p, const struct weft_cqe *cqe)
{
	bool discarded = p->flags & WEFT_OP_DISCARD;
	if (!(cqe->flags & WEFT_OP_HAS_DATA)) {
		w->disturbed |= discarded; /* it is not known which one never comes */
		return;
	}
	struct sent *s = identify(w, p, cqe);
	assert_int_equal(s->len, cqe->len);
	s->received = discarded;
}

/* What was found and claimed is received, what was discarded is gone. */
static void peek_ended(struct world *w, struct posted *p, const struct weft_cqe *cqe)
{
	bool refused = true, found = cqe->err == 0;
	if (found && !w->hostile)
		check_found(w, p, cqe);
	if (found && p->flags & WEFT_OP_CLAIM) {
		p->kind = p->flags & WEFT_OP_TAGGED ? WEFT_OP_TRECV : WEFT_OP_RECV;
		const struct weft_op op = {
			.kind = p->kind, .flags = WEFT_OP_CLAIM, .buf = p->buf, .len = p->len, .context = p};
		submit(w, p->side, &op, &refused);
		assert_false(refused);
	}
	if (!refused)
		return;
	free(p->buf);
	p->buf = NULL;
}

void world_message_ended(struct world *w, int side, const struct weft_cqe *cqe)
{
	struct posted *p = cqe->context;
	if (cqe->kind == WEFT_OP_SEND || cqe->kind == WEFT_OP_TSEND) {
		send_ended(cqe->context, cqe->err);
		return;
	}
	assert_true(p >= w->posts && p < w->posts + w->posted_count && p->buf && p->side == side);
	if (cqe->kind == WEFT_OP_PEEK)
		peek_ended(w, p, cqe);
	else
		recv_ended(w, p, cqe);
}

void world_messages_drop(struct world *w, int side)
{
	for (uint32_t id = 1; id <= w->sent_count; id++)
		if (w->sends[id].from == side && !w->sends[id].ended)
			send_ended(&w->sends[id], ECANCELED);
	for (uint32_t i = 0; i < w->posted_count; i++)
		if (w->posts[i].side == side) {
			free(w->posts[i].buf);
			w->posts[i].buf = NULL;
		}
}

void world_messages_check(const struct world *w)
{
	for (uint32_t id = 1; id <= w->sent_count; id++) {
		const struct sent *s = &w->sends[id];
		assert_true(s->ended);
		if (s->nowhere)
			assert_int_not_equal(s->err, 0);
		else if (s->err != EOPNOTSUPP || !w->conf.tune.profile)
			assert_int_equal(s->err, 0);
		assert_true(s->received || s->err);
	}
}

void world_messages_close(struct world *w)
{
	world_messages_drop(w, 0);
	world_messages_drop(w, 1);
}
