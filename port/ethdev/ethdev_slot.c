/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_slot.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_dev.h>

#include "ethdev_args.h"
#include "ethdev_dev.h"
#include "ethdev_edge.h"
#include "ethdev_lost.h"
#include "ethdev_mtu.h"
#include "ethdev_offload.h"
#include "ethdev_peer.h"
#include "ethdev_quiet.h"
#include "ethdev_share.h"
#include "ethdev_steer.h"

enum { DESC_MAX = 1024 };

struct slot {
	uint32_t users;
	uint16_t engines;            /* that may share it, as its first user said */
	uint16_t queues;             /* for them */
	uint32_t ip_bytes;           /* longest IP packet */
	uint32_t offloads;           /* it was configured with: enum weft_ethdev_offload */
	bool mtu_is_wanted;          /* or is an error: somebody asked for it, or it was there before */
	struct rte_mempool *rx_pool; /* small receive buffers of all queues; NULL: those of the engines' pools */
	bool ours;                   /* made here: removed with its last user */
	bool started;                /* by us: stopped with its last user */
	char *devargs;               /* what it was made of */
	char *rejoin;                /* with all arguments, to connect again by; NULL: it does not connect */
	enum weft_queue_hash hash;
	struct share *share; /* NULL: one engine alone uses it */
	struct {
		bool in_use;
		struct rte_mempool *pool;
		struct rte_flow *rule;
	} engine[SHARE_ENGINES_MAX];
	uint32_t parked;   /* users that leave the device alone until it is set up anew */
	uint32_t restarts; /* times it was */
};

pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;

static struct slot slots[RTE_MAX_ETHPORTS]; /* under the lock of all devices */

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

/* VFIO maps all memory of EAL for the device, and the kernel counts that as locked. Drivers do not report its refusal.
 */
static void memlock_reason(const char *dev, char *text, size_t size)
{
	struct rlimit limit;

	text[0] = '\0';
	if (geteuid() != 0 && eal_is_pci(dev) && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		snprintf(text, size, "; this user may lock %llu KiB of memory (memlock), VFIO locks all that EAL has",
			 (unsigned long long)limit.rlim_cur / 1024);
}

/* Makes the device. Probing may fail silently, so only the port itself counts. */
static int dev_create(const struct weft_ethdev_conf *conf, const char *name, uint16_t *id, struct weft_err *err)
{
	char full[ETHDEV_ARGS_MAX];
	struct rte_ether_addr mac = mac_derive(weft_ip_low32(&conf->ip));
	uint32_t ip_bytes = conf->max_ip_bytes != 0 ? conf->max_ip_bytes : (uint32_t)ETHDEV_IP_MAX_BYTES;
	int rc = ethdev_args_complete(conf->dev, ip_bytes, &mac, full, sizeof full, err);
	if (rc == 0)
		rc = peer_check(full, err);
	if (rc != 0)
		return rc;
	bool was_quiet = quiet_set(false);
	rc = rte_dev_probe(full);
	quiet_set(was_quiet);
	if (rc < 0) {
		char memlock[128];
		memlock_reason(conf->dev, memlock, sizeof memlock);
		return weft_err_set(err, probe_code(rc), "%s: cannot create device: %s%s", full, probe_reason(rc),
				    memlock);
	}
	if (rte_eth_dev_get_port_by_name(name, id) != 0)
		return weft_err_set(err, -ENODEV, "%s: no such device, or its driver refused these arguments", full);
	assert(slots[*id].users == 0);
	slots[*id] = (struct slot){
		.ours = true, .devargs = strdup(conf->dev), .rejoin = peer_is_awaited(full) ? strdup(full) : NULL};
	return 0;
}

int slot_get(const struct weft_ethdev_conf *conf, uint16_t *id, struct weft_err *err)
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
	bool same = slots[*id].devargs != NULL && strcmp(slots[*id].devargs, devargs) == 0;
	if (devargs[len] == ',' && !same)
		return weft_err_set(err, -EBUSY,
				    "device %s exists already; with other arguments; give its name alone to use it",
				    name);
	return 0;
}

