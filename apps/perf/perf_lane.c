/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing. */
#include "perf_lane.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

enum { MEMORY_BYTES = 64 << 20, WINDOW_MIN = 2, SAMPLES = 1 << 20 };

uint64_t perf_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint32_t perf_window(const struct perf_job *job, uint32_t bytes)
{
	uint32_t fits = bytes > 0 ? MEMORY_BYTES / bytes : job->window;
	if (fits < WINDOW_MIN)
		fits = WINDOW_MIN;
	return job->window < fits ? job->window : fits;
}

/* Bytes of one half of a connection's memory. */
static size_t half_bytes(const struct perf_job *job)
{
	size_t most = 64;
	for (uint32_t i = 0; i < job->size_count; i++) {
		size_t bytes = (size_t)job->sizes[i] * perf_window(job, job->sizes[i]);
		most = bytes > most ? bytes : most;
	}
	return most;
}

static int failed(struct weft_err *err, const char *call, int rc)
{
	return weft_err_set(err, rc, "%s: %s", call, fi_strerror(-rc));
}

static uint64_t caps_of(enum perf_op op)
{
	static const uint64_t caps[PERF_OPS] = {FI_MSG, FI_TAGGED, FI_RMA, FI_RMA, FI_ATOMIC};
	return caps[op];
}

static struct fi_info *hints_of(const struct perf_job *job, const struct perf_where *where)
{
	struct fi_info *h = fi_allocinfo();
	if (!h)
		return NULL;
	h->caps = caps_of(job->op);
	h->mode = FI_CONTEXT | FI_CONTEXT2;
	h->ep_attr->type = FI_EP_RDM;
	h->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	/* What is compared at the end has to be there then. */
	if (job->check && (job->op == PERF_WRITE || job->op == PERF_ATOMIC))
		h->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	h->fabric_attr->prov_name = strdup(where->provider);
	return h;
}

/* Whether an interface's address is this one in text. */
static bool has_address(const struct fi_info *info, const char *text)
{
	char own[NI_MAXHOST];
	return info->src_addr &&
	       getnameinfo(info->src_addr, (socklen_t)info->src_addrlen, own, sizeof own, NULL, 0, NI_NUMERICHOST) ==
		       0 &&
	       strcmp(own, text) == 0;
}

static bool is_socket_address(const struct fi_info *info)
{
	return info->addr_format == FI_SOCKADDR || info->addr_format == FI_SOCKADDR_IN ||
	       info->addr_format == FI_SOCKADDR_IN6;
}

static struct fi_info *choose(struct fi_info *list, const char *near)
{
	for (const struct fi_info *i = list; i && near; i = i->next)
		if (is_socket_address(i) && has_address(i, near))
			return fi_dupinfo(i);
	return fi_dupinfo(list);
}

static int find_info(struct perf_lane *lane, const struct perf_where *where, struct weft_err *err)
{
	struct fi_info *hints = hints_of(lane->job, where), *list = NULL;
	if (!hints)
		return weft_err_set(err, -ENOMEM, "no memory");
	int rc = fi_getinfo(FI_VERSION(1, 17), where->address, NULL, where->address ? FI_SOURCE : 0, hints, &list);
	fi_freeinfo(hints);
	if (rc)
		return weft_err_set(
			err, rc,
			"libfabric has no provider '%s' with %s operations%s%s: %s (fi_info -p %s; FI_LOG_LEVEL=warn "
			"tells more)",
			where->provider, perf_op_names[lane->job->op], where->address ? " at " : "",
			where->address ?: "", fi_strerror(-rc), where->provider);
	lane->info = choose(list, where->near);
	fi_freeinfo(list);
	return lane->info ? 0 : weft_err_set(err, -ENOMEM, "no memory");
}

static int open_objects(struct perf_lane *lane, struct weft_err *err)
{
	struct fi_cq_attr cq = {
		.size = 4 * (size_t)PERF_WINDOW_MAX, .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_NONE};
	struct fi_av_attr av = {.type = lane->info->domain_attr->av_type, .count = lane->count};
	int rc = fi_fabric(lane->info->fabric_attr, &lane->fabric, NULL);
	if (rc)
		return failed(err, "fi_fabric", rc);
	rc = fi_domain(lane->fabric, lane->info, &lane->domain, NULL);
	if (rc)
		return failed(err, "fi_domain", rc);
	rc = fi_cq_open(lane->domain, &cq, &lane->cq, NULL);
	if (rc)
		return failed(err, "fi_cq_open", rc);
	rc = fi_av_open(lane->domain, &av, &lane->av, NULL);
	return rc ? failed(err, "fi_av_open", rc) : 0;
}

static int open_endpoint(struct perf_lane *lane, struct perf_conn *c, struct weft_err *err)
{
	int rc = fi_endpoint(lane->domain, lane->info, &c->ep, NULL);
	if (!rc)
		rc = fi_ep_bind(c->ep, &lane->av->fid, 0);
	if (!rc)
		rc = fi_ep_bind(c->ep, &lane->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!rc)
		rc = fi_enable(c->ep);
	return rc ? failed(err, "endpoint", rc) : 0;
}

