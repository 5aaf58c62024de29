/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has the table open holds a shared lock on its file, which ends with the process. Who gets the lock alone knows
 * that nobody else uses the table: it is new, left over, or to be removed. */
#include "avshare.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARE_MAGIC 0x5745465441560001ULL /* layout 1 */

enum {
	ENTRIES_MIN = 1 << 16, /* untouched pages cost nothing */
	ENTRIES_MAX = 1 << 20,
	OPEN_TRIES = 100, /* another process may remove the table between two steps */
};

struct share_entry {
	struct weft_addr addr;
	uint32_t uses; /* times inserted; 0: free */
};

struct share_head {
	uint64_t magic;
	uint32_t capacity;
	uint32_t count;       /* entries in use or used before; under lock */
	pthread_mutex_t lock; /* robust, across processes */
	_Atomic uint64_t version;
};

struct prov_avshare {
	int fd;
	size_t bytes; /* mapped */
	struct share_head *head;
	fi_addr_t *map; /* `capacity` of them behind the head, then the entries */
	struct share_entry *entries;
	char path[NAME_MAX];
};

/* What a system call that failed says; never 0. */
static int failure(void)
{
	int code = errno;
	return code > 0 ? -code : -EIO;
}

static size_t bytes_of(uint32_t capacity)
{
	return sizeof(struct share_head) + capacity * (sizeof(fi_addr_t) + sizeof(struct share_entry));
}

static int path_make(struct prov_avshare *share, const char *domain, const char *name)
{
	int len = snprintf(share->path, sizeof share->path, "/weft-av-%u-%s-%s", (unsigned)getuid(), domain, name);
	if (len < 0 || (size_t)len >= sizeof share->path)
		return -EINVAL;
	for (char *p = share->path + 1; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' && *p != '.')
			*p = '_';
	return 0;
}

static int share_map(struct prov_avshare *share, size_t bytes)
{
	assert(!share->head && share->fd >= 0);
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, share->fd, 0);
	if (base == MAP_FAILED || !base)
		return -ENOMEM;
	share->head = base;
	share->bytes = bytes;
	share->map = (fi_addr_t *)(share->head + 1);
	return 0;
}

static void entries_find(struct prov_avshare *share)
{
	share->entries = (struct share_entry *)(share->map + share->head->capacity);
}

static void head_init(struct share_head *head, uint32_t capacity)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&head->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	head->capacity = capacity;
	head->magic = SHARE_MAGIC;
}

/* We are alone: whatever is in the file is left over. */
static int share_make(struct prov_avshare *share, size_t entries)
{
	uint32_t capacity = entries > ENTRIES_MIN ? (uint32_t)entries : ENTRIES_MIN;
	if (ftruncate(share->fd, 0) || ftruncate(share->fd, (off_t)bytes_of(capacity)))
		return failure();
	int ret = share_map(share, bytes_of(capacity));
	if (ret)
		return ret;
	head_init(share->head, capacity);
	entries_find(share);
	return flock(share->fd, LOCK_SH) ? failure() : 0;
}

/* -EAGAIN: it has been removed, or its maker gave up. */
static int share_join(struct prov_avshare *share)
{
	struct stat st;
	if (flock(share->fd, LOCK_SH) || fstat(share->fd, &st))
		return failure();
	if (!st.st_nlink || (size_t)st.st_size < sizeof(struct share_head))
		return -EAGAIN;
	int ret = share_map(share, (size_t)st.st_size);
	if (ret)
		return ret;
	if (share->head->magic != SHARE_MAGIC || bytes_of(share->head->capacity) != share->bytes)
		return -EAGAIN;
	entries_find(share);
	return 0;
}

