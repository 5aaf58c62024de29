/* SPDX-License-Identifier: BSD-3-Clause */
/* The clocks are read here: packets are numbered by that of the wall, which all earlier runs are behind, and the file
 * is looked at now and then. */
#include "prov_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "member.h"
#include "prov_log.h"
#include "prov_progress.h"

enum { LOOK_S = 1 };

static bool time_eq(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_as_taken(const struct prov_keys *k, const struct stat *st)
{
	return st->st_ino == k->inode && time_eq(&st->st_mtim, &k->modified) && time_eq(&st->st_ctim, &k->changed);
}

static void note_taken(struct prov_keys *k, const struct stat *st)
{
	k->inode = st->st_ino;
	k->modified = st->st_mtim;
	k->changed = st->st_ctim;
	k->complaint.msg[0] = 0;
}

/* The file as it is now; `st` says which that was, or is older. */
static int file_read(const char *path, struct weft_tss_keys *keys, struct stat *st, struct weft_err *err)
{
	struct weft_err why = {""};
	int ret = stat(path, st) == 0 ? weft_tss_keys_read(path, keys, &why)
				      : weft_err_set(&why, -errno, "%s: %s", path, strerror(errno));
	return ret ? weft_err_set(err, ret, "FI_WEFT_KEY_FILE: %.200s", why.msg) : 0;
}

static uint64_t wall_clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * WEFT_S(1) + (uint64_t)now.tv_nsec;
}

int prov_keys_open(struct prov_nic *nic, const char *path, const struct weft_ip *ip, struct weft_err *err)
{
	struct prov_keys *k = &nic->keys;
	struct weft_tss_keys keys = {.count = 0};
	struct stat st;
	int ret = file_read(path, &keys, &st, err);
	if (ret)
		return ret;
	const struct weft_tss_conf conf = {.ip = *ip, .first_number = wall_clock_ns(), .keys = &keys};
	k->path = strdup(path);
	ret = k->path ? weft_tss_open(&conf, nic->engine_port, &k->port, err)
		      : weft_err_set(err, -ENOMEM, "out of memory");
	uint32_t id = keys.key[keys.current].id;
	explicit_bzero(&keys, sizeof keys);
	if (ret)
		return ret;
	nic->engine_port = k->port;
	note_taken(k, &st);
	FI_INFO(&prov_weft, FI_LOG_DOMAIN, "%s: encrypted with key %u by %s\n", nic->name, id,
		weft_tss_cipher(k->port));
	return 0;
}

/* Tells each thing that is wrong once. */
static void complain(struct prov_nic *nic, const struct weft_err *err)
{
	if (strcmp(nic->keys.complaint.msg, err->msg) != 0)
		FI_WARN(&prov_weft, FI_LOG_DOMAIN, "%s: %s; the keys stay as they are\n", nic->name, err->msg);
	nic->keys.complaint = *err;
}

static void file_take(struct prov_nic *nic)
{
	struct weft_err err = {""};
	struct weft_tss_keys keys = {.count = 0};
	struct stat st;
	int ret = file_read(nic->keys.path, &keys, &st, &err);
	if (!ret)
		ret = weft_tss_set_keys(nic->keys.port, &keys, &err);
	if (ret) {
		complain(nic, &err);
	} else {
		note_taken(&nic->keys, &st);
		FI_INFO(&prov_weft, FI_LOG_DOMAIN, "%s: %u keys taken, key %u encrypts\n", nic->name, keys.count,
			keys.key[keys.current].id);
	}
	explicit_bzero(&keys, sizeof keys);
}

/* Packets that no key opens. */
static uint64_t refused(const struct prov_nic *nic)
{
	struct weft_tss_stats s;
	weft_tss_stats(nic->keys.port, &s);
	return s.tss_bad_tag + s.tss_clear + s.tss_unknown_key + s.tss_malformed;
}

static void refused_tell(struct prov_nic *nic)
{
	struct weft_tss_stats s;
	if (nic->keys.told_refused || !refused(nic))
		return;
	weft_tss_stats(nic->keys.port, &s);
	FI_WARN(&prov_weft, FI_LOG_DOMAIN,
		"%s: packets come that no key of %s opens: %llu not encrypted, %llu with an unknown key id, %llu with "
		"another "
		"key or damaged\n",
		nic->name, nic->keys.path, (unsigned long long)s.tss_clear, (unsigned long long)s.tss_unknown_key,
		(unsigned long long)(s.tss_bad_tag + s.tss_malformed));
	nic->keys.told_refused = true;
}

static void look(struct prov_nic *nic)
{
	struct stat st;
	prov_nic_no_cancel(nic);
	if (stat(nic->keys.path, &st) != 0 || !is_as_taken(&nic->keys, &st))
		file_take(nic);
	refused_tell(nic);
}

bool prov_keys_pending(const struct prov_nic *nic)
{
	assert_locked(nic);
	return nic->keys.port && weft_tss_is_pending(nic->keys.port);
}

/* Nobody sleeps while sealed packets wait for room in the device. */
static bool keys_poll(struct prov_poller *poller)
{
	struct prov_nic *nic = container_of(poller, struct prov_nic, keys.poller);
	if (nic->poll.now_ns >= nic->keys.look_ns) {
		nic->keys.look_ns = nic->poll.now_ns + WEFT_S(LOOK_S);
		look(nic);
	}
	return prov_keys_pending(nic);
}

void prov_keys_start(struct prov_nic *nic)
{
	if (!nic->keys.port)
		return;
	nic->keys.poller.poll = keys_poll;
	prov_nic_lock(nic);
	prov_poller_add(nic, &nic->keys.poller);
	prov_nic_unlock(nic);
}

void prov_keys_stop(struct prov_nic *nic)
{
	if (!nic->keys.port || nic->is_orphan)
		return;
	prov_nic_lock(nic);
	prov_poller_remove(nic, &nic->keys.poller);
	prov_nic_unlock(nic);
}

void prov_keys_doubt(const struct prov_nic *nic, const struct weft_ip *peer, char *buf, size_t len)
{
	assert_locked(nic);
	if (nic->keys.port && !weft_tss_has_heard(nic->keys.port, peer))
		snprintf(buf, len,
			 "; no packet of it was encrypted with a key of %.100s (%llu refused): do both have the same?",
			 nic->keys.path, (unsigned long long)refused(nic));
}
