/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels come and go as weft host says. It is trusted with addresses, as with everything else of the port. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "local_priv.h"

enum {
	LOOK_MS = 10,        /* between looks at the sockets, */
	LOOK_ASKED_MS = 1,   /* and while an answer is awaited */
	PATIENCE_MS = 100,   /* for an answer */
	ASK_AGAIN_MS = 1000, /* a refused or ended channel */
	CALL_AGAIN_MS = 500, /* weft host, when it is not there */
	EVENTS = 16,
	FILES = 2, /* of LOCAL_OPEN */
};

/* What has news, beside the number of a peer: nothing to be read here, and weft host. */
enum { NEWS_WATCHED = LOCAL_PEERS_MAX, NEWS_DOOR };

static int watch(int epoll_fd, int fd, uint32_t what)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = what};
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
}

int weft_local_watch(struct weft_port *port, int fd)
{
	return watch(((struct local_port *)port)->epoll_fd, fd, NEWS_WATCHED);
}

/* ---- channels ---- */

struct weft_ip local_peer_ip(const struct local_port *l, const struct local_peer *p)
{
	struct weft_ip ip = l->first;
	uint32_t low = weft_ip_low32(&l->first) + (uint32_t)(p - l->peers);
	for (int i = 15; i >= 12; i--, low >>= 8)
		ip.b[i] = (uint8_t)low;
	return ip;
}

static struct local_peer *peer_of(struct local_port *l, const struct weft_ip *ip)
{
	uint32_t i = weft_ip_low32(ip) - weft_ip_low32(&l->first);
	bool known = i < l->peer_count && memcmp(ip->b, l->first.b, 12) == 0 && !weft_ip_eq(ip, &l->ip);
	return known ? &l->peers[i] : NULL;
}

void local_close_channel(struct local_port *l, struct local_peer *p)
{
	assert(p->is_open && l->open_count > 0 && &l->peers[l->open[p->at]] == p);
	local_late_drop(l, p);
	munmap(p->shm, p->shm_bytes);
	close(p->fd);
	uint8_t last = l->open[--l->open_count];
	l->open[p->at] = last;
	l->peers[last].at = p->at;
	*p = (struct local_peer){.fd = -1, .ask_at_ns = l->now_ns + WEFT_MS(ASK_AGAIN_MS)};
}

void local_end_channel(struct local_port *l, struct local_peer *p)
{
	if (!p->is_open || p->has_ended)
		return;
	p->has_ended = true;
	local_late_divert(l, p);
	p->rx_last = p->rx.next + LOCAL_SLOTS;
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, p->fd, NULL); /* it would stay readable */
}

static struct local_end end_of(void *shm, uint32_t side, uint32_t mtu_bytes)
{
	return (struct local_end){.shared = &((struct local_shm *)shm)->rings[side],
				  .slots = (uint8_t *)shm + local_slots_at(side, mtu_bytes),
				  .stride = local_slot_stride(mtu_bytes),
				  .mtu_bytes = mtu_bytes};
}

/* NULL: it is not the memory of a channel. */
static void *shm_map(int fd, uint64_t bytes)
{
	struct stat st;
	if (fstat(fd, &st) != 0 || (uint64_t)st.st_size != bytes)
		return NULL;
	void *shm = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return shm == MAP_FAILED ? NULL : shm;
}

/* The socket becomes the channel's; false: it stays the caller's. */
static bool channel_open(struct local_port *l, struct local_peer *p, const struct local_msg *m, const int *files)
{
	if (p->is_open)
		local_close_channel(l, p);
	if (m->side > 1 || m->mtu_bytes == 0 || m->mtu_bytes > UINT16_MAX)
		return false;
	uint64_t bytes = local_shm_bytes(m->mtu_bytes);
	void *shm = shm_map(files[0], bytes);
	if (shm == NULL)
		return false;
	if (watch(l->epoll_fd, files[1], (uint32_t)(p - l->peers)) != 0) {
		munmap(shm, bytes);
		return false;
	}
	*p = (struct local_peer){.is_open = true,
				 .at = (uint8_t)l->open_count,
				 .fd = files[1],
				 .shm = shm,
				 .shm_bytes = bytes,
				 .rx = end_of(shm, m->side, m->mtu_bytes),
				 .tx = end_of(shm, !m->side, m->mtu_bytes)};
	l->open[l->open_count++] = (uint8_t)(p - l->peers);
	l->stats.local_channels++;
	return true;
}

