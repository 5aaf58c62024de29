/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding or making DPDK devices, setting them up, and closing them. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ip.h>

#include "ethdev_dev.h"
#include "ethdev_priv.h"

enum {
	PKTS_DEFAULT = 8191,
	PKTS_MIN = 64,
	DESC_MAX = 1024,
	QUEUES_MAX = 64,
	IP_BYTES_MIN = 576,
	IP_BYTES_MAX = 65000,
};

/* What we know of each DPDK port; several weft ports may share one, a queue pair each. */
struct slot {
	uint32_t users;
	bool ours;    /* made here: removed with its last user */
	bool started; /* by us: stopped with its last user */
	bool queue_used[QUEUES_MAX];
};

static pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot slots[RTE_MAX_ETHPORTS]; /* under slot_lock */

/* A device by its own name or, for ring pairs, without the driver's prefix. */
static bool dev_find(const char *name, uint16_t *id)
{
	char ring_name[RTE_DEV_NAME_MAX_LEN + 16];
	if (rte_eth_dev_get_port_by_name(name, id) == 0)
		return true;
	snprintf(ring_name, sizeof ring_name, "net_ring_%s", name);
	return rte_eth_dev_get_port_by_name(ring_name, id) == 0;
}

/* Drivers return -1 for everything; the bus does not tell names it does not know from other mistakes. */
static const char *probe_reason(int rc)
{
	if (rc == -1)
		return "its driver refused it";
	return rc == -EFAULT ? "no driver has such a name" : strerror(-rc);
}

/* As a code whose usual text does not mislead who sees nothing else. */
static int probe_code(int rc)
{
	if (rc == -EEXIST)
		return -EBUSY;
	return rc == -1 || rc == -EFAULT ? -ENODEV : rc;
}

/* Makes the device. Probing may fail silently, so only the port itself counts. */
static int dev_create(const struct weft_ethdev_conf *conf, const char *name, uint16_t *id, struct weft_err *err)
{
	char full[ETHDEV_ARGS_MAX];
	struct rte_ether_addr mac = mac_derive(weft_ip_low32(&conf->ip));
	uint32_t ip_bytes = conf->max_ip_bytes != 0 ? conf->max_ip_bytes : (uint32_t)ETHDEV_IP_MAX_BYTES;
	int rc = ethdev_args_complete(conf->dev, ip_bytes, &mac, full, sizeof full, err);
	if (rc != 0)
		return rc;
	rc = rte_dev_probe(full);
	if (rc < 0)
		return weft_err_set(err, probe_code(rc), "%s: cannot create device: %s", full, probe_reason(rc));
	if (rte_eth_dev_get_port_by_name(name, id) != 0)
		return weft_err_set(err, -ENODEV, "%s: no such device, or its driver refused these arguments", full);
	assert(slots[*id].users == 0);
	slots[*id] = (struct slot){.ours = true};
	return 0;
}

static int dev_get(const struct weft_ethdev_conf *conf, uint16_t *id, struct weft_err *err)
{
	const char *devargs = conf->dev;
	char name[RTE_DEV_NAME_MAX_LEN];
	size_t len = devargs != NULL ? strcspn(devargs, ",") : 0;

	if (len == 0 || len >= sizeof name)
		return weft_err_set(err, -EINVAL, "device \"%s\": no valid name", devargs != NULL ? devargs : "");
	memcpy(name, devargs, len);
	name[len] = '\0';
	if (!dev_find(name, id))
		return dev_create(conf, name, id, err);
	if (devargs[len] == ',')
		return weft_err_set(err, -EBUSY, "device %s exists already; give its name alone to use it", name);
	return 0;
}

static void dev_release(uint16_t id)
{
	struct rte_eth_dev_info info;
	if (slots[id].users > 0)
		return;
	if (rte_eth_dev_info_get(id, &info) == 0) {
		ethdev_dev_end(id, &info, slots[id].started, slots[id].ours);
		if (slots[id].ours && info.device != NULL)
			rte_dev_remove(info.device);
	}
	slots[id] = (struct slot){.users = 0};
}

/* Largest IP packet to use. 0 in the configuration: what the device can, up to the default. */
static int ip_bytes_choose(const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info, uint32_t *ip_bytes,
			   struct weft_err *err)
{
	uint32_t most = ethdev_ip_bytes_max(info);
	*ip_bytes = conf->max_ip_bytes != 0 ? conf->max_ip_bytes : RTE_MIN(most, (uint32_t)ETHDEV_IP_MAX_BYTES);
	if (*ip_bytes > most)
		return weft_err_set(err, -EINVAL, "%s: carries IP packets of up to %u bytes, %u were asked for",
				    conf->dev, most, *ip_bytes);
	return 0;
}

static uint16_t desc_count(uint32_t pool_pkts)
{
	uint32_t n = DESC_MAX;
	while (n > pool_pkts / 4)
		n /= 2;
	return (uint16_t)n;
}