void slot_release(uint16_t id)
{
	struct rte_eth_dev_info info;
	struct slot *s = &slots[id];
	if (s->users > 0)
		return;
	if (rte_eth_dev_info_get(id, &info) == 0) {
		ethdev_dev_end(id, &info, s->started, s->ours);
		if (s->ours && info.device != NULL)
			rte_dev_remove(info.device);
	}
	share_destroy(s->share);
	/* Last: a device holds packets until it is closed. */
	for (unsigned i = 0; i < SHARE_ENGINES_MAX; i++)
		if (s->engine[i].pool != NULL)
			ethdev_pool_retire(s->engine[i].pool);
	ethdev_pool_retire(s->rx_pool);
	free(s->devargs);
	free(s->rejoin);
	*s = (struct slot){.users = 0};
	lost_forget(id);
}

uint16_t slot_engines(const struct weft_ethdev_conf *conf, uint16_t id)
{
	uint16_t wanted = conf->queues != 0 ? conf->queues : (uint16_t)(conf->queue + 1);
	return slots[id].users > 0 ? slots[id].engines : RTE_MIN(wanted, (uint16_t)SHARE_ENGINES_MAX);
}

uint32_t slot_ip_bytes(uint16_t id)
{
	return slots[id].users > 0 ? slots[id].ip_bytes : 0;
}

struct rte_mempool *slot_pool(uint16_t id, uint16_t engine)
{
	assert(engine < SHARE_ENGINES_MAX);
	return slots[id].engine[engine].pool;
}

void slot_give_pool(uint16_t id, uint16_t engine, struct rte_mempool *pool)
{
	assert(engine < SHARE_ENGINES_MAX && slots[id].engine[engine].pool == NULL);
	slots[id].engine[engine].pool = pool;
}

void slot_give_rx_pool(uint16_t id, struct rte_mempool *pool)
{
	assert(slots[id].rx_pool == NULL);
	slots[id].rx_pool = pool;
}

/* Descriptors of a queue: a quarter of its pool fills the receive ring, so that packets remain for everything else. */
static uint16_t desc_count(const struct rte_mempool *pool)
{
	uint32_t n = DESC_MAX;
	while (n > pool->size / 4 && n > 1)
		n /= 2;
	return (uint16_t)n;
}

