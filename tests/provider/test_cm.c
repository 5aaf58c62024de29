/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection-oriented endpoints: two devices in one process, which listen and connect. */
#include "fixture.h"
#include "member.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>

#include "weft/provider.h"

enum { LISTEN_PORT = 7000, CM_NUMBER = 1, CM_DATA = 256, TIMEOUT_MS = 300 };

/* What is open on one device. */
struct side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_pep *pep;
};

static struct side sides[2];
static struct side *const server = &sides[1], *const client = &sides[0];

/* An event with its data. */
struct event {
	uint32_t type;
	struct fi_eq_cm_entry entry; /* its data follows */
	uint8_t data[CM_DATA];
	size_t data_len;
};

/* ---- opening and closing ---- */

static struct fi_info *msg_hints(int index)
{
	struct fi_info *hints = fixture_hints(index);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	hints->ep_attr->type = FI_EP_MSG;
	return hints;
}

static void side_open(struct side *s, int index, enum fi_wait_obj wait)
{
	struct fi_info *hints = msg_hints(index);
	struct fi_eq_attr eq_attr = {.wait_obj = wait};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	*s = (struct side){.info = NULL};
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &s->info));
	fi_freeinfo(hints);
	assert_int_equal(s->info->ep_attr->type, FI_EP_MSG);
	ok(fi_fabric(s->info->fabric_attr, &s->fabric, NULL));
	ok(fi_eq_open(s->fabric, &eq_attr, &s->eq, NULL));
	ok(fi_domain(s->fabric, s->info, &s->domain, NULL));
	ok(fi_cq_open(s->domain, &cq_attr, &s->cq, NULL));
}

static void side_close(struct side *s)
{
	if (s->pep)
		ok(fi_close(&s->pep->fid));
	ok(fi_close(&s->cq->fid));
	ok(fi_close(&s->domain->fid));
	ok(fi_close(&s->eq->fid));
	ok(fi_close(&s->fabric->fid));
	fi_freeinfo(s->info);
}

static struct sockaddr_in address(int host, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(0x0a000000u + (uint32_t)host)};
}

static void listen_at(struct side *s, int host, int backlog)
{
	struct sockaddr_in name = address(host, LISTEN_PORT);
	ok(fi_passive_ep(s->fabric, s->info, &s->pep, s));
	ok(fi_setname(&s->pep->fid, &name, sizeof name));
	ok(fi_pep_bind(s->pep, &s->eq->fid, 0));
	if (backlog)
		ok(fi_control(&s->pep->fid, FI_BACKLOG, &backlog));
	ok(fi_listen(s->pep));
}

static int setup(void **state)
{
	side_open(client, 0, FI_WAIT_UNSPEC);
	side_open(server, 1, FI_WAIT_UNSPEC);
	listen_at(server, 2, 0);
	return 0;
}

static int teardown(void **state)
{
	side_close(client);
	side_close(server);
	return 0;
}

static struct fid_ep *ep_new(struct side *s, struct fi_info *info)
{
	struct fid_ep *ep;
	ok(fi_endpoint(s->domain, info, &ep, NULL));
	ok(fi_ep_bind(ep, &s->eq->fid, 0));
	ok(fi_ep_bind(ep, &s->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_enable(ep));
	return ep;
}

/* ---- events ---- */

static void work(void)
{
	fi_cq_read(client->cq, NULL, 0);
	fi_cq_read(server->cq, NULL, 0);
}

/* The next event of a side, or -FI_EAVAIL. */
static ssize_t event_wait(struct side *s, struct event *e)
{
	ssize_t n;
	struct {
		struct fi_eq_cm_entry entry;
		uint8_t data[CM_DATA];
	} buf = {.entry = {.fid = NULL}};
	while ((n = fi_eq_read(s->eq, &e->type, &buf, sizeof buf, 0)) == -FI_EAGAIN)
		work();
	if (n < 0)
		return n;
	assert_true((size_t)n >= sizeof e->entry);
	e->entry.fid = buf.entry.fid;
	e->entry.info = buf.entry.info;
	e->data_len = (size_t)n - sizeof e->entry;
	memcpy(e->data, buf.entry.data, e->data_len);
	return n;
}

static struct event expect_event(struct side *s, uint32_t type, const void *fid)
{
	struct event e;
	ssize_t n = event_wait(s, &e);
	if (n == -FI_EAVAIL) {
		struct fi_eq_err_entry err = {0};
		fi_eq_readerr(s->eq, &err, 0);
		fail_msg("event with error: %s", fi_strerror(err.err));
	}
	assert_int_equal(e.type, type);
	assert_ptr_equal(e.entry.fid, fid);
	return e;
}

/* Its details, as long as they are. */
static size_t expect_failure(struct side *s, const void *fid, int err, uint8_t *data)
{
	struct fi_eq_err_entry entry = {.err_data = data, .err_data_size = data ? CM_DATA : 0};
	struct event e;
	assert_int_equal(event_wait(s, &e), -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(s->eq, &entry, 0), sizeof entry);
	assert_int_equal(entry.err, err);
	assert_ptr_equal(entry.fid, fid);
	return entry.err_data_size;
}

static void expect_no_event(struct side *s)
{
	enum { POLLS = 2000 };
	struct fi_eq_cm_entry entry;
	uint32_t type;
	for (int i = 0; i < POLLS; i++) {
		assert_int_equal(fi_eq_read(s->eq, &type, &entry, sizeof entry, 0), -FI_EAGAIN);
		work();
	}
}

/* ---- connections ---- */

struct pair {
	struct fid_ep *of_client, *of_server;
};

static struct fid_ep *call(struct side *s, int host, const void *data, size_t len)
{
	struct sockaddr_in to = address(host, LISTEN_PORT);
	struct fid_ep *ep = ep_new(s, s->info);
	ok(fi_connect(ep, &to, data, len));
	return ep;
}

static struct fid_ep *answer(struct side *s, const void *data, size_t len)
{
	struct event e = expect_event(s, FI_CONNREQ, &s->pep->fid);
	struct fid_ep *ep = ep_new(s, e.entry.info);
	ok(fi_accept(ep, data, len));
	fi_freeinfo(e.entry.info);
	return ep;
}

static struct pair connect_pair(void)
{
	struct pair p = {.of_client = call(client, 2, NULL, 0)};
	p.of_server = answer(server, NULL, 0);
	expect_event(client, FI_CONNECTED, &p.of_client->fid);
	expect_event(server, FI_CONNECTED, &p.of_server->fid);
	return p;
}

static void pair_close(struct pair *p)
{
	ok(fi_close(&p->of_client->fid));
	ok(fi_close(&p->of_server->fid));
}

static struct fi_cq_tagged_entry done(struct side *s)
{
	struct fi_cq_tagged_entry entry = {0};
	ssize_t n;
	while ((n = fi_cq_read(s->cq, &entry, 1)) == -FI_EAGAIN)
		work();
	assert_int_equal(n, 1);
	return entry;
}

static int failed(struct side *s)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = {0};
	ssize_t n;
	while ((n = fi_cq_read(s->cq, &entry, 1)) == -FI_EAGAIN)
		work();
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(s->cq, &err, 0), 1);
	return err.err;
}

