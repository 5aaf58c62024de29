/* SPDX-License-Identifier: BSD-3-Clause */
#include "door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "activation.h"
#include "bus_fault.h"
#include "channels.h"
#include "door_socket.h"
#include "lease.h"
#include "relay.h"
#include "socket_path.h"
#include "weft/ethdev.h"

enum {
	RELAYS = 4, /* of a port: who looks whether somebody listens, who leaves and who comes */
	PATH_BYTES = sizeof((struct sockaddr_un *)0)->sun_path,
	CHECK_MS = 100, /* between looks at clients that say nothing */
	OFFENDERS = 16, /* users that are remembered */
	SHUT_MS = 1000, /* so long nobody comes to the port of a client that had to go */
};

/* What an event is of; the port and the relay are beside it. */
enum kind { AT_HOST, AT_PORT, AT_LEASE, AT_CLIENT, AT_BACKEND, AT_WAKE, AT_LOCAL, AT_CHANNELS };

struct door_port {
	int listener;
	int local_listener; /* for who asks for channels; -1: there are none */
	struct weft_ip ip;
	struct relay relays[RELAYS];
	weft_ns shut_until;
	_Atomic uint32_t client_uid, client_pid; /* 0 and 0: nobody */
	_Atomic uint64_t refused;                /* connections, and clients that had to go */
};

/* A user whose client had to go: gets no other port for a moment. */
struct offender {
	uid_t uid;
	weft_ns until;
};

struct door {
	struct door_conf conf;
	struct leases leases;
	struct channels channels;
	pthread_t thread;
	int epoll_fd, host_listener;
	int wake_fd; /* to end, or because of memory that is gone */
	_Atomic bool stop;
	struct offender offenders[OFFENDERS]; /* the latest ones */
	uint32_t offences;
	struct door_port ports[SWITCH_PORTS_MAX];
};

static bool watch(const struct door *d, int fd, enum kind kind, uint32_t port, uint32_t relay)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = (uint64_t)kind << 32 | port << 8 | relay};
	return epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
}

/* ---- ports and who has them ---- */

static void lease_path(const struct door *d, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/leases", d->conf.dir);
}

/* What cannot be written is not there after a restart, which is not worth ending for. */
static void leases_changed(struct door *d, uint32_t port)
{
	char path[PATH_BYTES];
	const struct lease *e = &d->leases.at[port];
	atomic_store(&d->ports[port].client_uid, e->is_taken ? e->uid : 0);
	atomic_store(&d->ports[port].client_pid, e->is_taken ? (uint32_t)e->pid : 0);
	lease_path(d, path);
	int rc = leases_save(&d->leases, path);
	if (rc != 0)
		fprintf(stderr, "weft host: %s: %s\n", path, strerror(-rc));
}

static void port_end(struct door *d, uint32_t port)
{
	for (uint32_t i = 0; i < RELAYS; i++)
		relay_close(&d->ports[port].relays[i]);
	d->ports[port].shut_until = 0;
	channels_leave(&d->channels, port);
	leases_end(&d->leases, port);
	leases_changed(d, port);
}

/* Once for each process, which cannot fill the log. */
static void complain(struct door *d, uint32_t port, const char *why)
{
	struct lease *e = &d->leases.at[port];
	atomic_fetch_add(&d->ports[port].refused, 1);
	d->ports[port].shut_until = weft_clock_ns() + WEFT_MS(SHUT_MS);
	if (!e->is_taken)
		return;
	d->offenders[d->offences++ % OFFENDERS] = (struct offender){e->uid, d->ports[port].shut_until};
	if (e->has_complained)
		return;
	e->has_complained = true;
	fprintf(stderr, "weft host: port %u: process %d of user %u has to go: %s\n", port, (int)e->pid,
		(unsigned)e->uid, why);
}

static int accept_who(int listener, struct ucred *who)
{
	socklen_t size = sizeof *who;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &size) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void address_text(const struct weft_ip *ip, char text[INET6_ADDRSTRLEN])
{
	bool v4 = weft_ip_is_v4(ip);
	inet_ntop(v4 ? AF_INET : AF_INET6, ip->b + (v4 ? 12 : 0), text, INET6_ADDRSTRLEN);
}

