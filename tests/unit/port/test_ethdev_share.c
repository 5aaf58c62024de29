/* SPDX-License-Identifier: BSD-3-Clause */
/* Several engines on one device of rings, whatever queue their frames come to. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include "ethdev_inbox.h"
#include "handover.h"
#include "neigh_frames.h"
#include "rng.h"

enum {
	ENGINES = 3,
	RING = 4096,
	POOL = 1023,
	FIRST_IP = 0x0a000001,
	STRANGER_IP = 0x0a0000fe,
	PAYLOAD = 8,
	IP_BYTES = 28 + PAYLOAD,
};

struct device {
	char name[16];
	uint16_t queues;
	struct rte_ring *rx[ENGINES], *tx[ENGINES];
	struct weft_port *port[ENGINES];
	struct rte_mempool *pool; /* of frames that arrive */
};

static struct rte_ring *ring_make(const char *dev, char dir, unsigned i)
{
	char name[32];
	snprintf(name, sizeof name, "%s%c%u", dev, dir, i);
	struct rte_ring *r = rte_ring_create(name, RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	assert_non_null(r);
	return r;
}

static int engine_open(struct device *dev, uint16_t i, bool no_arp, struct weft_err *err)
{
	const struct weft_ethdev_conf conf = {.dev = dev->name,
					      .queue = i,
					      .queues = ENGINES,
					      .ip = weft_ip_v4(FIRST_IP + i),
					      .pool_pkts = POOL,
					      .max_ip_bytes = 1500,
					      .no_arp = no_arp};
	return weft_ethdev_open(&conf, &dev->port[i], err);
}

static void device_open(struct device *dev, uint16_t queues, bool no_arp)
{
	static unsigned serial;
	struct weft_err err;
	*dev = (struct device){.queues = queues};
	snprintf(dev->name, sizeof dev->name, "sh%u", serial++);
	for (unsigned q = 0; q < queues; q++) {
		dev->rx[q] = ring_make(dev->name, 'r', q);
		dev->tx[q] = ring_make(dev->name, 't', q);
	}
	dev->pool = rte_pktmbuf_pool_create(dev->name, RING - 1, 0, sizeof(struct weft_pkt), 2048, SOCKET_ID_ANY);
	assert_non_null(dev->pool);
	assert_true(rte_eth_from_rings(dev->name, dev->rx, queues, dev->tx, queues, 0) >= 0);
	for (uint16_t i = 0; i < ENGINES; i++)
		if (engine_open(dev, i, no_arp, &err) != 0)
			fail_msg("%s", err.msg);
}

static struct rte_mbuf *taken(struct rte_ring *ring)
{
	struct rte_mbuf *m;
	return rte_ring_dequeue(ring, (void **)&m) == 0 ? m : NULL;
}

/* Engines announce themselves now and then. */
static struct rte_mbuf *taken_ip(struct rte_ring *ring)
{
	struct rte_mbuf *m = taken(ring);
	while (m != NULL &&
	       rte_pktmbuf_mtod(m, const struct rte_ether_hdr *)->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
		rte_pktmbuf_free(m);
		m = taken(ring);
	}
	return m;
}

static void ring_drain(struct rte_ring *ring)
{
	for (struct rte_mbuf *m = taken(ring); m != NULL; m = taken(ring))
		rte_pktmbuf_free(m);
}

/* Every packet of every kind comes back. */
static void device_close(struct device *dev)
{
	char full[32];
	for (unsigned i = 0; i < ENGINES; i++)
		dev->port[i]->ops->close(dev->port[i]);
	for (unsigned q = 0; q < dev->queues; q++) {
		ring_drain(dev->rx[q]);
		ring_drain(dev->tx[q]);
	}
	snprintf(full, sizeof full, "net_ring_%s", dev->name);
	assert_int_equal(rte_eal_hotplug_remove("vdev", full), 0);
	assert_true(rte_mempool_full(dev->pool));
	rte_mempool_free(dev->pool);
	for (unsigned q = 0; q < dev->queues; q++) {
		rte_ring_free(dev->rx[q]);
		rte_ring_free(dev->tx[q]);
	}
}

/* An IPv4 packet to `dst` that says `number` as its payload. */
static void ip_fill(uint8_t *ip, uint32_t dst, uint64_t number)
{
	const struct rte_ipv4_hdr hdr = {.version_ihl = 0x45,
					 .total_length = rte_cpu_to_be_16(IP_BYTES),
					 .time_to_live = 64,
					 .next_proto_id = IPPROTO_UDP,
					 .src_addr = rte_cpu_to_be_32(STRANGER_IP),
					 .dst_addr = rte_cpu_to_be_32(dst)};
	memset(ip, 0, IP_BYTES);
	memcpy(ip, &hdr, sizeof hdr);
	memcpy(ip + 28, &number, sizeof number);
}

static void arrive_frame(struct device *dev, unsigned queue, const void *frame, uint16_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(dev->pool);
	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, len), frame, len);
	assert_int_equal(rte_ring_enqueue(dev->rx[queue], m), 0);
}

