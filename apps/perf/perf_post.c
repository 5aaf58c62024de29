/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations and their completions. */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "perf_lane.h"

enum { EVENTS_MAX = 32, STALL_S = 30, YIELD_US = 20 };

static uint8_t pattern(uint64_t number, uint32_t at)
{
	return (uint8_t)(number * 131 + at * 7 + (at >> 8));
}

static void fill(uint8_t *buf, uint32_t bytes, uint64_t number)
{
	for (uint32_t i = 0; i < bytes; i++)
		buf[i] = pattern(number, i);
}

static bool is_filled(const uint8_t *buf, uint32_t bytes, uint64_t number)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (buf[i] != pattern(number, i))
			return false;
	return true;
}

static uint8_t *sent_bytes(const struct perf_lane *lane, const struct perf_slot *s)
{
	return s->conn->buf + (size_t)s->index * lane->row.bytes;
}

static uint8_t *received_bytes(const struct perf_lane *lane, const struct perf_slot *s)
{
	return s->conn->buf + s->conn->half + (size_t)s->index * lane->row.bytes;
}

static ssize_t start_atomic(const struct perf_lane *lane, struct perf_slot *s, void *desc, uint64_t remote)
{
	struct perf_conn *c = s->conn;
	size_t count = lane->row.bytes / sizeof(uint64_t);
	if (lane->row.test != PERF_LATENCY)
		return fi_atomic(c->ep, sent_bytes(lane, s), count, desc, c->peer, remote, c->remote_key, FI_UINT64,
				 FI_SUM, s);
	return fi_fetch_atomic(c->ep, sent_bytes(lane, s), count, desc, received_bytes(lane, s), desc, c->peer, remote,
			       c->remote_key, FI_UINT64, FI_SUM, s);
}

static ssize_t start(const struct perf_lane *lane, struct perf_slot *s)
{
	struct perf_conn *c = s->conn;
	void *desc = fi_mr_desc(c->mr), *buf = sent_bytes(lane, s);
	uint64_t remote = c->remote_addr + (uint64_t)s->index * lane->row.bytes;
	switch (lane->job->op) {
	case PERF_MESSAGE:
		return fi_send(c->ep, buf, lane->row.bytes, desc, c->peer, s);
	case PERF_TAGGED:
		return fi_tsend(c->ep, buf, lane->row.bytes, desc, c->peer, c->number, s);
	case PERF_WRITE:
		return fi_write(c->ep, buf, lane->row.bytes, desc, c->peer, remote, c->remote_key, s);
	case PERF_READ:
		return fi_read(c->ep, buf, lane->row.bytes, desc, c->peer, remote, c->remote_key, s);
	default:
		return start_atomic(lane, s, desc, remote);
	}
}

/* What an operation's call returned, as the functions of this file do. */
static int begun(struct perf_lane *lane, struct perf_slot *s, ssize_t rc)
{
	if (rc == -FI_EAGAIN)
		return 0;
	if (rc)
		return weft_err_set(&lane->err, (int)rc, "%s of %u bytes: %s", perf_op_names[lane->job->op],
				    lane->row.bytes, fi_strerror((int)-rc));
	s->busy = true;
	return 1;
}

/* What an operation carries, when every byte is compared. Of atomics it is what is added: ones. */
static void prepare(const struct perf_lane *lane, struct perf_slot *s)
{
	if (lane->job->op == PERF_ATOMIC)
		for (size_t i = 0; i < lane->row.bytes / sizeof(uint64_t); i++)
			((uint64_t *)sent_bytes(lane, s))[i] = 1;
	else if (lane->job->check && lane->job->op == PERF_READ)
		memset(sent_bytes(lane, s), 0, lane->row.bytes);
	else if (lane->job->check)
		fill(sent_bytes(lane, s), lane->row.bytes, s->conn->sent);
}

