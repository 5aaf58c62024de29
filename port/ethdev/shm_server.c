/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch's side of shared packet buffers: the buffers of all ports, and who is connected to which. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shm_dev.h"
#include "weft/ethdev.h"

enum {
	PORTS_MAX = SHM_US,  /* holders are told apart by eight bits */
	PKTS_DEFAULT = 2048, /* of a port; those that are never used take no memory */
	PKTS_MIN = 64,
	OURS_SHARE = 8, /* a switch keeps this share of a port's buffers for what is not from such ports */
	IP_BYTES_MIN = 576,
	IP_BYTES_MAX = 65000,
};

/* What the ports of one switch have in common; goes with the last of them. */
struct hub {
	struct shm_mem mem;
	int fd;
	uint32_t ports; /* that are open */
	uint32_t ip_bytes_max;
};

struct server {
	struct shm_port port; /* first: see there */
	struct hub *hub;
	int listen_fd;
	uint32_t first, count; /* buffers of whoever is connected; ours follow */
};

static struct server *server_of(const struct ethdev *d)
{
	return (struct server *)d->shm;
}

/* ---- who is connected ---- */

static int hello_send(int fd, const struct server *s, int rings_fd)
{
	struct shm_hello hello = {.magic = SHM_MAGIC,
				  .version = SHM_VERSION,
				  .bufs = s->hub->mem.count,
				  .stride_bytes = s->hub->mem.stride_bytes,
				  .first = s->first,
				  .count = s->count,
				  .ip_bytes_max = s->hub->ip_bytes_max};
	const int fds[] = {s->hub->fd, rings_fd};
	union {
		char bytes[CMSG_SPACE(sizeof fds)];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {.iov_base = &hello, .iov_len = sizeof hello};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fds);
	memcpy(CMSG_DATA(c), fds, sizeof fds);
	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof hello ? 0 : -errno;
}

/* Rings of its own for each connection: nobody of before writes to them. */
static int rings_create(int *fd, struct shm_rings **rings)
{
	int rc = shm_file_create("weft-rings", sizeof **rings, fd);
	if (rc != 0)
		return rc;
	*rings = shm_file_map(*fd, sizeof **rings);
	if (*rings != NULL)
		return 0;
	rc = -errno;
	close(*fd);
	return rc;
}

static void leave(struct ethdev *d)
{
	d->stats.shm_reclaimed += shm_link_close(&d->shm->link);
}

/* What is free goes to the process before it knows of the rings. */
static void join(struct ethdev *d, int fd)
{
	struct shm_link *l = &d->shm->link;
	struct shm_rings *rings;
	int rings_fd;
	if (rings_create(&rings_fd, &rings) != 0) {
		close(fd);
		return;
	}
	shm_link_open(l, rings, fd, true);
	for (uint32_t before = UINT32_MAX; l->tx.next != before;) {
		before = l->tx.next;
		shm_link_return(l);
	}
	if (hello_send(fd, server_of(d), rings_fd) != 0 || shm_dev_watch(d, fd, SHM_EVENT_WAKE) != 0)
		leave(d);
	close(rings_fd);
}

/* Whoever comes while somebody is there finds the socket closed. */
static void door_look(struct ethdev *d)
{
	int fd = accept4(server_of(d)->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (d->shm->link.rings == NULL)
		join(d, fd);
	else
		close(fd);
}

static enum weft_link_state server_look(struct ethdev *d, weft_ns now)
{
	struct shm_link *l = &d->shm->link;
	bool was_ending = l->is_ending;
	if (l->rings != NULL && !was_ending)
		shm_link_hear(l);
	/* What was sent before the end is taken first; nobody can add to it for ever. */
	if (l->rings != NULL && (l->is_broken || (l->is_ending && (was_ending || !shm_ring_has(&l->rx)))))
		leave(d);
	if (!l->is_ending || l->rings == NULL)
		door_look(d);
	return l->rings != NULL && !l->is_ending ? WEFT_LINK_UP : WEFT_LINK_DOWN;
}

/* ---- opening and closing ---- */

static int hub_create(const struct weft_ethdev_shm_conf *conf, uint32_t pkts, struct hub **out, struct weft_err *err)
{
	struct hub *hub = calloc(1, sizeof *hub);
	uint32_t bufs = conf->count * pkts;
	if (hub == NULL)
		return weft_err_set(err, -ENOMEM, "%s: out of memory", conf->paths[0]);
	hub->ports = 1; /* until all are there */
	hub->ip_bytes_max = conf->max_ip_bytes != 0 ? conf->max_ip_bytes : ETHDEV_IP_MAX_BYTES;
	uint32_t stride = shm_stride_bytes(hub->ip_bytes_max);
	int rc = shm_file_create("weft-packets", (uint64_t)bufs * stride, &hub->fd);
	if (rc != 0)
		weft_err_set(err, rc, "%s: cannot make %u packet buffers of %u bytes: %s", conf->paths[0], bufs, stride,
			     strerror(-rc));
	else if ((rc = shm_mem_open(&hub->mem, hub->fd, bufs, stride, conf->paths[0], err)) != 0)
		close(hub->fd);
	if (rc == 0)
		*out = hub;
	else
		free(hub);
	return rc;
}

static void hub_leave(struct hub *hub)
{
	assert(hub->ports > 0);
	if (--hub->ports > 0)
		return;
	shm_mem_close(&hub->mem);
	close(hub->fd);
	free(hub);
}

static void server_close(struct ethdev *d)
{
	struct server *s = server_of(d);
	if (s->port.link.rings != NULL)
		leave(d);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	ethdev_pool_retire(s->port.link.own);
	ethdev_pool_retire(s->port.link.returns);
	hub_leave(s->hub);
	free(s);
}

static int listen_at(struct ethdev *d, const char *path, struct weft_err *err)
{
	struct sockaddr_un addr;
	struct server *s = server_of(d);
	int rc = shm_dev_address(path, &addr, err);
	if (rc != 0)
		return rc;
	s->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen_fd >= 0 && bind(s->listen_fd, (struct sockaddr *)&addr, sizeof addr) == 0 &&
	    listen(s->listen_fd, 1) == 0 && shm_dev_watch(d, s->listen_fd, SHM_EVENT_LOOK) == 0)
		return 0;
	return weft_err_set(err, -errno, "%s: cannot listen: %s", path, strerror(errno));
}