static bool has_offended(const struct door *d, uid_t uid)
{
	for (uint32_t i = 0; i < OFFENDERS; i++)
		if (d->offenders[i].uid == uid && weft_clock_ns() < d->offenders[i].until)
			return uid != 0;
	return false;
}

/* Somebody wants a port; the answer is a line. The connection stays as long as the process wants the port. */
static void host_accept(struct door *d)
{
	char address[INET6_ADDRSTRLEN];
	struct ucred who;
	const char *why = NULL;
	int fd = accept_who(d->host_listener, &who);
	if (fd < 0)
		return;
	int port = -1;
	if (has_offended(d, who.uid))
		why = "a process of this user had to go a moment ago";
	else
		port = leases_take(&d->leases, who.uid, who.pid, &why);
	if (port < 0) {
		door_socket_tell(fd, "no %s\n", why);
		close(fd);
		return;
	}
	struct lease *e = &d->leases.at[port];
	e->connection = fd;
	address_text(&d->ports[port].ip, address);
	bool good = watch(d, fd, AT_LEASE, (uint32_t)port, 0) && watch(d, e->pid_fd, AT_LEASE, (uint32_t)port, 0) &&
		    door_socket_tell(fd, "port %s/ports/%d %s %u\n", d->conf.dir, port, address, d->conf.mtu_bytes);
	if (good)
		leases_changed(d, (uint32_t)port);
	else
		port_end(d, (uint32_t)port);
}

/* ---- connections to ports ---- */

static struct relay *relay_unused(struct door_port *p)
{
	for (uint32_t i = 0; i < RELAYS; i++)
		if (p->relays[i].client < 0)
			return &p->relays[i];
	return NULL;
}

/* DPDK has one client for a port: who speaks last. */
static void others_close(struct door_port *p, const struct relay *one)
{
	for (uint32_t i = 0; i < RELAYS; i++)
		if (&p->relays[i] != one && p->relays[i].backend >= 0)
			relay_close(&p->relays[i]);
}

static void port_accept(struct door *d, uint32_t port)
{
	struct door_port *p = &d->ports[port];
	const struct lease *e = &d->leases.at[port];
	struct ucred who;
	int fd = accept_who(p->listener, &who);
	if (fd < 0)
		return;
	bool may = e->is_taken && who.uid == e->uid && weft_clock_ns() >= p->shut_until;
	struct relay *r = may ? relay_unused(p) : NULL;
	if (r == NULL) {
		atomic_fetch_add(&p->refused, 1);
		close(fd);
		return;
	}
	relay_open(r, fd);
	if (!watch(d, fd, AT_CLIENT, port, (uint32_t)(r - p->relays)))
		relay_close(r);
}

static void relay_judge(struct door *d, uint32_t port, struct relay *r, const char *why)
{
	if (why == NULL)
		return;
	relay_close(r);
	if (why[0] != '\0')
		complain(d, port, why);
}

static void from_client(struct door *d, uint32_t port, uint32_t index)
{
	struct door_port *p = &d->ports[port];
	struct relay *r = &p->relays[index];
	char path[PATH_BYTES];
	if (r->client < 0)
		return;
	bool had_backend = r->backend >= 0;
	snprintf(path, sizeof path, "%s%u", d->conf.private_prefix, port);
	const char *why = relay_from_client(r, path);
	if (why == NULL && !had_backend && r->backend >= 0) {
		others_close(p, r);
		if (!watch(d, r->backend, AT_BACKEND, port, index))
			why = "no memory";
	}
	relay_judge(d, port, r, why);
}

static void from_backend(struct door *d, uint32_t port, uint32_t index)
{
	struct relay *r = &d->ports[port].relays[index];
	if (r->backend >= 0)
		relay_judge(d, port, r, relay_from_backend(r));
}

/* ---- channels ---- */

