/* SPDX-License-Identifier: BSD-3-Clause */
/* FI_HMEM: memory of devices takes part in every transfer without being touched by the CPU. */
#include "fixture.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

enum { HALF = FAKE_CUDA_BYTES / 2, KEY = 9, LONGEST = 700000, ALL = FI_REMOTE_READ | FI_REMOTE_WRITE };

/* Half of the devices' memory is registered at each host. */
static struct host *const a = &hosts[0], *const b = &hosts[1];
static struct fid_mr *mrs[2];
static uint8_t *mem[2];

/* Through 16 KiB sends are copied at once, above 128 KiB they are announced. */
static const size_t sizes[] = {1, 100, 5000, 20000, LONGEST};

enum { SIZES = sizeof sizes / sizeof *sizes };

static struct fi_info *hints_new(int index, enum fi_ep_type type)
{
	struct fi_info *hints = fixture_hints(index);
	hints->caps = FI_MSG | FI_HMEM | (type == FI_EP_RDM ? FI_TAGGED | FI_RMA | FI_ATOMIC : 0);
	hints->ep_attr->type = type;
	hints->domain_attr->mr_mode = FI_MR_HMEM;
	return hints;
}

static int reg(int i, void *at, size_t len, enum fi_hmem_iface iface, int device, uint64_t flags, struct fid_mr **mr)
{
	const struct iovec iov = {at, len};
	const struct fi_mr_attr attr = {.mr_iov = &iov,
					.iov_count = 1,
					.access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | ALL,
					.requested_key = KEY,
					.iface = iface,
					.device.cuda = device};
	return fi_mr_regattr(hosts[i].domain, &attr, flags, mr);
}

static int open_all(enum fi_ep_type type)
{
	static const struct host_opts none;
	for (int i = 0; i < 2; i++) {
		hosts[i] = (struct host){.other = &hosts[!i]};
		host_open_domain(&hosts[i], hints_new(i, type));
		host_open_ep(&hosts[i], &none);
		mem[i] = (uint8_t *)fake_cuda_memory() + i * HALF;
		ok(reg(i, mem[i], HALF, FI_HMEM_CUDA, i, FI_HMEM_DEVICE_ONLY, &mrs[i]));
	}
	assert_int_equal(fake_cuda_retained(), 2);
	host_meet(a);
	host_meet(b);
	return 0;
}

static int setup(void **state)
{
	return open_all(FI_EP_RDM);
}

static int setup_dgram(void **state)
{
	return open_all(FI_EP_DGRAM);
}

static int teardown(void **state)
{
	fake_cuda_fail(false);
	for (int i = 0; i < 2; i++)
		ok(fi_close(&mrs[i]->fid));
	hosts_close(hosts);
	assert_int_equal(fake_cuda_retained(), 0);
	return 0;
}

/* ---- what the application does with a device's memory ---- */

static void device_copy(uint8_t *at, uint8_t *other, size_t len, bool to_device)
{
	void *context;
	assert_int_equal(cuDevicePrimaryCtxRetain(&context, 0), 0);
	assert_int_equal(cuCtxPushCurrent_v2(context), 0);
	int err = to_device ? cuMemcpyHtoD_v2((uintptr_t)at, other, len) : cuMemcpyDtoH_v2(other, (uintptr_t)at, len);
	assert_int_equal(err, 0);
	assert_int_equal(cuCtxPopCurrent_v2(&context), 0);
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), 0);
}

static void device_fill(uint8_t *at, size_t len, uint64_t seed)
{
	uint8_t *buf = malloc(len);
	pattern_fill(buf, len, seed);
	device_copy(at, buf, len, true);
	free(buf);
}

/* The pattern, and nothing behind it. */
static void device_check(uint8_t *at, size_t len, uint64_t seed)
{
	uint8_t *buf = malloc(len + 1);
	device_copy(at, buf, len + 1, false);
	assert_int_equal(pattern_check(buf, len, seed), len);
	assert_int_equal(buf[len], 0);
	free(buf);
}

static void device_zero(uint8_t *at, size_t len)
{
	uint8_t *buf = calloc(1, len);
	device_copy(at, buf, len, true);
	free(buf);
}

static void device_check_is(uint8_t *at, const void *want, size_t len)
{
	uint8_t *buf = malloc(len);
	device_copy(at, buf, len, false);
	assert_memory_equal(buf, want, len);
	free(buf);
}

static void *desc(int i)
{
	return fi_mr_desc(mrs[i]);
}

/* ---- fi_getinfo ---- */

