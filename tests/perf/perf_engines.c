/* SPDX-License-Identifier: BSD-3-Clause */
/* What a second engine on a device is worth. Two devices of rings, each named twice, make two pairs of domains, one
 * thread on a core of its own for each pair: what two threads carry, over what one carries alone, in one run. Crossed,
 * all packets come to the other engine's queue and are handed over. */
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <rdma/fi_tagged.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "fi_side.h"
#include "weft/ethdev.h"

enum { PAIRS = 2, ENTRIES = 4096, WINDOW = 16, BATCHES = 5, NAME_MAX_BYTES = 256, TURNS_PER_LOOK = 256, TAG = 7 };

struct side {
	struct fi_side fi;
	fi_addr_t peer;
};

struct pair {
	struct side to, from;
	size_t bytes;
	unsigned cpu;
	uint8_t *out, *in;
	uint64_t received;
	double mbs;
};

static double seconds = 1;
static atomic_uint waiting; /* threads that are not ready */

static struct rte_ring *ring_make(unsigned i)
{
	char name[16];
	snprintf(name, sizeof name, "wire%u", i);
	struct rte_ring *r = rte_ring_create(name, ENTRIES, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (r == NULL)
		fail("rte_ring_create", 0);
	return r;
}

static void devices_make(bool crossed)
{
	struct weft_err err;
	struct rte_ring *east[PAIRS], *west[PAIRS], *to_east[PAIRS], *to_west[PAIRS];
	if (weft_eal_start(NULL, &err) != 0)
		fail(err.msg, 0);
	for (unsigned i = 0; i < PAIRS; i++) {
		east[i] = ring_make(2 * i);
		west[i] = ring_make(2 * i + 1);
	}
	for (unsigned i = 0; i < PAIRS; i++) {
		to_east[i] = east[crossed ? PAIRS - 1 - i : i];
		to_west[i] = west[crossed ? PAIRS - 1 - i : i];
	}
	if (rte_eth_from_rings("east", east, PAIRS, to_west, PAIRS, 0) < 0 ||
	    rte_eth_from_rings("west", west, PAIRS, to_east, PAIRS, 0) < 0)
		fail("rte_eth_from_rings", 0);
	setenv("FI_PROVIDER", "weft", 1);
	setenv("FI_WEFT_DEVICE", "net_ring_east;net_ring_east;net_ring_west;net_ring_west", 1);
	setenv("FI_WEFT_ADDR", "10.0.0.1;10.0.0.2;10.0.0.3;10.0.0.4", 1);
	setenv("FI_WEFT_LINGER_MS", "0", 1);
}

static void side_open(struct side *s, const char *device, unsigned engine)
{
	struct fi_info *hints = fi_allocinfo();
	char name[NAME_MAX_BYTES];
	snprintf(name, sizeof name, engine > 0 ? "%s#%u" : "%s", device, engine);
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_TAGGED;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->name = strdup(name);
	check("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &s->fi.info));
	fi_freeinfo(hints);
	fi_side_open(&s->fi, 4 * WINDOW);
}

static void side_meet(struct side *s, const struct side *other)
{
	char name[NAME_MAX_BYTES];
	size_t len = sizeof name;
	check("fi_getname", fi_getname(&other->fi.ep->fid, name, &len));
	if (fi_av_insert(s->fi.av, name, 1, &s->peer, 0, NULL) != 1)
		fail("fi_av_insert", 0);
}

static unsigned cq_drain(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entries[WINDOW];
	ssize_t n = fi_cq_read(cq, entries, WINDOW);
	if (n == -FI_EAGAIN)
		return 0;
	check("fi_cq_read", n);
	return (unsigned)n;
}

static void recv_post(struct pair *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		check("fi_trecv", fi_trecv(p->to.fi.ep, p->in, p->bytes, NULL, FI_ADDR_UNSPEC, TAG, 0, NULL));
}

/* Sends that may be posted now, in addition. */
static unsigned take(struct pair *p)
{
	unsigned got = cq_drain(p->to.fi.cq);
	p->received += got;
	recv_post(p, got);
	return cq_drain(p->from.fi.cq);
}

static unsigned send_most(struct pair *p, unsigned window)
{
	while (window > 0 && fi_tsend(p->from.fi.ep, p->out, p->bytes, NULL, p->from.peer, TAG, NULL) == 0)
		window--;
	return window;
}

static void *pair_run(void *arg)
{
	struct pair *p = arg;
	unsigned window = WINDOW;
	bool over = false;
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(p->cpu, &cpus);
	pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus); /* a preference */
	atomic_fetch_sub(&waiting, 1);
	while (atomic_load(&waiting) > 0)
		sched_yield();
	uint64_t before = p->received;
	double start = now_s();
	for (unsigned turns = 1; !over; turns++) {
		window = send_most(p, window) + take(p);
		over = turns % TURNS_PER_LOOK == 0 && now_s() - start > seconds / BATCHES;
	}
	p->mbs = (double)(p->received - before) * (double)p->bytes * 1e-6 / (now_s() - start);
	while (window < WINDOW) /* the next run starts from nothing */
		window += take(p);
	return NULL;
}

static double run(struct pair *pairs, unsigned count)
{
	pthread_t threads[PAIRS];
	double sum = 0;
	atomic_store(&waiting, count);
	for (unsigned i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, pair_run, &pairs[i]) != 0)
			fail("pthread_create", 0);
	for (unsigned i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		sum += pairs[i].mbs;
	}
	return sum;
}

static void measure(struct pair *pairs, const char *way)
{
	double one = 0, two = 0;
	for (unsigned i = 0; i < BATCHES; i++) {
		double a = run(pairs, 1), b = run(pairs, PAIRS);
		one = a > one ? a : one;
		two = b > two ? b : two;
	}
	printf("engines_%s %zu bytes: one %.1f MB/s, two %.1f MB/s, ratio %.2f\n", way, pairs[0].bytes, one, two,
	       two / one);
}

static void pair_open(struct pair *p, unsigned i, size_t bytes)
{
	*p = (struct pair){.bytes = bytes, .cpu = i, .out = calloc(1, bytes), .in = calloc(1, bytes)};
	if (p->out == NULL || p->in == NULL)
		fail("memory", -FI_ENOMEM);
	side_open(&p->from, "net_ring_east", i);
	side_open(&p->to, "net_ring_west", i);
	side_meet(&p->from, &p->to);
	side_meet(&p->to, &p->from);
	recv_post(p, 2 * WINDOW);
}

static void pair_close(struct pair *p)
{
	fi_side_close(&p->from.fi);
	fi_side_close(&p->to.fi);
	free(p->out);
	free(p->in);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"crossed", no_argument, NULL, 'c'},
						{"bytes", required_argument, NULL, 'b'},
						{"seconds", required_argument, NULL, 's'},
						{NULL, 0, NULL, 0}};
	static struct pair pairs[PAIRS];
	bool crossed = false;
	size_t bytes = 65536;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == '?')
			return 2;
		crossed |= c == 'c';
		bytes = c == 'b' ? strtoul(optarg, NULL, 0) : bytes;
		seconds = c == 's' ? strtod(optarg, NULL) : seconds;
	}
	devices_make(crossed);
	for (unsigned i = 0; i < PAIRS; i++)
		pair_open(&pairs[i], i, bytes);
	measure(pairs, crossed ? "crossed" : "straight");
	for (unsigned i = 0; i < PAIRS; i++)
		pair_close(&pairs[i]);
	return 0;
}
