/* SPDX-License-Identifier: BSD-3-Clause */
#include "channels.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	ASKED_PER_S = 256,       /* by one process; one that asks for each address every second needs 30 */
	REMADE_MS = 500,         /* no channel is made again sooner */
	UNREAD_BYTES = 32 << 10, /* that a process may leave unread, as the kernel counts: some 40 messages */
	FILES = 2,
};

void channels_init(struct channels *c, const struct weft_ip *first, uint32_t count, uint32_t mtu_bytes)
{
	assert(count >= 1 && count <= LOCAL_PEERS_MAX && mtu_bytes > 0 && mtu_bytes <= UINT16_MAX);
	*c = (struct channels){.first = *first, .count = count, .mtu_bytes = mtu_bytes};
	for (uint32_t i = 0; i < LOCAL_PEERS_MAX; i++)
		c->at[i].fd = -1;
}

static struct weft_ip ip_of(const struct channels *c, uint32_t port)
{
	struct weft_ip ip = c->first;
	uint32_t low = weft_ip_low32(&c->first) + port;
	for (int i = 15; i >= 12; i--, low >>= 8)
		ip.b[i] = (uint8_t)low;
	return ip;
}

/* `files`: FILES of them, or NULL. -errno. */
static int say(int fd, const struct local_msg *m, const int *files)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FILES * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)m, sizeof *m};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (files != NULL) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof control.room;
		control.align = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(FILES * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.align), files, FILES * sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof *m ? 0 : -errno;
}

/* Who does not read finds that its connection has ended. So do we, as if it had left. */
static void tell(struct channels *c, uint32_t port, enum local_what what, uint32_t about)
{
	const struct local_msg m = {.what = what, .ip = ip_of(c, about)};
	if (c->at[port].fd >= 0 && say(c->at[port].fd, &m, NULL) != 0)
		shutdown(c->at[port].fd, SHUT_RDWR);
}

/* False: too often. */
static bool may_ask(struct channel_client *one, weft_ns now)
{
	if (now - one->since_ns >= WEFT_S(1)) {
		one->since_ns = now;
		one->asked = 0;
	}
	return ++one->asked <= ASKED_PER_S;
}

bool channels_join(struct channels *c, uint32_t port, int fd, weft_ns now)
{
	const int unread = UNREAD_BYTES / 2; /* the kernel doubles it */
	const struct local_msg hello = {.what = LOCAL_HELLO, .count = c->count, .ip = c->first};
	assert(port < c->count);
	channels_leave(c, port);
	if (!may_ask(&c->at[port], now) || setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &unread, sizeof unread) != 0 ||
	    say(fd, &hello, NULL) != 0)
		return false;
	c->at[port].fd = fd;
	return true;
}

/* Memory and the two ends of a socket; false: there is none, or no descriptor. */
static bool files_make(const struct channels *c, int *memory, int ends[2])
{
	*memory = memfd_create("weft-local", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*memory < 0)
		return false;
	if (ftruncate(*memory, (off_t)local_shm_bytes(c->mtu_bytes)) == 0 &&
	    fcntl(*memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0)
		return true;
	close(*memory);
	return false;
}

/* To both, or it is as if there had been none: the socket tells the one that got it. */
static bool channel_send(struct channels *c, uint32_t a, uint32_t b)
{
	const uint32_t ports[2] = {a, b};
	int memory, ends[2], rc = 0;
	if (!files_make(c, &memory, ends))
		return false;
	for (uint32_t side = 0; side < 2 && rc == 0; side++) {
		const int files[FILES] = {memory, ends[side]};
		const struct local_msg m = {
			.what = LOCAL_OPEN, .side = side, .mtu_bytes = c->mtu_bytes, .ip = ip_of(c, ports[!side])};
		rc = say(c->at[ports[side]].fd, &m, files);
		if (rc == -EAGAIN)
			shutdown(c->at[ports[side]].fd, SHUT_RDWR);
	}
	close(memory);
	close(ends[0]);
	close(ends[1]);
	return rc == 0;
}

static void channel_make(struct channels *c, uint32_t port, uint32_t to, weft_ns now)
{
	struct channel_client *one = &c->at[port], *other = &c->at[to];
	if (one->made_ns[to] != 0 && now - one->made_ns[to] < WEFT_MS(REMADE_MS))
		return; /* both asked, or one asks too often */
	if (other->fd < 0 || !channel_send(c, port, to)) {
		tell(c, port, LOCAL_NO, to);
		return;
	}
	one->peers |= UINT32_C(1) << to;
	other->peers |= UINT32_C(1) << port;
	one->made_ns[to] = other->made_ns[port] = now;
}

const char *channels_from_client(struct channels *c, uint32_t port, weft_ns now)
{
	struct local_msg m;
	struct channel_client *one = &c->at[port];
	ssize_t n = one->fd >= 0 ? recv(one->fd, &m, sizeof m, MSG_DONTWAIT | MSG_TRUNC) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return NULL;
	if (n <= 0)
		return "";
	uint32_t to = n == sizeof m ? weft_ip_low32(&m.ip) - weft_ip_low32(&c->first) : 0;
	if (n != sizeof m || m.what != LOCAL_ASK || to >= c->count || to == port || memcmp(m.ip.b, c->first.b, 12) != 0)
		return "a question for a channel that is none";
	if (!may_ask(one, now))
		return "too many questions for channels";
	channel_make(c, port, to, now);
	return NULL;
}

void channels_leave(struct channels *c, uint32_t port)
{
	uint32_t peers = c->at[port].peers;
	if (c->at[port].fd >= 0)
		close(c->at[port].fd);
	c->at[port].fd = -1;
	c->at[port].peers = 0;
	for (; peers != 0; peers &= peers - 1) {
		uint32_t peer = (uint32_t)__builtin_ctz(peers);
		c->at[peer].peers &= ~(UINT32_C(1) << port);
		tell(c, peer, LOCAL_GONE, port);
	}
}
