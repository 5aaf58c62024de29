/* SPDX-License-Identifier: BSD-3-Clause */
/* Open devices. A device has one port and one engine however many domains are opened on it in this process. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "prov.h"
#include "weft/ethdev.h"

/* After our own connections are closed, peers may still ask for an acknowledgement they lost: stay this long after the
 * last packet. */
enum {
	QUIET_MS = 5,
	QUIET_DGRAM_MS = 200, /* nobody acknowledges those: the device may still hold them, or ask for an address */
};

/* What devices without a speed of their own are taken for: shared memory, the kernel's interfaces. */
enum { SOFT_PAYLOAD_BYTES = 8192 };
#define SOFT_LINK_BPS (UINT64_C(400) * 1000000000)

static TAILQ_HEAD(, prov_nic) open_nics = TAILQ_HEAD_INITIALIZER(open_nics);
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static bool eal_used, eal_is_parents; /* eal_used: by this process or the one it was forked from */

static void lock_init(struct prov_nic *nic)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP); /* held for a burst at most */
	pthread_mutex_init(&nic->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_cond_init(&nic->news, NULL);
}

static void nic_init(struct prov_nic *nic, const struct prov_dev *dev, const struct prov_tune *tune)
{
	nic->ip = dev->ip;
	nic->linger_ns = tune->linger_ns;
	lock_init(nic);
	TAILQ_INIT(&nic->kicks);
	TAILQ_INIT(&nic->eps);
	TAILQ_INIT(&nic->reqs);
	TAILQ_INIT(&nic->cntrs);
	TAILQ_INIT(&nic->due);
}

/* Packets are as large as the port carries, unless a parameter says otherwise. A link of memory costs by the packet: it
 * gets the largest there are, and no rate it could not exceed. */
static void link_fit(struct prov_tune *tune, const struct weft_port *port)
{
	enum { HEADERS_MAX = 40 + 8 + 56 + 4, DEMAND = 4 }; /* IPv6, UDP, PDS and SES of a data packet, CRC */
	if (!port->link_bps && !tune->payload_chosen)
		tune->engine.tune.payload_bytes = SOFT_PAYLOAD_BYTES;
	if (!port->link_bps && !tune->link_chosen) {
		tune->engine.tune.link_bps = SOFT_LINK_BPS;
		if (!tune->pacing_chosen)
			tune->engine.tune.pacing = 0; /* its queue is what we share with the other side */
	}
	uint32_t headers = HEADERS_MAX + (tune->engine.rcc ? DEMAND : 0);
	uint32_t room = port->max_ip_bytes > headers ? port->max_ip_bytes - headers : 0;
	if (!tune->payload_chosen && tune->engine.tune.payload_bytes > room)
		tune->engine.tune.payload_bytes = room;
}

/* Processes that are joined by a socket start together: the one that connects gives the other time to make it. Drivers
 * do not try again. An abstract socket cannot be seen. */
static void socket_wait(const char *devargs, weft_ns patience_ns)
{
	const struct timespec nap = {.tv_nsec = 10000000};
	char path[128], role[16];
	bool memif = weft_ethdev_arg(devargs, "socket", path, sizeof path);
	if (memif ? !weft_ethdev_arg(devargs, "role", role, sizeof role) || strcmp(role, "client") != 0
		  : !weft_ethdev_arg(devargs, "path", path, sizeof path))
		return;
	if (memif && !strstr(devargs, "socket-abstract=no"))
		return;
	weft_ns end = weft_clock_ns() + patience_ns;
	while (access(path, F_OK) != 0 && weft_clock_ns() < end)
		nanosleep(&nap, NULL);
}

