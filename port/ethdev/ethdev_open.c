/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing ports. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_ip.h>

#include "ethdev_dev.h"
#include "ethdev_edge.h"
#include "ethdev_guest.h"
#include "ethdev_iface.h"
#include "ethdev_mtu.h"
#include "ethdev_offload.h"
#include "ethdev_paths.h"
#include "ethdev_priv.h"
#include "ethdev_slot.h"
#include "ethdev_xdp.h"
#include "shm_client.h"
#include "shm_port.h"

enum {
	PKTS_DEFAULT = 8191,
	PKTS_MIN = 64,
	PKTS_SHORT = 1023, /* enough for one engine, when memory is short */
	/* By default: a dozen ports fit EAL's memory. Without hugepages a packet takes 4 KiB when the pool is made. */
	POOL_BYTES_MAX = 24 << 20,
	IP_BYTES_MIN = 576,
	IP_BYTES_MAX = 65000,
	RX_BUFFER_MIN = 256,
};

/* A fabric of ours finds members by derived addresses, everybody else asks for the device's; both are accepted. */
static void addresses_choose(struct ethdev *d)
{
	struct rte_ether_addr device, derived = mac_derive(weft_ip_low32(&d->ip));
	if (rte_eth_macaddr_get(d->id, &device) != 0 || rte_is_zero_ether_addr(&device))
		device = derived;
	d->mac = d->no_arp && !d->is_switch ? derived : device;
	d->mac_too = d->no_arp ? device : derived;
	d->mac_derived = rte_is_same_ether_addr(&d->mac, &derived);
	/* Devices that filter need to be told; the others refuse, and need not. */
	if (d->is_switch || d->no_arp)
		rte_eth_promiscuous_enable(d->id);
	if (!weft_ip_is_v4(&d->ip))
		rte_eth_allmulticast_enable(d->id);
}

/* Unless the caller chose a number of packets, it is what memory allows. */
static int pool_choose(struct ethdev *d, const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info,
		       struct weft_err *err)
{
	const struct ethdev_pool_want want = {
		.dev = conf->dev,
		.ip_bytes = RTE_MAX(d->port.max_ip_bytes, ethdev_rx_buffer_bytes(info)),
		.elem_bytes_max = ethdev_elem_bytes_max(info),
		.node = d->node,
	};
	uint32_t pkts = conf->pool_pkts != 0 ? conf->pool_pkts
					     : RTE_MIN((uint32_t)PKTS_DEFAULT, POOL_BYTES_MAX / want.ip_bytes);
	int rc = ethdev_pool_create(&want, pkts, &d->pool, err);
	for (; rc == -ENOMEM && conf->pool_pkts == 0 && pkts > PKTS_SHORT;
	     rc = ethdev_pool_create(&want, pkts, &d->pool, err))
		pkts /= 2;
	return rc;
}

/* The first engine on a device brings packets for all that may share it. */
static int pools_take(struct ethdev *d, const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info,
		      struct weft_err *err)
{
	int rc = 0;
	for (uint16_t i = 0; i < slot_engines(conf, d->id) && rc == 0; i++) {
		if (slot_pool(d->id, i) != NULL)
			continue;
		rc = pool_choose(d, conf, info, err);
		if (rc == 0)
			slot_give_pool(d->id, i, d->pool);
	}
	if (rc == 0)
		d->pool = slot_pool(d->id, d->engine);
	return rc;
}

/* Likewise for all. */
static int rx_pool_choose(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	const struct ethdev_pool_want want = {.dev = conf->dev, .buffer_bytes = conf->rx_buffer_bytes, .node = d->node};
	struct rte_mempool *pool;
	bool is_first = slot_ip_bytes(d->id) == 0;
	if (conf->rx_buffer_bytes == 0 || !is_first)
		return 0;
	int rc = ethdev_pool_create(&want, d->pool->size * slot_engines(conf, d->id), &pool, err);
	if (rc == 0)
		slot_give_rx_pool(d->id, pool);
	return rc;
}