static void transfer(struct side *from, struct fid_ep *src, struct side *to, struct fid_ep *dst, uint64_t seed,
		     size_t len)
{
	uint8_t *out = malloc(len), *in = calloc(1, len);
	pattern_fill(out, len, seed);
	ok(fi_recv(dst, in, len, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_send(src, out, len, NULL, FI_ADDR_UNSPEC, out));
	assert_ptr_equal(done(to).op_context, in);
	assert_ptr_equal(done(from).op_context, out);
	assert_int_equal(pattern_check(in, len, seed), len);
	free(in);
	free(out);
}

static struct weft_cm_stats stats_of(struct side *s)
{
	struct weft_fi_ops *ops;
	struct weft_cm_stats stats;
	ok(fi_open_ops(&s->domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL));
	ok(ops->cm_stats(&s->domain->fid, &stats));
	return stats;
}

static void await_requests(uint64_t count)
{
	while (stats_of(server).cm_requests < count)
		work();
}

/* ---- tests ---- */

static void connect__both_hear_of_it_with_data(void **state)
{
	uint8_t out[CM_DATA], back[CM_DATA];
	pattern_fill(out, CM_DATA, 1);
	pattern_fill(back, CM_DATA, 2);
	struct fid_ep *ep = call(client, 2, out, CM_DATA);
	struct event asked = expect_event(server, FI_CONNREQ, &server->pep->fid);
	assert_int_equal(asked.data_len, CM_DATA);
	assert_memory_equal(asked.data, out, CM_DATA);
	struct fid_ep *other = ep_new(server, asked.entry.info);
	ok(fi_accept(other, back, CM_DATA - 1));
	fi_freeinfo(asked.entry.info);
	struct event yes = expect_event(client, FI_CONNECTED, &ep->fid);
	assert_int_equal(yes.data_len, CM_DATA - 1);
	assert_memory_equal(yes.data, back, CM_DATA - 1);
	assert_int_equal(expect_event(server, FI_CONNECTED, &other->fid).data_len, 0);
	assert_int_equal(stats_of(server).cm_connected, 1);
	assert_int_equal(stats_of(server).cm_requests, 1);
	ok(fi_close(&ep->fid));
	ok(fi_close(&other->fid));
}

static struct sockaddr_in name_of(struct fid *fid)
{
	struct sockaddr_in in;
	size_t len = sizeof in;
	ok(fi_getname(fid, &in, &len));
	return in;
}

static void connect__names(void **state)
{
	struct sockaddr_in name, listener = address(2, LISTEN_PORT), peer, chosen = address(1, 4321);
	size_t len = sizeof peer;
	struct pair p = {.of_client = NULL};
	ok(fi_endpoint(client->domain, client->info, &p.of_client, NULL));
	ok(fi_setname(&p.of_client->fid, &chosen, sizeof chosen));
	ok(fi_ep_bind(p.of_client, &client->eq->fid, 0));
	ok(fi_ep_bind(p.of_client, &client->cq->fid, FI_TRANSMIT | FI_RECV));
	assert_int_equal(fi_getpeer(p.of_client, &peer, &len), -FI_ENOTCONN);
	ok(fi_connect(p.of_client, &listener, NULL, 0)); /* enables it */
	struct event asked = expect_event(server, FI_CONNREQ, &server->pep->fid);
	assert_memory_equal(asked.entry.info->src_addr, &listener, sizeof listener);
	assert_memory_equal(asked.entry.info->dest_addr, &chosen, sizeof chosen);
	p.of_server = ep_new(server, asked.entry.info);
	ok(fi_accept(p.of_server, NULL, 0));
	fi_freeinfo(asked.entry.info);
	name = name_of(&p.of_server->fid);
	assert_memory_equal(&name, &listener, sizeof name);
	len = sizeof peer;
	ok(fi_getpeer(p.of_server, &peer, &len));
	assert_memory_equal(&peer, &chosen, sizeof peer);
	len = sizeof peer;
	ok(fi_getpeer(p.of_client, &peer, &len));
	assert_memory_equal(&peer, &listener, sizeof peer);
	name = name_of(&p.of_client->fid);
	assert_memory_equal(&name, &chosen, sizeof name);
	pair_close(&p);
}

static void transfer__all_kinds(void **state)
{
	struct pair p = connect_pair();
	uint64_t memory[4] = {0}, value = 5, fetched = 0;
	struct fid_mr *mr;
	uint8_t tagged = 0;
	for (size_t len = 1; len <= 1000000; len *= 100) {
		transfer(client, p.of_client, server, p.of_server, len, len);
		transfer(server, p.of_server, client, p.of_client, len + 1, len);
	}
	ok(fi_trecv(p.of_server, &tagged, 1, NULL, FI_ADDR_UNSPEC, 7, 0, &tagged));
	ok(fi_tinject(p.of_client, "x", 1, FI_ADDR_UNSPEC, 7));
	assert_int_equal(done(server).tag, 7);
	assert_int_equal(tagged, 'x');
	ok(fi_mr_reg(server->domain, memory, sizeof memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 99, 0, &mr, NULL));
	ok(fi_write(p.of_client, &value, sizeof value, NULL, 12345, 8, 99, &value));
	assert_int_equal(done(client).flags, FI_RMA | FI_WRITE);
	assert_int_equal(memory[1], 5);
	ok(fi_fetch_atomic(p.of_client, &value, 1, NULL, &fetched, NULL, 12345, 8, 99, FI_UINT64, FI_SUM, &value));
	done(client);
	assert_int_equal(fetched, 5);
	assert_int_equal(memory[1], 10);
	ok(fi_close(&mr->fid));
	pair_close(&p);
}

static void reject__with_data(void **state)
{
	uint8_t why[CM_DATA], got[CM_DATA] = {0};
	pattern_fill(why, CM_DATA, 3);
	struct fid_ep *ep = call(client, 2, NULL, 0);
	struct event asked = expect_event(server, FI_CONNREQ, &server->pep->fid);
	ok(fi_reject(server->pep, asked.entry.info->handle, why, CM_DATA));
	assert_int_equal(fi_reject(server->pep, asked.entry.info->handle, why, CM_DATA), -FI_EINVAL);
	fi_freeinfo(asked.entry.info);
	assert_int_equal(expect_failure(client, &ep->fid, FI_ECONNREFUSED, got), CM_DATA);
	assert_memory_equal(got, why, CM_DATA);
	assert_int_equal(fi_send(ep, "x", 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOTCONN);
	assert_int_equal(stats_of(server).cm_rejected, 1);
	assert_int_equal(stats_of(client).cm_not_connected, 1);
	ok(fi_close(&ep->fid));
}

/* Whoever opens an endpoint for the request and closes it has rejected it. */
static void reject__by_closing(void **state)
{
	struct fid_ep *ep = call(client, 2, NULL, 0);
	struct event asked = expect_event(server, FI_CONNREQ, &server->pep->fid);
	struct fid_ep *other = ep_new(server, asked.entry.info), *second;
	assert_int_equal(fi_endpoint(server->domain, asked.entry.info, &second, NULL), -FI_EINVAL);
	assert_int_equal(fi_reject(server->pep, asked.entry.info->handle, NULL, 0), -FI_EINVAL);
	ok(fi_close(&other->fid));
	assert_int_equal(expect_failure(client, &ep->fid, FI_ECONNREFUSED, NULL), 0);
	fi_freeinfo(asked.entry.info);
	ok(fi_close(&ep->fid));
}

/* Requests that nobody has read are rejected when nobody listens any more; one that was read can be accepted. */
static void reject__by_the_listener_that_closes(void **state)
{
	struct fid_ep *read = call(client, 2, NULL, 0);
	struct event asked = expect_event(server, FI_CONNREQ, &server->pep->fid);
	struct fid_ep *unread = call(client, 2, NULL, 0);
	await_requests(2);
	struct fid_ep *other = ep_new(server, asked.entry.info);
	ok(fi_close(&server->pep->fid));
	server->pep = NULL;
	expect_failure(client, &unread->fid, FI_ECONNREFUSED, NULL);
	ok(fi_accept(other, NULL, 0));
	fi_freeinfo(asked.entry.info);
	expect_event(client, FI_CONNECTED, &read->fid);
	ok(fi_close(&read->fid));
	ok(fi_close(&unread->fid));
	ok(fi_close(&other->fid));
}

static void connect__nobody_listens(void **state)
{
	struct sockaddr_in to = address(2, LISTEN_PORT + 1);
	struct fid_ep *ep = ep_new(client, client->info);
	ok(fi_connect(ep, &to, NULL, 0));
	expect_failure(client, &ep->fid, FI_ECONNREFUSED, NULL);
	assert_int_equal(stats_of(server).cm_refused_nobody, 1);
	ok(fi_close(&ep->fid));
}

/* A host with nothing for connections. */
static void connect__host_without_connections(void **state)
{
	ok(fi_close(&server->pep->fid));
	server->pep = NULL;
	struct fid_ep *ep = call(client, 2, NULL, 0);
	expect_failure(client, &ep->fid, FI_ECONNREFUSED, NULL);
	ok(fi_close(&ep->fid));
}

static void connect__no_such_host(void **state)
{
	struct fid_ep *ep = call(client, 77, NULL, 0);
	expect_failure(client, &ep->fid, FI_ETIMEDOUT, NULL);
	struct weft_cm_stats stats = stats_of(client);
	assert_int_equal(stats.cm_called, 1);
	assert_int_equal(stats.cm_not_connected, 1);
	assert_int_equal(stats.cm_timed_out, 1);
	ok(fi_close(&ep->fid));
}

static void connect__refuses_nonsense(void **state)
{
	struct sockaddr_in to = address(2, LISTEN_PORT), nowhere = address(2, 0);
	uint8_t data[CM_DATA + 1] = {0};
	size_t size = 0, len = sizeof size;
	struct fid_ep *ep;
	ok(fi_endpoint(client->domain, client->info, &ep, NULL));
	ok(fi_ep_bind(ep, &client->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &len));
	assert_int_equal(size, CM_DATA);
	ok(fi_getopt(&server->pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &len));
	assert_int_equal(size, CM_DATA);
	assert_int_equal(fi_connect(ep, &to, NULL, 0), -FI_ENOEQ);
	ok(fi_ep_bind(ep, &client->eq->fid, 0));
	assert_int_equal(fi_connect(ep, &to, data, sizeof data), -FI_EINVAL);
	assert_int_equal(fi_connect(ep, &nowhere, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_accept(ep, NULL, 0), -FI_EOPBADSTATE);
	assert_int_equal(fi_shutdown(ep, 0), -FI_ENOTCONN);
	ok(fi_enable(ep));
	assert_int_equal(fi_send(ep, data, 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOTCONN);
	assert_int_equal(fi_write(ep, data, 1, NULL, FI_ADDR_UNSPEC, 0, 0, NULL), -FI_ENOTCONN);
	ok(fi_connect(ep, &to, NULL, 0));
	assert_int_equal(fi_connect(ep, &to, NULL, 0), -FI_EOPBADSTATE);
	assert_int_equal(fi_shutdown(ep, 1), -FI_EINVAL);
	ok(fi_close(&ep->fid));
}

static void listen__refuses_nonsense(void **state)
{
	struct sockaddr_in name = address(2, LISTEN_PORT), foreign = address(9, LISTEN_PORT);
	int none = 0;
	struct fid_pep *pep;
	ok(fi_passive_ep(server->fabric, server->info, &pep, NULL));
	assert_true(name_of(&pep->fid).sin_port != 0);
	assert_int_equal(fi_listen(pep), -FI_ENOEQ);
	assert_int_equal(fi_setname(&pep->fid, &foreign, sizeof foreign), -FI_EADDRNOTAVAIL);
	ok(fi_setname(&pep->fid, &name, sizeof name));
	ok(fi_pep_bind(pep, &server->eq->fid, 0));
	assert_int_equal(fi_pep_bind(pep, &server->eq->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &none), -FI_EINVAL);
	assert_int_equal(fi_listen(pep), -FI_EADDRINUSE);
	name.sin_port = 0;
	ok(fi_setname(&pep->fid, &name, sizeof name));
	ok(fi_listen(pep));
	assert_int_equal(fi_listen(pep), -FI_EOPBADSTATE);
	assert_int_equal(fi_reject(pep, &pep->fid, NULL, 0), -FI_EINVAL);
	ok(fi_close(&pep->fid));
}

static void listen__backlog(void **state)
{
	enum { BACKLOG = 4 };
	struct fid_ep *eps[BACKLOG + 2];
	ok(fi_close(&server->pep->fid));
	listen_at(server, 2, BACKLOG);
	for (int i = 0; i < BACKLOG; i++) {
		eps[i] = call(i < BACKLOG / 2 ? client : server, 2, NULL, 0); /* the others of its own host */
		await_requests((uint64_t)i + 1);
	}
	eps[BACKLOG] = call(client, 2, NULL, 0);
	expect_failure(client, &eps[BACKLOG]->fid, FI_ECONNREFUSED, NULL);
	assert_int_equal(stats_of(server).cm_refused_backlog, 1);
	struct fid_ep *other = answer(server, NULL, 0);
	expect_event(client, FI_CONNECTED, &eps[0]->fid);
	eps[BACKLOG + 1] = call(client, 2, NULL, 0); /* there is room again */
	await_requests(BACKLOG + 2);
	assert_int_equal(stats_of(server).cm_refused_backlog, 1);
	for (int i = 0; i < BACKLOG + 2; i++)
		ok(fi_close(&eps[i]->fid));
	ok(fi_close(&other->fid));
}

static void listen__a_host_has_half_of_the_backlog(void **state)
{
	struct fid_ep *eps[3];
	ok(fi_close(&server->pep->fid));
	listen_at(server, 2, 4);
	for (int i = 0; i < 3; i++)
		eps[i] = call(client, 2, NULL, 0);
	expect_failure(client, &eps[2]->fid, FI_ECONNREFUSED, NULL);
	assert_int_equal(stats_of(server).cm_refused_host, 1);
	for (int i = 0; i < 3; i++)
		ok(fi_close(&eps[i]->fid));
}

static void accept__who_asked_has_given_up(void **state)
{
	struct fid_ep *ep = call(client, 2, NULL, 0);
	struct event asked = expect_event(server, FI_CONNREQ, &server->pep->fid);
	ok(fi_close(&ep->fid));
	while (!stats_of(server).cm_given_up)
		work();
	struct fid_ep *other = ep_new(server, asked.entry.info);
	fi_freeinfo(asked.entry.info);
	assert_int_equal(fi_accept(other, NULL, 0), -FI_ECONNABORTED);
	ok(fi_close(&other->fid));
}

/* The application takes its time. Its host answers meanwhile. */
static void accept__late(void **state)
{
	struct fid_ep *ep = call(client, 2, NULL, 0);
	struct event asked = expect_event(server, FI_CONNREQ, &server->pep->fid);
	for (int i = 0; i < 3; i++)
		fi_cq_sread(server->cq, NULL, 0, NULL, TIMEOUT_MS);
	expect_no_event(client);
	struct fid_ep *other = ep_new(server, asked.entry.info);
	ok(fi_accept(other, NULL, 0));
	fi_freeinfo(asked.entry.info);
	expect_event(client, FI_CONNECTED, &ep->fid);
	assert_int_equal(stats_of(server).cm_unknown, 0);
	ok(fi_close(&ep->fid));
	ok(fi_close(&other->fid));
}

/* A host that has lost the request says so when it is asked. */
static void accept__never(void **state)
{
	struct fid_ep *ep = call(client, 2, NULL, 0);
	struct event asked = expect_event(server, FI_CONNREQ, &server->pep->fid);
	ok(fi_close(&server->pep->fid)); /* the last user of what knows of requests: they go without an answer */
	listen_at(server, 2, 0);
	expect_failure(client, &ep->fid, FI_ECONNREFUSED, NULL);
	fi_freeinfo(asked.entry.info);
	ok(fi_close(&ep->fid));
}

/* What was sent before is received; other receives are cancelled, and nothing can be sent. */
static void shutdown__ends_it_at_both_sides(void **state)
{
	struct pair p = connect_pair();
	uint8_t in[3] = {0};
	ok(fi_trecv(p.of_server, &in[0], 1, NULL, FI_ADDR_UNSPEC, 1, 0, &in[0]));
	ok(fi_send(p.of_client, "ab", 1, NULL, FI_ADDR_UNSPEC, NULL));
	done(client);
	ok(fi_shutdown(p.of_client, 0));
	expect_event(server, FI_SHUTDOWN, &p.of_server->fid);
	assert_int_equal(failed(server), FI_ECANCELED);
	assert_int_equal(fi_send(p.of_client, "x", 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOTCONN);
	assert_int_equal(fi_send(p.of_server, "x", 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOTCONN);
	ok(fi_recv(p.of_server, &in[1], 1, NULL, FI_ADDR_UNSPEC, &in[1]));
	assert_ptr_equal(done(server).op_context, &in[1]);
	assert_int_equal(in[1], 'a');
	ok(fi_recv(p.of_server, &in[2], 1, NULL, FI_ADDR_UNSPEC, &in[2]));
	assert_int_equal(failed(server), FI_ECANCELED);
	ok(fi_shutdown(p.of_server, 0));
	expect_event(client, FI_SHUTDOWN, &p.of_client->fid);
	ok(fi_shutdown(p.of_client, 0));
	expect_no_event(server);
	expect_no_event(client);
	pair_close(&p);
	for (struct side *s = sides; s < sides + 2; s++) {
		struct weft_cm_stats stats = stats_of(s);
		assert_int_equal(stats.cm_called, s == client);
		assert_int_equal(stats.cm_requests, s == server);
		assert_int_equal(stats.cm_connected, 1);
		assert_int_equal(stats.cm_shut_down, 1);
		assert_int_equal(stats.cm_broken + stats.cm_not_connected + stats.cm_timed_out, 0);
	}
}

static void close__is_a_shutdown(void **state)
{
	struct pair p = connect_pair();
	ok(fi_close(&p.of_server->fid));
	expect_event(client, FI_SHUTDOWN, &p.of_client->fid);
	expect_no_event(client);
	ok(fi_close(&p.of_client->fid));
	assert_int_equal(stats_of(client).cm_broken, 0);
	assert_int_equal(stats_of(client).cm_shut_down, 1);
	assert_int_equal(stats_of(server).cm_shut_down, 1);
}

/* Nobody hears of an object that is closed. */
static void close__takes_its_events_along(void **state)
{
	struct pair p = connect_pair();
	ok(fi_shutdown(p.of_client, 0));
	fi_cq_sread(server->cq, NULL, 0, NULL, 20);
	ok(fi_close(&p.of_server->fid));
	expect_no_event(server);
	ok(fi_close(&p.of_client->fid));
}

static void connections__do_not_mix(void **state)
{
	enum { PAIRS = 3 };
	struct pair p[PAIRS];
	uint8_t in[PAIRS] = {0};
	for (int i = 0; i < PAIRS; i++)
		p[i] = connect_pair();
	for (int i = 0; i < PAIRS; i++)
		ok(fi_recv(p[i].of_server, &in[i], 1, NULL, FI_ADDR_UNSPEC, &in[i]));
	for (int i = PAIRS - 1; i >= 0; i--) {
		const uint8_t byte = (uint8_t)(10 + i);
		ok(fi_inject(p[i].of_client, &byte, 1, FI_ADDR_UNSPEC));
		assert_ptr_equal(done(server).op_context, &in[i]);
		assert_int_equal(in[i], byte);
	}
	pair_close(&p[1]);
	transfer(client, p[0].of_client, server, p[0].of_server, 4, 5000);
	transfer(server, p[2].of_server, client, p[2].of_client, 5, 5000);
	pair_close(&p[0]);
	pair_close(&p[2]);
}

/* Within one process. */
static void connect__to_oneself(void **state)
{
	struct fid_ep *ep = call(server, 2, "me", 2);
	struct event asked = expect_event(server, FI_CONNREQ, &server->pep->fid);
	assert_memory_equal(asked.data, "me", 2);
	struct fid_ep *other = ep_new(server, asked.entry.info);
	ok(fi_accept(other, NULL, 0));
	fi_freeinfo(asked.entry.info);
	expect_event(server, FI_CONNECTED, &ep->fid);
	expect_event(server, FI_CONNECTED, &other->fid);
	uint8_t in = 0;
	ok(fi_recv(other, &in, 1, NULL, FI_ADDR_UNSPEC, &in));
	ok(fi_inject(ep, "z", 1, FI_ADDR_UNSPEC));
	assert_ptr_equal(done(server).op_context, &in);
	ok(fi_shutdown(ep, 0));
	expect_event(server, FI_SHUTDOWN, &other->fid);
	ok(fi_close(&ep->fid));
	ok(fi_close(&other->fid));
}

static void shared_receives__of_several_connections(void **state)
{
	struct fid_ep *srx, *eps[2], *others[2];
	uint8_t in[2] = {0};
	ok(fi_srx_context(server->domain, server->info->rx_attr, &srx, NULL));
	for (int i = 0; i < 2; i++) {
		others[i] = call(client, 2, NULL, 0);
		struct event asked = expect_event(server, FI_CONNREQ, &server->pep->fid);
		ok(fi_endpoint(server->domain, asked.entry.info, &eps[i], NULL));
		ok(fi_ep_bind(eps[i], &server->eq->fid, 0));
		ok(fi_ep_bind(eps[i], &server->cq->fid, FI_TRANSMIT | FI_RECV));
		ok(fi_ep_bind(eps[i], &srx->fid, 0));
		ok(fi_accept(eps[i], NULL, 0));
		fi_freeinfo(asked.entry.info);
		expect_event(client, FI_CONNECTED, &others[i]->fid);
		expect_event(server, FI_CONNECTED, &eps[i]->fid);
	}
	ok(fi_recv(srx, &in[0], 1, NULL, FI_ADDR_UNSPEC, &in[0]));
	ok(fi_inject(others[1], "1", 1, FI_ADDR_UNSPEC));
	assert_ptr_equal(done(server).op_context, &in[0]);
	ok(fi_recv(srx, &in[1], 1, NULL, FI_ADDR_UNSPEC, &in[1]));
	ok(fi_close(&others[1]->fid));
	expect_event(server, FI_SHUTDOWN, &eps[1]->fid); /* its receives are those of others, too */
	ok(fi_inject(others[0], "0", 1, FI_ADDR_UNSPEC));
	assert_ptr_equal(done(server).op_context, &in[1]);
	assert_memory_equal(in, "10", 2);
	ok(fi_close(&others[0]->fid));
	ok(fi_close(&eps[0]->fid));
	ok(fi_close(&eps[1]->fid));
	ok(fi_close(&srx->fid));
}

/* ---- what strangers send ---- */

/* A connectionless endpoint of the client's host, with this number. */
struct stranger {
	struct fi_info *info;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
};

static void stranger_open(struct stranger *s, uint16_t number)
{
	struct fi_info *hints = fixture_hints(0);
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct sockaddr_in name = address(1, number);
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &s->info));
	fi_freeinfo(hints);
	ok(fi_domain(client->fabric, s->info, &s->domain, NULL));
	ok(fi_av_open(s->domain, &av_attr, &s->av, NULL));
	ok(fi_cq_open(s->domain, &cq_attr, &s->cq, NULL));
	ok(fi_endpoint(s->domain, s->info, &s->ep, NULL));
	ok(fi_setname(&s->ep->fid, &name, sizeof name));
	ok(fi_ep_bind(s->ep, &s->av->fid, 0));
	ok(fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_enable(s->ep));
}

static void stranger_close(struct stranger *s)
{
	ok(fi_close(&s->ep->fid));
	ok(fi_close(&s->cq->fid));
	ok(fi_close(&s->av->fid));
	ok(fi_close(&s->domain->fid));
	fi_freeinfo(s->info);
}

/* The errno value that the send ended with. */
static int stranger_send(struct stranger *s, uint16_t number, const void *bytes, size_t len)
{
	struct sockaddr_in to = address(2, number);
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = {0};
	fi_addr_t addr;
	ssize_t n;
	assert_int_equal(fi_av_insert(s->av, &to, 1, &addr, 0, NULL), 1);
	const struct iovec iov = {(void *)bytes, len};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = addr};
	ok(fi_sendmsg(s->ep, &msg, FI_DELIVERY_COMPLETE | FI_COMPLETION));
	while ((n = fi_cq_read(s->cq, &entry, 1)) == -FI_EAGAIN)
		work();
	if (n == 1)
		return 0;
	assert_int_equal(fi_cq_readerr(s->cq, &err, 0), 1);
	return err.err;
}

/* Neither connected nor waiting endpoints take what others send. */
static void strangers__reach_no_endpoint(void **state)
{
	struct pair p = connect_pair();
	struct fid_ep *idle = ep_new(server, server->info);
	struct stranger s;
	uint8_t in = 0;
	stranger_open(&s, 4000);
	ok(fi_recv(p.of_server, &in, 1, NULL, FI_ADDR_UNSPEC, &in));
	ok(fi_recv(idle, &in, 1, NULL, FI_ADDR_UNSPEC, &in));
	for (uint32_t number = 0xE000; number < 0xE100; number++) /* theirs are among them */
		assert_int_equal(stranger_send(&s, (uint16_t)number, "x", 1), FI_EHOSTUNREACH);
	assert_int_equal(in, 0);
	stranger_close(&s);
	ok(fi_close(&idle->fid));
	pair_close(&p);
}

static void strangers__talk_to_the_endpoint_for_connections(void **state)
{
	uint8_t long_one[1000] = {1, 1};
	struct stranger s;
	stranger_open(&s, 4000);
	ok(stranger_send(&s, CM_NUMBER, "\1\1", 2));
	stranger_close(&s);
	stranger_open(&s, CM_NUMBER);
	ok(stranger_send(&s, CM_NUMBER, long_one, sizeof long_one));
	for (size_t len = 0; len < 16; len++)
		ok(stranger_send(&s, CM_NUMBER, long_one, len));
	while (stats_of(server).cm_bad < 18)
		work();
	assert_int_equal(stats_of(server).cm_requests, 0);
	stranger_close(&s);
	struct pair p = connect_pair();
	transfer(client, p.of_client, server, p.of_server, 6, 100);
	pair_close(&p);
}

/* All kinds of messages about connections that are not there, and requests without end. */
static int setup_hasty(void **state)
{
	setenv("FI_WEFT_LINGER_MS", "0", 1);
	return setup(state);
}

static int teardown_hasty(void **state)
{
	setenv("FI_WEFT_LINGER_MS", "20", 1);
	return teardown(state);
}

/* What they announce can't be fetched any more: their host is restarted. */
static void announce_and_restart(void)
{
	enum { COUNT = 32, BYTES = 1 << 20 };
	struct sockaddr_in to = address(2, CM_NUMBER);
	uint8_t *bytes = calloc(1, BYTES);
	struct stranger s;
	fi_addr_t addr;
	stranger_open(&s, 4000);
	assert_int_equal(fi_av_insert(s.av, &to, 1, &addr, 0, NULL), 1);
	for (int i = 0; i < COUNT; i++)
		ok(fi_send(s.ep, bytes, BYTES, NULL, addr, NULL));
	stranger_close(&s);
	side_close(client);
	side_open(client, 0, FI_WAIT_UNSPEC);
	free(bytes);
}

/* Each takes one of the listener's receives along. */
static void strangers__end_in_the_middle_of_messages(void **state)
{
	enum { RECVS = 64 };
	for (uint64_t bad = 0; bad < RECVS; bad = stats_of(server).cm_bad) {
		announce_and_restart();
		while (stats_of(server).cm_bad == bad)
			work();
	}
	struct pair p = connect_pair();
	transfer(client, p.of_client, server, p.of_server, 7, 100);
	pair_close(&p);
}

static void strangers__forge_messages(void **state)
{
	enum { KINDS = 7, FLOOD = 300, BACKLOG = 128 };
	struct pair p;
	struct stranger s;
	uint8_t forged[16] = {1, 0, 0, 0, 0, 1, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
	stranger_open(&s, CM_NUMBER);
	for (uint8_t kind = 1; kind < 20; kind++) {
		forged[1] = kind;
		ok(stranger_send(&s, CM_NUMBER, forged, sizeof forged));
	}
	forged[1] = 1;
	forged[6] = LISTEN_PORT >> 8;
	forged[7] = (uint8_t)LISTEN_PORT;
	for (int i = 0; i < FLOOD; i++) {
		forged[8] = (uint8_t)(i >> 8);
		forged[9] = (uint8_t)i;
		ok(stranger_send(&s, CM_NUMBER, forged, sizeof forged));
	}
	await_requests(FLOOD + 1);
	struct weft_cm_stats stats = stats_of(server);
	assert_int_equal(stats.cm_refused_host, FLOOD - BACKLOG / 2);
	assert_int_equal(stats.cm_refused_nobody, 1);
	assert_int_equal(stats.cm_unknown, 3); /* accept, ready, ping */
	assert_int_equal(stats.cm_bad, 19 - KINDS);
	stranger_close(&s);
	ok(fi_close(&server->pep->fid));
	listen_at(server, 2, 0);
	p = connect_pair();
	pair_close(&p);
}

/* ---- waiting ---- */

static void sread__waits_for_events(void **state)
{
	struct sockaddr_in to = address(2, LISTEN_PORT);
	struct fi_eq_cm_entry entry;
	uint32_t type;
	assert_int_equal(fi_eq_sread(server->eq, &type, &entry, sizeof entry, 1, 0), -FI_EAGAIN);
	struct fid_ep *ep = ep_new(client, client->info);
	ok(fi_connect(ep, &to, NULL, 0));
	assert_int_equal(fi_eq_sread(server->eq, &type, &entry, sizeof entry, -1, 0), sizeof entry);
	assert_int_equal(type, FI_CONNREQ);
	struct fid_ep *other = ep_new(server, entry.info);
	fi_freeinfo(entry.info);
	ok(fi_accept(other, NULL, 0));
	assert_int_equal(fi_eq_sread(client->eq, &type, &entry, sizeof entry, -1, 0), sizeof entry);
	assert_int_equal(type, FI_CONNECTED);
	assert_int_equal(fi_eq_sread(server->eq, &type, &entry, sizeof entry, -1, 0), sizeof entry);
	assert_int_equal(type, FI_CONNECTED);
	ok(fi_close(&ep->fid));
	ok(fi_close(&other->fid));
}

static uint32_t event_by_fd(struct side *s, struct fi_eq_cm_entry *entry)
{
	struct pollfd p = {.events = POLLIN};
	struct fid *fids[] = {&s->eq->fid};
	uint32_t type;
	ssize_t n;
	ok(fi_control(&s->eq->fid, FI_GETWAIT, &p.fd));
	while ((n = fi_eq_read(s->eq, &type, entry, sizeof *entry, 0)) == -FI_EAGAIN)
		if (fi_trywait(s->fabric, fids, 1) == 0)
			assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(n, sizeof *entry);
	return type;
}

static void fd__becomes_readable(void **state)
{
	struct side a, b;
	struct fi_eq_cm_entry entry;
	struct sockaddr_in to = address(2, LISTEN_PORT);
	ok(fi_close(&server->pep->fid));
	server->pep = NULL;
	side_open(&a, 0, FI_WAIT_FD);
	side_open(&b, 1, FI_WAIT_FD);
	listen_at(&b, 2, 0);
	struct fid_ep *ep = ep_new(&a, a.info);
	ok(fi_connect(ep, &to, NULL, 0));
	assert_int_equal(event_by_fd(&b, &entry), FI_CONNREQ);
	struct fid_ep *other = ep_new(&b, entry.info);
	fi_freeinfo(entry.info);
	ok(fi_accept(other, NULL, 0));
	assert_int_equal(event_by_fd(&a, &entry), FI_CONNECTED);
	assert_int_equal(event_by_fd(&b, &entry), FI_CONNECTED);
	ok(fi_shutdown(other, 0));
	assert_int_equal(event_by_fd(&a, &entry), FI_SHUTDOWN);
	ok(fi_close(&ep->fid));
	ok(fi_close(&other->fid));
	side_close(&a);
	side_close(&b);
}

/* ---- mutexes that the application holds in calls ---- */

static void nap(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* The device's thread finds the mutex busy; closing the endpoint ends that thread. */
static void mutex__held_while_an_endpoint_is_closed(void **state)
{
	struct fi_mutex_cond wait;
	struct side a;
	side_open(&a, 0, FI_WAIT_MUTEX_COND);
	ok(fi_control(&a.eq->fid, FI_GETWAIT, &wait));
	struct fid_ep *ep = call(&a, 2, NULL, 0), *other = answer(server, NULL, 0);
	expect_event(&a, FI_CONNECTED, &ep->fid);
	expect_event(server, FI_CONNECTED, &other->fid);
	ok(pthread_mutex_lock(wait.mutex));
	ok(fi_shutdown(other, 0));
	nap(50000);
	expect_event(&a, FI_SHUTDOWN, &ep->fid);
	ok(fi_close(&ep->fid));
	ok(pthread_mutex_unlock(wait.mutex));
	ok(fi_close(&other->fid));
	side_close(&a);
}

struct reader {
	struct fid_eq *eq;
	atomic_bool stop;
};

static void *reader_run(void *arg)
{
	struct reader *r = arg;
	struct fi_eq_cm_entry entry;
	uint32_t type;
	while (!r->stop)
		assert_int_equal(fi_eq_read(r->eq, &type, &entry, sizeof entry, 0), -FI_EAGAIN);
	return NULL;
}

/* A message arrives while the queue's mutex is held, and the holder listens. */
static void listen_with_mutex(struct side *s, const struct fi_mutex_cond *wait, const struct pair *p)
{
	struct fi_cq_tagged_entry entry;
	uint8_t in;
	ok(fi_recv(p->of_client, &in, 1, NULL, FI_ADDR_UNSPEC, &in));
	ok(pthread_mutex_lock(wait->mutex));
	ok(fi_inject(p->of_server, "x", 1, FI_ADDR_UNSPEC));
	nap(100);
	listen_at(s, 1, 0);
	ok(fi_close(&s->pep->fid));
	ok(pthread_mutex_unlock(wait->mutex));
	while (fi_cq_read(s->cq, &entry, 1) != 1)
		work();
}

/* That thread notices what the mutex is for, and uses the devices of the event queue. */
static void mutex__held_while_another_thread_reads_events(void **state)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_MUTEX_COND};
	struct fi_mutex_cond wait;
	struct reader reader = {.stop = false};
	pthread_t thread;
	struct side a;
	side_open(&a, 0, FI_WAIT_UNSPEC);
	ok(fi_close(&a.cq->fid));
	ok(fi_cq_open(a.domain, &attr, &a.cq, NULL));
	ok(fi_control(&a.cq->fid, FI_GETWAIT, &wait));
	struct pair p = {.of_client = call(&a, 2, NULL, 0)};
	p.of_server = answer(server, NULL, 0);
	expect_event(&a, FI_CONNECTED, &p.of_client->fid);
	expect_event(server, FI_CONNECTED, &p.of_server->fid);
	reader.eq = a.eq;
	ok(pthread_create(&thread, NULL, reader_run, &reader));
	for (int i = 0; i < 100; i++)
		listen_with_mutex(&a, &wait, &p);
	reader.stop = true;
	ok(pthread_join(thread, NULL));
	a.pep = NULL;
	pair_close(&p);
	side_close(&a);
}

/* A passive endpoint's name goes to an endpoint that is opened for it. */
static void handle__of_a_passive_endpoint(void **state)
{
	struct fi_info *hints = msg_hints(1), *info;
	struct fid_ep *ep;
	hints->handle = &server->pep->fid;
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &info));
	assert_ptr_equal(info->handle, &server->pep->fid);
	ok(fi_endpoint(server->domain, info, &ep, NULL));
	assert_int_equal(ntohs(name_of(&ep->fid).sin_port), LISTEN_PORT);
	ok(fi_close(&ep->fid));
	info->handle = &server->cq->fid;
	assert_int_equal(fi_endpoint(server->domain, info, &ep, NULL), -FI_EINVAL);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

#define with_sides(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

static int group_setup(void **state)
{
	char timeout[16];
	snprintf(timeout, sizeof timeout, "%d", TIMEOUT_MS);
	setenv("FI_WEFT_PEER_TIMEOUT_MS", timeout, 1);
	return rings_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_sides(connect__both_hear_of_it_with_data),
		with_sides(connect__names),
		with_sides(transfer__all_kinds),
		with_sides(reject__with_data),
		with_sides(reject__by_closing),
		with_sides(reject__by_the_listener_that_closes),
		with_sides(connect__nobody_listens),
		with_sides(connect__host_without_connections),
		with_sides(connect__no_such_host),
		with_sides(connect__refuses_nonsense),
		with_sides(listen__refuses_nonsense),
		with_sides(listen__backlog),
		with_sides(listen__a_host_has_half_of_the_backlog),
		with_sides(accept__who_asked_has_given_up),
		with_sides(accept__late),
		with_sides(accept__never),
		with_sides(shutdown__ends_it_at_both_sides),
		with_sides(close__is_a_shutdown),
		with_sides(close__takes_its_events_along),
		with_sides(connections__do_not_mix),
		with_sides(connect__to_oneself),
		with_sides(shared_receives__of_several_connections),
		with_sides(strangers__reach_no_endpoint),
		with_sides(strangers__talk_to_the_endpoint_for_connections),
		cmocka_unit_test_setup_teardown(strangers__end_in_the_middle_of_messages, setup_hasty, teardown_hasty),
		with_sides(strangers__forge_messages),
		with_sides(sread__waits_for_events),
		with_sides(fd__becomes_readable),
		with_sides(mutex__held_while_an_endpoint_is_closed),
		with_sides(mutex__held_while_another_thread_reads_events),
		with_sides(handle__of_a_passive_endpoint),
	};
	return cmocka_run_group_tests(tests, group_setup, NULL);
}
