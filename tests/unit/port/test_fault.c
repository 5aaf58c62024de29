/* SPDX-License-Identifier: BSD-3-Clause */
/* The port below is a virtual NIC: what the wire side pulls is what got through. */
#include "fault_port.h"

#include <string.h>

#include "cmocka_all.h"
#include "sim_port.h"

enum { SENT = 100000, BYTES = 80 };

static struct sim_slab *slab;
static struct weft_port *nic, *port;

static int setup(void **state)
{
	struct sim_port_conf conf = {.link_bps = 1000, .max_ip_bytes = 1500, .tx_entries = 8, .rx_entries = 8};
	struct weft_fault_conf none = {.seed = 1};

	conf.slab = slab = sim_slab_create(64);
	if (!slab || sim_port_create(&conf, &nic, NULL))
		return -1;
	return weft_fault_open(&none, nic, &port, NULL);
}

/* Closing gives everything back, held packets included. */
static int teardown(void **state)
{
	port->ops->close(port);
	int used = (int)sim_slab_used(slab);
	sim_slab_destroy(slab);
	return used;
}

static struct weft_pkt *make_pkt(uint32_t number)
{
	struct weft_pkt *pkt;

	assert_int_equal(port->ops->alloc(port, &pkt, 1), 1);
	memset(pkt->head, 0, BYTES);
	memcpy(pkt->head, &number, sizeof number);
	pkt->head_len = BYTES;
	pkt->src = number; /* the number as it was, whatever happens to the bytes */
	return pkt;
}

/* What came through of a series of packets. */
struct outcome {
	uint32_t received, twice, overtaken, flipped_bits;
	uint64_t hash; /* of all of it, in order */
	struct fault_stats stats;
};

static uint8_t seen[SENT]; /* how often each packet of the current series came through */
static uint32_t newest;

/* Begins a series under `conf`. */
static void start(const struct weft_fault_conf *conf)
{
	memset(seen, 0, sizeof seen);
	newest = 0;
	fault_port_set(port, conf);
}

static void note(struct outcome *o, const struct weft_pkt *pkt)
{
	uint32_t clean[BYTES / 4] = {pkt->src}, got[BYTES / 4];

	memcpy(got, pkt->head, BYTES);
	for (uint32_t i = 0; i < BYTES / 4; i++) {
		o->flipped_bits += (uint32_t)__builtin_popcount(got[i] ^ clean[i]);
		o->hash = (o->hash ^ got[i]) * 0x9e3779b97f4a7c15u;
	}
	o->received++;
	o->twice += seen[pkt->src]++;
	o->overtaken += pkt->src < newest;
	if (pkt->src > newest)
		newest = pkt->src;
}

static struct outcome run_tx(struct weft_fault_conf conf)
{
	struct outcome o = {0};

	start(&conf);
	for (uint32_t i = 0; i < SENT; i++) {
		struct weft_pkt *pkt = make_pkt(i);
		assert_int_equal(port->ops->tx(port, &pkt, 1), 1);
		while ((pkt = sim_port_pull(nic))) {
			note(&o, pkt);
			sim_slab_put(slab, pkt);
		}
	}
	fault_port_stats(port, &o.stats);
	return o;
}

/* 5 sigma of a binomial share of SENT packets. */
static void assert_share(uint64_t count, uint32_t ppm)
{
	double expect = (double)SENT * ppm / 1e6, slack = 5 * __builtin_sqrt(expect);

	assert_true((double)count > expect - slack);
	assert_true((double)count < expect + slack);
}

static void fault_tx__passes_unharmed(void **state)
{
	struct outcome o = run_tx((struct weft_fault_conf){.seed = 1});

	assert_int_equal(o.received, SENT);
	assert_int_equal(o.twice + o.overtaken + o.flipped_bits, 0);
	assert_int_equal(port->link_bps, 1000);
	assert_int_equal(port->max_ip_bytes, 1500);
}

static void fault_tx__loss(void **state)
{
	struct outcome o = run_tx((struct weft_fault_conf){.seed = 1, .loss_ppm = 10000});

	assert_share(o.stats.lost, 10000);
	assert_int_equal(o.received, SENT - o.stats.lost);
	assert_int_equal(o.twice + o.overtaken + o.flipped_bits, 0);
}

static void fault_tx__duplication(void **state)
{
	struct outcome o = run_tx((struct weft_fault_conf){.seed = 1, .dup_ppm = 20000});

	assert_share(o.stats.duplicated, 20000);
	assert_int_equal(o.received, SENT + o.stats.duplicated);
	assert_int_equal(o.twice, o.stats.duplicated);
	assert_int_equal(o.flipped_bits, 0);
}

