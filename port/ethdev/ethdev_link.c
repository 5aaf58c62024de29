/* SPDX-License-Identifier: BSD-3-Clause */
/* The link of a port: whether it is up, how fast it is. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include "ethdev_priv.h"
#include "ethdev_quiet.h"
#include "ethdev_removal.h"
#include "ethdev_reset.h"
#include "ethdev_slot.h"
#include "ethdev_xdp.h"
#include "shm_port.h"
#include "weft/kernel_if.h"

enum { WAIT_LOOK_US = 10000 };

/* A system call, or nothing; registers of a NIC, some behind a slow bus. */
#define LOOK_SOON_NS   WEFT_MS(100)
#define LOOK_DEVICE_NS WEFT_S(1)
#define LOOK_SHM_NS    WEFT_MS(10)

/* Virtual devices report speeds that are made up. */
static bool is_virtual(const struct rte_eth_dev_info *info)
{
	return info->device == NULL || strcmp(rte_bus_name(rte_dev_bus(info->device)), "vdev") == 0;
}

/* 0: unknown. */
static uint64_t interface_bps(const char *iface)
{
	struct weft_if info;
	return weft_if_read(iface, &info, NULL) == 0 && info.has_carrier ? info.link_bps : 0;
}

/* Bits per second; 0: unknown. */
static uint64_t speed_bps(const struct rte_eth_link *link)
{
	bool known = link->link_speed != RTE_ETH_SPEED_NUM_UNKNOWN && link->link_status == RTE_ETH_LINK_UP;
	return known ? link->link_speed * UINT64_C(1000000) : 0;
}

static uint64_t bps_now(const struct ethdev *d)
{
	struct rte_eth_link link;
	if (d->iface[0] != '\0')
		return interface_bps(d->iface);
	if (d->shm != NULL)
		return 0;
	return rte_eth_link_get_nowait(d->id, &link) == 0 ? speed_bps(&link) : 0;
}

/* Another interface may have taken the name. The thread may be in another network namespace than when it opened the
 * port; the socket is not. */
static enum weft_link_state interface_state(const struct ethdev *d)
{
	struct ifreq req = {.ifr_ifindex = 0};
	if (d->link.fd < 0)
		return d->link.state;
	snprintf(req.ifr_name, sizeof req.ifr_name, "%s", d->iface);
	if (ioctl(d->link.fd, SIOCGIFINDEX, &req) != 0 || (unsigned)req.ifr_ifindex != d->link.index ||
	    ioctl(d->link.fd, SIOCGIFFLAGS, &req) != 0)
		return WEFT_LINK_REMOVED;
	return (req.ifr_flags & IFF_UP) && (req.ifr_flags & IFF_RUNNING) ? WEFT_LINK_UP : WEFT_LINK_DOWN;
}

static enum weft_link_state device_state(const struct ethdev *d)
{
	struct rte_eth_link link;
	if (atomic_load_explicit(&d->link.removal_asked, memory_order_acquire) || rte_eth_dev_is_removed(d->id))
		return WEFT_LINK_REMOVED;
	if (rte_eth_link_get_nowait(d->id, &link) != 0)
		return d->link.state;
	return link.link_status == RTE_ETH_LINK_UP ? WEFT_LINK_UP : WEFT_LINK_DOWN;
}

/* Drivers must not be given packets for a link that is down: their rings fill, and some wait for room. Nor must a
 * device that is gone, or being set up, be asked for any. */
static void ops_set(struct ethdev *d)
{
	d->port.ops = d->link.state == WEFT_LINK_UP ? d->link.ops_up : d->link.ops_down;
	if (d->link.is_parked || d->link.state == WEFT_LINK_REMOVED)
		d->port.ops = d->link.ops_parked;
}

static void state_set(struct ethdev *d, enum weft_link_state state)
{
	d->stats.link_downs += d->link.state == WEFT_LINK_UP && state != WEFT_LINK_UP;
	d->link.state = state;
	atomic_fetch_add_explicit(&d->link.changes, 1, memory_order_relaxed);
	d->port.link_bps = state == WEFT_LINK_UP ? bps_now(d) : 0;
	d->announce_at = 0; /* switches forget where we are */
	if (d->link.changed != NULL)
		d->link.changed(d->link.changed_arg, state);
}

