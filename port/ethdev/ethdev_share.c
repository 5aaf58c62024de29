/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_share.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ethdev_inbox.h"
#include "ethdev_owner.h"

/* Nobody has looked at a queue for so long: its engine's thread does other things. */
#define UNATTENDED_NS WEFT_US(50)
/* Between looks at the queues of others; none while there was something for us within the latter. */
#define LOOK_ROUND_NS WEFT_US(20)
#define ATTEND_NS     WEFT_MS(1)

/* Of an engine that is not there, and of a switch port. */
static const struct weft_ip no_address;

/* Whoever holds a lock is through within one burst. */
struct share_queue {
	alignas(RTE_CACHE_LINE_SIZE) pthread_mutex_t rx;
	_Atomic weft_ns looked_ns; /* when an engine whose queue it is looked at it last */
	_Atomic bool is_ours;      /* set up by us, or an engine has or had it: others belong to the program */
	alignas(RTE_CACHE_LINE_SIZE) pthread_mutex_t tx;
};

struct share {
	uint16_t engines, queues;
	pthread_mutex_t lock;     /* guards `ips` */
	_Atomic uint32_t version; /* of `ips` */
	struct weft_ip ips[SHARE_ENGINES_MAX];
	struct rte_ring *inbox[SHARE_ENGINES_MAX]; /* stay as long as the device */
	struct share_queue queue[SHARE_ENGINES_MAX];
};

/* An engine's own view. */
struct share_end {
	struct share *share;
	uint32_t version; /* of what `owners` was copied from */
	struct owners owners;
	weft_ns look_round_at, attend_until;
	bool tx_is_shared; /* other engines transmit on our queue, too */
};

struct share *share_create(uint16_t engines, int node)
{
	assert(engines > 1 && engines <= SHARE_ENGINES_MAX);
	struct share *s = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof *s);
	if (s == NULL)
		return NULL;
	memset(s, 0, sizeof *s);
	s->engines = engines;
	pthread_mutex_init(&s->lock, NULL);
	for (unsigned i = 0; i < engines; i++) {
		pthread_mutex_init(&s->queue[i].rx, NULL);
		pthread_mutex_init(&s->queue[i].tx, NULL);
	}
	for (unsigned i = 0; i < engines; i++) {
		s->inbox[i] = inbox_create(node);
		if (s->inbox[i] != NULL)
			continue;
		share_destroy(s);
		return NULL;
	}
	return s;
}

void share_destroy(struct share *s)
{
	if (s == NULL)
		return;
	for (unsigned i = 0; i < s->engines; i++) {
		inbox_destroy(s->inbox[i]);
		pthread_mutex_destroy(&s->queue[i].rx);
		pthread_mutex_destroy(&s->queue[i].tx);
	}
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void share_set_queues(struct share *s, uint16_t queues, bool all_ours)
{
	assert(queues > 0 && queues <= s->engines);
	s->queues = queues;
	for (unsigned i = 0; i < queues; i++)
		atomic_store(&s->queue[i].is_ours, all_ours);
}

/* ---- who is there ---- */

bool share_has_address(struct share *s, const struct weft_ip *ip)
{
	bool found = false;
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->engines; i++)
		found |= weft_ip_eq(&s->ips[i], ip);
	pthread_mutex_unlock(&s->lock);
	return found && !weft_ip_eq(ip, &no_address);
}

static void address_set(struct share *s, uint16_t engine, const struct weft_ip *ip)
{
	pthread_mutex_lock(&s->lock);
	s->ips[engine] = *ip;
	atomic_fetch_add_explicit(&s->version, 1, memory_order_release);
	pthread_mutex_unlock(&s->lock);
}

static void owners_copy(struct share_end *e)
{
	struct share *s = e->share;
	pthread_mutex_lock(&s->lock);
	e->version = atomic_load_explicit(&s->version, memory_order_relaxed);
	memcpy(e->owners.ips, s->ips, sizeof e->owners.ips);
	pthread_mutex_unlock(&s->lock);
}

