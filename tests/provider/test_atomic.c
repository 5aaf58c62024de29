/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <pthread.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "amo.h"

enum { REGION_BYTES = 16384, KEY = 77, OPS = FI_ATOMIC_OP_LAST, TYPES = FI_UINT128 + 1 };

/* libfabric's numbers and the engine's side by side, in libfabric's order. */
static const uint8_t amo_ops[OPS] = {
	WEFT_AMO_MIN,      WEFT_AMO_MAX,      WEFT_AMO_SUM,      WEFT_AMO_PROD,     WEFT_AMO_LOR,
	WEFT_AMO_LAND,     WEFT_AMO_BOR,      WEFT_AMO_BAND,     WEFT_AMO_LXOR,     WEFT_AMO_BXOR,
	WEFT_AMO_READ,     WEFT_AMO_WRITE,    WEFT_AMO_CSWAP,    WEFT_AMO_CSWAP_NE, WEFT_AMO_CSWAP_LE,
	WEFT_AMO_CSWAP_LT, WEFT_AMO_CSWAP_GE, WEFT_AMO_CSWAP_GT, WEFT_AMO_MSWAP,
};
static const uint8_t amo_types[TYPES] = {
	WEFT_AMO_INT8,          WEFT_AMO_UINT8,
	WEFT_AMO_INT16,         WEFT_AMO_UINT16,
	WEFT_AMO_INT32,         WEFT_AMO_UINT32,
	WEFT_AMO_INT64,         WEFT_AMO_UINT64,
	WEFT_AMO_FLOAT,         WEFT_AMO_DOUBLE,
	WEFT_AMO_FLOAT_COMPLEX, WEFT_AMO_DOUBLE_COMPLEX,
	WEFT_AMO_LONG_DOUBLE,   WEFT_AMO_LONG_DOUBLE_COMPLEX,
	WEFT_AMO_INT128,        WEFT_AMO_UINT128,
};

/* Two hosts, each with a region that the other may use. */
static struct fid_mr *mrs[2];
static _Alignas(64) uint8_t regions[2][REGION_BYTES], shadow[REGION_BYTES];
static uint8_t operands[REGION_BYTES], comparands[REGION_BYTES], results[REGION_BYTES], expected[REGION_BYTES];

static const struct host_opts plain = {.caps = FI_RMA | FI_ATOMIC | FI_RMA_EVENT};

static int open_hosts(void **state)
{
	hosts_open(hosts, &plain);
	for (int i = 0; i < 2; i++)
		ok(fi_mr_reg(hosts[i].domain, regions[i], REGION_BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0,
			     &mrs[i], NULL));
	return 0;
}

static int close_hosts(void **state)
{
	ok(fi_close(&mrs[0]->fid));
	ok(fi_close(&mrs[1]->fid));
	hosts_close(hosts);
	return 0;
}

enum family { BASE, FETCH, COMPARE };

static bool in_family(enum family family, enum fi_op op)
{
	bool compares = op >= FI_CSWAP;
	return compares == (family == COMPARE) && (op != FI_ATOMIC_READ || family == FETCH);
}

static uint64_t query_flags(enum family family)
{
	return family == FETCH ? FI_FETCH_ATOMIC : family == COMPARE ? FI_COMPARE_ATOMIC : 0;
}

static int ep_valid(enum family family, enum fi_datatype type, enum fi_op op, size_t *count)
{
	struct fid_ep *ep = hosts[0].ep;
	return family == FETCH     ? fi_fetch_atomicvalid(ep, type, op, count)
	       : family == COMPARE ? fi_compare_atomicvalid(ep, type, op, count)
				   : fi_atomicvalid(ep, type, op, count);
}

static void query__reports_each_operation_in_its_family(void **state)
{
	for (int family = BASE; family <= COMPARE; family++) {
		for (int op = -1; op <= OPS; op++) {
			for (int type = -1; type <= TYPES; type++) {
				struct fi_atomic_attr attr = {0};
				size_t count = 0;
				bool want = op >= 0 && op < OPS && type >= 0 && type < TYPES && in_family(family, op) &&
					    weft_amo_valid(amo_ops[op], amo_types[type]);
				int ret = fi_query_atomic(hosts[0].domain, type, op, &attr, query_flags(family));
				assert_int_equal(ret, want ? 0 : -FI_EOPNOTSUPP);
				assert_int_equal(ep_valid(family, type, op, &count), ret);
				if (!want)
					continue;
				assert_int_equal(attr.size, weft_amo_bytes(amo_types[type]));
				/* A packet of 1024 bytes, which every path carries, less the extension. */
				assert_int_equal(attr.count * attr.size, family == COMPARE ? 480 : 992);
				assert_int_equal(attr.count, count);
			}
		}
	}
}

