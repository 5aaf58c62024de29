/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations among endpoints of two hosts, up to seven of them, all driven by one thread. */
#include "fixture.h"

#include <arpa/inet.h>
#include <rdma/fi_collective.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MEMBERS = 7, COUNT = 300 };

/* One endpoint that takes part; odd ones live on the second host. */
static struct member {
	struct host *h;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_eq *eq;
	struct fid_av *av; /* knows all of them, by their numbers */
	struct fid_av_set *set;
	struct fid_mc *mc;
	uint64_t *in, *out; /* COUNT elements for each member */
} members[MEMBERS];

static struct host pair[2];

static void ep_open(struct member *m)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	ok(fi_endpoint(m->h->domain, m->h->info, &m->ep, NULL));
	ok(fi_cq_open(m->h->domain, &cq_attr, &m->cq, NULL));
	ok(fi_eq_open(m->h->fabric, &eq_attr, &m->eq, NULL));
	ok(fi_av_open(m->h->domain, &av_attr, &m->av, NULL));
	ok(fi_ep_bind(m->ep, &m->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(m->ep, &m->eq->fid, 0));
	ok(fi_ep_bind(m->ep, &m->av->fid, 0));
	ok(fi_enable(m->ep));
	m->in = calloc(MEMBERS * COUNT, sizeof *m->in);
	m->out = calloc(MEMBERS * COUNT, sizeof *m->out);
	assert_true(m->in && m->out);
}

static void meet(struct member *m)
{
	for (int i = 0; i < MEMBERS; i++) {
		char name[FI_NAME_MAX];
		size_t len = sizeof name;
		fi_addr_t addr;
		ok(fi_getname(&members[i].ep->fid, name, &len));
		assert_int_equal(fi_av_insert(m->av, name, 1, &addr, 0, NULL), 1);
		assert_int_equal(addr, i);
	}
}

static int open_all(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct fi_info *hints = fixture_hints(i);
		hints->caps = FI_MSG | FI_COLLECTIVE | FI_TAGGED;
		pair[i] = (struct host){.other = &pair[!i]};
		host_open_domain(&pair[i], hints);
		assert_true(pair[i].info->caps & FI_COLLECTIVE);
	}
	for (int i = 0; i < MEMBERS; i++) {
		members[i] = (struct member){.h = &pair[i % 2]};
		ep_open(&members[i]);
	}
	for (int i = 0; i < MEMBERS; i++)
		meet(&members[i]);
	return 0;
}

static int close_all(void **state)
{
	for (int i = 0; i < MEMBERS; i++) {
		struct member *m = &members[i];
		ok(fi_close(&m->ep->fid));
		ok(fi_close(&m->av->fid));
		ok(fi_close(&m->cq->fid));
		ok(fi_close(&m->eq->fid));
		free(m->in);
		free(m->out);
	}
	host_close(&pair[0]);
	host_close(&pair[1]);
	return 0;
}

static void progress_all(void)
{
	for (int i = 0; i < MEMBERS; i++)
		fi_cq_read(members[i].cq, NULL, 0);
}

static void joined(struct member *m)
{
	struct fi_eq_entry entry;
	uint32_t event;
	ssize_t n;
	while ((n = fi_eq_read(m->eq, &event, &entry, sizeof entry, 0)) == -FI_EAGAIN)
		progress_all();
	assert_int_equal(n, sizeof entry);
	assert_int_equal(event, FI_JOIN_COMPLETE);
	assert_ptr_equal(entry.fid, &m->mc->fid);
	assert_ptr_equal(entry.context, m);
}

/* Members first, first + stride, ... below `end`; returns how many. */
static int group_open(int first, int end, int stride)
{
	struct fi_av_set_attr attr = {
		.start_addr = (fi_addr_t)first, .end_addr = (fi_addr_t)end - 1, .stride = (uint64_t)stride};
	int n = 0;
	for (int i = first; i < end; i += stride, n++) {
		struct member *m = &members[i];
		fi_addr_t addr;
		ok(fi_av_set(m->av, &attr, &m->set, NULL));
		ok(fi_av_set_addr(m->set, &addr));
		ok(fi_join_collective(m->ep, addr, m->set, 0, &m->mc, m));
	}
	for (int i = first; i < end; i += stride)
		joined(&members[i]);
	return n;
}

