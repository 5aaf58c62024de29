/* SPDX-License-Identifier: BSD-3-Clause */
/* A device that takes no packets any more: the thread that makes progress has work all the time, but calls of the
 * application get the lock. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixture.h"
#include "weft/ethdev.h"

static struct weft_port *switch_end;

/* One device with a small ring at whose other end nobody takes anything. */
static int ring_setup(void **state)
{
	struct weft_err err;
	if (weft_eal_start(NULL, &err) || weft_ethdev_ring_pair("full", 16, &switch_end, &err)) {
		print_error("%s\n", err.msg);
		return -1;
	}
	fixture_env();
	setenv("FI_WEFT_DEVICE", "net_ring_full", 1);
	setenv("FI_WEFT_ADDR", "10.0.0.1", 1);
	setenv("FI_WEFT_NO_ARP", "1", 1);
	return 0;
}

static int ring_teardown(void **state)
{
	switch_end->ops->close(switch_end);
	return 0;
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static fi_addr_t silent_peer(struct host *h)
{
	struct sockaddr_in sock = {.sin_family = AF_INET, .sin_port = htons(0xc000)};
	fi_addr_t peer;
	inet_pton(AF_INET, "10.0.0.2", &sock.sin_addr);
	assert_int_equal(fi_av_insert(h->av, &sock, 1, &peer, 0, NULL), 1);
	return peer;
}

/* Longest of the calls of fi_cq_read within a second. */
static double longest_read(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	double longest = 0, end = seconds() + 1;
	while (seconds() < end) {
		const struct timespec nap = {.tv_nsec = 1000000};
		double start = seconds();
		assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
		if (seconds() - start > longest)
			longest = seconds() - start;
		nanosleep(&nap, NULL);
	}
	return longest;
}

static void cq_read__returns_soon(void **state)
{
	static char buf[200000];
	const struct host_opts opts = {.wait_obj = FI_WAIT_FD};
	struct host h = {0};
	struct fi_info *hints = fixture_hints(0);
	free(hints->domain_attr->name);
	hints->domain_attr->name = strdup("net_ring_full");
	host_open_domain(&h, hints);
	host_open_ep(&h, &opts);
	fi_addr_t peer = silent_peer(&h);
	for (int i = 0; i < 8; i++)
		ok(fi_tsend(h.ep, buf, sizeof buf, NULL, peer, 1, NULL));
	double longest = longest_read(h.cq);
	print_message("longest fi_cq_read: %.4f s\n", longest);
	assert_true(longest < 0.5);
	host_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(cq_read__returns_soon)};
	return cmocka_run_group_tests(tests, ring_setup, ring_teardown);
}