static struct rte_ether_addr derived_mac(uint32_t ip)
{
	return (struct rte_ether_addr){
		{2, 0, (uint8_t)(ip >> 24), (uint8_t)(ip >> 16), (uint8_t)(ip >> 8), (uint8_t)ip}};
}

static void arrive(struct device *dev, unsigned queue, uint32_t dst, uint64_t number)
{
	uint8_t frame[RTE_ETHER_HDR_LEN + IP_BYTES];
	const struct rte_ether_hdr eth = {.dst_addr = derived_mac(dst),
					  .src_addr = derived_mac(STRANGER_IP),
					  .ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)};
	memcpy(frame, &eth, sizeof eth);
	ip_fill(frame + sizeof eth, dst, number);
	arrive_frame(dev, queue, frame, sizeof frame);
}

/* The number a packet says; the packet is freed. */
static uint64_t number_of(struct weft_port *port, struct weft_pkt *pkt)
{
	uint64_t number;
	assert_int_equal(pkt->head_len, IP_BYTES);
	memcpy(&number, pkt->head + 28, sizeof number);
	port->ops->free(port, &pkt, 1);
	return number;
}

static void expect_number(struct weft_port *port, uint64_t number)
{
	struct weft_pkt *pkts[ETHDEV_BURST];
	assert_int_equal(port->ops->rx(port, pkts, ETHDEV_BURST), 1);
	assert_int_equal(number_of(port, pkts[0]), number);
}

/* All that waits are frames which the port itself takes. */
static void expect_nothing(struct weft_port *port)
{
	struct weft_pkt *pkts[ETHDEV_BURST];
	assert_int_equal(port->ops->rx(port, pkts, ETHDEV_BURST), 0);
}

static void rx__frame_on_another_queue_is_handed_over(void **state)
{
	struct device dev;
	device_open(&dev, ENGINES, true);
	arrive(&dev, 0, FIRST_IP + 1, 11);
	arrive(&dev, 0, FIRST_IP, 10);
	arrive(&dev, 0, FIRST_IP + 2, 12);
	struct weft_pkt *pkts[8];
	assert_int_equal(dev.port[0]->ops->rx(dev.port[0], pkts, 8), 1);
	assert_int_equal(number_of(dev.port[0], pkts[0]), 10);
	expect_number(dev.port[1], 11);
	expect_number(dev.port[2], 12);
	assert_int_equal(port_stats(dev.port[0]).rx_handed_over, 2);
	assert_int_equal(port_stats(dev.port[0]).rx_pkts, 1);
	assert_int_equal(port_stats(dev.port[1]).rx_taken_over, 1);
	assert_int_equal(port_stats(dev.port[1]).rx_pkts, 1);
	device_close(&dev);
}

/* A thread that computes instead of polling holds up nobody but itself. */
static void rx__unattended_queue_is_looked_at_by_others(void **state)
{
	struct device dev;
	struct weft_pkt *pkt;
	device_open(&dev, ENGINES, true);
	arrive(&dev, 0, FIRST_IP + 1, 5);
	arrive(&dev, 0, FIRST_IP, 4);
	while (dev.port[1]->ops->rx(dev.port[1], &pkt, 1) == 0)
		;
	assert_int_equal(number_of(dev.port[1], pkt), 5);
	while (port_stats(dev.port[1]).rx_handed_over == 0)
		expect_nothing(dev.port[1]);
	expect_number(dev.port[0], 4);
	device_close(&dev);
}

