/* SPDX-License-Identifier: BSD-3-Clause */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Requests of vhost-user, and what a message looks like: QEMU's docs/interop/vhost-user.rst. */
enum {
	SET_MEM_TABLE = 5,
	SET_VRING_KICK = 12,
	SET_VRING_CALL = 13,
	SET_VRING_ERR = 14,
	REQUESTS = 64,
	TOO_MANY_FILES = -2,
	RING_MASK = 0xff, /* of what names a ring */
	REGIONS_AT = 8,   /* of a memory table: behind their number */
};

struct header {
	uint32_t request, flags, size;
};

struct region {
	uint64_t guest, size, user, offset;
};

_Static_assert(sizeof(struct header) == RELAY_HEADER_BYTES, "as it is sent");

/* What virtio-user devices say: features and owner (1 to 4), memory (5), rings (8 to 14), protocol features and number
 * of queues (15 to 17), on and off (18), status (39, 40). Not: logs, files to write to, sockets that DPDK would wait
 * for. */
static const uint64_t ALLOWED = UINT64_C(0x3e) | UINT64_C(0x7f) << 8 | UINT64_C(0xf) << 15 | UINT64_C(3) << 39;

void relay_open(struct relay *r, int client)
{
	*r = (struct relay){.client = client, .backend = -1, .call_fds = {-1, -1}};
}

static void fds_close(int *fds, uint32_t *count)
{
	for (uint32_t i = 0; i < *count; i++)
		close(fds[i]);
	*count = 0;
}

static void call_set(struct relay *r, int ring, int fd)
{
	if (r->call_fds[ring] >= 0)
		close(r->call_fds[ring]);
	r->call_fds[ring] = fd;
}

void relay_close(struct relay *r)
{
	fds_close(r->fds, &r->fd_count);
	fds_close(r->region_fds, &r->region_count);
	for (int i = 0; i < RELAY_RINGS; i++)
		call_set(r, i, -1);
	if (r->backend >= 0)
		close(r->backend);
	if (r->client >= 0)
		close(r->client);
	r->client = r->backend = -1;
}

static struct header header_of(const struct relay *r)
{
	struct header h;
	memcpy(&h, r->message, sizeof h);
	return h;
}

/* How many bytes the message lacks as far as is known. */
static uint32_t lacks(const struct relay *r)
{
	if (r->got < RELAY_HEADER_BYTES)
		return RELAY_HEADER_BYTES - r->got;
	return RELAY_HEADER_BYTES + header_of(r).size - r->got;
}

/* False: more files than a message may have. */
static bool fds_take(struct relay *r, struct msghdr *msg)
{
	bool fits = !(msg->msg_flags & MSG_CTRUNC);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (r->fd_count < RELAY_FDS) {
				r->fds[r->fd_count++] = fd;
				continue;
			}
			close(fd);
			fits = false;
		}
	}
	return fits;
}

/* Up to `want` bytes of the message; as read(2), and TOO_MANY_FILES. */
static ssize_t message_read(struct relay *r, uint32_t want)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(2 * RELAY_FDS * sizeof(int))];
	} control;
	struct iovec iov = {r->message + r->got, want};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
	ssize_t n = recvmsg(r->client, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	return n > 0 && !fds_take(r, &msg) ? TOO_MANY_FILES : n;
}

/* A file that ends before its region does, or is made by a process, hits whoever touches the memory. */
static bool region_is_sound(int fd, const struct region *region, off_t *bytes)
{
	struct statfs fs;
	struct stat st;
	if (fstatfs(fd, &fs) != 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	*bytes = st.st_size;
	return (fs.f_type == TMPFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC) && region->offset <= (uint64_t)st.st_size &&
	       region->size <= (uint64_t)st.st_size - region->offset;
}

static const char *regions_take(struct relay *r, uint32_t payload_bytes)
{
	static const char bad[] = "a memory table that is none";
	uint32_t count = 0;
	fds_close(r->region_fds, &r->region_count);
	if (payload_bytes >= REGIONS_AT)
		memcpy(&count, r->message + RELAY_HEADER_BYTES, sizeof count);
	if (count == 0 || count > RELAY_FDS || count != r->fd_count ||
	    payload_bytes < REGIONS_AT + count * sizeof(struct region))
		return bad;
	for (uint32_t i = 0; i < count; i++) {
		struct region region;
		memcpy(&region, r->message + RELAY_HEADER_BYTES + REGIONS_AT + i * sizeof region, sizeof region);
		if (!region_is_sound(r->fds[i], &region, &r->region_bytes[i]))
			return "memory that is not all of a file in memory";
		r->region_fds[i] = fcntl(r->fds[i], F_DUPFD_CLOEXEC, 0);
		if (r->region_fds[i] < 0)
			return "no file descriptor is left";
		r->region_count++;
	}
	return NULL;
}

static bool is_eventfd(int fd)
{
	static const char wanted[] = "anon_inode:[eventfd]";
	char path[32], target[sizeof wanted];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof target) == sizeof wanted - 1 &&
	       memcmp(target, wanted, sizeof wanted - 1) == 0;
}

