/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_port.h"

#include <assert.h>
#include <string.h>
#include <sys/epoll.h>

#include "likely.h"

enum { EVENTS = 2 }; /* the socket of who is connected, and that for others */

const char *weft_ethdev_shm_path(const char *dev)
{
	static const char prefix[] = "shm:";
	size_t len = sizeof prefix - 1;
	return dev != NULL && strncmp(dev, prefix, len) == 0 ? dev + len : NULL;
}

static void look_soon(struct ethdev *d)
{
	d->link.look_at_ns = 0;
	d->periodic_at = 0;
}

uint16_t shm_port_rx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	struct shm_link *l = &d->shm->link;
	shm_link_return(l);
	uint16_t got = shm_link_rx(l, m, n);
	if (unlikely(l->is_broken && l->rings != NULL))
		look_soon(d);
	return got;
}

uint16_t shm_port_tx(struct ethdev *d, struct rte_mbuf **m, uint16_t n)
{
	return shm_link_tx(&d->shm->link, m, n);
}

bool shm_port_arm(struct ethdev *d)
{
	return shm_link_listen(&d->shm->link, true);
}

void shm_port_disarm(struct ethdev *d)
{
	struct epoll_event events[EVENTS];
	struct shm_link *l = &d->shm->link;
	int n = d->rx_fd >= 0 ? epoll_wait(d->rx_fd, events, EVENTS, 0) : 0;
	shm_link_listen(l, false);
	for (int i = 0; i < n; i++) {
		if (events[i].data.u32 == SHM_EVENT_WAKE && l->rings != NULL)
			shm_link_hear(l);
		if (events[i].data.u32 != SHM_EVENT_WAKE || l->is_ending)
			look_soon(d);
	}
}
