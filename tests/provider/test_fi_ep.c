/* SPDX-License-Identifier: BSD-3-Clause */
/* Domains and endpoints: opening, binding, names, closing. */
#include "fixture.h"
#include "member.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "weft/provider.h"

static struct host host;

static int setup(void **state)
{
	host = (struct host){0};
	host_open_domain(&host, fixture_hints(0));
	return 0;
}

static int teardown(void **state)
{
	host_close(&host);
	return 0;
}

static const struct host_opts plain;

static struct sockaddr_in name_of(struct fid_ep *ep)
{
	struct sockaddr_in in;
	size_t len = sizeof in;
	ok(fi_getname(&ep->fid, &in, &len));
	assert_int_equal(len, sizeof in);
	return in;
}

static void enable__needs_av_and_cq(void **state)
{
	struct fi_av_attr attr = {.type = FI_AV_MAP};
	ok(fi_endpoint(host.domain, host.info, &host.ep, NULL));
	assert_int_equal(fi_enable(host.ep), -FI_ENOAV);
	assert_int_equal(fi_send(host.ep, NULL, 0, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_trecv(host.ep, NULL, 0, NULL, 0, 0, 0, NULL), -FI_EOPBADSTATE);
	ok(fi_av_open(host.domain, &attr, &host.av, NULL));
	ok(fi_ep_bind(host.ep, &host.av->fid, 0));
	assert_int_equal(fi_enable(host.ep), -FI_ENOCQ);
	assert_int_equal(fi_close(&host.av->fid), -FI_EBUSY);
}

static void bind__refuses_nonsense(void **state)
{
	host_open_ep(&host, &plain);
	struct fid_ep *ep;
	ok(fi_endpoint(host.domain, host.info, &ep, NULL));
	assert_int_equal(fi_ep_bind(ep, &host.cq->fid, 0), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(ep, &host.domain->fid, 0), -FI_EINVAL);
	ok(fi_ep_bind(ep, &host.cq->fid, FI_RECV));
	assert_int_equal(fi_ep_bind(ep, &host.cq->fid, FI_RECV), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(host.ep, &host.cq->fid, FI_RECV), -FI_EOPBADSTATE);
	ok(fi_close(&ep->fid));
}

static void bind__refuses_what_another_domain_owns(void **state)
{
	struct host other = {0};
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fid_cntr *cntr;
	host_open_domain(&other, fixture_hints(1));
	host_open_ep(&other, &plain);
	ok(fi_cntr_open(other.domain, &attr, &cntr, NULL));
	ok(fi_endpoint(host.domain, host.info, &host.ep, NULL));
	assert_int_equal(fi_ep_bind(host.ep, &other.av->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(host.ep, &other.cq->fid, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(host.ep, &cntr->fid, FI_TRANSMIT), -FI_EINVAL);
	ok(fi_close(&cntr->fid));
	host_close(&other);
}

static void getname__address_and_number(void **state)
{
	host_open_ep(&host, &plain);
	struct sockaddr_in in = name_of(host.ep);
	char tiny[3];
	size_t len = sizeof tiny;
	assert_int_equal(in.sin_family, AF_INET);
	assert_int_equal(ntohl(in.sin_addr.s_addr), 0x0a000001);
	assert_true(ntohs(in.sin_port) != 0);
	assert_int_equal(fi_getname(&host.ep->fid, tiny, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof in);
}

static void setname__chooses_the_number(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(777)}, wrong = in;
	ok(fi_endpoint(host.domain, host.info, &host.ep, NULL));
	wrong.sin_addr.s_addr = htonl(0x0a0000ff);
	assert_int_equal(fi_setname(&host.ep->fid, &wrong, sizeof wrong), -FI_EADDRNOTAVAIL);
	ok(fi_setname(&host.ep->fid, &in, sizeof in));
	assert_int_equal(ntohs(name_of(host.ep).sin_port), 777);
	assert_int_equal(fi_setname(&host.ep->fid, &in, sizeof in), -FI_EOPBADSTATE);
}

/* A service name given to fi_getinfo as source is the endpoint's number; only one endpoint can have it. */
static void source_port__is_unique(void **state)
{
	struct fi_info *info;
	struct fid_ep *first, *second;
	struct sockaddr_in in;
	size_t len = sizeof in;
	ok(fi_getinfo(FIXTURE_VERSION, "10.0.0.1", "9228", FI_SOURCE, NULL, &info));
	ok(fi_endpoint(host.domain, info, &first, NULL));
	assert_int_equal(ntohs(name_of(first).sin_port), 9228);
	ok(fi_endpoint(host.domain, info, &second, NULL));
	assert_int_equal(fi_getname(&second->fid, &in, &len), -FI_EADDRINUSE);
	ok(fi_close(&first->fid));
	assert_int_equal(ntohs(name_of(second).sin_port), 9228);
	ok(fi_close(&second->fid));
	fi_freeinfo(info);
}

static void domain__shared_device(void **state)
{
	struct host again = {0};
	host_open_domain(&again, fixture_hints(0));
	host_open_ep(&again, &plain);
	host_open_ep(&host, &plain);
	assert_int_not_equal(name_of(again.ep).sin_port, name_of(host.ep).sin_port);
	host_close(&again);
	char in[8];
	struct sockaddr_in self = name_of(host.ep);
	fi_addr_t addr;
	assert_int_equal(fi_av_insert(host.av, &self, 1, &addr, 0, NULL), 1);
	ok(fi_recv(host.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	host.other = &host;
	ok(fi_inject(host.ep, "alive", 6, addr));
	next_done(&host);
	assert_string_equal(in, "alive");
}

static void domain__close_is_refused_while_in_use(void **state)
{
	host_open_ep(&host, &plain);
	assert_int_equal(fi_close(&host.domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&host.fabric->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&host.cq->fid), -FI_EBUSY);
}

static void domain__unknown_device(void **state)
{
	struct fid_domain *domain;
	free(host.info->domain_attr->name);
	host.info->domain_attr->name = strdup("net_nothing");
	assert_int_equal(fi_domain(host.fabric, host.info, &domain, NULL), -FI_ENODEV);
}

static void domain__bad_tuning_is_refused(void **state)
{
	static const char *const rows[][2] = {
		{"FI_WEFT_ENCAP", "tcp"},
		{"FI_WEFT_PROFILE", "ai"},
		{"FI_WEFT_TUNE", "encap=3"},
		{"FI_WEFT_TUNE", "payload_bytes"},
		{"FI_WEFT_TUNE", "payload_bytes=0"},
		{"FI_WEFT_TUNE", "no_such_thing=1"},
		{"FI_WEFT_TUNE", "payload_bytes=4096,x"},
		{"FI_WEFT_CC", "no_such_cc"},
		{"FI_WEFT_LB", "no_such_lb"},
		{"FI_WEFT_PEER_TIMEOUT_MS", "-1"},
		{"FI_WEFT_MTU", "20"},
	};
	for (size_t i = 0; i < count_of(rows); i++) {
		struct fi_info *info, *hints = fixture_hints(1);
		struct fid_domain *domain;
		ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &info));
		setenv(rows[i][0], rows[i][1], 1);
		if (fi_domain(host.fabric, info, &domain, NULL) == 0)
			fail_msg("%s=%s was accepted", rows[i][0], rows[i][1]);
		unsetenv(rows[i][0]);
		fi_freeinfo(hints);
		fi_freeinfo(info);
	}
}

static void domain__patience_below_a_millisecond(void **state)
{
	struct host other = {0};
	setenv("FI_WEFT_TUNE", "peer_timeout_ns=500000", 1);
	host_open_domain(&other, fixture_hints(1));
	unsetenv("FI_WEFT_TUNE");
	host_close(&other);
}

static void op_flags__can_be_changed(void **state)
{
	uint64_t flags = FI_TRANSMIT | FI_INJECT_COMPLETE;
	host_open_ep(&host, &plain);
	ok(fi_control(&host.ep->fid, FI_SETOPSFLAG, &flags));
	flags = FI_TRANSMIT;
	ok(fi_control(&host.ep->fid, FI_GETOPSFLAG, &flags));
	assert_int_equal(flags, FI_INJECT_COMPLETE);
	flags = 0;
	assert_int_equal(fi_control(&host.ep->fid, FI_GETOPSFLAG, &flags), -FI_EINVAL);
}

static void stats__count_messages(void **state)
{
	struct weft_fi_ops *ops;
	struct weft_stats before, after;
	hosts_open(hosts, NULL);
	ok(fi_open_ops(&hosts[0].domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL));
	assert_true(ops->size >= sizeof *ops);
	ok(ops->stats(&hosts[0].domain->fid, &before));
	ok(fi_send(hosts[0].ep, NULL, 0, NULL, hosts[0].peer, NULL));
	next_done(&hosts[0]);
	ok(ops->stats(&hosts[0].ep->fid, &after));
	assert_int_equal(after.msg_sent, before.msg_sent + 1);
	assert_int_equal(ops->stats(&hosts[0].av->fid, &after), -FI_EINVAL);
	assert_int_equal(fi_open_ops(&hosts[0].domain->fid, "other", 0, (void **)&ops, NULL), -FI_ENOSYS);
	hosts_close(hosts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(enable__needs_av_and_cq, setup, teardown),
		cmocka_unit_test_setup_teardown(bind__refuses_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(bind__refuses_what_another_domain_owns, setup, teardown),
		cmocka_unit_test_setup_teardown(getname__address_and_number, setup, teardown),
		cmocka_unit_test_setup_teardown(setname__chooses_the_number, setup, teardown),
		cmocka_unit_test_setup_teardown(source_port__is_unique, setup, teardown),
		cmocka_unit_test_setup_teardown(domain__shared_device, setup, teardown),
		cmocka_unit_test_setup_teardown(domain__close_is_refused_while_in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(domain__unknown_device, setup, teardown),
		cmocka_unit_test_setup_teardown(domain__bad_tuning_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(domain__patience_below_a_millisecond, setup, teardown),
		cmocka_unit_test_setup_teardown(op_flags__can_be_changed, setup, teardown),
		cmocka_unit_test(stats__count_messages),
	};
	setenv("FI_WEFT_COPY_BYTES", "0", 1); /* a completed send has arrived */
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
