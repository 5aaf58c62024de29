/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of endpoints, aliases with operation flags of their own, and queues that are full. */
#include "fixture.h"

#include <string.h>
#include <sys/socket.h>

static struct host *const a = &hosts[0], *const b = &hosts[1];

static const struct host_opts with_selective = {.bind_flags = FI_SELECTIVE_COMPLETION};

static void getopt__what_there_is(void **state)
{
	size_t value = 77, len = sizeof value;
	int p2p, level = FI_OPT_ENDPOINT;
	struct fid *ep = &a->ep->fid;
	ok(fi_getopt(ep, level, FI_OPT_CM_DATA_SIZE, &value, &len));
	assert_int_equal(value, 0);
	len = sizeof p2p;
	ok(fi_getopt(ep, level, FI_OPT_FI_HMEM_P2P, &p2p, &len));
	assert_int_equal(p2p, FI_HMEM_P2P_DISABLED);
	len = 1;
	assert_int_equal(fi_getopt(ep, level, FI_OPT_MIN_MULTI_RECV, &value, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof value);
	assert_int_equal(fi_getopt(ep, level, FI_OPT_XPU_TRIGGER, &value, &len), -FI_EOPNOTSUPP);
	assert_int_equal(fi_getopt(ep, level, FI_OPT_BUFFERED_LIMIT, &value, &len), -FI_ENOPROTOOPT);
	assert_int_equal(fi_getopt(ep, level + 1, FI_OPT_MIN_MULTI_RECV, &value, &len), -FI_ENOPROTOOPT);
}

static void setopt__is_remembered(void **state)
{
	size_t value = 4711, len = sizeof value;
	int p2p = FI_HMEM_P2P_REQUIRED, level = FI_OPT_ENDPOINT;
	struct fid *ep = &a->ep->fid;
	ok(fi_setopt(ep, level, FI_OPT_MIN_MULTI_RECV, &value, sizeof value));
	value = 0;
	ok(fi_getopt(ep, level, FI_OPT_MIN_MULTI_RECV, &value, &len));
	assert_int_equal(value, 4711);
	assert_int_equal(fi_setopt(ep, level, FI_OPT_MIN_MULTI_RECV, &value, 1), -FI_EINVAL);
	assert_int_equal(fi_setopt(ep, level, FI_OPT_CM_DATA_SIZE, &value, sizeof value), -FI_ENOPROTOOPT);
	assert_int_equal(fi_setopt(ep, level, FI_OPT_FI_HMEM_P2P, &p2p, sizeof p2p), -FI_EOPNOTSUPP);
	p2p = FI_HMEM_P2P_ENABLED;
	ok(fi_setopt(ep, level, FI_OPT_FI_HMEM_P2P, &p2p, sizeof p2p));
}

/* Success is reported through the alias, not through the endpoint: that is all they differ in. */
static void alias__has_flags_of_its_own(void **state)
{
	struct fid_ep *alias = NULL;
	uint64_t flags = FI_TRANSMIT;
	ok(fi_ep_alias(a->ep, &alias, FI_TRANSMIT | FI_COMPLETION));
	ok(fi_control(&alias->fid, FI_GETOPSFLAG, &flags));
	assert_int_equal(flags, FI_COMPLETION);
	flags = FI_TRANSMIT;
	ok(fi_control(&a->ep->fid, FI_GETOPSFLAG, &flags));
	assert_int_equal(flags, 0);
	ok(fi_send(a->ep, "x", 1, NULL, a->peer, "ep"));
	ok(fi_send(alias, "y", 1, NULL, a->peer, (void *)alias));
	assert_ptr_equal(next_done(a).op_context, alias);
	expect_nothing(a);
	ok(fi_close(&alias->fid));
}

static void alias__keeps_the_endpoint_open(void **state)
{
	struct fid_ep *alias = NULL;
	struct sockaddr_storage one, two;
	size_t len = sizeof one, alias_len = sizeof two;
	ok(fi_ep_alias(b->ep, &alias, FI_RECV | FI_COMPLETION));
	ok(fi_getname(&b->ep->fid, &one, &len));
	ok(fi_getname(&alias->fid, &two, &alias_len));
	assert_int_equal(len, alias_len);
	assert_memory_equal(&one, &two, len);
	assert_int_equal(fi_close(&b->ep->fid), -FI_EBUSY);
	char in[8];
	ok(fi_recv(alias, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_inject(a->ep, "hello", 6, a->peer));
	assert_ptr_equal(next_done(b).op_context, in);
	assert_string_equal(in, "hello");
	ok(fi_recv(alias, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_cancel(&alias->fid, in));
	assert_int_equal(next_error(b).err, FI_ECANCELED);
	ok(fi_close(&alias->fid));
}

static void alias__needs_one_direction(void **state)
{
	struct fid_ep *alias = NULL;
	assert_int_equal(fi_ep_alias(a->ep, &alias, FI_COMPLETION), -FI_EINVAL);
	assert_int_equal(fi_ep_alias(a->ep, &alias, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
}

/* A small endpoint of host a: four sends at a time, eight completions. */
struct small {
	struct fid_cq *cq;
	struct fid_ep *ep;
};

static void small_open(struct small *s)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_TAGGED, .size = 8};
	struct fi_info *info = fi_dupinfo(a->info);
	info->tx_attr->size = 4;
	ok(fi_cq_open(a->domain, &attr, &s->cq, NULL));
	ok(fi_endpoint(a->domain, info, &s->ep, NULL));
	ok(fi_ep_bind(s->ep, &a->av->fid, 0));
	ok(fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_enable(s->ep));
	fi_freeinfo(info);
}

static void small_close(struct small *s)
{
	ok(fi_close(&s->ep->fid));
	ok(fi_close(&s->cq->fid));
}

/* Sends numbered bytes until there is no room; returns how many went. */
static int send_all(struct small *s, const uint8_t *bytes, int from)
{
	int n = 0;
	ssize_t ret;
	while ((ret = fi_send(s->ep, &bytes[from + n], 1, NULL, a->peer, (void *)&bytes[from + n])) == 0)
		n++;
	assert_int_equal(ret, -FI_EAGAIN);
	return n;
}

/* Until all that was sent is acknowledged. */
static void all_sent(const struct small *s)
{
	while (s->ep->ops->tx_size_left(s->ep) < 4) {
		fi_cq_read(a->cq, NULL, 0);
		fi_cq_read(b->cq, NULL, 0);
	}
}

/* What does not fit is refused, what was taken arrives, once and in order. */
static void flow__more_sends_than_queues_hold(void **state)
{
	struct small s;
	struct fi_cq_tagged_entry entry;
	uint8_t bytes[64], in = 0;
	int sent;
	small_open(&s);
	for (int i = 0; i < 64; i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(s.ep->ops->tx_size_left(s.ep), 4);
	sent = send_all(&s, bytes, 0);
	assert_int_equal(sent, 4); /* outstanding: the other host has not answered */
	assert_int_equal(s.ep->ops->tx_size_left(s.ep), 0);
	assert_int_equal(fi_cancel(&s.ep->fid, bytes), -FI_ENOENT);
	all_sent(&s);
	sent += send_all(&s, bytes, sent);
	all_sent(&s);
	assert_int_equal(send_all(&s, bytes, sent), 0); /* eight completions wait to be read */
	assert_int_equal(sent, 8);
	for (int i = 0; i < sent; i++) {
		assert_int_equal(fi_cq_read(s.cq, &entry, 1), 1);
		assert_ptr_equal(entry.op_context, &bytes[i]);
	}
	for (int i = 0; i < sent; i++) {
		const struct iovec iov = {&in, 1};
		const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC};
		ok(fi_recvmsg(b->ep, &msg, FI_COMPLETION));
		next_done(b);
		assert_int_equal(in, i);
	}
	small_close(&s);
}

/* Completions of receives are never dropped, however small the queue. */
static void flow__more_receives_than_the_queue_holds(void **state)
{
	enum { COUNT = 40 };
	struct small s;
	struct sockaddr_storage name;
	struct fi_cq_tagged_entry entry;
	uint8_t in[COUNT] = {0}, out[COUNT];
	size_t len = sizeof name;
	fi_addr_t peer = 0;
	small_open(&s);
	ok(fi_getname(&s.ep->fid, &name, &len));
	assert_int_equal(fi_av_insert(b->av, &name, 1, &peer, 0, NULL), 1);
	for (int i = 0; i < COUNT; i++) {
		out[i] = (uint8_t)(i + 1);
		ok(fi_recv(s.ep, &in[i], 1, NULL, FI_ADDR_UNSPEC, &in[i]));
		ok(fi_inject(b->ep, &out[i], 1, peer));
	}
	while (memcmp(in, out, COUNT) != 0) {
		fi_cq_read(a->cq, NULL, 0);
		fi_cq_read(b->cq, NULL, 0);
	}
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(fi_cq_read(s.cq, &entry, 1), 1);
		assert_ptr_equal(entry.op_context, &in[i]);
	}
	assert_true(s.ep->ops->rx_size_left(s.ep) > 0);
	small_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate_setup_teardown(getopt__what_there_is, hosts_setup, hosts_teardown,
							 (void *)&with_selective),
		cmocka_unit_test_prestate_setup_teardown(setopt__is_remembered, hosts_setup, hosts_teardown,
							 (void *)&with_selective),
		cmocka_unit_test_prestate_setup_teardown(alias__has_flags_of_its_own, hosts_setup, hosts_teardown,
							 (void *)&with_selective),
		cmocka_unit_test_prestate_setup_teardown(alias__keeps_the_endpoint_open, hosts_setup, hosts_teardown,
							 (void *)&with_selective),
		cmocka_unit_test_prestate_setup_teardown(alias__needs_one_direction, hosts_setup, hosts_teardown,
							 (void *)&with_selective),
		cmocka_unit_test_prestate_setup_teardown(flow__more_sends_than_queues_hold, hosts_setup, hosts_teardown,
							 (void *)&with_selective),
		cmocka_unit_test_prestate_setup_teardown(flow__more_receives_than_the_queue_holds, hosts_setup,
							 hosts_teardown, (void *)&with_selective),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
