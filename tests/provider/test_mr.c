/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <dlfcn.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <string.h>

enum { ALL = FI_REMOTE_READ | FI_REMOTE_WRITE };

static void reg__keys_are_the_applications(void **state)
{
	struct host *h = hosts;
	uint8_t mem[64] = {0};
	struct fid_mr *a, *b, *c;
	ok(fi_mr_reg(h[0].domain, mem, sizeof mem, ALL, 0, UINT64_MAX, 0, &a, mem));
	assert_int_equal(fi_mr_key(a), UINT64_MAX);
	assert_ptr_equal(a->fid.context, mem);
	assert_null(fi_mr_desc(a));
	assert_int_equal(fi_mr_reg(h[0].domain, mem, sizeof mem, ALL, 0, UINT64_MAX, 0, &b, NULL), -FI_ENOKEY);
	ok(fi_mr_reg(h[1].domain, mem, sizeof mem, ALL, 0, UINT64_MAX, 0, &b, NULL)); /* another domain */
	ok(fi_close(&a->fid));
	ok(fi_mr_reg(h[0].domain, mem, sizeof mem, ALL, 0, UINT64_MAX, 0, &c, NULL));
	ok(fi_close(&b->fid));
	ok(fi_close(&c->fid));
}

static void reg__refusals(void **state)
{
	struct host *h = hosts;
	uint8_t mem[64] = {0};
	struct iovec iov[17];
	struct fid_mr *mr;
	for (int i = 0; i < 17; i++)
		iov[i] = (struct iovec){mem, 1};
	assert_int_equal(fi_mr_reg(h[0].domain, mem, 64, 1ULL << 5, 0, 1, 0, &mr, NULL), -FI_EINVAL);
	assert_int_equal(fi_mr_reg(h[0].domain, mem, 64, ALL, 0, 1, FI_RMA_PMEM, &mr, NULL), -FI_EBADFLAGS);
	assert_int_equal(fi_mr_reg(h[0].domain, mem, 64, ALL, 8, 1, 0, &mr, NULL), -FI_EINVAL);
	assert_int_equal(fi_mr_regv(h[0].domain, iov, 17, ALL, 0, 1, 0, &mr, NULL), -FI_EINVAL);
	assert_int_equal(fi_mr_regv(h[0].domain, iov, 0, ALL, 0, 1, 0, &mr, NULL), -FI_EINVAL);
}

/* CUDA's driver is not on every machine; where it is, it does not know this memory. */
static void regattr__memory_of_devices(void **state)
{
	struct fi_info *hints = fixture_hints(0);
	struct host h = {.other = &h};
	uint8_t bytes[64] = {0};
	const struct iovec iov = {bytes, sizeof bytes};
	struct fi_mr_attr attr = {.mr_iov = &iov, .iov_count = 1, .access = ALL, .requested_key = 1};
	struct fid_mr *mr;
	hints->caps |= FI_HMEM;
	hints->domain_attr->mr_mode = FI_MR_HMEM;
	host_open_domain(&h, hints);
	ok(fi_mr_regattr(h.domain, &attr, 0, &mr));
	ok(fi_close(&mr->fid));
	attr.iface = FI_HMEM_CUDA;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int ret = fi_mr_regattr(h.domain, &attr, 0, &mr);
	assert_true(ret == -FI_ENOSYS || (driver && ret == -FI_EINVAL));
	attr.iface = FI_HMEM_ZE;
	assert_int_equal(fi_mr_regattr(h.domain, &attr, 0, &mr), -FI_ENOSYS);
	if (driver)
		dlclose(driver);
	host_close(&h);
}

static void close__domain_is_busy(void **state)
{
	struct host *h = hosts;
	struct fid_mr *mr;
	uint8_t mem[64] = {0};
	ok(fi_mr_reg(h[0].domain, mem, 64, ALL, 0, 1, 0, &mr, NULL));
	assert_int_equal(fi_close(&h[0].domain->fid), -FI_EBUSY);
	ok(fi_close(&mr->fid));
}

