/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of `weft switch`: devargs from options, sockets that are free to listen on, opening and closing. */
#ifndef WEFT_SWITCH_PORT_H
#define WEFT_SWITCH_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "user.h"
#include "weft/err.h"
#include "weft/ethdev.h"
#include "weft/spi/port.h"

enum { SWITCH_PORTS_MAX = 32, SWITCH_DEVARGS_MAX = 256 };

struct switch_ports {
	char devargs[SWITCH_PORTS_MAX][SWITCH_DEVARGS_MAX];
	struct weft_port *port[SWITCH_PORTS_MAX]; /* NULL: not open */
	uint32_t count;
	/* How port 0 is opened, if it is not as a switch's: with an address of its own. NULL: as all others. Its
	 * largest IP packet is that of the others then. */
	const struct weft_ethdev_conf *uplink;
	struct weft_dscp dscp;   /* of the classes, on all ports */
	struct switch_user user; /* whose sockets they have, and who this process is once they are open */
};

/* One port. -E2BIG: too many, -ENAMETOOLONG. */
int switch_ports_add(struct switch_ports *p, const char *devargs, struct weft_err *err);
/* "PATH:N": N memif servers that share the socket PATH, their ids counting from 0. -EINVAL. */
int switch_ports_add_memif(struct switch_ports *p, const char *spec, struct weft_err *err);
/* "PREFIX:N": N vhost-user servers, sockets PREFIX0, PREFIX1, ... -EINVAL. */
int switch_ports_add_vhost(struct switch_ports *p, const char *spec, struct weft_err *err);

/* "PREFIX:N": N ports whose packets are in memory that this process shares with those that open "shm:PREFIX0",
 * "shm:PREFIX1", ... -EINVAL. */
int switch_ports_add_shm(struct switch_ports *p, const char *spec, struct weft_err *err);

/* Whether all ports are of that kind. */
bool switch_ports_share_all(const struct switch_ports *p);

/* The option --dscp, whose field is a struct weft_dscp. -EINVAL, without the option's name in the message. */
int switch_opt_dscp(void *field, const char *value, struct weft_err *err);

/* Starts EAL with enough memory and opens all ports; paths of sockets are made free first (socket_path.h, and its
 * errors); users outside the group cannot connect to them.
 * Then gives up the privileges that p->user has not. On failure nothing stays open. */
int switch_ports_open(struct switch_ports *p, uint32_t ip_bytes, uint32_t pool_pkts, struct weft_err *err);
void switch_ports_close(struct switch_ports *p);

#endif