/* The peer wakes us, or is gone. */
static void channel_heard(struct local_port *l, struct local_peer *p)
{
	char wakes[64];
	ssize_t n = p->is_open && !p->has_ended ? recv(p->fd, wakes, sizeof wakes, MSG_DONTWAIT) : 1;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		local_end_channel(l, p);
}

/* ---- weft host ---- */

static void door_lose(struct local_port *l)
{
	close(l->door_fd);
	l->door_fd = -1;
	l->call_ns = l->now_ns + WEFT_MS(CALL_AGAIN_MS);
}

/* Without waiting. */
static void door_call(struct local_port *l)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	memcpy(addr.sun_path, l->path, sizeof l->path);
	l->call_ns = l->now_ns + WEFT_MS(CALL_AGAIN_MS);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0 || watch(l->epoll_fd, fd, NEWS_DOOR) != 0) {
		close(fd);
		return;
	}
	l->door_fd = fd;
	l->asked_ns = l->now_ns + WEFT_MS(PATIENCE_MS);
}

/* All is new: it may have been another weft host, which knows of no channel. */
static void hello(struct local_port *l, const struct local_msg *m)
{
	while (l->open_count > 0)
		local_close_channel(l, &l->peers[l->open[0]]);
	memset(l->peers, 0, sizeof l->peers);
	l->first = m->ip;
	l->peer_count = m->count <= LOCAL_PEERS_MAX ? m->count : 0;
}

/* True: the socket among the files is in use. */
static bool message_take(struct local_port *l, const struct local_msg *m, const int *files, uint32_t count)
{
	struct local_peer *p = peer_of(l, &m->ip);
	if (m->what == LOCAL_HELLO)
		hello(l, m);
	else if (p != NULL && m->what == LOCAL_NO)
		p->ask_at_ns = l->now_ns + WEFT_MS(ASK_AGAIN_MS);
	else if (p != NULL && m->what == LOCAL_GONE)
		local_end_channel(l, p);
	else if (p != NULL && m->what == LOCAL_OPEN && count == FILES)
		return channel_open(l, p, m, files);
	return false;
}

/* Bytes of the next message, as recv(2), and its files. */
static ssize_t message_read(int fd, struct local_msg *m, int files[FILES], uint32_t *count)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FILES * sizeof(int))];
	} control;
	struct iovec iov = {m, sizeof *m};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	*count = 0;
	if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return n;
	*count = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	assert(*count <= FILES);
	memcpy(files, CMSG_DATA(c), *count * sizeof(int));
	return n;
}

/* False: there is none, or nobody any more. */
static bool message_next(struct local_port *l)
{
	struct local_msg m;
	int files[FILES];
	uint32_t count;
	ssize_t n = message_read(l->door_fd, &m, files, &count);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	bool keeps_socket = n == sizeof m && message_take(l, &m, files, count);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || !keeps_socket)
			close(files[i]);
	if (n == sizeof m)
		return true;
	door_lose(l);
	return false;
}

static void news(struct local_port *l, uint32_t what)
{
	if (what < LOCAL_PEERS_MAX)
		channel_heard(l, &l->peers[what]);
	while (what == NEWS_DOOR && l->door_fd >= 0 && message_next(l)) {
	}
}

void local_look(struct local_port *l)
{
	struct epoll_event events[EVENTS];
	if (l->door_fd < 0 && l->now_ns >= l->call_ns)
		door_call(l);
	l->look_ns = l->now_ns + (l->now_ns < l->asked_ns ? WEFT_MS(LOOK_ASKED_MS) : WEFT_MS(LOOK_MS));
	int n = epoll_wait(l->epoll_fd, events, EVENTS, 0);
	for (int i = 0; i < n; i++)
		news(l, events[i].data.u32);
}

void local_ask(struct local_port *l, struct local_peer *p)
{
	struct local_msg m = {.what = LOCAL_ASK, .ip = local_peer_ip(l, p)};
	if (l->door_fd < 0 || l->now_ns < p->ask_at_ns)
		return;
	p->ask_at_ns = l->now_ns + WEFT_MS(ASK_AGAIN_MS);
	if (send(l->door_fd, &m, sizeof m, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof m)
		return; /* asked again later */
	l->asked_ns = l->now_ns + WEFT_MS(PATIENCE_MS);
	l->look_ns = l->now_ns + WEFT_MS(LOOK_ASKED_MS);
}