static void group_close(int first, int end, int stride)
{
	for (int i = first; i < end; i += stride) {
		ok(fi_close(&members[i].mc->fid));
		ok(fi_close(&members[i].set->fid));
	}
}

static void completed(struct member *m)
{
	struct fi_cq_tagged_entry entry;
	ssize_t n;
	while ((n = fi_cq_read(m->cq, &entry, 1)) == -FI_EAGAIN)
		progress_all();
	assert_int_equal(n, 1);
	assert_ptr_equal(entry.op_context, m);
	assert_int_equal(entry.flags, FI_COLLECTIVE);
}

static void completed_all(int n)
{
	for (int i = 0; i < n; i++)
		completed(&members[i]);
}

static uint64_t value(int member, int k)
{
	return (uint64_t)member * 1000003 + (uint64_t)k * 17 + 5;
}

static void fill(int n, int count)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < count; k++) {
			members[i].out[k] = value(i, k);
			members[i].in[k] = UINT64_MAX;
		}
}

static fi_addr_t group_of(const struct member *m)
{
	return fi_mc_addr(m->mc);
}

static void check_barrier(int n)
{
	for (int i = 0; i < n; i++) {
		ok(fi_barrier(members[i].ep, group_of(&members[i]), &members[i]));
		for (int turns = 0; i + 1 < n && turns < 50; turns++)
			progress_all();
		struct fi_cq_tagged_entry entry;
		for (int k = 0; i + 1 < n && k <= i; k++) /* nobody is through before the last one comes */
			assert_int_equal(fi_cq_read(members[k].cq, &entry, 1), -FI_EAGAIN);
	}
	completed_all(n);
}

static void check_broadcast(int n, int root)
{
	fill(n, COUNT);
	for (int i = 0; i < n; i++)
		ok(fi_broadcast(members[i].ep, i == root ? members[i].out : members[i].in, COUNT, NULL,
				group_of(&members[i]), (fi_addr_t)root, FI_UINT64, 0, &members[i]));
	completed_all(n);
	for (int i = 0; i < n; i++)
		if (i != root)
			assert_memory_equal(members[i].in, members[root].out, COUNT * sizeof(uint64_t));
}

static void check_reduce(int n, int root)
{
	fill(n, COUNT);
	for (int i = 0; i < n; i++)
		ok(root < 0 ? fi_allreduce(members[i].ep, members[i].out, COUNT, NULL, members[i].in, NULL,
					   group_of(&members[i]), FI_UINT64, FI_SUM, 0, &members[i])
			    : fi_reduce(members[i].ep, members[i].out, COUNT, NULL, i == root ? members[i].in : NULL,
					NULL, group_of(&members[i]), (fi_addr_t)root, FI_UINT64, FI_SUM, 0,
					&members[i]));
	completed_all(n);
	for (int k = 0; k < COUNT; k++) {
		uint64_t sum = 0;
		for (int i = 0; i < n; i++)
			sum += value(i, k);
		for (int i = 0; i < n; i++)
			if (root < 0 || i == root)
				assert_int_equal(members[i].in[k], sum);
	}
}

static void check_allgather(int n)
{
	fill(n, n * COUNT);
	for (int i = 0; i < n; i++)
		ok(fi_allgather(members[i].ep, members[i].out, COUNT, NULL, members[i].in, NULL, group_of(&members[i]),
				FI_UINT64, 0, &members[i]));
	completed_all(n);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n * COUNT; k++)
			assert_int_equal(members[i].in[k], value(k / COUNT, k % COUNT));
}