static void rx__frame_of_nobody_is_foreign(void **state)
{
	struct device dev;
	device_open(&dev, ENGINES, true);
	arrive(&dev, 1, FIRST_IP + ENGINES, 1);
	expect_nothing(dev.port[1]);
	assert_int_equal(port_stats(dev.port[1]).rx_foreign, 1);
	assert_int_equal(port_stats(dev.port[1]).rx_handed_over, 0);
	device_close(&dev);
}

static void rx__full_inbox_drops_and_counts(void **state)
{
	struct device dev;
	struct weft_pkt *pkts[ETHDEV_BURST];
	device_open(&dev, ENGINES, true);
	for (unsigned i = 0; i < INBOX_FRAMES + 100; i++)
		arrive(&dev, 0, FIRST_IP + 1, i);
	while (port_stats(dev.port[0]).rx_handed_over + port_stats(dev.port[0]).rx_handover_full < INBOX_FRAMES + 100)
		assert_int_equal(dev.port[0]->ops->rx(dev.port[0], pkts, ETHDEV_BURST), 0);
	uint64_t handed = port_stats(dev.port[0]).rx_handed_over;
	assert_true(handed >= INBOX_FRAMES - 1 && handed <= INBOX_FRAMES);
	for (uint64_t i = 0; i < handed;) {
		uint16_t n = dev.port[1]->ops->rx(dev.port[1], pkts, ETHDEV_BURST);
		assert_int_not_equal(n, 0);
		for (uint16_t k = 0; k < n; k++, i++)
			assert_int_equal(number_of(dev.port[1], pkts[k]), i);
	}
	expect_nothing(dev.port[1]);
	device_close(&dev);
}

/* What comes for an engine that has gone is nobody's, until it is back. */
static void close__engines_come_and_go(void **state)
{
	struct device dev;
	struct weft_err err;
	device_open(&dev, ENGINES, true);
	arrive(&dev, 0, FIRST_IP + 1, 1);
	expect_nothing(dev.port[0]); /* it waits at engine 1 */
	dev.port[1]->ops->close(dev.port[1]);
	arrive(&dev, 0, FIRST_IP + 1, 2);
	expect_nothing(dev.port[0]);
	assert_int_equal(port_stats(dev.port[0]).rx_foreign, 1);
	assert_int_equal(engine_open(&dev, 1, true, &err), 0);
	arrive(&dev, 0, FIRST_IP + 1, 3);
	expect_nothing(dev.port[0]);
	expect_number(dev.port[1], 3);
	device_close(&dev);
}

static void open__engines_have_addresses_of_their_own(void **state)
{
	struct device dev;
	struct weft_err err;
	struct weft_port *port;
	device_open(&dev, ENGINES, true);
	dev.port[2]->ops->close(dev.port[2]);
	const struct weft_ethdev_conf same = {
		.dev = dev.name, .queue = 2, .ip = weft_ip_v4(FIRST_IP + 1), .no_arp = true};
	assert_int_equal(weft_ethdev_open(&same, &port, &err), -EADDRINUSE);
	const struct weft_ethdev_conf large = {
		.dev = dev.name, .queue = 2, .ip = weft_ip_v4(FIRST_IP + 2), .max_ip_bytes = 9000};
	assert_int_equal(weft_ethdev_open(&large, &port, &err), -EINVAL); /* receive rings hold 1500 */
	assert_int_equal(engine_open(&dev, 2, true, &err), 0);
	device_close(&dev);
}