static int queues_setup(struct ethdev *d, uint16_t queues, uint16_t desc, struct weft_err *err)
{
	uint16_t rx_desc = desc, tx_desc = desc;
	int rc = rte_eth_dev_adjust_nb_rx_tx_desc(d->id, &rx_desc, &tx_desc);
	if (rc != 0)
		return weft_err_set(err, rc, "%s: queue of %u packets refused: %s", d->name, desc, strerror(-rc));
	for (uint16_t q = 0; q < queues && rc == 0; q++) {
		rc = rte_eth_rx_queue_setup(d->id, q, rx_desc, (unsigned)d->node, NULL, d->pool);
		if (rc == 0)
			rc = rte_eth_tx_queue_setup(d->id, q, tx_desc, (unsigned)d->node, NULL);
	}
	if (rc != 0)
		return weft_err_set(err, rc, "%s: cannot set up queues: %s", d->name, strerror(-rc));
	return 0;
}

static bool wait_link_up(uint16_t id)
{
	enum { WAIT_MS = 200 };
	struct rte_eth_link link = {0};
	for (int i = 0; i < WAIT_MS && link.link_status == RTE_ETH_LINK_DOWN; i++) {
		rte_delay_us_sleep(1000);
		if (rte_eth_link_get_nowait(id, &link) != 0)
			return true; /* nothing to go by */
	}
	return link.link_status != RTE_ETH_LINK_DOWN;
}

/* A memif client connects once, when it is started. A server whose socket is there but which has not started yet hangs
 * up on it, and nothing tells. */
static int start_connected(uint16_t id, const struct rte_eth_dev_info *info)
{
	enum { TRIES = 25 };
	const struct rte_devargs *args = info->device != NULL ? rte_dev_devargs(info->device) : NULL;
	bool client = strcmp(info->driver_name, "net_memif") == 0 && args != NULL && args->args != NULL &&
		      strstr(args->args, "role=client") != NULL;
	int rc = rte_eth_dev_start(id);
	if (!client)
		return rc;
	for (int i = 0; i < TRIES && rc == 0; i++) {
		if (wait_link_up(id))
			return 0;
		rte_eth_dev_stop(id);
		rc = rte_eth_dev_start(id);
	}
	return rc != 0 ? rc : -ENOTCONN;
}

/* First user: configures all queues of an existing device, one queue of a new one. A device the application has
 * started already is used as it is. */
static int dev_start(struct ethdev *d, const struct rte_eth_dev_info *info, uint32_t pool_pkts, struct weft_err *err)
{
	uint16_t queues = slots[d->id].ours ? 1 : RTE_MIN(info->max_rx_queues, info->max_tx_queues);
	struct rte_eth_conf conf = {.rxmode = {.mtu = ethdev_mtu(info, d->port.max_ip_bytes)},
				    .intr_conf = {.rxq = ethdev_has_interrupts(info)}};

	int rc = rte_eth_dev_configure(d->id, queues, queues, &conf);
	if (rc == -EBUSY && !slots[d->id].ours)
		return 0;
	if (rc != 0)
		return weft_err_set(err, rc, "%s: cannot configure: %s", d->name, probe_reason(rc));
	rc = queues_setup(d, queues, desc_count(pool_pkts), err);
	if (rc != 0)
		return rc;
	rc = start_connected(d->id, info);
	if (rc != 0)
		return weft_err_set(err, rc, "%s: cannot start: %s", d->name, strerror(-rc));
	slots[d->id].started = true;
	return 0;
}

static bool ip_is_zero(const struct weft_ip *ip)
{
	static const struct weft_ip zero;
	return weft_ip_eq(ip, &zero) || (weft_ip_is_v4(ip) && weft_ip_low32(ip) == 0);
}

/* A fabric of ours finds members by derived addresses, everybody else asks for the device's; both are accepted. */
static void addresses_choose(struct ethdev *d)
{
	struct rte_ether_addr device, derived = mac_derive(weft_ip_low32(&d->ip));
	if (rte_eth_macaddr_get(d->id, &device) != 0 || rte_is_zero_ether_addr(&device))
		device = derived;
	d->mac = d->no_arp && !d->is_switch ? derived : device;
	d->mac_too = d->no_arp ? device : derived;
	/* Devices that filter need to be told; the others refuse, and need not. */
	if (d->is_switch || d->no_arp)
		rte_eth_promiscuous_enable(d->id);
	if (!weft_ip_is_v4(&d->ip))
		rte_eth_allmulticast_enable(d->id);
}

