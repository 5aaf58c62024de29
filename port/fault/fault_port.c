/* SPDX-License-Identifier: BSD-3-Clause */
#include "fault_port.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

enum {
	FAULT_CORRUPT_BYTES = 128,
	FAULT_HOLD_POLLS =
		64, /* receive polls, per packet of delay, after which a held packet goes without followers */
	FAULT_PPM = 1000000
};

const struct weft_param weft_fault_params[] = {
	{.key = "fault_seed",
	 .help = "seed of all faults",
	 .def = 1,
	 .max = UINT64_MAX,
	 .offset = offsetof(struct weft_fault_conf, seed),
	 .type = WEFT_PARAM_U64},
	{.key = "fault_loss_ppm",
	 .help = "packets lost, per million",
	 .max = FAULT_PPM,
	 .offset = offsetof(struct weft_fault_conf, loss_ppm)},
	{.key = "fault_dup_ppm",
	 .help = "packets sent twice, per million",
	 .max = FAULT_PPM,
	 .offset = offsetof(struct weft_fault_conf, dup_ppm)},
	{.key = "fault_reorder_ppm",
	 .help = "packets held back, per million",
	 .max = FAULT_PPM,
	 .offset = offsetof(struct weft_fault_conf, reorder_ppm)},
	{.key = "fault_reorder_pkts",
	 .help = "later packets that overtake a held one",
	 .def = 4,
	 .min = 1,
	 .max = 1024,
	 .offset = offsetof(struct weft_fault_conf, reorder_pkts)},
	{.key = "fault_corrupt_ppm",
	 .help = "packets with one bit flipped, per million",
	 .max = FAULT_PPM,
	 .offset = offsetof(struct weft_fault_conf, corrupt_ppm)},
	{.key = "fault_mtu_bytes",
	 .help = "larger IP packets are lost, bytes; 0: none is",
	 .max = UINT16_MAX,
	 .offset = offsetof(struct weft_fault_conf, mtu_bytes)},
	{.key = "fault_mtu_from_pkt",
	 .help = "... after so many packets",
	 .max = UINT32_MAX,
	 .offset = offsetof(struct weft_fault_conf, mtu_from_pkt)},
	{.key = "fault_blackhole",
	 .help = "everything is lost",
	 .max = 1,
	 .offset = offsetof(struct weft_fault_conf, blackhole),
	 .type = WEFT_PARAM_BOOL},
	{.key = "fault_rx",
	 .help = "break received packets too",
	 .max = 1,
	 .offset = offsetof(struct weft_fault_conf, rx),
	 .type = WEFT_PARAM_BOOL},
	{.key = NULL},
};

/* A packet held back, in a list by number. */
struct held {
	struct held *next;
	struct weft_pkt *pkt;
	void *payload;    /* copy, or NULL */
	uint64_t due_pkt; /* goes before the packet with this number */
	uint64_t due_poll;
};

/* One direction. */
struct side {
	uint64_t number; /* of the next packet */
	struct held *head, **tail;
};

struct fault_port {
	struct weft_port port; /* first: ops get a pointer to it */
	struct weft_port *inner;
	struct weft_fault_conf conf;
	struct fault_stats stats;
	struct side tx, rx;
	uint64_t polls;
};

/* What happens to one packet. */
struct verdict {
	bool lost, duplicated, held, corrupted;
	uint32_t bit;
};

static const struct weft_port_ops fault_ops;

static struct fault_port *fault_of(const struct weft_port *port)
{
	assert(port->ops == &fault_ops);
	return (struct fault_port *)port;
}

static bool draw(struct rng *rng, uint32_t ppm)
{
	assert(ppm <= FAULT_PPM);
	return rng_below(rng, FAULT_PPM) < ppm;
}

static bool too_large(const struct weft_fault_conf *c, const struct side *side, const struct weft_pkt *pkt)
{
	return c->mtu_bytes && side->number >= c->mtu_from_pkt &&
	       (uint32_t)pkt->head_len + pkt->payload_len > c->mtu_bytes;
}

/* A function of seed, direction, number and size only. */
static struct verdict judge(const struct fault_port *f, const struct side *side, const struct weft_pkt *pkt)
{
	const struct weft_fault_conf *c = &f->conf;
	struct rng rng = {rng_mix(c->seed + (side == &f->rx)) ^ rng_mix(side->number + 1)};
	struct verdict v = {
		.lost = draw(&rng, c->loss_ppm) | c->blackhole | too_large(c, side, pkt),
		.duplicated = draw(&rng, c->dup_ppm),
		.held = draw(&rng, c->reorder_ppm),
		.corrupted = draw(&rng, c->corrupt_ppm),
		.bit = rng_below(&rng, UINT64_C(1) << 32),
	};
	return v;
}

