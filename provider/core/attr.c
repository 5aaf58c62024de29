/* SPDX-License-Identifier: BSD-3-Clause */
/* What our endpoints can do, as static tables, and whether that is enough for what an application asks. */
#include <assert.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prov_attr.h"
#include "prov_compat.h"
#include "prov_limits.h"
#include "prov_log.h"
#include "prov_text.h"
#include "prov_tune.h"
#include "weft/engine.h"

#define MSG_CAPS (FI_MSG | FI_TAGGED)
#define RMA_CAPS (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define TX_CAPS                                                                                                        \
	(MSG_CAPS | FI_SEND | FI_NAMED_RX_CTX | FI_TRIGGER | FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_FENCE |      \
	 FI_COLLECTIVE | FI_HMEM)
#define RX_CAPS                                                                                                        \
	(MSG_CAPS | FI_RECV | FI_DIRECTED_RECV | FI_SOURCE | FI_SOURCE_ERR | FI_MULTI_RECV | FI_TRIGGER | FI_RMA |     \
	 FI_ATOMIC | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT | FI_COLLECTIVE | FI_HMEM)
#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV | FI_AV_USER_ID)

/* An operation completes when the receiver's transport has acknowledged it, or later if asked; FI_COMMIT_COMPLETE would
 * need persistent memory. */
#define TX_OP_FLAGS                                                                                                    \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE |                \
	 FI_MATCH_COMPLETE | FI_FENCE | FI_TRIGGER)

/* See WEFT_RMA_ORDERED_BYTES; reads of any length see earlier writes of any length, and atomics of any length are in
 * order with all that is so short. */
#define MSG_ORDER                                                                                                      \
	(FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_RMA_RAW |                 \
	 FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |       \
	 FI_ORDER_ATOMIC_WAW)
#define RX_OP_FLAGS (FI_COMPLETION | FI_MULTI_RECV | FI_TRIGGER)

enum {
	PROTOCOL_UET = 0x57454654, /* not one of libfabric's; 'WEFT' */
	PROTOCOL_VERSION = 1,
	ENDPOINTS_MAX = 0x3fff, /* endpoint numbers given out by the engine: 0xC000 up */
};

static const struct fi_tx_attr tx_have = {
	.caps = TX_CAPS,
	.op_flags = TX_OP_FLAGS,
	.msg_order = MSG_ORDER,
	.inject_size = PROV_INJECT_BYTES,
	.size = PROV_QUEUE_MAX,
	.iov_limit = PROV_IOV_MAX,
	.rma_iov_limit = PROV_IOV_MAX,
};

static const struct fi_rx_attr rx_have = {
	.caps = RX_CAPS,
	.op_flags = RX_OP_FLAGS,
	.msg_order = MSG_ORDER,
	.size = PROV_QUEUE_MAX,
	.iov_limit = PROV_IOV_MAX,
};

static const struct fi_ep_attr ep_have = {
	.type = FI_EP_RDM,
	.protocol = PROTOCOL_UET,
	.protocol_version = PROTOCOL_VERSION,
	.max_msg_size = WEFT_MSG_BYTES_MAX,
	.max_order_raw_size = WEFT_MSG_BYTES_MAX,
	.max_order_war_size = WEFT_RMA_ORDERED_BYTES,
	.max_order_waw_size = WEFT_RMA_ORDERED_BYTES,
	.mem_tag_format = 0xAAAAAAAAAAAAAAAAULL, /* FI_TAG_GENERIC: all bits, no structure */
	.tx_ctx_cnt = 1,
	.rx_ctx_cnt = 1,
};

/* Datagrams of one packet: no acknowledgement, so no level of completion beyond "it has left". */
#define DGRAM_TX_CAPS (FI_MSG | FI_SEND | FI_NAMED_RX_CTX | FI_TRIGGER | FI_HMEM)
#define DGRAM_RX_CAPS                                                                                                  \
	(FI_MSG | FI_RECV | FI_DIRECTED_RECV | FI_SOURCE | FI_SOURCE_ERR | FI_MULTI_RECV | FI_TRIGGER | FI_HMEM)