static void fault_tx__reordering(void **state)
{
	struct outcome o = run_tx((struct weft_fault_conf){.seed = 1, .reorder_ppm = 10000, .reorder_pkts = 3});

	assert_share(o.stats.reordered, 10000);
	assert_int_equal(o.twice + o.flipped_bits, 0);
	/* The last few may still be held; one held just before another may follow it in order. */
	assert_in_range(o.received, SENT - 4, SENT);
	assert_in_range(o.overtaken, o.stats.reordered - o.stats.reordered / 10, o.stats.reordered);
}

/* Exactly `reorder_pkts` later packets go first. */
static void fault_tx__reordering_distance(void **state)
{
	struct weft_fault_conf conf = {.seed = 1, .reorder_ppm = 1000000, .reorder_pkts = 3};
	struct weft_pkt *pkt = make_pkt(0);

	fault_port_set(port, &conf);
	assert_int_equal(port->ops->tx(port, &pkt, 1), 1);
	conf.reorder_ppm = 0;
	fault_port_set(port, &conf);
	for (uint32_t i = 1; i <= 4; i++) {
		pkt = make_pkt(i);
		assert_int_equal(port->ops->tx(port, &pkt, 1), 1);
	}
	static const uint32_t order[] = {1, 2, 3, 0, 4};
	for (uint32_t i = 0; i < 5; i++) {
		pkt = sim_port_pull(nic);
		assert_int_equal(pkt->src, order[i]);
		sim_slab_put(slab, pkt);
	}
}

/* Without followers a held packet goes after a while of polling, with its own copy of the payload. */
static void fault_tx__held_without_followers(void **state)
{
	struct weft_fault_conf conf = {.seed = 1, .reorder_ppm = 1000000, .reorder_pkts = 2};
	struct weft_pkt *pkt = make_pkt(7), *none;
	char memory[] = "payload";
	uint32_t polls = 0;

	pkt->payload = (const uint8_t *)memory;
	pkt->payload_len = sizeof memory;
	fault_port_set(port, &conf);
	assert_int_equal(port->ops->tx(port, &pkt, 1), 1);
	memset(memory, 'x', sizeof memory);
	for (; !sim_port_tx_pending(nic); polls++)
		assert_int_equal(port->ops->rx(port, &none, 1), 0);
	assert_in_range(polls, 10, 1000);
	pkt = sim_port_pull(nic);
	assert_int_equal(pkt->src, 7);
	assert_string_equal((const char *)pkt->payload, "payload");
	sim_slab_put(slab, pkt);
}

static void fault_tx__corruption(void **state)
{
	struct outcome o = run_tx((struct weft_fault_conf){.seed = 1, .corrupt_ppm = 10000});

	assert_share(o.stats.corrupted, 10000);
	assert_int_equal(o.received, SENT);
	assert_int_equal(o.flipped_bits, o.stats.corrupted);
}

static void fault_tx__blackhole(void **state)
{
	struct outcome o = run_tx((struct weft_fault_conf){.seed = 1, .blackhole = 1});

	assert_int_equal(o.received, 0);
	assert_int_equal(o.stats.lost, SENT);
}

static void fault_tx__mtu(void **state)
{
	struct outcome o = run_tx((struct weft_fault_conf){.seed = 1, .mtu_bytes = BYTES});
	assert_int_equal(o.received, SENT);
	o = run_tx((struct weft_fault_conf){.seed = 1, .mtu_bytes = BYTES - 1});
	assert_int_equal(o.received, 0);
}

static void fault_tx__mtu_falls(void **state)
{
	struct outcome o = run_tx((struct weft_fault_conf){.seed = 1, .mtu_bytes = BYTES - 1, .mtu_from_pkt = 1000});
	assert_int_equal(o.received, 1000);
	assert_int_equal(o.stats.lost, SENT - 1000);
}

static struct weft_fault_conf everything(uint64_t seed)
{
	return (struct weft_fault_conf){.seed = seed,
					.loss_ppm = 10000,
					.dup_ppm = 10000,
					.reorder_ppm = 10000,
					.reorder_pkts = 5,
					.corrupt_ppm = 10000};
}

static void fault_tx__repeats_exactly(void **state)
{
	struct outcome a = run_tx(everything(3));

	assert_int_equal(teardown(state), 0);
	assert_int_equal(setup(state), 0);
	struct outcome b = run_tx(everything(3));
	assert_memory_equal(&a, &b, sizeof a);
	assert_int_equal(teardown(state), 0);
	assert_int_equal(setup(state), 0);
	struct outcome c = run_tx(everything(4));
	assert_true(a.hash != c.hash);
}

