/* SPDX-License-Identifier: BSD-3-Clause */
#include "user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <unistd.h>

int switch_user_find(const char *name, struct switch_user *u, struct weft_err *err)
{
	*u = (struct switch_user){.uid = geteuid(), .gid = getegid()};
	if (name == NULL)
		return 0;
	const struct passwd *entry = getpwnam(name);
	if (entry == NULL)
		return weft_err_set(err, -ENOENT, "--user %.60s: there is no such user", name);
	if (entry->pw_uid == u->uid)
		return 0;
	if (u->uid != 0)
		return weft_err_set(err, -EPERM, "--user %.60s: only root can become another user", name);
	*u = (struct switch_user){.uid = entry->pw_uid, .gid = entry->pw_gid, .is_other = true};
	return 0;
}

void switch_user_files_begin(const struct switch_user *u)
{
	if (!u->is_other)
		return;
	setfsgid(u->gid);
	setfsuid(u->uid);
}

void switch_user_files_end(const struct switch_user *u)
{
	if (!u->is_other)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
}

static int groups_set(const struct switch_user *u)
{
	const struct passwd *entry = getpwuid(u->uid);
	return entry != NULL ? initgroups(entry->pw_name, u->gid) : setgroups(0, NULL);
}

int switch_user_become(const struct switch_user *u, struct weft_err *err)
{
	if (!u->is_other)
		return 0;
	if (groups_set(u) != 0 || setresgid(u->gid, u->gid, u->gid) != 0 || setresuid(u->uid, u->uid, u->uid) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return weft_err_set(err, -errno, "cannot become user %u: %s", (unsigned)u->uid, strerror(errno));
	return 0;
}
