/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft host`: a NIC for the processes of a host, in real time. */
#include "host_cmd.h"

#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address_pool.h"
#include "door.h"
#include "opt_table.h"
#include "plural.h"
#include "rtnet.h"
#include "run_dir.h"
#include "stall_guard.h"
#include "supervisor.h"
#include "switch_port.h"
#include "switch_report.h"
#include "switch_telemetry.h"
#include "weft/ethdev.h"
#include "weft/kernel_if.h"

enum {
	PORTS_MAX = SWITCH_PORTS_MAX - 1, /* beside the uplink */
	IP_BYTES_MAX = 9000,
	UPLINK_POOL_PKTS = 8191,
	PORT_POOL_PKTS = 2047,
	PORT_POOL_BYTES = 8 << 20,
	BUFFER_PKTS = 1024,
	BRTT_US = 100, /* of processes beside each other: what queues and marks are made for */
	PATH_BYTES = 96,
};
#define RATE_BPS UINT64_C(100000000000)

struct host_opts {
	const char *uplink, *uplink_addr, *gateway, *addresses, *dir, *group, *user;
	uint64_t port_bps, uplink_bps; /* 0: not given */
	uint32_t per_user, mtu_bytes, buffer_pkts, queue_bytes, stats_s;
	struct weft_dscp dscp;
	bool local;
};

struct host_run {
	const struct host_opts *opts;
	struct switch_ports ports; /* port 0 is the uplink, port i + 1 has address i */
	struct weft_ip addrs[PORTS_MAX];
	uint32_t count; /* of addresses */
	struct weft_ethdev_conf uplink;
	struct weft_route gateway;
	uint64_t uplink_bps; /* that the device says; 0: nothing */
	struct run_dir dir;
	char private_prefix[PATH_BYTES];
	struct rtnet *rtnet;
	struct door *door;
	struct switch_telemetry telemetry;
	struct supervisor supervisor;
	timer_t guard;
	weft_ns printed_ns;
	struct host_heard {
		struct rtnet *rtnet;
		uint32_t port;
	} heard[SWITCH_PORTS_MAX];
};

static atomic_bool stop;

static int opt_on_off(void *field, const char *value, struct weft_err *err)
{
	if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
		return weft_err_set(err, -EINVAL, "'%.60s' is neither on nor off", value);
	*(bool *)field = strcmp(value, "on") == 0;
	return 0;
}

#define FIELD(name) offsetof(struct host_opts, name)
#define BELOW       "\n                               " /* a further line of --help */

static const struct opt_desc host_options[] = {
	{"uplink", "DEVICE", "the NIC: an interface of the kernel (eth0), or any DPDK device; required", opt_string,
	 FIELD(uplink)},
	{"addresses", "FIRST-LAST",
	 "addresses for processes, one each, or FIRST+N for N of them; at most 31. Of the uplink's" BELOW
	 "network, and not the kernel's; required",
	 opt_string, FIELD(addresses)},
	{"dir", "PATH",
	 "directory of the sockets, to which nobody else may write; made if it is not there, and then" BELOW
	 "others may search it, else left as it is; default /run/weft-host",
	 opt_string, FIELD(dir)},
	{"group", "NAME", "its members may have ports; default: the user of weft host and root alone", opt_string,
	 FIELD(group)},
	{"per-user", "N", "ports that one user may have at once; default: all. Root may have all", opt_u32,
	 FIELD(per_user)},
	{"port-gbps", "N", "rate of a process, to and from it; default 100", opt_gbps, FIELD(port_bps)},
	{"uplink-gbps", "N", "rate of the uplink; default: what the device says, else 100", opt_gbps,
	 FIELD(uplink_bps)},
	{"buffer-pkts", "N", "packets that wait for a process to take them, behind its queue; default 1024", opt_u32,
	 FIELD(buffer_pkts)},
	{"queue-bytes", "N", "data queue of a port; default: 100 us of its rate", opt_u32, FIELD(queue_bytes)},
	{"mtu", "BYTES", "largest IP packet; default: the interface's, at most 9000", opt_u32, FIELD(mtu_bytes)},
	{"uplink-addr", "ADDR[/LEN]",
	 "the uplink's own address, with the length of its network's prefix; default: the first one of" BELOW
	 "the interface that is of the family of --addresses",
	 opt_string, FIELD(uplink_addr)},
	{"gateway", "ADDR", "router of the uplink; default: the routes of the interface", opt_string, FIELD(gateway)},
	{"dscp", "CLASS:CODE,...", "the DSCPs of the network, as for weft switch", switch_opt_dscp, FIELD(dscp)},
	{"local", "on|off", "off: processes of this host have no channels to each other, past weft host; default on",
	 opt_on_off, FIELD(local)},
	{"user", "NAME", "be this user once the devices are open, when root starts it", opt_string, FIELD(user)},
	{"stats", "SECONDS", "print counters that often", opt_u32, FIELD(stats_s)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command host_command = {
	.name = "host",
	.args = "",
	.about = "Shares a NIC among the processes of this host: each has a port with an address, at "
		 "FI_WEFT_DEVICE=host.\n"
		 "What leaves a port has that address; ports share the uplink fairly. Ends with SIGINT or SIGTERM.\n"
		 "doc/guide/host.md tells more.",
	.table = host_options,
};

static void on_signal(int sig)
{
	atomic_store(&stop, true);
}

static void heard(void *arg, const struct weft_ip *ip)
{
	const struct host_heard *h = arg;
	rtnet_learn(h->rtnet, h->port, ip);
}

/* ---- the uplink ---- */

static int uplink_addr_parse(struct host_run *run, struct weft_err *err)
{
	char text[64], *end = NULL;
	snprintf(text, sizeof text, "%s", run->opts->uplink_addr);
	char *slash = strchr(text, '/');
	unsigned long len = slash != NULL ? strtoul(slash + 1, &end, 10) : 0;
	if (slash != NULL)
		*slash = '\0';
	int rc = address_parse("--uplink-addr", text, &run->uplink.ip, err);
	if (rc != 0)
		return rc;
	if ((slash != NULL && (*end != '\0' || end == slash + 1)) || len > (weft_ip_is_v4(&run->uplink.ip) ? 32 : 128))
		return weft_err_set(err, -EINVAL, "--uplink-addr: '%.60s' has no such prefix", run->opts->uplink_addr);
	run->uplink.net.prefix_len = (uint8_t)len;
	return 0;
}

/* Addresses of other networks work where routers know the way; hosts on the link do not ask for them. */
static void warn_outside(const struct host_run *run, const struct weft_if_addr *own)
{
	uint32_t k = 0;
	while (k < run->count && weft_if_is_near(own, &run->addrs[k]))
		k++;
	if (k < run->count)
		fprintf(stderr,
			"weft host: number %u of --addresses is outside the network of %s: only what a route leads "
			"here "
			"reaches it\n",
			k + 1, run->opts->uplink);
}

/* Against the network of the uplink's address. */
static int addresses_check(const struct host_run *run, struct weft_err *err)
{
	const struct weft_if_addr own = {run->uplink.ip, run->uplink.net.prefix_len};
	for (uint32_t k = 0; k < run->count && own.prefix_len; k++)
		if (weft_if_is_first_or_last(&own, &run->addrs[k]))
			return weft_err_set(err, -EADDRNOTAVAIL,
					    "--addresses: number %u of them is the first or the last of the network of "
					    "%s, which is no host's",
					    k + 1, run->opts->uplink);
	if (own.prefix_len)
		warn_outside(run, &own);
	return 0;
}

static int kernel_addresses_check(const struct host_run *run, const struct weft_if *info, struct weft_err *err)
{
	for (uint32_t k = 0; k < run->count; k++)
		for (uint32_t i = 0; i < info->addr_count; i++)
			if (weft_ip_eq(&info->addrs[i].ip, &run->addrs[k]))
				return weft_err_set(err, -EADDRINUSE,
						    "--addresses: number %u of them is the kernel's on %s", k + 1,
						    run->opts->uplink);
	return 0;
}

/* What the kernel knows of the interface. */
static int iface_read(struct host_run *run, struct weft_err *err)
{
	struct weft_if info;
	int rc = weft_if_read(run->opts->uplink, &info, err);
	if (rc != 0)
		return rc;
	run->uplink.net.kernel_if = run->opts->uplink;
	run->uplink_bps = info.link_bps;
	if (run->uplink.max_ip_bytes == 0)
		run->uplink.max_ip_bytes = info.mtu_bytes < IP_BYTES_MAX ? info.mtu_bytes : IP_BYTES_MAX;
	for (uint32_t i = 0; i < info.addr_count; i++) {
		bool fits = weft_ip_is_v4(&info.addrs[i].ip) == weft_ip_is_v4(&run->addrs[0]);
		if (!fits || !weft_ip_is_any(&run->uplink.ip))
			continue;
		run->uplink.ip = info.addrs[i].ip;
		run->uplink.net.prefix_len = info.addrs[i].prefix_len;
	}
	return kernel_addresses_check(run, &info, err);
}

static int gateway_set(struct host_run *run, struct weft_err *err)
{
	if (run->opts->gateway == NULL)
		return 0;
	int rc = address_parse("--gateway", run->opts->gateway, &run->gateway.gateway, err);
	if (rc == 0 && weft_ip_is_v4(&run->gateway.gateway) != weft_ip_is_v4(&run->uplink.ip))
		rc = weft_err_set(err, -EINVAL, "--gateway: %.60s is not of the address family of the uplink",
				  run->opts->gateway);
	if (weft_ip_is_v4(&run->uplink.ip))
		run->gateway.prefix = weft_ip_v4(0);
	run->uplink.net.routes = &run->gateway;
	run->uplink.net.route_count = 1;
	return rc;
}

/* Whether a name that no interface has can only be meant for one: devices of DPDK have colons, commas or prefixes. */
static bool is_iface_name(const char *name)
{
	return strpbrk(name, ":,/") == NULL && strncmp(name, "net_", 4) != 0 && strncmp(name, "eth_", 4) != 0 &&
	       strlen(name) < IF_NAMESIZE;
}

static int uplink_resolve(struct host_run *run, struct weft_err *err)
{
	const struct host_opts *o = run->opts;
	run->uplink = (struct weft_ethdev_conf){.dev = o->uplink,
						.max_ip_bytes = o->mtu_bytes,
						.pool_pkts = UPLINK_POOL_PKTS,
						.proxied = run->addrs,
						.proxied_count = run->count,
						.net = {.dscp = o->dscp}};
	bool is_there = if_nametoindex(o->uplink) != 0;
	if (!is_there && is_iface_name(o->uplink))
		return weft_err_set(err, -ENODEV, "--uplink: there is no interface %s", o->uplink);
	int rc = o->uplink_addr != NULL ? uplink_addr_parse(run, err) : 0;
	if (rc == 0 && is_there)
		rc = iface_read(run, err);
	if (rc == 0 && weft_ip_is_any(&run->uplink.ip))
		rc = weft_err_set(err, -EINVAL, "%s has no address of the family of --addresses: give --uplink-addr",
				  o->uplink);
	if (rc == 0 && weft_ip_is_v4(&run->uplink.ip) != weft_ip_is_v4(&run->addrs[0]))
		rc = weft_err_set(err, -EINVAL, "--uplink-addr and --addresses are of two families");
	if (rc == 0)
		rc = addresses_check(run, err);
	return rc == 0 ? gateway_set(run, err) : rc;
}

/* ---- ports ---- */

static int ports_add(struct host_run *run, struct weft_err *err)
{
	char spec[PATH_BYTES + 16];
	int n = snprintf(run->private_prefix, sizeof run->private_prefix, "%s/private/", run->dir.path);
	if (n < 0 || (size_t)n >= sizeof run->private_prefix - 8)
		return weft_err_set(err, -ENAMETOOLONG, "--dir: '%.80s' is too long", run->dir.path);
	int rc = switch_ports_add(&run->ports, run->opts->uplink, err);
	snprintf(spec, sizeof spec, "%s:%u", run->private_prefix, run->count);
	return rc == 0 ? switch_ports_add_vhost(&run->ports, spec, err) : rc;
}

static int ports_open(struct host_run *run, struct weft_err *err)
{
	const struct host_opts *o = run->opts;
	uint32_t ip_bytes = run->uplink.max_ip_bytes != 0 ? run->uplink.max_ip_bytes : IP_BYTES_MAX;
	uint32_t pkts = PORT_POOL_BYTES / ip_bytes < PORT_POOL_PKTS ? PORT_POOL_BYTES / ip_bytes : PORT_POOL_PKTS;
	int rc = switch_user_find(o->user, &run->ports.user, err);
	if (rc == 0)
		rc = run_dir_make(o->dir, &run->ports.user, &run->dir, err);
	if (rc == 0)
		rc = ports_add(run, err);
	if (rc != 0)
		return rc;
	run->ports.uplink = &run->uplink;
	return switch_ports_open(&run->ports, ip_bytes, pkts, err);
}

static int fabric_make(struct host_run *run, struct weft_err *err)
{
	const struct host_opts *o = run->opts;
	struct weft_topo topo;
	struct rtnet_addr addrs[PORTS_MAX];
	char star[24];
	uint64_t uplink_bps = o->uplink_bps != 0 ? o->uplink_bps : run->uplink_bps;
	for (uint32_t i = 0; i < run->count; i++)
		addrs[i] = (struct rtnet_addr){run->addrs[i], i + 1};
	const struct rtnet_assigned assigned = {.uplink = 0, .addrs = addrs, .count = run->count};
	snprintf(star, sizeof star, "star:%u", run->ports.count);
	int rc = weft_topo_preset(star, o->port_bps, &topo, err);
	topo.tier[0].down_latency_ns = topo.tier[0].switch_latency_ns = 0; /* software takes its own time */
	struct rtnet_conf conf = {
		.topo = &topo,
		.assigned = &assigned,
		.held_pkts = UPLINK_POOL_PKTS / (run->count + 1),
		.net = {.seed = 1,
			.mtu_bytes = run->ports.port[0]->max_ip_bytes + WEFT_L1_OVERHEAD_BYTES,
			.brtt_ns = WEFT_US(BRTT_US)},
		.ports = run->ports.port,
		.port_count = run->ports.count,
		.downlink_pkts = o->buffer_pkts,
	};
	weft_param_defaults(weft_net_tunes, &conf.net.tune);
	if (o->queue_bytes != 0)
		conf.net.tune.queue_bytes = o->queue_bytes;
	if (rc == 0)
		rc = rtnet_create(&conf, weft_clock_ns(), &run->rtnet, err);
	if (rc == 0)
		rtnet_set_bps(run->rtnet, 0, uplink_bps != 0 ? uplink_bps : RATE_BPS);
	return rc;
}

/* ---- running ---- */

static void tell_more(void *arg, uint32_t port, struct weft_port_row *row)
{
	const struct host_run *run = arg;
	if (port > 0)
		door_tell(run->door, port - 1, row);
}

/* After each poll. */
static void tick(void *arg)
{
	struct host_run *run = arg;
	weft_ns now = weft_clock_ns();
	switch_telemetry_answer(&run->telemetry);
	supervisor_is_alive(&run->supervisor, now);
	if (run->opts->stats_s == 0 || now - run->printed_ns < WEFT_S(run->opts->stats_s))
		return;
	run->printed_ns = now;
	switch_report(run->rtnet, &run->ports, false, false);
}

static void run_until_stopped(struct host_run *run)
{
	for (uint32_t i = 0; i < run->ports.count; i++) {
		run->heard[i] = (struct host_heard){run->rtnet, i};
		weft_ethdev_on_neigh(run->ports.port[i], heard, &run->heard[i]);
	}
	if (weft_ethdev_note(run->ports.port[0])[0] != '\0')
		fprintf(stderr, "weft host: %s\n", weft_ethdev_note(run->ports.port[0]));
	printf("weft host: %u port%s ready in %s, uplink %s, IP packets of up to %u bytes\n", run->count,
	       plural_s(run->count), run->dir.path, run->opts->uplink, run->ports.port[0]->max_ip_bytes);
	fflush(stdout);
	run->printed_ns = weft_clock_ns();
	run->telemetry = (struct switch_telemetry){
		.name = "host", .rtnet = run->rtnet, .ports = &run->ports, .more = tell_more, .more_arg = run};
	switch_telemetry_start(&run->telemetry);
	supervisor_open(&run->supervisor);
	supervisor_tell(&run->supervisor, "READY=1");
	rtnet_run(run->rtnet, &stop, 0, tick, run);
	supervisor_tell(&run->supervisor, "STOPPING=1");
	supervisor_close(&run->supervisor);
	switch_telemetry_stop(&run->telemetry);
	switch_report(run->rtnet, &run->ports, false, false);
}

static int door_make(struct host_run *run, struct weft_err *err)
{
	const struct host_opts *o = run->opts;
	const struct door_conf conf = {
		.dir = run->dir.path,
		.private_prefix = run->private_prefix,
		.group = o->group,
		.user = &run->ports.user,
		.addrs = run->addrs,
		.ports = run->count,
		.per_user = o->per_user,
		.mtu_bytes = run->ports.port[0]->max_ip_bytes,
		.local = o->local,
	};
	int rc = door_open(&conf, &run->door, err);
	return rc == 0 ? run_dir_open(&run->dir, o->group, err) : rc;
}

static int host_main(struct host_run *run, struct weft_err *err)
{
	int rc = address_pool_parse("--addresses", run->opts->addresses, run->addrs, PORTS_MAX, &run->count, err);
	if (rc == 0)
		rc = uplink_resolve(run, err);
	if (rc == 0)
		rc = ports_open(run, err);
	if (rc != 0)
		return rc;
	rc = fabric_make(run, err);
	if (rc == 0)
		rc = door_make(run, err);
	if (rc == 0)
		rc = stall_guard_start(&run->guard, err);
	if (rc == 0) {
		if (getenv("WEFT_EAL_ARGS") == NULL) /* who chooses EAL's arguments chooses the CPUs */
			weft_ethdev_bind_thread(run->ports.port[0]);
		run_until_stopped(run);
		stall_guard_stop(run->guard);
	}
	if (run->door != NULL)
		door_close(run->door);
	if (run->rtnet != NULL)
		rtnet_destroy(run->rtnet);
	switch_ports_close(&run->ports);
	return rc;
}

int weft_cmd_host(int argc, char **argv)
{
	static struct host_opts o = {.dir = "/run/weft-host",
				     .per_user = PORTS_MAX,
				     .port_bps = RATE_BPS,
				     .buffer_pkts = BUFFER_PKTS,
				     .local = true};
	static struct host_run run = {.opts = &o};
	struct weft_err err = {""};
	struct sigaction action = {.sa_handler = on_signal};
	uint32_t none;
	int status;

	if (!opt_main(&host_command, &o, argc, argv, &none, &status))
		return status;
	if (o.uplink == NULL || o.addresses == NULL) {
		fputs("weft host: give --uplink and --addresses\n", stderr);
		return 2;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	status = host_main(&run, &err) != 0;
	if (status != 0)
		fprintf(stderr, "weft host: %s\n", err.msg);
	return status;
}