/* A full ring below: the packet stays the caller's, unharmed, and meets the same fate later. */
static void fault_tx__full_ring(void **state)
{
	struct weft_fault_conf conf = {.seed = 1, .dup_ppm = 500000, .corrupt_ppm = 500000};
	struct fault_stats before, after;
	struct weft_pkt *pkt;
	uint32_t taken = 0;

	fault_port_set(port, &conf);
	for (;; taken++) {
		pkt = make_pkt(taken);
		if (port->ops->tx(port, &pkt, 1) == 0)
			break;
	}
	assert_in_range(taken, 4, 8);
	fault_port_stats(port, &before);
	for (int i = 0; i < 5; i++) {
		uint32_t clean[BYTES / 4] = {taken};
		assert_int_equal(port->ops->tx(port, &pkt, 1), 0);
		assert_memory_equal(pkt->head, clean, BYTES);
	}
	fault_port_stats(port, &after);
	assert_memory_equal(&before, &after, sizeof before);
	port->ops->free(port, &pkt, 1);
}

/* Sends `SENT` packets from the wire side and receives them in bursts of `burst`. */
static struct outcome run_rx(struct weft_fault_conf conf, uint16_t burst)
{
	struct outcome o = {0};

	start(&conf);
	for (uint32_t i = 0; i < SENT; i++) {
		struct weft_pkt *pkts[8];
		uint16_t n;
		assert_true(sim_port_deliver(nic, make_pkt(i), 0));
		while ((n = port->ops->rx(port, pkts, burst)))
			for (uint16_t k = 0; k < n; k++) {
				note(&o, pkts[k]);
				port->ops->free(port, &pkts[k], 1);
			}
	}
	fault_port_stats(port, &o.stats);
	return o;
}

static void fault_rx__left_alone(void **state)
{
	struct outcome o = run_rx(everything(1), 8);

	assert_int_equal(o.received, SENT);
	assert_int_equal(o.twice + o.overtaken + o.flipped_bits, 0);
}

static void fault_rx__everything(void **state)
{
	struct weft_fault_conf conf = everything(1);

	conf.rx = 1;
	struct outcome o = run_rx(conf, 8);
	assert_share(o.stats.lost, 10000);
	assert_share(o.stats.duplicated, 10000);
	assert_share(o.stats.reordered, 10000);
	assert_share(o.stats.corrupted, 10000);
	assert_in_range(o.received, SENT - o.stats.lost + o.stats.duplicated - 6,
			SENT - o.stats.lost + o.stats.duplicated);
}

static void fault_rx__one_at_a_time(void **state)
{
	struct outcome o = run_rx((struct weft_fault_conf){.seed = 1, .rx = 1, .loss_ppm = 10000, .dup_ppm = 10000}, 1);

	assert_share(o.stats.lost, 10000);
	assert_int_equal(o.stats.duplicated, 0); /* no room for a second one */
	assert_int_equal(o.received, SENT - o.stats.lost);
}

static void fault_params__describe_the_struct(void **state)
{
	struct weft_fault_conf c;

	weft_param_defaults(weft_fault_params, &c);
	assert_int_equal(c.seed, 1);
	assert_int_equal(c.loss_ppm, 0);
	assert_int_equal(c.reorder_pkts, 4);
	assert_int_equal(c.rx, 0);
	assert_int_equal(weft_param_set(weft_fault_params, &c, "fault_loss_ppm", "10000", NULL), 0);
	assert_int_equal(weft_param_set(weft_fault_params, &c, "fault_rx", "on", NULL), 0);
	assert_int_equal(weft_param_set(weft_fault_params, &c, "fault_blackhole", "1", NULL), 0);
	assert_int_equal(c.loss_ppm, 10000);
	assert_int_equal(c.rx, 1);
	assert_int_equal(c.blackhole, 1);
	assert_int_not_equal(weft_param_set(weft_fault_params, &c, "fault_dup_ppm", "1000001", NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(fault_tx__passes_unharmed),
		TEST(fault_tx__loss),
		TEST(fault_tx__duplication),
		TEST(fault_tx__reordering),
		TEST(fault_tx__reordering_distance),
		TEST(fault_tx__held_without_followers),
		TEST(fault_tx__corruption),
		TEST(fault_tx__blackhole),
		TEST(fault_tx__mtu),
		TEST(fault_tx__mtu_falls),
		TEST(fault_tx__repeats_exactly),
		TEST(fault_tx__full_ring),
		TEST(fault_rx__left_alone),
		TEST(fault_rx__everything),
		TEST(fault_rx__one_at_a_time),
		TEST(fault_params__describe_the_struct),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