static int open_memory(struct perf_lane *lane, struct perf_conn *c, struct weft_err *err)
{
	c->half = half_bytes(lane->job);
	size_t bytes = 2 * c->half;
	uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	if (posix_memalign((void **)&c->buf, 4096, bytes))
		return weft_err_set(err, -ENOMEM, "no memory for %zu bytes", bytes);
	memset(c->buf, 0, bytes);
	int rc = fi_mr_reg(lane->domain, c->buf, bytes, access, 0, c->number + 1, 0, &c->mr, NULL);
	if (!rc && lane->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		rc = fi_mr_bind(c->mr, &c->ep->fid, 0);
		rc = rc ? rc : fi_mr_enable(c->mr);
	}
	return rc ? failed(err, "fi_mr_reg", rc) : 0;
}

static int open_slots(struct perf_conn *c, uint32_t window)
{
	c->tx = calloc(window, sizeof *c->tx);
	c->rx = calloc(window, sizeof *c->rx);
	for (uint32_t i = 0; i < window && c->tx && c->rx; i++) {
		c->tx[i] = (struct perf_slot){.conn = c, .index = i};
		c->rx[i] = (struct perf_slot){.conn = c, .index = i, .is_rx = true};
	}
	return c->tx && c->rx ? 0 : -ENOMEM;
}

/* Atomics are short everywhere. */
static int check_atomics(const struct perf_lane *lane, const struct perf_conn *c, struct weft_err *err)
{
	size_t count = 0, fetched = 0;
	int rc = fi_atomicvalid(c->ep, FI_UINT64, FI_SUM, &count);
	if (!rc)
		rc = fi_fetch_atomicvalid(c->ep, FI_UINT64, FI_SUM, &fetched);
	if (rc)
		return failed(err, "atomic sum of 64-bit numbers", rc);
	size_t most = (fetched < count ? fetched : count) * sizeof(uint64_t);
	for (uint32_t i = 0; i < lane->job->size_count; i++)
		if (lane->job->sizes[i] > most)
			return weft_err_set(err, -EMSGSIZE, "atomics of %u bytes: %s has them up to %zu",
					    lane->job->sizes[i], lane->info->fabric_attr->prov_name, most);
	return 0;
}

static int open_conn(struct perf_lane *lane, struct perf_conn *c, struct weft_err *err)
{
	int rc = open_slots(c, lane->job->window);
	if (rc)
		return weft_err_set(err, rc, "no memory");
	rc = open_endpoint(lane, c, err);
	if (!rc && lane->job->op == PERF_ATOMIC)
		rc = check_atomics(lane, c, err);
	return rc ? rc : open_memory(lane, c, err);
}

int perf_lane_open(struct perf_lane *lane, const struct perf_job *job, const struct perf_where *where, uint32_t first,
		   struct weft_err *err)
{
	*lane = (struct perf_lane){.job = job, .count = (job->connections - first + job->threads - 1) / job->threads};
	lane->conns = calloc(lane->count, sizeof *lane->conns);
	if (!lane->conns || perf_samples_init(&lane->samples, SAMPLES))
		return weft_err_set(err, -ENOMEM, "no memory");
	int rc = find_info(lane, where, err);
	if (!rc)
		rc = open_objects(lane, err);
	for (uint32_t i = 0; i < lane->count && !rc; i++) {
		lane->conns[i].number = first + i * job->threads;
		rc = open_conn(lane, &lane->conns[i], err);
	}
	return rc;
}

static void close_fid(struct fid *fid)
{
	if (fid)
		fi_close(fid);
}

static void close_conn(struct perf_conn *c)
{
	close_fid(c->ep ? &c->ep->fid : NULL);
	close_fid(c->mr ? &c->mr->fid : NULL);
	free(c->buf);
	free(c->tx);
	free(c->rx);
}

void perf_lane_close(struct perf_lane *lane)
{
	for (uint32_t i = 0; lane->conns && i < lane->count; i++)
		close_conn(&lane->conns[i]);
	close_fid(lane->av ? &lane->av->fid : NULL);
	close_fid(lane->cq ? &lane->cq->fid : NULL);
	close_fid(lane->domain ? &lane->domain->fid : NULL);
	close_fid(lane->fabric ? &lane->fabric->fid : NULL);
	if (lane->info)
		fi_freeinfo(lane->info);
	perf_samples_free(&lane->samples);
	free(lane->conns);
	*lane = (struct perf_lane){0};
}

int perf_conn_name(const struct perf_conn *c, uint8_t name[PERF_NAME_MAX], size_t *len, struct weft_err *err)
{
	*len = PERF_NAME_MAX;
	int rc = fi_getname(&c->ep->fid, name, len);
	return rc ? failed(err, "fi_getname", rc) : 0;
}

uint64_t perf_conn_addr(const struct perf_lane *lane, const struct perf_conn *c)
{
	return c->half + (lane->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)c->buf : 0);
}

uint64_t perf_conn_key(const struct perf_conn *c)
{
	return fi_mr_key(c->mr);
}

int perf_conn_join(struct perf_lane *lane, struct perf_conn *c, const uint8_t *name, struct weft_err *err)
{
	int rc = fi_av_insert(lane->av, name, 1, &c->peer, 0, NULL);
	return rc == 1 ? 0 : failed(err, "fi_av_insert", rc < 0 ? rc : -FI_EADDRNOTAVAIL);
}