int perf_conn_post(struct perf_lane *lane, struct perf_conn *c)
{
	struct perf_slot *s = &c->tx[c->sent % lane->row.window];
	if (s->busy)
		return 0;
	prepare(lane, s);
	int rc = begun(lane, s, start(lane, s));
	c->sent += rc > 0;
	return rc;
}

int perf_conn_post_empty(struct perf_lane *lane, struct perf_conn *c)
{
	struct perf_slot *s = &c->tx[c->sent % lane->row.window];
	if (s->busy)
		return 0;
	assert(perf_has_receiver(lane->job->op));
	ssize_t rc = lane->job->op == PERF_TAGGED ? fi_tsend(c->ep, NULL, 0, NULL, c->peer, c->number, s)
						  : fi_send(c->ep, NULL, 0, NULL, c->peer, s);
	int begun_rc = begun(lane, s, rc);
	c->sent += begun_rc > 0;
	return begun_rc;
}

static int post_recv(struct perf_lane *lane, struct perf_slot *s)
{
	struct perf_conn *c = s->conn;
	void *desc = fi_mr_desc(c->mr), *buf = received_bytes(lane, s);
	if (s->busy)
		return 0;
	ssize_t rc = lane->job->op == PERF_TAGGED
			     ? fi_trecv(c->ep, buf, lane->row.bytes, desc, FI_ADDR_UNSPEC, c->number, 0, s)
			     : fi_recv(c->ep, buf, lane->row.bytes, desc, FI_ADDR_UNSPEC, s);
	int begun_rc = begun(lane, s, rc);
	c->posted += begun_rc > 0;
	return begun_rc;
}

int perf_conn_post_recv(struct perf_lane *lane, struct perf_conn *c)
{
	return post_recv(lane, &c->rx[(c->received + c->posted) % lane->row.window]);
}

/* What the peer reads, or nothing, where what it writes or sends comes. */
static void set_memory(struct perf_lane *lane, struct perf_conn *c)
{
	bool is_read = lane->job->op == PERF_READ;
	for (uint32_t k = 0; k < lane->row.window && is_read; k++)
		fill(received_bytes(lane, &c->rx[k]), lane->row.bytes, k);
	if (!is_read)
		memset(c->buf + c->half, 0, (size_t)lane->row.window * lane->row.bytes);
}

static int post_recvs(struct perf_lane *lane, struct perf_conn *c)
{
	int rc = 0;
	while (c->posted < lane->row.window && rc >= 0) {
		rc = perf_conn_post_recv(lane, c);
		if (rc == 0)
			rc = perf_lane_poll(lane);
	}
	return rc;
}