static void query__refuses_impossible_questions(void **state)
{
	struct fi_atomic_attr attr;
	struct fid_domain *d = hosts[0].domain;
	assert_int_equal(fi_query_atomic(d, FI_INT32, FI_SUM, &attr, FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC), -FI_EINVAL);
	assert_int_equal(fi_query_atomic(d, FI_INT32, FI_SUM, &attr, FI_TAGGED), -FI_EOPNOTSUPP);
	assert_int_equal(fi_query_atomic(d, FI_INT32, FI_SUM, &attr, FI_SEND), -FI_EBADFLAGS);
}

static ssize_t call(enum family family, struct host *h, fi_addr_t to, size_t count, uint64_t addr, uint64_t key,
		    enum fi_datatype type, enum fi_op op)
{
	struct fid_ep *ep = h->ep;
	if (family == BASE)
		return fi_atomic(ep, operands, count, NULL, to, addr, key, type, op, results);
	const void *a = op == FI_ATOMIC_READ ? NULL : operands;
	if (family == FETCH)
		return fi_fetch_atomic(ep, a, count, NULL, results, NULL, to, addr, key, type, op, results);
	return fi_compare_atomic(ep, a, count, NULL, comparands, NULL, results, NULL, to, addr, key, type, op, results);
}

static void put_number(enum fi_datatype type, uint8_t *at, int n)
{
	const float f[2] = {(float)n, 1};
	const double d[2] = {n, 1};
	const long double l[2] = {n, 1};
	const void *from = type == FI_FLOAT || type == FI_FLOAT_COMPLEX     ? (const void *)f
			   : type == FI_DOUBLE || type == FI_DOUBLE_COMPLEX ? (const void *)d
									    : (const void *)l;
	memcpy(at, from, weft_amo_bytes(amo_types[type]));
}

/* Elements whose comparisons go all ways, and that are numbers where only some bytes are. */
static void draw(enum fi_datatype type, size_t at, size_t count, uint64_t seed)
{
	size_t size = weft_amo_bytes(amo_types[type]);
	pattern_fill(shadow, REGION_BYTES, seed);
	pattern_fill(operands, count * size, seed + 1);
	pattern_fill(comparands, count * size, seed + 2);
	for (size_t i = 0; i < count; i++) {
		if (type >= FI_FLOAT && type <= FI_LONG_DOUBLE_COMPLEX) {
			put_number(type, shadow + at + i * size, (int)(i * 7 + seed) % 5 - 2);
			put_number(type, operands + i * size, (int)(i + seed) % 3 - 1);
			put_number(type, comparands + i * size, (int)(i * 3 + seed) % 5 - 2);
		}
		if (i % 3 == 0)
			memcpy(comparands + i * size, shadow + at + i * size, size);
	}
	memcpy(regions[1], shadow, REGION_BYTES);
}

static void expect(enum fi_datatype type, enum fi_op op, size_t at, size_t count)
{
	amo_apply(amo_ops[op], amo_types[type], shadow + at,
		  &(struct amo_args){.operand = operands, .compare = comparands, .result = expected, .count = count});
}

static void check(enum family family, enum fi_datatype type, enum fi_op op, size_t count, size_t at)
{
	size_t bytes = count * weft_amo_bytes(amo_types[type]);
	draw(type, at, count, (uint64_t)op * TYPES + type);
	expect(type, op, at, count);
	memset(results, 0xaa, sizeof results);
	ok(call(family, &hosts[0], hosts[0].peer, count, at, KEY, type, op));
	struct fi_cq_tagged_entry done = next_done(&hosts[0]);
	assert_ptr_equal(done.op_context, results);
	assert_int_equal(done.flags, FI_ATOMIC | (family == BASE ? FI_WRITE : FI_READ));
	if (family == BASE) {
		/* The source is free, which says nothing about the target: what follows does. */
		ok(fi_fetch_atomic(hosts[0].ep, NULL, 1, NULL, results + 64, NULL, hosts[0].peer, 0, KEY, FI_UINT8,
				   FI_ATOMIC_READ, NULL));
		next_done(&hosts[0]);
	} else {
		assert_memory_equal(results, expected, bytes);
		assert_int_equal(results[bytes], 0xaa);
	}
	assert_memory_equal(regions[1], shadow, REGION_BYTES);
}