/* For the process that has the port, and no other one of its user. */
static void local_accept(struct door *d, uint32_t port)
{
	const struct lease *e = &d->leases.at[port];
	struct ucred who;
	int fd = accept_who(d->ports[port].local_listener, &who);
	if (fd < 0)
		return;
	weft_ns now = weft_clock_ns();
	bool may = e->is_taken && who.uid == e->uid && who.pid == e->pid && now >= d->ports[port].shut_until;
	if (!may || !channels_join(&d->channels, port, fd, now)) {
		close(fd);
		return;
	}
	if (!watch(d, fd, AT_CHANNELS, port, 0))
		channels_leave(&d->channels, port);
}

static void local_hear(struct door *d, uint32_t port)
{
	const char *why = channels_from_client(&d->channels, port, weft_clock_ns());
	if (why == NULL)
		return;
	channels_leave(&d->channels, port);
	if (why[0] != '\0')
		complain(d, port, why);
}

/* ---- the thread ---- */

/* What DPDK uses of a client may have gone bad meanwhile. */
static void clients_check(struct door *d)
{
	for (uint32_t port = 0; port < d->conf.ports; port++) {
		for (uint32_t i = 0; i < RELAYS; i++) {
			struct relay *r = &d->ports[port].relays[i];
			if (relay_has_lost_memory(r))
				relay_judge(d, port, r, "it took back memory that it had given");
			else if (relay_has_full_event(r))
				relay_judge(d, port, r, "an event that it lets nobody write to");
		}
	}
}

static void woken(struct door *d)
{
	uint64_t times;
	if (read(d->wake_fd, &times, sizeof times) == sizeof times)
		clients_check(d);
}

static void handle(struct door *d, uint64_t what)
{
	uint32_t port = (uint32_t)what >> 8, relay = what & 0xff;
	switch ((enum kind)(what >> 32)) {
	case AT_HOST:
		host_accept(d);
		break;
	case AT_PORT:
		port_accept(d, port);
		break;
	case AT_LEASE:
		port_end(d, port);
		break;
	case AT_CLIENT:
		from_client(d, port, relay);
		break;
	case AT_BACKEND:
		from_backend(d, port, relay);
		break;
	case AT_WAKE:
		woken(d);
		break;
	case AT_LOCAL:
		local_accept(d, port);
		break;
	case AT_CHANNELS:
		local_hear(d, port);
		break;
	}
}

/* One event at a time: what one closes may have been the next. */
static void *run(void *arg)
{
	struct door *d = arg;
	struct epoll_event e;
	weft_ns checked = weft_clock_ns();
	while (!atomic_load(&d->stop)) {
		if (epoll_wait(d->epoll_fd, &e, 1, CHECK_MS) == 1)
			handle(d, e.data.u64);
		if (weft_clock_ns() - checked < WEFT_MS(CHECK_MS))
			continue;
		checked = weft_clock_ns();
		clients_check(d);
	}
	return NULL;
}

/* ---- life ---- */

static int port_listen(const struct door *d, uint32_t port, const char *suffix, enum kind kind, int *out,
		       struct weft_err *err)
{
	char path[PATH_BYTES];
	if ((size_t)snprintf(path, sizeof path, "%s/ports/%u%s", d->conf.dir, port, suffix) >= sizeof path)
		return weft_err_set(err, -ENAMETOOLONG, "%s: too long for a socket's path", path);
	int rc =
		door_socket_listen(path, 0666, kind == AT_LOCAL ? SOCK_SEQPACKET : SOCK_STREAM, d->conf.user, out, err);
	if (rc == 0 && !watch(d, *out, kind, port, 0))
		rc = weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return rc;
}

static int ports_listen(struct door *d, struct weft_err *err)
{
	char path[PATH_BYTES];
	int rc = 0;
	for (uint32_t i = 0; i < d->conf.ports && rc == 0; i++) {
		rc = port_listen(d, i, "", AT_PORT, &d->ports[i].listener, err);
		if (rc == 0 && d->conf.local)
			rc = port_listen(d, i, LOCAL_SOCKET_SUFFIX, AT_LOCAL, &d->ports[i].local_listener, err);
	}
	snprintf(path, sizeof path, "%s/ports", d->conf.dir);
	if (rc == 0 && chmod(path, 0755) != 0)
		rc = weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return rc;
}

