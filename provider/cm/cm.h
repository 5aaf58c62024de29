/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of a device: who listens, who wants to be connected and who is. Everything under the device's lock. */
#ifndef CM_H
#define CM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cm_wire.h"
#include "prov_ep.h"
#include "prov_nic.h"
#include "u64map.h"
#include "weft/cm_stats.h"

struct cm_conn;
struct cm_request;
struct cm_tx;
struct prov_cm;
struct prov_pep;
TAILQ_HEAD(cm_conn_list, cm_conn);
TAILQ_HEAD(cm_request_list, cm_request);
TAILQ_HEAD(cm_tx_list, cm_tx);
TAILQ_HEAD(prov_pep_list, prov_pep);

/* ---- messages about connections (cm_post.c) ---- */

/* What the post brings to those above. */
struct cm_events {
	/* A message has arrived from this host. */
	void (*arrived)(struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg);
	/* One of ours has not; `err`: errno > 0. Its data is gone. */
	void (*lost)(struct prov_cm *cm, const struct weft_ip *to, const struct cm_msg *msg, int err);
	/* Called with every progress. True when something was due. */
	bool (*tick)(struct prov_cm *cm, weft_ns now);
};

/* One per device, while it has passive endpoints or connected ones. */
struct prov_cm {
	struct prov_nic *nic;
	const struct cm_events *events;
	unsigned users;
	struct weft_ep *wep; /* PROV_CM_NUMBER; NULL in a forked child */
	struct prov_poller poller;
	uint8_t *rx_bytes; /* buffers of the receives */
	struct cm_tx_list sent;
	unsigned sent_count;
	struct prov_pep_list listeners;
	struct cm_request_list requests; /* that nobody has answered */
	struct u64map conns;             /* cm_conn by the number of its endpoint, from its request or answer on */
	struct cm_conn_list asking;      /* whose peers are asked whether they are there, by due_ns */
	struct cm_conn_list answering;   /* that wait for the peer to say that it knows, by due_ns */
};

/* The device's, made for its first user. Lock not held. -EADDRINUSE, -ENOMEM. */
int cm_get(struct prov_nic *nic, const struct cm_events *events, struct prov_cm **out);
void cm_put(struct prov_cm *cm);
/* -FI_EAGAIN: too many are under way; -FI_ENOMEM; -FI_EOPBADSTATE in a forked child. It leaves with the next poll. */
int cm_send(struct prov_cm *cm, const struct weft_ip *to, const struct cm_msg *msg);
/* The same for answers to strangers, which are limited: dropped and counted beyond. */
void cm_answer(struct prov_cm *cm, const struct weft_ip *to, const struct cm_msg *msg);

/* ---- connections (cm_conn.c) ---- */

enum cm_state {
	CM_IDLE,
	CM_CALLING,   /* the request is under way, or not answered */
	CM_ANSWERING, /* the request was accepted, and the peer has not said that it knows */
	CM_UP,
	CM_OVER,
};

/* A connection-oriented endpoint. */
struct cm_conn {
	struct prov_ep ep; /* first */
	struct prov_cm *cm;
	uint8_t state;             /* enum cm_state */
	TAILQ_ENTRY(cm_conn) link; /* cm.asking or cm.answering */
	weft_ns due_ns;            /* when the answer is overdue, or the peer is asked again whether it is there */
	uint64_t id;               /* of the connection; 0: there is none yet */
	struct weft_addr name, peer_name; /* as applications see them; port 0: not known */
	struct weft_addr peer;            /* the peer's endpoint; port 0: not known */
	struct cm_request *request;       /* that it is to answer; NULL: none */
	bool watches;                     /* the event queue looks at the device */
	bool asked_again;                 /* the peer had been started again, so the request was sent twice */
	bool owes_bye;                    /* the peer is to be told when we end the connection, even if it did so */
	bool told_end;                    /* FI_SHUTDOWN or an error was told */
	struct prov_event *events[2];     /* memory for what is told: that it is up or is not, and its end */
	uint8_t data[PROV_CM_DATA_BYTES]; /* of the request, until it is answered */
	size_t data_len;
};

