/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counter.h"
#include "likely.h"
#include "local_priv.h"

enum { IP4_SRC_AT = 12, IP4_DST_AT = 16, IP6_SRC_AT = 8, IP6_DST_AT = 24, IP6_BYTES = 40 };

const struct weft_counter_desc weft_local_counter_descs[] = {
#define COUNTER_DESC(name, help) {#name, help, offsetof(struct weft_local_stats, name)},
	WEFT_LOCAL_COUNTERS(COUNTER_DESC)
#undef COUNTER_DESC
};

_Static_assert(sizeof weft_local_counter_descs / sizeof weft_local_counter_descs[0] == WEFT_LOCAL_COUNTER_COUNT,
	       "one description per counter");

uint64_t weft_local_stats_value(const struct weft_local_stats *stats, int i)
{
	assert(i >= 0 && i < WEFT_LOCAL_COUNTER_COUNT);
	return counter_value(stats, &weft_local_counter_descs[i]);
}

/* Whether the address in an IP header, which begins at `at4` or `at6`, is this one. */
static bool ip_is(const uint8_t *head, uint32_t at4, uint32_t at6, const struct weft_ip *ip)
{
	if (weft_ip_is_v4(ip))
		return head[0] >> 4 == 4 && memcmp(head + at4, ip->b + 12, 4) == 0;
	return head[0] >> 4 == 6 && memcmp(head + at6, ip->b, sizeof ip->b) == 0;
}

/* ---- sending ---- */

/* Who has the address that the packet is for; NULL: nobody here. */
static struct local_peer *peer_of(struct local_port *l, const struct weft_pkt *pkt)
{
	uint32_t i = pkt->dst - weft_ip_low32(&l->first);
	if (i >= l->peer_count)
		return NULL;
	struct weft_ip ip = local_peer_ip(l, &l->peers[i]);
	return ip_is(pkt->head, IP4_DST_AT, IP6_DST_AT, &ip) && !weft_ip_eq(&ip, &l->ip) ? &l->peers[i] : NULL;
}

static void broken(struct local_port *l, struct local_peer *p)
{
	l->stats.local_refused++;
	local_close_channel(l, p);
}

enum sent {
	SENT_NOT,  /* it has to go the other way */
	SENT,      /* it was copied, and stays ours */
	SENT_LATER /* it waits for room */
};

static enum sent put(struct local_port *l, struct local_peer *p, struct weft_pkt *pkt)
{
	enum local_put result = p->late != NULL ? LOCAL_FULL : local_ring_put(&p->tx, pkt);
	if (result == LOCAL_FULL && local_late_keep(l, p, pkt))
		return SENT_LATER;
	l->stats.local_full += result == LOCAL_FULL;
	l->stats.local_marked += result == LOCAL_PUT_MARKED;
	if (unlikely(result == LOCAL_BROKEN))
		broken(l, p);
	return result == LOCAL_PUT || result == LOCAL_PUT_MARKED ? SENT : SENT_NOT;
}

/* Over a channel; `touched` has a bit for each of them. */
static enum sent send_local(struct local_port *l, struct weft_pkt *pkt, uint32_t *touched)
{
	struct local_peer *p = peer_of(l, pkt);
	if (p == NULL)
		return SENT_NOT;
	if (!p->is_open)
		local_ask(l, p);
	if (!p->is_open || p->has_ended)
		return SENT_NOT;
	*touched |= UINT32_C(1) << (p - l->peers);
	return put(l, p, pkt);
}

static void wake(struct local_port *l, uint32_t touched)
{
	atomic_thread_fence(memory_order_seq_cst); /* packets are to be seen before we look who sleeps */
	for (; touched != 0; touched &= touched - 1) {
		struct local_peer *p = &l->peers[__builtin_ctz(touched)];
		if (!p->is_open || !local_ring_wants_wake(&p->tx))
			continue;
		l->stats.local_wakes++;
		(void)!send(p->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* a peer that reads nothing is awake */
	}
}

/* The first packets, over channels. Returns how many. */
static uint16_t run_local(struct local_port *l, struct weft_pkt **pkts, uint16_t n, uint32_t *touched)
{
	enum sent sent = SENT;
	uint16_t run = 0, copied = 0;
	for (; run < n && (sent = send_local(l, pkts[run], touched)) != SENT_NOT; run++) {
		if (sent == SENT)
			pkts[copied++] = pkts[run];
	}
	if (copied > 0)
		l->inner->ops->free(l->inner, pkts, copied);
	l->stats.local_tx_pkts += copied;
	return run;
}

/* What waits for room. */
static void put_late(struct local_port *l)
{
	uint32_t touched = 0;
	for (uint32_t i = l->open_count; i-- > 0;) { /* closing one moves the last one to its place */
		struct local_peer *p = &l->peers[l->open[i]];
		if (p->late == NULL)
			continue;
		touched |= UINT32_C(1) << l->open[i];
		if (!local_late_put(l, p))
			broken(l, p);
	}
	wake(l, touched);
}

/* How many packets from the first one on go the other way: that one does. */
static uint16_t run_length(struct local_port *l, struct weft_pkt **pkts, uint16_t n)
{
	uint16_t run = 1;
	for (; run < n; run++) {
		const struct local_peer *p = peer_of(l, pkts[run]);
		if (p != NULL && p->is_open && !p->has_ended)
			break;
	}
	return run;
}

static uint16_t local_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct local_port *l = (struct local_port *)port;
	uint32_t touched = 0;
	uint16_t done = 0, run = 0, took = 0;
	if (unlikely(l->late_count > 0))
		put_late(l);
	while (done < n && took == run) {
		done = (uint16_t)(done + run_local(l, pkts + done, (uint16_t)(n - done), &touched));
		if (done == n)
			break;
		run = run_length(l, pkts + done, (uint16_t)(n - done));
		took = l->inner->ops->tx(l->inner, pkts + done, run);
		done = (uint16_t)(done + took);
	}
	if (touched != 0)
		wake(l, touched);
	return done;
}

