/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric's tables of functions whose rows come from several rooms. */
#include "tables.h"

#include "prov_atomic.h"
#include "prov_av.h"
#include "prov_cm.h"
#include "prov_cntr.h"
#include "prov_coll.h"
#include "prov_cq.h"
#include "prov_data.h"
#include "prov_domain.h"
#include "prov_ep.h"
#include "prov_eq.h"
#include "prov_fabric.h"
#include "prov_fi_ops.h"
#include "prov_mr.h"
#include "prov_poll.h"
#include "prov_waitset.h"

static int ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context)
{
	bool is_msg = info->ep_attr && info->ep_attr->type == FI_EP_MSG;
	return (is_msg ? prov_msg_ep_open : prov_ep_open)(domain, info, ep, context);
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = prov_domain_open,
	.passive_ep = prov_pep_open,
	.eq_open = prov_eq_open,
	.wait_open = prov_waitset_open,
	.trywait = prov_fabric_trywait,
};

static struct fi_ops domain_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = prov_domain_close,
	.bind = prov_domain_bind,
	.control = prov_work_control,
	.ops_open = prov_ops_open,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = prov_av_open,
	.cq_open = prov_cq_open,
	.endpoint = ep_open,
	.scalable_ep = prov_sep_open,
	.cntr_open = prov_cntr_open,
	.poll_open = prov_poll_open,
	.stx_ctx = prov_stx_open,
	.srx_ctx = prov_srx_open,
	.query_atomic = prov_atomic_query,
	.query_collective = prov_coll_query,
};

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = prov_cancel,
	.getopt = prov_ep_getopt,
	.setopt = prov_ep_setopt,
	.tx_ctx = prov_ep_tx_ctx,
	.rx_ctx = prov_ep_rx_ctx,
	.rx_size_left = prov_ep_rx_size_left,
	.tx_size_left = prov_ep_tx_size_left,
};

static struct fi_ops_cm cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = prov_ep_setname,
	.getname = prov_ep_getname,
	.getpeer = prov_ep_no_getpeer,
	.connect = prov_ep_no_connect,
	.accept = prov_ep_no_accept,
	.shutdown = prov_ep_no_shutdown,
	.join = prov_coll_join,
};

static const struct prov_ep_events ep_events = {
	.poll = prov_ep_poll,
	.opened = prov_coll_open,
	.closing = prov_coll_close,
};

const struct prov_tables prov_tables = {
	.fabric = &fabric_ops,
	.domain_fi = &domain_fi_ops,
	.domain = &domain_ops,
	.mr = &prov_mr_ops,
	.ep = &ep_ops,
	.cm = &cm_ops,
	.msg = &prov_msg_ops,
	.tagged = &prov_tagged_ops,
	.rma = &prov_rma_ops,
	.atomic = &prov_atomic_ops,
	.collective = &prov_coll_ops,
	.ep_events = &ep_events,
};
