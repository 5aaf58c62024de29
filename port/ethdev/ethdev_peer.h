/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom a virtio-user device is about to share this process's memory with: the process that listens on the socket maps
 * all of it, and DPDK does not ask who that is. */
#ifndef WEFT_ETHDEV_PEER_H
#define WEFT_ETHDEV_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#include "weft/err.h"

/* -EPERM: the listener on the socket that a virtio-user device is to connect to is not to be trusted (peer_is_trusted).
 * The socket's error when it cannot be asked. 0 for other devices, and when there is no such socket. */
int peer_check(const char *devargs, struct weft_err *err);

/* Whether the device is virtio-user's end of a socket that another process listens on. */
bool peer_is_awaited(const char *devargs);
/* Whether somebody to be trusted listens on that socket now. */
bool peer_listens(const char *devargs);

/* True of root, of `own`, and of a user whom every directory that leads to `path` protects: it is root's or that
 * user's, and nobody else may write to it. */
bool peer_is_trusted(const char *path, uid_t listener, uid_t own);

#endif
