/* SPDX-License-Identifier: BSD-3-Clause */
#include "switch_port.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "interrupt.h"
#include "socket_path.h"
#include "weft/ethdev.h"

enum {
	EAL_BASE_MIB = 128,     /* queues, tables, drivers' shared rings */
	PKT_EXTRA_BYTES = 1024, /* of an mbuf around the IP packet, and its share of rings */
	SHM_PORT_MIB = 1,       /* metadata of a port's packets, which lie elsewhere */
	IP_BYTES_DEFAULT = 9000,
	IP_BYTES_MIN = 4096, /* drivers want buffers of that size, whatever packets are like */
};

int switch_ports_add(struct switch_ports *p, const char *devargs, struct weft_err *err)
{
	if (p->count == SWITCH_PORTS_MAX)
		return weft_err_set(err, -E2BIG, "more than %d ports", SWITCH_PORTS_MAX);
	if (strlen(devargs) >= SWITCH_DEVARGS_MAX)
		return weft_err_set(err, -ENAMETOOLONG, "port \"%.60s...\": longer than %d characters", devargs,
				    SWITCH_DEVARGS_MAX - 1);
	strcpy(p->devargs[p->count++], devargs);
	return 0;
}

/* Splits "PATH:N". `form` is how --help calls that. */
static int path_count(const char *spec, const char *form, char path[SWITCH_DEVARGS_MAX], uint32_t *n,
		      struct weft_err *err)
{
	const char *colon = strrchr(spec, ':');
	char *end = NULL;
	unsigned long count = colon != NULL ? strtoul(colon + 1, &end, 10) : 0;
	size_t len = colon != NULL ? (size_t)(colon - spec) : 0;

	if (len == 0 || *end != '\0' || count < 1 || count > SWITCH_PORTS_MAX)
		return weft_err_set(err, -EINVAL, "'%.80s' is not %s with N from 1 to %d", spec, form,
				    SWITCH_PORTS_MAX);
	if (len >= sizeof((struct sockaddr_un *)0)->sun_path - 2)
		return weft_err_set(err, -ENAMETOOLONG, "'%.80s...': too long for a socket's path", spec);
	memcpy(path, spec, len);
	path[len] = '\0';
	*n = (uint32_t)count;
	return 0;
}

enum kind { KIND_MEMIF, KIND_VHOST, KIND_SHM };

static int add_many(struct switch_ports *p, const char *spec, enum kind kind, struct weft_err *err)
{
	char path[SWITCH_DEVARGS_MAX], devargs[2 * SWITCH_DEVARGS_MAX];
	uint32_t n = 0;
	int rc = path_count(spec, kind == KIND_MEMIF ? "PATH:N" : "PREFIX:N", path, &n, err);
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		if (kind == KIND_MEMIF)
			snprintf(devargs, sizeof devargs, "net_memif%u,role=server,socket=%s,socket-abstract=no,id=%u",
				 p->count, path, i);
		else if (kind == KIND_VHOST)
			snprintf(devargs, sizeof devargs, "net_vhost%u,iface=%s%u", p->count, path, i);
		else
			snprintf(devargs, sizeof devargs, "shm:%s%u", path, i);
		rc = switch_ports_add(p, devargs, err);
	}
	return rc;
}

int switch_opt_dscp(void *field, const char *value, struct weft_err *err)
{
	return weft_dscp_parse(NULL, value, field, err); /* the option's name is put before it */
}

int switch_ports_add_memif(struct switch_ports *p, const char *spec, struct weft_err *err)
{
	return add_many(p, spec, KIND_MEMIF, err);
}

int switch_ports_add_vhost(struct switch_ports *p, const char *spec, struct weft_err *err)
{
	return add_many(p, spec, KIND_VHOST, err);
}

int switch_ports_add_shm(struct switch_ports *p, const char *spec, struct weft_err *err)
{
	return add_many(p, spec, KIND_SHM, err);
}

static uint32_t shm_ports(const struct switch_ports *p)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->count; i++)
		n += weft_ethdev_shm_path(p->devargs[i]) != NULL;
	return n;
}

bool switch_ports_share_all(const struct switch_ports *p)
{
	return shm_ports(p) == p->count;
}

/* The path this port will listen on; false: none. */
static bool listens_on(const char *devargs, char path[SWITCH_DEVARGS_MAX])
{
	if (weft_ethdev_shm_path(devargs) != NULL)
		return strcpy(path, weft_ethdev_shm_path(devargs)) != NULL;
	if (strncmp(devargs, "net_vhost", 9) == 0)
		return strstr(devargs, ",client=1") == NULL &&
		       weft_ethdev_arg(devargs, "iface", path, SWITCH_DEVARGS_MAX);
	return strncmp(devargs, "net_memif", 9) == 0 && strstr(devargs, ",role=server") != NULL &&
	       strstr(devargs, ",socket-abstract=no") != NULL &&
	       weft_ethdev_arg(devargs, "socket", path, SWITCH_DEVARGS_MAX);
}

static int paths_make_free(const struct switch_ports *p, struct weft_err *err)
{
	char path[SWITCH_DEVARGS_MAX];
	int rc = 0;
	for (uint32_t i = 0; i < p->count && rc == 0; i++)
		if (listens_on(p->devargs[i], path))
			rc = socket_path_make_free(path, &p->user, err);
	return rc;
}

