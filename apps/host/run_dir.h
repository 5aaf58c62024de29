/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of the sockets of `weft host`. */
#ifndef WEFT_HOST_RUN_DIR_H
#define WEFT_HOST_RUN_DIR_H

#include <limits.h>
#include <stdbool.h>

#include "user.h"
#include "weft/err.h"

struct run_dir {
	char path[PATH_MAX]; /* from the root: clients, who may be anywhere, are told it */
	bool is_new;         /* made by this process, for the user alone until it is opened */
};

/* Makes the directory, the user's, or finds that the one there can be used. With a message: -EINVAL: its path cannot be
 * told to clients; -EPERM: it is another user's, or others may write to it; or errors of the system. */
int run_dir_make(const char *dir, const struct switch_user *user, struct run_dir *out, struct weft_err *err);

/* Lets others search the directory, once all that is in it is ready, if it is new. An older one is left as it is; says
 * on standard error when members of `group` (NULL: nobody) cannot come in. With a message. */
int run_dir_open(const struct run_dir *d, const char *group, struct weft_err *err);

#endif
