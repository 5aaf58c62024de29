/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "weft/provider.h"

enum { CQ_ENTRIES = 1024, EVENTS_MAX = 64 };

static int node_fail(const struct bench_node *n, struct weft_err *err, const char *call, ssize_t rc)
{
	return weft_err_set(err, (int)rc, "node %u (%s): %s: %s", n->rank, n->host, call, fi_strerror((int)-rc));
}

static struct fi_info *node_hints(const char *provider)
{
	struct fi_info *hints = fi_allocinfo();
	if (!hints)
		return NULL;
	hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->fabric_attr->prov_name = strdup(provider);
	return hints;
}

static int node_getinfo(struct bench_node *n, const char *provider, struct weft_err *err)
{
	char service[16];
	struct fi_info *hints = node_hints(provider);
	if (!hints)
		return node_fail(n, err, "fi_allocinfo", -FI_ENOMEM);
	snprintf(service, sizeof service, "%d", BENCH_SERVICE);
	int rc = fi_getinfo(FI_VERSION(1, 17), n->host, service, FI_SOURCE, hints, &n->info);
	fi_freeinfo(hints);
	if (rc == -FI_ENODATA)
		return weft_err_set(err, rc,
				    "node %u: libfabric has no provider '%s' for %s (FI_PROVIDER_PATH=%s; "
				    "FI_LOG_LEVEL=warn tells more)",
				    n->rank, provider, n->host, getenv("FI_PROVIDER_PATH") ?: "unset");
	return rc ? node_fail(n, err, "fi_getinfo", rc) : 0;
}

static int node_open_objects(struct bench_node *n, struct weft_err *err)
{
	struct fi_cq_attr cq = {.size = CQ_ENTRIES, .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE};
	struct fi_av_attr av = {.type = FI_AV_TABLE, .count = n->ranks};
	int rc = fi_fabric(n->info->fabric_attr, &n->fabric, NULL);
	if (rc)
		return node_fail(n, err, "fi_fabric", rc);
	rc = fi_domain(n->fabric, n->info, &n->domain, NULL);
	if (rc)
		return node_fail(n, err, "fi_domain", rc);
	rc = fi_av_open(n->domain, &av, &n->av, NULL);
	if (rc)
		return node_fail(n, err, "fi_av_open", rc);
	rc = fi_cq_open(n->domain, &cq, &n->cq, NULL);
	if (rc)
		return node_fail(n, err, "fi_cq_open", rc);
	rc = fi_endpoint(n->domain, n->info, &n->ep, NULL);
	return rc ? node_fail(n, err, "fi_endpoint", rc) : 0;
}

static int node_enable(struct bench_node *n, struct weft_err *err)
{
	int rc = fi_ep_bind(n->ep, &n->av->fid, 0);
	if (!rc)
		rc = fi_ep_bind(n->ep, &n->cq->fid, FI_TRANSMIT | FI_RECV);
	if (rc)
		return node_fail(n, err, "fi_ep_bind", rc);
	rc = fi_enable(n->ep);
	return rc ? node_fail(n, err, "fi_enable", rc) : 0;
}

int bench_node_open(struct bench_node *n, const struct bench_node_conf *conf, struct weft_err *err)
{
	*n = (struct bench_node){.rank = conf->rank, .ranks = conf->ranks};
	n->waiting_end = &n->waiting;
	snprintf(n->host, sizeof n->host, "%s", conf->host);
	n->peers = calloc(n->ranks, sizeof *n->peers);
	int rc = n->peers ? node_getinfo(n, conf->provider, err) : node_fail(n, err, "calloc", -ENOMEM);
	if (!rc)
		rc = node_open_objects(n, err);
	if (!rc)
		rc = node_enable(n, err);
	if (rc)
		bench_node_close(n);
	return rc;
}