static int eal_start(const struct switch_ports *p, uint32_t ip_bytes, uint32_t pool_pkts, struct weft_err *err)
{
	char args[sizeof WEFT_EAL_ALONE + 32];
	uint32_t largest = ip_bytes != 0 ? ip_bytes : IP_BYTES_DEFAULT;
	uint64_t pkt_bytes = (largest > IP_BYTES_MIN ? largest : IP_BYTES_MIN) + PKT_EXTRA_BYTES;
	uint32_t shared = shm_ports(p);
	uint64_t pkts = (p->count - shared) * (uint64_t)pool_pkts + (p->uplink != NULL ? p->uplink->pool_pkts : 0);
	snprintf(args, sizeof args, "%s -m %u", WEFT_EAL_ALONE,
		 (unsigned)(EAL_BASE_MIB + shared * SHM_PORT_MIB + (pkts * pkt_bytes >> 20)));
	return weft_eal_start(getenv("WEFT_EAL_ARGS") != NULL ? NULL : args, err);
}

/* Sockets are made by their user's rights; a NIC takes those that this process has. */
static int port_open(struct switch_ports *p, uint32_t i, uint32_t ip_bytes, uint32_t pool_pkts, struct weft_err *err)
{
	char path[SWITCH_DEVARGS_MAX];
	struct weft_ethdev_conf conf = {
		.dev = p->devargs[i], .max_ip_bytes = ip_bytes, .pool_pkts = pool_pkts, .net = {.dscp = p->dscp}};
	bool listens = listens_on(p->devargs[i], path);
	if (i == 0 && p->uplink != NULL)
		conf = *p->uplink;
	else if (p->uplink != NULL)
		conf.max_ip_bytes = p->port[0]->max_ip_bytes;
	if (listens)
		switch_user_files_begin(&p->user);
	int rc = weft_ethdev_open(&conf, &p->port[i], err);
	if (listens)
		switch_user_files_end(&p->user);
	return rc;
}

/* All of them at once: what they share is one memory. */
static int shm_ports_open(struct switch_ports *p, uint32_t ip_bytes, struct weft_err *err)
{
	const char *paths[SWITCH_PORTS_MAX];
	struct weft_port *ports[SWITCH_PORTS_MAX];
	struct weft_ethdev_shm_conf conf = {.paths = paths, .max_ip_bytes = ip_bytes, .dscp = p->dscp};
	uint32_t next = 0;
	for (uint32_t i = 0; i < p->count; i++)
		if (weft_ethdev_shm_path(p->devargs[i]) != NULL)
			paths[conf.count++] = weft_ethdev_shm_path(p->devargs[i]);
	if (conf.count == 0)
		return 0;
	switch_user_files_begin(&p->user);
	int rc = weft_ethdev_shm_serve(&conf, ports, err);
	switch_user_files_end(&p->user);
	for (uint32_t i = 0; rc == 0 && i < p->count; i++)
		if (weft_ethdev_shm_path(p->devargs[i]) != NULL)
			p->port[i] = ports[next++];
	return rc;
}

/* What comes from a port with shared buffers leaves through others as it lies there: a driver that hands memory to a
 * device, or to another process, would have to make that memory known first. */
static int mix_check(const struct switch_ports *p, struct weft_err *err)
{
	for (uint32_t i = 0; i < p->count && shm_ports(p) > 0; i++)
		if (weft_ethdev_shm_path(p->devargs[i]) == NULL &&
		    !(weft_ethdev_offloads(p->port[i]) & WEFT_OFFLOAD_TX_SEGMENTS))
			return weft_err_set(err, -ENOTSUP,
					    "%s: sends packets from its own memory alone, so that it "
					    "cannot be a port beside those of --shm",
					    p->devargs[i]);
	return 0;
}

int switch_ports_open(struct switch_ports *p, uint32_t ip_bytes, uint32_t pool_pkts, struct weft_err *err)
{
	/* Connecting takes the right to write: users outside the group, by the umask, never have it. */
	umask(umask(S_IRWXO) | S_IRWXO);
	int rc = paths_make_free(p, err);
	if (rc == 0)
		rc = eal_start(p, ip_bytes, pool_pkts, err);
	if (rc == 0)
		rc = shm_ports_open(p, ip_bytes, err);
	for (uint32_t i = 0; i < p->count && rc == 0; i++)
		if (p->port[i] == NULL)
			rc = port_open(p, i, ip_bytes, pool_pkts, err);
	if (rc == 0)
		rc = mix_check(p, err);
	if (rc == 0)
		rc = switch_user_become(&p->user, err);
	/* DPDK's thread for vhost-user waits for the sockets that it knew when it began to wait, for a second: who
	 * connects to another one would have to wait as long (lib/vhost/fd_man.c). */
	if (rc == 0)
		interrupt_threads("vhost-events");
	else
		switch_ports_close(p);
	return rc;
}

void switch_ports_close(struct switch_ports *p)
{
	char path[SWITCH_DEVARGS_MAX];
	for (uint32_t i = 0; i < p->count; i++)
		if (p->port[i] != NULL)
			p->port[i]->ops->close(p->port[i]);
	/* Not every driver cleans up after itself. */
	for (uint32_t i = 0; i < p->count; i++)
		if (p->port[i] != NULL && listens_on(p->devargs[i], path))
			unlink(path);
	memset(p->port, 0, sizeof p->port);
}
