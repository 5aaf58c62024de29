/* SPDX-License-Identifier: BSD-3-Clause */
/* Two hosts in one process, each with its own device, domain and endpoint, joined by two rings. Everything goes through
 * libfabric's public interface. */
#ifndef PROVIDER_FIXTURE_H
#define PROVIDER_FIXTURE_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "cmocka_all.h"

#define FIXTURE_VERSION FI_VERSION(1, 17)

#define ok(call) assert_int_equal(call, 0)

struct host {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq; /* FI_CQ_FORMAT_TAGGED, for sends and receives */
	struct fid_ep *ep;
	fi_addr_t peer; /* the other host in our address vector */
	struct host *other;
};

/* What a test wants to differ. */
struct host_opts {
	uint64_t bind_flags;       /* added to those of the completion queue */
	enum fi_progress progress; /* UNSPEC: manual */
	enum fi_av_type av_type;
	enum fi_wait_obj wait_obj;
	uint64_t caps; /* added to those of the hints */
};

/* Makes the two devices and names them in the environment. Once per process: a cmocka group setup. */
int rings_setup(void **state);

/* Takes out what is left in the rings; the devices are closed. */
void rings_drain(void);

/* Part of that: names two ring devices, host0 and host1, in the environment. */
void fixture_env(void);

/* Hints for one of our endpoints; index 0 or 1 chooses the device. The caller frees. */
struct fi_info *fixture_hints(int index);

/* Opens and connects both hosts; NULL: no special wishes. */
void hosts_open(struct host pair[2], const struct host_opts *opts);
void hosts_close(struct host pair[2]);
/* The same as cmocka setup and teardown, for two hosts of everybody's. The test's initial state may be a struct
 * host_opts. */
extern struct host hosts[2];
int hosts_setup(void **state);
int hosts_teardown(void **state);
/* Piecewise, for tests that need less or something else. */
void host_open_domain(struct host *h, struct fi_info *hints);
void host_open_ep(struct host *h, const struct host_opts *opts);
/* Puts the other host into the address vector. */
void host_meet(struct host *h);
void host_close(struct host *h);

/* Next completion of `h`, while the other host makes progress too. */
struct fi_cq_tagged_entry next_done(struct host *h);
/* The same, but it must be an error; returns the entry. */
struct fi_cq_err_entry next_error(struct host *h);
/* Lets both make progress until nothing comes any more; fails the test if `h` has a completion. */
void expect_nothing(struct host *h);
/* Byte `i` of the payload numbered `seed`. */
uint8_t pattern_at(uint64_t seed, size_t i);
void pattern_fill(uint8_t *buf, size_t len, uint64_t seed);
/* First wrong byte, or `len`. */
size_t pattern_check(const uint8_t *buf, size_t len, uint64_t seed);

#endif