static int engine_open(struct prov_nic *nic, const struct prov_dev *dev, struct prov_tune *tune, struct weft_err *err)
{
	const struct weft_ethdev_conf port_conf = {.pool_pkts = tune->pool_pkts,
						   .dev = dev->devargs,
						   .ip = dev->ip,
						   .max_ip_bytes = tune->max_ip_bytes,
						   .no_arp = tune->no_arp};
	int ret = tune->telemetry && !tune->eal_args ? weft_telemetry_start(err) : weft_eal_start(tune->eal_args, err);
	socket_wait(dev->devargs, tune->wait_ns);
	if (!ret)
		ret = weft_ethdev_open(&port_conf, &nic->port, err);
	if (ret)
		return ret;
	tune->engine.ip = dev->ip;
	tune->engine.seed += weft_ip_low32(&dev->ip); /* devices differ even with a seed given */
	link_fit(tune, nic->port);
	nic->wire = nic->port;
	if (tune->faulty)
		ret = weft_fault_open(&tune->fault, nic->port, &nic->wire, err);
	if (!ret)
		ret = weft_engine_create(&tune->engine, nic->wire, weft_clock_ns(), &nic->engine, err);
	if (ret)
		nic->wire->ops->close(nic->wire);
	return ret;
}

static void telemetry_read(void *arg, struct weft_stats *stats)
{
	struct prov_nic *nic = arg;
	prov_nic_lock(nic);
	*stats = *weft_engine_stats(nic->engine);
	prov_nic_unlock(nic);
}

/* Whether EAL was started with telemetry is its business. A device works without. */
static void telemetry_add(struct prov_nic *nic)
{
	struct weft_err err;
	nic->telemetry = (struct weft_telemetry){.name = nic->name, .read = telemetry_read, .arg = nic};
	nic->has_telemetry = weft_telemetry_add(&nic->telemetry, &err) == 0;
	if (!nic->has_telemetry)
		FI_WARN(&prov_weft, FI_LOG_DOMAIN, "%s\n", err.msg);
}

static void nic_free(struct prov_nic *nic)
{
	if (nic->wake_fd >= 0)
		close(nic->wake_fd);
	free(nic->name);
	free(nic);
}

static struct prov_nic *nic_new(const char *name)
{
	struct prov_nic *nic = calloc(1, sizeof *nic);
	if (!nic)
		return NULL;
	nic->name = strdup(name);
	nic->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (nic->name && nic->wake_fd >= 0)
		return nic;
	nic_free(nic);
	return NULL;
}

static int nic_open(const struct prov_dev *dev, struct prov_nic **out, struct weft_err *err)
{
	struct prov_tune tune;
	struct prov_nic *nic = nic_new(dev->name);
	if (!nic)
		return weft_err_set(err, -ENOMEM, "no memory or no file descriptor left");
	int ret = prov_tune_load(&tune, err);
	if (!ret)
		ret = engine_open(nic, dev, &tune, err);
	if (!ret) {
		nic_init(nic, dev, &tune);
		telemetry_add(nic);
		*out = nic;
	} else {
		nic_free(nic);
	}
	prov_tune_free(&tune);
	return ret;
}

static struct prov_nic *nic_find(const char *name)
{
	struct prov_nic *nic;
	TAILQ_FOREACH(nic, &open_nics, link)
	if (strcmp(nic->name, name) == 0)
		return nic;
	return NULL;
}

int prov_nic_get(const struct prov_dev *dev, struct prov_nic **out, struct weft_err *err)
{
	int ret = 0;
	pthread_mutex_lock(&open_lock);
	struct prov_nic *nic = nic_find(dev->name);
	if (eal_is_parents) {
		ret = weft_err_set(err, -ENOSYS, "%s: the parent of this process uses DPDK; only exec makes it ours",
				   dev->name);
	} else if (!nic) {
		eal_used = true;
		ret = nic_open(dev, &nic, err);
		if (!ret)
			TAILQ_INSERT_TAIL(&open_nics, nic, link);
	}
	if (!ret) {
		nic->users++;
		*out = nic;
	}
	pthread_mutex_unlock(&open_lock);
	return ret;
}

