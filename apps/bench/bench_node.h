/* SPDX-License-Identifier: BSD-3-Clause */
/* One node of the benchmark: a libfabric domain with one reliable-datagram endpoint, its queue and its peers. Knows
 * nothing of flows. All calls from one thread. */
#ifndef WEFT_BENCH_NODE_H
#define WEFT_BENCH_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>

#include "weft/err.h"
#include "weft/stats.h"

enum { BENCH_NAME_MAX = 64, BENCH_SERVICE = 7000 }; /* largest endpoint name; endpoint number of every node */

enum bench_op_kind { BENCH_OP_SEND, BENCH_OP_RECV };

/* One operation. The memory is the caller's and stays until the event. */
struct bench_op {
	struct fi_context2
		ctx; /* the provider's while the operation runs; first, so that it is the operation's address */
	struct bench_op *next; /* list of operations the provider had no room for */
	void *owner;           /* for the caller */
	void *buf;
	size_t len;
	uint64_t tag;
	uint32_t peer; /* rank */
	uint8_t kind;  /* enum bench_op_kind */
	uint8_t use;   /* for the caller */
	int result;    /* for the caller */
};

struct bench_event {
	struct bench_op *op;
	size_t len; /* bytes received */
	int err;    /* errno, 0: success */
};

struct bench_node {
	uint32_t rank, ranks;
	char host[BENCH_NAME_MAX]; /* our address in text */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t *peers;         /* by rank */
	struct bench_op *waiting; /* operations to post again, in order */
	struct bench_op **waiting_end;
};

/* What a node is opened with. */
struct bench_node_conf {
	const char *provider;
	const char *host; /* our address in text */
	uint32_t rank, ranks;
};

/* Opens and enables the endpoint. A negative errno with a message naming the node and the call; *n is closed then. */
int bench_node_open(struct bench_node *n, const struct bench_node_conf *conf, struct weft_err *err);

/* Our endpoint's name as libfabric gives it: BENCH_NAME_MAX bytes, zero-padded. */
int bench_node_name(struct bench_node *n, uint8_t name[BENCH_NAME_MAX], struct weft_err *err);

/* Learns all peers: `names` holds n->ranks names of BENCH_NAME_MAX bytes in order of rank. */
int bench_node_connect(struct bench_node *n, const uint8_t *names, struct weft_err *err);

/* Starts an operation; when the provider has no room it is tried again by later polls. Anything else that fails
 * is returned as negative errno, and there is no event. */
int bench_node_post(struct bench_node *n, struct bench_op *op);

/* Makes progress; returns how many of up to `max` events were written, or a negative errno when the queue itself
 * failed. */
int bench_node_poll(struct bench_node *n, struct bench_event *events, unsigned max);

/* The engine's counters; all zero when the provider has none. */
void bench_node_stats(struct bench_node *n, struct weft_stats *stats);

/* Takes a node that was never opened, or only zeroed, too. */
void bench_node_close(struct bench_node *n);

#endif
