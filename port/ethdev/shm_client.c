/* SPDX-License-Identifier: BSD-3-Clause */
/* A process at a port of a switch that shares packet buffers with it. */
#include "shm_client.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ethdev_peer.h"
#include "shm_dev.h"

enum { FILES = 2, PATIENCE_MS = 10000, BURST = 32 };

#define CALL_AGAIN_NS WEFT_MS(100)

/* The buffers of one connection. Packets in them may be in use for longer than that. */
struct buffers {
	struct buffers *next; /* of a connection before */
	struct shm_mem mem;
	struct rte_mempool *own, *returns;
};

struct client {
	struct shm_port port; /* first: see there */
	struct buffers *all;  /* those of the latest connection first; NULL: there was none */
	int call_fd;          /* waits for the switch's hello; -1: none */
	weft_ns call_at_ns;   /* not connected: when to try again */
	uint32_t ip_bytes;    /* largest IP packet of the port; 0: what the switch says */
	char path[];
};

static struct client *client_of(const struct ethdev *d)
{
	return (struct client *)d->shm;
}

/* ---- buffers ---- */

static void buffers_free(struct buffers *b)
{
	ethdev_pool_retire(b->own);
	ethdev_pool_retire(b->returns);
	shm_mem_close(&b->mem);
	free(b);
}

/* Those of connections before, once nothing in them is in use. */
static void old_free(struct client *c)
{
	struct buffers **at = c->all != NULL ? &c->all->next : &c->all;
	while (*at != NULL) {
		struct buffers *b = *at;
		if (rte_mempool_full(b->own) && rte_mempool_full(b->returns)) {
			*at = b->next;
			buffers_free(b);
		} else {
			at = &b->next;
		}
	}
}

/* The switch has all buffers at first. */
static void pool_empty(struct rte_mempool *pool)
{
	void *m;
	while (rte_mempool_get(pool, &m) == 0)
		;
}

static int buffers_create(const char *dev, const struct shm_hello *hello, int fd, uint8_t peer, struct buffers **out,
			  struct weft_err *err)
{
	struct buffers *b = calloc(1, sizeof *b);
	if (b == NULL) {
		weft_err_set(err, -ENOMEM, "%s: out of memory", dev);
		return -ENOMEM;
	}
	int rc = shm_mem_open(&b->mem, fd, hello->bufs, hello->stride_bytes, dev, err);
	if (rc == 0)
		rc = shm_pool_create(&b->mem, hello->first, hello->count, false, &b->own, dev, err);
	if (rc == 0)
		rc = shm_pool_create(&b->mem, hello->first, hello->count, true, &b->returns, dev, err);
	if (rc != 0) {
		buffers_free(b);
		return rc;
	}
	memset(b->mem.holder, peer, hello->bufs);
	pool_empty(b->own);
	pool_empty(b->returns);
	*out = b;
	return 0;
}

/* ---- joining ---- */

/* Whoever listens could read what is sent, and alter what is received. */
static int listener_check(int fd, const char *path, const char *dev, struct weft_err *err)
{
	struct ucred cred;
	socklen_t size = sizeof cred;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) != 0)
		return weft_err_set(err, -errno, "%s: cannot tell who listens: %s", dev, strerror(errno));
	if (peer_is_trusted(path, cred.uid, geteuid()))
		return 0;
	return weft_err_set(err, -EPERM, "%s: user %u listens there, in a directory that is not theirs alone", dev,
			    (unsigned)cred.uid);
}

static int call(struct client *c, const char *dev, struct weft_err *err)
{
	struct sockaddr_un addr;
	int rc = shm_dev_address(c->path, &addr, err);
	if (rc != 0)
		return rc;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
		rc = weft_err_set(err, -errno, "%s: cannot connect: %s", dev, strerror(errno));
	else
		rc = listener_check(fd, c->path, dev, err);
	if (rc == 0)
		c->call_fd = fd;
	else if (fd >= 0)
		close(fd);
	return rc;
}

