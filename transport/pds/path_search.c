/* SPDX-License-Identifier: BSD-3-Clause */
/* Discovery of path MTUs after RFC 8899. A round begins with a probe of the largest size alone: most paths carry it,
 * and where many senders meet, more probes would be a burst of their own. Without an answer it sends probes of several
 * sizes at once, always the smallest among them: that one's answer tells that the others would have been answered, too.
 */
#include "path_search.h"

#include "ctl_tx.h"
#include "resize.h"
#include "rto.h"

enum {
	BASE_BIT = 1,
	HEARD_TRIES = 3,   /* unanswered as often, while the smallest probe was answered: the path does not carry it */
	TRIES_MAX = 8,     /* of a round, when nothing is answered; the time between them doubles ... */
	DOUBLINGS_MAX = 3, /* ... so often */
	QUIET_WAITS = 16,  /* time between two rounds because of losses */
	RETRY_NS = 1000000000, /* a round without any answer is repeated then, if larger sizes are looked for */
	INDEX_MASK = PATH_SIZES - 1,
	ROUND_MASK = 0xfff,
	ROUND_SHIFT = 2,
};

static uint16_t size_of(const struct pds_conf *conf, unsigned index)
{
	uint32_t bytes = PATH_BASE_BYTES << index;
	return (uint16_t)(bytes < conf->tune.payload_bytes ? bytes : conf->tune.payload_bytes);
}

/* Of the smallest size that is not below. */
static unsigned index_of(const struct pds_conf *conf, uint32_t payload_bytes)
{
	unsigned index = 0;
	while (index < INDEX_MASK && size_of(conf, index) < payload_bytes)
		index++;
	return index;
}

/* Bits of the sizes from one index to another. */
static uint8_t sizes(unsigned from, unsigned to)
{
	assert(to < PATH_SIZES);
	return from > to ? 0 : (uint8_t)((2u << to) - (1u << from));
}

static unsigned highest(uint8_t bits)
{
	assert(bits);
	return 31u - (unsigned)__builtin_clz(bits);
}

void path_init(struct remote *r)
{
	wheel_node_init(&r->path.timer.timer);
}

void path_stop(struct pds *pds, struct remote *r)
{
	wheel_cancel(&pds->timers.wheel, &r->path.timer.timer);
}

/* A connection over which probes can go, or NULL. */
static struct pdc_tx *open_connection(const struct remote *r)
{
	struct pdc_tx *p = r->conns;
	while (p && p->state != PDC_TX_OPEN)
		p = p->next_conn;
	return p;
}

/* A probe is answered within a round trip, or never. An RTO may be shorter, as it was configured, and nothing measured
 * where all was sent twice: answers would come when their round is over, round after round. */
static weft_ns wait_ns(const struct pds *pds, const struct pdc_tx *p)
{
	weft_ns longest = rto_max_rtt(p), rtts = 2 * (longest > p->brtt_ns ? longest : p->brtt_ns);
	return rtts > pds->conf.rto_ns ? rtts : pds->conf.rto_ns;
}

static void arm(struct pds *pds, struct remote *r, weft_ns at)
{
	wheel_set(&pds->timers.wheel, &r->path.timer.timer, at);
}

/* The sizes that a try asks for. */
static uint8_t asked(const struct path_mtu *m, unsigned try)
{
	return try ? m->wanted : (uint8_t)(1u << highest(m->wanted));
}

/* Largest first: where they share a path, the answer to a larger one is not overtaken by that to the smallest. */
static void send_probes(struct pds *pds, struct remote *r, struct pdc_tx *p, weft_ns now)
{
	struct path_mtu *m = &r->path;
	unsigned silent = m->tries - m->heard, doublings = silent ? silent - 1 : 0;
	m->answered &= (uint8_t)~BASE_BIT;
	for (unsigned i = PATH_SIZES; i-- > 0;) {
		if (!(asked(m, m->tries) & ~m->answered & 1u << i))
			continue;
		uint16_t opaque = (uint16_t)(PATH_OPAQUE | (m->round & ROUND_MASK) << ROUND_SHIFT | i);
		ctl_send_padded(pds, p, opaque, size_of(&pds->conf, i), now);
		pds->stats.pmtu_probes++;
	}
	m->tries++;
	arm(pds, r, now + (wait_ns(pds, p) << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX)));
}

static void begin(struct pds *pds, struct remote *r, uint8_t wanted, weft_ns now)
{
	struct pdc_tx *p = open_connection(r);
	struct path_mtu *m = &r->path;
	assert(wanted & ~BASE_BIT);
	if (!p)
		return;
	m->round++;
	m->wanted |= wanted | BASE_BIT;
	m->answered = 0;
	m->tries = m->heard = 0;
	send_probes(pds, r, p, now);
}