static void rx__fewer_queues_than_engines(void **state)
{
	struct device dev;
	struct weft_ethdev_steering steering;
	device_open(&dev, 1, true);
	weft_ethdev_steering(dev.port[2], &steering);
	assert_int_equal(steering.ports, ENGINES);
	assert_int_equal(steering.queues, 1);
	assert_int_equal(steering.queue, 0);
	assert_false(steering.by_rule);
	for (unsigned i = 0; i < ENGINES; i++)
		arrive(&dev, 0, FIRST_IP + i, i);
	expect_number(dev.port[2], 2);
	expect_number(dev.port[0], 0);
	expect_number(dev.port[1], 1);
	for (unsigned i = 0; i < ENGINES; i++) {
		struct weft_pkt *pkt = fixture_pkt(dev.port[i], STRANGER_IP, "x", 1);
		assert_int_equal(dev.port[i]->ops->tx(dev.port[i], &pkt, 1), 1);
	}
	for (unsigned i = 0; i < ENGINES; i++) {
		struct rte_mbuf *m = taken_ip(dev.tx[0]);
		assert_non_null(m);
		struct rte_ether_addr mac = derived_mac(FIRST_IP + i);
		assert_true(rte_is_same_ether_addr(&rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->src_addr, &mac));
		rte_pktmbuf_free(m);
	}
	device_close(&dev);
}

/* ---- neighbours ---- */

static void arrive_arp(struct device *dev, unsigned queue, uint16_t op, uint32_t sender, uint32_t target)
{
	const struct arp_frame f = arp_from(derived_mac(sender), op, sender, target);
	arrive_frame(dev, queue, &f, sizeof f);
}

static void arp__question_is_answered_by_whom_it_asks_for(void **state)
{
	struct device dev;
	device_open(&dev, ENGINES, false);
	arrive_arp(&dev, 0, RTE_ARP_OP_REQUEST, STRANGER_IP, FIRST_IP + 2);
	expect_nothing(dev.port[0]);
	expect_nothing(dev.port[2]);
	assert_int_equal(port_stats(dev.port[0]).arp_answered, 0);
	assert_int_equal(port_stats(dev.port[2]).arp_answered, 1);
	device_close(&dev);
}

static void arp__announcement_is_heard_by_all(void **state)
{
	struct device dev;
	struct weft_ip peer = weft_ip_v4(STRANGER_IP), hop;
	device_open(&dev, ENGINES, false);
	for (unsigned i = 0; i < ENGINES; i++) {
		/* All want to send, and wait. */
		struct weft_pkt *pkt = fixture_pkt(dev.port[i], STRANGER_IP, "x", 1);
		assert_int_equal(dev.port[i]->ops->tx(dev.port[i], &pkt, 1), 1);
		assert_int_equal(dev.port[i]->ops->reach(dev.port[i], &peer, &hop), -EINPROGRESS);
	}
	arrive_arp(&dev, 1, RTE_ARP_OP_REQUEST, STRANGER_IP, STRANGER_IP);
	expect_nothing(dev.port[1]);
	for (unsigned i = 0; i < ENGINES; i++) {
		expect_nothing(dev.port[i]);
		assert_int_equal(dev.port[i]->ops->reach(dev.port[i], &peer, &hop), 0);
	}
	device_close(&dev);
}

/* ---- from engine to engine ---- */

static bool went_out(struct device *dev, uint32_t dst)
{
	bool found = false;
	for (unsigned q = 0; q < dev->queues; q++)
		for (struct rte_mbuf *m = taken(dev->tx[q]); m != NULL; m = taken(dev->tx[q])) {
			const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
			const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + 1);
			found |= eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
				 ip->dst_addr == rte_cpu_to_be_32(dst);
			rte_pktmbuf_free(m);
		}
	return found;
}

/* No switch sends a frame back to where it came from. */
static void tx__to_another_engine_stays_inside(void **state)
{
	struct device dev;
	char payload[1000];
	memset(payload, 'p', sizeof payload);
	for (int no_arp = 0; no_arp < 2; no_arp++) {
		struct weft_pkt *in[ETHDEV_BURST];
		device_open(&dev, ENGINES, no_arp);
		to_ethdev(dev.port[0])->copies = true; /* payload may stay where it is until the device has it */
		struct weft_pkt *pkt = fixture_pkt(dev.port[0], FIRST_IP + 1, payload, sizeof payload);
		assert_int_equal(dev.port[0]->ops->tx(dev.port[0], &pkt, 1), 1);
		memset(payload, no_arp ? 'x' : 'p', sizeof payload);
		uint16_t got = 0;
		for (int i = 0; i < 8 && got == 0; i++) {
			got = dev.port[1]->ops->rx(dev.port[1], in, ETHDEV_BURST);
			expect_nothing(dev.port[0]);
		}
		assert_int_equal(got, 1);
		assert_int_equal(in[0]->head_len, 28 + sizeof payload);
		for (unsigned i = 0; i < sizeof payload; i++)
			assert_int_equal(in[0]->head[28 + i], 'p');
		dev.port[1]->ops->free(dev.port[1], in, 1);
		assert_false(went_out(&dev, FIRST_IP + 1));
		device_close(&dev);
		memset(payload, 'p', sizeof payload);
	}
}