static const struct fi_tx_attr tx_dgram = {
	.caps = DGRAM_TX_CAPS,
	.op_flags = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_TRIGGER,
	.inject_size = PROV_DGRAM_BYTES,
	.size = PROV_QUEUE_MAX,
	.iov_limit = PROV_IOV_MAX,
};

static const struct fi_rx_attr rx_dgram = {
	.caps = DGRAM_RX_CAPS,
	.op_flags = RX_OP_FLAGS,
	.size = PROV_QUEUE_MAX,
	.iov_limit = PROV_IOV_MAX,
};

static const struct fi_ep_attr ep_dgram = {
	.type = FI_EP_DGRAM,
	.protocol = PROTOCOL_UET,
	.protocol_version = PROTOCOL_VERSION,
	.max_msg_size = PROV_DGRAM_BYTES,
	.tx_ctx_cnt = 1,
	.rx_ctx_cnt = 1,
};

/* Connected endpoints have one peer: nothing names it, and it has no contexts to name. */
#define CONNECTED_NOT (FI_DIRECTED_RECV | FI_SOURCE | FI_SOURCE_ERR | FI_NAMED_RX_CTX | FI_COLLECTIVE)

static const struct fi_tx_attr tx_msg = {
	.caps = TX_CAPS & ~CONNECTED_NOT,
	.op_flags = TX_OP_FLAGS,
	.msg_order = MSG_ORDER,
	.inject_size = PROV_INJECT_BYTES,
	.size = PROV_QUEUE_MAX,
	.iov_limit = PROV_IOV_MAX,
	.rma_iov_limit = PROV_IOV_MAX,
};

static const struct fi_rx_attr rx_msg = {
	.caps = RX_CAPS & ~CONNECTED_NOT,
	.op_flags = RX_OP_FLAGS,
	.msg_order = MSG_ORDER,
	.size = PROV_QUEUE_MAX,
	.iov_limit = PROV_IOV_MAX,
};

static const struct fi_ep_attr ep_msg = {
	.type = FI_EP_MSG,
	.protocol = PROTOCOL_UET,
	.protocol_version = PROTOCOL_VERSION,
	.max_msg_size = WEFT_MSG_BYTES_MAX,
	.max_order_raw_size = WEFT_MSG_BYTES_MAX,
	.max_order_war_size = WEFT_RMA_ORDERED_BYTES,
	.max_order_waw_size = WEFT_RMA_ORDERED_BYTES,
	.mem_tag_format = 0xAAAAAAAAAAAAAAAAULL,
	.tx_ctx_cnt = 1,
	.rx_ctx_cnt = 1,
};

/* Our endpoint types. */
struct kind {
	const struct fi_tx_attr *tx;
	const struct fi_rx_attr *rx;
	const struct fi_ep_attr *ep;
	size_t ctx_max; /* contexts of a scalable endpoint per direction */
};

static const struct kind kinds[PROV_KINDS] = {
	[PROV_RDM] = {.tx = &tx_have, .rx = &rx_have, .ep = &ep_have, .ctx_max = PROV_CTX_MAX},
	[PROV_DGRAM] = {.tx = &tx_dgram, .rx = &rx_dgram, .ep = &ep_dgram, .ctx_max = PROV_CTX_MAX},
	[PROV_MSG] = {.tx = &tx_msg, .rx = &rx_msg, .ep = &ep_msg, .ctx_max = 1},
};

