/* SPDX-License-Identifier: BSD-3-Clause */
/* The user that a switch is once its devices are open. */
#ifndef WEFT_SWITCH_USER_H
#define WEFT_SWITCH_USER_H

#include <stdbool.h>
#include <sys/types.h>

#include "weft/err.h"

struct switch_user {
	uid_t uid;
	gid_t gid;
	bool is_other; /* than the one this process was started as */
};

/* The user `name`, or with NULL that of this process. -ENOENT: nobody has that name; -EPERM: only root can become
 * somebody else. */
int switch_user_find(const char *name, struct switch_user *u, struct weft_err *err);

/* The files that this thread makes and removes are the user's, as the kernel's checks are, until _end. */
void switch_user_files_begin(const struct switch_user *u);
void switch_user_files_end(const struct switch_user *u);

/* Becomes the user for good, with its groups alone and no capabilities, in all threads. The system's error. */
int switch_user_become(const struct switch_user *u, struct weft_err *err);

#endif
