/* SPDX-License-Identifier: BSD-3-Clause */
/* A forked child has copies of our objects, but the devices' rings and packet buffers are memory that it shares with
 * its parent, and the threads are gone. So a child may close what it inherited, and nothing it does reaches the device
 * or the file descriptors of wait objects; it cannot open a device after its parent has, because EAL has no threads in
 * it. A child that calls exec, or was forked before the parent's first fi_domain, is a process like any other. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "prov.h"

static unsigned forks;

unsigned prov_forks(void)
{
	return forks;
}

static uint16_t no_burst(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	return 0;
}

static void no_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
}

static void no_close(struct weft_port *port)
{
}

static const struct weft_port_ops no_ops = {
	.rx = no_burst,
	.tx = no_burst,
	.alloc = no_burst,
	.free = no_free,
	.close = no_close,
};

void prov_nic_orphan(struct prov_nic *nic)
{
	struct prov_ep *ep;
	nic->orphan = true;
	nic->port->ops = nic->wire->ops = &no_ops; /* our copies of the structures */
	nic->linger_ns = 0;
	nic->listening = false;
	nic->sleepers = 0;
	TAILQ_INIT(&nic->kicks);
	close(nic->wake_fd);
	nic->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	TAILQ_FOREACH(ep, &nic->eps, link)
	{
		ep->enabled = false;
		ep->wep = NULL; /* closing it would rewrite packets that are the parent's */
	}
	TAILQ_INIT(&nic->eps);
}

static void in_child(void)
{
	forks++;
	prov_nics_orphan();
}

void prov_fork_watch(void)
{
	pthread_atfork(NULL, NULL, in_child);
}
