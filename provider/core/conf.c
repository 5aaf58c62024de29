/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration from the environment: which devices, which addresses, and how the engine is tuned. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc_number.h"
#include "prov_addr.h"
#include "prov_conf.h"
#include "prov_log.h"

void prov_conf_define(void)
{
	static const struct {
		const char *name;
		enum fi_param_type type;
		const char *help;
	} params[] = {
		{"device", FI_PARAM_STRING,
		 "DPDK device of this process: name of an existing port or devargs such as "
		 "net_virtio_user0,path=/tmp/weft0; several separated by ';'. %r, %l, %p and %n stand for the "
		 "process's rank, "
		 "rank on its node, process id, and the first number no other process of the node has"},
		{"addr", FI_PARAM_STRING,
		 "IP address of this process on the device, optionally with +N to be added (10.0.0.1+%r); one per "
		 "device, separated by ';'. Default: 10.0.0.0 + process id"},
		{"cc", FI_PARAM_STRING,
		 "congestion control algorithm, or RECEIVER+SENDER such as eqds+smartt (default: smartt)"},
		{"plugin", FI_PARAM_STRING,
		 "shared objects with algorithms for FI_WEFT_CC and FI_WEFT_LB, separated by colons"},
		{"lb", FI_PARAM_STRING, "load balancing algorithm, or auto (default: reps)"},
		{"tune", FI_PARAM_STRING,
		 "parameters of engine, cc and lb: key=value,key=value (default: brtt_floor_ns=500000, for peers that "
		 "share "
		 "CPUs)"},
		{"mtu", FI_PARAM_INT, "largest IP packet in bytes (default: what the device carries, at most 9000)"},
		{"pool_pkts", FI_PARAM_INT, "packet buffers of a device (default: 8191)"},
		{"no_arp", FI_PARAM_BOOL,
		 "derive peers' MAC addresses from their IP instead of asking for them (default: no)"},
		{"eal_args", FI_PARAM_STRING, "arguments for DPDK's EAL instead of the unprivileged defaults"},
		{"telemetry", FI_PARAM_BOOL,
		 "let dpdk-telemetry.py -f weft-PID read the counters while the process runs; without effect beside "
		 "eal_args (default: no, as it takes a thread and a socket)"},
		{"seed", FI_PARAM_INT, "of entropies and sequence numbers (default, or 0: another one each time)"},
		{"peer_timeout_ms", FI_PARAM_INT,
		 "silence of a peer after which its operations fail (default: 120000; a peer that "
		 "makes no progress is silent)"},
		{"rndv_bytes", FI_PARAM_INT,
		 "longer messages are announced and fetched by their receiver, so that they need no memory before they "
		 "have a receive (default: 262144; 0: none)"},
		{"wait_ms", FI_PARAM_INT,
		 "longest wait for the socket of a memif server or vhost to appear (default: 5000)"},
		{"linger_ms", FI_PARAM_INT,
		 "longest wait for outstanding packets when an endpoint or domain is closed (default: 500)"},
	};
	for (size_t i = 0; i < count_of(params); i++)
		fi_param_define(&prov_weft, params[i].name, params[i].type, "%s", params[i].help);
}

static const char *param_str(const char *name)
{
	char *value = NULL;
	return fi_param_get_str(&prov_weft, name, &value) == 0 && value && *value ? value : NULL;
}

/* First of these variables that is set; process managers disagree on the name. */
static const char *env_first(const char *const *names)
{
	for (; *names; names++)
		if (getenv(*names))
			return getenv(*names);
	return NULL;
}