static const struct fi_domain_attr domain_have = {
	.threading = FI_THREAD_SAFE,
	.control_progress = FI_PROGRESS_AUTO,
	.data_progress = FI_PROGRESS_MANUAL,
	.resource_mgmt = FI_RM_ENABLED,
	.av_type = FI_AV_MAP,
	.mr_key_size = sizeof(uint64_t),
	.cq_data_size = sizeof(uint64_t),
	.cq_cnt = PROV_QUEUE_MAX,
	.ep_cnt = ENDPOINTS_MAX,
	.tx_ctx_cnt = ENDPOINTS_MAX,
	.rx_ctx_cnt = ENDPOINTS_MAX,
	.max_ep_tx_ctx = PROV_CTX_MAX,
	.max_ep_rx_ctx = PROV_CTX_MAX,
	.max_ep_stx_ctx = 1,
	.max_ep_srx_ctx = 1,
	.cntr_cnt = PROV_QUEUE_MAX,
	.mr_iov_limit = PROV_MR_IOV_MAX,
	.mr_cnt = PROV_QUEUE_MAX,
	.caps = DOMAIN_CAPS,
};

/* Logs why hints can't be met, at info level: asking for what does not exist is no error. */
static bool refuse(const char *what)
{
	FI_INFO(&prov_weft, FI_LOG_CORE, "hints ask for more than there is: %s\n", what);
	return false;
}

static bool bits_fit(const char *what, uint64_t asked, uint64_t have)
{
	return asked & ~have ? refuse(what) : true;
}

static bool size_fits(const char *what, size_t asked, size_t have)
{
	return asked > have ? refuse(what) : true;
}

static bool ctx_count_fits(const struct kind *k, const char *what, size_t asked)
{
	return asked == FI_SHARED_CONTEXT || size_fits(what, asked, k->ctx_max);
}

static bool tx_fits(const struct kind *k, const struct fi_tx_attr *h)
{
	return !h || (bits_fit("tx caps", h->caps, k->tx->caps | DOMAIN_CAPS) &&
		      bits_fit("tx op_flags", h->op_flags, k->tx->op_flags) &&
		      bits_fit("tx msg_order", h->msg_order, k->tx->msg_order) &&
		      bits_fit("tx comp_order", h->comp_order, k->tx->comp_order) &&
		      size_fits("tx inject_size", h->inject_size, k->tx->inject_size) &&
		      size_fits("tx size", h->size, k->tx->size) &&
		      size_fits("tx iov_limit", h->iov_limit, k->tx->iov_limit) &&
		      size_fits("tx rma_iov_limit", h->rma_iov_limit, k->tx->rma_iov_limit));
}

static bool rx_fits(const struct kind *k, const struct fi_rx_attr *h)
{
	return !h || (bits_fit("rx caps", h->caps, k->rx->caps | DOMAIN_CAPS) &&
		      bits_fit("rx op_flags", h->op_flags, k->rx->op_flags) &&
		      bits_fit("rx msg_order", h->msg_order, k->rx->msg_order) &&
		      bits_fit("rx comp_order", h->comp_order, k->rx->comp_order) &&
		      size_fits("rx size", h->size, k->rx->size) &&
		      size_fits("rx iov_limit", h->iov_limit, k->rx->iov_limit));
}

static bool ep_fits(const struct kind *k, const struct fi_ep_attr *h)
{
	if (!h)
		return true;
	if (h->type != FI_EP_UNSPEC && h->type != k->ep->type)
		return refuse("endpoint type");
	if (h->protocol && (h->protocol != k->ep->protocol || h->protocol_version > k->ep->protocol_version))
		return refuse("protocol");
	return size_fits("max_msg_size", h->max_msg_size, k->ep->max_msg_size) &&
	       size_fits("msg_prefix_size", h->msg_prefix_size, 0) &&
	       size_fits("max_order_raw_size", h->max_order_raw_size, k->ep->max_order_raw_size) &&
	       size_fits("max_order_war_size", h->max_order_war_size, k->ep->max_order_war_size) &&
	       size_fits("max_order_waw_size", h->max_order_waw_size, k->ep->max_order_waw_size) &&
	       ctx_count_fits(k, "tx_ctx_cnt", h->tx_ctx_cnt) && ctx_count_fits(k, "rx_ctx_cnt", h->rx_ctx_cnt) &&
	       size_fits("auth_key_size", h->auth_key_size, 0);
}