/* One region of three pieces, written and read across their borders. */
static void regv__scattered(void **state)
{
	struct host *h = hosts;
	uint8_t a[100], b[1], c[6000], buf[6101], in[6101];
	const struct iovec iov[3] = {{a, sizeof a}, {b, sizeof b}, {c, sizeof c}};
	struct fid_mr *mr;
	ok(fi_mr_regv(h[1].domain, iov, 3, ALL, 0, 3, 0, &mr, NULL));
	pattern_fill(buf, sizeof buf, 7);
	ok(fi_write(h[0].ep, buf, sizeof buf, NULL, h[0].peer, 0, 3, NULL));
	next_done(&h[0]);
	assert_memory_equal(a, buf, 100);
	assert_int_equal(b[0], buf[100]);
	assert_memory_equal(c, buf + 101, 6000);
	ok(fi_read(h[0].ep, in, 5000, NULL, h[0].peer, 50, 3, NULL));
	next_done(&h[0]);
	assert_memory_equal(in, buf + 50, 5000);
	ok(fi_read(h[0].ep, in, 2, NULL, h[0].peer, 99, 3, NULL));
	next_done(&h[0]);
	assert_memory_equal(in, buf + 99, 2);
	ok(fi_write(h[0].ep, buf, 2, NULL, h[0].peer, 6100, 3, NULL));
	assert_int_equal(next_error(&h[0]).err, FI_EINVAL);
	ok(fi_close(&mr->fid));
}

/* The old way: our keys, virtual addresses. */
static void basic__virtual_addresses(void **state)
{
	struct host h[2] = {0};
	uint8_t mem[64] = {0}, buf[8] = {1, 2, 3};
	struct fid_mr *mr[2];
	for (int i = 0; i < 2; i++) {
		struct fi_info *hints = fixture_hints(i);
		h[i].other = &h[!i];
		hints->domain_attr->mr_mode = FI_MR_BASIC;
		host_open_domain(&h[i], hints);
		assert_int_equal(h[i].info->domain_attr->mr_mode, FI_MR_BASIC);
		host_open_ep(&h[i], &(struct host_opts){0});
	}
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	ok(fi_getname(&h[1].ep->fid, name, &len));
	assert_int_equal(fi_av_insert(h[0].av, name, 1, &h[0].peer, 0, NULL), 1);
	ok(fi_mr_reg(h[1].domain, mem, sizeof mem, ALL, 0, 77, 0, &mr[0], NULL));
	ok(fi_mr_reg(h[1].domain, mem, sizeof mem, ALL, 0, 77, 0, &mr[1], NULL));
	assert_true(fi_mr_key(mr[0]) >> 32 && fi_mr_key(mr[1]) >> 32); /* not to be guessed */
	assert_true(fi_mr_key(mr[0]) != fi_mr_key(mr[1]) && fi_mr_key(mr[1]) != fi_mr_key(mr[0]) + 1);
	ok(fi_write(h[0].ep, buf, 8, NULL, h[0].peer, (uintptr_t)(mem + 56), fi_mr_key(mr[1]), NULL));
	next_done(&h[0]);
	assert_memory_equal(mem + 56, buf, 8);
	ok(fi_write(h[0].ep, buf, 8, NULL, h[0].peer, (uintptr_t)(mem + 57), fi_mr_key(mr[1]), NULL));
	assert_int_equal(next_error(&h[0]).err, FI_EINVAL);
	ok(fi_write(h[0].ep, buf, 8, NULL, h[0].peer, 0, fi_mr_key(mr[1]), NULL));
	assert_int_equal(next_error(&h[0]).err, FI_EINVAL);
	ok(fi_close(&mr[0]->fid));
	ok(fi_close(&mr[1]->fid));
	hosts_close(h);
}

static uint64_t value_after(struct host *h, struct fid_cntr *cntr, uint64_t wanted)
{
	uint64_t v = 0;
	for (int i = 0; i < 100000 && (v = fi_cntr_read(cntr)) < wanted; i++)
		fi_cq_read(h->other->cq, NULL, 0);
	return v;
}

