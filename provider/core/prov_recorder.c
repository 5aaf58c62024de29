/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_recorder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "prov_log.h"
#include "weft/recorder.h"

enum {
	NUMBERS = 64,        /* recorders of one process */
	KEPT_MAX = 16,       /* files of processes that crashed, per user ... */
	KEPT_SECONDS = 86400 /* ... for so long */
};

/* A lock that a forked child does not have, so that it ends with the process that writes. */
static const struct flock whole_file = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

/* A file that nobody writes any more. */
struct leftover {
	char name[NAME_MAX + 1];
	time_t changed;
};

static bool is_leftover(int dir, const char *name, struct leftover *l)
{
	struct flock lock = whole_file;
	struct stat st;
	if (strncmp(name, WEFT_RECORDER_PREFIX, strlen(WEFT_RECORDER_PREFIX)) != 0)
		return false;
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool is = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !fcntl(fd, F_GETLK, &lock) &&
		  lock.l_type == F_UNLCK;
	close(fd);
	if (is) {
		snprintf(l->name, sizeof l->name, "%s", name);
		l->changed = st.st_mtime;
	}
	return is;
}

static int newest_first(const void *a, const void *b)
{
	const struct leftover *x = a, *y = b;
	return (x->changed < y->changed) - (x->changed > y->changed);
}

/* Removes what earlier processes of this user left, but for the newest. This process has no file yet, or its locks
 * would go: they end when any descriptor of the file is closed. */
static void remove_leftovers(void)
{
	static struct leftover found[256]; /* more than these are removed another time */
	size_t count = 0;
	DIR *dir = opendir(WEFT_RECORDER_DIR);
	for (struct dirent *d; dir && count < sizeof found / sizeof *found && (d = readdir(dir));)
		count += is_leftover(dirfd(dir), d->d_name, &found[count]);
	qsort(found, count, sizeof *found, newest_first);
	for (size_t i = 0; i < count; i++)
		if (i >= KEPT_MAX || time(NULL) - found[i].changed > KEPT_SECONDS)
			unlinkat(dirfd(dir), found[i].name, 0);
	if (dir)
		closedir(dir);
}

/* The first number that is free: files of another process with our id, in another container, stay. */
static int create(struct prov_recorder *r)
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		snprintf(r->path, sizeof r->path, WEFT_RECORDER_DIR "/" WEFT_RECORDER_PREFIX "%d.%u", (int)getpid(), i);
		int fd = open(r->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

/* Memory is reserved now: where it is short, a write would end the process later. 0, or an errno. */
static int map(struct prov_recorder *r)
{
	struct flock lock = whole_file;
	if (fcntl(r->fd, F_SETLK, &lock))
		return errno;
	int err = posix_fallocate(r->fd, 0, (off_t)r->bytes);
	if (err)
		return err;
	r->buffer = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	return r->buffer == MAP_FAILED ? errno : 0;
}

static void remove_file(struct prov_recorder *r)
{
	unlink(r->path);
	close(r->fd);
	*r = (struct prov_recorder){.fd = -1};
}

static void sign(struct prov_nic *nic)
{
	struct weft_recorder_owner owner = {.pid = (uint32_t)getpid()};
	struct timespec day;
	clock_gettime(CLOCK_REALTIME, &day);
	owner.utc_ns = (int64_t)day.tv_sec * 1000000000 + day.tv_nsec - (int64_t)weft_clock_ns();
	snprintf(owner.program, sizeof owner.program, "%s", program_invocation_short_name);
	snprintf(owner.device, sizeof owner.device, "%s", nic->name);
	weft_recorder_sign(nic->recorder.buffer, &owner);
}

void prov_recorder_open(struct prov_nic *nic, uint32_t events)
{
	static bool looked;
	struct prov_recorder *r = &nic->recorder;
	*r = (struct prov_recorder){.fd = -1};
	if (!events)
		return;
	if (!looked)
		remove_leftovers();
	looked = true;
	r->fd = create(r);
	r->bytes = weft_recorder_bytes(events);
	int err = r->fd < 0 ? errno : map(r);
	if (!err) {
		int rc = weft_engine_record(nic->engine, r->buffer, r->bytes);
		(void)rc;
		assert(!rc); /* pages are aligned, and the size is what it asks for */
		sign(nic);
		FI_INFO(&prov_weft, FI_LOG_DOMAIN, "%s: flight recorder %s\n", nic->name, r->path);
		return;
	}
	FI_INFO(&prov_weft, FI_LOG_DOMAIN, "%s: no flight recorder: %s: %s\n", nic->name, r->path, strerror(err));
	if (r->fd >= 0)
		remove_file(r);
}

void prov_recorder_close(struct prov_nic *nic)
{
	struct prov_recorder *r = &nic->recorder;
	if (r->fd < 0)
		return;
	munmap(r->buffer, r->bytes);
	remove_file(r);
}