static void atomic__every_operation_on_every_type(void **state)
{
	for (int family = BASE; family <= COMPARE; family++) {
		for (int op = 0; op < OPS; op++) {
			for (int type = 0; type < TYPES; type++) {
				size_t max;
				if (ep_valid(family, type, op, &max))
					continue;
				check(family, type, op, 1, 64);
				check(family, type, op, 3, 65); /* not aligned */
				check(family, type, op, max, 128);
			}
		}
	}
}

/* ---- other forms of the calls ---- */

static void atomic__vectors_are_gathered_and_scattered(void **state)
{
	const uint32_t a[5] = {1, 2, 3, 4, 5}, c[5] = {10, 0, 30, 40, 0};
	uint32_t *target = (uint32_t *)(regions[1] + 256), result[5] = {0};
	const uint32_t before[5] = {10, 20, 30, 40, 50}, after[5] = {1, 20, 3, 4, 50};
	memcpy(target, before, sizeof before);
	const struct fi_ioc iov[] = {{(void *)a, 2}, {(void *)(a + 2), 3}},
			    comp[] = {{(void *)c, 4}, {(void *)(c + 4), 1}};
	struct fi_ioc res[] = {{result, 1}, {result + 1, 3}, {result + 4, 1}};
	ok(fi_compare_atomicv(hosts[0].ep, iov, NULL, 2, comp, NULL, 2, res, NULL, 3, hosts[0].peer, 256, KEY,
			      FI_UINT32, FI_CSWAP, NULL));
	next_done(&hosts[0]);
	assert_memory_equal(result, before, sizeof before);
	assert_memory_equal(target, after, sizeof after);
	ok(fi_fetch_atomicv(hosts[0].ep, iov, NULL, 2, res, NULL, 3, hosts[0].peer, 256, KEY, FI_UINT32, FI_SUM, NULL));
	next_done(&hosts[0]);
	assert_memory_equal(result, after, sizeof after);
	ok(fi_atomicv(hosts[0].ep, iov, NULL, 2, hosts[0].peer, 256, KEY, FI_UINT32, FI_ATOMIC_WRITE, NULL));
	ok(fi_fetch_atomicv(hosts[0].ep, NULL, NULL, 0, res, NULL, 3, hosts[0].peer, 256, KEY, FI_UINT32,
			    FI_ATOMIC_READ, NULL));
	next_done(&hosts[0]);
	next_done(&hosts[0]);
	assert_memory_equal(result, a, sizeof a);
}

