/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection, from the request to its end. Messages are taken from the peer's endpoint alone, and only while the
 * connection is up: who accepts takes them from then on, who asked from the answer on, and says so. */
#include "cm.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <sys/random.h>

#include "prov_eq.h"
#include "weft/ethdev.h"

/* Peers are asked whether they are there so often in their timeout: those of idle connections, and those that have not
 * answered a request, for an application may take its time. */
enum { PINGS = 2 };

static struct weft_cm_stats *stats_of(const struct cm_conn *c)
{
	return &c->cm->nic->cm_stats;
}

/* ---- state ---- */

static struct cm_conn_list *list_of(const struct cm_conn *c)
{
	if (c->state == CM_CALLING || c->state == CM_UP)
		return &c->cm->asking;
	return c->state == CM_ANSWERING ? &c->cm->answering : NULL;
}

/* All of a list wait equally long, so its order is that of their deadlines. */
static void state_set(struct cm_conn *c, enum cm_state state)
{
	struct cm_conn_list *list = list_of(c);
	weft_ns patience = c->cm->nic->peer_timeout_ns;
	assert_locked(c->cm->nic);
	if (list)
		TAILQ_REMOVE(list, c, link);
	c->state = (uint8_t)state;
	list = list_of(c);
	c->due_ns = weft_clock_ns() + (list == &c->cm->asking ? patience / PINGS + 1 : patience);
	if (list)
		TAILQ_INSERT_TAIL(list, c, link);
}

static void tell(struct cm_conn *c, uint32_t event, int err, const struct cm_msg *msg)
{
	struct prov_event **ev = &c->events[event == FI_SHUTDOWN];
	const struct prov_cm_event e = {.fid = &c->ep.fid.fid,
					.event = event,
					.err = err,
					.data = msg ? msg->data : NULL,
					.data_len = msg ? msg->data_len : 0};
	prov_eq_post_cm(c->ep.eq, c->cm->nic, *ev, &e);
	*ev = NULL;
}

/* Nothing is sent or received any more. */
static void over(struct cm_conn *c)
{
	state_set(c, CM_OVER);
	c->ep.is_linked = false;
	if (c->ep.wep)
		weft_ep_end(c->ep.wep);
	prov_nic_poll_soon(c->cm->nic);
}

static void not_connected(struct cm_conn *c, int err, const struct cm_msg *msg)
{
	over(c);
	c->told_end = true;
	c->owes_bye = false;
	stats_of(c)->cm_not_connected++;
	stats_of(c)->cm_timed_out += err == ETIMEDOUT;
	tell(c, FI_CONNECTED, err, msg);
}

static void ended(struct cm_conn *c)
{
	if (c->state != CM_OVER)
		over(c);
	if (!c->told_end)
		tell(c, FI_SHUTDOWN, 0, NULL);
	c->told_end = true;
}

static void shut_down(struct cm_conn *c)
{
	stats_of(c)->cm_shut_down += c->state == CM_UP;
	ended(c);
}

static void broken(struct cm_conn *c)
{
	stats_of(c)->cm_broken++;
	c->owes_bye = false;
	ended(c);
}

static void connected(struct cm_conn *c, const struct cm_msg *msg)
{
	c->ep.is_linked = true;
	state_set(c, CM_UP);
	stats_of(c)->cm_connected++;
	tell(c, FI_CONNECTED, 0, msg);
}

/* ---- what is sent ---- */

static int send(struct cm_conn *c, enum cm_kind kind, const void *data, size_t len)
{
	const struct cm_msg msg = {.kind = (uint8_t)kind,
				   .src = c->ep.addr.port,
				   .dst = c->peer.port,
				   .id = c->id,
				   .data = data,
				   .data_len = len};
	return cm_send(c->cm, &c->peer.ip, &msg);
}