static int host_listen(struct door *d, struct weft_err *err)
{
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "%s/host", d->conf.dir);
	d->host_listener = activation_take();
	int rc = 0;
	if (d->host_listener < 0) {
		rc = door_socket_listen(path, d->conf.group != NULL ? 0660 : 0600, SOCK_STREAM, d->conf.user,
					&d->host_listener, err);
		if (rc == 0 && d->conf.group != NULL)
			rc = door_socket_give(path, d->conf.group, err);
	}
	if (rc == 0 && !watch(d, d->host_listener, AT_HOST, 0, 0))
		rc = weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	return rc;
}

static int restore(struct door *d, struct weft_err *err)
{
	char path[PATH_BYTES];
	lease_path(d, path);
	leases_restore(&d->leases, path);
	for (uint32_t i = 0; i < d->conf.ports; i++) {
		leases_changed(d, i);
		if (d->leases.at[i].is_taken && !watch(d, d->leases.at[i].pid_fd, AT_LEASE, i, 0))
			return weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	}
	return 0;
}

static struct door *door_new(const struct door_conf *conf)
{
	struct door *d = calloc(1, sizeof *d);
	if (d == NULL)
		return NULL;
	d->conf = *conf;
	d->leases = (struct leases){.ports = conf->ports, .per_user = conf->per_user};
	channels_init(&d->channels, conf->addrs, conf->ports, conf->mtu_bytes);
	d->host_listener = -1;
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	d->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (uint32_t i = 0; i < conf->ports; i++) {
		d->ports[i].listener = d->ports[i].local_listener = -1;
		d->ports[i].ip = conf->addrs[i];
		for (uint32_t k = 0; k < RELAYS; k++)
			relay_open(&d->ports[i].relays[k], -1);
	}
	return d;
}

static void door_free(struct door *d)
{
	for (uint32_t i = 0; i < d->conf.ports; i++) {
		for (uint32_t k = 0; k < RELAYS; k++)
			relay_close(&d->ports[i].relays[k]);
		channels_leave(&d->channels, i);
		leases_end(&d->leases, i);
		if (d->ports[i].listener >= 0)
			close(d->ports[i].listener);
		if (d->ports[i].local_listener >= 0)
			close(d->ports[i].local_listener);
	}
	if (d->host_listener >= 0)
		close(d->host_listener);
	close(d->wake_fd);
	close(d->epoll_fd);
	free(d);
}

int door_open(const struct door_conf *conf, struct door **out, struct weft_err *err)
{
	struct door *d = door_new(conf);
	if (d == NULL)
		return weft_err_set(err, -ENOMEM, "out of memory");
	int rc = watch(d, d->wake_fd, AT_WAKE, 0, 0) ? 0 : weft_err_set(err, -errno, "epoll: %s", strerror(errno));
	if (rc == 0)
		rc = ports_listen(d, err);
	if (rc == 0)
		rc = restore(d, err);
	if (rc == 0)
		rc = host_listen(d, err);
	if (rc == 0) {
		bus_fault_survive(d->wake_fd);
		rc = pthread_create(&d->thread, NULL, run, d);
		if (rc != 0)
			rc = weft_err_set(err, -rc, "no thread: %s", strerror(rc));
	}
	if (rc != 0)
		door_free(d);
	else
		*out = d;
	return rc;
}

void door_close(struct door *d)
{
	const uint64_t one = 1;
	atomic_store(&d->stop, true);
	(void)!write(d->wake_fd, &one, sizeof one);
	pthread_join(d->thread, NULL);
	door_free(d);
}

static void value_add(struct weft_port_row *row, const char *name, uint64_t value)
{
	if (row->count < WEFT_PORT_VALUES_MAX)
		row->values[row->count++] = (struct weft_port_value){name, value};
}

void door_tell(const struct door *d, uint32_t port, struct weft_port_row *row)
{
	const struct door_port *p = &d->ports[port];
	value_add(row, "client_pid", atomic_load(&p->client_pid));
	value_add(row, "client_uid", atomic_load(&p->client_uid));
	value_add(row, "clients_refused", atomic_load(&p->refused));
}