static void check_scatter(int n, int root)
{
	fill(n, n * COUNT);
	for (int i = 0; i < n; i++)
		ok(fi_scatter(members[i].ep, i == root ? members[i].out : NULL, COUNT, NULL, members[i].in, NULL,
			      group_of(&members[i]), (fi_addr_t)root, FI_UINT64, 0, &members[i]));
	completed_all(n);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < COUNT; k++)
			assert_int_equal(members[i].in[k], value(root, i * COUNT + k));
}

static void check_gather(int n, int root)
{
	fill(n, n * COUNT);
	for (int i = 0; i < n; i++)
		ok(fi_gather(members[i].ep, members[i].out, COUNT, NULL, i == root ? members[i].in : NULL, NULL,
			     group_of(&members[i]), (fi_addr_t)root, FI_UINT64, 0, &members[i]));
	completed_all(n);
	for (int k = 0; k < n * COUNT; k++)
		assert_int_equal(members[root].in[k], value(k / COUNT, k % COUNT));
}

static void check_alltoall(int n)
{
	fill(n, n * COUNT);
	for (int i = 0; i < n; i++)
		ok(fi_alltoall(members[i].ep, members[i].out, COUNT, NULL, members[i].in, NULL, group_of(&members[i]),
			       FI_UINT64, 0, &members[i]));
	completed_all(n);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n * COUNT; k++)
			assert_int_equal(members[i].in[k], value(k / COUNT, i * COUNT + k % COUNT));
}

static void coll__every_operation_in_groups_of_every_size(void **state)
{
	for (int n = 1; n <= MEMBERS; n++) {
		assert_int_equal(group_open(0, n, 1), n);
		check_barrier(n);
		check_reduce(n, -1);
		check_allgather(n);
		check_alltoall(n);
		for (int root = 0; root < n; root += 2) {
			check_broadcast(n, root);
			check_reduce(n, root);
			check_scatter(n, root);
			check_gather(n, root);
		}
		group_close(0, n, 1);
	}
}

/* Two operations of one group, and one of another, under way at once; the application's receives see none of it. */
static void coll__several_at_once(void **state)
{
	uint64_t sum[2][MEMBERS], one = 1, got = 0;
	struct fid_mc *small[2];
	group_open(0, 2, 1);
	small[0] = members[0].mc;
	small[1] = members[1].mc;
	ok(fi_close(&members[0].set->fid));
	ok(fi_close(&members[1].set->fid));
	group_open(0, MEMBERS, 1);
	ok(fi_trecv(members[1].ep, &got, sizeof got, NULL, FI_ADDR_UNSPEC, 0, UINT64_MAX, &got));
	for (int i = 0; i < MEMBERS; i++)
		for (int k = 0; k < 2; k++)
			ok(fi_allreduce(members[i].ep, &one, 1, NULL, &sum[k][i], NULL, group_of(&members[i]),
					FI_UINT64, FI_SUM, 0, &members[i]));
	for (int i = 0; i < 2; i++)
		ok(fi_barrier(members[i].ep, fi_mc_addr(small[i]), &members[i]));
	for (int i = 0; i < MEMBERS; i++)
		for (int k = 0; k < (i < 2 ? 3 : 2); k++)
			completed(&members[i]);
	for (int i = 0; i < MEMBERS; i++)
		assert_true(sum[0][i] == MEMBERS && sum[1][i] == MEMBERS);
	assert_int_equal(got, 0);
	ok(fi_cancel(&members[1].ep->fid, &got));
	ok(fi_close(&small[0]->fid));
	ok(fi_close(&small[1]->fid));
	group_close(0, MEMBERS, 1);
}

static void join__strides_and_again(void **state)
{
	for (int i = 0; i < 3; i++) {
		assert_int_equal(group_open(1, MEMBERS, 2), 3);
		group_close(1, MEMBERS, 2);
	}
}