static void getinfo__on_request_with_registration(void **state)
{
	struct fi_info *info, *hints = hints_new(0, FI_EP_RDM);
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &info));
	assert_true(info->caps & FI_HMEM && info->tx_attr->caps & FI_HMEM && info->rx_attr->caps & FI_HMEM);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_HMEM);
	fi_freeinfo(info);
	hints->domain_attr->mr_mode = FI_MR_HMEM | FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &info));
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_HMEM);
	fi_freeinfo(info);
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	assert_int_equal(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &info), -FI_ENODATA);
	hints->caps &= ~FI_HMEM;
	hints->domain_attr->mr_mode = FI_MR_HMEM;
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &info));
	assert_int_equal(info->caps & FI_HMEM, 0);
	assert_int_equal(info->domain_attr->mr_mode, 0);
	fi_freeinfo(info);
	fi_freeinfo(hints);
	ok(fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, NULL, &info));
	assert_int_equal(info->caps & FI_HMEM, 0);
	fi_freeinfo(info);
}

/* ---- registration ---- */

static void reg__refusals(void **state)
{
	struct fid_mr *mr;
	uint8_t host_mem[64] = {0};
	ok(fi_close(&mrs[0]->fid));
	assert_int_equal(reg(0, host_mem, 64, FI_HMEM_CUDA, 0, 0, &mr), -FI_EINVAL);
	assert_int_equal(reg(0, mem[0], 64, FI_HMEM_CUDA, FAKE_CUDA_DEVICES, 0, &mr), -FI_EINVAL);
	assert_int_equal(reg(0, mem[0], 64, FI_HMEM_ROCR, 0, 0, &mr), -FI_ENOSYS);
	assert_int_equal(reg(0, mem[0], 64, (enum fi_hmem_iface)99, 0, 0, &mr), -FI_EINVAL);
	assert_int_equal(fake_cuda_retained(), 1);
	ok(reg(0, mem[0], HALF, FI_HMEM_CUDA, 0, 0, &mrs[0]));
	assert_int_equal(reg(0, mem[0], 64, FI_HMEM_CUDA, 0, 0, &mr), -FI_ENOKEY);
	assert_int_equal(fake_cuda_retained(), 2);
}

/* Ordinary memory, also what CUDA's calls took from the host. */
static void reg__memory_of_the_host(void **state)
{
	struct fid_mr *mr;
	uint8_t in[64] = {0}, out[64];
	pattern_fill(out, sizeof out, 3);
	ok(fi_close(&mrs[1]->fid));
	for (int i = 0; i < 2; i++) {
		memset(in, 0, sizeof in);
		ok(reg(1, in, sizeof in, i ? FI_HMEM_CUDA : FI_HMEM_SYSTEM, 0, i ? FI_HMEM_HOST_ALLOC : 0, &mr));
		ok(fi_write(a->ep, out, sizeof out, NULL, a->peer, 0, KEY, out));
		next_done(a);
		assert_memory_equal(in, out, sizeof in);
		ok(fi_close(&mr->fid));
	}
	ok(reg(1, mem[1], HALF, FI_HMEM_CUDA, 1, 0, &mrs[1]));
}

/* ---- messages ---- */

static void send__device_to_device(void **state)
{
	for (int i = 0; i < SIZES; i++) {
		device_zero(mem[1], LONGEST + 1);
		device_fill(mem[0], sizes[i], 10 + i);
		ok(fi_trecv(b->ep, mem[1], LONGEST, desc(1), FI_ADDR_UNSPEC, 7, 0, mem[1]));
		ok(fi_tsend(a->ep, mem[0], sizes[i], desc(0), a->peer, 7, mem[0]));
		struct fi_cq_tagged_entry entry = next_done(b);
		assert_ptr_equal(entry.op_context, mem[1]);
		assert_int_equal(entry.len, sizes[i]);
		assert_ptr_equal(next_done(a).op_context, mem[0]);
		device_check(mem[1], sizes[i], 10 + i);
	}
}

/* The message is here before the receive; the copy went out with the call. */
static void send__unexpected_and_injected(void **state)
{
	device_fill(mem[0], 1000, 1);
	ok(fi_inject(a->ep, mem[0], 1000, a->peer));
	device_fill(mem[0], 1000, 2);
	ok(fi_recv(b->ep, mem[1] + 8, 1000, desc(1), FI_ADDR_UNSPEC, NULL));
	assert_int_equal(next_done(b).len, 1000);
	device_check_is(mem[1] + 8, (uint8_t[]){pattern_at(1, 0), pattern_at(1, 1)}, 2);
}

