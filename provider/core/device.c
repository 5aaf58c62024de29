/* SPDX-License-Identifier: BSD-3-Clause */
#include "device.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prov_keys.h"
#include "prov_log.h"
#include "weft/ethdev.h"

/* UE 1.0 sec. 3.4.1.11: Payload MTU. */
enum { PAYLOAD_MIN = 1024, PAYLOAD_MAX = 8192 };

enum { LINK_IS_BOUND = 1 }; /* weft_engine_tune.probe_rate */

/* Several turns of who shares a processor: within them a process that does not answer may just not run. */
#define SHM_RTO_NS WEFT_MS(20)

/* The largest of UET's payload sizes in an IP packet that the port carries, over IPv6 and with all options. */
static uint32_t payload_fit(uint32_t max_ip_bytes)
{
	enum { HEADERS_MAX = 40 + 8 + 56 + 4 + 4 }; /* IPv6, UDP, PDS and SES of a data packet, demand, CRC */
	uint32_t room = max_ip_bytes > HEADERS_MAX ? max_ip_bytes - HEADERS_MAX : 0;
	for (uint32_t bytes = PAYLOAD_MAX; bytes >= PAYLOAD_MIN; bytes /= 2)
		if (bytes <= room)
			return bytes;
	return room;
}

/* Packets are as large as the port carries, unless a parameter says otherwise; what the path to a peer carries, the
 * engine finds out. What a port says of its speed is no more than an upper bound: the path behind it may be slower.
 * Where it says nothing, the engine looks for the rate, and paces nothing until the port tells a speed: the queue of a
 * virtual device is shared memory, and a link that is down may come up. */
static void link_fit(struct prov_tune *tune, const struct weft_port *port)
{
	if (!tune->probe_chosen && !tune->link_chosen && port->link_bps)
		tune->engine.tune.probe_rate = LINK_IS_BOUND;
	if (!tune->payload_chosen)
		tune->engine.tune.payload_bytes = payload_fit(port->max_ip_bytes);
}

/* Peers at shared buffers are processes of this host, and most of them share its processors. A switch tells what it
 * trims, so a timeout has nothing else to find than a switch that drops, or a process that ended. */
static void timeout_fit(struct prov_tune *tune, const struct prov_dev *dev, const char *name)
{
	if (!weft_ethdev_shm_path(dev->devargs) || tune->engine.tune.rto_ns)
		return;
	tune->engine.tune.rto_ns = SHM_RTO_NS;
	FI_INFO(&prov_weft, FI_LOG_DOMAIN, "%s: shared buffers: retransmission timeout %llu ns\n", name,
		(unsigned long long)SHM_RTO_NS);
}

/* Whether the kernel's list says that the socket at `path` is bound and nobody listens to it yet. Sockets of other
 * network namespaces are not in that list. */
static bool socket_awaits_listener(const char *path)
{
	enum { LISTENING = 0x10000 }; /* __SO_ACCEPTCON */
	char line[256], name[128];
	unsigned flags;
	bool is_bound = false, is_listening = false;
	FILE *list = fopen("/proc/net/unix", "r");
	while (list && fgets(line, sizeof line, list)) {
		if (sscanf(line, "%*s %*x %*x %x %*x %*x %*u %127s", &flags, name) != 2 || strcmp(name, path) != 0)
			continue;
		is_bound = true;
		is_listening |= (flags & LISTENING) != 0;
	}
	if (list)
		fclose(list);
	return is_bound && !is_listening;
}

/* Processes that are joined by a socket start together: the one that connects gives the other time to make it. Drivers
 * do not try again. An abstract socket cannot be seen. */
static void socket_wait(const char *devargs, weft_ns patience_ns)
{
	const struct timespec nap = {.tv_nsec = 10000000};
	char path[128], role[16];
	bool memif = weft_ethdev_arg(devargs, "socket", path, sizeof path);
	const char *shm = weft_ethdev_shm_path(devargs);
	if (shm && strlen(shm) < sizeof path)
		strcpy(path, shm);
	else if (memif ? !weft_ethdev_arg(devargs, "role", role, sizeof role) || strcmp(role, "client") != 0
		       : !weft_ethdev_arg(devargs, "path", path, sizeof path))
		return;
	if (memif && !strstr(devargs, "socket-abstract=no"))
		return;
	weft_ns end = weft_clock_ns() + patience_ns;
	while ((access(path, F_OK) != 0 || socket_awaits_listener(path)) && weft_clock_ns() < end)
		nanosleep(&nap, NULL);
}