static int share_try(struct prov_avshare *share, size_t entries, bool read_only)
{
	struct stat st;
	share->fd = shm_open(share->path, O_RDWR | O_CLOEXEC | (read_only ? 0 : O_CREAT), 0600);
	if (share->fd < 0)
		return failure();
	if (flock(share->fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? share_join(share) : failure();
	if (fstat(share->fd, &st) || !st.st_nlink)
		return -EAGAIN;
	return read_only ? -ENOENT : share_make(share, entries);
}

static void share_release(struct prov_avshare *share)
{
	if (share->head)
		munmap(share->head, share->bytes);
	if (share->fd >= 0)
		close(share->fd);
	share->head = NULL;
	share->fd = -1;
}

int prov_avshare_open(const char *domain, const char *name, size_t entries, bool read_only, struct prov_avshare **out,
		      struct weft_err *err)
{
	struct prov_avshare *share = calloc(1, sizeof *share);
	if (!share)
		return weft_err_set(err, -ENOMEM, "out of memory");
	share->fd = -1;
	int ret = entries > ENTRIES_MAX ? -EINVAL : path_make(share, domain, name);
	for (int i = 0; !ret && i < OPEN_TRIES; i++) {
		ret = share_try(share, entries, read_only);
		if (ret != -EAGAIN)
			break;
		share_release(share);
		ret = 0;
	}
	if (!ret && !share->head)
		ret = -EAGAIN;
	if (!ret) {
		*out = share;
		return 0;
	}
	weft_err_set(err, ret, "shared address vector '%s': %s", name, strerror(-ret));
	share_release(share);
	free(share);
	return ret;
}

void prov_avshare_close(struct prov_avshare *share)
{
	if (flock(share->fd, LOCK_EX | LOCK_NB) == 0)
		shm_unlink(share->path);
	share_release(share);
	free(share);
}

/* What a process that died in the middle left is a valid table: each change ends with one store. */
static void lock(struct prov_avshare *share)
{
	assert(share->head && share->entries);
	if (pthread_mutex_lock(&share->head->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&share->head->lock);
}

static void unlock(struct prov_avshare *share)
{
	pthread_mutex_unlock(&share->head->lock);
}

/* Index of the address, or else of a free entry, or `count`. */
static uint32_t entry_find(const struct prov_avshare *share, const struct weft_addr *addr)
{
	uint32_t free_at = share->head->count;
	for (uint32_t i = share->head->count; i-- > 0;) {
		const struct share_entry *e = &share->entries[i];
		if (e->uses && e->addr.port == addr->port && weft_ip_eq(&e->addr.ip, &addr->ip))
			return i;
		if (!e->uses)
			free_at = i;
	}
	return free_at;
}

int prov_avshare_insert(struct prov_avshare *share, const struct weft_addr *addr, uint32_t *index)
{
	lock(share);
	uint32_t i = entry_find(share, addr);
	int ret = i < share->head->capacity ? 0 : -ENOMEM;
	if (!ret) {
		struct share_entry *e = &share->entries[i];
		e->addr = *addr;
		e->uses++;
		share->map[i] = i;
		if (i == share->head->count)
			share->head->count++;
		share->head->version++;
		*index = i;
	}
	unlock(share);
	return ret;
}

int prov_avshare_remove(struct prov_avshare *share, uint32_t index)
{
	lock(share);
	int ret = index < share->head->count && share->entries[index].uses ? 0 : -EINVAL;
	if (!ret && --share->entries[index].uses == 0)
		share->map[index] = FI_ADDR_NOTAVAIL;
	if (!ret)
		share->head->version++;
	unlock(share);
	return ret;
}

uint64_t prov_avshare_version(const struct prov_avshare *share)
{
	return share->head->version;
}

uint32_t prov_avshare_count(struct prov_avshare *share)
{
	lock(share);
	uint32_t count = share->head->count;
	unlock(share);
	return count;
}

uint32_t prov_avshare_get(struct prov_avshare *share, uint32_t index, struct weft_addr *addr)
{
	lock(share);
	assert(index < share->head->capacity);
	*addr = share->entries[index].addr;
	uint32_t uses = share->entries[index].uses;
	unlock(share);
	return uses;
}

void *prov_avshare_map(const struct prov_avshare *share)
{
	return share->map;
}