static int dev_setup(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	struct rte_eth_dev_info info;

	int rc = rte_eth_dev_info_get(d->id, &info);
	if (rc != 0)
		return weft_err_set(err, rc, "%s: tells nothing about itself: %s", conf->dev, strerror(-rc));
	rc = slot_check_queue(conf, d->id, &info, err);
	if (rc == 0)
		rc = offload_choose(conf, &info, &d->offloads, err);
	if (rc == 0)
		rc = mtu_choose(conf, &info, slot_ip_bytes(d->id), &d->port.max_ip_bytes, err);
	if (rc == 0)
		rc = pools_take(d, conf, &info, err);
	if (rc == 0)
		rc = rx_pool_choose(d, conf, err);
	if (rc != 0)
		return rc;
	d->neigh = neigh_create(d->node);
	if (d->neigh == NULL)
		return weft_err_set(err, -ENOMEM, "%s: no memory for the neighbour table", conf->dev);
	rc = edge_create(conf->dev, &conf->net, &d->edge, err);
	if (rc == 0)
		rc = paths_open(d, conf, err);
	if (rc == 0)
		rc = slot_join(d, conf, &info, err);
	if (rc != 0)
		return rc;
	d->copies = d->offloads & WEFT_OFFLOAD_TX_SEGMENTS;
	d->is_special = d->edge != NULL || d->share != NULL;
	ethdev_link_init(d, &info, conf->link_wait_ns);
	addresses_choose(d);
	if (!guest_watch(d, &info))
		return weft_err_set(err, -ENOMEM, "%s: out of memory", conf->dev);
	ethdev_wake_init(d, &info);
	return 0;
}

static int conf_check(const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	if (conf->max_ip_bytes != 0 && (conf->max_ip_bytes < IP_BYTES_MIN || conf->max_ip_bytes > IP_BYTES_MAX))
		return weft_err_set(err, -EINVAL, "%s: max_ip_bytes %u is outside %d..%d", conf->dev,
				    conf->max_ip_bytes, IP_BYTES_MIN, IP_BYTES_MAX);
	if (conf->rx_buffer_bytes != 0 &&
	    (conf->rx_buffer_bytes < RX_BUFFER_MIN || conf->rx_buffer_bytes > IP_BYTES_MAX))
		return weft_err_set(err, -EINVAL, "%s: rx_buffer_bytes %u is outside %d..%d", conf->dev,
				    conf->rx_buffer_bytes, RX_BUFFER_MIN, IP_BYTES_MAX);
	if (conf->pool_pkts != 0 && conf->pool_pkts < PKTS_MIN)
		return weft_err_set(err, -EINVAL, "%s: a pool of %u packets is too small, %d at least", conf->dev,
				    conf->pool_pkts, PKTS_MIN);
	return 0;
}

/* Everything but `d` itself, which may try another device then. */
static void device_release(struct ethdev *d)
{
	neigh_destroy(d->neigh);
	paths_close(d);
	edge_destroy(d->edge);
	ethdev_wake_fini(d);
	guest_unwatch(d);
	slot_release(d->id);
	ethdev_pool_retire(NULL);
	d->neigh = NULL;
	d->edge = NULL;
	d->pool = NULL;
}

static void fds_close(struct ethdev *d)
{
	iface_unguard(d->guard_fds);
	if (d->tap_fd >= 0)
		close(d->tap_fd);
}

static void ethdev_free_all(struct ethdev *d)
{
	fds_close(d);
	free(d->proxied);
	free(d);
}

static void ethdev_release(struct ethdev *d)
{
	device_release(d);
	ethdev_link_fini(d);
	ethdev_free_all(d);
}

static void ethdev_close(struct weft_port *port)
{
	struct ethdev *d = to_ethdev(port);
	sigset_t before;
	ethdev_sigpipe_hold(&before);
	pthread_mutex_lock(&slot_lock);
	slot_leave(d);
	ethdev_release(d);
	pthread_mutex_unlock(&slot_lock);
	ethdev_sigpipe_release(&before);
}

static int ethdev_reach(const struct weft_port *port, const struct weft_ip *ip, struct weft_ip *next_hop)
{
	return neigh_reach((const struct ethdev *)port, ip, next_hop);
}

static void ethdev_doubt(struct weft_port *port, const struct weft_ip *ip)
{
	neigh_doubt(to_ethdev(port), ip);
}

/* The states of a link differ in how packets come and go. */
#define OPS(rx_way, tx_way)                                                                                            \
	{                                                                                                              \
		.rx = (rx_way), .tx = (tx_way), .alloc = ethdev_alloc, .free = ethdev_free, .close = ethdev_close,     \
		.reach = ethdev_reach, .doubt = ethdev_doubt,                                                          \
	}

static const struct weft_port_ops ethdev_ops = OPS(ethdev_rx, ethdev_tx);
static const struct weft_port_ops ethdev_down_ops = OPS(ethdev_rx, ethdev_tx_down);
static const struct weft_port_ops ethdev_parked_ops = OPS(ethdev_rx_parked, ethdev_tx_down);

static int device_open(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	int rc = slot_get(conf, &d->id, err);
	if (rc != 0)
		return rc;
	rte_eth_dev_get_name_by_port(d->id, d->name);
	d->node = rte_eth_dev_socket_id(d->id);
	rc = dev_setup(d, conf, err);
	if (rc != 0)
		device_release(d);
	return rc;
}