/* For all devices that are named: EAL starts once, with the first of them that is opened. */
static int eal_start(const struct prov_conf *conf, const struct prov_tune *tune, struct weft_err *err)
{
	if (tune->eal_args)
		return weft_eal_start(tune->eal_args, err);
	const char **devs = calloc(conf->count, sizeof *devs);
	unsigned count = 0;
	for (unsigned i = 0; devs && i < conf->count; i++)
		if (conf->devs[i].engine == 0)
			devs[count++] = conf->devs[i].devargs;
	int ret = devs ? weft_eal_start_for(devs, count, tune->telemetry, err)
		       : weft_err_set(err, -ENOMEM, "out of memory");
	free(devs);
	return ret;
}

static void port_log(const struct prov_nic *nic)
{
	char offloads[64];
	weft_ethdev_offload_names(weft_ethdev_offloads(nic->port), offloads, sizeof offloads);
	FI_INFO(&prov_weft, FI_LOG_DOMAIN, "%s: IP packets of up to %u bytes; offloads: %s\n", nic->name,
		nic->port->max_ip_bytes, offloads[0] ? offloads : "none");
}

static int port_open(struct prov_nic *nic, const struct prov_dev *dev, const struct prov_tune *tune,
		     struct weft_err *err)
{
	struct weft_ethdev_conf conf = {.net = dev->net,
					.pool_pkts = tune->pool_pkts,
					.dev = dev->devargs,
					.queue = dev->engine,
					.queues = dev->engines,
					.ip = dev->ip,
					.max_ip_bytes = tune->max_ip_bytes ? tune->max_ip_bytes : dev->mtu_bytes,
					.no_arp = tune->no_arp,
					.rx_interrupt = tune->rx_interrupt,
					.link_wait_ns = tune->wait_ns};
	conf.net.kernel_if = dev->iface[0] ? dev->iface : NULL;
	socket_wait(dev->devargs, tune->wait_ns);
	int ret = weft_ethdev_open(&conf, &nic->port, err);
	if (!ret && weft_ethdev_note(nic->port)[0])
		FI_WARN(&prov_weft, FI_LOG_DOMAIN, "%s\n", weft_ethdev_note(nic->port));
	if (!ret)
		port_log(nic);
	return ret;
}

/* How packets find this one of several engines on a device. */
static void steering_log(const struct prov_nic *nic)
{
	struct weft_ethdev_steering s;
	weft_ethdev_steering(nic->port, &s);
	if (s.ports == 1)
		return;
	const char *way = s.by_rule                       ? "by a flow rule"
			  : s.queues == 1                 ? "from hand to hand: the device has one queue"
			  : s.hash == WEFT_HASH_ADDRESSES ? "by a hash of addresses, then from hand to hand"
							  : "from hand to hand";
	FI_INFO(&prov_weft, FI_LOG_DOMAIN, "%s: queue %u of %u for %u engines; packets find it %s\n", nic->name,
		s.queue, s.queues, s.ports, way);
	if (s.hash == WEFT_HASH_PORTS && !s.by_rule)
		FI_WARN(&prov_weft, FI_LOG_DOMAIN,
			"%s: the device chooses queues by UDP ports, which are entropy, and cannot be told not to: "
			"most packets come to other engines first\n",
			nic->name);
}

/* Processes that have ports of the same weft host reach each other beside it. */
static int local_open(struct prov_nic *nic, const struct prov_dev *dev, struct weft_err *err)
{
	char path[128] = "";
	weft_ethdev_arg(dev->devargs, "path", path, sizeof path);
	const struct weft_local_conf conf = {.path = path, .ip = dev->ip, .clock = weft_clock_ns};
	int ret = weft_local_open(&conf, nic->engine_port, &nic->local_port, err);
	if (ret)
		return ret;
	nic->engine_port = nic->local_port;
	ret = weft_local_watch(nic->local_port, nic->sleep.wake_fd);
	return ret ? weft_err_set(err, ret, "local channels: %s", strerror(-ret)) : 0;
}