/* Speeds that virtual devices report are made up. */
static uint64_t link_bps(const struct ethdev *d, const struct rte_eth_dev_info *info)
{
	struct rte_eth_link link;
	if (info->device == NULL || strcmp(rte_bus_name(rte_dev_bus(info->device)), "vdev") == 0 ||
	    rte_eth_link_get_nowait(d->id, &link) != 0 || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
		return 0;
	return link.link_speed * UINT64_C(1000000);
}

static int queue_claim(const struct weft_ethdev_conf *conf, uint16_t id, const struct rte_eth_dev_info *info,
		       struct weft_err *err)
{
	uint16_t queues = slots[id].ours ? 1 : RTE_MIN(info->max_rx_queues, info->max_tx_queues);
	if (conf->queue >= RTE_MIN(queues, (uint16_t)QUEUES_MAX))
		return weft_err_set(err, -EINVAL, "%s: has no queue %u", conf->dev, conf->queue);
	if (slots[id].queue_used[conf->queue])
		return weft_err_set(err, -EBUSY, "%s: queue %u is in use", conf->dev, conf->queue);
	return 0;
}

static int dev_setup(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	struct rte_eth_dev_info info;
	uint32_t pool_pkts = conf->pool_pkts != 0 ? conf->pool_pkts : PKTS_DEFAULT;

	int rc = rte_eth_dev_info_get(d->id, &info);
	if (rc != 0)
		return weft_err_set(err, rc, "%s: tells nothing about itself: %s", conf->dev, strerror(-rc));
	d->copies = ethdev_copies(&info);
	rc = queue_claim(conf, d->id, &info, err);
	if (rc == 0)
		rc = ip_bytes_choose(conf, &info, &d->port.max_ip_bytes, err);
	if (rc == 0)
		rc = ethdev_pool_create(conf->dev, pool_pkts,
					RTE_MAX(d->port.max_ip_bytes, ethdev_rx_buffer_bytes(&info)), d->node, &d->pool,
					err);
	if (rc == 0 && slots[d->id].users == 0)
		rc = dev_start(d, &info, pool_pkts, err);
	if (rc != 0)
		return rc;
	d->port.link_bps = link_bps(d, &info);
	addresses_choose(d);
	if (ethdev_has_interrupts(&info))
		ethdev_wake_init(d);
	d->neigh = neigh_create(d->node);
	if (d->neigh == NULL)
		return weft_err_set(err, -ENOMEM, "%s: no memory for the neighbour table", conf->dev);
	assert(d->queue < QUEUES_MAX && !slots[d->id].queue_used[d->queue]);
	slots[d->id].users++;
	slots[d->id].queue_used[d->queue] = true;
	return 0;
}

static int conf_check(const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	if (conf->max_ip_bytes != 0 && (conf->max_ip_bytes < IP_BYTES_MIN || conf->max_ip_bytes > IP_BYTES_MAX))
		return weft_err_set(err, -EINVAL, "%s: max_ip_bytes %u is outside %d..%d", conf->dev,
				    conf->max_ip_bytes, IP_BYTES_MIN, IP_BYTES_MAX);
	if (conf->pool_pkts != 0 && conf->pool_pkts < PKTS_MIN)
		return weft_err_set(err, -EINVAL, "%s: a pool of %u packets is too small, %d at least", conf->dev,
				    conf->pool_pkts, PKTS_MIN);
	return 0;
}

static void ethdev_release(struct ethdev *d)
{
	neigh_destroy(d->neigh);
	ethdev_wake_fini(d);
	dev_release(d->id);
	/* Last: a device holds packets until it is closed. */
	ethdev_pool_retire(d->pool);
	free(d);
}

static void ethdev_close(struct weft_port *port)
{
	struct ethdev *d = to_ethdev(port);
	sigset_t before;
	ethdev_sigpipe_hold(&before);
	pthread_mutex_lock(&slot_lock);
	assert(slots[d->id].users > 0 && slots[d->id].queue_used[d->queue]);
	slots[d->id].users--;
	slots[d->id].queue_used[d->queue] = false;
	ethdev_release(d);
	pthread_mutex_unlock(&slot_lock);
	ethdev_sigpipe_release(&before);
}

static const struct weft_port_ops ethdev_ops = {
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.alloc = ethdev_alloc,
	.free = ethdev_free,
	.close = ethdev_close,
};

static int open_locked(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	int rc = dev_get(conf, &d->id, err);
	if (rc != 0) {
		free(d);
		return rc;
	}
	rte_eth_dev_get_name_by_port(d->id, d->name);
	d->node = rte_eth_dev_socket_id(d->id);
	rc = dev_setup(d, conf, err);
	if (rc != 0)
		ethdev_release(d);
	return rc;
}

int weft_ethdev_open(const struct weft_ethdev_conf *conf, struct weft_port **out, struct weft_err *err)
{
	int rc = conf_check(conf, err);
	if (rc == 0)
		rc = weft_eal_start(NULL, err);
	if (rc != 0)
		return rc;
	struct ethdev *d = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof *d, RTE_CACHE_LINE_SIZE));
	if (d == NULL)
		return weft_err_set(err, -ENOMEM, "%s: out of memory", conf->dev);
	*d = (struct ethdev){
		.port = {.ops = &ethdev_ops},
		.queue = conf->queue,
		.tx_run = ETHDEV_BURST,
		.is_switch = ip_is_zero(&conf->ip),
		.no_arp = conf->no_arp,
		.src_low_at = weft_ip_is_v4(&conf->ip) ? offsetof(struct rte_ipv4_hdr, src_addr)
						       : offsetof(struct rte_ipv6_hdr, src_addr) + 12,
		.ip = conf->ip,
		.rx_fd = -1,
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