/* An event of a ring, or none. */
static const char *event_take(struct relay *r, const struct header *h)
{
	uint64_t ring = UINT64_MAX;
	if (h->size == sizeof ring)
		memcpy(&ring, r->message + RELAY_HEADER_BYTES, sizeof ring);
	ring &= RING_MASK;
	if (ring >= RELAY_RINGS)
		return "a ring that the port has not";
	if (r->fd_count > 1 || (r->fd_count == 1 && !is_eventfd(r->fds[0])))
		return "an event that is none";
	if (h->request != SET_VRING_CALL)
		return NULL;
	int fd = r->fd_count == 1 ? fcntl(r->fds[0], F_DUPFD_CLOEXEC, 0) : -1;
	call_set(r, (int)ring, fd);
	return r->fd_count == 1 && fd < 0 ? "no file descriptor is left" : NULL;
}

static const char *message_check(struct relay *r)
{
	struct header h = header_of(r);
	if (h.request == SET_MEM_TABLE)
		return regions_take(r, h.size);
	if (h.request >= SET_VRING_KICK && h.request <= SET_VRING_ERR)
		return event_take(r, &h);
	return r->fd_count > 0 ? "a file that nobody asked for" : NULL;
}

static int backend_connect(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* In one piece, which DPDK reads in two that are both there. */
static bool message_send(const struct relay *r)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(RELAY_FDS * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)r->message, r->got};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (r->fd_count > 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(r->fd_count * sizeof(int));
		control.align = (struct cmsghdr){.cmsg_len = CMSG_LEN(r->fd_count * sizeof(int)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.align), r->fds, r->fd_count * sizeof(int));
	}
	return sendmsg(r->backend, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)r->got;
}

static const char *message_pass(struct relay *r, const char *backend_path)
{
	const char *wrong = message_check(r);
	if (wrong != NULL)
		return wrong;
	if (r->backend < 0)
		r->backend = backend_connect(backend_path);
	if (r->backend < 0)
		return "the port does not listen";
	if (!message_send(r))
		return "too many messages at once";
	fds_close(r->fds, &r->fd_count);
	r->got = 0;
	return NULL;
}

const char *relay_from_client(struct relay *r, const char *backend_path)
{
	ssize_t n = message_read(r, lacks(r));
	if (n == TOO_MANY_FILES)
		return "too many files";
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return NULL;
	if (n <= 0)
		return "";
	r->got += (uint32_t)n;
	if (r->got < RELAY_HEADER_BYTES)
		return NULL;
	struct header h = header_of(r);
	if (h.request >= REQUESTS || !(ALLOWED >> h.request & 1))
		return "a request that is not served";
	if (h.size > RELAY_PAYLOAD_MAX)
		return "a message that is too long";
	return lacks(r) == 0 ? message_pass(r, backend_path) : NULL;
}

const char *relay_from_backend(struct relay *r)
{
	uint8_t answer[RELAY_HEADER_BYTES + RELAY_PAYLOAD_MAX];
	ssize_t n = recv(r->backend, answer, sizeof answer, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return NULL;
	if (n <= 0)
		return "DPDK refused a message";
	return send(r->client, answer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) == n ? NULL : "answers it does not read";
}

bool relay_has_lost_memory(const struct relay *r)
{
	struct stat st;
	for (uint32_t i = 0; i < r->region_count; i++)
		if (fstat(r->region_fds[i], &st) != 0 || st.st_size < r->region_bytes[i])
			return true;
	return false;
}

bool relay_has_full_event(const struct relay *r)
{
	struct pollfd calls[RELAY_RINGS];
	for (int i = 0; i < RELAY_RINGS; i++)
		calls[i] = (struct pollfd){.fd = r->call_fds[i], .events = POLLOUT};
	if (r->client < 0 || poll(calls, RELAY_RINGS, 0) < 0)
		return false;
	for (int i = 0; i < RELAY_RINGS; i++)
		if (calls[i].fd >= 0 && !(calls[i].revents & POLLOUT))
			return true;
	return false;
}
