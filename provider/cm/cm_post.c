/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages about connections travel between endpoints of their own, one per device, over the transport like all others:
 * whatever the device is, nothing of the kernel's is needed. */
#include <assert.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "cm.h"
#include "member.h"
#include "prov_link.h"
#include "prov_log.h"
#include "prov_progress.h"

enum {
	RECVS = 64,        /* receives posted; more messages wait in the engine, within its limits */
	SENT_MAX = 1024,   /* messages under way */
	ANSWERS_MAX = 256, /* beyond, strangers get no answer */
	SQ_ENTRIES = 2048, /* room for all of these, so submissions do not fail */
	BURST = 32,
};

/* A message under way. */
struct cm_tx {
	TAILQ_ENTRY(cm_tx) link;
	struct weft_ip to;
	struct cm_msg msg; /* without its data */
	uint8_t bytes[CM_BYTES_MAX];
};

static void recv_post(struct prov_cm *cm, uint8_t *buf)
{
	const struct weft_op op = {
		.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = buf, .len = CM_BYTES_MAX, .context = buf};
	int ret = weft_submit(cm->wep, &op);
	assert(!ret);
	(void)ret;
}

static void message_handle(struct prov_cm *cm, const struct weft_cqe *cqe)
{
	const struct weft_addr from = *weft_peer_addr(cm->nic->engine, cqe->peer);
	struct cm_msg msg;
	if (from.port != PROV_CM_NUMBER || cm_parse(cqe->context, cqe->len, &msg))
		cm->nic->cm_stats.cm_bad++;
	else
		cm->events->arrived(cm, &from.ip, &msg);
}

/* Whatever a receive ended with, another one takes its place: peers can make it fail. */
static void received(struct prov_cm *cm, const struct weft_cqe *cqe)
{
	if (!cqe->err)
		message_handle(cm, cqe);
	if (prov_link_is_gone(cm->nic))
		return;
	if (cqe->err)
		cm->nic->cm_stats.cm_bad++;
	recv_post(cm, cqe->context);
}

static void sent(struct prov_cm *cm, const struct weft_cqe *cqe)
{
	struct cm_tx *tx = cqe->context;
	assert(cm->sent_count > 0);
	TAILQ_REMOVE(&cm->sent, tx, link);
	cm->sent_count--;
	if (cqe->err)
		cm->events->lost(cm, &tx->to, &tx->msg, cqe->err);
	free(tx);
}

static void cqe_handle(struct prov_cm *cm, const struct weft_cqe *cqe)
{
	if (cqe->kind == WEFT_OP_SEND)
		sent(cm, cqe);
	else
		received(cm, cqe);
}

static bool cm_poll(struct prov_poller *poller)
{
	struct prov_cm *cm = container_of(poller, struct prov_cm, poller);
	struct weft_cqe cqes[BURST];
	unsigned n = weft_cq_take(cm->wep, cqes, BURST);
	for (unsigned i = 0; i < n; i++)
		cqe_handle(cm, &cqes[i]);
	if (n)
		prov_nic_poll_soon(cm->nic);
	return cm->events->tick(cm, cm->nic->poll.now_ns) || n > 0;
}

/* In a forked child the engine's endpoint is the parent's. */
static void cm_orphan(struct prov_poller *poller)
{
	container_of(poller, struct prov_cm, poller)->wep = NULL;
}

int cm_send(struct prov_cm *cm, const struct weft_ip *to, const struct cm_msg *msg)
{
	const struct weft_addr addr = {*to, PROV_CM_NUMBER};
	struct weft_op op = {.kind = WEFT_OP_SEND};
	assert_locked(cm->nic);
	if (!cm->wep)
		return -FI_EOPBADSTATE;
	if (cm->sent_count >= SENT_MAX)
		return -FI_EAGAIN;
	struct cm_tx *tx = malloc(sizeof *tx);
	if (!tx || weft_peer_add(cm->nic->engine, &addr, &op.peer)) {
		free(tx);
		return -FI_ENOMEM;
	}
	tx->to = *to;
	tx->msg = *msg;
	tx->msg.data = NULL;
	tx->msg.data_len = 0;
	op.buf = tx->bytes;
	op.len = cm_build(tx->bytes, msg);
	op.context = tx;
	int ret = weft_submit(cm->wep, &op);
	assert(!ret);
	(void)ret;
	TAILQ_INSERT_TAIL(&cm->sent, tx, link);
	cm->sent_count++;
	prov_nic_poll_soon(cm->nic);
	return 0;
}