static void join__refusals(void **state)
{
	struct fi_av_set_attr attr = {.start_addr = 1, .end_addr = 2, .stride = 1};
	struct member *m = &members[0];
	struct fid_mc *mc;
	ok(fi_av_set(m->av, &attr, &m->set, NULL));
	assert_int_equal(fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, m->set, 0, &mc, NULL), -FI_EINVAL); /* no member */
	assert_int_equal(fi_join_collective(members[1].ep, FI_ADDR_NOTAVAIL, m->set, 0, &mc, NULL), -FI_EINVAL);
	assert_int_equal(fi_join(m->ep, "", 0, &mc, NULL), -FI_ENOSYS);
	ok(fi_close(&m->set->fid));
	attr.end_addr = MEMBERS;
	assert_int_equal(fi_av_set(m->av, &attr, &m->set, NULL), -FI_EINVAL);
	attr.flags = 1;
	assert_int_equal(fi_av_set(m->av, &attr, &m->set, NULL), -FI_EBADFLAGS);
}

static void call__refusals(void **state)
{
	struct member *m = &members[0];
	uint64_t x = 0;
	group_open(0, 1, 1);
	assert_int_equal(fi_barrier(m->ep, 12345, m), -FI_EINVAL);
	assert_int_equal(fi_barrier(members[1].ep, group_of(m), m), -FI_EINVAL);
	assert_int_equal(fi_broadcast(m->ep, &x, 1, NULL, group_of(m), 3, FI_UINT64, 0, m), -FI_EINVAL);
	assert_int_equal(fi_broadcast(m->ep, &x, 1, NULL, group_of(m), 0, FI_VOID, 0, m), -FI_EOPNOTSUPP);
	assert_int_equal(fi_allreduce(m->ep, &x, 1, NULL, &x, NULL, group_of(m), FI_DOUBLE, FI_BOR, 0, m),
			 -FI_EOPNOTSUPP);
	assert_int_equal(fi_allreduce(m->ep, &x, SIZE_MAX, NULL, &x, NULL, group_of(m), FI_UINT64, FI_SUM, 0, m),
			 -FI_EMSGSIZE);
	assert_int_equal(fi_close(&m->ep->fid), -FI_EBUSY);
	group_close(0, 1, 1);
}

/* Whoever closes its group does not wait for the others any more. */
static void close__while_others_are_awaited(void **state)
{
	group_open(0, 3, 1);
	ok(fi_barrier(members[0].ep, group_of(&members[0]), &members[0]));
	progress_all();
	group_close(0, 3, 1);
	group_open(0, 3, 1);
	check_barrier(3);
	group_close(0, 3, 1);
}

/* The first member and addresses behind which nobody is; that alone ends the attempt to join. */
static void group_of_strangers(struct member *m, int count)
{
	struct fi_av_set_attr attr = {.start_addr = 0, .end_addr = 0, .stride = 1};
	struct fi_eq_err_entry err = {0};
	struct sockaddr_in name;
	size_t len = sizeof name;
	fi_addr_t addr;
	uint32_t event;
	ssize_t n;
	ok(fi_getname(&members[1].ep->fid, &name, &len));
	ok(fi_av_set(m->av, &attr, &m->set, NULL));
	for (int i = 0; i < count; i++) {
		name.sin_port = htons((uint16_t)(1000 + 2 * i));
		assert_int_equal(fi_av_insert(m->av, &name, 1, &addr, 0, NULL), 1);
		ok(fi_av_set_insert(m->set, addr));
	}
	ok(fi_av_set_addr(m->set, &addr));
	ok(fi_join_collective(m->ep, addr, m->set, 0, &m->mc, m));
	while ((n = fi_eq_read(m->eq, &event, &err, sizeof err, 0)) == -FI_EAGAIN)
		progress_all();
	assert_int_equal(n, -FI_EAVAIL);
	assert_true(fi_eq_readerr(m->eq, &err, 0) > 0);
}