/* Remote pieces and local ones, cut differently. */
static void atomic__remote_segments(void **state)
{
	uint16_t a[6] = {1, 2, 3, 4, 5, 6}, c[6] = {10, 20, 0, 40, 50, 0}, result[6] = {0};
	const uint16_t before[6] = {10, 20, 30, 40, 50, 60}, swapped[6] = {1, 2, 30, 4, 5, 60};
	const struct fi_rma_ioc remote[] = {{0, 1, KEY}, {1000, 3, KEY}, {500, 2, KEY}};
	const struct fi_ioc iov[] = {{a, 5}, {a + 5, 1}}, comp[] = {{c, 2}, {c + 2, 2}, {c + 4, 2}};
	struct fi_ioc res[] = {{result, 2}, {result + 2, 4}}, whole = {result, 6};
	const struct fi_msg_atomic msg = {.msg_iov = iov,
					  .iov_count = 2,
					  .addr = hosts[0].peer,
					  .rma_iov = remote,
					  .rma_iov_count = 3,
					  .datatype = FI_UINT16,
					  .op = FI_CSWAP,
					  .context = result};
	struct fi_msg_atomic read = msg, write = msg;
	memcpy(regions[1], before, 2);
	memcpy(regions[1] + 1000, before + 1, 6);
	memcpy(regions[1] + 500, before + 4, 4);
	ok(fi_compare_atomicmsg(hosts[0].ep, &msg, comp, NULL, 3, res, NULL, 2, FI_COMPLETION));
	struct fi_cq_tagged_entry done = next_done(&hosts[0]);
	assert_ptr_equal(done.op_context, result);
	assert_int_equal(done.len, sizeof a);
	assert_memory_equal(result, before, sizeof before);
	read.op = FI_ATOMIC_READ;
	ok(fi_fetch_atomicmsg(hosts[0].ep, &read, &whole, NULL, 1, FI_COMPLETION));
	next_done(&hosts[0]);
	assert_memory_equal(result, swapped, sizeof swapped);
	write.op = FI_ATOMIC_WRITE;
	ok(fi_atomicmsg(hosts[0].ep, &write, FI_COMPLETION | FI_INJECT | FI_DELIVERY_COMPLETE));
	memset(c, 0, sizeof c);
	next_done(&hosts[0]);
	assert_memory_equal(regions[1] + 1000, a + 1, 6);
	assert_memory_equal(regions[1] + 500, a + 4, 4);
	ok(fi_fetch_atomicmsg(hosts[0].ep, &read, res, NULL, 2, FI_COMPLETION));
	next_done(&hosts[0]);
	assert_memory_equal(result, a, sizeof a);
	expect_nothing(&hosts[0]);
	const struct fi_rma_ioc bad[] = {{0, 4, KEY}, {1000, 2, KEY + 1}};
	write.rma_iov = bad;
	write.rma_iov_count = 2;
	ok(fi_atomicmsg(hosts[0].ep, &write, FI_COMPLETION));
	assert_int_equal(next_error(&hosts[0]).err, FI_EACCES);
	expect_nothing(&hosts[0]);
	write.rma_iov_count = 1;
	assert_int_equal(fi_atomicmsg(hosts[0].ep, &write, FI_COMPLETION), -FI_EINVAL);
}

/* The operand may change at once, and nothing completes. */
static void atomic__inject(void **state)
{
	uint64_t one = 1, *target = (uint64_t *)regions[1];
	*target = 5;
	ok(fi_inject_atomic(hosts[0].ep, &one, 1, hosts[0].peer, 0, KEY, FI_UINT64, FI_SUM));
	one = 100;
	while (__atomic_load_n(target, __ATOMIC_RELAXED) != 6)
		expect_nothing(&hosts[0]);
	expect_nothing(&hosts[0]);
}

static fi_addr_t own_address(struct host *h)
{
	fi_addr_t self;
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	ok(fi_getname(&h->ep->fid, name, &len));
	assert_int_equal(fi_av_insert(h->av, name, 1, &self, 0, NULL), 1);
	return self;
}

static void atomic__to_ourselves(void **state)
{
	const fi_addr_t self = own_address(&hosts[0]);
	uint32_t *target = (uint32_t *)regions[0], result[2];
	const uint32_t a[2] = {7, 8}, want[2] = {107, 208};
	target[0] = 100;
	target[1] = 200;
	ok(fi_atomic(hosts[0].ep, a, 2, NULL, self, 0, KEY, FI_UINT32, FI_SUM, NULL));
	ok(fi_fetch_atomic(hosts[0].ep, a, 2, NULL, result, NULL, self, 0, KEY, FI_UINT32, FI_PROD, NULL));
	assert_int_equal(next_done(&hosts[0]).flags, FI_ATOMIC | FI_WRITE);
	assert_int_equal(next_done(&hosts[0]).flags, FI_ATOMIC | FI_READ);
	assert_memory_equal(result, want, sizeof want);
	assert_int_equal(target[0], 107 * 7);
	assert_int_equal(target[1], 208 * 8);
	ok(fi_fetch_atomic(hosts[0].ep, a, 2, NULL, result, NULL, self, 0, KEY + 1, FI_UINT32, FI_PROD, NULL));
	assert_int_equal(next_error(&hosts[0]).err, FI_EACCES);
}

enum { OWN_ADDS = 300000, PEER_ADDS = 3000 };

