/* SPDX-License-Identifier: BSD-3-Clause */
/* Speed of the fabric alone: synthetic hosts keep a window of full packets in flight to the host of a random
 * permutation, on random paths, every packet is acknowledged. perf_net TOPOLOGY [VIRTUAL_US] prints packet-hops per
 * second, events per hop and memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "net.h"
#include "plain_pkt.h"
#include "rng.h"
#include "sim_port.h"
#include "workload.h"

enum { DATA_BYTES = 4260, ACK_BYTES = 110, HEAD_BYTES = 72 };

struct host {
	struct bench *bench;
	uint32_t id, peer;
	uint32_t inflight, window;
	struct weft_pkt *acks, *acks_tail; /* waiting for the uplink */
	uint64_t delivered;
};

struct bench {
	struct weft_net *net;
	struct sim_slab *slab;
	struct host *hosts;
	struct rng rng;
	uint64_t delivered;
};

static void fill(struct weft_pkt *pkt, uint32_t src, uint32_t dst, bool control, uint16_t entropy)
{
	struct plain_pkt w = {
		.net = {.src = weft_ip_v4(src),
			.dst = weft_ip_v4(dst),
			.entropy = entropy,
			.dst_port = WIRE_UDP_PORT,
			.dscp = control ? WIRE_DSCP_CONTROL : WIRE_DSCP_TRIMMABLE,
			.ecn = control ? WEFT_ECN_NOT : WEFT_ECN_ECT0},
		.pds = {.type = control ? WIRE_PDS_ACK : WIRE_PDS_RUD_REQ},
		.payload_bytes = (control ? ACK_BYTES : DATA_BYTES) - WEFT_L1_OVERHEAD_BYTES - HEAD_BYTES,
	};

	pkt->head_len = (uint16_t)plain_encode(&w, pkt->head);
	pkt->payload_len = w.payload_bytes;
	wire_peek(pkt);
}

static struct weft_pkt *host_pull(void *arg)
{
	struct host *h = arg;
	struct weft_pkt *pkt = h->acks;

	if (pkt) {
		h->acks = pkt->next;
		return pkt;
	}
	if (h->inflight == h->window || !(pkt = sim_slab_get(h->bench->slab)))
		return NULL;
	h->inflight++;
	fill(pkt, weft_net_host_ip(h->id), weft_net_host_ip(h->peer), false, (uint16_t)rng_next(&h->bench->rng));
	return pkt;
}

/* Data comes back as its own acknowledgement: the packet is used again. */
static void host_deliver(void *arg, struct weft_pkt *pkt, weft_ps now)
{
	struct host *h = arg;

	if (pkt->payload_len > ACK_BYTES || pkt->flags & WEFT_PKT_TRIMMED) {
		h->bench->delivered += !(pkt->flags & WEFT_PKT_TRIMMED);
		fill(pkt, pkt->dst, pkt->src, true, pkt->entropy);
		pkt->next = NULL;
		if (h->acks)
			h->acks_tail->next = pkt;
		else
			h->acks = pkt;
		h->acks_tail = pkt;
	} else {
		h->inflight--;
		sim_slab_put(h->bench->slab, pkt);
	}
	weft_net_kick(h->bench->net, h->id, now);
}

static void host_wake(void *arg, weft_ps now)
{
	struct host *h = arg;

	weft_net_kick(h->bench->net, h->id, now);
}

static const struct weft_nic_ops nic_ops = {host_pull, host_deliver, host_wake};

static void free_pkt(void *arg, struct weft_pkt *pkt)
{
	sim_slab_put(((struct bench *)arg)->slab, pkt);
}

static int read_topology(const char *path, struct weft_topo *topo, struct weft_err *err)
{
	static char text[1 << 16];
	FILE *f = fopen(path, "r");

	if (!f)
		return weft_topo_preset(path, UINT64_C(800000000000), topo, err);
	size_t len = fread(text, 1, sizeof text, f);
	fclose(f);
	return weft_topo_parse(text, len, path, topo, err);
}

static int start_hosts(struct bench *b, const struct weft_topo *topo)
{
	char spec[64];
	struct weft_workload w;
	uint64_t bdp_bytes = topo->tier[0].down_bps / 8 * weft_net_brtt_ns(b->net) / 1000000000;

	snprintf(spec, sizeof spec, "permutation:%u:1", topo->hosts);
	b->hosts = calloc(topo->hosts, sizeof *b->hosts);
	if (!b->hosts || weft_workload_pattern(spec, &(struct weft_workload_site){.seed = 1}, &w, NULL))
		return -1;
	for (uint32_t i = 0; i < topo->hosts; i++) {
		b->hosts[i] = (struct host){
			.bench = b, .id = i, .peer = w.flows[i].dst, .window = (uint32_t)(bdp_bytes / DATA_BYTES) + 1};
		weft_net_attach(b->net, i, &nic_ops, &b->hosts[i]);
		weft_net_wake(b->net, i, rng_below(&b->rng, 1000000));
	}
	weft_workload_free(&w);
	return 0;
}

/* Of this process: a busy machine hardly disturbs it. */
static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(const struct bench *b, double spent_s, double virtual_s, const struct weft_topo *topo)
{
	struct weft_net_stats s;
	struct rusage usage;

	weft_net_get_stats(b->net, &s);
	getrusage(RUSAGE_SELF, &usage);
	printf("hosts %u, load %.3f, %.2f s CPU: %.2f M packet-hops/s, %.2f events/hop, %.1f MiB\n", topo->hosts,
	       (double)b->delivered * DATA_BYTES * 8 / virtual_s / (double)topo->tier[0].down_bps / topo->hosts,
	       spent_s, (double)s.hops / spent_s * 1e-6, (double)s.events / (double)s.hops,
	       (double)usage.ru_maxrss / 1024);
	printf("hops %llu events %llu marked %llu trimmed %llu dropped %llu max queue %llu digest %016llx\n",
	       (unsigned long long)s.hops, (unsigned long long)s.events, (unsigned long long)s.marked,
	       (unsigned long long)s.trimmed,
	       (unsigned long long)(s.dropped_data + s.dropped_control + s.dropped_route),
	       (unsigned long long)s.max_queue_bytes, (unsigned long long)s.digest);
}

int main(int argc, char **argv)
{
	struct bench b = {.rng = {7}};
	struct weft_topo topo;
	struct weft_err err;
	struct weft_net_conf conf = {.seed = 1,
				     .mtu_bytes = DATA_BYTES,
				     .tune.ecn_min_pct = 20,
				     .tune.ecn_max_pct = 80,
				     .tune.trim = WEFT_TRIM_COIN,
				     .free_pkt = free_pkt,
				     .free_arg = &b};
	weft_ps end = UINT64_C(1000000) * (argc > 2 ? strtoul(argv[2], NULL, 10) : 50);

	b.slab = sim_slab_create(UINT32_MAX);
	if (argc < 2 || !b.slab) {
		fprintf(stderr, "perf_net TOPOLOGY [VIRTUAL_US]\n");
		return 1;
	}
	if (read_topology(argv[1], &topo, &err) || weft_net_create(&conf, &topo, 0, &b.net, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (start_hosts(&b, &topo))
		return 1;
	double start = cpu_s();
	weft_net_run(b.net, end);
	report(&b, cpu_s() - start, 1e-12 * (double)end, &topo);
	weft_net_destroy(b.net);
	sim_slab_destroy(b.slab);
	free(b.hosts);
	return 0;
}