/* Pieces of both kinds of memory in one message. */
static void sendv__mixed_pieces(void **state)
{
	uint8_t host_out[100], host_in[300] = {0};
	void *descs[3] = {NULL, desc(0), NULL}, *to_descs[2] = {desc(1), NULL};
	const struct iovec from[3] = {{host_out, 40}, {mem[0], 5000}, {host_out + 40, 60}};
	const struct iovec to[2] = {{mem[1], 4900}, {host_in, sizeof host_in}};
	pattern_fill(host_out, sizeof host_out, 1);
	device_fill(mem[0], 5000, 2);
	device_zero(mem[1], 5000);
	ok(fi_recvv(b->ep, to, to_descs, 2, FI_ADDR_UNSPEC, NULL));
	ok(fi_sendv(a->ep, from, descs, 3, a->peer, NULL));
	assert_int_equal(next_done(b).len, 5100);
	next_done(a);
	uint8_t all[5100];
	pattern_fill(all, 40, 1);
	pattern_fill(all + 40, 5000, 2);
	memcpy(all + 5040, host_out + 40, 60);
	device_check_is(mem[1], all, 4900);
	assert_memory_equal(host_in, all + 4900, 200);
}

static void recv__truncated(void **state)
{
	device_zero(mem[1], 300);
	device_fill(mem[0], 200, 4);
	ok(fi_recv(b->ep, mem[1], 100, desc(1), FI_ADDR_UNSPEC, NULL));
	ok(fi_send(a->ep, mem[0], 200, desc(0), a->peer, NULL));
	struct fi_cq_err_entry err = next_error(b);
	assert_int_equal(err.err, FI_ETRUNC);
	assert_int_equal(err.len, 100);
	device_check(mem[1], 100, 4);
}

static void recv__cancelled_or_left_behind(void **state)
{
	ok(fi_recv(b->ep, mem[1], HALF, desc(1), FI_ADDR_UNSPEC, mem));
	ok(fi_cancel(&b->ep->fid, mem));
	assert_int_equal(next_error(b).err, FI_ECANCELED);
	ok(fi_recv(b->ep, mem[1], HALF, desc(1), FI_ADDR_UNSPEC, mem)); /* the endpoint's close ends it */
}

static void recv__claimed(void **state)
{
	struct fi_msg_tagged msg = {.tag = 5, .addr = FI_ADDR_UNSPEC, .context = mem};
	const struct iovec iov = {mem[1], 1000};
	void *descs[1] = {desc(1)};
	ssize_t n;
	struct fi_cq_tagged_entry entry;
	device_zero(mem[1], 1000);
	device_fill(mem[0], 500, 6);
	ok(fi_tinject(a->ep, mem[0], 500, a->peer, 5));
	do {
		ok(fi_trecvmsg(b->ep, &msg, FI_PEEK | FI_CLAIM));
		while ((n = fi_cq_read(b->cq, &entry, 1)) == -FI_EAGAIN)
			fi_cq_read(a->cq, NULL, 0);
		if (n == -FI_EAVAIL)
			fi_cq_readerr(b->cq, &(struct fi_cq_err_entry){0}, 0);
	} while (n != 1);
	msg.msg_iov = &iov;
	msg.iov_count = 1;
	msg.desc = descs;
	ok(fi_trecvmsg(b->ep, &msg, FI_CLAIM));
	assert_int_equal(next_done(b).len, 500);
	device_check(mem[1], 500, 6);
}

static void recv__one_buffer_for_many(void **state)
{
	void *descs[1] = {desc(1)};
	const struct iovec iov = {mem[1], 3000};
	const struct fi_msg msg = {
		.msg_iov = &iov, .desc = descs, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = mem};
	device_zero(mem[1], 3001);
	ok(fi_recvmsg(b->ep, &msg, FI_MULTI_RECV));
	for (int i = 0; i < 3; i++) {
		device_fill(mem[0], 1000, 20 + i);
		ok(fi_send(a->ep, mem[0], 1000, desc(0), a->peer, NULL));
		next_done(a);
		struct fi_cq_tagged_entry entry = next_done(b);
		assert_ptr_equal(entry.buf, mem[1] + i * 1000);
		assert_int_equal(entry.flags & FI_MULTI_RECV, i == 2 ? FI_MULTI_RECV : 0);
		device_check(mem[1] + i * 1000, 1000, 20 + i);
	}
}