static int request_send(struct cm_conn *c)
{
	const struct cm_msg msg = {.kind = CM_REQUEST,
				   .src = c->ep.addr.port,
				   .dst = c->peer_name.port,
				   .name = c->name.port ? c->name.port : c->ep.addr.port,
				   .id = c->id,
				   .data = c->data,
				   .data_len = c->data_len};
	return cm_send(c->cm, &c->peer.ip, &msg);
}

/* Those who do not see our messages cannot tell which connection one is about. */
static uint64_t id_new(void)
{
	uint64_t id = 0;
	while (!id)
		if (getrandom(&id, sizeof id, 0) != sizeof id)
			id = weft_clock_ns();
	return id;
}

/* From now on messages about the connection find it. */
static int enlist(struct cm_conn *c, uint64_t id, const struct weft_addr *peer)
{
	assert(c->ep.wep && c->ep.addr.port);
	c->id = id;
	c->peer = *peer;
	return u64map_put(&c->cm->conns, c->ep.addr.port, c) ? 0 : -FI_ENOMEM;
}

static void delist(struct cm_conn *c)
{
	if (c->id)
		u64map_del(&c->cm->conns, c->ep.addr.port);
	c->id = 0;
}

/* The peer's endpoint is known: messages come from there and go there. */
static int link_up(struct cm_conn *c, uint16_t port)
{
	c->peer.port = port;
	if (weft_peer_add(c->cm->nic->engine, &c->peer, &c->ep.peer))
		return -FI_ENOMEM;
	weft_ep_only_from(c->ep.wep, &c->peer);
	return 0;
}

int cm_conn_call(struct cm_conn *c, const struct weft_addr *to, const void *data, size_t len)
{
	const struct weft_addr peer = {to->ip, 0};
	assert(c->state == CM_IDLE && len <= sizeof c->data);
	c->peer_name = *to;
	c->data_len = len;
	if (len)
		memcpy(c->data, data, len);
	int ret = enlist(c, id_new(), &peer);
	if (!ret)
		ret = request_send(c);
	if (ret)
		delist(c);
	else
		state_set(c, CM_CALLING);
	c->owes_bye = !ret;
	stats_of(c)->cm_called += !ret;
	return ret;
}

int cm_conn_answer(struct cm_conn *c, const void *data, size_t len)
{
	struct cm_request *r = c->request;
	assert(c->state == CM_IDLE && r);
	if (r->given_up) {
		cm_request_free(c->cm, r);
		c->request = NULL;
		over(c);
		return -FI_ECONNABORTED;
	}
	int ret = enlist(c, r->id, &r->from);
	if (!ret)
		ret = link_up(c, r->from.port);
	if (!ret)
		ret = send(c, CM_ACCEPT, data, len);
	if (ret) {
		weft_ep_only_from(c->ep.wep, NULL);
		delist(c);
		return ret;
	}
	c->request = NULL;
	cm_request_free(c->cm, r);
	state_set(c, CM_ANSWERING);
	c->owes_bye = true;
	return 0;
}

void cm_conn_end(struct cm_conn *c)
{
	if (c->request && cm_request_reject(c->cm, c->request, NULL, 0))
		cm_request_free(c->cm, c->request);
	c->request = NULL;
	stats_of(c)->cm_shut_down += c->state == CM_UP;
	if (c->owes_bye)
		send(c, CM_BYE, NULL, 0); /* if that fails, the peer hears it when it asks */
	c->owes_bye = false;
	if (list_of(c))
		over(c);
}

void cm_conn_forget(struct cm_conn *c)
{
	cm_conn_end(c);
	delist(c);
}

/* ---- what arrives ---- */

/* The connection that the message is about; NULL: none. Before its answer the peer's number is not known. */
static struct cm_conn *find(const struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg)
{
	struct cm_conn *c = u64map_get(&cm->conns, msg->dst);
	if (!c || c->id != msg->id || !weft_ip_eq(&c->peer.ip, from))
		return NULL;
	return !c->peer.port || c->peer.port == msg->src ? c : NULL;
}

