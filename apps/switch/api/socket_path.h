/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths that sockets of this process shall have. */
#ifndef WEFT_SWITCH_SOCKET_PATH_H
#define WEFT_SWITCH_SOCKET_PATH_H

#include <stdbool.h>

#include "user.h"
#include "weft/err.h"

/* Makes `path` free to be bound by `user`: its directory, the user's, is made (mode 0700) if it is not there, and the
 * socket of a dead process of the user is removed. With a message: -EADDRINUSE: another process listens there; -EEXIST:
 * no socket; -EPERM: what is there is another user's, or anybody may put something else in its place; -ENAMETOOLONG, or
 * errors of the system. */
int socket_path_make_free(const char *path, const struct switch_user *user, struct weft_err *err);

/* Makes the directory `dir`, the user's (mode 0700), or finds that the one there can be used for files that are read
 * again: nobody else may write to it, whatever its sticky bit says. Errors as above. */
int socket_path_dir_make(const char *dir, const struct switch_user *user, bool *is_new, struct weft_err *err);

#endif