static void look(struct ethdev *d, weft_ns now)
{
	bool is_iface = d->iface[0] != '\0', is_parked = reset_look(d), is_near = is_iface || d->link.rejoins;
	enum weft_link_state state = WEFT_LINK_DOWN;
	if (!is_parked)
		state = is_iface ? interface_state(d) : device_state(d);
	d->link.look_at_ns = now + (is_near || is_parked ? LOOK_SOON_NS : LOOK_DEVICE_NS);
	if (state == WEFT_LINK_REMOVED)
		d->link.look_at_ns = WEFT_NEVER;
	if (state == WEFT_LINK_DOWN && d->link.rejoins && !is_parked)
		atomic_store_explicit(&d->link.reset_asked, true, memory_order_relaxed);
	if (state != d->link.state || (state == WEFT_LINK_UP && bps_now(d) != d->port.link_bps))
		state_set(d, state);
	ops_set(d);
}

static void look_shm(struct ethdev *d, weft_ns now)
{
	enum weft_link_state state = d->shm->look(d, now);
	d->link.look_at_ns = now + LOOK_SHM_NS;
	if (state != d->link.state)
		state_set(d, state);
	ops_set(d);
}

void ethdev_periodic(struct ethdev *d, weft_ns now)
{
	if (now >= d->link.look_at_ns && d->shm != NULL)
		look_shm(d, now);
	else if (now >= d->link.look_at_ns)
		look(d, now);
	d->periodic_at = WEFT_NEVER;
	if (d->port.ops != d->link.ops_parked) {
		neigh_periodic(d, now);
		xdp_tap_poll(d, now);
	}
	d->periodic_at = RTE_MIN(d->periodic_at, d->link.look_at_ns);
}

/* Until the link is up or `wait_ns` are over. */
static void device_wait(const struct ethdev *d, weft_ns wait_ns)
{
	weft_ns end = weft_clock_ns() + wait_ns;
	while (device_state(d) == WEFT_LINK_DOWN && weft_clock_ns() < end)
		rte_delay_us_sleep(WAIT_LOOK_US);
}

bool weft_ethdev_calls_kernel(const struct weft_port *port)
{
	return ((const struct ethdev *)port)->calls_kernel;
}

bool weft_ethdev_has_link(const struct weft_port *port)
{
	const struct ethdev *d = (const struct ethdev *)port;
	struct rte_eth_link link;
	if (d->shm != NULL)
		return d->link.state == WEFT_LINK_UP;
	if (d->id >= RTE_MAX_ETHPORTS || rte_eth_link_get_nowait(d->id, &link) != 0)
		return true; /* one end of rings is no device */
	return link.link_status == RTE_ETH_LINK_UP;
}

void ethdev_link_init(struct ethdev *d, const struct rte_eth_dev_info *info, weft_ns wait_ns)
{
	bool is_iface = d->iface[0] != '\0';
	d->link.state = WEFT_LINK_UP;
	d->port.link_bps = 0;
	d->calls_kernel = !d->is_switch && (is_iface || is_virtual(info));
	d->link.rejoins = slot_rejoins(d);
	if (d->link.rejoins) {
		d->link.look_at_ns = 0;
		quiet_set(true);
	}
	if (d->is_switch || (!is_iface && d->calls_kernel))
		return;
	d->link.index = is_iface ? if_nametoindex(d->iface) : 0;
	d->link.fd = is_iface ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	if (!is_iface)
		device_wait(d, wait_ns);
	d->link.look_at_ns = 0; /* the first poll tells of a link that is down */
	d->port.link_bps = bps_now(d);
	if (is_iface)
		return;
	reset_watch(d);
	removal_watch(d, rte_dev_name(info->device));
}

void ethdev_link_fini(struct ethdev *d)
{
	reset_unwatch(d);
	removal_unwatch(d);
	if (d->link.fd >= 0)
		close(d->link.fd);
	d->link.fd = -1;
}
