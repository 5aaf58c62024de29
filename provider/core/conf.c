/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration from the environment: which devices, which addresses, and how the engine is tuned. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_lease.h"
#include "member.h"
#include "prov_conf.h"
#include "prov_log.h"
#include "prov_net.h"
#include "prov_text.h"
#include "prov_tune.h"

static const struct {
	const char *name;
	enum fi_param_type type;
	const char *help;
} params[] = {
	{"device", FI_PARAM_STRING,
	 "device of this process: an interface of the kernel (eth0), host or host:DIR for a port of weft host with "
	 "the address that it gives, a PCI address (0000:03:00.0), the name of "
	 "a DPDK port, devargs such as net_virtio_user0,path=/tmp/weft0, or shm:/tmp/weft0 for a port of weft "
	 "switch --shm. Of several, separated by ',', the "
	 "one for its rank on the node; ';' separates devices it has at once: a device named again is one more "
	 "engine on it, domain NAME#1 and so on, with an address of its own. In this and all other "
	 "parameters %r, %l, %p and %n stand for the process's rank, rank on its node, process id, and the "
	 "first number no other process of the node has"},
	{"addr", FI_PARAM_STRING,
	 "IP address of this process on the device, optionally with the length of its network's prefix "
	 "(10.1.0.5/24; without, everybody is on the link), and with +N to be added (10.0.0.1+%r); one per "
	 "device, separated by ';', or one per rank on the node, separated by ','. Default: that of the "
	 "kernel's interface the device stands on, with its routes, else 10.0.0.0 + process id"},
	{"gateway", FI_PARAM_STRING,
	 "router for everybody who is in no other route; one for each device, separated by ';', or one for all. "
	 "FI_WEFT_ADDR needs a prefix then (10.1.0.5/24)"},
	{"routes", FI_PARAM_STRING,
	 "further routes, separated by ',': 10.2.0.0/16 via 10.1.0.1; without 'via' the prefix is on the link. "
	 "Of each device, separated by ';', or for all"},
	{"vlan", FI_PARAM_STRING,
	 "number of the VLAN that all frames belong to, 1 to 4094; one for each device, separated by ';', or one "
	 "for all (default: untagged)"},
	{"vlan_pcp", FI_PARAM_STRING, "priority in the VLAN tag, 0 to 7, likewise (default: 0)"},
	{"dscp", FI_PARAM_STRING,
	 "code points by which switches know the classes of packets (default: data:8,ordered:10,unscheduled:12,"
	 "trimmed:16,trimmed_lasthop:18,credit:40,control:46); those not named keep theirs. Of each device, "
	 "separated by ';', or for all"},
	{"cc", FI_PARAM_STRING,
	 "congestion control algorithm, auto, or RECEIVER+SENDER such as eqds+smartt (default: auto)"},
	{"plugin", FI_PARAM_STRING,
	 "shared objects with algorithms for FI_WEFT_CC and FI_WEFT_LB, separated by colons"},
	{"lb", FI_PARAM_STRING, "load balancing algorithm, or auto (default: auto)"},
	{"tune", FI_PARAM_STRING,
	 "parameters of engine, cc and lb: key=value,key=value (default: brtt_floor_ns=100000, for peers "
	 "that share CPUs)"},
	{"profile", FI_PARAM_STRING,
	 "what peers are taken for: weft, or ai-base, ai-full, hpc: endpoints of UET's profiles, which are sent "
	 "nothing "
	 "but what the standard says (default: weft)"},
	{"encap", FI_PARAM_STRING,
	 "how packets are wrapped that go to peers which have begun nothing themselves: udp (port 4793), udp-49150, or "
	 "native (IP protocol 253, with a CRC32C); others get what they use (default: udp)"},
	{"key_file", FI_PARAM_STRING,
	 "file with the keys of this job, which nobody else may read: all packets are encrypted, and others refused; "
	 "it is read again when it changes (default: nothing is encrypted)"},
	{"mtu", FI_PARAM_INT, "largest IP packet in bytes (default: what the device carries, at most 9000)"},
	{"pool_pkts", FI_PARAM_INT, "packet buffers of a device (default: 8191, but at most 24 MiB)"},
	{"no_arp", FI_PARAM_BOOL, "derive peers' MAC addresses from their IP instead of asking for them (default: no)"},
	{"rx_interrupt", FI_PARAM_BOOL,
	 "let the packets of a NIC wake a process that waits, instead of looking for them every millisecond; the "
	 "drivers of some NICs are slower then (default: no; other devices always do)"},
	{"eal_args", FI_PARAM_STRING, "arguments for DPDK's EAL instead of the unprivileged defaults"},
	{"telemetry", FI_PARAM_BOOL,
	 "let dpdk-telemetry.py -f weft-PID read the counters while the process runs; without effect beside "
	 "eal_args (default: no, as it takes a thread and a socket)"},
	{"seed", FI_PARAM_INT,
	 "of entropies, sequence numbers and connection ids, which can then be guessed: for tests (default, or 0: "
	 "numbers that nobody can guess)"},
	{"peer_timeout_ms", FI_PARAM_INT,
	 "silence of a peer after which its operations fail (default: 10000; a peer that computes is not silent, one "
	 "that is stopped is)"},
	{"rndv_bytes", FI_PARAM_INT,
	 "longer messages are announced and fetched by their receiver, so that they need no memory before they "
	 "have a receive (default: 131072; 0: none)"},
	{"copy_bytes", FI_PARAM_INT,
	 "longest message that is copied, so that its send completes at once instead of when the peer has "
	 "acknowledged it; a failure is the result of the next operation to the peer then. Not with "
	 "FI_DELIVERY_COMPLETE or FI_MATCH_COMPLETE (default: 16384; 0: messages sent with FI_INJECT only)"},
	{"record_events", FI_PARAM_INT,
	 "the flight recorder of each device keeps so many events of its last packets, for weft trace (default: 8192; "
	 "0: there is none)"},
	{"wait_ms", FI_PARAM_INT,
	 "longest wait for the socket of a memif server or vhost to appear, and for the link of a NIC to come up "
	 "(default: 5000)"},
	{"linger_ms", FI_PARAM_INT,
	 "longest wait for outstanding packets when an endpoint or domain is closed (default: 500)"},
};