int perf_lane_row(struct perf_lane *lane, const struct perf_row *row, bool receives)
{
	lane->row = *row;
	lane->cleaning = false;
	lane->moved_ns = perf_now_ns();
	perf_samples_clear(&lane->samples);
	for (uint32_t i = 0; i < lane->count; i++) {
		struct perf_conn *c = &lane->conns[i];
		assert(c->posted == 0);
		c->sent = c->completed = c->received = c->wrong = 0;
		c->expected = UINT64_MAX;
		set_memory(lane, c);
		int rc = receives ? post_recvs(lane, c) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* A message has come. It is compared, answered, and its place taken by another receive. */
static int take_message(struct perf_lane *lane, struct perf_slot *s)
{
	struct perf_conn *c = s->conn;
	assert(c->posted > 0);
	c->posted--;
	if (lane->cleaning)
		return 0;
	if (lane->job->check && !is_filled(received_bytes(lane, s), lane->row.bytes, c->received))
		c->wrong++;
	c->received++;
	bool is_latency = lane->row.test == PERF_LATENCY;
	int rc = post_recv(lane, s);
	while (rc >= 0 && is_latency && lane->row.is_server && (rc = perf_conn_post(lane, c)) == 0)
		rc = perf_lane_poll(lane);
	return rc < 0 ? rc : 0;
}

static int take_completion(struct perf_lane *lane, struct perf_slot *s)
{
	assert(s->busy);
	s->busy = false;
	if (s->is_rx)
		return take_message(lane, s);
	s->conn->completed++;
	if (lane->job->op == PERF_READ && lane->job->check &&
	    !is_filled(sent_bytes(lane, s), lane->row.bytes, s->index))
		s->conn->wrong++;
	return 0;
}

static int take_error(struct perf_lane *lane)
{
	struct fi_cq_err_entry e = {0};
	char text[128];
	ssize_t rc = fi_cq_readerr(lane->cq, &e, 0);
	if (rc != 1)
		return rc == -FI_EAGAIN ? 0
					: weft_err_set(&lane->err, (int)rc, "fi_cq_readerr: %s", fi_strerror((int)-rc));
	const char *why = fi_cq_strerror(lane->cq, e.prov_errno, e.err_data, text, sizeof text);
	return weft_err_set(&lane->err, -e.err, "%s of %u bytes failed: %s (%s)", perf_op_names[lane->job->op],
			    lane->row.bytes, fi_strerror(e.err), why ?: "");
}

/* Since an operation of any lane ended: while others move, ours may have to wait for them. */
static bool is_stalled(const struct perf_lane *lane, uint64_t now_ns)
{
	return perf_lanes_moved_ns(lane->all, lane->all_count) + STALL_S * UINT64_C(1000000000) <= now_ns;
}

/* Nothing has ended: the far side may need this processor. An error when operations are outstanding and none has ended
 * for long; receives may wait. */
static int idle(struct perf_lane *lane)
{
	uint64_t now_ns = perf_now_ns(), for_ns = now_ns - lane->moved_ns;
	bool waits = false;
	if (for_ns > YIELD_US * UINT64_C(1000))
		sched_yield();
	if (for_ns < STALL_S * UINT64_C(1000000000) || !is_stalled(lane, now_ns))
		return 0;
	for (uint32_t i = 0; i < lane->count; i++)
		waits |= lane->conns[i].completed < lane->conns[i].sent;
	return waits ? weft_err_set(&lane->err, -ETIMEDOUT, "no %s has ended for %d s", perf_op_names[lane->job->op],
				    STALL_S)
		     : 0;
}

int perf_lane_poll(struct perf_lane *lane)
{
	struct fi_cq_msg_entry events[EVENTS_MAX];
	ssize_t n = fi_cq_read(lane->cq, events, EVENTS_MAX);
	if (n == -FI_EAVAIL)
		return take_error(lane);
	if (n == -FI_EAGAIN)
		return idle(lane);
	if (n < 0)
		return weft_err_set(&lane->err, (int)n, "fi_cq_read: %s", fi_strerror((int)-n));
	atomic_store_explicit(&lane->moved_ns, perf_now_ns(), memory_order_relaxed); /* cheap: often */
	int rc = 0;
	for (ssize_t i = 0; i < n; i++) {
		int one = take_completion(lane, events[i].op_context);
		rc = rc ? rc : one;
	}
	return rc;
}

uint64_t perf_conn_compare(struct perf_lane *lane, struct perf_conn *c, uint64_t writes)
{
	uint64_t wrong = 0;
	for (uint32_t k = 0; k < lane->row.window && k < writes; k++) {
		const uint8_t *at = received_bytes(lane, &c->rx[k]);
		uint64_t last = writes - 1 - (writes - 1 - k) % lane->row.window, sum = last / lane->row.window + 1;
		if (lane->job->op == PERF_WRITE)
			wrong += !is_filled(at, lane->row.bytes, last);
		for (size_t i = 0; lane->job->op == PERF_ATOMIC && i < lane->row.bytes / sizeof sum; i++)
			wrong += memcmp(at + i * sizeof sum, &sum, sizeof sum) != 0;
	}
	return wrong;
}
