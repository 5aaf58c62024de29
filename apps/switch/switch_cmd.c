/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft switch`: the lab's fabric between DPDK ports, in real time. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "options.h"
#include "plural.h"
#include "rtnet.h"
#include "supervisor.h"
#include "switch_port.h"
#include "switch_report.h"
#include "switch_telemetry.h"
#include "weft/ethdev.h"

enum {
	LINK_BPS_DEFAULT_GBPS = 10,
	STAR_BPS_DEFAULT_GBPS = 100,
	SHM_BPS_DEFAULT_GBPS = 400, /* a link at 100 would be slower than memory is, which nobody else copies */
	STAR_BRTT_US = 200,         /* of processes that share processors: software takes much longer than cables */
	POOL_PKTS = 4095,
	SETTINGS_MAX = 32, /* of the route's parameters */
};

struct switch_opts {
	const char *topology; /* NULL: one switch with all ports */
	const char *user;     /* to become when the ports are open; NULL: nobody else */
	const char *as;       /* the one switch of it to be; NULL: all */
	uint64_t link_bps, seed;
	uint32_t mtu_bytes; /* largest IP packet; 0: 9000 or what the devices can */
	uint32_t stats_s;   /* 0: only at the end */
	const struct weft_route_ops *route;
	void *route_tune; /* its parameters; owned */
	struct weft_net_tune fabric;
	struct lab_tune lab;                /* taken as weft sim takes them, and without effect here */
	const char *settings[SETTINGS_MAX]; /* KEY=VALUE that are not the fabric's */
	uint32_t setting_count;
	struct switch_ports ports;
};

struct switch_run {
	const struct switch_opts *opts;
	struct rtnet *rtnet;
	struct switch_telemetry telemetry;
	struct supervisor supervisor;
	weft_ns printed_ns; /* counters, last */
	struct switch_heard {
		struct rtnet *rtnet;
		uint32_t port;
	} heard[SWITCH_PORTS_MAX];
};

static atomic_bool stop;

/* Options that act on the whole of struct switch_opts rather than on one field. */
static int set_param(const struct weft_param *params, void *base, const char *text, struct weft_err *err)
{
	char key[64];
	const char *eq = strchr(text, '=');
	if (eq == NULL || (size_t)(eq - text) >= sizeof key)
		return weft_err_set(err, -EINVAL, "'%.80s' is not KEY=VALUE", text);
	memcpy(key, text, (size_t)(eq - text));
	key[eq - text] = '\0';
	return weft_param_set(params, base, key, eq + 1, err);
}

/* What the fabric does not know may be the route's, which need not be named yet. */
static int opt_set(void *base, const char *text, struct weft_err *err)
{
	struct switch_opts *o = base;
	int rc = set_param(weft_net_tunes, &o->fabric, text, err);
	if (rc == -ENOENT)
		rc = set_param(lab_tunes, &o->lab, text, err);
	if (rc != -ENOENT || o->setting_count == SETTINGS_MAX)
		return rc;
	o->settings[o->setting_count++] = text;
	return 0;
}

static int resolve_route(struct switch_opts *o, struct weft_err *err)
{
	int rc = 0;
	if (o->route == NULL)
		o->route = weft_route_table[0];
	o->route_tune = calloc(1, o->route->tune_size + 1);
	if (o->route_tune == NULL)
		return weft_err_set(err, -ENOMEM, "no memory");
	weft_param_defaults(o->route->tunes, o->route_tune);
	for (uint32_t i = 0; i < o->setting_count && rc == 0; i++) {
		rc = set_param(o->route->tunes, o->route_tune, o->settings[i], err);
		if (rc == -ENOENT)
			weft_err_set(err, rc, "--set %.80s: no parameter of the fabric or of route %s", o->settings[i],
				     o->route->name);
	}
	return rc;
}

static int opt_queue(void *o, const char *value, struct weft_err *err)
{
	return weft_param_set(weft_net_tunes, &((struct switch_opts *)o)->fabric, "queue_bytes", value, err);
}

static int opt_credit_queue(void *o, const char *value, struct weft_err *err)
{
	return weft_param_set(weft_net_tunes, &((struct switch_opts *)o)->fabric, "credit_queue", value, err);
}

static int opt_no_trim(void *o, const char *value, struct weft_err *err)
{
	bool on = false;
	int rc = opt_flag(&on, value, err);
	if (on)
		((struct switch_opts *)o)->fabric.trim = WEFT_TRIM_OFF;
	return rc;
}

static int opt_port(void *o, const char *value, struct weft_err *err)
{
	return switch_ports_add(&((struct switch_opts *)o)->ports, value, err);
}

static int opt_memif(void *o, const char *value, struct weft_err *err)
{
	return switch_ports_add_memif(&((struct switch_opts *)o)->ports, value, err);
}

static int opt_vhost(void *o, const char *value, struct weft_err *err)
{
	return switch_ports_add_vhost(&((struct switch_opts *)o)->ports, value, err);
}

static int opt_shm(void *o, const char *value, struct weft_err *err)
{
	return switch_ports_add_shm(&((struct switch_opts *)o)->ports, value, err);
}

static int opt_route(void *o, const char *value, struct weft_err *err)
{
	return weft_route_find(value, &((struct switch_opts *)o)->route, err);
}

#define FIELD(name) offsetof(struct switch_opts, name)
#define BELOW       "\n                               " /* a further line of --help */

static const struct opt_desc switch_options[] = {
	{"vhost", "PREFIX:N",
	 "N ports, vhost-user servers on the sockets PREFIX0, PREFIX1, ...;" BELOW
	 "hosts use net_virtio_user0,path=PREFIX0 and so on",
	 opt_vhost, 0},
	{"shm", "PREFIX:N",
	 "N ports for processes that trust each other, on the sockets PREFIX0, PREFIX1, ...;" BELOW
	 "they share the packets' memory with the switch, which copies nothing:" BELOW
	 "hosts use shm:PREFIX0 and so on",
	 opt_shm, 0},
	{"memif", "PATH:N",
	 "N ports, memif servers with ids from 0 on one socket; hosts use" BELOW
	 "net_memif0,role=client,socket=PATH,socket-abstract=no,id=0 and so on;" BELOW
	 "DPDK's driver may crash the switch when a client leaves: prefer --vhost",
	 opt_memif, 0},
	{"port", "DEVARGS", "one more port, any DPDK device", opt_port, 0, true},
	{"topology", "FILE|PRESET",
	 ".topo file, or a preset such as leafspine:2:2:8 (doc/guide/topologies.md);" BELOW
	 "default: one switch with all ports",
	 opt_string, FIELD(topology)},
	{"as", "SWITCH",
	 "be only this switch of the topology (leaf0, spine1, core2), its neighbours are" BELOW
	 "processes of their own; its ports are its cables, first those down",
	 opt_string, FIELD(as)},
	{"link-gbps", "N",
	 "rate of every link; default: the file's, 10 for presets; without --topology 100," BELOW
	 "or 400 with ports of --shm alone",
	 opt_gbps, FIELD(link_bps)},
	{"mtu", "BYTES", "largest IP packet, for which queues and marks are made; default 9000 or what a device can",
	 opt_u32, FIELD(mtu_bytes)},
	{"queue-bytes", "N",
	 "data queue per switch port, at least a packet of --mtu with 38 bytes of Ethernet; default: one BDP with" BELOW
	 "trimming, five without; without --topology that of a base RTT of 200 us",
	 opt_queue, 0},
	{"credit-queue", "N",
	 "credits that may wait at a port, for --cc spraypass and expresspass at the" BELOW
	 "hosts, with --route symmetric when there is more than one path; default 0:" BELOW
	 "credits are control packets",
	 opt_credit_queue, 0},
	{"dscp", "CLASS:CODE,...",
	 "the DSCPs that hosts use by FI_WEFT_DSCP: data, ordered, unscheduled, trimmed," BELOW
	 "trimmed_lasthop, credit, control; default: those of doc/reference/protocol.md",
	 switch_opt_dscp, FIELD(ports.dscp)},
	{"no-trim", NULL, "full queues drop instead of trimming", opt_no_trim, 0},
	{"set", "KEY=VALUE",
	 "a parameter of the fabric (queue_bytes, ecn_min_pct, ecn_max_pct, trim, pfc, ...) or of" BELOW
	 "the route (drill_choices, drill_memory, drill_engines, conga_flowlet_us, ...; doc/reference/parameters.md)",
	 opt_set, 0},
	{"route", "NAME", "how switches choose among equal ports: ecmp or another of doc/reference/routing.md",
	 opt_route, 0},
	{"user", "NAME",
	 "be this user once the ports are open, who owns their sockets; for a switch" BELOW
	 "that root starts, because of a NIC",
	 opt_string, FIELD(user)},
	{"seed", "N", "of ECMP salts, RED and switches' choices", opt_seed, FIELD(seed)},
	{"stats", "SECONDS", "print counters that often", opt_u32, FIELD(stats_s)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command switch_command = {
	.name = "switch",
	.args = "",
	.about = "Switches UET packets between DPDK ports in real time: link rates, queues, ECN and trimming of the "
		 "lab.\n"
		 "Port i is host i of the topology, unless with --as. Needs neither root nor hugepages. Ends with "
		 "SIGINT or SIGTERM.\n"
		 "\n"
		 "EAL starts without hardware and hugepages; WEFT_EAL_ARGS replaces its arguments, for NICs say\n"
		 "WEFT_EAL_ARGS='-l 2 -a 0000:03:00.0'.",
	.table = switch_options,
};

static int topology_resolve(struct switch_opts *o, struct weft_topo *topo, char star[24], struct weft_err *err)
{
	uint64_t gbps = LINK_BPS_DEFAULT_GBPS;
	if (o->topology == NULL) {
		snprintf(star, 24, "star:%u", o->ports.count);
		o->topology = star;
		gbps = switch_ports_share_all(&o->ports) ? SHM_BPS_DEFAULT_GBPS : STAR_BPS_DEFAULT_GBPS;
	}
	int rc = options_topology(o->topology, o->link_bps, gbps * UINT64_C(1000000000), topo, err);
	if (rc == 0 && o->as == NULL && topo->hosts < o->ports.count)
		return weft_err_set(err, -EINVAL, "%u port%s, but topology %.80s has %u host%s", o->ports.count,
				    plural_s(o->ports.count), o->topology, topo->hosts, plural_s(topo->hosts));
	return rc;
}

/* Reads --as: a tier's name and a number. */
static int part_resolve(const char *as, const struct weft_topo *topo, struct rtnet_part *part, struct weft_err *err)
{
	for (uint32_t tier = 0; tier < topo->tiers; tier++) {
		const char *name = weft_topo_tier_name(tier);
		uint64_t sw = 0;
		if (strncmp(as, name, strlen(name)) != 0 || opt_u64(&sw, as + strlen(name), NULL) != 0 ||
		    sw >= topo->tier[tier].switches)
			continue;
		*part = (struct rtnet_part){tier, (uint32_t)sw};
		return 0;
	}
	return weft_err_set(err, -EINVAL, "--as: no switch '%.40s' in the topology, which has %u lea%s and %u tier%s",
			    as, topo->tier[0].switches, topo->tier[0].switches == 1 ? "f" : "ves", topo->tiers,
			    plural_s(topo->tiers));
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

static void print_stats(const struct switch_run *run)
{
	switch_report(run->rtnet, &run->opts->ports, run->opts->as != NULL, run->opts->fabric.credit_queue != 0);
}

/* After each poll. */
static void tick(void *arg)
{
	struct switch_run *run = arg;
	weft_ns now = weft_clock_ns();
	switch_telemetry_answer(&run->telemetry);
	supervisor_is_alive(&run->supervisor, now);
	if (run->opts->stats_s == 0)
		return;
	if (now - run->printed_ns < WEFT_S(run->opts->stats_s))
		return;
	run->printed_ns = now;
	print_stats(run);
}

static void run_until_stopped(struct switch_run *run, const struct weft_topo *topo)
{
	const struct switch_opts *o = run->opts;
	for (uint32_t i = 0; i < o->ports.count; i++) {
		run->heard[i] = (struct switch_heard){run->rtnet, i};
		weft_ethdev_on_neigh(o->ports.port[i], heard, &run->heard[i]);
	}
	printf("weft switch: %u port%s ready, %s%stopology %s, %g Gb/s, route %s\n", o->ports.count,
	       plural_s(o->ports.count), o->as != NULL ? o->as : "", o->as != NULL ? " of " : "", o->topology,
	       (double)topo->tier[0].down_bps / 1e9, o->route->name);
	fflush(stdout);
	run->printed_ns = weft_clock_ns();
	run->telemetry = (struct switch_telemetry){.name = "switch", .rtnet = run->rtnet, .ports = &o->ports};
	switch_telemetry_start(&run->telemetry);
	supervisor_open(&run->supervisor);
	supervisor_tell(&run->supervisor, "READY=1");
	rtnet_run(run->rtnet, &stop, 0, tick, run);
	supervisor_tell(&run->supervisor, "STOPPING=1");
	supervisor_close(&run->supervisor);
	switch_telemetry_stop(&run->telemetry);
	print_stats(run);
}

/* On the wire, of the largest packet of any port. Packets count those bytes in 16 bits. */
static uint32_t packet_bytes(const struct switch_ports *p)
{
	uint32_t ip_bytes = 0;
	for (uint32_t i = 0; i < p->count; i++)
		if (p->port[i]->max_ip_bytes > ip_bytes)
			ip_bytes = p->port[i]->max_ip_bytes;
	return ip_bytes < UINT16_MAX - WEFT_L1_OVERHEAD_BYTES ? ip_bytes + WEFT_L1_OVERHEAD_BYTES : UINT16_MAX;
}

static int switch_main(struct switch_opts *o, struct weft_err *err)
{
	struct weft_topo topo;
	struct rtnet_part part;
	static char star[24]; /* the options point to it */
	struct switch_run run = {.opts = o};
	int rc = topology_resolve(o, &topo, star, err);
	if (rc == 0 && o->as != NULL)
		rc = part_resolve(o->as, &topo, &part, err);
	if (rc == 0)
		rc = switch_user_find(o->user, &o->ports.user, err);
	if (rc == 0)
		rc = switch_ports_open(&o->ports, o->mtu_bytes, POOL_PKTS, err);
	if (rc != 0)
		return rc;
	struct rtnet_conf conf = {
		.topo = &topo,
		.part = o->as != NULL ? &part : NULL,
		.net = {.seed = o->seed,
			.mtu_bytes = packet_bytes(&o->ports),
			.brtt_ns = o->topology == star ? WEFT_US(STAR_BRTT_US) : 0,
			.route = o->route,
			.route_tune = o->route_tune,
			.tune = o->fabric},
		.ports = o->ports.port,
		.port_count = o->ports.count,
	};
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
	uint32_t none;
	int status;

	weft_param_defaults(weft_net_tunes, &o.fabric);
	if (!opt_main(&switch_command, &o, argc, argv, &none, &status))
		return status;
	if (o.ports.count == 0) {
		fputs("weft switch: no ports: give --shm, --vhost, --memif or --port\n", stderr);
		return 2;
	}
	status = resolve_route(&o, &err) == 0 ? 0 : 2;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (status == 0 && switch_main(&o, &err) != 0)
		status = 1;
	free(o.route_tune);
	if (status != 0)
		fprintf(stderr, "weft switch: %s\n", err.msg);
	return status;
}