static bool nic_quiet(void *arg)
{
	struct prov_nic *nic = arg;
	bool datagrams = weft_engine_stats(nic->engine)->tx_dgram > 0;
	return weft_engine_idle(nic->engine) &&
	       nic->now_ns - nic->active_ns >= WEFT_MS(datagrams ? QUIET_DGRAM_MS : QUIET_MS);
}

/* What happened on the wire, for FI_LOG_LEVEL=info. */
static void stats_log(const struct prov_nic *nic)
{
	const struct weft_stats *stats = weft_engine_stats(nic->engine);
	for (int i = 0; i < WEFT_COUNTER_COUNT; i++) {
		const struct weft_counter_desc *desc = &weft_counter_descs[i];
		uint64_t value;
		memcpy(&value, (const char *)stats + (size_t)i * sizeof value, sizeof value);
		if (value)
			FI_INFO(&prov_weft, FI_LOG_DOMAIN, "%s: %s %llu: %s\n", nic->name, desc->name,
				(unsigned long long)value, desc->help);
	}
}

/* Once, with all that was seen. */
static void credit_warn(const struct prov_nic *nic)
{
	uint64_t signs = weft_engine_stats(nic->engine)->credit_unlimited;
	if (signs)
		FI_WARN(&prov_weft, FI_LOG_DOMAIN,
			"%s: the fabric does not limit credits (%llu signs of it): its switches need credit queues and "
			"symmetric hashing for this FI_WEFT_CC\n",
			nic->name, (unsigned long long)signs);
}

static void device_close(struct prov_nic *nic)
{
	if (nic->has_telemetry)
		weft_telemetry_remove(&nic->telemetry);
	weft_engine_shutdown(nic->engine, weft_clock_ns());
	nic->active_ns = weft_clock_ns();
	if (nic->linger_ns)
		prov_wait_until(nic, nic_quiet, nic, (int)(nic->linger_ns / WEFT_MS(1)));
	credit_warn(nic);
	stats_log(nic);
	weft_engine_destroy(nic->engine);
	nic->wire->ops->close(nic->wire);
}

static void nic_destroy(struct prov_nic *nic)
{
	if (!nic->orphan)
		device_close(nic);
	prov_req_free_all(nic);
	pthread_cond_destroy(&nic->news);
	pthread_mutex_destroy(&nic->lock);
	nic_free(nic);
}

void prov_nic_put(struct prov_nic *nic)
{
	pthread_mutex_lock(&open_lock);
	if (--nic->users == 0) {
		TAILQ_REMOVE(&open_nics, nic, link);
		nic_destroy(nic);
	}
	pthread_mutex_unlock(&open_lock);
}

/* The application's signal handlers do not run on our thread. */
static int thread_start(struct prov_nic *nic)
{
	sigset_t all, before;
	nic->thread_stop = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int ret = -pthread_create(&nic->thread, NULL, prov_progress_thread, nic);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

int prov_nic_auto_get(struct prov_nic *nic)
{
	int ret = 0;
	pthread_mutex_lock(&open_lock);
	if (nic->auto_users == 0 && !nic->orphan)
		ret = thread_start(nic);
	if (!ret)
		nic->auto_users++;
	pthread_mutex_unlock(&open_lock);
	return ret;
}

void prov_nic_auto_put(struct prov_nic *nic)
{
	pthread_mutex_lock(&open_lock);
	if (--nic->auto_users == 0 && !nic->orphan) {
		prov_nic_lock(nic);
		nic->thread_stop = true;
		prov_nic_news(nic);
		eventfd_write(nic->wake_fd, 1); /* whoever listens */
		prov_nic_unlock(nic);
		pthread_join(nic->thread, NULL);
	}
	pthread_mutex_unlock(&open_lock);
}

/* Locks may have been held by threads that the child does not have. */
void prov_nics_orphan(void)
{
	struct prov_nic *nic;
	pthread_mutex_init(&open_lock, NULL);
	eal_is_parents = eal_used;
	TAILQ_FOREACH(nic, &open_nics, link)
	{
		lock_init(nic);
		prov_nic_orphan(nic);
	}
}