static void *add_own(void *arg)
{
	for (int i = 0; i < OWN_ADDS; i++)
		__atomic_fetch_add((uint64_t *)arg, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* The peer's operations and our own instructions change the same word at the same time. */
static void atomic__beside_the_own_instructions_of_the_process(void **state)
{
	uint64_t *target = (uint64_t *)regions[1], million = 1000000;
	pthread_t thread;
	unsigned sent = 0, done = 0;
	*target = 0;
	ok(pthread_create(&thread, NULL, add_own, target));
	while (done < PEER_ADDS) {
		ssize_t ret = sent < PEER_ADDS ? fi_atomic(hosts[0].ep, &million, 1, NULL, hosts[0].peer, 0, KEY,
							   FI_UINT64, FI_SUM, NULL)
					       : -FI_EAGAIN;
		sent += !ret;
		if (!ret && sent - done < 32)
			continue;
		next_done(&hosts[0]);
		done++;
	}
	ok(pthread_join(thread, NULL));
	ok(fi_fetch_atomic(hosts[0].ep, NULL, 1, NULL, results, NULL, hosts[0].peer, 0, KEY, FI_UINT64, FI_ATOMIC_READ,
			   NULL));
	next_done(&hosts[0]);
	assert_int_equal(*target, PEER_ADDS * million + OWN_ADDS);
}

/* Operations that do not commute, all under way at once. */
static void atomic__in_the_order_of_the_calls(void **state)
{
	enum { STEPS = 100 };
	uint64_t *target = (uint64_t *)regions[1], want[STEPS], have[STEPS], t = 3;
	const uint64_t three = 3, five = 5;
	*target = t;
	for (int i = 0; i < STEPS; i++) {
		want[i] = t;
		t = i % 2 ? t * three : t + five;
		ok(fi_fetch_atomic(hosts[0].ep, i % 2 ? &three : &five, 1, NULL, &have[i], NULL, hosts[0].peer, 0, KEY,
				   FI_UINT64, i % 2 ? FI_PROD : FI_SUM, NULL));
	}
	for (int i = 0; i < STEPS; i++)
		next_done(&hosts[0]);
	assert_memory_equal(have, want, sizeof want);
	assert_int_equal(*target, t);
}

/* Each call counts once at its end, as the one of ours that writes or reads, and as the peer's. */
static void atomic__counts_at_both_ends(void **state)
{
	static const uint64_t what[] = {FI_WRITE, FI_READ, FI_REMOTE_WRITE, FI_REMOTE_READ};
	struct fid_cntr *cntrs[4];
	struct fid_ep *eps[2];
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	fi_addr_t peer;
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	for (int i = 0; i < 2; i++) {
		ok(fi_endpoint(hosts[i].domain, hosts[i].info, &eps[i], NULL));
		ok(fi_ep_bind(eps[i], &hosts[i].av->fid, 0));
		ok(fi_ep_bind(eps[i], &hosts[i].cq->fid, FI_TRANSMIT | FI_RECV));
		for (int k = 2 * i; k < 2 * i + 2; k++) {
			ok(fi_cntr_open(hosts[i].domain, &attr, &cntrs[k], NULL));
			ok(fi_ep_bind(eps[i], &cntrs[k]->fid, what[k]));
		}
		ok(fi_enable(eps[i]));
	}
	ok(fi_getname(&eps[1]->fid, name, &len));
	assert_int_equal(fi_av_insert(hosts[0].av, name, 1, &peer, 0, NULL), 1);
	uint32_t a = 1, r;
	for (int i = 0; i < 3; i++)
		ok(fi_atomic(eps[0], &a, 1, NULL, peer, 0, KEY, FI_UINT32, FI_SUM, NULL));
	for (int i = 0; i < 2; i++)
		ok(fi_fetch_atomic(eps[0], &a, 1, NULL, &r, NULL, peer, 0, KEY, FI_UINT32, FI_SUM, NULL));
	for (int i = 0; i < 5; i++)
		next_done(&hosts[0]);
	ok(fi_fetch_atomic(eps[0], &a, 1, NULL, &r, NULL, peer, 0, KEY + 1, FI_UINT32, FI_SUM, NULL));
	next_error(&hosts[0]);
	expect_nothing(&hosts[1]);
	const uint64_t want[] = {3, 2, 3, 2};
	for (int i = 0; i < 4; i++)
		assert_int_equal(fi_cntr_read(cntrs[i]), want[i]);
	assert_int_equal(fi_cntr_readerr(cntrs[1]), 1);
	ok(fi_close(&eps[0]->fid));
	ok(fi_close(&eps[1]->fid));
	for (int i = 0; i < 4; i++)
		ok(fi_close(&cntrs[i]->fid));
}

static uint64_t count_reached(struct fid_cntr *cntr, uint64_t want)
{
	int ret = fi_cntr_wait(cntr, want, 10000);
	assert_int_equal(ret, 0);
	return fi_cntr_read(cntr);
}

/* fi_mr(3): FI_REMOTE_WRITE counts whatever changes the region, so atomics that fetch, too: who waits for a change by
 * this counter would not wake. What only reads does not count as a change. */
static void atomic__counts_at_the_region_as_a_change(void **state)
{
	enum { REGION_KEY = KEY + 5 };
	struct fid_cntr *changes, *reads;
	struct fid_mr *mr;
	uint32_t one = 1, zero = 0, result;
	ok(fi_mr_reg(hosts[1].domain, regions[1], 64, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, REGION_KEY, FI_RMA_EVENT,
		     &mr, NULL));
	ok(fi_cntr_open(hosts[1].domain, NULL, &changes, NULL));
	ok(fi_cntr_open(hosts[1].domain, NULL, &reads, NULL));
	ok(fi_mr_bind(mr, &changes->fid, FI_REMOTE_WRITE));
	ok(fi_mr_bind(mr, &reads->fid, FI_REMOTE_READ));
	for (int self = 0; self < 2; self++) {
		struct host *h = &hosts[self];
		fi_addr_t to = self ? own_address(h) : h->peer;
		uint64_t before = 3 * (uint64_t)self;
		ok(fi_atomic(h->ep, &one, 1, NULL, to, 0, REGION_KEY, FI_UINT32, FI_SUM, NULL));
		assert_int_equal(count_reached(changes, before + 1), before + 1);
		ok(fi_fetch_atomic(h->ep, &one, 1, NULL, &result, NULL, to, 0, REGION_KEY, FI_UINT32, FI_SUM, NULL));
		assert_int_equal(count_reached(changes, before + 2), before + 2);
		ok(fi_compare_atomic(h->ep, &one, 1, NULL, &zero, NULL, &result, NULL, to, 0, REGION_KEY, FI_UINT32,
				     FI_CSWAP, NULL));
		assert_int_equal(count_reached(changes, before + 3), before + 3);
		ok(fi_fetch_atomic(h->ep, NULL, 1, NULL, &result, NULL, to, 0, REGION_KEY, FI_UINT32, FI_ATOMIC_READ,
				   NULL));
		assert_int_equal(count_reached(reads, before + 3), before + 3);
		assert_int_equal(fi_cntr_read(changes), before + 3);
		for (int i = 0; i < 4; i++)
			next_done(h);
	}
	ok(fi_close(&mr->fid));
	ok(fi_close(&changes->fid));
	ok(fi_close(&reads->fid));
}

/* ---- refusals ---- */

static void expect_refused(uint64_t addr, uint64_t key, size_t count, int err)
{
	for (int family = BASE; family <= COMPARE; family++) {
		ok(call(family, &hosts[0], hosts[0].peer, count, addr, key, FI_UINT32,
			family == COMPARE ? FI_CSWAP : FI_SUM));
		struct fi_cq_err_entry e = next_error(&hosts[0]);
		assert_int_equal(e.err, err);
		assert_ptr_equal(e.op_context, results);
		assert_int_equal(e.flags, FI_ATOMIC | (family == BASE ? FI_WRITE : FI_READ));
	}
	assert_memory_equal(regions[1], shadow, REGION_BYTES);
}

static void atomic__refused_beyond_keys_bounds_and_rights(void **state)
{
	struct fid_mr *readable, *writable;
	pattern_fill(shadow, REGION_BYTES, 1);
	memcpy(regions[1], shadow, REGION_BYTES);
	expect_refused(0, KEY + 1, 1, FI_EACCES);
	expect_refused(REGION_BYTES - 3, KEY, 1, FI_EINVAL);
	expect_refused(REGION_BYTES - 8, KEY, 3, FI_EINVAL);
	expect_refused(UINT64_MAX - 1, KEY, 1, FI_EINVAL);
	ok(fi_mr_reg(hosts[1].domain, regions[1], 64, FI_REMOTE_READ, 0, KEY + 2, 0, &readable, NULL));
	expect_refused(0, KEY + 2, 1, FI_EACCES);
	ok(fi_fetch_atomic(hosts[0].ep, NULL, 1, NULL, results, NULL, hosts[0].peer, 0, KEY + 2, FI_UINT32,
			   FI_ATOMIC_READ, NULL));
	next_done(&hosts[0]);
	assert_memory_equal(results, shadow, 4);
	ok(fi_mr_reg(hosts[1].domain, regions[1], 64, FI_REMOTE_WRITE, 0, KEY + 3, 0, &writable, NULL));
	ok(fi_fetch_atomic(hosts[0].ep, operands, 1, NULL, results, NULL, hosts[0].peer, 0, KEY + 3, FI_UINT32, FI_SUM,
			   NULL));
	assert_int_equal(next_error(&hosts[0]).err, FI_EACCES);
	ok(fi_close(&readable->fid));
	expect_refused(0, KEY + 2, 1, FI_EACCES); /* a dead key */
	ok(fi_close(&writable->fid));
}

static void atomic__bad_calls_are_refused_at_once(void **state)
{
	struct host *h = &hosts[0];
	size_t max;
	ok(fi_atomicvalid(h->ep, FI_UINT8, FI_SUM, &max));
	assert_int_equal(call(BASE, h, h->peer, max + 1, 0, KEY, FI_UINT8, FI_SUM), -FI_EMSGSIZE);
	assert_int_equal(call(BASE, h, h->peer, 0, 0, KEY, FI_UINT8, FI_SUM), -FI_EINVAL);
	assert_int_equal(call(BASE, h, h->peer, 1, 0, KEY, FI_FLOAT, FI_BOR), -FI_EOPNOTSUPP);
	assert_int_equal(call(BASE, h, h->peer, 1, 0, KEY, FI_UINT8, FI_ATOMIC_READ), -FI_EOPNOTSUPP);
	assert_int_equal(call(BASE, h, h->peer, 1, 0, KEY, FI_UINT8, FI_CSWAP), -FI_EOPNOTSUPP);
	assert_int_equal(call(FETCH, h, h->peer, 1, 0, KEY, FI_UINT8, FI_MSWAP), -FI_EOPNOTSUPP);
	assert_int_equal(call(COMPARE, h, h->peer, 1, 0, KEY, FI_UINT8, FI_SUM), -FI_EOPNOTSUPP);
	assert_int_equal(call(BASE, h, h->peer, 1, 0, KEY, 99, FI_SUM), -FI_EOPNOTSUPP);
	assert_int_equal(call(BASE, h, h->peer + 9, 1, 0, KEY, FI_UINT8, FI_SUM), -FI_EINVAL);
	assert_int_equal(fi_atomic(h->ep, NULL, 1, NULL, h->peer, 0, KEY, FI_UINT8, FI_SUM, NULL), -FI_EINVAL);
	struct fi_ioc two = {operands, 2}, one = {results, 1};
	assert_int_equal(fi_fetch_atomicv(h->ep, &two, NULL, 1, &one, NULL, 1, h->peer, 0, KEY, FI_UINT8, FI_SUM, NULL),
			 -FI_EINVAL);
	expect_nothing(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(query__reports_each_operation_in_its_family, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(query__refuses_impossible_questions, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(atomic__every_operation_on_every_type, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(atomic__vectors_are_gathered_and_scattered, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(atomic__remote_segments, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(atomic__inject, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(atomic__to_ourselves, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(atomic__beside_the_own_instructions_of_the_process, open_hosts,
						close_hosts),
		cmocka_unit_test_setup_teardown(atomic__in_the_order_of_the_calls, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(atomic__counts_at_both_ends, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(atomic__counts_at_the_region_as_a_change, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(atomic__refused_beyond_keys_bounds_and_rights, open_hosts, close_hosts),
		cmocka_unit_test_setup_teardown(atomic__bad_calls_are_refused_at_once, open_hosts, close_hosts),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