static void dgram__device_to_device(void **state)
{
	device_zero(mem[1], 1001);
	device_fill(mem[0], 1000, 8);
	ok(fi_recv(b->ep, mem[1], 1000, desc(1), FI_ADDR_UNSPEC, NULL));
	ok(fi_send(a->ep, mem[0], 1000, desc(0), a->peer, NULL));
	next_done(b);
	next_done(a);
	device_check(mem[1], 1000, 8);
}

/* ---- remote memory ---- */

static void rma__both_ends_are_devices(void **state)
{
	uint8_t *back = mem[0] + HALF / 2;
	for (int i = 0; i < SIZES; i++) {
		device_zero(mem[1], LONGEST + 1);
		device_zero(back, LONGEST + 1);
		device_fill(mem[0], sizes[i], 30 + i);
		ok(fi_writedata(a->ep, mem[0], sizes[i], desc(0), 42, a->peer, 0, KEY, mem[0]));
		next_done(a);
		assert_int_equal(next_done(b).data, 42);
		device_check(mem[1], sizes[i], 30 + i);
		ok(fi_read(a->ep, back, sizes[i], desc(0), a->peer, 0, KEY, back));
		assert_int_equal(next_done(a).len, sizes[i]);
		device_check(back, sizes[i], 30 + i);
	}
}

static void rma__remote_pieces(void **state)
{
	const struct fi_rma_iov remote[2] = {{1000, 2500, KEY}, {9000, 3500, KEY}};
	const struct iovec iov[2] = {{mem[0], 10}, {mem[0] + 10, 5990}};
	struct fi_msg_rma msg = {
		.msg_iov = iov, .iov_count = 2, .addr = a->peer, .rma_iov = remote, .rma_iov_count = 2};
	device_fill(mem[0], 6000, 2);
	device_zero(mem[1], 20000);
	ok(fi_writemsg(a->ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE));
	next_done(a);
	device_check(mem[1] + 1000, 2500, 2);
	device_zero(mem[0], 6001);
	ok(fi_readmsg(a->ep, &msg, FI_COMPLETION));
	next_done(a);
	device_check(mem[0], 6000, 2);
}

/* Changes a device's memory; operands and results are the host's. */
static void atomic__target_is_a_device(void **state)
{
	uint64_t words[2] = {5, 6}, add = 10, was = 0;
	device_copy(mem[1], (uint8_t *)words, sizeof words, true);
	ok(fi_fetch_atomic(a->ep, &add, 1, NULL, &was, NULL, a->peer, 8, KEY, FI_UINT64, FI_SUM, NULL));
	next_done(a);
	assert_int_equal(was, 6);
	device_check_is(mem[1], (uint64_t[]){5, 16}, sizeof words);
	assert_int_equal(fi_atomic(a->ep, mem[0], 1, desc(0), a->peer, 8, KEY, FI_UINT64, FI_SUM, NULL),
			 -FI_EOPNOTSUPP);
	assert_int_equal(
		fi_fetch_atomic(a->ep, &add, 1, NULL, mem[0], desc(0), a->peer, 8, KEY, FI_UINT64, FI_SUM, NULL),
		-FI_EOPNOTSUPP);
}

/* A group of one: its operations need no copies to be wrong. */
static void collective__refuses_devices(void **state)
{
	static const struct host_opts none = {.av_type = FI_AV_TABLE};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_av_set_attr set_attr = {.start_addr = 0, .end_addr = 0, .stride = 1};
	struct fi_info *hints = hints_new(0, FI_EP_RDM);
	struct fi_eq_entry entry;
	struct host h = {.other = &h};
	struct fid_av_set *set;
	struct fid_eq *eq;
	struct fid_mr *mr;
	struct fid_mc *mc;
	fi_addr_t addr;
	uint64_t word;
	uint32_t event;
	hints->caps |= FI_COLLECTIVE;
	host_open_domain(&h, hints);
	ok(fi_eq_open(h.fabric, &eq_attr, &eq, NULL));
	ok(fi_domain_bind(h.domain, &eq->fid, 0));
	host_open_ep(&h, &none);
	host_meet(&h);
	hosts[0].domain = h.domain;
	ok(reg(0, fake_cuda_memory(), HALF, FI_HMEM_CUDA, 0, 0, &mr));
	ok(fi_av_set(h.av, &set_attr, &set, NULL));
	ok(fi_av_set_addr(set, &addr));
	ok(fi_join_collective(h.ep, addr, set, 0, &mc, NULL));
	while (fi_eq_read(eq, &event, &entry, sizeof entry, 0) == -FI_EAGAIN)
		fi_cq_read(h.cq, NULL, 0);
	addr = fi_mc_addr(mc);
	assert_int_equal(fi_allreduce(h.ep, fake_cuda_memory(), 1, NULL, &word, NULL, addr, FI_UINT64, FI_SUM, 0, NULL),
			 -FI_EOPNOTSUPP);
	assert_int_equal(fi_allreduce(h.ep, &word, 1, NULL, fake_cuda_memory(), NULL, addr, FI_UINT64, FI_SUM, 0, NULL),
			 -FI_EOPNOTSUPP);
	ok(fi_close(&mc->fid));
	ok(fi_close(&set->fid));
	ok(fi_close(&mr->fid));
	ok(fi_close(&h.ep->fid));
	ok(fi_close(&h.cq->fid));
	ok(fi_close(&h.av->fid));
	ok(fi_close(&h.domain->fid));
	ok(fi_close(&eq->fid));
	ok(fi_close(&h.fabric->fid));
	fi_freeinfo(h.info);
	rings_drain();
}

