/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft switch`: the lab's fabric between DPDK ports, in real time. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "options.h"
#include "rtnet.h"
#include "switch_port.h"
#include "weft/ethdev.h"

enum {
	LINK_BPS_DEFAULT_GBPS = 10,
	POOL_PKTS = 4095,
	/* Wire bytes of a full packet when none are given: 4 KiB of payload, headers, Ethernet. */
	MTU_WIRE_BYTES = 4096 + 100 + WEFT_L1_OVERHEAD_BYTES,
};

struct switch_opts {
	const char *topology; /* NULL: one switch with all ports */
	uint64_t link_bps, seed;
	uint32_t mtu_bytes; /* largest IP packet; 0: 9000 or what the devices can */
	uint32_t stats_s;   /* 0: only at the end */
	const struct weft_route_ops *route;
	struct fabric_tune fabric;
	struct switch_ports ports;
	bool help;
};

struct switch_run {
	const struct switch_opts *opts;
	struct rtnet *rtnet;
	struct switch_heard {
		struct rtnet *rtnet;
		uint32_t port;
	} heard[SWITCH_PORTS_MAX];
};

static atomic_bool stop;

static const struct option long_options[] = {
	{"topology", required_argument, NULL, 't'}, {"link-gbps", required_argument, NULL, 'l'},
	{"port", required_argument, NULL, 'p'},     {"memif", required_argument, NULL, 'm'},
	{"vhost", required_argument, NULL, 'v'},    {"mtu", required_argument, NULL, 'u'},
	{"no-trim", no_argument, NULL, 'n'},        {"queue-bytes", required_argument, NULL, 'q'},
	{"set", required_argument, NULL, 's'},      {"route", required_argument, NULL, 'R'},
	{"seed", required_argument, NULL, 'r'},     {"stats", required_argument, NULL, 'i'},
	{"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: weft switch [OPTION]...\n"
	"Switches UET packets between DPDK ports in real time: link rates, queues, ECN and trimming of the lab.\n"
	"Port i is host i of the topology. Needs neither root nor hugepages. Ends with SIGINT or SIGTERM.\n\n"
	"  --vhost PREFIX:N             N ports, vhost-user servers on the sockets PREFIX0, PREFIX1, ...;\n"
	"                               hosts use net_virtio_user0,path=PREFIX0 and so on\n"
	"  --memif PATH:N               N ports, memif servers with ids from 0 on one socket; hosts use\n"
	"                               net_memif0,role=client,socket=PATH,socket-abstract=no,id=0 and so on;\n"
	"                               DPDK's driver may crash the switch when a client leaves: prefer --vhost\n"
	"  --port DEVARGS               one more port, any DPDK device; repeatable\n"
	"  --topology FILE|PRESET       .topo file, or a preset such as leafspine:2:2:8 (doc/topologies.md);\n"
	"                               default: one switch with all ports\n"
	"  --link-gbps N                rate of every link; default: the file's, 10 for presets\n"
	"  --mtu BYTES                  largest IP packet; default 9000 or what a device can\n"
	"  --queue-bytes N              data queue per switch port; default: one BDP with trimming, five without\n"
	"  --no-trim                    full queues drop instead of trimming\n"
	"  --set KEY=VALUE              a parameter of the fabric: queue_bytes, ecn_min_pct, ecn_max_pct, trim, pfc, "
	"...\n"
	"  --route NAME                 how switches choose among equal ports: ecmp or another of doc/routing.md\n"
	"  --seed N                     of ECMP salts, RED and switches' choices\n"
	"  --stats SECONDS              print counters that often\n"
	"  --help                       this text\n\n"
	"EAL starts without hardware and hugepages; WEFT_EAL_ARGS replaces its arguments, for NICs say\n"
	"WEFT_EAL_ARGS='-l 2 -a 0000:03:00.0'.\n";

static int opt_fabric(struct switch_opts *o, const char *text, struct weft_err *err)
{
	char key[64];
	const char *eq = strchr(text, '=');
	if (eq == NULL || (size_t)(eq - text) >= sizeof key)
		return weft_err_set(err, -EINVAL, "'%.80s' is not KEY=VALUE", text);
	memcpy(key, text, (size_t)(eq - text));
	key[eq - text] = '\0';
	return weft_param_set(fabric_params, &o->fabric, key, eq + 1, err);
}

static int opt_apply(struct switch_opts *o, int opt, const char *value, struct weft_err *err)
{
	switch (opt) {
	case 't':
		o->topology = value;
		return 0;
	case 'l':
		return opt_gbps(&o->link_bps, value, err);
	case 'p':
		return switch_ports_add(&o->ports, value, err);
	case 'm':
		return switch_ports_add_memif(&o->ports, value, err);
	case 'v':
		return switch_ports_add_vhost(&o->ports, value, err);
	case 'u':
		return opt_u32(&o->mtu_bytes, value, err);
	case 'n':
		o->fabric.trim = WEFT_TRIM_OFF;
		return 0;
	case 'q':
		return weft_param_set(fabric_params, &o->fabric, "queue_bytes", value, err);
	case 's':
		return opt_fabric(o, value, err);
	case 'R':
		return weft_route_find(value, &o->route, err);
	case 'r':
		return opt_u64(&o->seed, value, err);
	case 'i':
		return opt_u32(&o->stats_s, value, err);
	default:
		o->help = true;
		return 0;
	}
}

/* The name of the option that was just parsed. */
static const char *opt_name(int opt)
{
	const struct option *o = long_options;
	while (o->name != NULL && o->val != opt)
		o++;
	return o->name;
}

static int opts_parse(struct switch_opts *o, int argc, char **argv, struct weft_err *err)
{
	int opt;
	weft_param_defaults(fabric_params, &o->fabric);
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		struct weft_err why = {""};
		if (opt == '?')
			return weft_err_set(err, -EINVAL, "unknown option '%.80s'", argv[optind - 1]);
		if (opt == ':')
			return weft_err_set(err, -EINVAL, "'%.80s' needs a value", argv[optind - 1]);
		int rc = opt_apply(o, opt, optarg, &why);
		if (rc != 0)
			return weft_err_set(err, rc, "--%s: %.200s", opt_name(opt), why.msg);
	}
	if (optind < argc)
		return weft_err_set(err, -EINVAL, "unexpected '%.80s'", argv[optind]);
	if (o->ports.count == 0 && !o->help)
		return weft_err_set(err, -EINVAL, "no ports: give --vhost, --memif or --port");
	return 0;
}

static int topology_resolve(struct switch_opts *o, struct weft_topo *topo, char star[24], struct weft_err *err)
{
	if (o->topology == NULL) {
		snprintf(star, 24, "star:%u", o->ports.count);
		o->topology = star;
	}
	int rc = options_topology(o->topology, o->link_bps, LINK_BPS_DEFAULT_GBPS * UINT64_C(1000000000), topo, err);
	if (rc == 0 && topo->hosts < o->ports.count)
		return weft_err_set(err, -EINVAL, "%u ports, but topology %.80s has %u hosts", o->ports.count,
				    o->topology, topo->hosts);
	return rc;
}

static void on_signal(int sig)
{
	atomic_store(&stop, true);
}

static void heard(void *arg, const struct weft_ip *ip)
{
	const struct switch_heard *h = arg;
	rtnet_learn(h->rtnet, h->port, ip);
}

static void print_ports(const struct switch_run *run)
{
	printf("%-5s %12s %12s %10s %10s %10s %10s  %s\n", "port", "received", "sent", "busy", "lost", "unknown",
	       "foreign", "device");
	for (uint32_t i = 0; i < run->opts->ports.count; i++) {
		struct rtnet_stats s;
		struct weft_ethdev_stats e;
		rtnet_get_stats(run->rtnet, i, &s);
		weft_ethdev_stats(run->opts->ports.port[i], &e);
		printf("%-5u %12" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64
		       "  %.*s\n",
		       i, s.rx_pkts, s.tx_pkts, s.uplink_full, s.downlink_full + e.rx_missed, s.unknown_dst,
		       s.rx_foreign + e.rx_foreign, (int)strcspn(run->opts->ports.devargs[i], ","),
		       run->opts->ports.devargs[i]);
	}
}

static void print_stats(void *arg)
{
	const struct switch_run *run = arg;
	struct weft_net_stats n;
	print_ports(run);
	weft_net_get_stats(rtnet_net(run->rtnet), &n);
	printf("fabric: %" PRIu64 " hops, %" PRIu64 " marked, %" PRIu64 " trimmed, %" PRIu64 " data and %" PRIu64
	       " control packets dropped, %" PRIu64 " lost on dead links, deepest queue %" PRIu64 " bytes\n",
	       n.hops, n.marked, n.trimmed, n.dropped_data, n.dropped_control, n.dropped_down, n.max_queue_bytes);
	fflush(stdout);
}

static void run_until_stopped(struct switch_run *run, const struct weft_topo *topo)
{
	const struct switch_opts *o = run->opts;
	for (uint32_t i = 0; i < o->ports.count; i++) {
		run->heard[i] = (struct switch_heard){run->rtnet, i};
		weft_ethdev_on_heard(o->ports.port[i], heard, &run->heard[i]);
	}
	printf("weft switch: %u ports ready, topology %s, %g Gb/s\n", o->ports.count, o->topology,
	       (double)topo->tier[0].down_bps / 1e9);
	fflush(stdout);
	rtnet_run(run->rtnet, &stop, WEFT_S(o->stats_s), o->stats_s != 0 ? print_stats : NULL, run);
	print_stats(run);
}

static int switch_main(struct switch_opts *o, struct weft_err *err)
{
	struct weft_topo topo;
	static char star[24]; /* the options point to it */
	struct switch_run run = {.opts = o};
	int rc = topology_resolve(o, &topo, star, err);
	if (rc == 0)
		rc = switch_ports_open(&o->ports, o->mtu_bytes, POOL_PKTS, err);
	if (rc != 0)
		return rc;
	struct rtnet_conf conf = {
		.topo = &topo,
		.net = {.seed = o->seed, .mtu_bytes = MTU_WIRE_BYTES, .route = o->route},
		.ports = o->ports.port,
		.port_count = o->ports.count,
	};
	options_fabric_conf(&o->fabric, &conf.net);
	rc = rtnet_create(&conf, weft_clock_ns(), &run.rtnet, err);
	if (rc == 0) {
		if (getenv("WEFT_EAL_ARGS") == NULL) /* who chooses EAL's arguments chooses the CPUs */
			weft_ethdev_bind_thread(o->ports.port[0]);
		run_until_stopped(&run, &topo);
		rtnet_destroy(run.rtnet);
	}
	switch_ports_close(&o->ports);
	return rc;
}

int weft_cmd_switch(int argc, char **argv)
{
	static struct switch_opts o = {.seed = 1};
	struct weft_err err = {""};
	struct sigaction action = {.sa_handler = on_signal};

	if (opts_parse(&o, argc, argv, &err) != 0) {
		fprintf(stderr, "weft switch: %s\n", err.msg);
		return 2;
	}
	if (o.help) {
		fputs(usage, stdout);
		return 0;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (switch_main(&o, &err) == 0)
		return 0;
	fprintf(stderr, "weft switch: %s\n", err.msg);
	return 1;
}