static void reset(struct prov_cm *cm, const struct weft_ip *to, const struct cm_msg *msg)
{
	cm->nic->cm_stats.cm_unknown++;
	cm_answer(cm, to, &(struct cm_msg){.kind = CM_RESET, .src = msg->dst, .dst = msg->src, .id = msg->id});
}

static void unknown(struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg)
{
	bool asks = msg->kind == CM_ACCEPT || msg->kind == CM_READY || msg->kind == CM_PING;
	if (asks && !cm_request_waits(cm, from, msg))
		reset(cm, from, msg);
	else if (msg->kind == CM_BYE && !msg->dst)
		cm_request_given_up(cm, from, msg);
}

static void accepted(struct cm_conn *c, const struct cm_msg *msg)
{
	int ret = link_up(c, msg->src);
	if (!ret)
		ret = send(c, CM_READY, NULL, 0);
	if (ret)
		not_connected(c, -ret, NULL);
	else
		connected(c, msg);
}

static void gone(struct cm_conn *c, const struct cm_msg *msg)
{
	if (c->state == CM_CALLING || c->state == CM_ANSWERING)
		not_connected(c, c->state == CM_CALLING ? ECONNREFUSED : ECONNABORTED, NULL);
	else if (c->state == CM_UP && msg->kind == CM_RESET)
		broken(c);
	else
		shut_down(c);
}

void cm_conn_arrived(struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg)
{
	struct cm_conn *c = find(cm, from, msg);
	if (!c)
		unknown(cm, from, msg);
	else if (msg->kind == CM_BYE || msg->kind == CM_RESET)
		gone(c, msg);
	else if (c->state == CM_OVER && msg->kind != CM_REJECT)
		reset(cm, from, msg);
	else if (c->state == CM_CALLING && msg->kind == CM_ACCEPT && msg->src)
		accepted(c, msg);
	else if (c->state == CM_CALLING && msg->kind == CM_REJECT)
		not_connected(c, ECONNREFUSED, msg);
	else if (c->state == CM_ANSWERING && msg->kind == CM_READY)
		connected(c, NULL);
}

static void request_lost(struct cm_conn *c, int err)
{
	bool again = err == ECONNRESET && !c->asked_again;
	c->asked_again |= again;
	if (!again || request_send(c))
		not_connected(c, err == EHOSTUNREACH ? ECONNREFUSED : err, NULL); /* nobody makes connections there */
}

void cm_conn_lost(struct prov_cm *cm, const struct weft_ip *to, const struct cm_msg *msg, int err)
{
	struct cm_conn *c = u64map_get(&cm->conns, msg->src);
	if (!c || c->id != msg->id || !weft_ip_eq(&c->peer.ip, to))
		return;
	if (c->state == CM_CALLING && msg->kind == CM_REQUEST)
		request_lost(c, err);
	else if (c->state == CM_CALLING || c->state == CM_ANSWERING)
		not_connected(c, err, NULL);
	else if (c->state == CM_UP)
		broken(c);
}

/* The engine says of operations of the endpoint what it says of those of the post, and maybe sooner. */
void cm_conn_failed(struct cm_conn *c, int err)
{
	if (c->state == CM_UP &&
	    (err == ETIMEDOUT || err == ECONNRESET || err == EHOSTUNREACH || err == ENETUNREACH || err == ENODEV))
		broken(c);
}

/* ---- time ---- */

static void overdue(struct cm_conn *c)
{
	send(c, CM_BYE, NULL, 0);
	not_connected(c, ETIMEDOUT, NULL);
}

bool cm_conn_tick(struct prov_cm *cm, weft_ns now)
{
	struct cm_conn *c;
	bool any = false;
	while ((c = TAILQ_FIRST(&cm->answering)) && c->due_ns <= now) {
		overdue(c);
		any = true;
	}
	while ((c = TAILQ_FIRST(&cm->asking)) && c->due_ns <= now) {
		send(c, CM_PING, NULL, 0); /* if that fails now, then next time */
		state_set(c, c->state);
		any = true;
	}
	return any;
}
