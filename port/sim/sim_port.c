/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_port.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pool.h"
#include "weft/mem.h"

/* A block fills one huge page: with hundreds of thousands of packets in flight, small pages cost more than the packets.
 */
enum { SLAB_BLOCK_BYTES = 2 << 20 };

/* Packets handed out at once. The slab gives out what came back last, whose lines are still in the caches; a reserve of
 * many in every host would grow cold before it is used. */
enum { ALLOC_BURST = 2 };

/* Metadata and header room; a payload that is not only a length is copied to memory of its own (port_data). */
struct slab_elem {
	struct weft_pkt pkt;
	uint8_t head[WEFT_PKT_HEAD_MAX];
};

_Static_assert(sizeof(struct slab_elem) == 256, "four cache lines");

struct sim_slab {
	struct weft_mem mem;
	struct pool pool;
	uint32_t max_pkts;
};

struct sim_fifo {
	struct weft_pkt *head, *tail;
	uint32_t count, limit;
};

struct sim_port {
	struct weft_port port; /* first: ops get a pointer to it */
	struct sim_slab *slab;
	struct sim_fifo credit, control, data; /* to the wire */
	struct sim_fifo received;
	bool by_reference;
	uint64_t rx_dropped;
};

static void *huge_alloc(void *arg, size_t bytes)
{
	void *p = bytes <= SLAB_BLOCK_BYTES ? aligned_alloc(SLAB_BLOCK_BYTES, SLAB_BLOCK_BYTES) : NULL;

	if (p)
		madvise(p, SLAB_BLOCK_BYTES, MADV_HUGEPAGE); /* a wish: without huge pages it is slower, not wrong */
	return p;
}

static void huge_free(void *arg, void *p)
{
	free(p);
}

struct sim_slab *sim_slab_create(uint32_t max_pkts)
{
	struct sim_slab *slab = calloc(1, sizeof *slab);

	if (!slab)
		return NULL;
	slab->max_pkts = max_pkts;
	slab->mem = (struct weft_mem){.alloc = huge_alloc, .free = huge_free};
	/* One element's room is left for the block's own header. */
	pool_init(&slab->pool, &slab->mem, sizeof(struct slab_elem), SLAB_BLOCK_BYTES / sizeof(struct slab_elem) - 1);
	return slab;
}

void sim_slab_destroy(struct sim_slab *slab)
{
	pool_fini(&slab->pool);
	free(slab);
}

struct weft_pkt *sim_slab_get(struct sim_slab *slab)
{
	assert(slab->pool.used <= slab->max_pkts);
	if (slab->pool.used >= slab->max_pkts)
		return NULL;
	struct slab_elem *e = pool_get(&slab->pool);
	if (!e)
		return NULL;
	e->pkt = (struct weft_pkt){.head = e->head};
	return &e->pkt;
}

void sim_slab_put(struct sim_slab *slab, struct weft_pkt *pkt)
{
	assert(slab->pool.used > 0);
	free(pkt->port_data);
	pool_put(&slab->pool, pkt);
}

uint32_t sim_slab_used(const struct sim_slab *slab)
{
	return slab->pool.used;
}

static bool fifo_enqueue(struct sim_fifo *f, struct weft_pkt *pkt)
{
	if (f->count >= f->limit)
		return false;
	assert(!f->head == !f->count && (!f->head || !f->tail->next));
	pkt->next = NULL;
	if (f->head)
		f->tail->next = pkt;
	else
		f->head = pkt;
	f->tail = pkt;
	f->count++;
	return true;
}

static struct weft_pkt *fifo_dequeue(struct sim_fifo *f)
{
	struct weft_pkt *pkt = f->head;

	if (!pkt)
		return NULL;
	assert(f->count > 0 && f->count <= f->limit);
	f->head = pkt->next;
	f->count--;
	assert(!f->head == !f->count);
	return pkt;
}

static const struct weft_port_ops sim_ops;

static struct sim_port *sim_of(const struct weft_port *port)
{
	assert(port->ops == &sim_ops);
	return (struct sim_port *)port;
}

static uint16_t sim_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	uint16_t i = 0;

	while (i < n && (pkts[i] = fifo_dequeue(&sim_of(port)->received)))
		i++;
	return i;
}

/* With a trailer the packet becomes one piece, as it comes from a NIC: the receiver's check runs over all of it. */
static bool gather(struct weft_pkt *pkt)
{
	uint32_t payload_len = pkt->payload ? pkt->payload_len : 0;

	assert(pkt->flags & WEFT_PKT_TRAILER);
	uint8_t *copy = malloc(pkt->head_len + payload_len + sizeof pkt->trailer);
	if (!copy)
		return false;
	memcpy(copy, pkt->head, pkt->head_len);
	if (payload_len)
		memcpy(copy + pkt->head_len, pkt->payload, payload_len);
	pkt->head = copy;
	pkt->head_len = (uint16_t)(pkt->head_len + payload_len);
	for (unsigned i = 0; i < sizeof pkt->trailer; i++)
		copy[pkt->head_len++] = (uint8_t)(pkt->trailer >> 8 * i);
	pkt->payload = NULL;
	pkt->payload_len = 0;
	pkt->flags &= (uint8_t)~WEFT_PKT_TRAILER;
	free(pkt->port_data);
	pkt->port_data = copy;
	return true;
}