static bool domain_enums_fit(const struct fi_domain_attr *h)
{
	if (h->threading > FI_THREAD_ENDPOINT)
		return refuse("threading");
	if (h->control_progress > FI_PROGRESS_MANUAL || h->data_progress > FI_PROGRESS_MANUAL)
		return refuse("progress");
	if (h->av_type > FI_AV_TABLE || h->resource_mgmt > FI_RM_ENABLED)
		return refuse("av_type or resource_mgmt");
	return true;
}

static bool domain_fits(const struct fi_domain_attr *h)
{
	return !h ||
	       (domain_enums_fit(h) && bits_fit("domain caps", h->caps, domain_have.caps) &&
		size_fits("mr_key_size", h->mr_key_size, domain_have.mr_key_size) &&
		size_fits("cq_data_size", h->cq_data_size, domain_have.cq_data_size) &&
		size_fits("cq_cnt", h->cq_cnt, domain_have.cq_cnt) &&
		size_fits("ep_cnt", h->ep_cnt, domain_have.ep_cnt) &&
		size_fits("domain tx_ctx_cnt", h->tx_ctx_cnt, domain_have.tx_ctx_cnt) &&
		size_fits("domain rx_ctx_cnt", h->rx_ctx_cnt, domain_have.rx_ctx_cnt) &&
		size_fits("max_ep_tx_ctx", h->max_ep_tx_ctx, domain_have.max_ep_tx_ctx) &&
		size_fits("max_ep_rx_ctx", h->max_ep_rx_ctx, domain_have.max_ep_rx_ctx) &&
		size_fits("max_ep_stx_ctx", h->max_ep_stx_ctx, domain_have.max_ep_stx_ctx) &&
		size_fits("max_ep_srx_ctx", h->max_ep_srx_ctx, domain_have.max_ep_srx_ctx) &&
		size_fits("cntr_cnt", h->cntr_cnt, domain_have.cntr_cnt) &&
		size_fits("mr_iov_limit", h->mr_iov_limit, domain_have.mr_iov_limit) &&
		size_fits("mr_cnt", h->mr_cnt, domain_have.mr_cnt) && size_fits("auth_key_size", h->auth_key_size, 0) &&
		size_fits("max_err_data", h->max_err_data, domain_have.max_err_data));
}

/* Nothing else tells us which memory is a device's. */
static bool hmem_fits(const struct fi_info *h)
{
	bool registers = h->domain_attr && h->domain_attr->mr_mode & FI_MR_HMEM;
	return registers || !(h->caps & FI_HMEM) ? true : refuse("FI_HMEM without FI_MR_HMEM");
}

static uint64_t caps_of(const struct kind *k)
{
	return k->tx->caps | k->rx->caps | DOMAIN_CAPS;
}

char *prov_fabric_name(void)
{
	struct weft_err err;
	char *profile = NULL, *name = NULL;
	prov_param_text("profile", &profile, &err);
	if (!profile || strcmp(profile, prov_profiles[0]) == 0)
		name = strdup(PROV_NAME);
	else if (asprintf(&name, "%s-%s", PROV_NAME, profile) < 0)
		name = NULL;
	free(profile);
	return name;
}

bool prov_fabric_is(const char *name)
{
	size_t len = strlen(PROV_NAME);
	if (strncmp(name, PROV_NAME, len) != 0 || !name[len])
		return strcmp(name, PROV_NAME) == 0;
	for (const char *const *p = prov_profiles; *p; p++)
		if (name[len] == '-' && strcmp(name + len + 1, *p) == 0)
			return true;
	return false;
}

bool prov_attr_fits(uint32_t version, enum prov_kind kind, const struct fi_info *hints)
{
	const struct kind *k = &kinds[kind];
	if (!hints)
		return true;
	if (FI_VERSION_LT(version, FI_VERSION(1, 5)) && hints->domain_attr &&
	    hints->domain_attr->mr_mode > PROV_MR_SCALABLE)
		return refuse("mr_mode of a newer interface");
	if (hints->fabric_attr && hints->fabric_attr->name && !prov_fabric_is(hints->fabric_attr->name))
		return refuse("fabric name");
	return bits_fit("caps", hints->caps, caps_of(k)) && hmem_fits(hints) && tx_fits(k, hints->tx_attr) &&
	       rx_fits(k, hints->rx_attr) && ep_fits(k, hints->ep_attr) && domain_fits(hints->domain_attr);
}

