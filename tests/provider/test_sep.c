/* SPDX-License-Identifier: BSD-3-Clause */
/* Scalable endpoints: one address, several contexts. */
#include "fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/provider.h"

enum { CTX = 3, BITS = 4 };

/* Both hosts have a scalable endpoint with three contexts each way. */
struct side {
	struct host h;
	struct fid_ep *sep, *tx[CTX], *rx[CTX];
	struct fid_cq *txcq[CTX], *rxcq[CTX];
	fi_addr_t peer;
};

static struct side sides[2];
static struct side *const a = &sides[0], *const b = &sides[1];

static struct fid_cq *cq_new(struct side *s)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fid_cq *cq = NULL;
	ok(fi_cq_open(s->h.domain, &attr, &cq, NULL));
	return cq;
}

static void side_open(struct side *s, int index, enum fi_ep_type type)
{
	struct fi_av_attr av_attr = {.type = FI_AV_MAP, .rx_ctx_bits = BITS};
	struct fi_info *hints = fixture_hints(index);
	*s = (struct side){0};
	if (type == FI_EP_DGRAM)
		hints->caps = FI_MSG | FI_SOURCE;
	hints->caps |= FI_NAMED_RX_CTX;
	hints->ep_attr->type = type;
	hints->ep_attr->tx_ctx_cnt = hints->ep_attr->rx_ctx_cnt = CTX;
	host_open_domain(&s->h, hints);
	assert_int_equal(s->h.info->ep_attr->type, type);
	assert_int_equal(s->h.info->ep_attr->tx_ctx_cnt, CTX);
	assert_int_equal(s->h.info->ep_attr->rx_ctx_cnt, CTX);
	assert_true(s->h.info->caps & FI_NAMED_RX_CTX);
	ok(fi_av_open(s->h.domain, &av_attr, &s->h.av, NULL));
	ok(fi_scalable_ep(s->h.domain, s->h.info, &s->sep, NULL));
	for (int i = 0; i < CTX; i++) {
		s->txcq[i] = cq_new(s);
		s->rxcq[i] = cq_new(s);
		ok(fi_tx_context(s->sep, i, NULL, &s->tx[i], NULL));
		ok(fi_rx_context(s->sep, i, NULL, &s->rx[i], NULL));
	}
	ok(fi_scalable_ep_bind(s->sep, &s->h.av->fid, 0));
	for (int i = 0; i < CTX; i++) {
		ok(fi_ep_bind(s->tx[i], &s->txcq[i]->fid, FI_TRANSMIT));
		ok(fi_ep_bind(s->rx[i], &s->rxcq[i]->fid, FI_RECV));
		ok(fi_enable(s->tx[i]));
		ok(fi_enable(s->rx[i]));
	}
	ok(fi_enable(s->sep));
}

static void side_meet(struct side *s, struct side *other)
{
	struct sockaddr_in name;
	size_t len = sizeof name;
	ok(fi_getname(&other->sep->fid, &name, &len));
	assert_int_equal(fi_av_insert(s->h.av, &name, 1, &s->peer, 0, NULL), 1);
}

static int sides_open(enum fi_ep_type type)
{
	side_open(a, 0, type);
	side_open(b, 1, type);
	side_meet(a, b);
	side_meet(b, a);
	return 0;
}

static int setup(void **state)
{
	return sides_open(FI_EP_RDM);
}

static int setup_dgram(void **state)
{
	return sides_open(FI_EP_DGRAM);
}

static void side_close(struct side *s)
{
	for (int i = 0; i < CTX; i++) {
		ok(fi_close(&s->tx[i]->fid));
		ok(fi_close(&s->rx[i]->fid));
		ok(fi_close(&s->txcq[i]->fid));
		ok(fi_close(&s->rxcq[i]->fid));
	}
	ok(fi_close(&s->sep->fid));
	host_close(&s->h);
}

static int teardown(void **state)
{
	side_close(a);
	side_close(b);
	return 0;
}

static struct fi_cq_tagged_entry done(struct fid_cq *cq, struct fid_cq *other, fi_addr_t *src)
{
	struct fi_cq_tagged_entry entry = {0};
	fi_addr_t from = FI_ADDR_NOTAVAIL;
	ssize_t n;
	while ((n = fi_cq_readfrom(cq, &entry, 1, &from)) == -FI_EAGAIN)
		fi_cq_read(other, NULL, 0);
	assert_int_equal(n, 1);
	if (src)
		*src = from;
	return entry;
}

