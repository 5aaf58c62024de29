/* SPDX-License-Identifier: BSD-3-Clause */
/* Struct ethdev of ports with shared packet buffers. */
#ifndef WEFT_SHM_DEV_H
#define WEFT_SHM_DEV_H

#include "shm_port.h"

/* Makes one around `shm`, which has its `look` and `close`; then all of it goes by the port's close, also when the
 * setup fails. NULL: no memory, and `shm` stays the caller's. */
struct ethdev *shm_dev_create(const struct weft_ethdev_conf *conf, struct shm_port *shm);

/* What a port has beside its packets. -ENOMEM and others with a message. */
int shm_dev_setup(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err);

/* The port has its packets, and carries IP packets of up to `ip_bytes`. */
void shm_dev_start(struct ethdev *d, uint32_t ip_bytes);

/* Its link is up from the beginning. */
void shm_dev_up(struct ethdev *d);

/* `fd` wakes the port from now on. -errno. */
int shm_dev_watch(struct ethdev *d, int fd, enum shm_event what);

/* An AF_UNIX address. -ENAMETOOLONG with a message. */
struct sockaddr_un;
int shm_dev_address(const char *path, struct sockaddr_un *addr, struct weft_err *err);

#endif