static inline struct cm_conn *cm_conn_of(struct prov_ep *ep)
{
	assert(ep->is_msg);
	return container_of(ep, struct cm_conn, ep);
}

/* Sends a request to who listens at `to`. An errno value < 0: nothing has happened. */
int cm_conn_call(struct cm_conn *c, const struct weft_addr *to, const void *data, size_t len);
/* Accepts its request, which it frees. -FI_ECONNABORTED: who asked has given up. */
int cm_conn_answer(struct cm_conn *c, const void *data, size_t len);
/* The application ends it: the peer is told, and what waits for messages is cancelled. */
void cm_conn_end(struct cm_conn *c);
/* The same before it is closed: no message finds it any more. */
void cm_conn_forget(struct cm_conn *c);
/* An operation of the endpoint has failed. */
void cm_conn_failed(struct cm_conn *c, int err);
/* A message about a connection of ours, or that should be one. */
void cm_conn_arrived(struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg);
void cm_conn_lost(struct prov_cm *cm, const struct weft_ip *to, const struct cm_msg *msg, int err);
bool cm_conn_tick(struct prov_cm *cm, weft_ns now);

/* ---- requests that wait for an answer (cm_request.c) ---- */

struct cm_request {
	struct fid handle; /* first; fi_info.handle */
	TAILQ_ENTRY(cm_request) link;
	struct prov_pep *pep;  /* NULL: it was closed */
	struct weft_addr from; /* the endpoint */
	uint16_t name;         /* port in its name */
	struct weft_addr listener;
	uint64_t id;
	bool taken;    /* an endpoint was opened for it */
	bool given_up; /* by who sent it */
};

/* CM_REQUEST: becomes an event, or is refused. */
void cm_request_arrived(struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg);
/* Whether it is one that waits for an answer. */
bool cm_request_waits(const struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg);
/* CM_BYE of who does not know yet whether it is accepted. */
void cm_request_given_up(struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg);
/* The request behind the handle of an application's fi_info, which may be any pointer; NULL: none. */
struct cm_request *cm_request_find(const struct prov_cm *cm, const struct fid *handle);
/* Rejects it, unless who sent it has given up, and frees it. An errno value < 0: nothing has happened. */
int cm_request_reject(struct prov_cm *cm, struct cm_request *r, const void *data, size_t len);
void cm_request_free(struct prov_cm *cm, struct cm_request *r);

/* Passive endpoint. */
struct prov_pep {
	struct fid_pep fid;
	struct prov_fabric *fabric;
	struct prov_cm *cm;
	TAILQ_ENTRY(prov_pep) link; /* cm.listeners */
	struct fi_info *info;       /* what it was opened with; ours */
	struct weft_addr name;
	struct prov_eq *eq;
	bool listens;
	unsigned backlog; /* requests that may wait for an answer */
	unsigned waiting; /* that do */
};

/* Who listens at this number; NULL: nobody. */
struct prov_pep *cm_listener(const struct prov_cm *cm, uint16_t port);
/* The passive endpoint behind a handle; NULL: it is none of the device. */
struct prov_pep *cm_pep_find(const struct prov_cm *cm, const struct fid *handle);

/* ---- what calls of both kinds of endpoints share (cm_calls.c) ---- */

extern const struct cm_events cm_events;

/* Socket address of a call that does not say its length. -FI_EINVAL: not of the device's family. */
int cm_addr_of(const struct prov_nic *nic, const void *sock, struct weft_addr *addr);
/* A name that an application chooses. -FI_EADDRNOTAVAIL: not our address. */
int cm_name_of(const struct prov_nic *nic, const void *sock, size_t len, struct weft_addr *name);
/* -FI_ETOOSMALL when cut. */
int cm_name_copy_out(const struct weft_addr *name, void *sock, size_t *len);

#endif
