/* SPDX-License-Identifier: BSD-3-Clause */
/* Each host has a domain, an endpoint and a completion queue of its own, opened in its namespace. */
#include <netinet/in.h>
#include <rdma/fi_tagged.h>
#include <string.h>

#include "flows.h"
#include "weft/provider.h"

/* The environment names one device at a time: the interfaces of other namespaces cannot be seen from this one. */
static void info_get(struct host *h)
{
	struct fi_info *hints = fi_allocinfo();
	flows_enter(h);
	setenv("FI_WEFT_DEVICE", h->device, 1);
	hints->caps = FI_TAGGED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("weft");
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	check("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &h->fi.info));
	fi_freeinfo(hints);
}

void weft_open(struct flows *f)
{
	for (int i = 0; i < f->host_count; i++) {
		info_get(&f->hosts[i]);
		fi_side_open(&f->hosts[i].fi, 1024);
	}
	for (int i = 0; i < f->host_count; i++) {
		struct sockaddr_in6 name;
		size_t len = sizeof name;
		check("fi_getname", fi_getname(&f->hosts[i].fi.ep->fid, &name, &len));
		for (int j = 0; j < f->host_count; j++)
			if (fi_av_insert(f->hosts[j].fi.av, &name, 1, &f->hosts[j].peers[i], 0, NULL) != 1)
				fail("fi_av_insert", 0);
	}
}

void weft_begin(struct flows *f)
{
	for (int k = 0; k < f->flow_count; k++) {
		struct flow *w = &f->flows[k];
		struct host *dst = &f->hosts[w->dst];
		check("fi_trecv", fi_trecv(dst->fi.ep, w->received, w->bytes, NULL, dst->peers[w->src], (uint64_t)k, 0,
					   &w->receive_context));
	}
	for (int k = 0; k < f->flow_count; k++) {
		struct flow *w = &f->flows[k];
		struct host *src = &f->hosts[w->src];
		long error;
		while ((error = fi_tsend(src->fi.ep, w->sent, w->bytes, NULL, src->peers[w->dst], (uint64_t)k,
					 &w->send_context)) == -FI_EAGAIN)
			weft_poll(f);
		check("fi_tsend", error);
	}
}

static void complete(struct flows *f, const void *context, int error)
{
	for (int k = 0; k < f->flow_count; k++) {
		struct flow *w = &f->flows[k];
		if (context != &w->send_context && context != &w->receive_context)
			continue;
		w->error = error ? error : w->error;
		if (context == &w->receive_context) {
			w->receive_done = true;
			continue;
		}
		w->send_done = true;
		w->fct_s = flows_now_s(f);
	}
}

static void host_poll(struct flows *f, struct host *h)
{
	struct fi_cq_tagged_entry entries[8];
	struct fi_cq_err_entry failure = {0};
	ssize_t n = fi_cq_read(h->fi.cq, entries, 8);
	if (n == -FI_EAVAIL && fi_cq_readerr(h->fi.cq, &failure, 0) == 1)
		complete(f, failure.op_context, failure.err);
	for (ssize_t i = 0; i < n; i++)
		complete(f, entries[i].op_context, 0);
}

void weft_poll(struct flows *f)
{
	for (int i = 0; i < f->host_count; i++)
		host_poll(f, &f->hosts[i]);
}

void weft_count(struct flows *f, struct weft_stats *sum)
{
	for (int i = 0; i < f->host_count; i++) {
		struct weft_fi_ops *ops;
		struct weft_stats one;
		check("fi_open_ops", fi_open_ops(&f->hosts[i].fi.domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL));
		check("counters", ops->stats(&f->hosts[i].fi.domain->fid, &one));
		for (size_t n = 0; n < sizeof one / sizeof(uint64_t); n++)
			((uint64_t *)sum)[n] += ((const uint64_t *)&one)[n];
	}
}

void weft_close(struct flows *f)
{
	for (int i = 0; i < f->host_count; i++)
		fi_side_close(&f->hosts[i].fi);
}