/* Engines come and go seldom, so each has a copy of the addresses. An old one costs a frame at most. */
static void owners_renew(struct share_end *e)
{
	if (unlikely(atomic_load_explicit(&e->share->version, memory_order_acquire) != e->version))
		owners_copy(e);
}

int share_join(struct ethdev *d, struct share *s)
{
	assert(d->share == NULL && d->engine < s->engines && d->queue < s->queues);
	d->share = calloc(1, sizeof *d->share);
	if (d->share == NULL)
		return -ENOMEM;
	d->share->share = s;
	d->share->tx_is_shared = s->engines > s->queues;
	d->share->owners.count = s->engines;
	d->share->owners.self = d->engine;
	inbox_drain(s->inbox[d->engine]);
	atomic_store(&s->queue[d->queue].is_ours, true);
	address_set(s, d->engine, d->is_switch ? &no_address : &d->ip);
	owners_copy(d->share);
	return 0;
}

void share_leave(struct ethdev *d)
{
	if (d->share == NULL)
		return;
	address_set(d->share->share, d->engine, &no_address);
	inbox_drain(d->share->share->inbox[d->engine]);
	free(d->share);
	d->share = NULL;
}

/* ---- from hand to hand ---- */

static void give(struct ethdev *d, unsigned engine, struct rte_mbuf **m, uint16_t n)
{
	uint16_t given = inbox_put(d->share->share->inbox[engine], m, n);
	d->stats.rx_handed_over += given;
	d->stats.rx_handover_full += (uint64_t)(n - given);
	rte_pktmbuf_free_bulk(m + given, (unsigned)(n - given));
}

static void give_copy(struct ethdev *d, unsigned engine, const struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, d->pool, 0, UINT32_MAX);
	d->stats.rx_nombuf += copy == NULL;
	if (copy != NULL)
		give(d, engine, &copy, 1);
}

static void give_copies(struct ethdev *d, const struct rte_mbuf *m)
{
	const struct owners *o = &d->share->owners;
	for (unsigned i = 0; i < o->count; i++)
		if (i != o->self && !weft_ip_eq(&o->ips[i], &no_address))
			give_copy(d, i, m);
}

static void drop(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	d->stats.rx_foreign += n;
	rte_pktmbuf_free_bulk(m, n);
}

/* Frames of one owner; how many of them are for us, too. A switch port takes what its queue brings. */
static uint16_t frames_pass(struct ethdev *d, int owner, struct rte_mbuf **m, uint16_t n)
{
	if (owner == OWNER_ALL)
		for (uint16_t i = 0; i < n; i++)
			give_copies(d, m[i]);
	if (owner == OWNER_ALL || owner == d->engine || (owner == OWNER_NONE && d->is_switch))
		return n;
	if (owner == OWNER_NONE)
		drop(d, m, n);
	else
		give(d, (unsigned)owner, m, n);
	return 0;
}

/* Those for us are in front afterwards. */
static uint16_t frames_sort(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	int owner[ETHDEV_BURST];
	uint16_t kept = 0, run;
	assert(n <= ETHDEV_BURST);
	for (uint16_t i = 0; i < n; i++)
		owner[i] = owner_of(&d->share->owners, m[i]);
	for (uint16_t i = 0; i < n; i = (uint16_t)(i + run)) {
		for (run = 1; i + run < n && owner[i + run] == owner[i];)
			run++;
		uint16_t ours = frames_pass(d, owner[i], m + i, run);
		memmove(m + kept, m + i, ours * sizeof *m);
		kept = (uint16_t)(kept + ours);
	}
	return kept;
}

/* ---- receive ---- */

