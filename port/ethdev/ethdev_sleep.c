/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping until packets arrive. Interrupts are on only during the sleep, so polling costs the peer nothing. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_epoll.h>
#include <rte_ethdev.h>

#include "ethdev_dev.h"
#include "ethdev_guest.h"
#include "ethdev_iface.h"
#include "ethdev_priv.h"
#include "shm_port.h"

enum { SLEEP_PORTS_MAX = 64, UNWOKEN_MAX = 4 };

struct found {
	unsigned count;
	int fd;
};

static void note_socket(int fd, void *arg)
{
	struct found *found = arg;
	found->count++;
	found->fd = fd;
}

/* Of several sockets nothing tells which one is the queue's. */
static bool socket_add(int epoll_fd, unsigned if_index)
{
	struct found found = {0};
	struct epoll_event event = {.events = EPOLLIN};
	iface_each_socket(if_index, note_socket, &found);
	return found.count == 1 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, found.fd, &event) == 0;
}

void ethdev_wake_init(struct ethdev *d, const struct rte_eth_dev_info *info)
{
	assert(d->rx_fd < 0);
	if (!(d->offloads & WEFT_OFFLOAD_RX_INTERRUPT))
		return;
	/* Interrupts of one queue do not tell of what comes to the others. */
	int fd = d->share == NULL ? epoll_create1(EPOLL_CLOEXEC) : -1;
	d->rx_fd_is_socket = ethdev_has_socket(info);
	if (fd >= 0 &&
	    (d->rx_fd_is_socket ? socket_add(fd, info->if_index)
				: rte_eth_dev_rx_intr_ctl_q(d->id, d->queue, fd, RTE_INTR_EVENT_ADD, NULL) == 0)) {
		d->rx_fd = fd;
		return;
	}
	d->offloads &= ~(uint32_t)WEFT_OFFLOAD_RX_INTERRUPT;
	if (fd >= 0)
		close(fd);
}

void ethdev_wake_fini(struct ethdev *d)
{
	if (d->rx_fd < 0)
		return;
	if (!d->rx_fd_is_socket)
		rte_eth_dev_rx_intr_ctl_q(d->id, d->queue, d->rx_fd, RTE_INTR_EVENT_DEL, NULL);
	close(d->rx_fd);
	d->rx_fd = -1;
}

static bool has_interrupt(const struct ethdev *d)
{
	return d->rx_fd >= 0 && !d->rx_fd_is_socket && d->shm == NULL;
}

void ethdev_wake_detach(struct ethdev *d)
{
	if (has_interrupt(d))
		rte_eth_dev_rx_intr_ctl_q(d->id, d->queue, d->rx_fd, RTE_INTR_EVENT_DEL, NULL);
}

void ethdev_wake_attach(struct ethdev *d)
{
	if (!has_interrupt(d) || rte_eth_dev_rx_intr_ctl_q(d->id, d->queue, d->rx_fd, RTE_INTR_EVENT_ADD, NULL) == 0)
		return;
	ethdev_wake_fini(d);
	d->offloads &= ~(uint32_t)WEFT_OFFLOAD_RX_INTERRUPT;
}

static uint32_t link_changes(const struct ethdev *d)
{
	return atomic_load_explicit(&d->link.changes, memory_order_relaxed);
}

/* Who is behind the port now may send the interrupts that somebody before did not. */
static void wake_retry(struct ethdev *d)
{
	struct rte_eth_dev_info info;
	if (d->link.is_parked || link_changes(d) == d->unwoken_by || !guest_enter(d))
		return;
	if (rte_eth_dev_info_get(d->id, &info) == 0) {
		d->wake_is_given_up = false;
		d->unwoken = 0;
		d->offloads |= WEFT_OFFLOAD_RX_INTERRUPT;
		ethdev_wake_init(d, &info);
	}
	guest_leave(d);
}

/* *has_waiting is set when packets are there already, as far as that is known. */
static unsigned wake_arm(struct weft_port *const *ports, unsigned n, struct pollfd *fds, bool *has_waiting)
{
	unsigned armed = 0;
	for (unsigned i = 0; i < n && armed < SLEEP_PORTS_MAX; i++) {
		struct ethdev *d = to_ethdev(ports[i]);
		if (d->wake_is_given_up)
			wake_retry(d);
		if (d->rx_fd < 0)
			continue;
		if (d->shm != NULL) {
			*has_waiting |= shm_port_arm(d);
		} else if (!d->rx_fd_is_socket && !d->link.is_parked && guest_enter(d)) {
			rte_eth_dev_rx_intr_enable(d->id, d->queue);
			guest_leave(d);
		}
		fds[armed++] = (struct pollfd){.fd = d->rx_fd, .events = POLLIN};
	}
	return armed;
}

/* Without interrupts from now on. False: there is nobody to ask. */
static bool disarm(struct ethdev *d, bool *has_waiting)
{
	if (!guest_enter(d))
		return false;
	rte_eth_dev_rx_intr_disable(d->id, d->queue);
	*has_waiting = rte_eth_rx_queue_count(d->id, d->queue) > 0;
	guest_leave(d);
	return true;
}

/* A driver may offer interrupts that never come, and so may a client of vhost's. What waits at the end of one sleep may
 * have come just then. */
static void wake_check(struct ethdev *d, bool woken, bool has_waiting)
{
	if (woken || !has_waiting) {
		d->unwoken = 0;
		return;
	}
	if (d->unwoken == 0)
		d->unwoken_by = link_changes(d);
	if (++d->unwoken < UNWOKEN_MAX)
		return;
	ethdev_wake_fini(d);
	d->offloads &= ~(uint32_t)WEFT_OFFLOAD_RX_INTERRUPT;
	d->wake_is_given_up = true;
}

static void wake_disarm(struct weft_port *const *ports, unsigned n)
{
	struct rte_epoll_event event;
	for (unsigned i = 0; i < n; i++) {
		struct ethdev *d = to_ethdev(ports[i]);
		if (d->shm != NULL)
			shm_port_disarm(d);
		if (!has_interrupt(d) || d->link.is_parked)
			continue;
		bool has_waiting = false, has_guest = disarm(d, &has_waiting);
		/* Takes the event out of the set and the counter behind it. */
		wake_check(d, rte_epoll_wait(d->rx_fd, &event, 1, 0) > 0 || !has_guest, has_waiting);
	}
}

void weft_ethdev_arm(struct weft_port *const *ports, unsigned n)
{
	struct pollfd fds[SLEEP_PORTS_MAX];
	bool has_waiting = false;
	wake_arm(ports, n, fds, &has_waiting);
}

void weft_ethdev_sleep_or(struct weft_port *const *ports, unsigned n, weft_ns timeout_ns, int fd)
{
	struct pollfd fds[SLEEP_PORTS_MAX + 1];
	bool has_waiting = false;
	unsigned armed = wake_arm(ports, n, fds, &has_waiting);
	if (has_waiting)
		timeout_ns = 0;
	struct timespec ts = {.tv_sec = (time_t)(timeout_ns / WEFT_S(1)), .tv_nsec = (long)(timeout_ns % WEFT_S(1))};
	assert(armed <= SLEEP_PORTS_MAX);
	fds[armed] = (struct pollfd){.fd = fd, .events = POLLIN}; /* a negative one is passed over */
	ppoll(fds, armed + 1, timeout_ns == WEFT_NEVER ? NULL : &ts, NULL);
	wake_disarm(ports, n);
}

void weft_ethdev_sleep(struct weft_port *const *ports, unsigned n, weft_ns timeout_ns)
{
	weft_ethdev_sleep_or(ports, n, timeout_ns, -1);
}