void prov_conf_define(void)
{
	for (size_t i = 0; i < count_of(params); i++)
		fi_param_define(&prov_weft, params[i].name, params[i].type, "%s", params[i].help);
}

/* Unique among the processes of a host. */
static struct weft_ip ip_default(unsigned index)
{
	return weft_ip_v4(0x0a000000u | (((uint32_t)getpid() + index) & 0xffffffu));
}

/* Where `dev` is named again: another engine on the device. */
static int dev_share(struct prov_conf *conf, struct prov_dev *dev, struct weft_err *err)
{
	struct prov_dev *first = conf->devs; /* `dev` at the latest */
	while (strcmp(first->name, dev->name) != 0)
		first++;
	char *name = NULL;
	if (first == dev)
		return 0;
	if (strchr(dev->devargs, ',') && strcmp(dev->devargs, first->devargs) != 0)
		return weft_err_set(err, -EINVAL, "FI_WEFT_DEVICE: '%s' is named twice, with different arguments",
				    dev->name);
	dev->engine = first->engines;
	free(dev->devargs);
	dev->devargs = strdup(first->devargs);
	if (asprintf(&name, "%s#%u", first->name, dev->engine) < 0 || !dev->devargs) {
		free(name);
		return weft_err_set(err, -ENOMEM, "out of memory");
	}
	free(dev->name);
	dev->name = name;
	for (struct prov_dev *d = first; d <= dev; d++)
		if (d == dev || strcmp(d->devargs, first->devargs) == 0)
			d->engines = (uint16_t)(dev->engine + 1);
	return 0;
}

static int dev_add(struct prov_conf *conf, const char *devargs, const char *addr, struct weft_err *err)
{
	struct prov_dev *devs = realloc(conf->devs, (conf->count + 1) * sizeof *devs);
	if (!devs)
		return weft_err_set(err, -ENOMEM, "out of memory");
	conf->devs = devs;
	struct prov_dev *dev = &devs[conf->count];
	*dev = (struct prov_dev){
		.devargs = strdup(devargs), .name = strndup(devargs, strcspn(devargs, ",")), .engines = 1};
	conf->count++;
	if (!dev->devargs || !dev->name)
		return weft_err_set(err, -ENOMEM, "out of memory");
	int ret = dev_share(conf, dev, err);
	return ret || !addr ? ret : prov_net_addr(addr, dev, err);
}

/* A port of weft host is a virtio-user device, with the address that weft host says. */
static int host_add(struct prov_conf *conf, const char *dir, const char *addr, struct weft_err *err)
{
	struct prov_host_lease lease;
	char devargs[sizeof lease.path + 32];
	if (addr)
		return weft_err_set(err, -EINVAL, "FI_WEFT_ADDR: weft host says which address this process has");
	int ret = prov_host_lease_take(dir, &lease, err);
	if (ret)
		return ret;
	snprintf(devargs, sizeof devargs, "net_virtio_user_host,path=%s", lease.path);
	ret = dev_add(conf, devargs, NULL, err);
	if (ret)
		return ret;
	struct prov_dev *dev = &conf->devs[conf->count - 1];
	if (dev->engines > 1)
		return weft_err_set(err, -EINVAL, "FI_WEFT_DEVICE: a process has one port of weft host");
	dev->base = dev->ip = lease.ip;
	dev->mtu_bytes = lease.mtu_bytes;
	dev->is_host_port = true;
	return 0;
}

static int named_add(struct prov_conf *conf, const char *device, const char *addr, struct weft_err *err)
{
	const char *dir = prov_host_dir(device);
	return dir ? host_add(conf, dir, addr, err) : dev_add(conf, device, addr, err);
}