/* Counters of a region, and of both endpoints. */
static void counters__of_region_and_endpoints(void **state)
{
	static const uint64_t local[2] = {FI_WRITE, FI_READ}, remote[2] = {FI_REMOTE_WRITE, FI_REMOTE_READ};
	struct host h[2] = {0};
	struct fid_cntr *at_ep[2][2], *at_mr[2];
	struct fid_mr *mr;
	uint8_t mem[3000] = {0}, buf[3000] = {0};
	for (int i = 0; i < 2; i++) {
		h[i].other = &h[!i];
		host_open_domain(&h[i], fixture_hints(i));
		struct fi_av_attr av = {0};
		struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED};
		ok(fi_av_open(h[i].domain, &av, &h[i].av, NULL));
		ok(fi_cq_open(h[i].domain, &cq, &h[i].cq, NULL));
		ok(fi_endpoint(h[i].domain, h[i].info, &h[i].ep, NULL));
		ok(fi_ep_bind(h[i].ep, &h[i].av->fid, 0));
		ok(fi_ep_bind(h[i].ep, &h[i].cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
		for (int k = 0; k < 2; k++) {
			ok(fi_cntr_open(h[i].domain, NULL, &at_ep[i][k], NULL));
			ok(fi_ep_bind(h[i].ep, &at_ep[i][k]->fid, i ? remote[k] : local[k]));
		}
		ok(fi_enable(h[i].ep));
	}
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	ok(fi_getname(&h[1].ep->fid, name, &len));
	assert_int_equal(fi_av_insert(h[0].av, name, 1, &h[0].peer, 0, NULL), 1);
	ok(fi_mr_reg(h[1].domain, mem, sizeof mem, ALL, 0, 1, FI_RMA_EVENT, &mr, NULL));
	for (int k = 0; k < 2; k++) {
		ok(fi_cntr_open(h[1].domain, NULL, &at_mr[k], NULL));
		ok(fi_mr_bind(mr, &at_mr[k]->fid, remote[k]));
	}
	ok(fi_mr_enable(mr));
	for (int i = 0; i < 3; i++)
		ok(fi_write(h[0].ep, buf, sizeof buf, NULL, h[0].peer, 0, 1, NULL));
	for (int i = 0; i < 2; i++)
		ok(fi_read(h[0].ep, buf, (size_t)(1 + i * 2000), NULL, h[0].peer, 0, 1, NULL));
	for (int k = 0; k < 2; k++) {
		assert_int_equal(value_after(&h[0], at_ep[0][k], 3 - (uint64_t)k), 3 - k);
		assert_int_equal(value_after(&h[1], at_ep[1][k], 3 - (uint64_t)k), 3 - k);
		assert_int_equal(value_after(&h[1], at_mr[k], 3 - (uint64_t)k), 3 - k);
	}
	ok(fi_write(h[0].ep, buf, 1, NULL, h[0].peer, 0, 99, NULL));
	assert_int_equal(next_error(&h[0]).err, FI_EACCES);
	assert_int_equal(fi_cntr_readerr(at_ep[0][0]), 1);
	assert_int_equal(fi_close(&at_mr[0]->fid), -FI_EBUSY);
	ok(fi_close(&mr->fid));
	for (int i = 0; i < 2; i++) {
		ok(fi_close(&h[i].ep->fid));
		h[i].ep = NULL;
		ok(fi_close(&at_mr[i]->fid));
		for (int k = 0; k < 2; k++)
			ok(fi_close(&at_ep[i][k]->fid));
	}
	hosts_close(h);
}

static void bind__event_queue_hears_of_registrations(void **state)
{
	struct host h[1] = {0};
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_eq_entry entry;
	struct fid_eq *eq;
	struct fid_mr *mr;
	uint8_t mem[8] = {0};
	uint32_t event;
	host_open_domain(h, fixture_hints(0));
	ok(fi_eq_open(h[0].fabric, &attr, &eq, NULL));
	ok(fi_domain_bind(h[0].domain, &eq->fid, FI_REG_MR));
	ok(fi_mr_reg(h[0].domain, mem, 8, ALL, 0, 1, 0, &mr, mem));
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
	assert_int_equal(event, FI_MR_COMPLETE);
	assert_ptr_equal(entry.fid, &mr->fid);
	assert_ptr_equal(entry.context, mem);
	ok(fi_close(&mr->fid));
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
	ok(fi_close(&h[0].domain->fid));
	ok(fi_close(&eq->fid));
	ok(fi_close(&h[0].fabric->fid));
	fi_freeinfo(h[0].info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reg__keys_are_the_applications, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(reg__refusals, hosts_setup, hosts_teardown),
		cmocka_unit_test(regattr__memory_of_devices),
		cmocka_unit_test_setup_teardown(close__domain_is_busy, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(regv__scattered, hosts_setup, hosts_teardown),
		cmocka_unit_test(basic__virtual_addresses),
		cmocka_unit_test(counters__of_region_and_endpoints),
		cmocka_unit_test(bind__event_queue_hears_of_registrations),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