int prov_device_open(struct prov_nic *nic, const struct prov_conf *conf, const struct prov_dev *dev,
		     struct prov_tune *tune, struct weft_err *err)
{
	assert(!nic->port && !nic->engine);
	int ret = eal_start(conf, tune, err);
	if (!ret)
		ret = port_open(nic, dev, tune, err);
	if (ret)
		return ret;
	tune->engine.ip = dev->ip;
	tune->engine.seed += weft_ip_low32(&dev->ip); /* devices have different seeds even if the user chose one */
	steering_log(nic);
	nic->engine_port = nic->port;
	if (dev->is_host_port)
		ret = local_open(nic, dev, err);
	if (!ret && tune->faulty)
		ret = weft_fault_open(&tune->fault, nic->port, &nic->engine_port, err);
	if (!ret && tune->key_file)
		ret = prov_keys_open(nic, tune->key_file, &dev->ip, err);
	link_fit(tune, nic->engine_port);
	timeout_fit(tune, dev, nic->name);
	if (!ret)
		ret = weft_engine_create(&tune->engine, nic->engine_port, weft_clock_ns(), &nic->engine, err);
	if (ret)
		nic->engine_port->ops->close(nic->engine_port);
	return ret;
}

static void counter_log(const struct prov_nic *nic, const struct weft_counter_desc *desc, uint64_t value)
{
	if (value)
		FI_INFO(&prov_weft, FI_LOG_DOMAIN, "%s: %s %llu: %s\n", nic->name, desc->name,
			(unsigned long long)value, desc->help);
}

static void cm_stats_log(const struct prov_nic *nic)
{
#define COUNTER(field, text)                                                                                           \
	counter_log(nic, &(const struct weft_counter_desc){.name = #field, .help = (text)}, nic->cm_stats.field);
	WEFT_CM_COUNTERS(COUNTER)
#undef COUNTER
}

/* What happened on the wire, for FI_LOG_LEVEL=info. */
static void stats_log(const struct prov_nic *nic)
{
	const struct weft_stats *stats = weft_engine_stats(nic->engine);
	struct weft_ethdev_stats port;
	weft_ethdev_stats(nic->port, &port);
	for (int i = 0; i < WEFT_COUNTER_COUNT; i++)
		counter_log(nic, &weft_counter_descs[i], weft_stats_value(stats, i));
	for (int i = 0; i < WEFT_PORT_COUNTER_COUNT; i++)
		counter_log(nic, &weft_port_counter_descs[i], weft_ethdev_stats_value(&port, i));
	struct weft_tss_stats tss = {0};
	if (nic->keys.port)
		weft_tss_stats(nic->keys.port, &tss);
	for (int i = 0; i < WEFT_TSS_COUNTER_COUNT; i++)
		counter_log(nic, &weft_tss_counter_descs[i], weft_tss_stats_value(&tss, i));
	struct weft_local_stats local = {0};
	if (nic->local_port)
		weft_local_stats(nic->local_port, &local);
	for (int i = 0; i < WEFT_LOCAL_COUNTER_COUNT; i++)
		counter_log(nic, &weft_local_counter_descs[i], weft_local_stats_value(&local, i));
	cm_stats_log(nic);
}

/* Warns once, with the total. */
static void credit_warn(const struct prov_nic *nic)
{
	uint64_t signs = weft_engine_stats(nic->engine)->credit_unlimited;
	if (signs)
		FI_WARN(&prov_weft, FI_LOG_DOMAIN,
			"%s: the fabric does not limit credits (%llu signs of it): its switches need credit queues and "
			"symmetric hashing for this FI_WEFT_CC\n",
			nic->name, (unsigned long long)signs);
}

void prov_device_close(struct prov_nic *nic)
{
	assert(nic->engine && nic->engine_port);
	credit_warn(nic);
	stats_log(nic);
	weft_engine_destroy(nic->engine);
	nic->engine_port->ops->close(nic->engine_port);
}