/* Of "A,B,C" without arguments (key=value) the one for this process's rank on the node. */
static char *choose_by_rank(char *list)
{
	unsigned count = 1;
	if (strchr(list, '='))
		return list;
	for (const char *p = list; *p; p++)
		count += *p == ',';
	for (unsigned skip = prov_local_rank() % count; skip; skip--)
		list = strchr(list, ',') + 1;
	list[strcspn(list, ",")] = 0;
	return list;
}

/* Pairs the two lists; `devices` and `addrs` (may be NULL) are cut up. */
static int devs_parse(struct prov_conf *conf, char *devices, char *addrs, struct weft_err *err)
{
	char *dev_save = NULL, *addr_save = NULL;
	char *addr = addrs ? strtok_r(addrs, ";", &addr_save) : NULL;
	for (char *dev = strtok_r(devices, ";", &dev_save); dev; dev = strtok_r(NULL, ";", &dev_save)) {
		if (addrs && !addr)
			return weft_err_set(err, -EINVAL,
					    "FI_WEFT_ADDR has fewer addresses than FI_WEFT_DEVICE devices");
		int ret = named_add(conf, choose_by_rank(dev), addr ? choose_by_rank(addr) : NULL, err);
		if (ret)
			return ret;
		addr = addrs ? strtok_r(NULL, ";", &addr_save) : NULL;
	}
	if (addr)
		return weft_err_set(err, -EINVAL, "FI_WEFT_ADDR has more addresses than FI_WEFT_DEVICE devices");
	return 0;
}

/* Packets find the engines of a device by address. */
static int addrs_check(const struct prov_conf *conf, struct weft_err *err)
{
	for (const struct prov_dev *a = conf->devs; a < conf->devs + conf->count; a++)
		for (const struct prov_dev *b = conf->devs; b < a; b++)
			if (strcmp(a->devargs, b->devargs) == 0 && weft_ip_eq(&a->ip, &b->ip))
				return weft_err_set(
					err, -EINVAL,
					"FI_WEFT_ADDR: %s and %s need an address each: one of both is missing, or "
					"they are the same",
					b->name, a->name);
	return 0;
}

/* Nonsense among the other variables is found here, not when the device is opened. */
static int tune_check(struct weft_err *err)
{
	struct prov_tune tune;
	int ret = prov_tune_load(&tune, err);
	prov_tune_free(&tune);
	return ret;
}

/* The rest of what is behind the devices, which may know addresses of their own. */
static int nets_load(struct prov_conf *conf, struct weft_err *err)
{
	enum { GATEWAY, ROUTES, VLAN, VLAN_PCP, DSCP, COUNT };
	static const char *const names[COUNT] = {"gateway", "routes", "vlan", "vlan_pcp", "dscp"};
	char *texts[COUNT] = {NULL};
	int ret = 0;
	for (int i = 0; i < COUNT && !ret; i++)
		ret = prov_param_text(names[i], &texts[i], err);
	const struct prov_net_texts all = {texts[GATEWAY], texts[ROUTES], texts[VLAN], texts[VLAN_PCP], texts[DSCP]};
	if (!ret)
		ret = prov_net_load(conf, &all, err);
	for (int i = 0; i < COUNT; i++)
		free(texts[i]);
	for (unsigned i = 0; i < conf->count; i++)
		if (weft_ip_is_any(&conf->devs[i].ip))
			conf->devs[i].base = conf->devs[i].ip = ip_default(i);
	return ret;
}

int prov_conf_load(struct prov_conf *conf, struct weft_err *err)
{
	char *devices = NULL, *addrs = NULL;
	*conf = (struct prov_conf){0};
	int ret = prov_param_text("device", &devices, err);
	if (!ret && !devices)
		return weft_err_set(err, -ENODATA,
				    "no device: set FI_WEFT_DEVICE, for example to eth0 or to "
				    "net_virtio_user0,path=/tmp/weft0");
	if (!ret)
		ret = prov_param_text("addr", &addrs, err);
	if (!ret)
		ret = devs_parse(conf, devices, addrs, err);
	if (!ret)
		ret = nets_load(conf, err);
	if (!ret)
		ret = addrs_check(conf, err);
	if (!ret)
		ret = tune_check(err);
	free(devices);
	free(addrs);
	return ret;
}

void prov_conf_free(struct prov_conf *conf)
{
	for (unsigned i = 0; i < conf->count; i++) {
		free(conf->devs[i].name);
		free(conf->devs[i].devargs);
		free(conf->devs[i].routes);
	}
	free(conf->devs);
	*conf = (struct prov_conf){0};
}

const struct prov_dev *prov_conf_find(const struct prov_conf *conf, const char *name)
{
	for (unsigned i = 0; i < conf->count; i++)
		if (strcmp(conf->devs[i].name, name) == 0)
			return &conf->devs[i];
	return NULL;
}
