/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices that are named twice: two engines each, whose packets all come to the other one's queue. */
#include "fixture.h"
#include "handover.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "weft/ethdev.h"

enum { ENGINES = 2, ENTRIES = 4096, MESSAGES = 50, BYTES_MAX = 20000 };

static struct rte_ring *rings[2][ENGINES]; /* to the east, to the west */

static int names_setup(void **state)
{
	setenv("FI_PROVIDER", "weft", 1);
	setenv("FI_WEFT_DEVICE", "net_ring_east;net_ring_east;net_ring_west;net_ring_west", 1);
	setenv("FI_WEFT_ADDR", "10.0.0.1;10.0.0.2;10.0.0.3;10.0.0.4", 1);
	setenv("FI_WEFT_LINGER_MS", "20", 1);
	return 0;
}

/* What one engine sends comes to the queue of the wrong one. */
static int devices_setup(void **state)
{
	struct weft_err err;
	if (weft_eal_start(NULL, &err))
		return -1;
	for (unsigned i = 0; i < 2 * ENGINES; i++) {
		char name[16];
		snprintf(name, sizeof name, "wire%u", i);
		rings[i / ENGINES][i % ENGINES] =
			rte_ring_create(name, ENTRIES, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (!rings[i / ENGINES][i % ENGINES])
			return -1;
	}
	struct rte_ring *to_west[ENGINES] = {rings[1][1], rings[1][0]}, *to_east[ENGINES] = {rings[0][1], rings[0][0]};
	int ids[] = {rte_eth_from_rings("east", rings[0], ENGINES, to_west, ENGINES, 0),
		     rte_eth_from_rings("west", rings[1], ENGINES, to_east, ENGINES, 0)};
	for (int i = 0; i < 2; i++)
		if (ids[i] < 0 || handover_watch((uint16_t)ids[i], ENGINES))
			return -1;
	return names_setup(state);
}

static void wires_drain(void)
{
	void *mbuf;
	for (unsigned i = 0; i < 2 * ENGINES; i++)
		while (rte_ring_dequeue(rings[i / ENGINES][i % ENGINES], &mbuf) == 0) {
			handover_taken(mbuf);
			rte_pktmbuf_free(mbuf);
		}
}

static void side_open(struct host *h, struct host *other, const char *domain)
{
	static const struct host_opts none;
	struct fi_info *hints = fixture_hints(0);
	free(hints->domain_attr->name);
	hints->domain_attr->name = strdup(domain);
	*h = (struct host){.other = other};
	host_open_domain(h, hints);
	host_open_ep(h, &none);
}

static void pair_open(struct host pair[2], const char *first, const char *second)
{
	side_open(&pair[0], &pair[1], first);
	side_open(&pair[1], &pair[0], second);
	host_meet(&pair[0]);
	host_meet(&pair[1]);
}

static void pair_close(struct host pair[2])
{
	hosts_close(pair);
	wires_drain();
}

static void exchange(struct host pair[2], uint64_t seed)
{
	static uint8_t out[BYTES_MAX], in[BYTES_MAX];
	for (int side = 0; side < 2; side++) {
		pattern_fill(out, sizeof out, seed);
		ok(fi_trecv(pair[!side].ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, seed, 0, NULL));
		ok(fi_tsend(pair[side].ep, out, sizeof out, NULL, pair[side].peer, seed, NULL));
		assert_true(next_done(&pair[!side]).flags & FI_RECV);
		assert_true(next_done(&pair[side]).flags & FI_SEND);
		assert_int_equal(pattern_check(in, sizeof in, seed), sizeof in);
	}
}

static void engines__of_a_device_are_domains(void **state)
{
	static const char *const names[] = {"net_ring_east", "net_ring_east#1", "net_ring_west", "net_ring_west#1"};
	struct fi_info *hints = fixture_hints(0), *info;
	free(hints->domain_attr->name);
	hints->domain_attr->name = NULL;
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &info));
	const struct fi_info *at = info;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++, at = at->next) {
		assert_non_null(at);
		assert_string_equal(at->domain_attr->name, names[i]);
	}
	assert_null(at);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static int refused(const char *devices, const char *addrs)
{
	struct fi_info *info = NULL;
	setenv("FI_WEFT_DEVICE", devices, 1);
	setenv("FI_WEFT_ADDR", addrs, 1);
	int ret = fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, NULL, &info);
	names_setup(NULL);
	return ret;
}