/* By AF_XDP. The program's file is needed while the device is made. */
static int xdp_open(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	char devargs[ETHDEV_ARGS_MAX];
	struct weft_ethdev_conf way = *conf;
	struct xdp_facts facts;
	struct weft_if info;
	int program_fd;
	int rc = conf->proxied_count == 0 ? xdp_look(conf, &info, &facts, err)
					  : weft_err_set(err, -ENOTSUP, "there are further addresses behind it");
	if (rc == 0)
		rc = xdp_judge(&facts, err);
	if (rc == 0)
		rc = xdp_program_open(&conf->ip, &program_fd, err);
	if (rc != 0)
		return rc;
	xdp_devargs(conf->dev, program_fd, devargs, sizeof devargs);
	way.dev = devargs;
	rc = iface_tap(conf->dev, &d->tap_fd, err);
	if (rc == 0)
		rc = device_open(d, &way, err);
	close(program_fd);
	if (rc == 0 || d->tap_fd < 0)
		return rc;
	close(d->tap_fd);
	d->tap_fd = -1;
	return rc;
}

/* The first way that works. */
static int interface_open(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	char devargs[ETHDEV_ARGS_MAX];
	struct weft_ethdev_conf way = *conf;
	struct weft_err why;
	snprintf(d->iface, sizeof d->iface, "%s", conf->dev);
	way.dev = devargs;
	int rc = d->is_switch ? 0 : iface_guard(d->iface, &conf->ip, d->guard_fds, err);
	if (rc != 0)
		return rc;
	rc = xdp_open(d, conf, &why);
	if (rc == 0)
		return 0;
	if (!d->is_switch)
		weft_err_set(&d->note, 0, "%s: by packet sockets, which are slower than AF_XDP: %s", conf->dev,
			     why.msg);
	for (unsigned i = 0;
	     rc != 0 && rc != -EBUSY && rc != -EADDRINUSE && iface_devargs(d->iface, i, devargs, sizeof devargs); i++)
		rc = device_open(d, &way, err);
	if (rc == 0 && !d->is_switch)
		iface_filter(d->iface);
	return rc;
}

static int proxied_copy(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	if (conf->proxied_count == 0)
		return 0;
	d->proxied = malloc(conf->proxied_count * sizeof *d->proxied);
	if (d->proxied == NULL)
		return weft_err_set(err, -ENOMEM, "%s: out of memory", conf->dev);
	memcpy(d->proxied, conf->proxied, conf->proxied_count * sizeof *d->proxied);
	d->proxied_count = conf->proxied_count;
	return 0;
}

static int open_locked(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	int rc = proxied_copy(d, conf, err);
	if (rc == 0)
		rc = iface_named(conf->dev) ? interface_open(d, conf, err) : device_open(d, conf, err);
	if (rc == 0)
		return 0;
	ethdev_free_all(d);
	return rc;
}

int weft_ethdev_open(const struct weft_ethdev_conf *conf, struct weft_port **out, struct weft_err *err)
{
	int rc = conf_check(conf, err);
	if (rc == 0)
		rc = weft_eal_start_for(&conf->dev, conf->dev != NULL, false, err);
	if (rc != 0)
		return rc;
	if (weft_ethdev_shm_path(conf->dev) != NULL)
		return shm_client_open(conf, out, err);
	struct ethdev *d = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof *d, RTE_CACHE_LINE_SIZE));
	if (d == NULL)
		return weft_err_set(err, -ENOMEM, "%s: out of memory", conf->dev);
	*d = (struct ethdev){
		.port = {.ops = &ethdev_ops},
		.engine = conf->queue,
		.tx_run = ETHDEV_BURST,
		.is_switch = weft_ip_is_any(&conf->ip),
		.no_arp = conf->no_arp,
		.vlan = conf->net.vlan,
		.src_low_at = weft_ip_is_v4(&conf->ip) ? offsetof(struct rte_ipv4_hdr, src_addr)
						       : offsetof(struct rte_ipv6_hdr, src_addr) + 12,
		.ip = conf->ip,
		.rx_fd = -1,
		.guard_fds = {-1, -1, -1},
		.tap_fd = -1,
		.link = {.look_at_ns = WEFT_NEVER,
			 .fd = -1,
			 .ops_up = &ethdev_ops,
			 .ops_down = &ethdev_down_ops,
			 .ops_parked = &ethdev_parked_ops},
		.node = SOCKET_ID_ANY,
		.elsewhere = {.refcnt = 1},
	};
	sigset_t before;
	ethdev_sigpipe_hold(&before);
	pthread_mutex_lock(&slot_lock);
	rc = open_locked(d, conf, err);
	pthread_mutex_unlock(&slot_lock);
	ethdev_sigpipe_release(&before);
	if (rc == 0)
		*out = &d->port;
	return rc;
}
