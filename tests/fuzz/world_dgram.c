/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams: of all that is sent some arrive, whole and for a receive each; a datagram begins with its number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "world.h"

enum { PORT = 300, ROOM = 10000, RING = 16 };

static void endpoint_open(struct world *w, int side)
{
	struct dgrams *g = &w->dgrams[side];
	struct weft_addr other = {weft_peer_addr(w->d.e[side], w->d.peer[side])->ip, PORT};
	if (weft_ep_open_dgram(w->d.e[side], PORT, RING, RING, &g->ep, NULL))
		g->ep = NULL;
	else if (weft_peer_add(w->d.e[side], &other, &g->peer))
		g->peer = w->d.peer[side];
}

static void endpoint_close(struct world *w, int side)
{
	struct dgrams *g = &w->dgrams[side];
	weft_ep_close(g->ep);
	g->ep = NULL;
	for (int i = 0; i < WORLD_DGRAMS; i++) {
		free(g->bufs[i]);
		g->bufs[i] = NULL;
	}
}

/* A buffer that is not in use, or NULL. */
static uint8_t **buffer(struct dgrams *g)
{
	for (int i = 0; i < WORLD_DGRAMS; i++)
		if (!g->bufs[i])
			return &g->bufs[i];
	return NULL;
}

static void send(struct world *w, struct dgrams *g, uint8_t **buf, uint8_t what, uint32_t len)
{
	struct weft_op op = {.kind = WEFT_OP_DGRAM,
			     .flags = what & 4 ? WEFT_OP_HAS_DATA : 0,
			     .peer = what & 8 ? w->nobody[g - w->dgrams] : g->peer,
			     .len = len,
			     .tag = w->dgram_count++,
			     .context = buf};
	if ((what & 0x30) == 0x30)
		op.peer = w->self[g - w->dgrams];
	op.data = op.tag;
	op.buf = *buf = duo_pattern(len, op.tag);
	if (weft_submit(g->ep, &op)) {
		free(*buf);
		*buf = NULL;
	}
}

static void receive(struct dgrams *g, uint8_t **buf, uint8_t what)
{
	*buf = malloc(ROOM);
	assert_non_null(*buf);
	const struct weft_op op = {.kind = WEFT_OP_RECV,
				   .peer = what & 4 ? g->peer : WEFT_PEER_ANY,
				   .buf = *buf,
				   .len = what & 8 ? 100 : ROOM,
				   .ignore = UINT64_MAX,
				   .context = buf};
	if (weft_submit(g->ep, &op)) {
		free(*buf);
		*buf = NULL;
	}
}

void world_dgram(struct world *w)
{
	enum { SIDE = 1, SEND = 2, SELDOM = 0xf0 };
	uint8_t what = program_u8(&w->in);
	uint32_t len = program_u8(&w->in) * 36u;
	int side = what & SIDE;
	struct dgrams *g = &w->dgrams[side];
	if (!g->ep)
		endpoint_open(w, side);
	else if ((what & SELDOM) == SELDOM)
		endpoint_close(w, side);
	uint8_t **buf = g->ep ? buffer(g) : NULL;
	if (!buf)
		return;
	if (what & SEND)
		send(w, g, buf, what, len);
	else
		receive(g, buf, what);
	w->d.due[side] = w->d.now;
}

static void ended(const struct world *w, const struct weft_cqe *cqe)
{
	uint8_t **buf = cqe->context;
	assert_non_null(*buf);
	if (cqe->kind == WEFT_OP_RECV && (!cqe->err || cqe->err == EMSGSIZE) && !w->hostile) {
		uint8_t *want = duo_pattern(cqe->len, cqe->tag);
		assert_memory_equal(*buf, want, cqe->len);
		assert_true(!(cqe->flags & WEFT_OP_HAS_DATA) || cqe->data == cqe->tag);
		free(want);
	}
	free(*buf);
	*buf = NULL;
}

void world_dgrams_collect(struct world *w, int side)
{
	struct weft_cqe cqe;
	while (w->dgrams[side].ep && weft_cq_take(w->dgrams[side].ep, &cqe, 1))
		ended(w, &cqe);
}

void world_dgrams_close(struct world *w)
{
	for (int side = 0; side < 2; side++)
		if (w->dgrams[side].ep)
			endpoint_close(w, side);
}