/* The sender may reuse its memory once its packet was taken. False: no memory. */
static bool own_payload(const struct sim_port *s, struct weft_pkt *pkt)
{
	if (pkt->flags & WEFT_PKT_TRAILER)
		return gather(pkt);
	if (s->by_reference || !pkt->payload || pkt->payload_len == 0)
		return true;
	void *copy = malloc(pkt->payload_len);
	if (!copy)
		return false;
	pkt->payload = memcpy(copy, pkt->payload, pkt->payload_len);
	free(pkt->port_data);
	pkt->port_data = copy;
	return true;
}

static struct sim_fifo *fifo_of(struct sim_port *s, const struct weft_pkt *pkt)
{
	if (!(pkt->flags & WEFT_PKT_CONTROL))
		return &s->data;
	return pkt->flags & WEFT_PKT_CREDIT ? &s->credit : &s->control;
}

static uint16_t sim_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct sim_port *s = sim_of(port);
	uint16_t i;

	for (i = 0; i < n; i++) {
		struct sim_fifo *f = fifo_of(s, pkts[i]);
		if (f->count >= f->limit || !own_payload(s, pkts[i]))
			break;
		fifo_enqueue(f, pkts[i]);
	}
	return i;
}

static uint16_t sim_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	uint16_t i = 0;

	while (i < n && i < ALLOC_BURST && (pkts[i] = sim_slab_get(sim_of(port)->slab)))
		i++;
	return i;
}

static void sim_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		sim_slab_put(sim_of(port)->slab, pkts[i]);
}

static void fifo_clear(struct sim_port *s, struct sim_fifo *f)
{
	for (struct weft_pkt *pkt; (pkt = fifo_dequeue(f));)
		sim_slab_put(s->slab, pkt);
}

static void sim_close(struct weft_port *port)
{
	struct sim_port *s = sim_of(port);

	fifo_clear(s, &s->credit);
	fifo_clear(s, &s->control);
	fifo_clear(s, &s->data);
	fifo_clear(s, &s->received);
	free(s);
}

static const struct weft_port_ops sim_ops = {
	.rx = sim_rx, .tx = sim_tx, .alloc = sim_alloc, .free = sim_free, .close = sim_close};

int sim_port_create(const struct sim_port_conf *conf, struct weft_port **out, struct weft_err *err)
{
	if (!conf->slab || conf->tx_entries == 0 || conf->rx_entries == 0 || conf->max_ip_bytes == 0)
		return weft_err_set(err, -EINVAL, "sim port: it needs a slab, rings with entries and a packet size");
	struct sim_port *s = calloc(1, sizeof *s);
	if (!s)
		return weft_err_set(err, -ENOMEM, "sim port: out of memory");
	*s = (struct sim_port){
		.port = {.ops = &sim_ops, .link_bps = conf->link_bps, .max_ip_bytes = conf->max_ip_bytes},
		.slab = conf->slab,
		.credit.limit = conf->tx_entries,
		.control.limit = conf->tx_entries,
		.data.limit = conf->tx_entries,
		.received.limit = conf->rx_entries,
		.by_reference = conf->by_reference};
	*out = &s->port;
	return 0;
}

struct weft_pkt *sim_port_pull(struct weft_port *port)
{
	struct sim_port *s = sim_of(port);
	struct weft_pkt *pkt = fifo_dequeue(&s->credit);

	if (!pkt)
		pkt = fifo_dequeue(&s->control);
	return pkt ? pkt : fifo_dequeue(&s->data);
}

struct weft_pkt *sim_port_pull_credit(struct weft_port *port)
{
	return fifo_dequeue(&sim_of(port)->credit);
}

struct weft_pkt *sim_port_pull_control(struct weft_port *port)
{
	struct sim_port *s = sim_of(port);
	struct weft_pkt *pkt = fifo_dequeue(&s->credit);

	return pkt ? pkt : fifo_dequeue(&s->control);
}

bool sim_port_deliver(struct weft_port *port, struct weft_pkt *pkt, weft_ns now)
{
	struct sim_port *s = sim_of(port);

	assert(!(pkt->flags & WEFT_PKT_TRAILER)); /* it was gathered when it was sent */
	pkt->arrived_ns = now;
	if (fifo_enqueue(&s->received, pkt))
		return true;
	s->rx_dropped++;
	sim_slab_put(s->slab, pkt);
	return false;
}

bool sim_port_tx_pending(const struct weft_port *port)
{
	const struct sim_port *s = sim_of(port);

	return s->credit.head || s->control.head || s->data.head;
}

uint64_t sim_port_rx_dropped(const struct weft_port *port)
{
	return sim_of(port)->rx_dropped;
}

void sim_port_prefetch(const struct weft_port *port)
{
	__builtin_prefetch(port, 1);
	__builtin_prefetch((const char *)port + 64, 1);
}