/* ---- receiving ---- */

/* An IP packet from the peer to us, and all of it. `bytes` are at `head`, at least those of an IPv4 header. */
static bool is_sound(const struct local_port *l, const struct local_peer *p, const uint8_t *head, uint32_t bytes)
{
	struct weft_ip src = local_peer_ip(l, p);
	bool v4 = weft_ip_is_v4(&l->ip);
	if (!v4 && bytes < IP6_BYTES)
		return false;
	uint32_t total = v4 ? (uint32_t)head[2] << 8 | head[3] : ((uint32_t)head[4] << 8 | head[5]) + IP6_BYTES;
	return total == bytes && ip_is(head, IP4_SRC_AT, IP6_SRC_AT, &src) &&
	       ip_is(head, IP4_DST_AT, IP6_DST_AT, &l->ip);
}

/* NULL: the port below has none to receive into. */
static struct weft_pkt *spare(struct local_port *l)
{
	if (l->spare_count == 0)
		l->spare_count = l->inner->ops->alloc(l->inner, l->spare, LOCAL_BURST);
	return l->spare_count > 0 ? l->spare[l->spare_count - 1] : NULL;
}

/* Fills a spare packet with the next one of the ring; false: it is no packet for us. */
static bool take(struct local_port *l, struct local_peer *p, struct weft_pkt *pkt)
{
	uint32_t bytes = local_ring_get(&p->rx, pkt->head, l->port.max_ip_bytes);
	uint32_t wire = bytes + WEFT_L1_OVERHEAD_BYTES;
	if (bytes == 0 || !is_sound(l, p, pkt->head, bytes)) {
		l->stats.local_refused++;
		return false;
	}
	pkt->head_len = (uint16_t)bytes;
	pkt->arrived_ns = l->now_ns;
	pkt->wire_bytes = (uint16_t)(wire > WEFT_WIRE_MIN_BYTES ? wire : WEFT_WIRE_MIN_BYTES);
	return true;
}

/* Of a peer that has ended. Not when packets wait in the ring because there is no spare one for them. */
static bool has_brought_all(const struct local_peer *p)
{
	return !local_ring_has(&p->rx) || (int32_t)(p->rx.next - p->rx_last) >= 0;
}

/* Looks at no more packets than it may return: one that is refused takes the place of another. */
static uint16_t receive_from(struct local_port *l, struct local_peer *p, struct weft_pkt **pkts, uint16_t n)
{
	uint16_t got = 0, looked = 0;
	struct weft_pkt *pkt;
	for (; looked < n && local_ring_has(&p->rx) && (pkt = spare(l)) != NULL; looked++) {
		if (!take(l, p, pkt))
			continue;
		l->spare_count--;
		pkts[got++] = pkt;
	}
	if (looked > 0)
		local_ring_release(&p->rx);
	if (unlikely(p->has_ended) && has_brought_all(p))
		local_close_channel(l, p);
	return got;
}

/* From each channel in turn. */
static uint16_t receive(struct local_port *l, struct weft_pkt **pkts, uint16_t n)
{
	uint32_t count = l->open_count;
	uint16_t got = 0;
	if (count == 0)
		return 0;
	l->turn = l->turn + 1 < count ? l->turn + 1 : 0;
	for (uint32_t i = 0; i < count && got < n; i++) {
		uint32_t at = l->turn + i < count ? l->turn + i : l->turn + i - count;
		if (at < l->open_count) /* fewer, when one was closed */
			got = (uint16_t)(got +
					 receive_from(l, &l->peers[l->open[at]], pkts + got, (uint16_t)(n - got)));
	}
	l->stats.local_rx_pkts += got;
	return got;
}