void cm_answer(struct prov_cm *cm, const struct weft_ip *to, const struct cm_msg *msg)
{
	if (cm->sent_count >= ANSWERS_MAX || cm_send(cm, to, msg))
		cm->nic->cm_stats.cm_answer_drop++;
}

static const struct weft_mem libc_memory;

static void cm_init(struct prov_cm *cm, struct prov_nic *nic, const struct cm_events *events)
{
	cm->nic = nic;
	cm->events = events;
	TAILQ_INIT(&cm->sent);
	TAILQ_INIT(&cm->listeners);
	TAILQ_INIT(&cm->requests);
	TAILQ_INIT(&cm->asking);
	TAILQ_INIT(&cm->answering);
	u64map_init(&cm->conns, &libc_memory);
	for (int i = 0; i < RECVS; i++)
		recv_post(cm, cm->rx_bytes + (size_t)i * CM_BYTES_MAX);
	cm->poller = (struct prov_poller){.poll = cm_poll, .orphan = cm_orphan};
	prov_poller_add(nic, &cm->poller);
	nic->cm = cm;
}

/* Lock held. */
static int cm_open(struct prov_nic *nic, const struct cm_events *events)
{
	struct weft_err err = {"no memory"};
	struct prov_cm *cm = calloc(1, sizeof *cm);
	int ret = -FI_ENOMEM;
	if (cm)
		cm->rx_bytes = malloc((size_t)RECVS * CM_BYTES_MAX);
	if (cm && cm->rx_bytes)
		ret = weft_ep_open(nic->engine, PROV_CM_NUMBER, SQ_ENTRIES, SQ_ENTRIES, &cm->wep, &err);
	if (!ret) {
		cm_init(cm, nic, events);
		return 0;
	}
	FI_WARN(&prov_weft, FI_LOG_EP_CTRL, "%s: no connections can be made: %s\n", nic->name, err.msg);
	if (cm)
		free(cm->rx_bytes);
	free(cm);
	return ret;
}

int cm_get(struct prov_nic *nic, const struct cm_events *events, struct prov_cm **out)
{
	prov_nic_lock(nic);
	int ret = nic->is_orphan ? -FI_EOPBADSTATE : nic->cm ? 0 : cm_open(nic, events);
	if (!ret) {
		nic->cm->users++;
		*out = nic->cm;
	}
	prov_nic_unlock(nic);
	return ret;
}

/* What is under way goes on, from copies of the engine's. Lock held. */
static void cm_close(struct prov_cm *cm)
{
	struct cm_tx *tx;
	struct cm_request *r;
	assert(TAILQ_EMPTY(&cm->listeners) && TAILQ_EMPTY(&cm->asking) && TAILQ_EMPTY(&cm->answering));
	if (cm->wep) {
		prov_poller_remove(cm->nic, &cm->poller);
		weft_ep_close(cm->wep);
	}
	while ((tx = TAILQ_FIRST(&cm->sent))) {
		TAILQ_REMOVE(&cm->sent, tx, link);
		free(tx);
	}
	while ((r = TAILQ_FIRST(&cm->requests))) {
		TAILQ_REMOVE(&cm->requests, r, link);
		free(r);
	}
	u64map_fini(&cm->conns);
	cm->nic->cm = NULL;
	free(cm->rx_bytes);
	free(cm);
}

void cm_put(struct prov_cm *cm)
{
	struct prov_nic *nic = cm->nic;
	prov_nic_lock(nic);
	assert(cm->users > 0);
	if (--cm->users == 0) {
		if (cm->wep)
			prov_progress(nic); /* what was said last leaves */
		cm_close(cm);
	}
	prov_nic_unlock(nic);
}