/* More messages than fit the engine's ring have to be cancelled when the first of them fails. */
static void coll__fails_in_a_group_without_members(void **state)
{
	enum { STRANGERS = 199, SECONDS = 20 };
	struct member *m = &members[0];
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = {0};
	ssize_t n;
	group_of_strangers(m, STRANGERS);
	ok(fi_alltoall(m->ep, m->out, 1, NULL, m->in, NULL, group_of(m), FI_UINT64, 0, m));
	for (time_t end = time(NULL) + SECONDS; (n = fi_cq_read(m->cq, &entry, 1)) == -FI_EAGAIN && time(NULL) < end;)
		progress_all();
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(m->cq, &err, 0), 1);
	assert_int_equal(err.err, FI_EHOSTUNREACH);
	assert_ptr_equal(err.op_context, m);
	group_close(0, 1, 1);
}

static void query__what_there_is(void **state)
{
	struct fi_collective_attr attr = {.op = FI_SUM, .datatype = FI_DOUBLE};
	struct fid_domain *domain = pair[0].domain;
	ok(fi_query_collective(domain, FI_ALLREDUCE, &attr, 0));
	assert_int_equal(attr.datatype_attr.size, sizeof(double));
	assert_true(attr.max_members >= 1000 && attr.datatype_attr.count >= 1000000);
	assert_int_equal(fi_query_collective(domain, FI_REDUCE_SCATTER, &attr, 0), -FI_EOPNOTSUPP);
	attr.op = FI_ATOMIC_WRITE;
	assert_int_equal(fi_query_collective(domain, FI_REDUCE, &attr, 0), -FI_EOPNOTSUPP);
	attr = (struct fi_collective_attr){.op = FI_NOOP, .datatype = FI_VOID};
	ok(fi_query_collective(domain, FI_BARRIER, &attr, 0));
	assert_int_equal(fi_query_collective(domain, FI_GATHER, &attr, 0), -FI_EOPNOTSUPP);
	assert_int_equal(fi_query_collective(domain, FI_BARRIER, &attr, 1), -FI_EBADFLAGS);
}

static void set__operations(void **state)
{
	struct fi_av_set_attr low = {.start_addr = 0, .end_addr = 3, .stride = 1},
			      high = {.start_addr = 2, .end_addr = 6, .stride = 2};
	struct fid_av_set *a, *b;
	struct fid_mc *mc;
	struct member *m = &members[0];
	ok(fi_av_set(m->av, &low, &a, NULL));
	ok(fi_av_set(m->av, &high, &b, NULL));
	ok(fi_av_set_intersect(a, b)); /* 2 */
	assert_int_equal(fi_av_set_remove(a, 3), -FI_EINVAL);
	ok(fi_av_set_remove(a, 2));
	assert_int_equal(fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, a, 0, &mc, NULL), -FI_EINVAL); /* empty */
	ok(fi_av_set_insert(a, 2));
	ok(fi_av_set_insert(a, 2));
	assert_int_equal(fi_av_set_insert(a, MEMBERS), -FI_EINVAL);
	ok(fi_av_set_union(a, b)); /* 2, 4, 6 */
	ok(fi_av_set_remove(a, 6));
	ok(fi_av_set_diff(b, a)); /* 6 */
	assert_int_equal(fi_av_set_remove(b, 4), -FI_EINVAL);
	ok(fi_av_set_remove(b, 6));
	ok(fi_close(&a->fid));
	ok(fi_close(&b->fid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(coll__every_operation_in_groups_of_every_size, open_all, close_all),
		cmocka_unit_test_setup_teardown(coll__several_at_once, open_all, close_all),
		cmocka_unit_test_setup_teardown(join__strides_and_again, open_all, close_all),
		cmocka_unit_test_setup_teardown(join__refusals, open_all, close_all),
		cmocka_unit_test_setup_teardown(call__refusals, open_all, close_all),
		cmocka_unit_test_setup_teardown(close__while_others_are_awaited, open_all, close_all),
		cmocka_unit_test_setup_teardown(coll__fails_in_a_group_without_members, open_all, close_all),
		cmocka_unit_test_setup_teardown(query__what_there_is, open_all, close_all),
		cmocka_unit_test_setup_teardown(set__operations, open_all, close_all),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
