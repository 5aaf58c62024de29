/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping until packets arrive. Interrupts are on only during the sleep, so polling costs the peer nothing. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_epoll.h>
#include <rte_ethdev.h>

#include "ethdev_priv.h"

enum { SLEEP_PORTS_MAX = 64 };

void ethdev_wake_init(struct ethdev *d)
{
	assert(d->rx_fd < 0);
	int fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return;
	if (rte_eth_dev_rx_intr_ctl_q(d->id, d->queue, fd, RTE_INTR_EVENT_ADD, NULL) == 0)
		d->rx_fd = fd;
	else
		close(fd);
}

void ethdev_wake_fini(struct ethdev *d)
{
	if (d->rx_fd < 0)
		return;
	rte_eth_dev_rx_intr_ctl_q(d->id, d->queue, d->rx_fd, RTE_INTR_EVENT_DEL, NULL);
	close(d->rx_fd);
	d->rx_fd = -1;
}

static unsigned wake_arm(struct weft_port *const *ports, unsigned n, struct pollfd *fds)
{
	unsigned armed = 0;
	for (unsigned i = 0; i < n && armed < SLEEP_PORTS_MAX; i++) {
		const struct ethdev *d = to_ethdev(ports[i]);
		if (d->rx_fd < 0)
			continue;
		rte_eth_dev_rx_intr_enable(d->id, d->queue);
		fds[armed++] = (struct pollfd){.fd = d->rx_fd, .events = POLLIN};
	}
	return armed;
}

static void wake_disarm(struct weft_port *const *ports, unsigned n)
{
	struct rte_epoll_event event;
	for (unsigned i = 0; i < n; i++) {
		const struct ethdev *d = to_ethdev(ports[i]);
		if (d->rx_fd < 0)
			continue;
		rte_eth_dev_rx_intr_disable(d->id, d->queue);
		/* Takes the event out of the set and the counter behind it. */
		rte_epoll_wait(d->rx_fd, &event, 1, 0);
	}
}

void weft_ethdev_arm(struct weft_port *const *ports, unsigned n)
{
	struct pollfd fds[SLEEP_PORTS_MAX];
	wake_arm(ports, n, fds);
}

void weft_ethdev_sleep_or(struct weft_port *const *ports, unsigned n, weft_ns timeout_ns, int fd)
{
	struct pollfd fds[SLEEP_PORTS_MAX + 1];
	struct timespec ts = {.tv_sec = (time_t)(timeout_ns / WEFT_S(1)), .tv_nsec = (long)(timeout_ns % WEFT_S(1))};
	unsigned armed = wake_arm(ports, n, fds);
	assert(armed <= SLEEP_PORTS_MAX);
	fds[armed] = (struct pollfd){.fd = fd, .events = POLLIN}; /* a negative one is passed over */
	ppoll(fds, armed + 1, timeout_ns == WEFT_NEVER ? NULL : &ts, NULL);
	wake_disarm(ports, n);
}

void weft_ethdev_sleep(struct weft_port *const *ports, unsigned n, weft_ns timeout_ns)
{
	weft_ethdev_sleep_or(ports, n, timeout_ns, -1);
}