/* Each transmit context to each receive context; the source is the address, whatever context sent. */
static void sep__any_context_to_any_named_one(void **state)
{
	for (int from = 0; from < CTX; from++)
		for (int to = 0; to < CTX; to++) {
			char out[8], in[8] = {0};
			fi_addr_t src;
			snprintf(out, sizeof out, "%d to %d", from, to);
			ok(fi_recv(b->rx[to], in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
			ok(fi_send(a->tx[from], out, sizeof out, NULL, fi_rx_addr(a->peer, to, BITS), out));
			assert_ptr_equal(done(b->rxcq[to], a->txcq[from], &src).op_context, in);
			assert_int_equal(src, b->peer);
			assert_ptr_equal(done(a->txcq[from], b->rxcq[to], NULL).op_context, out);
			assert_string_equal(in, out);
		}
}

static void sep__unnamed_goes_to_the_first(void **state)
{
	char in[8] = {0};
	ok(fi_trecv(b->rx[0], in, sizeof in, NULL, fi_rx_addr(b->peer, 2, BITS), 5, 0, in)); /* from any context */
	ok(fi_tinject(a->tx[1], "first", 6, a->peer, 5));
	assert_ptr_equal(done(b->rxcq[0], a->txcq[1], NULL).op_context, in);
	assert_string_equal(in, "first");
}

static void sep__context_that_does_not_exist(void **state)
{
	struct fi_cq_err_entry err = {0};
	struct fi_cq_tagged_entry entry;
	ok(fi_send(a->tx[0], "x", 1, NULL, fi_rx_addr(a->peer, CTX, BITS), "context"));
	while (fi_cq_read(a->txcq[0], &entry, 1) == -FI_EAGAIN)
		fi_cq_read(b->rxcq[0], NULL, 0);
	assert_int_equal(fi_cq_readerr(a->txcq[0], &err, 0), 1);
	assert_int_equal(err.err, FI_EHOSTUNREACH);
}

/* Nobody answers for a datagram: it has left, and the other host counts it. */
static void sep__datagram_to_a_context_that_does_not_exist(void **state)
{
	struct weft_fi_ops *ops;
	struct weft_stats before, after;
	char in[8];
	sep__any_context_to_any_named_one(state); /* the link layer has found the other host */
	ok(fi_open_ops(&b->h.domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL));
	ok(ops->stats(&b->h.domain->fid, &before));
	ok(fi_send(a->tx[0], "x", 1, NULL, fi_rx_addr(a->peer, CTX, BITS), "nobody"));
	assert_string_equal(done(a->txcq[0], b->rxcq[0], NULL).op_context, "nobody");
	ok(fi_recv(b->rx[0], in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_send(a->tx[0], "after", 6, NULL, a->peer, in)); /* takes the same way */
	done(b->rxcq[0], a->txcq[0], NULL);
	assert_string_equal(in, "after");
	ok(ops->stats(&b->h.domain->fid, &after));
	assert_int_equal(after.rx_dgram_drop - before.rx_dgram_drop, 1);
	assert_ptr_equal(done(a->txcq[0], b->rxcq[0], NULL).op_context, in);
}

static void sep__one_address(void **state)
{
	struct sockaddr_in sep, ctx;
	size_t len = sizeof sep;
	ok(fi_getname(&a->sep->fid, &sep, &len));
	for (int i = 0; i < CTX; i++) {
		ok(fi_getname(&a->rx[i]->fid, &ctx, &len));
		assert_memory_equal(&sep, &ctx, sizeof sep);
		ok(fi_getname(&a->tx[i]->fid, &ctx, &len));
		assert_memory_equal(&sep, &ctx, sizeof sep);
	}
}

static void sep__directions_and_indices(void **state)
{
	struct fid_ep *ep;
	char in[8] = {0};
	assert_int_equal(fi_send(a->rx[0], in, 1, NULL, a->peer, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_recv(a->tx[0], in, 1, NULL, FI_ADDR_UNSPEC, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_send(a->sep, in, 1, NULL, a->peer, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_tx_context(a->sep, CTX, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_rx_context(a->sep, -1, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_tx_context(a->sep, 0, NULL, &ep, NULL), -FI_EINVAL); /* it is open */
	assert_int_equal(fi_tx_context(a->tx[0], 0, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_close(&a->sep->fid), -FI_EBUSY);
}

/* A receive context that was closed can be opened again, with what it is to be bound to, and its number. */
static void sep__context_opened_again(void **state)
{
	struct fi_rx_attr attr = {.op_flags = FI_COMPLETION};
	char in[8] = {0};
	ok(fi_close(&b->rx[1]->fid));
	ok(fi_rx_context(b->sep, 1, &attr, &b->rx[1], NULL));
	assert_int_equal(attr.op_flags, FI_COMPLETION);
	assert_true(attr.size > 0);
	assert_int_equal(fi_enable(b->rx[1]), -FI_ENOCQ);
	ok(fi_ep_bind(b->rx[1], &b->rxcq[1]->fid, FI_RECV));
	ok(fi_enable(b->rx[1]));
	ok(fi_recv(b->rx[1], in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_inject(a->tx[0], "again", 6, fi_rx_addr(a->peer, 1, BITS)));
	done(b->rxcq[1], a->txcq[0], NULL);
	assert_string_equal(in, "again");
}

/* Queues bound to the scalable endpoint serve contexts that have none; a chosen number keeps the block together. */
static void sep__contexts_inherit(void **state)
{
	struct sockaddr_in name;
	struct fid_ep *sep, *tx, *rx;
	size_t len = sizeof name;
	char in[8] = {0};
	ok(fi_scalable_ep(b->h.domain, b->h.info, &sep, NULL));
	ok(fi_getname(&b->sep->fid, &name, &len));
	name.sin_port = htons(0x240C);
	ok(fi_setname(&sep->fid, &name, len));
	ok(fi_scalable_ep_bind(sep, &b->h.av->fid, 0));
	ok(fi_scalable_ep_bind(sep, &b->rxcq[0]->fid, FI_RECV));
	ok(fi_scalable_ep_bind(sep, &b->txcq[0]->fid, FI_TRANSMIT));
	ok(fi_tx_context(sep, 0, NULL, &tx, NULL));
	ok(fi_rx_context(sep, 2, NULL, &rx, NULL));
	ok(fi_enable(tx));
	ok(fi_enable(rx));
	ok(fi_recv(rx, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	fi_addr_t addr = 0;
	assert_int_equal(fi_av_insert(a->h.av, &name, 1, &addr, 0, NULL), 1);
	ok(fi_inject(a->tx[0], "chosen", 7, fi_rx_addr(addr, 2, BITS)));
	done(b->rxcq[0], a->txcq[0], NULL);
	assert_string_equal(in, "chosen");
	ok(fi_close(&tx->fid));
	ok(fi_close(&rx->fid));
	ok(fi_close(&sep->fid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sep__any_context_to_any_named_one, setup, teardown),
		cmocka_unit_test_setup_teardown(sep__unnamed_goes_to_the_first, setup, teardown),
		cmocka_unit_test_setup_teardown(sep__context_that_does_not_exist, setup, teardown),
		cmocka_unit_test_setup_teardown(sep__one_address, setup, teardown),
		cmocka_unit_test_setup_teardown(sep__directions_and_indices, setup, teardown),
		cmocka_unit_test_setup_teardown(sep__context_opened_again, setup, teardown),
		cmocka_unit_test_setup_teardown(sep__contexts_inherit, setup, teardown),
		cmocka_unit_test_setup_teardown(sep__any_context_to_any_named_one, setup_dgram, teardown),
		cmocka_unit_test_setup_teardown(sep__datagram_to_a_context_that_does_not_exist, setup_dgram, teardown),
		cmocka_unit_test_setup_teardown(sep__one_address, setup_dgram, teardown),
		cmocka_unit_test_setup_teardown(sep__directions_and_indices, setup_dgram, teardown),
		cmocka_unit_test_setup_teardown(sep__context_opened_again, setup_dgram, teardown),
		cmocka_unit_test_setup_teardown(sep__contexts_inherit, setup_dgram, teardown),
	};
	setenv("FI_WEFT_COPY_BYTES", "0", 1); /* a completed send has arrived */
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
