/* SPDX-License-Identifier: BSD-3-Clause */
/* Many domains and endpoints at once, on one device and on two; what a domain tells and refuses. */
#include "fixture.h"
#include "member.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 64 };

/* A domain and an endpoint each; every other one on the other device. */
static struct host many[COUNT];

static void all_open(void)
{
	static const struct host_opts none;
	for (int i = 0; i < COUNT; i++) {
		struct fi_info *hints = fixture_hints(i % 2);
		host_open_domain(&many[i], hints);
		host_open_ep(&many[i], &none);
	}
}

static fi_addr_t insert(struct host *h, const struct host *peer)
{
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	fi_addr_t addr;
	ok(fi_getname(&peer->ep->fid, name, &len));
	assert_int_equal(fi_av_insert(h->av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

/* Each sends to the next one and to the one after it: to both devices, each domain its own completions. */
static void many__domains_and_endpoints(void **state)
{
	static uint64_t in[COUNT][2], out[COUNT];
	all_open();
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < 2; k++)
			ok(fi_trecv(many[i].ep, &in[i][k], sizeof in[i][k], NULL, FI_ADDR_UNSPEC, (uint64_t)k, 0,
				    NULL));
	for (int i = 0; i < COUNT; i++) {
		out[i] = (uint64_t)i + 1000;
		for (int k = 0; k < 2; k++) {
			fi_addr_t to = insert(&many[i], &many[(i + k + 1) % COUNT]);
			ok(fi_tsend(many[i].ep, &out[i], sizeof out[i], NULL, to, (uint64_t)k, NULL));
		}
	}
	for (int i = 0; i < COUNT; i++) {
		many[i].other = &many[(i + 1) % COUNT];
		for (int done = 0; done < 4; done++)
			next_done(&many[i]);
	}
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < 2; k++)
			assert_int_equal(in[i][k], (i + COUNT - k - 1) % COUNT + 1000);
	for (int i = 0; i < COUNT; i++)
		host_close(&many[i]);
}

/* fi_getinfo names an open domain, and lists only its device when asked. */
static void getinfo__knows_open_domains(void **state)
{
	struct host h = {0};
	struct fi_info *hints, *info;
	host_open_domain(&h, fixture_hints(1));
	assert_null(h.info->domain_attr->domain);
	hints = fi_allocinfo();
	assert_non_null(hints);
	hints->domain_attr->domain = h.domain;
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &info));
	assert_string_equal(info->domain_attr->name, "net_ring_host1");
	assert_ptr_equal(info->domain_attr->domain, h.domain);
	fi_freeinfo(info);
	hints->domain_attr->domain = NULL;
	fi_freeinfo(hints);
	host_close(&h);
}

/* What is promised about threads is what was asked for, else the most; each level works alike. */
static void getinfo__threading_is_echoed(void **state)
{
	static const enum fi_threading levels[] = {FI_THREAD_UNSPEC, FI_THREAD_SAFE,       FI_THREAD_FID,
						   FI_THREAD_DOMAIN, FI_THREAD_COMPLETION, FI_THREAD_ENDPOINT};
	for (size_t i = 0; i < count_of(levels); i++) {
		struct fi_info *hints = fixture_hints(0);
		struct host h = {0};
		hints->domain_attr->threading = levels[i];
		host_open_domain(&h, hints);
		assert_int_equal(h.info->domain_attr->threading, levels[i] ? levels[i] : FI_THREAD_SAFE);
		host_close(&h);
	}
}

static void close__in_use_is_busy(void **state)
{
	struct host h = {0};
	static const struct host_opts none;
	host_open_domain(&h, fixture_hints(0));
	host_open_ep(&h, &none);
	assert_int_equal(fi_close(&h.domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&h.fabric->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&h.cq->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&h.av->fid), -FI_EBUSY);
	host_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many__domains_and_endpoints),
		cmocka_unit_test(getinfo__knows_open_domains),
		cmocka_unit_test(getinfo__threading_is_echoed),
		cmocka_unit_test(close__in_use_is_busy),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