/* ---- threads ---- */

enum { NUMBERS = 400 }; /* so few that no inbox overflows */

struct poller {
	struct weft_port *port;
	uint32_t other;            /* engine to send to */
	uint8_t seen[2 * NUMBERS]; /* packets with this number */
	unsigned got, sent, wrong;
};

static void poller_send(struct poller *p)
{
	struct weft_pkt *pkt;
	if (p->sent == NUMBERS || p->port->ops->alloc(p->port, &pkt, 1) == 0)
		return;
	ip_fill(pkt->head, p->other, NUMBERS + p->sent);
	pkt->head_len = IP_BYTES;
	if (p->port->ops->tx(p->port, &pkt, 1) == 1)
		p->sent++;
	else
		p->port->ops->free(p->port, &pkt, 1);
}

/* Until all has come, and all has gone. Asserts are not for threads other than cmocka's. */
static void *poller_run(void *arg)
{
	struct poller *p = arg;
	struct weft_pkt *pkts[ETHDEV_BURST];
	while (p->got < 2 * NUMBERS || p->sent < NUMBERS) {
		uint16_t n = p->port->ops->rx(p->port, pkts, ETHDEV_BURST);
		for (uint16_t i = 0; i < n; i++) {
			uint64_t number;
			memcpy(&number, pkts[i]->head + 28, sizeof number);
			if (number < 2 * NUMBERS && p->seen[number] == 0)
				p->seen[number] = 1;
			else
				p->wrong++;
		}
		p->got += n;
		p->port->ops->free(p->port, pkts, n);
		poller_send(p);
	}
	return NULL;
}

static void threads_run(uint16_t queues)
{
	struct device dev;
	struct poller pollers[ENGINES] = {{0}};
	pthread_t threads[ENGINES];
	struct rng rng = {queues};
	handover_watch_pools();
	device_open(&dev, queues, true);
	for (unsigned n = 0; n < NUMBERS; n++)
		for (unsigned i = 0; i < ENGINES; i++)
			arrive(&dev, rng_below(&rng, queues), FIRST_IP + i, n);
	for (unsigned i = 0; i < ENGINES; i++) {
		pollers[i] = (struct poller){.port = dev.port[i], .other = FIRST_IP + (i + 1) % ENGINES};
		assert_int_equal(pthread_create(&threads[i], NULL, poller_run, &pollers[i]), 0);
	}
	for (unsigned i = 0; i < ENGINES; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(pollers[i].wrong, 0);
		assert_int_equal(pollers[i].got, 2 * NUMBERS);
	}
	device_close(&dev);
}

static void threads__poll_an_engine_each(void **state)
{
	threads_run(ENGINES);
}

static void threads__share_queues(void **state)
{
	threads_run(2);
	threads_run(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rx__frame_on_another_queue_is_handed_over),
		cmocka_unit_test(rx__unattended_queue_is_looked_at_by_others),
		cmocka_unit_test(rx__frame_of_nobody_is_foreign),
		cmocka_unit_test(rx__full_inbox_drops_and_counts),
		cmocka_unit_test(close__engines_come_and_go),
		cmocka_unit_test(open__engines_have_addresses_of_their_own),
		cmocka_unit_test(rx__fewer_queues_than_engines),
		cmocka_unit_test(arp__question_is_answered_by_whom_it_asks_for),
		cmocka_unit_test(arp__announcement_is_heard_by_all),
		cmocka_unit_test(tx__to_another_engine_stays_inside),
		cmocka_unit_test(threads__poll_an_engine_each),
		cmocka_unit_test(threads__share_queues),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
