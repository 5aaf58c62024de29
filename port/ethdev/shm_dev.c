/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_dev.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_ip.h>

#include "ethdev_edge.h"
#include "ethdev_paths.h"

static void dev_close(struct weft_port *port)
{
	struct ethdev *d = to_ethdev(port);
	neigh_destroy(d->neigh);
	paths_close(d);
	edge_destroy(d->edge);
	d->shm->close(d);
	if (d->rx_fd >= 0)
		close(d->rx_fd);
	free(d);
	ethdev_pool_retire(NULL);
}

static int dev_reach(const struct weft_port *port, const struct weft_ip *ip, struct weft_ip *next_hop)
{
	return neigh_reach((const struct ethdev *)port, ip, next_hop);
}

static void dev_doubt(struct weft_port *port, const struct weft_ip *ip)
{
	neigh_doubt(to_ethdev(port), ip);
}

#define OPS(tx_way)                                                                                                    \
	{                                                                                                              \
		.rx = ethdev_rx, .tx = (tx_way), .alloc = ethdev_alloc, .free = ethdev_free, .close = dev_close,       \
		.reach = dev_reach, .doubt = dev_doubt,                                                                \
	}

static const struct weft_port_ops dev_ops = OPS(ethdev_tx);
static const struct weft_port_ops dev_down_ops = OPS(ethdev_tx_down);

struct ethdev *shm_dev_create(const struct weft_ethdev_conf *conf, struct shm_port *shm)
{
	assert(shm->look != NULL && shm->close != NULL);
	struct ethdev *d = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof *d, RTE_CACHE_LINE_SIZE));
	if (d == NULL)
		return NULL;
	*d = (struct ethdev){
		.port = {.ops = &dev_down_ops},
		.id = RTE_MAX_ETHPORTS,
		.tx_run = ETHDEV_BURST,
		.is_switch = weft_ip_is_any(&conf->ip),
		.no_arp = conf->no_arp,
		.calls_kernel = !weft_ip_is_any(&conf->ip), /* to wake who sleeps */
		.vlan = conf->net.vlan,
		.is_special = true,
		.mac_derived = true,
		.src_low_at = weft_ip_is_v4(&conf->ip) ? offsetof(struct rte_ipv4_hdr, src_addr)
						       : offsetof(struct rte_ipv6_hdr, src_addr) + 12,
		.offloads = WEFT_OFFLOAD_RX_INTERRUPT & ~conf->offloads_off,
		.ip = conf->ip,
		.mac = mac_derive(weft_ip_low32(&conf->ip)),
		.mac_too = mac_derive(weft_ip_low32(&conf->ip)),
		.rx_fd = -1,
		.guard_fds = {-1, -1, -1},
		.tap_fd = -1,
		.steering = {.ports = 1, .queues = 1, .hash = WEFT_HASH_NONE},
		.link = {.state = WEFT_LINK_DOWN,
			 .fd = -1,
			 .ops_up = &dev_ops,
			 .ops_down = &dev_down_ops,
			 .ops_parked = &dev_down_ops},
		.node = SOCKET_ID_ANY,
		.elsewhere = {.refcnt = 1},
		.shm = shm,
	};
	snprintf(d->name, sizeof d->name, "%s", conf->dev);
	shm->link.stats = &d->stats;
	return d;
}

int shm_dev_setup(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	d->neigh = neigh_create(d->node);
	if (d->offloads & WEFT_OFFLOAD_RX_INTERRUPT)
		d->rx_fd = epoll_create1(EPOLL_CLOEXEC);
	if (d->neigh == NULL || (d->offloads != 0 && d->rx_fd < 0))
		return weft_err_set(err, -ENOMEM, "%s: out of memory or of files", conf->dev);
	int rc = edge_create(conf->dev, &conf->net, &d->edge, err);
	return rc == 0 ? paths_open(d, conf, err) : rc;
}

void shm_dev_start(struct ethdev *d, uint32_t ip_bytes)
{
	d->pool = d->shm->link.own;
	d->port.max_ip_bytes = ip_bytes;
}

void shm_dev_up(struct ethdev *d)
{
	d->link.state = WEFT_LINK_UP;
	d->port.ops = d->link.ops_up;
}

int shm_dev_watch(struct ethdev *d, int fd, enum shm_event what)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = what};
	return d->rx_fd < 0 || epoll_ctl(d->rx_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int shm_dev_address(const char *path, struct sockaddr_un *addr, struct weft_err *err)
{
	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof addr->sun_path)
		return weft_err_set(err, -ENAMETOOLONG, "%s: too long for a socket's path", path);
	strcpy(addr->sun_path, path);
	return 0;
}