static int server_setup(struct ethdev *d, const char *path, uint32_t index, uint32_t pkts, struct weft_err *err)
{
	struct server *s = server_of(d);
	struct shm_link *l = &s->port.link;
	uint32_t ours = pkts / OURS_SHARE;
	s->first = index * pkts;
	s->count = pkts - ours;
	l->peer = (uint8_t)index;
	int rc = shm_pool_create(&s->hub->mem, s->first, s->count, false, &l->returns, path, err);
	if (rc == 0)
		rc = shm_pool_create(&s->hub->mem, s->first + s->count, ours, false, &l->own, path, err);
	if (rc == 0)
		rc = listen_at(d, path, err);
	if (rc == 0)
		shm_dev_start(d, s->hub->ip_bytes_max);
	return rc;
}

/* NULL: no memory. */
static struct ethdev *server_create(struct hub *hub, const struct weft_ethdev_conf *conf)
{
	struct server *s = calloc(1, sizeof *s);
	if (s == NULL)
		return NULL;
	*s = (struct server){.port = {.link = {.mem = &hub->mem, .fd = -1}, .look = server_look, .close = server_close},
			     .hub = hub,
			     .listen_fd = -1};
	struct ethdev *d = shm_dev_create(conf, &s->port);
	if (d == NULL)
		free(s);
	else
		hub->ports++;
	return d;
}

static int server_open(struct hub *hub, const struct weft_ethdev_shm_conf *conf, uint32_t index, uint32_t pkts,
		       struct weft_port **port, struct weft_err *err)
{
	const struct weft_ethdev_conf dev = {.dev = conf->paths[index], .net = {.dscp = conf->dscp}};
	struct ethdev *d = server_create(hub, &dev);
	if (d == NULL)
		return weft_err_set(err, -ENOMEM, "%s: out of memory", dev.dev);
	int rc = shm_dev_setup(d, &dev, err);
	if (rc == 0)
		rc = server_setup(d, dev.dev, index, pkts, err);
	if (rc == 0)
		*port = &d->port;
	else
		d->port.ops->close(&d->port);
	return rc;
}

static int conf_check(const struct weft_ethdev_shm_conf *conf, struct weft_err *err)
{
	if (conf->count == 0 || conf->count >= PORTS_MAX)
		return weft_err_set(err, -EINVAL, "%u ports with shared buffers: 1 to %d can be", conf->count,
				    PORTS_MAX - 1);
	if (conf->max_ip_bytes != 0 && (conf->max_ip_bytes < IP_BYTES_MIN || conf->max_ip_bytes > IP_BYTES_MAX))
		return weft_err_set(err, -EINVAL, "%s: max_ip_bytes %u is outside %d..%d", conf->paths[0],
				    conf->max_ip_bytes, IP_BYTES_MIN, IP_BYTES_MAX);
	if (conf->pool_pkts != 0 &&
	    (conf->pool_pkts < PKTS_MIN || conf->pool_pkts > SHM_SLOTS || conf->pool_pkts * conf->count > SHM_BUFS_MAX))
		return weft_err_set(err, -EINVAL, "%s: %u packet buffers of each port: %d to %d can be", conf->paths[0],
				    conf->pool_pkts, PKTS_MIN, SHM_SLOTS);
	return 0;
}

int weft_ethdev_shm_serve(const struct weft_ethdev_shm_conf *conf, struct weft_port **ports, struct weft_err *err)
{
	uint32_t pkts = conf->pool_pkts != 0 ? conf->pool_pkts : PKTS_DEFAULT, done = 0;
	struct hub *hub = NULL;
	int rc = conf_check(conf, err);
	if (rc == 0)
		rc = weft_eal_start(NULL, err);
	if (rc == 0)
		rc = hub_create(conf, pkts, &hub, err);
	if (hub == NULL)
		return rc;
	for (; done < conf->count && rc == 0; done += rc == 0)
		rc = server_open(hub, conf, done, pkts, &ports[done], err);
	for (; rc != 0 && done > 0; done--)
		ports[done - 1]->ops->close(ports[done - 1]);
	hub_leave(hub);
	return rc;
}
