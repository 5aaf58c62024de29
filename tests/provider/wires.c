/* SPDX-License-Identifier: BSD-3-Clause */
#include "wires.h"

#include "fixture.h"

#include <stdio.h>

#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "handover.h"
#include "rng.h"
#include "weft/ethdev.h"

enum { ENTRIES = 4096, HELD = 64, TURNS_MAX = 8, COPIES = 1023 };

/* One direction. */
static struct wire {
	struct rte_ring *from, *to;
	struct rte_mempool *pool; /* of copies */
	struct {
		struct rte_mbuf *mbuf; /* NULL: none */
		uint32_t turns;        /* until it arrives */
	} held[HELD];
} wires[2];

static struct wires_counts counts;

static bool wire_open(struct wire *w, const char *name)
{
	char full[32];
	snprintf(full, sizeof full, "%s-in", name);
	w->from = rte_ring_create(full, ENTRIES, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	snprintf(full, sizeof full, "%s-out", name);
	w->to = rte_ring_create(full, ENTRIES, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	snprintf(full, sizeof full, "%s-copies", name);
	w->pool = rte_pktmbuf_pool_create(full, COPIES, 0, 0, 9600, SOCKET_ID_ANY);
	return w->from && w->to && w->pool;
}

int wires_setup(void **state)
{
	struct weft_err err;
	if (weft_eal_start(NULL, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	if (!wire_open(&wires[0], "right") || !wire_open(&wires[1], "left"))
		return -1;
	const int devices[] = {rte_eth_from_rings("host0", &wires[1].to, 1, &wires[0].from, 1, 0),
			       rte_eth_from_rings("host1", &wires[0].to, 1, &wires[1].from, 1, 0)};
	for (int i = 0; i < 2; i++)
		if (devices[i] < 0 || handover_watch((uint16_t)devices[i], 1))
			return -1;
	fixture_env();
	return 0;
}

static void arrive(const struct wire *w, struct rte_mbuf *mbuf)
{
	handover_given(mbuf);
	if (rte_ring_enqueue(w->to, mbuf))
		rte_pktmbuf_free(mbuf); /* as a full queue does */
}

/* False: no place for it. */
static bool hold(struct wire *w, struct rte_mbuf *mbuf, uint32_t turns)
{
	for (int i = 0; i < HELD; i++) {
		if (w->held[i].mbuf)
			continue;
		w->held[i].mbuf = mbuf;
		w->held[i].turns = turns;
		return true;
	}
	return false;
}

static void held_turn(struct wire *w)
{
	for (int i = 0; i < HELD; i++) {
		if (!w->held[i].mbuf || w->held[i].turns--)
			continue;
		arrive(w, w->held[i].mbuf);
		w->held[i].mbuf = NULL;
	}
}

/* Payload may lie in the sender's own memory, which is free to change once somebody has acknowledged it: what stays on
 * the wire is a copy. */
static void pass(struct wire *w, struct rte_mbuf *original, const struct wires_faults *f, uint64_t *state)
{
	struct rng rng = {*state};
	handover_taken(original);
	struct rte_mbuf *mbuf = rte_pktmbuf_copy(original, w->pool, 0, UINT32_MAX);
	uint32_t fate = rng_below(&rng, 1000), turns = 1 + rng_below(&rng, TURNS_MAX);
	counts.packets++;
	if (!mbuf || fate < f->lost) {
		counts.lost++;
		rte_pktmbuf_free(mbuf);
	} else if (fate < f->lost + f->delayed && hold(w, mbuf, turns)) {
		counts.delayed++;
	} else {
		struct rte_mbuf *again = NULL;
		if (fate >= f->lost + f->delayed && fate < f->lost + f->delayed + f->repeated)
			again = rte_pktmbuf_copy(original, w->pool, 0, UINT32_MAX);
		arrive(w, mbuf);
		if (again && !hold(w, again, turns))
			arrive(w, again);
		counts.repeated += again != NULL;
	}
	rte_pktmbuf_free(original);
	*state = rng.state;
}

void wires_turn(const struct wires_faults *faults, uint64_t *rng)
{
	for (int i = 0; i < 2; i++) {
		void *mbuf;
		held_turn(&wires[i]);
		for (int n = 0; n < ENTRIES && rte_ring_dequeue(wires[i].from, &mbuf) == 0; n++)
			pass(&wires[i], mbuf, faults, rng);
	}
}

struct wires_counts wires_counts(void)
{
	return counts;
}

void wires_drain(void)
{
	for (int i = 0; i < 2; i++) {
		void *mbuf;
		for (int k = 0; k < HELD; k++) {
			rte_pktmbuf_free(wires[i].held[k].mbuf);
			wires[i].held[k].mbuf = NULL;
		}
		while (rte_ring_dequeue(wires[i].from, &mbuf) == 0 || rte_ring_dequeue(wires[i].to, &mbuf) == 0) {
			handover_taken(mbuf);
			rte_pktmbuf_free(mbuf);
		}
	}
}
