/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of endpoints, and aliases with operation flags of their own. */
#include "fixture.h"

#include <string.h>
#include <sys/socket.h>

static struct host hosts[2];
static struct host *const a = &hosts[0], *const b = &hosts[1];

static int setup(void **state)
{
	static const struct host_opts opts = {.bind_flags = FI_SELECTIVE_COMPLETION};
	hosts_open(hosts, &opts);
	return 0;
}

static int teardown(void **state)
{
	hosts_close(hosts);
	return 0;
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(getopt__what_there_is, setup, teardown),
		cmocka_unit_test_setup_teardown(setopt__is_remembered, setup, teardown),
		cmocka_unit_test_setup_teardown(alias__has_flags_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(alias__keeps_the_endpoint_open, setup, teardown),
		cmocka_unit_test_setup_teardown(alias__needs_one_direction, setup, teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
