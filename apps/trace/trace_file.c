/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads up to `size` bytes; fewer where the file has become shorter meanwhile. */
static size_t read_some(int fd, void *to, size_t size)
{
	size_t got = 0;
	while (got < size) {
		ssize_t n = pread(fd, (uint8_t *)to + got, size - got, (off_t)got);
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

static bool is_locked(int fd)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	return !fcntl(fd, F_GETLK, &lock) && lock.l_type == F_WRLCK;
}

/* The beginning is read once more behind the rest: it tells how far the writer has come meanwhile. */
static int copy(int fd, struct trace_file *f)
{
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof f->later ||
	    (uint64_t)st.st_size > weft_recorder_bytes(WEFT_RECORDER_EVENTS_MAX))
		return -EINVAL;
	f->bytes = malloc((size_t)st.st_size);
	if (!f->bytes)
		return -ENOMEM;
	f->runs = is_locked(fd);
	f->size = read_some(fd, f->bytes, (size_t)st.st_size);
	if (read_some(fd, f->later, sizeof f->later) < sizeof f->later)
		return -EINVAL;
	return weft_recorder_read(f->bytes, f->size, f->later, &f->about, NULL, NULL);
}

int trace_file_read(const char *path, struct trace_file *out, struct weft_err *err)
{
	*out = (struct trace_file){0};
	snprintf(out->path, sizeof out->path, "%s", path);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int ret = fd < 0 ? -errno : copy(fd, out);
	if (fd >= 0)
		close(fd);
	if (ret)
		trace_file_free(out);
	if (ret == -EINVAL)
		return weft_err_set(err, ret, "%s: no recording of Weft, or of another version", path);
	return ret ? weft_err_set(err, ret, "%s: %s", path, strerror(-ret)) : 0;
}

void trace_file_free(struct trace_file *f)
{
	free(f->bytes);
	f->bytes = NULL;
}

/* Whether the name is that of a file of this process, 0: of any. */
static bool is_of(const char *name, uint32_t pid)
{
	uint32_t of, number;
	int end = 0;
	return sscanf(name, WEFT_RECORDER_PREFIX "%9" SCNu32 ".%4" SCNu32 "%n", &of, &number, &end) == 2 &&
	       !name[end] && (!pid || of == pid);
}

static bool is_ours(const char *path)
{
	struct stat st;
	return !lstat(path, &st) && S_ISREG(st.st_mode) && (st.st_uid == geteuid() || !geteuid());
}

/* Adds the file, unless it is none; what is wrong with it is not said here, where nobody asked for this one. */
static int add(struct trace_files *all, const char *path)
{
	struct trace_file *files = realloc(all->files, (all->count + 1) * sizeof *files);
	if (!files)
		return -ENOMEM;
	all->files = files;
	if (is_ours(path) && !trace_file_read(path, &files[all->count], NULL))
		all->count++;
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strverscmp(((const struct trace_file *)a)->path, ((const struct trace_file *)b)->path);
}

int trace_files_find(const char *dir, uint32_t pid, struct trace_files *out, struct weft_err *err)
{
	DIR *d = opendir(dir);
	int ret = d ? 0 : -errno;
	*out = (struct trace_files){0};
	for (struct dirent *e; d && !ret && (e = readdir(d));) {
		char path[256 + NAME_MAX];
		snprintf(path, sizeof path, "%.200s/%s", dir, e->d_name);
		if (is_of(e->d_name, pid))
			ret = add(out, path);
	}
	if (d)
		closedir(d);
	if (ret) {
		trace_files_free(out);
		return weft_err_set(err, ret, "%s: %s", dir, strerror(-ret));
	}
	if (!out->count)
		return pid ? weft_err_set(err, -ENOENT, "no recording of process %" PRIu32 " in %s", pid, dir)
			   : weft_err_set(err, -ENOENT, "no recordings in %s", dir);
	qsort(out->files, out->count, sizeof *out->files, by_path);
	return 0;
}

void trace_files_free(struct trace_files *all)
{
	for (size_t i = 0; i < all->count; i++)
		trace_file_free(&all->files[i]);
	free(all->files);
	*all = (struct trace_files){0};
}