/* ---- failures ---- */

static void copy__fails(void **state)
{
	uint8_t out[100] = {1};
	ok(fi_recv(b->ep, mem[1], 100, desc(1), FI_ADDR_UNSPEC, mem));
	fake_cuda_fail(true);
	assert_int_equal(fi_send(a->ep, mem[0], 100, desc(0), a->peer, NULL), -FI_EIO);
	assert_int_equal(fi_write(a->ep, mem[0], 100, desc(0), a->peer, 0, KEY, NULL), -FI_EIO);
	ok(fi_send(a->ep, out, sizeof out, NULL, a->peer, NULL));
	struct fi_cq_err_entry err = next_error(b);
	assert_int_equal(err.err, FI_EIO);
	assert_ptr_equal(err.op_context, mem);
	next_done(a);
	ok(fi_read(a->ep, mem[0], 100, desc(0), a->peer, 0, KEY, mem[0]));
	assert_int_equal(next_error(a).err, FI_EIO);
	ok(fi_write(a->ep, out, sizeof out, NULL, a->peer, 0, KEY, out)); /* the peer's copy to its device */
	assert_int_equal(next_error(a).err, FI_EIO);
}

/* Without the capability nobody has to fill in `iface`, and nothing is a device's. */
static void hmem__not_asked_for(void **state)
{
	struct fid_mr *mr;
	uint8_t in[64] = {0};
	hosts_open(hosts, NULL);
	size_t before = fake_cuda_copied_bytes();
	ok(reg(1, in, sizeof in, FI_HMEM_CUDA, 0, 0, &mr));
	ok(fi_recv(b->ep, in, sizeof in, (void *)1, FI_ADDR_UNSPEC, NULL));
	ok(fi_send(a->ep, "descriptors are ignored", 24, (void *)1, a->peer, NULL));
	next_done(b);
	assert_string_equal(in, "descriptors are ignored");
	assert_int_equal(reg(1, in, sizeof in, FI_HMEM_CUDA, 0, FI_HMEM_DEVICE_ONLY, &mr), -FI_EBADFLAGS);
	ok(fi_close(&mr->fid));
	hosts_close(hosts);
	assert_int_equal(fake_cuda_copied_bytes(), before);
	assert_int_equal(fake_cuda_retained(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(getinfo__on_request_with_registration),
		cmocka_unit_test_setup_teardown(reg__refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(reg__memory_of_the_host, setup, teardown),
		cmocka_unit_test_setup_teardown(send__device_to_device, setup, teardown),
		cmocka_unit_test_setup_teardown(send__unexpected_and_injected, setup, teardown),
		cmocka_unit_test_setup_teardown(sendv__mixed_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(recv__truncated, setup, teardown),
		cmocka_unit_test_setup_teardown(recv__cancelled_or_left_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(recv__claimed, setup, teardown),
		cmocka_unit_test_setup_teardown(recv__one_buffer_for_many, setup, teardown),
		cmocka_unit_test_setup_teardown(dgram__device_to_device, setup_dgram, teardown),
		cmocka_unit_test_setup_teardown(rma__both_ends_are_devices, setup, teardown),
		cmocka_unit_test_setup_teardown(rma__remote_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(atomic__target_is_a_device, setup, teardown),
		cmocka_unit_test(collective__refuses_devices),
		cmocka_unit_test_setup_teardown(copy__fails, setup, teardown),
		cmocka_unit_test(hmem__not_asked_for),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
