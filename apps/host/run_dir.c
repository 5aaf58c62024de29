/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_dir.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "door_socket.h"
#include "socket_path.h"

/* White space ends a word of the answer to a client, and a comma an argument of its device. */
static bool can_be_told(const char *path)
{
	while (*path != '\0' && *path != ',' && !isspace((unsigned char)*path))
		path++;
	return *path == '\0';
}

static int path_find(const char *dir, struct run_dir *out, struct weft_err *err)
{
	if (realpath(dir, out->path) == NULL)
		return weft_err_set(err, -errno, "--dir: %s: %s", dir, strerror(errno));
	if (!can_be_told(out->path))
		return weft_err_set(err, -EINVAL,
				    "--dir: '%.120s' has white space or a comma, which clients cannot read", out->path);
	return 0;
}

int run_dir_make(const char *dir, const struct switch_user *user, struct run_dir *out, struct weft_err *err)
{
	int rc = socket_path_dir_make(dir, user, &out->is_new, err);
	if (rc != 0)
		return rc;
	rc = path_find(dir, out, err);
	if (rc != 0 && out->is_new)
		rmdir(dir);
	return rc;
}

static bool may_enter(const struct stat *st, gid_t group)
{
	return st->st_mode & (st->st_gid == group ? S_IXGRP : S_IXOTH);
}

static int group_warn(const struct run_dir *d, const char *group, struct weft_err *err)
{
	struct stat st;
	gid_t gid;
	int rc = door_socket_group(group, &gid, err);
	if (rc != 0)
		return rc;
	if (stat(d->path, &st) != 0)
		return weft_err_set(err, -errno, "%s: %s", d->path, strerror(errno));
	if (!may_enter(&st, gid))
		fprintf(stderr, "weft host: %s: members of group %s cannot search this directory: chmod o+x\n", d->path,
			group);
	return 0;
}

int run_dir_open(const struct run_dir *d, const char *group, struct weft_err *err)
{
	if (!d->is_new)
		return group != NULL ? group_warn(d, group, err) : 0;
	return chmod(d->path, 0755) == 0 ? 0 : weft_err_set(err, -errno, "%s: %s", d->path, strerror(errno));
}
