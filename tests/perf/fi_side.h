/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs share that measure through libfabric: the clock, one side's objects, and an end at the first error.
 */
#ifndef FI_SIDE_H
#define FI_SIDE_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* `ret` is what failed said: a negative errno or error of libfabric's, or 0 when that is not known. */
static inline _Noreturn void fail(const char *what, long ret)
{
	fprintf(stderr, "%s: %s\n", what, ret < 0 ? fi_strerror((int)-ret) : "failed");
	exit(2);
}

static inline void check(const char *what, long ret)
{
	if (ret < 0)
		fail(what, ret);
}

static inline double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* An endpoint with one completion queue, in a domain of its own. */
struct fi_side {
	struct fi_info *info; /* what fi_getinfo found */
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
};

/* Opens what `info` describes. */
static inline void fi_side_open(struct fi_side *s, size_t cq_entries)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .size = cq_entries};
	struct fi_av_attr av_attr = {.type = s->info->domain_attr->av_type};
	check("fi_fabric", fi_fabric(s->info->fabric_attr, &s->fabric, NULL));
	check(s->info->domain_attr->name, fi_domain(s->fabric, s->info, &s->domain, NULL));
	check("fi_cq_open", fi_cq_open(s->domain, &cq_attr, &s->cq, NULL));
	check("fi_av_open", fi_av_open(s->domain, &av_attr, &s->av, NULL));
	check("fi_endpoint", fi_endpoint(s->domain, s->info, &s->ep, NULL));
	check("fi_ep_bind", fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV));
	check("fi_ep_bind", fi_ep_bind(s->ep, &s->av->fid, 0));
	check("fi_enable", fi_enable(s->ep));
}

/* Gives `info` back, too. */
static inline void fi_side_close(struct fi_side *s)
{
	struct fid *const fids[] = {&s->ep->fid, &s->cq->fid, &s->av->fid, &s->domain->fid, &s->fabric->fid};
	for (size_t i = 0; i < sizeof fids / sizeof *fids; i++)
		check("fi_close", fi_close(fids[i]));
	fi_freeinfo(s->info);
}

#endif