static uint16_t local_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct local_port *l = (struct local_port *)port;
	uint16_t got = 0;
	l->now_ns = l->clock();
	if (unlikely(l->now_ns >= l->look_ns))
		local_look(l);
	if (unlikely(l->late_count > 0))
		put_late(l);
	l->inner_first = !l->inner_first;
	if (l->inner_first)
		got = l->inner->ops->rx(l->inner, pkts, n);
	got = (uint16_t)(got + receive(l, pkts + got, (uint16_t)(n - got)));
	if (!l->inner_first)
		got = (uint16_t)(got + l->inner->ops->rx(l->inner, pkts + got, (uint16_t)(n - got)));
	return got;
}

/* ---- sleeping ---- */

int weft_local_fd(const struct weft_port *port)
{
	return ((const struct local_port *)port)->epoll_fd;
}

void weft_local_arm(struct weft_port *port, bool on)
{
	struct local_port *l = (struct local_port *)port;
	for (uint32_t i = 0; i < l->open_count; i++) {
		struct local_peer *p = &l->peers[l->open[i]];
		atomic_store_explicit(&p->rx.shared->sleeps, on, memory_order_relaxed);
		if (on)
			local_late_divert(l, p); /* nobody would put them in */
	}
	if (on)
		atomic_thread_fence(memory_order_seq_cst); /* before the look for packets that follows */
	else
		l->look_ns = 0;
}

/* ---- the port ---- */

static uint16_t local_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct weft_port *inner = ((struct local_port *)port)->inner;
	return inner->ops->alloc(inner, pkts, n);
}

static void local_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct weft_port *inner = ((struct local_port *)port)->inner;
	inner->ops->free(inner, pkts, n);
}

/* Whether packets to the address go over a channel. */
static bool has_channel(const struct local_port *l, const struct weft_ip *ip)
{
	uint32_t i = weft_ip_low32(ip) - weft_ip_low32(&l->first);
	if (i >= l->peer_count || !l->peers[i].is_open || l->peers[i].has_ended)
		return false;
	struct weft_ip peer = local_peer_ip(l, &l->peers[i]);
	return weft_ip_eq(&peer, ip);
}

static int local_reach(const struct weft_port *port, const struct weft_ip *ip, struct weft_ip *next_hop)
{
	const struct local_port *l = (const struct local_port *)port;
	if (l->inner->ops->reach == NULL || has_channel(l, ip))
		return 0;
	return l->inner->ops->reach(l->inner, ip, next_hop);
}

static void local_doubt(struct weft_port *port, const struct weft_ip *ip)
{
	struct local_port *l = (struct local_port *)port;
	if (l->inner->ops->doubt != NULL && !has_channel(l, ip))
		l->inner->ops->doubt(l->inner, ip);
}

static void local_close(struct weft_port *port)
{
	struct local_port *l = (struct local_port *)port;
	while (l->open_count > 0)
		local_close_channel(l, &l->peers[l->open[0]]);
	if (l->spare_count > 0)
		l->inner->ops->free(l->inner, l->spare, l->spare_count);
	if (l->door_fd >= 0)
		close(l->door_fd);
	close(l->epoll_fd);
	l->inner->ops->close(l->inner);
	free(l);
}

static const struct weft_port_ops local_ops = {
	.rx = local_rx,
	.tx = local_tx,
	.alloc = local_alloc,
	.free = local_free,
	.close = local_close,
	.reach = local_reach,
	.doubt = local_doubt,
};

int weft_local_open(const struct weft_local_conf *conf, struct weft_port *inner, struct weft_port **out,
		    struct weft_err *err)
{
	struct local_port *l = calloc(1, sizeof *l);
	if (l == NULL)
		return weft_err_set(err, -ENOMEM, "local channels: out of memory");
	l->port = *inner;
	l->port.ops = &local_ops;
	l->inner = inner;
	l->ip = conf->ip;
	l->clock = conf->clock;
	l->now_ns = conf->clock();
	l->door_fd = -1;
	int n = snprintf(l->path, sizeof l->path, "%s%s", conf->path, LOCAL_SOCKET_SUFFIX);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd >= 0 && n > 0 && (size_t)n < sizeof l->path) {
		local_look(l); /* weft host answers soon */
		*out = &l->port;
		return 0;
	}
	int rc = l->epoll_fd < 0 ? -errno : -EINVAL;
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	free(l);
	return weft_err_set(err, rc, "local channels: %s", strerror(-rc));
}

void weft_local_stats(const struct weft_port *port, struct weft_local_stats *stats)
{
	*stats = ((const struct local_port *)port)->stats;
}