static void free_one(struct fault_port *f, struct weft_pkt *pkt)
{
	f->inner->ops->free(f->inner, &pkt, 1);
}

/* Twice is as if nothing had happened. */
static void flip(struct weft_pkt *pkt, uint32_t random)
{
	uint32_t bytes = pkt->head_len < FAULT_CORRUPT_BYTES ? pkt->head_len : FAULT_CORRUPT_BYTES;

	if (bytes == 0)
		return;
	uint32_t bit = random % (8 * bytes);
	pkt->head[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

/* A second packet with the same content (payload by reference), or NULL: no packet, or the headers do not fit. */
static struct weft_pkt *copy_of(struct fault_port *f, const struct weft_pkt *pkt)
{
	struct weft_pkt *copy;

	if (pkt->head_len > WEFT_PKT_HEAD_MAX || f->inner->ops->alloc(f->inner, &copy, 1) == 0)
		return NULL;
	uint8_t *head = copy->head;
	void *port_data = copy->port_data;
	*copy = *pkt;
	copy->head = memcpy(head, pkt->head, pkt->head_len);
	copy->port_data = port_data;
	return copy;
}

/* Takes `pkt` aside. The payload is copied, for the sender may reuse it once the packet counts as sent. False: no
 * memory. */
static bool hold(struct fault_port *f, struct side *side, struct weft_pkt *pkt, bool copy_payload)
{
	struct held *h = malloc(sizeof *h);
	bool copy = copy_payload && pkt->payload && pkt->payload_len;
	void *payload = h && copy ? malloc(pkt->payload_len) : NULL;

	if (!h || (copy && !payload)) {
		free(h);
		return false;
	}
	if (copy)
		pkt->payload = memcpy(payload, pkt->payload, pkt->payload_len);
	*h = (struct held){.pkt = pkt,
			   .payload = payload,
			   .due_pkt = side->number + 1 + f->conf.reorder_pkts,
			   .due_poll = f->polls + (uint64_t)f->conf.reorder_pkts * FAULT_HOLD_POLLS};
	assert(!*side->tail);
	*side->tail = h;
	side->tail = &h->next;
	f->stats.reordered++;
	return true;
}

static bool is_due(const struct fault_port *f, const struct side *side)
{
	return side->head && (side->number >= side->head->due_pkt || f->polls >= side->head->due_poll);
}

static void drop_held(struct side *side)
{
	struct held *h = side->head;

	assert(h && (h->next || side->tail == &h->next));
	side->head = h->next;
	if (!side->head)
		side->tail = &side->head;
	free(h->payload);
	free(h);
}

/* Sends what was held long enough, as far as the ring below has room. */
static void send_held(struct fault_port *f)
{
	while (is_due(f, &f->tx) && f->inner->ops->tx(f->inner, &f->tx.head->pkt, 1) == 1)
		drop_held(&f->tx);
}

static void send_copy(struct fault_port *f, struct weft_pkt *copy)
{
	if (f->inner->ops->tx(f->inner, &copy, 1) == 1)
		f->stats.duplicated++;
	else
		free_one(f, copy);
}

/* Passes a packet on, perhaps damaged, perhaps twice. False: the ring below is full, nothing happened. */
static bool send_one(struct fault_port *f, struct weft_pkt *pkt, const struct verdict *v)
{
	struct weft_pkt *copy = v->duplicated ? copy_of(f, pkt) : NULL;

	if (v->corrupted)
		flip(pkt, v->bit);
	if (f->inner->ops->tx(f->inner, &pkt, 1) == 0) {
		if (v->corrupted)
			flip(pkt, v->bit);
		if (copy)
			free_one(f, copy);
		return false;
	}
	f->stats.corrupted += v->corrupted;
	if (copy)
		send_copy(f, copy);
	return true;
}

static bool tx_one(struct fault_port *f, struct weft_pkt *pkt)
{
	struct verdict v = judge(f, &f->tx, pkt);

	if (v.lost) {
		f->stats.lost++;
		free_one(f, pkt);
	} else if (!(v.held && hold(f, &f->tx, pkt, true)) && !send_one(f, pkt, &v)) {
		return false;
	}
	f->tx.number++;
	return true;
}

static uint16_t fault_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct fault_port *f = fault_of(port);
	uint16_t i = 0;

	send_held(f);
	while (i < n && tx_one(f, pkts[i])) {
		i++;
		send_held(f);
	}
	return i;
}

/* Moves held packets whose time has come to `out`; returns how many. */
static uint16_t take_held(struct fault_port *f, struct weft_pkt **out, uint16_t n)
{
	uint16_t i = 0;

	while (i < n && is_due(f, &f->rx)) {
		out[i++] = f->rx.head->pkt;
		drop_held(&f->rx);
	}
	return i;
}

/* Judges a received packet; writes what is left of it to `out` (`room` >= 1) and returns how many that are. */
static uint16_t rx_one(struct fault_port *f, struct weft_pkt *pkt, struct weft_pkt **out, uint16_t room)
{
	struct verdict v = judge(f, &f->rx, pkt);
	uint16_t n = 0;

	assert(room > 0);
	if (v.lost) {
		f->stats.lost++;
		free_one(f, pkt);
	} else if (!v.held || !hold(f, &f->rx, pkt, false)) {
		if (v.corrupted)
			flip(pkt, v.bit);
		f->stats.corrupted += v.corrupted;
		out[n++] = pkt;
		/* A payload by reference belongs to the first packet and dies with it. */
		if (v.duplicated && room > 1 && !pkt->payload && (out[n] = copy_of(f, pkt))) {
			n++;
			f->stats.duplicated++;
		}
	}
	f->rx.number++;
	return n;
}

static uint16_t fault_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct fault_port *f = fault_of(port);
	uint16_t count;

	f->polls++;
	send_held(f);
	count = take_held(f, pkts, n);
	assert(count <= n);
	if (!f->conf.rx)
		return (uint16_t)(count + f->inner->ops->rx(f->inner, pkts + count, (uint16_t)(n - count)));
	while (count < n) {
		struct weft_pkt *pkt;
		if (f->inner->ops->rx(f->inner, &pkt, 1) == 0)
			break;
		count = (uint16_t)(count + rx_one(f, pkt, pkts + count, (uint16_t)(n - count)));
	}
	return count;
}