static void engines__need_addresses_of_their_own(void **state)
{
	assert_int_equal(refused("net_ring_east;net_ring_east", "10.0.0.1;10.0.0.1"), -FI_ENODATA);
	assert_int_equal(refused("net_null0,size=64;net_null0,size=65", "10.0.0.1;10.0.0.2"), -FI_ENODATA);
}

static void engines__of_one_device_reach_each_other(void **state)
{
	struct host pair[2];
	pair_open(pair, "net_ring_east", "net_ring_east#1");
	exchange(pair, 1);
	pair_close(pair);
}

/* The last to come is the first to go, and the other way round. */
static void engines__go_one_by_one(void **state)
{
	struct host first[2], second[2];
	for (uint64_t round = 0; round < 2; round++) {
		struct host *leaves = round ? first : second, *stays = round ? second : first;
		pair_open(first, "net_ring_east#1", "net_ring_west#1");
		pair_open(second, "net_ring_east", "net_ring_west");
		exchange(first, 10 + round);
		exchange(second, 20 + round);
		hosts_close(leaves);
		exchange(stays, 30 + round);
		pair_close(stays);
	}
}

/* ---- a thread for each engine ---- */

struct worker {
	struct host *host;
	uint64_t seed; /* of what it sends; its peer's is the next one or the one before */
	unsigned sent, received, wrong;
	uint8_t out[BYTES_MAX], in[BYTES_MAX];
};

static void worker_read(struct worker *w)
{
	struct fi_cq_tagged_entry e;
	ssize_t n = fi_cq_read(w->host->cq, &e, 1);
	if (n == -FI_EAGAIN) {
		sched_yield();
		return;
	}
	w->wrong += n != 1;
	if (n == 1 && e.flags & FI_SEND)
		w->sent++;
	else if (n == 1 && ++w->received)
		w->wrong += pattern_check(w->in, sizeof w->in, w->seed ^ 1) != sizeof w->in;
}

static atomic_uint workers_through;

/* Message by message in both directions; whoever is through goes on to acknowledge. Asserts are not for threads other
 * than cmocka's. */
static void *worker_run(void *arg)
{
	struct worker *w = arg;
	pattern_fill(w->out, sizeof w->out, w->seed);
	for (unsigned i = 1; i <= MESSAGES && !w->wrong; i++) {
		memset(w->in, 0, sizeof w->in);
		w->wrong += fi_trecv(w->host->ep, w->in, sizeof w->in, NULL, FI_ADDR_UNSPEC, i, 0, NULL) != 0;
		w->wrong += fi_tsend(w->host->ep, w->out, sizeof w->out, NULL, w->host->peer, i, NULL) != 0;
		while ((w->sent < i || w->received < i) && !w->wrong)
			worker_read(w);
	}
	atomic_fetch_add(&workers_through, 1);
	while (atomic_load(&workers_through) < 2 * ENGINES)
		worker_read(w);
	return NULL;
}

static void threads__drive_an_engine_each(void **state)
{
	static struct worker workers[2 * ENGINES];
	struct host pairs[ENGINES][2];
	pthread_t threads[2 * ENGINES];
	pair_open(pairs[0], "net_ring_east", "net_ring_west");
	pair_open(pairs[1], "net_ring_east#1", "net_ring_west#1");
	for (unsigned i = 0; i < 2 * ENGINES; i++) {
		workers[i] = (struct worker){.host = &pairs[i / 2][i % 2], .seed = 100 + i};
		ok(pthread_create(&threads[i], NULL, worker_run, &workers[i]));
	}
	for (unsigned i = 0; i < 2 * ENGINES; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 2 * ENGINES; i++) {
		assert_int_equal(workers[i].wrong, 0);
		assert_int_equal(workers[i].received, MESSAGES);
	}
	hosts_close(pairs[0]);
	pair_close(pairs[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines__of_a_device_are_domains),
		cmocka_unit_test(engines__need_addresses_of_their_own),
		cmocka_unit_test(engines__of_one_device_reach_each_other),
		cmocka_unit_test(engines__go_one_by_one),
		cmocka_unit_test(threads__drive_an_engine_each),
	};
	return cmocka_run_group_tests(tests, devices_setup, NULL);
}
