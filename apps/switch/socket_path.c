/* SPDX-License-Identifier: BSD-3-Clause */
#include "socket_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Whether `listed`, as the kernel shows it, is the socket file `st` called `path`. Relative names are relative to a
 * directory we do not know, so the same last part is enough. */
static bool is_same_socket(const char *listed, const char *path, const struct stat *st)
{
	struct stat other;
	if (listed[0] == '/')
		return stat(listed, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
	const char *slash = strrchr(listed, '/'), *ours = strrchr(path, '/');
	return strcmp(slash != NULL ? slash + 1 : listed, ours != NULL ? ours + 1 : path) == 0;
}

/* Asks the kernel. Connecting would ask too, but DPDK's memif server panics when a client is gone before it answers.
 * -EADDRINUSE: somebody listens; else 0, or why it cannot be told. */
static int listener_check(const char *path, const struct stat *st, struct weft_err *err)
{
	enum { LISTENING = 0x10000 };
	char line[512], listed[256];
	unsigned flags;
	bool found = false;
	FILE *f = fopen("/proc/net/unix", "r");
	if (f == NULL)
		return weft_err_set(err, -errno, "%s: who listens there cannot be told: /proc/net/unix: %s", path,
				    strerror(errno));
	while (!found && fgets(line, sizeof line, f) != NULL)
		found = sscanf(line, "%*s %*s %*s %x %*s %*s %*s %255s", &flags, listed) == 2 && (flags & LISTENING) &&
			is_same_socket(listed, path, st);
	fclose(f);
	return found ? weft_err_set(err, -EADDRINUSE, "%s: another process listens there", path) : 0;
}

static int dir_give(const char *dir, const struct switch_user *user, struct weft_err *err)
{
	if (!user->is_other)
		return 0;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd >= 0 && fchown(fd, user->uid, user->gid) == 0 ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	return rc == 0 ? 0 : weft_err_set(err, rc, "%s: cannot give it to user %u", dir, (unsigned)user->uid);
}

static int dir_make(const char *dir, const struct switch_user *user, bool *is_new, struct weft_err *err)
{
	*is_new = mkdir(dir, S_IRWXU) == 0;
	if (*is_new)
		return dir_give(dir, user, err);
	return errno == EEXIST ? 0
			       : weft_err_set(err, -errno, "%s: cannot make the directory: %s", dir, strerror(errno));
}

/* Whoever may rename what is in a directory that was there could put another socket in the place of ours. */
static int dir_judge(const char *dir, const struct switch_user *user, bool sticky_will_do, struct weft_err *err)
{
	struct stat st;
	int rc = stat(dir, &st) != 0 ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	if (rc != 0)
		return weft_err_set(err, rc, "%s: %s", dir, strerror(-rc));
	if ((st.st_mode & S_IWOTH) && !(sticky_will_do && (st.st_mode & S_ISVTX)))
		return weft_err_set(err, -EPERM, "%s: everybody may write to this directory: %s", dir,
				    sticky_will_do ? "chmod o-w, or +t" : "chmod o-w, or take another one");
	if (st.st_uid != 0 && st.st_uid != user->uid)
		return weft_err_set(err, -EPERM, "%s: this directory is of user %u", dir, (unsigned)st.st_uid);
	return 0;
}

static int dir_prepare(const char *path, const struct switch_user *user, struct weft_err *err)
{
	bool is_new;
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');
	snprintf(dir, sizeof dir, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1, slash != NULL ? path : ".");
	int rc = dir_make(dir, user, &is_new, err);
	return rc != 0 || is_new ? rc : dir_judge(dir, user, true, err);
}

int socket_path_dir_make(const char *dir, const struct switch_user *user, bool *is_new, struct weft_err *err)
{
	int rc = dir_make(dir, user, is_new, err);
	return rc != 0 || *is_new ? rc : dir_judge(dir, user, false, err);
}

/* A killed process leaves its socket behind, and a driver's bind would fail on it without a word. */
static int old_remove(const char *path, const struct switch_user *user, struct weft_err *err)
{
	struct stat st;
	if (lstat(path, &st) != 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return weft_err_set(err, -EEXIST, "%s: exists and is no socket", path);
	if (st.st_uid != user->uid)
		return weft_err_set(err, -EPERM, "%s: belongs to user %u", path, (unsigned)st.st_uid);
	int rc = listener_check(path, &st, err);
	if (rc != 0)
		return rc;
	if (unlink(path) != 0)
		return weft_err_set(err, -errno, "%s: cannot remove the old socket: %s", path, strerror(errno));
	return 0;
}

int socket_path_make_free(const char *path, const struct switch_user *user, struct weft_err *err)
{
	if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path)
		return weft_err_set(err, -ENAMETOOLONG, "%s: too long for a socket's path", path);
	int rc = dir_prepare(path, user, err);
	if (rc != 0)
		return rc;
	switch_user_files_begin(user);
	rc = old_remove(path, user, err);
	switch_user_files_end(user);
	return rc;
}
