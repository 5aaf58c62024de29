/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "handover.h"
#include "weft/ethdev.h"

struct host hosts[2];
static struct rte_ring *rings[2];

/* Packets left in a ring keep the pool of a closed device alive. */
void rings_drain(void)
{
	void *mbuf;
	for (int i = 0; i < 2; i++)
		while (rings[i] && rte_ring_dequeue(rings[i], &mbuf) == 0) {
			handover_taken(mbuf);
			rte_pktmbuf_free(mbuf);
		}
}

static struct rte_ring *ring_new(const char *name)
{
	enum { ENTRIES = 4096 };
	return rte_ring_create(name, ENTRIES, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

void fixture_env(void)
{
	setenv("FI_PROVIDER", "weft", 1);
	setenv("FI_WEFT_DEVICE", "net_ring_host0;net_ring_host1", 1);
	setenv("FI_WEFT_ADDR", "10.0.0.1;10.0.0.2", 1);
	setenv("FI_WEFT_LINGER_MS", "20", 1); /* one thread cannot close both ends at once */
}

int rings_setup(void **state)
{
	struct weft_err err;
	if (weft_eal_start(NULL, &err)) {
		print_error("%s\n", err.msg);
		return -1;
	}
	rings[0] = ring_new("up");
	rings[1] = ring_new("down");
	if (!rings[0] || !rings[1])
		return -1;
	int ports[] = {rte_eth_from_rings("host0", &rings[1], 1, &rings[0], 1, 0),
		       rte_eth_from_rings("host1", &rings[0], 1, &rings[1], 1, 0)};
	for (int i = 0; i < 2; i++)
		if (ports[i] < 0 || handover_watch((uint16_t)ports[i], 1))
			return -1;
	fixture_env();
	return 0;
}

struct fi_info *fixture_hints(int index)
{
	struct fi_info *hints = fi_allocinfo();
	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->name = strdup(index ? "net_ring_host1" : "net_ring_host0");
	return hints;
}

void host_open_domain(struct host *h, struct fi_info *hints)
{
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &h->info));
	fi_freeinfo(hints);
	ok(fi_fabric(h->info->fabric_attr, &h->fabric, NULL));
	ok(fi_domain(h->fabric, h->info, &h->domain, NULL));
}

void host_open_ep(struct host *h, const struct host_opts *opts)
{
	struct fi_av_attr av_attr = {.type = opts->av_type};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = opts->wait_obj};
	ok(fi_av_open(h->domain, &av_attr, &h->av, NULL));
	ok(fi_cq_open(h->domain, &cq_attr, &h->cq, NULL));
	ok(fi_endpoint(h->domain, h->info, &h->ep, NULL));
	ok(fi_ep_bind(h->ep, &h->av->fid, 0));
	ok(fi_ep_bind(h->ep, &h->cq->fid, FI_TRANSMIT | FI_RECV | opts->bind_flags));
	ok(fi_enable(h->ep));
}

void host_meet(struct host *h)
{
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	ok(fi_getname(&h->other->ep->fid, name, &len));
	assert_int_equal(fi_av_insert(h->av, name, 1, &h->peer, 0, NULL), 1);
}

void hosts_open(struct host pair[2], const struct host_opts *opts)
{
	static const struct host_opts none;
	for (int i = 0; i < 2; i++) {
		struct fi_info *hints = fixture_hints(i);
		pair[i] = (struct host){.other = &pair[!i]};
		hints->caps |= opts ? opts->caps : 0;
		hints->domain_attr->data_progress = opts ? opts->progress : FI_PROGRESS_UNSPEC;
		host_open_domain(&pair[i], hints);
		host_open_ep(&pair[i], opts ? opts : &none);
	}
	host_meet(&pair[0]);
	host_meet(&pair[1]);
}

void host_close(struct host *h)
{
	if (h->ep)
		ok(fi_close(&h->ep->fid));
	if (h->cq)
		ok(fi_close(&h->cq->fid));
	if (h->av)
		ok(fi_close(&h->av->fid));
	ok(fi_close(&h->domain->fid));
	ok(fi_close(&h->fabric->fid));
	fi_freeinfo(h->info);
	rings_drain();
}

void hosts_close(struct host pair[2])
{
	host_close(&pair[0]);
	host_close(&pair[1]);
}

int hosts_setup(void **state)
{
	hosts_open(hosts, *state);
	return 0;
}

int hosts_teardown(void **state)
{
	hosts_close(hosts);
	return 0;
}

static void progress(struct host *h)
{
	fi_cq_read(h->cq, NULL, 0);
}

static ssize_t wait_ready(struct host *h, struct fi_cq_tagged_entry *entry)
{
	ssize_t n;
	while ((n = fi_cq_read(h->cq, entry, 1)) == -FI_EAGAIN)
		progress(h->other);
	return n;
}

struct fi_cq_tagged_entry next_done(struct host *h)
{
	struct fi_cq_tagged_entry entry = {0};
	ssize_t n = wait_ready(h, &entry);
	if (n == -FI_EAVAIL) {
		struct fi_cq_err_entry err = {0};
		fi_cq_readerr(h->cq, &err, 0);
		fail_msg("completion with error: %s", fi_strerror(err.err));
	}
	assert_int_equal(n, 1);
	return entry;
}

struct fi_cq_err_entry next_error(struct host *h)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = {0};
	assert_int_equal(wait_ready(h, &entry), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(h->cq, &err, 0), 1);
	return err;
}

void expect_nothing(struct host *h)
{
	enum { POLLS = 2000 };
	struct fi_cq_tagged_entry entry;
	for (int i = 0; i < POLLS; i++) {
		assert_int_equal(fi_cq_read(h->cq, &entry, 1), -FI_EAGAIN);
		progress(h->other);
	}
}

uint8_t pattern_at(uint64_t seed, size_t i)
{
	return (uint8_t)((seed * 0x9e3779b97f4a7c15u + i) * 0xbf58476d1ce4e5b9u >> 40);
}

void pattern_fill(uint8_t *buf, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = pattern_at(seed, i);
}

size_t pattern_check(const uint8_t *buf, size_t len, uint64_t seed)
{
	size_t i = 0;
	while (i < len && buf[i] == pattern_at(seed, i))
		i++;
	return i;
}