static uint16_t fault_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct weft_port *inner = fault_of(port)->inner;

	return inner->ops->alloc(inner, pkts, n);
}

static void fault_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct weft_port *inner = fault_of(port)->inner;

	inner->ops->free(inner, pkts, n);
}

static void clear_side(struct fault_port *f, struct side *side)
{
	while (side->head) {
		free_one(f, side->head->pkt);
		drop_held(side);
	}
}

static void fault_close(struct weft_port *port)
{
	struct fault_port *f = fault_of(port);

	clear_side(f, &f->tx);
	clear_side(f, &f->rx);
	f->inner->ops->close(f->inner);
	free(f);
}

static int fault_reach(const struct weft_port *port, const struct weft_ip *ip, struct weft_ip *next_hop)
{
	const struct weft_port *inner = ((const struct fault_port *)port)->inner;

	return inner->ops->reach ? inner->ops->reach(inner, ip, next_hop) : 0;
}

static void fault_doubt(struct weft_port *port, const struct weft_ip *ip)
{
	struct weft_port *inner = fault_of(port)->inner;

	if (inner->ops->doubt)
		inner->ops->doubt(inner, ip);
}

static const struct weft_port_ops fault_ops = {
	.rx = fault_rx,
	.tx = fault_tx,
	.alloc = fault_alloc,
	.free = fault_free,
	.close = fault_close,
	.reach = fault_reach,
	.doubt = fault_doubt,
};

int weft_fault_open(const struct weft_fault_conf *conf, struct weft_port *inner, struct weft_port **out,
		    struct weft_err *err)
{
	struct fault_port *f = malloc(sizeof *f);

	if (!f)
		return weft_err_set(err, -ENOMEM, "fault port: out of memory");
	*f = (struct fault_port){.port = *inner, .inner = inner, .conf = *conf};
	f->port.ops = &fault_ops;
	f->tx.tail = &f->tx.head;
	f->rx.tail = &f->rx.head;
	*out = &f->port;
	return 0;
}

void fault_port_set(struct weft_port *port, const struct weft_fault_conf *conf)
{
	fault_of(port)->conf = *conf;
}

void fault_port_stats(const struct weft_port *port, struct fault_stats *stats)
{
	*stats = fault_of(port)->stats;
}