/* What `which` stands for. NULL: no process manager says. */
static const char *rank_of(char which, const char *n, char pid[static 16])
{
	static const char *const global[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
	static const char *const local[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", NULL};
	if (which == 'r')
		return env_first(global);
	if (which == 'l')
		return env_first(local);
	if (which == 'n')
		return n;
	snprintf(pid, 16, "%d", (int)getpid());
	return pid;
}

/* Copies `text` with %r, %l, %p and %n replaced; the caller frees. */
static int expand(const char *text, const char *n_text, char **out, struct weft_err *err)
{
	char buf[1024], pid[16];
	size_t n = 0;
	for (const char *p = text; *p; p++) {
		const char *piece = p;
		size_t len = 1;
		if (p[0] == '%' && p[1] && strchr("rlpn", p[1])) {
			piece = rank_of(*++p, n_text, pid);
			if (!piece)
				return weft_err_set(err, -EINVAL, "%s: %%%c used, but no process manager set a rank",
						    text, *p);
			len = strlen(piece);
		}
		if (n + len >= sizeof buf)
			return weft_err_set(err, -EINVAL, "%.64s...: longer than %zu characters", text, sizeof buf);
		memcpy(buf + n, piece, len);
		n += len;
	}
	buf[n] = 0;
	*out = strdup(buf);
	return *out ? 0 : weft_err_set(err, -ENOMEM, "out of memory");
}

/* %n has the same value in both settings, and is taken only when it is used. */
static int number_text(const char *device, const char *addr, char text[static 16], struct weft_err *err)
{
	unsigned number = 0;
	bool used = strstr(device, "%n") || (addr && strstr(addr, "%n"));
	int ret = used ? prov_proc_number_take(device, &number, err) : 0;
	snprintf(text, 16, "%u", number);
	return ret;
}

/* Adds `n` to the address as one big-endian number; wraps in the low 32 bits. */
static void ip_add(struct weft_ip *ip, uint32_t n)
{
	n += weft_ip_low32(ip);
	for (int i = 15; i >= 12; i--, n >>= 8)
		ip->b[i] = (uint8_t)n;
}

/* "10.0.0.1", "fd00::1" or either with "+N". */
static int ip_parse(const char *text, struct weft_ip *base, struct weft_ip *ip, struct weft_err *err)
{
	char host[64];
	const char *plus = strchr(text, '+');
	size_t len = plus ? (size_t)(plus - text) : strlen(text);
	struct prov_addrs addrs;
	char *end = NULL;
	unsigned long n = plus ? strtoul(plus + 1, &end, 10) : 0;
	if (len >= sizeof host || (plus && (!isdigit((unsigned char)plus[1]) || *end || n > UINT32_MAX)))
		return weft_err_set(err, -EINVAL, "FI_WEFT_ADDR: '%s' is not ADDRESS or ADDRESS+N", text);
	memcpy(host, text, len);
	host[len] = 0;
	if (prov_addr_resolve(host, NULL, FI_NUMERICHOST, &addrs) || prov_ip_is_any(&addrs.addr[0].ip))
		return weft_err_set(err, -EINVAL, "FI_WEFT_ADDR: '%s' is not an IPv4 or IPv6 address", text);
	*base = *ip = addrs.addr[0].ip;
	ip_add(ip, (uint32_t)n);
	return 0;
}

/* Unique among the processes of a host. */
static struct weft_ip ip_default(unsigned index)
{
	return weft_ip_v4(0x0a000000u | (((uint32_t)getpid() + index) & 0xffffffu));
}

static int dev_add(struct prov_conf *conf, const char *devargs, const char *addr, struct weft_err *err)
{
	struct prov_dev *devs = realloc(conf->devs, (conf->count + 1) * sizeof *devs);
	if (!devs)
		return weft_err_set(err, -ENOMEM, "out of memory");
	conf->devs = devs;
	struct prov_dev *dev = &devs[conf->count];
	*dev = (struct prov_dev){.devargs = strdup(devargs), .name = strndup(devargs, strcspn(devargs, ","))};
	conf->count++;
	if (!dev->devargs || !dev->name)
		return weft_err_set(err, -ENOMEM, "out of memory");
	if (prov_conf_find(conf, dev->name) != dev)
		return weft_err_set(err, -EINVAL, "FI_WEFT_DEVICE: '%s' is named twice", dev->name);
	if (addr)
		return ip_parse(addr, &dev->base, &dev->ip, err);
	dev->base = dev->ip = ip_default(conf->count - 1);
	return 0;
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
		int ret = dev_add(conf, dev, addr, err);
		if (ret)
			return ret;
		addr = addrs ? strtok_r(NULL, ";", &addr_save) : NULL;
	}
	if (addr)
		return weft_err_set(err, -EINVAL, "FI_WEFT_ADDR has more addresses than FI_WEFT_DEVICE devices");
	return 0;
}

int prov_conf_load(struct prov_conf *conf, struct weft_err *err)
{
	*conf = (struct prov_conf){0};
	const char *device = param_str("device"), *addr = param_str("addr");
	if (!device)
		return weft_err_set(err, -ENODATA,
				    "no device: set FI_WEFT_DEVICE, for example to "
				    "net_virtio_user0,path=/tmp/weft0");
	char *devices = NULL, *addrs = NULL, n[16];
	int ret = number_text(device, addr, n, err);
	if (!ret)
		ret = expand(device, n, &devices, err);
	if (!ret && addr)
		ret = expand(addr, n, &addrs, err);
	if (!ret)
		ret = devs_parse(conf, devices, addrs, err);
	free(devices);
	free(addrs);
	return ret;
}

void prov_conf_free(struct prov_conf *conf)
{
	for (unsigned i = 0; i < conf->count; i++) {
		free(conf->devs[i].name);
		free(conf->devs[i].devargs);
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
