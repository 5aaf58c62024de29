/* SPDX-License-Identifier: BSD-3-Clause */
/* All nodes and the fabric in one process: one thread runs the switches, one or more drive the nodes, and ring pairs
 * join them. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "rtnet.h"
#include "weft/ethdev.h"

enum { RING_PKTS = 1024, NAME_ROOM = 64 };

#define POOL_PKTS "2047"
#define START_NS  WEFT_MS(2) /* from the start of the threads to the start of the first flow */

struct local;

/* A thread that drives nodes; the first one is the caller's. */
struct local_thread {
	struct local *local;
	struct bench_driver driver;
	pthread_t id;
	bool started;
};

struct local {
	struct options *o;
	uint32_t node_count, nodes_open;
	uint32_t thread_count;
	uint32_t port_count;
	struct weft_port **ports; /* the switches' ends of the ring pairs, by node */
	struct rtnet *net;
	struct bench_node *nodes;
	struct local_thread *threads;
	pthread_t switch_thread;
	bool switch_started;
	atomic_bool stop; /* for the switch thread */
	atomic_uint busy; /* drivers whose flows are not over */
	weft_ns deadline; /* of bench_now() */
};

/* ---- fabric ---- */

static int ports_make(struct local *l, struct weft_err *err)
{
	for (; l->port_count < l->node_count; l->port_count++) {
		char name[NAME_ROOM];
		snprintf(name, sizeof name, "weft_ring%u", l->port_count);
		int rc = weft_ethdev_ring_pair(name, RING_PKTS, &l->ports[l->port_count], err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Never sleeps, as rtnet_run would: the clock of the links runs on. */
static void *switch_main(void *arg)
{
	struct local *l = arg;
	while (!atomic_load_explicit(&l->stop, memory_order_relaxed)) {
		weft_ns now = weft_clock_ns();
		if (rtnet_poll(l->net, now) != now)
			sched_yield();
	}
	return NULL;
}

static int switch_start(struct local *l, struct weft_err *err)
{
	int rc = ports_make(l, err);
	struct rtnet_conf conf = {.topo = &l->o->lab.topo, .ports = l->ports, .port_count = l->port_count};
	lab_net_conf(&l->o->lab, &conf.net);
	if (!rc)
		rc = rtnet_create(&conf, weft_clock_ns(), &l->net, err);
	if (rc)
		return rc;
	rc = -pthread_create(&l->switch_thread, NULL, switch_main, l);
	if (rc)
		return weft_err_set(err, rc, "cannot start the switch thread: %s", strerror(-rc));
	l->switch_started = true;
	return 0;
}

static void switch_stop(struct local *l, struct bench_outcome *out)
{
	if (!l->switch_started)
		return;
	atomic_store(&l->stop, true);
	pthread_join(l->switch_thread, NULL);
	weft_net_get_stats(rtnet_net(l->net), &out->net);
}

/* ---- nodes ---- */

/* Lists of the form text;text;... for the provider's environment. */
static int env_set(const struct local *l, struct weft_err *err)
{
	char *devices = calloc(l->node_count, NAME_ROOM), *addrs = calloc(l->node_count, NAME_ROOM);
	size_t size = (size_t)l->node_count * NAME_ROOM, dev_len = 0, addr_len = 0;
	for (uint32_t i = 0; devices && addrs && i < l->node_count; i++) {
		char host[BENCH_NAME_MAX];
		bench_rank_host(i, host);
		const char *sep = i ? ";" : "";
		dev_len += (size_t)snprintf(devices + dev_len, size - dev_len, "%sweft_ring%u", sep, i);
		addr_len += (size_t)snprintf(addrs + addr_len, size - addr_len, "%s%s", sep, host);
	}
	int rc = devices && addrs ? bench_env_set(l->o, devices, addrs, err)
				  : weft_err_set(err, -ENOMEM, "no memory for %u nodes", l->node_count);
	/* Small pools stay in the cache. Nodes close one after the other on one thread, so none can wait for peers. */
	if (!rc && (setenv("FI_WEFT_POOL_PKTS", POOL_PKTS, 0) || setenv("FI_WEFT_LINGER_MS", "0", 1)))
		rc = weft_err_set(err, -errno, "cannot set the provider's environment");
	free(devices);
	free(addrs);
	return rc;
}

static int nodes_connect(struct local *l, struct weft_err *err)
{
	uint8_t *names = calloc(l->node_count, BENCH_NAME_MAX);
	int rc = names ? 0 : weft_err_set(err, -ENOMEM, "no memory for %u names", l->node_count);
	for (uint32_t i = 0; !rc && i < l->node_count; i++)
		rc = bench_node_name(&l->nodes[i], names + (size_t)i * BENCH_NAME_MAX, err);
	for (uint32_t i = 0; !rc && i < l->node_count; i++)
		rc = bench_node_connect(&l->nodes[i], names, err);
	free(names);
	return rc;
}

static int nodes_open(struct local *l, struct weft_err *err)
{
	int rc = env_set(l, err);
	for (; !rc && l->nodes_open < l->node_count; l->nodes_open++) {
		char host[BENCH_NAME_MAX];
		struct bench_node_conf conf = {
			.provider = "weft", .host = host, .rank = l->nodes_open, .ranks = l->node_count};
		bench_rank_host(conf.rank, host);
		rc = bench_node_open(&l->nodes[l->nodes_open], &conf, err);
		if (rc)
			return rc;
	}
	return rc ? rc : nodes_connect(l, err);
}

static void nodes_close(struct local *l, struct bench_outcome *out)
{
	for (uint32_t i = 0; i < l->nodes_open; i++) {
		struct weft_stats stats;
		bench_node_stats(&l->nodes[i], &stats);
		weft_stats_add(&out->stats, &stats);
		bench_node_close(&l->nodes[i]);
	}
}

/* ---- threads ---- */

/* A driver that is done goes on polling while others run: their last packets may need to be answered again. */
static void *thread_main(void *arg)
{
	struct local_thread *t = arg;
	bench_drive(&t->driver, t->local->deadline);
	atomic_fetch_sub(&t->local->busy, 1);
	while (atomic_load(&t->local->busy) && bench_now() < t->local->deadline)
		bench_driver_poll(&t->driver);
	return NULL;
}

/* Cuts the nodes into ranges of nearly the same size. */
static int drivers_make(struct local *l, struct bench_run *run, struct weft_err *err)
{
	int rc = bench_run_init(run, &l->o->lab.workload, 0, l->node_count, err);
	for (uint32_t i = 0; !rc && i < l->thread_count; i++) {
		uint32_t first = l->node_count * i / l->thread_count, end = l->node_count * (i + 1) / l->thread_count;
		l->threads[i].local = l;
		rc = bench_driver_init(&l->threads[i].driver, run, &l->nodes[first], first, end - first, err);
	}
	return rc;
}

static int drive_all(struct local *l, struct bench_outcome *out, struct weft_err *err)
{
	int rc = 0;
	out->t0 = bench_now() + START_NS;
	l->deadline = out->t0 + l->o->lab.end_ns;
	atomic_store(&l->busy, l->thread_count);
	for (uint32_t i = 0; i < l->thread_count; i++)
		bench_driver_start(&l->threads[i].driver, out->t0);
	for (uint32_t i = 1; !rc && i < l->thread_count; i++) {
		rc = -pthread_create(&l->threads[i].id, NULL, thread_main, &l->threads[i]);
		l->threads[i].started = !rc;
	}
	if (rc)
		l->deadline = 0;
	else
		thread_main(&l->threads[0]);
	for (uint32_t i = 1; i < l->thread_count; i++)
		if (l->threads[i].started)
			pthread_join(l->threads[i].id, NULL);
	return rc ? weft_err_set(err, rc, "cannot start a thread: %s", strerror(-rc)) : 0;
}

static int run_all(struct local *l, struct bench_outcome *out, struct weft_err *err)
{
	int rc = switch_start(l, err);
	if (!rc)
		rc = nodes_open(l, err);
	if (!rc)
		rc = drivers_make(l, &out->run, err);
	if (!rc)
		rc = drive_all(l, out, err);
	if (!rc)
		bench_run_verify(&out->run);
	out->report = true;
	out->one_clock = true;
	return rc;
}

static void local_close(struct local *l, struct bench_outcome *out)
{
	nodes_close(l, out);
	switch_stop(l, out);
	for (uint32_t i = 0; l->threads && i < l->thread_count; i++)
		bench_driver_free(&l->threads[i].driver);
	if (l->net)
		rtnet_destroy(l->net);
	for (uint32_t i = 0; i < l->port_count; i++)
		l->ports[i]->ops->close(l->ports[i]);
	free(l->threads);
	free(l->nodes);
	free(l->ports);
}

int bench_local(struct options *o, const struct bench_opts *b, struct bench_outcome *out, struct weft_err *err)
{
	struct local l = {.o = o, .node_count = o->lab.workload.nodes, .thread_count = b->threads};
	l.ports = calloc(l.node_count, sizeof(struct weft_port *));
	l.nodes = calloc(l.node_count, sizeof *l.nodes);
	l.threads = calloc(l.thread_count, sizeof *l.threads);
	int rc = l.ports && l.nodes && l.threads ? run_all(&l, out, err)
						 : weft_err_set(err, -ENOMEM, "no memory for %u nodes", l.node_count);
	local_close(&l, out);
	return rc;
}
