/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection requests of others, until the application has answered them. How many wait is limited, for each listener
 * and for each host. */
#include <assert.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "prov_addr.h"
#include "prov_eq.h"

struct prov_pep *cm_pep_find(const struct prov_cm *cm, const struct fid *handle)
{
	struct prov_pep *pep;
	assert_locked(cm->nic);
	TAILQ_FOREACH(pep, &cm->listeners, link)
	if (&pep->fid.fid == handle)
		return pep;
	return NULL;
}

struct prov_pep *cm_listener(const struct prov_cm *cm, uint16_t port)
{
	struct prov_pep *pep;
	assert_locked(cm->nic);
	TAILQ_FOREACH(pep, &cm->listeners, link)
	if (pep->listens && pep->name.port == port)
		return pep;
	return NULL;
}

struct cm_request *cm_request_find(const struct prov_cm *cm, const struct fid *handle)
{
	struct cm_request *r;
	assert_locked(cm->nic);
	TAILQ_FOREACH(r, &cm->requests, link)
	if (&r->handle == handle)
		return r;
	return NULL;
}

void cm_request_free(struct prov_cm *cm, struct cm_request *r)
{
	assert_locked(cm->nic);
	assert(!r->pep || r->pep->waiting > 0);
	if (r->pep)
		r->pep->waiting--;
	TAILQ_REMOVE(&cm->requests, r, link);
	free(r);
}

int cm_request_reject(struct prov_cm *cm, struct cm_request *r, const void *data, size_t len)
{
	const struct cm_msg msg = {.kind = CM_REJECT, .dst = r->from.port, .id = r->id, .data = data, .data_len = len};
	int ret = r->given_up ? 0 : cm_send(cm, &r->from.ip, &msg);
	if (ret)
		return ret;
	cm->nic->cm_stats.cm_rejected++;
	cm_request_free(cm, r);
	return 0;
}

static bool is_from(const struct cm_request *r, const struct weft_ip *from, const struct cm_msg *msg)
{
	return r->id == msg->id && r->from.port == msg->src && weft_ip_eq(&r->from.ip, from);
}

bool cm_request_waits(const struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg)
{
	const struct cm_request *r;
	TAILQ_FOREACH(r, &cm->requests, link)
	if (is_from(r, from, msg))
		return true;
	return false;
}

void cm_request_given_up(struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg)
{
	struct cm_request *r;
	TAILQ_FOREACH(r, &cm->requests, link)
	if (is_from(r, from, msg) && !r->given_up) {
		r->given_up = true;
		cm->nic->cm_stats.cm_given_up++;
	}
}

static unsigned waiting_from(const struct prov_cm *cm, const struct prov_pep *pep, const struct weft_ip *from)
{
	const struct cm_request *r;
	unsigned n = 0;
	TAILQ_FOREACH(r, &cm->requests, link)
	n += r->pep == pep && weft_ip_eq(&r->from.ip, from);
	return n;
}

static int sock_set(const struct weft_addr *addr, void **sock, size_t *len)
{
	struct sockaddr_storage ss;
	void *copy = malloc(prov_addr_len(&addr->ip));
	if (!copy)
		return -FI_ENOMEM;
	prov_addr_to_sock(addr, &ss);
	free(*sock);
	*len = prov_addr_len(&addr->ip);
	*sock = memcpy(copy, &ss, *len);
	return 0;
}

/* What the listener was opened with, between these two names. NULL: no memory. */
static struct fi_info *info_of(const struct cm_request *r)
{
	const struct weft_addr peer = {r->from.ip, r->name};
	struct fi_info *info = fi_dupinfo(r->pep->info);
	if (!info)
		return NULL;
	info->handle = (fid_t)&r->handle;
	if (!sock_set(&r->pep->name, &info->src_addr, &info->src_addrlen) &&
	    !sock_set(&peer, &info->dest_addr, &info->dest_addrlen))
		return info;
	fi_freeinfo(info);
	return NULL;
}

static int request_tell(struct prov_cm *cm, struct cm_request *r, const struct cm_msg *msg)
{
	struct fi_info *info = info_of(r);
	const struct prov_cm_event event = {.fid = &r->pep->fid.fid,
					    .event = FI_CONNREQ,
					    .info = info,
					    .data = msg->data,
					    .data_len = msg->data_len};
	struct prov_event *ev = info ? prov_eq_reserve_cm() : NULL;
	int ret = ev ? prov_eq_post_cm(r->pep->eq, cm->nic, ev, &event) : -FI_ENOMEM;
	if (ret)
		fi_freeinfo(info);
	return ret;
}

static void request_add(struct prov_cm *cm, struct prov_pep *pep, const struct weft_ip *from, const struct cm_msg *msg)
{
	struct cm_request *r = calloc(1, sizeof *r);
	if (r) {
		*r = (struct cm_request){.handle = {.fclass = FI_CLASS_CONNREQ},
					 .pep = pep,
					 .from = {*from, msg->src},
					 .name = msg->name,
					 .listener = pep->name,
					 .id = msg->id};
		if (!request_tell(cm, r, msg)) {
			pep->waiting++;
			TAILQ_INSERT_TAIL(&cm->requests, r, link);
			return;
		}
	}
	free(r);
	cm->nic->cm_stats.cm_no_mem++; /* who asked gives up after its time-out */
}

/* Which counter counts the refusal; NULL: it is taken. */
static uint64_t *refusal(struct prov_cm *cm, const struct prov_pep *pep, const struct weft_ip *from)
{
	struct weft_cm_stats *stats = &cm->nic->cm_stats;
	if (!pep)
		return &stats->cm_refused_nobody;
	if (pep->waiting >= pep->backlog)
		return &stats->cm_refused_backlog;
	return waiting_from(cm, pep, from) >= (pep->backlog + 1) / 2 ? &stats->cm_refused_host : NULL;
}

void cm_request_arrived(struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg)
{
	struct prov_pep *pep = cm_listener(cm, msg->dst);
	if (cm_request_waits(cm, from, msg))
		return;
	cm->nic->cm_stats.cm_requests++;
	uint64_t *counter = refusal(cm, pep, from);
	if (!counter) {
		request_add(cm, pep, from, msg);
		return;
	}
	++*counter;
	cm_answer(cm, from, &(struct cm_msg){.kind = CM_REJECT, .dst = msg->src, .id = msg->id});
}
