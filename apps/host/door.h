/* SPDX-License-Identifier: BSD-3-Clause */
/* Where clients come in: a socket that gives them a port with an address, and a socket for each port, behind which a
 * relay leads to DPDK's. Both ask the kernel who is there. On a thread of its own. */
#ifndef WEFT_HOST_DOOR_H
#define WEFT_HOST_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "user.h"
#include "weft/addr.h"
#include "weft/err.h"
#include "weft/telemetry.h"

struct door;

struct door_conf {
	const char *dir; /* DIR/host, DIR/ports/N and DIR/leases are the door's; from the root; outlives it */
	const char *private_prefix; /* of the sockets of DPDK's ports: followed by their numbers; outlives the door */
	const char *group;          /* whose members may come; NULL: nobody but the user this process is */
	const struct switch_user *user;
	const struct weft_ip *addrs; /* of the ports, one after the other; copied */
	uint32_t ports;
	uint32_t per_user;
	uint32_t mtu_bytes; /* that clients are told */
	bool local;         /* processes may have channels to each other */
};

/* Takes over ports that living processes had before. With a message naming the path. */
int door_open(const struct door_conf *conf, struct door **out, struct weft_err *err);
/* Clients keep their ports, should this process be started again. */
void door_close(struct door *d);

/* What the door knows of a port, for telemetry; any thread. */
void door_tell(const struct door *d, uint32_t port, struct weft_port_row *row);

#endif