static int queues_setup(struct ethdev *d, uint16_t queues, struct weft_err *err)
{
	uint16_t desc = desc_count(d->pool), rx_desc = desc, tx_desc = desc;
	int rc = rte_eth_dev_adjust_nb_rx_tx_desc(d->id, &rx_desc, &tx_desc);
	if (rc != 0)
		return weft_err_set(err, rc, "%s: queue of %u packets refused: %s", d->name, desc, strerror(-rc));
	for (uint16_t q = 0; q < queues && rc == 0; q++) {
		rc = rte_eth_rx_queue_setup(d->id, q, rx_desc, (unsigned)d->node, NULL,
					    slots[d->id].rx_pool != NULL ? slots[d->id].rx_pool : slot_pool(d->id, q));
		if (rc == 0)
			rc = rte_eth_tx_queue_setup(d->id, q, tx_desc, (unsigned)d->node, NULL);
	}
	if (rc != 0)
		return weft_err_set(err, rc, "%s: cannot set up %u queues of %u packets: %s", d->name, queues, desc,
				    strerror(-rc));
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

/* -EBUSY of a device that was not made here: its program has started it, and knows what its queues are for. */
static int started_take(struct ethdev *d, const struct rte_eth_dev_info *info, struct weft_err *err)
{
	struct slot *s = &slots[d->id];
	s->queues = RTE_MIN(RTE_MIN(info->nb_rx_queues, info->nb_tx_queues), s->engines);
	if (d->engine >= s->queues)
		return weft_err_set(err, -EINVAL, "%s: has no queue %u; it was started with %u", d->name, d->engine,
				    s->queues);
	s->hash = steer_hash_look(d->id, s->queues, false);
	s->offloads = 0;
	return 0;
}

static int dev_try_start(struct ethdev *d, const struct rte_eth_dev_info *info, struct weft_err *err)
{
	struct slot *s = &slots[d->id];
	uint16_t queues = RTE_MIN(RTE_MIN(info->max_rx_queues, info->max_tx_queues), s->engines);
	struct rte_eth_conf eth = {.rxmode = {.mtu = ethdev_mtu(info, d->port.max_ip_bytes)}};

	offload_ask(s->offloads, info, &eth);
	/* Then asking for the link reads what the driver's interrupt has noted. */
	eth.intr_conf.lsc = s->rejoin != NULL && (*info->dev_flags & RTE_ETH_DEV_INTR_LSC);
	if (d->vlan != 0) /* drivers of virtual functions cannot choose it later */
		eth.rxmode.offloads |= info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	steer_hash_configure(info, queues, &eth);
	int rc = rte_eth_dev_configure(d->id, queues, queues, &eth);
	if (rc == -EBUSY && !s->ours)
		return started_take(d, info, err);
	if (rc != 0)
		return weft_err_set(err, rc, "%s: cannot configure %u queues: %s", d->name, queues, probe_reason(rc));
	rc = mtu_set(d, s->mtu_is_wanted, info, err);
	if (rc == 0)
		rc = queues_setup(d, queues, err);
	if (rc != 0)
		return rc;
	rc = start_connected(d->id, info);
	if (rc != 0)
		return weft_err_set(err, rc, "%s: cannot start: %s", d->name, strerror(-rc));
	s->started = true;
	s->queues = queues;
	s->ip_bytes = d->port.max_ip_bytes;
	s->mtu_is_wanted = true;
	s->hash = steer_hash_look(d->id, queues, true);
	return 0;
}

/* Drivers do not tell whether they have interrupts, those that have none may refuse. */
static int dev_start(struct ethdev *d, const struct rte_eth_dev_info *info, struct weft_err *err)
{
	struct slot *s = &slots[d->id];
	int rc = dev_try_start(d, info, err);
	if (rc == 0 || !(s->offloads & WEFT_OFFLOAD_RX_INTERRUPT) || ethdev_has_interrupts(info) ||
	    ethdev_has_socket(info))
		return rc;
	s->offloads &= ~(uint32_t)WEFT_OFFLOAD_RX_INTERRUPT;
	return dev_try_start(d, info, err);
}

int slot_check_queue(const struct weft_ethdev_conf *conf, uint16_t id, const struct rte_eth_dev_info *info,
		     struct weft_err *err)
{
	const struct slot *s = &slots[id];
	uint16_t engines = slot_engines(conf, id);
	if (info->max_rx_queues == 0 || info->max_tx_queues == 0)
		return weft_err_set(err, -EINVAL, "%s: has no queues", conf->dev);
	if (conf->queue >= engines)
		return weft_err_set(err, -EINVAL, "%s: has no queue %u; %u %s", conf->dev, conf->queue, engines,
				    s->users > 0 ? "were asked for when it was opened first" : "can be had");
	if (s->engine[conf->queue].in_use)
		return weft_err_set(err, -EBUSY, "%s: queue %u is in use", conf->dev, conf->queue);
	if (s->share != NULL && share_has_address(s->share, &conf->ip))
		return weft_err_set(err, -EADDRINUSE, "%s: another queue of it has that address", conf->dev);
	return 0;
}

/* What the first engine on a device brings about. */
static int slot_start(struct ethdev *d, const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info,
		      struct weft_err *err)
{
	struct slot *s = &slots[d->id];
	s->engines = slot_engines(conf, d->id);
	s->ip_bytes = d->port.max_ip_bytes;
	s->offloads = d->offloads;
	s->mtu_is_wanted = conf->max_ip_bytes != 0;
	int rc = dev_start(d, info, err);
	if (rc != 0 || s->engines == 1)
		return rc;
	s->share = share_create(s->engines, d->node);
	if (s->share == NULL)
		return weft_err_set(err, -ENOMEM, "%s: no memory to share it", d->name);
	share_set_queues(s->share, s->queues, s->started);
	return 0;
}

static void rule_add(struct ethdev *d)
{
	struct slot *s = &slots[d->id];
	if (s->started && s->queues > 1 && !d->is_switch)
		s->engine[d->engine].rule = steer_rule_add(d->id, d->queue, &d->ip, d->vlan);
	d->steering = (struct weft_ethdev_steering){.ports = s->engines,
						    .queues = s->queues,
						    .queue = d->queue,
						    .by_rule = s->engine[d->engine].rule != NULL,
						    .hash = s->hash};
}

static void rule_remove(const struct ethdev *d)
{
	struct slot *s = &slots[d->id];
	steer_rule_remove(d->id, s->engine[d->engine].rule);
	s->engine[d->engine].rule = NULL;
}

int slot_join(struct ethdev *d, const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info,
	      struct weft_err *err)
{
	struct slot *s = &slots[d->id];
	int rc = s->users == 0 ? slot_start(d, conf, info, err) : 0;
	if (rc == 0)
		rc = edge_admit(d, conf->net.vlan, info, err);
	if (rc != 0)
		return rc;
	assert(d->engine < s->engines && !s->engine[d->engine].in_use);
	d->queue = d->engine % s->queues;
	rc = s->share != NULL ? share_join(d, s->share) : 0;
	if (rc != 0)
		return weft_err_set(err, rc, "%s: no memory to share it", d->name);
	s->users++;
	d->offloads &= s->offloads;
	s->engine[d->engine].in_use = true;
	rule_add(d);
	atomic_init(&d->link.reset_asked, s->parked > 0); /* the others wait for us, too */
	return 0;
}

static bool awaits_restart(const struct ethdev *d)
{
	return d->link.is_parked && d->link.restarts == slots[d->id].restarts;
}

void slot_leave(struct ethdev *d)
{
	struct slot *s = &slots[d->id];
	assert(s->users > 0 && s->engine[d->engine].in_use);
	rule_remove(d);
	share_leave(d);
	s->users--;
	s->parked -= awaits_restart(d);
	s->engine[d->engine].in_use = false;
}

/* ---- drivers that ask for it ---- */

bool slot_is_set_up(const struct ethdev *d)
{
	return slots[d->id].started;
}

void slot_park(struct ethdev *d)
{
	struct slot *s = &slots[d->id];
	assert(!d->link.is_parked && s->parked < s->users);
	rule_remove(d);
	d->link.is_parked = true;
	d->link.restarts = s->restarts;
	s->parked++;
}

/* Drivers without a reset of their own are stopped and started. Starting restores addresses and modes. */
static int dev_restart(struct ethdev *d, struct weft_err *err)
{
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_reset(d->id);
	if (rc == -ENOTSUP)
		rc = rte_eth_dev_stop(d->id);
	if (rc == 0)
		rc = rte_eth_dev_info_get(d->id, &info);
	return rc == 0 ? dev_start(d, &info, err) : rc;
}

/* virtio-user's driver does not connect again when the process on the other side of its socket has ended, so the device
 * is made anew, under its name and number. Vhost filters no addresses: there are no modes to restore. */
static int dev_rejoin(struct ethdev *d, struct weft_err *err)
{
	struct slot *s = &slots[d->id];
	struct rte_eth_dev_info info;
	uint16_t id;
	if (rte_eth_dev_info_get(d->id, &info) == 0) { /* else an earlier try ended in between */
		ethdev_wake_detach(d);
		ethdev_dev_end(d->id, &info, s->started, true);
		rte_dev_remove(info.device);
	}
	s->started = false;
	int rc = rte_dev_probe(s->rejoin);
	if (rc != 0 || rte_eth_dev_get_port_by_name(d->name, &id) != 0)
		return -ENOTCONN;
	rc = id == d->id ? rte_eth_dev_info_get(id, &info) : -EBUSY;
	if (rc == 0)
		rc = dev_start(d, &info, err);
	if (rc == 0)
		ethdev_wake_attach(d);
	return rc;
}

static int dev_renew(struct ethdev *d, struct weft_err *err)
{
	sigset_t before;
	lost_look(d->id);
	ethdev_sigpipe_hold(&before);
	int rc = slots[d->id].rejoin != NULL ? dev_rejoin(d, err) : dev_restart(d, err);
	ethdev_sigpipe_release(&before);
	lost_look(d->id);
	return rc;
}

bool slot_rejoins(const struct ethdev *d)
{
	return slots[d->id].rejoin != NULL;
}

static bool vlan_readmit(const struct ethdev *d)
{
	struct rte_eth_dev_info info;
	return rte_eth_dev_info_get(d->id, &info) == 0 && edge_admit(d, d->vlan, &info, NULL) == 0;
}

void slot_unpark(struct ethdev *d)
{
	struct slot *s = &slots[d->id];
	assert(d->link.is_parked);
	if (awaits_restart(d) && (s->parked < s->users || (s->rejoin != NULL && !peer_listens(s->rejoin))))
		return;
	if (awaits_restart(d) && dev_renew(d, NULL) == 0) {
		s->restarts++;
		s->parked = 0;
	}
	d->link.is_parked = awaits_restart(d) || !vlan_readmit(d);
	if (d->link.is_parked) {
		d->stats.link_reset_failed++;
		return;
	}
	d->stats.link_resets++;
	rule_add(d);
}
