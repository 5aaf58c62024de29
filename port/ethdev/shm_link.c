/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_link.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_atomic.h>
#include <rte_mbuf.h>

#include "likely.h"

enum {
	TAKE_MAX = 256, /* descriptors taken by one call: empty buffers come along with packets */
	RETURN_MAX = 64,
	/* The other side is woken for so many empty buffers: for fewer it looks by itself, at the latest when its
	 * sleep is over. */
	RETURN_WAKES = 128,
};

void shm_link_open(struct shm_link *l, struct shm_rings *rings, int fd, bool is_switch)
{
	assert(l->rings == NULL);
	l->rings = rings;
	l->fd = fd;
	l->tx = (struct shm_end){.shared = is_switch ? &rings->down : &rings->up};
	l->rx = (struct shm_end){.shared = is_switch ? &rings->up : &rings->down};
	l->is_broken = l->is_ending = false;
	l->unwoken = 0;
}

uint32_t shm_link_close(struct shm_link *l)
{
	uint32_t reclaimed = 0;
	for (uint32_t i = 0; i < l->mem->count; i++) {
		if (l->mem->holder[i] != l->peer)
			continue;
		l->mem->holder[i] = SHM_US;
		rte_mbuf_raw_free(l->mem->mbufs[i]);
		reclaimed++;
	}
	if (l->rings != NULL)
		munmap(l->rings, sizeof *l->rings);
	if (l->fd >= 0)
		close(l->fd);
	l->rings = NULL;
	l->fd = -1;
	return reclaimed;
}

static bool may_give(const struct shm_link *l)
{
	return l->rings != NULL && !l->is_broken && !l->is_ending;
}

static void broken(struct shm_link *l)
{
	l->is_broken = true;
	l->stats->shm_refused++;
}

/* ---- receiving ---- */

/* Whether a frame that the other side names lies in its buffer, aligned as headers want it. */
static bool frame_fits(const struct shm_mem *mem, struct shm_desc desc)
{
	return desc.bytes == 0 || (desc.offset % 2 == 0 && (uint32_t)desc.offset + desc.bytes <= mem->stride_bytes);
}

/* The mbuf of a buffer that the other side had and we have now; NULL: it had no such buffer, or the frame is not in it.
 */
static struct rte_mbuf *take(struct shm_link *l, struct shm_desc desc)
{
	struct shm_mem *mem = l->mem;
	if (desc.buf >= mem->count || mem->holder[desc.buf] != l->peer || !frame_fits(mem, desc))
		return NULL;
	struct rte_mbuf *m = mem->mbufs[desc.buf];
	mem->holder[desc.buf] = SHM_US;
	assert(m->refcnt == 1 && m->next == NULL && m->nb_segs == 1);
	m->data_off = desc.offset;
	m->data_len = desc.bytes;
	m->pkt_len = desc.bytes;
	m->ol_flags = RTE_MBUF_F_EXTERNAL;
	m->packet_type = 0;
	return m;
}

uint16_t shm_link_rx(struct shm_link *l, struct rte_mbuf **m, uint16_t n)
{
	struct shm_desc desc;
	uint16_t got = 0;
	uint32_t taken = 0;
	if (unlikely(l->rings == NULL || l->is_broken))
		return 0;
	for (; got < n && taken < TAKE_MAX && shm_ring_get(&l->rx, &desc); taken++) {
		struct rte_mbuf *buf = take(l, desc);
		if (unlikely(buf == NULL)) {
			broken(l);
			break;
		}
		if (desc.bytes == 0)
			rte_mbuf_raw_free(buf);
		else
			m[got++] = buf;
	}
	if (taken > 0)
		shm_ring_release(&l->rx);
	return got;
}

/* ---- sending ---- */

