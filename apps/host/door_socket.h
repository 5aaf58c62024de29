/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets in a directory, at which the door listens. */
#ifndef WEFT_HOST_DOOR_SOCKET_H
#define WEFT_HOST_DOOR_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "user.h"
#include "weft/err.h"

/* Listens at `path`, without waiting, in place of what nobody listens to any more. `type`: SOCK_STREAM or
 * SOCK_SEQPACKET. `*out` is a descriptor or -1, also after an error. -errno, with a message naming the path. */
int door_socket_listen(const char *path, mode_t mode, int type, const struct switch_user *user, int *out,
		       struct weft_err *err);

/* Sends a line without waiting. False: the client has hung up, or takes nothing; that raises no SIGPIPE. */
bool door_socket_tell(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The group of this name or number. -ENOENT: there is none. */
int door_socket_group(const char *name, gid_t *gid, struct weft_err *err);

/* Gives a socket to a group, by name or number. Errors as above, or of chown(2). */
int door_socket_give(const char *path, const char *name, struct weft_err *err);

#endif