/* Larger sizes, if there are any and it is time. */
static void search(struct pds *pds, struct remote *r, weft_ns now)
{
	const struct pds_conf *conf = &pds->conf;
	struct path_mtu *m = &r->path;
	if (m->wanted || m->payload_bytes >= conf->tune.payload_bytes)
		return;
	if (now >= m->raise_at_ns)
		begin(pds, r, sizes(index_of(conf, m->payload_bytes) + 1, index_of(conf, conf->tune.payload_bytes)),
		      now);
	else
		arm(pds, r, m->raise_at_ns);
}

static void set_size(struct pds *pds, struct remote *r, uint16_t payload_bytes, weft_ns now)
{
	r->path.payload_bytes = payload_bytes;
	for (struct pdc_tx *p = r->conns; p; p = p->next_conn)
		if (p->state == PDC_TX_OPEN)
			resize(pds, p, payload_bytes, now);
}

/* Probes of the last try. */
static uint32_t unanswered(const struct path_mtu *m)
{
	assert(m->tries > 0);
	return (uint32_t)__builtin_popcount(asked(m, m->tries - 1u) & ~m->answered);
}

/* Packets as large as today's were not answered, smaller ones were: there is a black hole for large packets. */
static void end(struct pds *pds, struct remote *r, weft_ns now)
{
	struct path_mtu *m = &r->path;
	bool conclusive = m->heard >= HEARD_TRIES || !(m->wanted & ~m->answered & ~BASE_BIT);
	unsigned now_index = index_of(&pds->conf, m->payload_bytes), found = highest(m->answered | BASE_BIT);
	bool doubted = m->wanted & sizes(1, now_index);
	m->wanted = 0;
	m->quiet_until_ns = now + QUIET_WAITS * pds->conf.rto_ns;
	m->raise_at_ns = now + pds->conf.tune.pmtu_raise_ns;
	if (!conclusive && m->raise_at_ns > now + RETRY_NS)
		m->raise_at_ns = now + RETRY_NS;
	if (conclusive && doubted && found < now_index) {
		pds->stats.pmtu_holes++;
		set_size(pds, r, size_of(&pds->conf, found), now);
	}
	search(pds, r, now);
}

void path_opened(struct pds *pds, struct pdc_tx *p, weft_ns now)
{
	struct remote *r = p->remote;
	if (!pds->conf.tune.pmtu_discovery)
		return;
	if (!r->path.payload_bytes)
		r->path.payload_bytes = size_of(&pds->conf, 0);
	resize(pds, p, r->path.payload_bytes, now);
	search(pds, r, now);
}

void path_suspect(struct pds *pds, struct pdc_tx *p, uint32_t payload_bytes, weft_ns now)
{
	struct path_mtu *m = &p->remote->path;
	unsigned now_index = index_of(&pds->conf, m->payload_bytes);
	assert(pds->conf.tune.pmtu_discovery);
	if (payload_bytes <= PATH_BASE_BYTES || !now_index || now < m->quiet_until_ns || m->wanted & 1u << now_index)
		return;
	begin(pds, p->remote, sizes(1, now_index), now);
}

void path_answered(struct pds *pds, struct pdc_tx *p, uint16_t opaque, weft_ns now)
{
	struct remote *r = p->remote;
	struct path_mtu *m = &r->path;
	unsigned index = opaque & INDEX_MASK;
	if (((opaque >> ROUND_SHIFT ^ m->round) & ROUND_MASK) != 0) {
		pds->stats.rx_stale++;
		return;
	}
	pds->stats.pmtu_answers++;
	if (!(m->wanted & 1u << index))
		return;                 /* the round is over: a larger one was answered */
	m->answered |= sizes(0, index); /* who carries it carries smaller ones */
	if (size_of(&pds->conf, index) > m->payload_bytes)
		set_size(pds, r, size_of(&pds->conf, index), now);
	if (index == highest(m->wanted))
		end(pds, r, now);
}

void path_expire(struct pds *pds, struct remote *r, weft_ns now)
{
	struct path_mtu *m = &r->path;
	struct pdc_tx *p = open_connection(r);
	if (!m->wanted) {
		if (p)
			search(pds, r, now);
		return;
	}
	pds->stats.pmtu_lost += unanswered(m);
	m->heard += m->answered & BASE_BIT;
	if (p && m->heard < HEARD_TRIES && m->tries < TRIES_MAX)
		send_probes(pds, r, p, now);
	else
		end(pds, r, now);
}
