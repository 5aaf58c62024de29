/* SPDX-License-Identifier: BSD-3-Clause */
#include "lease.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* Field 22 of proc(5)'s stat; 0: there is no such process. The second one, a name, may have anything in it. */
static uint64_t process_start(pid_t pid)
{
	enum { START_AFTER_NAME = 20 };
	char path[32], text[1024];
	uint64_t start = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC); /* takes no memory of ours */
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	char *p = strrchr(text, ')');
	for (int field = 0; p != NULL && field < START_AFTER_NAME; field++)
		p = strchr(p + 1, ' ');
	return p != NULL && sscanf(p, " %" SCNu64, &start) == 1 ? start : 0;
}

static uint32_t ports_of(const struct leases *l, uid_t uid)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->ports; i++)
		n += l->at[i].is_taken && l->at[i].uid == uid;
	return n;
}

/* False: there is no such process, or no descriptor left. */
static bool lease_fill(struct lease *e, uid_t uid, pid_t pid)
{
	*e = (struct lease){.uid = uid, .pid = pid, .pid_fd = pidfd_open(pid, 0), .connection = -1};
	e->start = process_start(pid);
	e->is_taken = e->pid_fd >= 0 && e->start != 0;
	if (!e->is_taken && e->pid_fd >= 0)
		close(e->pid_fd);
	return e->is_taken;
}

int leases_take(struct leases *l, uid_t uid, pid_t pid, const char **why)
{
	*why = "this user has as many ports as a user may have";
	if (uid != 0 && ports_of(l, uid) >= l->per_user)
		return -1;
	*why = "all ports are taken";
	for (uint32_t i = 0; i < l->ports; i++) {
		uint32_t port = (l->hand + i) % l->ports;
		if (l->at[port].is_taken)
			continue;
		*why = "the process is not to be seen";
		if (!lease_fill(&l->at[port], uid, pid))
			return -1;
		l->hand = (port + 1) % l->ports;
		return (int)port;
	}
	return -1;
}

void leases_end(struct leases *l, uint32_t port)
{
	struct lease *e = &l->at[port];
	if (!e->is_taken)
		return;
	close(e->pid_fd);
	if (e->connection >= 0)
		close(e->connection);
	*e = (struct lease){.connection = -1};
}

int leases_save(const struct leases *l, const char *path)
{
	char temporary[256];
	snprintf(temporary, sizeof temporary, "%s.new", path);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	bool good = true;
	for (uint32_t i = 0; i < l->ports; i++) {
		const struct lease *e = &l->at[i];
		if (e->is_taken)
			good &= dprintf(fd, "%u %u %d %" PRIu64 "\n", i, (unsigned)e->uid, (int)e->pid, e->start) > 0;
	}
	good &= close(fd) == 0;
	return good && rename(temporary, path) == 0 ? 0 : -errno;
}

void leases_restore(struct leases *l, const char *path)
{
	unsigned port, uid;
	int pid;
	uint64_t start;
	FILE *f = fopen(path, "re");
	while (f != NULL && fscanf(f, "%u %u %d %" SCNu64, &port, &uid, &pid, &start) == 4) {
		if (port >= l->ports || l->at[port].is_taken || pid <= 0 || start != process_start(pid))
			continue;
		if (lease_fill(&l->at[port], uid, pid) && l->at[port].start != start)
			leases_end(l, port);
	}
	if (f != NULL)
		fclose(f);
}