/* What was asked for and no more; asking for messages without saying which way means both. */
static uint64_t caps_granted(const struct kind *k, const struct fi_info *hints)
{
	uint64_t caps = hints ? hints->caps : 0;
	if (!caps)
		return caps_of(k) &
		       ~(FI_SOURCE_ERR | FI_COLLECTIVE | FI_HMEM); /* they change what an application sees or costs */
	if (caps & MSG_CAPS && !(caps & (FI_SEND | FI_RECV)))
		caps |= FI_SEND | FI_RECV;
	if (caps & (FI_RMA | FI_ATOMIC) && !(caps & RMA_CAPS))
		caps |= RMA_CAPS;
	return caps | DOMAIN_CAPS;
}

static void tx_fill(const struct kind *k, const struct fi_tx_attr *h, uint64_t caps, struct fi_tx_attr *tx)
{
	*tx = *k->tx;
	tx->caps = caps & k->tx->caps;
	tx->op_flags = h ? h->op_flags : 0;
	tx->size = h && h->size ? h->size : PROV_QUEUE_DEFAULT;
	tx->tclass = h ? h->tclass : 0;
}

static void rx_fill(const struct kind *k, const struct fi_rx_attr *h, uint64_t caps, struct fi_rx_attr *rx)
{
	*rx = *k->rx;
	rx->caps = caps & k->rx->caps;
	rx->op_flags = h ? h->op_flags : 0;
	rx->size = h && h->size ? h->size : PROV_QUEUE_DEFAULT;
}

/* No memory but devices' has to be registered; the two old modes are echoed because applications compare. */
static int mr_mode_granted(uint32_t version, uint64_t caps, const struct fi_domain_attr *h)
{
	int asked = h ? h->mr_mode : 0;
	if (caps & FI_HMEM)
		return FI_MR_HMEM;
	if (asked == PROV_MR_BASIC || asked == PROV_MR_SCALABLE)
		return asked;
	return FI_VERSION_LT(version, FI_VERSION(1, 5)) ? PROV_MR_SCALABLE : 0;
}

static void domain_fill(uint32_t version, uint64_t caps, const struct fi_domain_attr *h, struct fi_domain_attr *domain)
{
	*domain = domain_have;
	domain->mr_mode = mr_mode_granted(version, caps, h);
	if (!h)
		return;
	if (h->threading)
		domain->threading = h->threading;
	if (h->control_progress)
		domain->control_progress = h->control_progress;
	if (h->data_progress)
		domain->data_progress = h->data_progress;
	if (h->av_type)
		domain->av_type = h->av_type;
	domain->tclass = h->tclass;
}

static void ep_fill(const struct kind *k, const struct fi_ep_attr *h, struct fi_ep_attr *ep)
{
	*ep = *k->ep;
	if (h && h->tx_ctx_cnt)
		ep->tx_ctx_cnt = h->tx_ctx_cnt;
	if (h && h->rx_ctx_cnt)
		ep->rx_ctx_cnt = h->rx_ctx_cnt;
}

void prov_attr_fill(uint32_t version, enum prov_kind kind, const struct fi_info *hints, struct fi_info *info)
{
	const struct kind *k = &kinds[kind];
	assert(kind < PROV_KINDS);
	info->caps = caps_granted(k, hints);
	assert(!(info->caps & ~caps_of(k)));
	tx_fill(k, hints ? hints->tx_attr : NULL, info->caps, info->tx_attr);
	rx_fill(k, hints ? hints->rx_attr : NULL, info->caps, info->rx_attr);
	ep_fill(k, hints ? hints->ep_attr : NULL, info->ep_attr);
	domain_fill(version, info->caps, hints ? hints->domain_attr : NULL, info->domain_attr);
}
