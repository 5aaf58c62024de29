/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a port's neighbours, for the files that fill and use it. */
#ifndef WEFT_ETHDEV_NEIGH_H
#define WEFT_ETHDEV_NEIGH_H

#include "ethdev_priv.h"

/* How we know a MAC address. What is less sure never replaces what is more. */
enum neigh_trust {
	NEIGH_UNKNOWN,   /* not at all */
	NEIGH_LEARNED,   /* packets came from it */
	NEIGH_TOLD,      /* ARP or ND said so unasked */
	NEIGH_CONFIRMED, /* it answered us */
};

struct neigh {
	struct weft_ip ip;
	weft_ns probe_at;            /* when to probe or give up; WEFT_NEVER: nothing is asked */
	weft_ns confirmed_ns;        /* when ARP or ND last told the address we have */
	struct weft_pkt *held;       /* framed packets that wait for the MAC address, linked by `next` */
	struct rte_ether_addr mac;   /* valid unless NEIGH_UNKNOWN */
	struct rte_ether_addr claim; /* with `claimed`: who says to have the address now, while `mac` is asked */
	uint8_t trust;               /* enum neigh_trust */
	uint8_t probes;              /* without an answer */
	uint8_t held_count;
	bool in_use; /* this entry of the table */
	bool needed; /* we sent to it; others only spoke to us */
	bool used;   /* since somebody last looked for an unused entry */
	bool lost;   /* it does not answer */
	bool claimed;
};

_Static_assert(sizeof(struct neigh) == RTE_CACHE_LINE_MIN_SIZE, "a cache line each");

/* A destination in use, and the neighbour that leads there. */
struct hop {
	struct weft_ip dst;
	const struct neigh *n;
};

enum { HOPS = 256 /* a power of two */ };

struct neigh_table {
	struct rte_hash *hash; /* weft_ip -> index into n; keyed, so that nobody can fill a bucket on purpose */
	uint32_t strangers;    /* entries that are not `needed` */
	uint32_t hand;         /* where the search for an unused entry goes on */
	uint32_t asking;       /* entries with probe_at, or fewer */
	struct hop hops[HOPS]; /* by the last bits of the destination; of neighbours whose MAC address is known */
	struct neigh n[ETHDEV_NEIGHS] __rte_cache_aligned;
};

/* NULL: not there. */
struct neigh *neigh_find(const struct neigh_table *t, const struct weft_ip *ip);
/* Found or made, if need be in the place of an unused one. `needed`: we have something to send to it; others may use
 * half of the table at most, and only each other's places. NULL: no room (counted). */
struct neigh *neigh_get(struct ethdev *d, const struct weft_ip *ip, bool needed);
/* Forgets a neighbour; what waits for it is dropped (counted). */
void neigh_forget(struct ethdev *d, struct neigh *n);
/* Drops what waits for the neighbour's MAC address (counted). */
void neigh_held_drop(struct ethdev *d, struct neigh *n);
/* Routes or neighbours have changed: destinations are looked for again. */
void neigh_hops_flush(struct neigh_table *t);

/* ---- ethdev_nud.c ---- */

/* How somebody told his address. */
enum neigh_word {
	NEIGH_CLAIM,  /* unasked: a question, an announcement */
	NEIGH_ANSWER, /* to us */
};

/* Somebody told his address. `make`: remember him even if we have nothing to do with him yet. */
void neigh_confirm(struct ethdev *d, const struct weft_ip *ip, const struct rte_ether_addr *mac, enum neigh_word word,
		   bool make);

#endif