/* True: it slept. */
static bool wake(struct shm_link *l)
{
	rte_atomic_thread_fence(__ATOMIC_SEQ_CST); /* descriptors are to be seen before we look who sleeps */
	l->unwoken = 0;
	if (!shm_ring_wants_wake(&l->tx))
		return false;
	l->stats->shm_wakes++;
	(void)!send(l->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* who reads nothing is awake */
	return true;
}

static void pass(struct shm_link *l, uint32_t buf, uint16_t offset, uint16_t bytes)
{
	assert(l->mem->holder[buf] == SHM_US);
	l->mem->holder[buf] = l->peer;
	shm_ring_put(&l->tx, (struct shm_desc){.buf = buf, .offset = offset, .bytes = bytes});
}

/* In a buffer that can be passed on; NULL: there is none. The packet stays the caller's. */
static struct rte_mbuf *copy(struct shm_link *l, const struct rte_mbuf *m)
{
	struct rte_mbuf *own = rte_pktmbuf_alloc(l->own);
	if (own == NULL || m->pkt_len > rte_pktmbuf_tailroom(own)) {
		rte_pktmbuf_free(own);
		return NULL;
	}
	for (const struct rte_mbuf *seg = m; seg != NULL; seg = seg->next)
		memcpy(rte_pktmbuf_append(own, seg->data_len), rte_pktmbuf_mtod(seg, const void *), seg->data_len);
	l->stats->shm_copied++;
	return own;
}

/* False: no buffer to copy it to. */
static bool give(struct shm_link *l, struct rte_mbuf *m)
{
	uint32_t buf;
	struct rte_mbuf *own = m;
	if (m->nb_segs != 1 || m->data_off % 2 != 0 || !shm_buf_of(l->mem, m, &buf)) {
		own = copy(l, m);
		if (own == NULL || !shm_buf_of(l->mem, own, &buf))
			return false;
		rte_pktmbuf_free(m);
	}
	pass(l, buf, own->data_off, own->data_len);
	return true;
}

/* How much there is room for. */
static uint32_t room(struct shm_link *l, uint32_t want)
{
	uint32_t free = shm_ring_room(&l->tx, want);
	if (likely(free <= SHM_SLOTS))
		return RTE_MIN(free, want);
	broken(l);
	return 0;
}

uint16_t shm_link_tx(struct shm_link *l, struct rte_mbuf **m, uint16_t n)
{
	uint16_t sent = 0;
	if (unlikely(!may_give(l)))
		return 0;
	n = (uint16_t)room(l, n);
	while (sent < n && give(l, m[sent]))
		sent++;
	if (sent > 0 && !l->has_woken)
		l->has_woken = wake(l);
	else if (sent > 0)
		l->wake_is_due = true;
	return sent;
}

void shm_link_flush(struct shm_link *l)
{
	if (l->wake_is_due && l->rings != NULL)
		wake(l);
	l->wake_is_due = l->has_woken = false;
}

void shm_link_return(struct shm_link *l)
{
	void *m[RETURN_MAX];
	uint32_t buf, n = rte_mempool_avail_count(l->returns);
	if (likely(n == 0) || !may_give(l))
		return;
	n = room(l, RTE_MIN(n, (uint32_t)RETURN_MAX));
	if (n == 0 || rte_mempool_get_bulk(l->returns, m, n) != 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		bool is_there = shm_buf_of(l->mem, m[i], &buf);
		assert(is_there);
		(void)is_there;
		pass(l, buf, 0, 0);
	}
	l->unwoken += n;
	if (l->unwoken >= RETURN_WAKES)
		wake(l);
}

/* ---- the socket ---- */

bool shm_link_listen(struct shm_link *l, bool on)
{
	if (l->rings == NULL)
		return false;
	atomic_store_explicit(&l->rx.shared->sleeps, on, memory_order_relaxed);
	if (!on)
		return false;
	rte_atomic_thread_fence(__ATOMIC_SEQ_CST);
	return shm_ring_has(&l->rx);
}

void shm_link_hear(struct shm_link *l)
{
	char bytes[64];
	assert(l->fd >= 0);
	ssize_t n = recv(l->fd, bytes, sizeof bytes, MSG_DONTWAIT); /* more than one is heard the next time */
	l->is_ending |= n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}