int bench_node_name(struct bench_node *n, uint8_t name[BENCH_NAME_MAX], struct weft_err *err)
{
	size_t len = BENCH_NAME_MAX;
	memset(name, 0, BENCH_NAME_MAX);
	int rc = fi_getname(&n->ep->fid, name, &len);
	return rc ? node_fail(n, err, "fi_getname", rc) : 0;
}

int bench_node_connect(struct bench_node *n, const uint8_t *names, struct weft_err *err)
{
	for (uint32_t r = 0; r < n->ranks; r++) {
		int rc = fi_av_insert(n->av, names + (size_t)r * BENCH_NAME_MAX, 1, &n->peers[r], 0, NULL);
		if (rc != 1)
			return node_fail(n, err, "fi_av_insert", rc < 0 ? rc : -FI_EADDRNOTAVAIL);
	}
	return 0;
}

static ssize_t op_start(struct bench_node *n, struct bench_op *op)
{
	fi_addr_t peer = n->peers[op->peer];
	if (op->kind == BENCH_OP_SEND)
		return fi_tsend(n->ep, op->buf, op->len, NULL, peer, op->tag, op);
	return fi_trecv(n->ep, op->buf, op->len, NULL, FI_ADDR_UNSPEC, op->tag, 0, op);
}

int bench_node_post(struct bench_node *n, struct bench_op *op)
{
	op->next = NULL;
	ssize_t rc = n->waiting ? -FI_EAGAIN : op_start(n, op);
	if (rc != -FI_EAGAIN)
		return (int)rc;
	*n->waiting_end = op;
	n->waiting_end = &op->next;
	return 0;
}

static struct bench_op *waiting_take(struct bench_node *n)
{
	struct bench_op *op = n->waiting;
	n->waiting = op->next;
	if (!n->waiting)
		n->waiting_end = &n->waiting;
	return op;
}

/* An operation that was put off and now fails for good becomes an event. */
static int waiting_post(struct bench_node *n, struct bench_event *ev)
{
	while (n->waiting) {
		ssize_t rc = op_start(n, n->waiting);
		if (rc == -FI_EAGAIN)
			return 0;
		struct bench_op *op = waiting_take(n);
		if (rc) {
			*ev = (struct bench_event){.op = op, .err = (int)-rc};
			return 1;
		}
	}
	return 0;
}

static int poll_error(struct bench_node *n, struct bench_event *ev)
{
	struct fi_cq_err_entry e = {0};
	ssize_t rc = fi_cq_readerr(n->cq, &e, 0);
	if (rc != 1)
		return rc == -FI_EAGAIN ? 0 : (int)rc;
	*ev = (struct bench_event){.op = e.op_context, .len = e.len, .err = e.err};
	return 1;
}

int bench_node_poll(struct bench_node *n, struct bench_event *events, unsigned max)
{
	struct fi_cq_tagged_entry e[EVENTS_MAX];
	ssize_t got = fi_cq_read(n->cq, e, max < EVENTS_MAX ? max : EVENTS_MAX);
	if (got == -FI_EAVAIL)
		return poll_error(n, events);
	if (got == -FI_EAGAIN)
		return n->waiting ? waiting_post(n, events) : 0;
	for (ssize_t i = 0; i < got; i++)
		events[i] = (struct bench_event){.op = e[i].op_context, .len = e[i].len};
	return (int)got;
}

void bench_node_stats(struct bench_node *n, struct weft_stats *stats)
{
	struct weft_fi_ops *ops = NULL;
	if (fi_open_ops(&n->domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL) || ops->stats(&n->domain->fid, stats))
		memset(stats, 0, sizeof *stats);
}

void bench_node_close(struct bench_node *n)
{
	if (n->ep)
		fi_close(&n->ep->fid);
	if (n->cq)
		fi_close(&n->cq->fid);
	if (n->av)
		fi_close(&n->av->fid);
	if (n->domain)
		fi_close(&n->domain->fid);
	if (n->fabric)
		fi_close(&n->fabric->fid);
	if (n->info)
		fi_freeinfo(n->info);
	free(n->peers);
	*n = (struct bench_node){0};
}
