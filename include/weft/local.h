/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of one host that have ports of the same `weft host` reach each other over shared memory of the two: a port
 * that sends what is for such a process that way, and all else by another port (doc/guide/host.md). Packets of the two
 * ways may overtake each other. */
#ifndef WEFT_LOCAL_H
#define WEFT_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/decl.h"
#include "weft/err.h"
#include "weft/local_stats.h"
#include "weft/spi/port.h"

WEFT_BEGIN_DECLS

struct weft_local_conf {
	const char *path;       /* of the port's socket; the caller's, copied */
	struct weft_ip ip;      /* the port's address */
	weft_ns (*clock)(void); /* monotonic, from a cheap source: read for each burst */
};

/* Wraps `inner`, which becomes the new port's and is closed with it. Packets that `inner` allocates have room for its
 * max_ip_bytes behind `head`. It matters not whether there is a weft host: it is asked again while there is none, and
 * meanwhile `inner` has all packets. -EINVAL: the path is too long; -ENOMEM, or of epoll_create1(2): `inner` is still
 * the caller's. */
int weft_local_open(const struct weft_local_conf *conf, struct weft_port *inner, struct weft_port **out,
		    struct weft_err *err);

/* Becomes readable when a peer wakes us after weft_local_arm, when there is news of channels, and when a descriptor of
 * weft_local_watch is readable; the next rx reads what is there for the port. The port's. */
int weft_local_fd(const struct weft_port *port);

/* `fd` is the caller's and stays open as long as the port. -errno of epoll_ctl(2). */
int weft_local_watch(struct weft_port *port, int fd);

/* Packets that come after this call make weft_local_fd readable, so that one look in between leaves no gap; until it is
 * called again with `on` false. By the thread that polls the port. */
void weft_local_arm(struct weft_port *port, bool on);

/* Copies the counters of a port of weft_local_open. Called by the thread that polls the port. */
void weft_local_stats(const struct weft_port *port, struct weft_local_stats *stats);

WEFT_END_DECLS

#endif