/* Bytes of the message, 0 at the end of the socket, or -errno. What is not filled of `files` is -1. */
static ssize_t hello_receive(int fd, struct shm_hello *hello, int files[FILES])
{
	union {
		char bytes[CMSG_SPACE(FILES * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = hello, .iov_len = sizeof *hello};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	for (int i = 0; i < FILES; i++)
		files[i] = -1;
	if (n < 0)
		return -errno;
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(files, CMSG_DATA(c), RTE_MIN(c->cmsg_len - CMSG_LEN(0), FILES * sizeof(int)));
	return n;
}

static bool hello_is_sound(const struct shm_hello *h)
{
	return h->magic == SHM_MAGIC && h->version == SHM_VERSION && h->bufs <= SHM_BUFS_MAX && h->count > 0 &&
	       h->count < h->bufs && h->first <= h->bufs - h->count && h->ip_bytes_max > 0 &&
	       h->ip_bytes_max <= UINT16_MAX && h->stride_bytes <= UINT16_MAX &&
	       h->stride_bytes > h->ip_bytes_max + RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN;
}

/* Takes the buffers that the switch has sent in advance. */
static void settle(struct shm_link *l)
{
	struct rte_mbuf *m[BURST];
	for (uint32_t before = UINT32_MAX; l->rx.next != before;) {
		before = l->rx.next;
		rte_pktmbuf_free_bulk(m, shm_link_rx(l, m, BURST));
	}
}

/* The socket becomes the connection's. */
static int join(struct ethdev *d, const struct shm_hello *hello, const int files[FILES], struct weft_err *err)
{
	struct client *c = client_of(d);
	struct shm_link *l = &c->port.link;
	if (!hello_is_sound(hello))
		return weft_err_set(err, -EPROTO, "%s: the switch shares buffers in another way", d->name);
	if (hello->ip_bytes_max < c->ip_bytes)
		return weft_err_set(err, -EINVAL, "%s: carries IP packets of up to %u bytes, %u were asked for",
				    d->name, hello->ip_bytes_max, c->ip_bytes);
	struct shm_rings *rings = shm_file_map(files[1], sizeof *rings);
	if (rings == NULL)
		return weft_err_set(err, -errno, "%s: cannot map the rings: %s", d->name, strerror(errno));
	struct buffers *b = NULL;
	int rc = buffers_create(d->name, hello, files[0], l->peer, &b, err);
	if (rc != 0) {
		munmap(rings, sizeof *rings);
		return rc;
	}
	b->next = c->all;
	c->all = b;
	l->mem = &b->mem;
	l->own = b->own;
	l->returns = b->returns;
	shm_link_open(l, rings, c->call_fd, false);
	c->call_fd = -1;
	settle(l);
	if (c->ip_bytes == 0)
		c->ip_bytes = hello->ip_bytes_max;
	shm_dev_start(d, c->ip_bytes);
	return shm_dev_watch(d, l->fd, SHM_EVENT_WAKE);
}

static void call_end(struct client *c)
{
	if (c->call_fd >= 0)
		close(c->call_fd);
	c->call_fd = -1;
}

/* What the switch says to a call. -EAGAIN: nothing yet. */
static int answer(struct ethdev *d, struct weft_err *err)
{
	struct client *c = client_of(d);
	struct shm_hello hello;
	int files[FILES];
	ssize_t n = hello_receive(c->call_fd, &hello, files);
	if (n == -EAGAIN || n == -EINTR)
		return -EAGAIN;
	int rc;
	if (n == (ssize_t)sizeof hello && files[0] >= 0 && files[1] >= 0)
		rc = join(d, &hello, files, err);
	else if (n == 0 || n == -ECONNRESET)
		rc = weft_err_set(err, -EBUSY, "%s: another process has this port of the switch", d->name);
	else
		rc = weft_err_set(err, -EPROTO, "%s: what listens there is no port of weft switch --shm", d->name);
	for (int i = 0; i < FILES; i++)
		if (files[i] >= 0)
			close(files[i]);
	call_end(c);
	return rc;
}

static void leave(struct ethdev *d)
{
	d->stats.shm_reclaimed += shm_link_close(&d->shm->link);
	client_of(d)->call_at_ns = 0;
}

/* Joins again when the switch has been started anew. */
static enum weft_link_state client_look(struct ethdev *d, weft_ns now)
{
	struct client *c = client_of(d);
	struct shm_link *l = &c->port.link;
	struct weft_err err;
	if (l->rings != NULL)
		shm_link_hear(l);
	if (l->rings != NULL && (l->is_broken || l->is_ending))
		leave(d);
	old_free(c);
	if (l->rings != NULL)
		return WEFT_LINK_UP;
	if (c->call_fd < 0 && now >= c->call_at_ns) {
		c->call_at_ns = now + CALL_AGAIN_NS;
		call(c, d->name, &err);
	}
	bool has_joined = c->call_fd >= 0 && answer(d, &err) == 0;
	d->stats.link_resets += has_joined;
	return has_joined ? WEFT_LINK_UP : WEFT_LINK_DOWN;
}

/* ---- opening and closing ---- */

static void client_close(struct ethdev *d)
{
	struct client *c = client_of(d);
	if (c->port.link.rings != NULL)
		shm_link_close(&c->port.link);
	call_end(c);
	while (c->all != NULL) {
		struct buffers *b = c->all;
		c->all = b->next;
		buffers_free(b);
	}
	free(c);
}

/* The switch may have other things to do, and those who are connected may be about to leave. */
static int join_first(struct ethdev *d, struct weft_err *err)
{
	struct client *c = client_of(d);
	weft_ns end = weft_clock_ns() + WEFT_MS(PATIENCE_MS);
	int rc = call(c, d->name, err);
	while (rc == 0 || rc == -EAGAIN) {
		if (c->call_fd >= 0) {
			struct pollfd p = {.fd = c->call_fd, .events = POLLIN};
			poll(&p, 1, 100);
			rc = answer(d, err);
			if (rc != -EAGAIN)
				return rc;
		} else {
			poll(NULL, 0, 1);
			rc = call(c, d->name, err);
		}
		if (weft_clock_ns() > end)
			return weft_err_set(err, -ETIMEDOUT, "%s: the switch does not answer", d->name);
	}
	return rc;
}

static int conf_check(const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	if (conf->queue != 0 || conf->queues > 1)
		return weft_err_set(err, -EINVAL, "%s: one engine has such a port, give each one of its own",
				    conf->dev);
	if (conf->proxied_count != 0)
		return weft_err_set(err, -EINVAL, "%s: there cannot be further addresses behind such a port",
				    conf->dev);
	if (weft_ip_is_any(&conf->ip))
		return weft_err_set(err, -EINVAL, "%s: needs an address of its own", conf->dev);
	return 0;
}

int shm_client_open(const struct weft_ethdev_conf *conf, struct weft_port **out, struct weft_err *err)
{
	const char *path = weft_ethdev_shm_path(conf->dev);
	int rc = conf_check(conf, err);
	if (rc != 0)
		return rc;
	struct client *c = calloc(1, sizeof *c + strlen(path) + 1);
	if (c == NULL)
		return weft_err_set(err, -ENOMEM, "%s: out of memory", conf->dev);
	c->port = (struct shm_port){.link = {.fd = -1}, .look = client_look, .close = client_close};
	c->call_fd = -1;
	c->ip_bytes = conf->max_ip_bytes;
	strcpy(c->path, path);
	struct ethdev *d = shm_dev_create(conf, &c->port);
	if (d == NULL) {
		free(c);
		return weft_err_set(err, -ENOMEM, "%s: out of memory", conf->dev);
	}
	rc = shm_dev_setup(d, conf, err);
	if (rc == 0)
		rc = join_first(d, err);
	if (rc != 0) {
		d->port.ops->close(&d->port);
		return rc;
	}
	shm_dev_up(d);
	*out = &d->port;
	return 0;
}