/* A queue that somebody else is just looking at needs no second look. */
static uint16_t queue_rx(struct ethdev *d, uint16_t q, struct rte_mbuf **m, uint16_t n, weft_ns now)
{
	struct share_queue *queue = &d->share->share->queue[q];
	if (pthread_mutex_trylock(&queue->rx) != 0)
		return 0;
	uint16_t got = rte_eth_rx_burst(d->id, q, m, n);
	if (q == d->queue)
		atomic_store_explicit(&queue->looked_ns, now, memory_order_relaxed);
	pthread_mutex_unlock(&queue->rx);
	return frames_sort(d, m, got);
}

/* The queues whose engines' threads do not poll may hold frames for us. */
static uint16_t others_rx(struct ethdev *d, struct rte_mbuf **m, uint16_t n, weft_ns now)
{
	const struct share *s = d->share->share;
	uint16_t got = 0;
	for (uint16_t q = 0; q < s->queues && got < n; q++) {
		weft_ns looked = atomic_load_explicit(&s->queue[q].looked_ns, memory_order_relaxed);
		if (q != d->queue && atomic_load_explicit(&s->queue[q].is_ours, memory_order_relaxed) &&
		    now > looked + UNATTENDED_NS)
			got = (uint16_t)(got + queue_rx(d, q, m + got, (uint16_t)(n - got), now));
	}
	if (got > 0)
		d->share->attend_until = now + ATTEND_NS;
	d->share->look_round_at = now < d->share->attend_until ? now : now + LOOK_ROUND_NS;
	return got;
}

uint16_t share_rx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	struct share_end *e = d->share;
	weft_ns now = weft_clock_ns();
	owners_renew(e);
	uint16_t got = inbox_take(e->share->inbox[d->engine], m, n);
	d->stats.rx_taken_over += got;
	if (got < n)
		got = (uint16_t)(got + queue_rx(d, d->queue, m + got, (uint16_t)(n - got), now));
	if (got == 0 && now >= e->look_round_at)
		got = others_rx(d, m, n, now);
	return got;
}

/* ---- transmit ---- */

static uint16_t queue_tx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	struct share_queue *queue = &d->share->share->queue[d->queue];
	if (!d->share->tx_is_shared)
		return rte_eth_tx_burst(d->id, d->queue, m, n);
	pthread_mutex_lock(&queue->tx);
	uint16_t sent = rte_eth_tx_burst(d->id, d->queue, m, n);
	pthread_mutex_unlock(&queue->tx);
	return sent;
}

/* Which engine of the device a frame goes to, or OWNER_NONE, or OWNER_ALL. */
static int inside(const struct ethdev *d, const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	if (likely(!d->mac_derived && !rte_is_multicast_ether_addr(&eth->dst_addr) &&
		   !rte_is_same_ether_addr(&eth->dst_addr, &d->mac)))
		return OWNER_NONE;
	int owner = owner_of(&d->share->owners, m);
	return owner == d->engine ? OWNER_NONE : owner;
}

/* Frames in front that go to the wire alone. */
static uint16_t outside_run(const struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	uint16_t run = 0;
	while (run < n && inside(d, m[run]) == OWNER_NONE)
		run++;
	return run;
}

/* One frame that does not, or not alone. Payload may lie in the sender's memory, so others get copies. */
static uint16_t inside_tx(struct ethdev *d, struct rte_mbuf **m)
{
	int owner = inside(d, *m);
	if (owner == OWNER_ALL) {
		give_copies(d, *m);
		return queue_tx(d, m, 1);
	}
	give_copy(d, (unsigned)owner, *m);
	rte_pktmbuf_free(*m);
	return 1;
}

uint16_t share_tx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	uint16_t done = 0, sent = 1;
	owners_renew(d->share);
	while (done < n && sent > 0) {
		uint16_t run = outside_run(d, m + done, (uint16_t)(n - done));
		sent = run > 0 ? queue_tx(d, m + done, run) : inside_tx(d, m + done);
		done = (uint16_t)(done + sent);
	}
	return done;
}
