/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft bench`: a matrix through libfabric and the provider, in real time. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "ideal.h"

#define SOFTWARE_NS WEFT_US(100) /* what polling by turns adds to a round trip */
#define LOCAL_BPS   UINT64_C(250000000)
#define RANK_BPS    UINT64_C(100000000000)

enum { STAR_HOSTS = 16, NAME_ROOM = 32 };

static const char about[] =
	"Runs a connection matrix through libfabric and the provider `weft`, in real time, and verifies every byte.\n"
	"With --local all nodes and the switches of the topology run in this process. Otherwise each process is one\n"
	"node: under mpirun or srun, or with --rank and --size, all of them connected to a running `weft switch`.\n"
	"Defaults: --topology leafspine:4:4:4 with --local, star:16 without; --end 60s.";

static int opt_of_sim(void *field, const char *value, struct weft_err *err)
{
	return weft_err_set(err, -EINVAL, "only weft sim has that");
}

static const struct opt_desc bench_options[] = {
	{"local", NULL, "all nodes and the fabric in this process", opt_flag, offsetof(struct bench_opts, local)},
	{"threads", "N", "threads that drive the nodes, with --local; default 1", opt_u32,
	 offsetof(struct bench_opts, threads)},
	{"device", "DEVARGS", "DPDK port of this process's node; %r is the rank", opt_string,
	 offsetof(struct bench_opts, device)},
	{"link-gbps", "N", "real rate of every link; default 100, with --local 0.25, and latencies grow as rates fall",
	 opt_gbps, offsetof(struct bench_opts, link_bps)},
	{"rank", "N", "of this process, when no launcher gives it", opt_u32, offsetof(struct bench_opts, rank)},
	{"size", "N", "number of processes, when no launcher gives it", opt_u32, offsetof(struct bench_opts, size)},
	{"background", "VALUE", NULL, opt_of_sim, 0},
	{"background-lb", "VALUE", NULL, opt_of_sim, 0},
	{"fault", "VALUE", NULL, opt_of_sim, 0},
	{"reconverge", "VALUE", NULL, opt_of_sim, 0},
	{"out", "VALUE", NULL, opt_of_sim, 0},
	{"series", "VALUE", NULL, opt_of_sim, 0},
	{"series-ports", "VALUE", NULL, opt_of_sim, 0},
	{"pcap", "VALUE", NULL, opt_of_sim, 0},
	{"pcap-port", "VALUE", NULL, opt_of_sim, 0},
	{NULL, NULL, NULL, NULL, 0},
};

/* ---- arithmetic ---- */

/* The topology in slow motion: latencies grow as rates fall, so a link holds as many bytes as at full rate. */
static void stretch(struct weft_topo *topo, uint64_t bps)
{
	double times = (double)topo->tier[0].down_bps / (double)bps;
	for (uint32_t t = 0; t < topo->tiers; t++) {
		struct weft_topo_tier *tier = &topo->tier[t];
		tier->down_bps = (uint64_t)((double)tier->down_bps / times);
		tier->down_latency_ns = (weft_ns)((double)tier->down_latency_ns * times);
		tier->switch_latency_ns = (weft_ns)((double)tier->switch_latency_ns * times);
	}
	for (uint32_t i = 0; i < topo->link_count; i++)
		topo->link[i].bps = (uint64_t)((double)topo->link[i].bps / times);
}

static void free_nothing(void *arg, struct weft_pkt *pkt)
{
	(void)arg;
	(void)pkt;
}

/* Base RTT and least time, from a fabric nobody sends through. Engines are told the base RTT where it is known; between
 * processes they probe it, and what the scheduler adds shows. */
static int arithmetic(struct options *o, const struct bench_opts *b, weft_ps *ideal, struct weft_err *err)
{
	struct weft_net_conf conf;
	struct weft_net *net;
	lab_net_conf(&o->lab, &conf);
	conf.free_pkt = free_nothing;
	int rc = weft_net_create(&conf, &o->lab.topo, 0, &net, err);
	if (rc)
		return rc;
	*ideal = ideal_ps(&o->lab, net, NULL);
	weft_ns brtt_ns = weft_net_brtt_ns(net) + SOFTWARE_NS;
	weft_net_destroy(net);
	if (!o->lab.engine.link_bps)
		o->lab.engine.link_bps = b->link_bps;
	if (!o->lab.engine.brtt_floor_ns)
		o->lab.engine.brtt_floor_ns = brtt_ns;
	if (!o->lab.engine.brtt_ns && b->local)
		o->lab.engine.brtt_ns = brtt_ns;
	return 0;
}

/* Flows start as much later as the links are slower, so that the load of the links is what the workload says. */
static void stretch_starts(struct options *o, uint64_t bps)
{
	double times = (double)o->lab.topo.tier[0].down_bps / (double)bps;
	for (uint32_t i = 0; i < o->lab.workload.flow_count; i++) {
		struct weft_flow *f = &o->lab.workload.flows[i];
		if (f->start_ns != WEFT_NEVER)
			f->start_ns = (weft_ns)((double)f->start_ns * times);
	}
}

static int set_links(struct options *o, const struct bench_opts *b, weft_ps *ideal, struct weft_err *err)
{
	stretch_starts(o, b->link_bps);
	if (b->local)
		stretch(&o->lab.topo, b->link_bps);
	else
		weft_topo_set_bps(&o->lab.topo, b->link_bps);
	return arithmetic(o, b, ideal, err);
}

/* ---- command ---- */

static int set_default(struct options *o, const char *name, const char *value, struct weft_err *err)
{
	return options_is_given(o, name) ? 0 : options_set(o, NULL, NULL, name, value, err);
}

/* What was not given. Locally: the usual leaf-spine, at what two shared cores carry with room to spare. Between
 * processes: what `weft switch` does when it is told nothing, with as many hosts as there are ranks, if that is known.
 * The options keep `star`. */
static int set_defaults(struct options *o, struct bench_opts *b, uint32_t ranks, char star[NAME_ROOM],
			struct weft_err *err)
{
	snprintf(star, NAME_ROOM, "star:%u", ranks ? ranks : STAR_HOSTS);
	if (!b->link_bps)
		b->link_bps = b->local ? LOCAL_BPS : RANK_BPS;
	int rc = set_default(o, "topology", b->local ? "leafspine:4:4:4" : star, err);
	return rc ? rc : set_default(o, "end", "60s", err);
}

static int check(const struct options *o, const struct bench_opts *b, const struct bench_job *job, struct weft_err *err)
{
	if (o->lab.faulty)
		return weft_err_set(err, -EINVAL, "--set: only weft sim has fault parameters");
	if (b->local && (b->threads < 1 || b->threads > o->lab.workload.nodes))
		return weft_err_set(err, -EINVAL, "--threads %u: 1 to %u, one node each at most", b->threads,
				    o->lab.workload.nodes);
	if (b->local || job->pmix)
		return 0;
	if (!b->size)
		return weft_err_set(err, -EINVAL,
				    "neither --local, nor a launcher (mpirun, srun), nor --rank and --size");
	if (b->rank >= b->size)
		return weft_err_set(err, -EINVAL, "--rank %u is not below --size %u", b->rank, b->size);
	return 0;
}

static int run(struct options *o, const struct bench_opts *b, const struct bench_job *job, struct weft_err *err)
{
	struct bench_outcome out = {0};
	int rc = set_links(o, b, &out.ideal, err);
	if (!rc)
		rc = b->local ? bench_local(o, b, &out, err) : bench_rank(o, b, job, &out, err);
	if (!rc && out.report) {
		uint32_t bad = bench_report_failed(&out);
		rc = bench_report(o, &out, err);
		if (!rc && bad)
			rc = weft_err_set(err, -EIO, "%u of %u flows failed", bad, out.run.work->flow_count);
	}
	bench_run_free(&out.run);
	return rc;
}

static int complain(const struct weft_err *err, int status)
{
	fprintf(stderr, "weft bench: %s\n", err->msg);
	return status;
}

/* Resolves what was read, and runs as one rank of `job`, or locally. Returns the exit code; `o` is free then. */
static int command(struct options *o, struct bench_opts *b, struct bench_job *job)
{
	struct weft_err err = {""};
	char star[NAME_ROOM];
	int status = 1;
	int rc = set_defaults(o, b, job->pmix ? job->size : b->size, star, &err);
	if (!rc && !options_main_resolve(o, "bench", &status))
		return status;
	if (!job->pmix)
		*job = (struct bench_job){.rank = b->rank, .size = b->size};
	status = rc || check(o, b, job, &err) ? 2 : run(o, b, job, &err) ? 1 : 0;
	options_free(o);
	return status ? complain(&err, status) : 0;
}

int weft_cmd_bench(int argc, char **argv)
{
	struct options o = {0};
	struct bench_opts b = {.threads = 1, .device = "net_virtio_user0,path=/tmp/weft%r"};
	struct bench_job job = {0};
	struct weft_err err = {""};
	int status;
	if (!options_main_read(&o, argc, argv, bench_options, &b, about, &status))
		return status;
	if (!b.local && bench_job_launched() && bench_job_join(&job, &err)) {
		options_free(&o);
		return complain(&err, 1);
	}
	status = command(&o, &b, &job);
	bench_job_leave(&job);
	return status;
}
