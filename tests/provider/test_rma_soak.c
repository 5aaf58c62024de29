/* SPDX-License-Identifier: BSD-3-Clause */
/* Random reads, writes and atomics between two hosts, and of each with itself, over wires that lose, repeat and delay:
 * every byte that arrives is compared with a model of both memories, and so are the memories in the end.
 * WEFT_SOAK_OPS and WEFT_SOAK_SEED in the environment make it longer and different. */
#include "fixture.h"

#include <inttypes.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>

#include "rma_model.h"
#include "weft/atomic.h"
#include "wires.h"

enum { KEY = 11, DEFAULT_OPS = 20000, AT_ONCE = 4 };

static const struct wires_faults faults = {.lost = 10, .repeated = 10, .delayed = 10};

static struct host hosts[2];
static struct fid_mr *mrs[2];
static fi_addr_t selves[2];
static _Alignas(64) uint8_t regions[2][MODEL_REGION_BYTES];
static struct model *model;
static uint64_t data_seen[2];

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	return text ? strtoull(text, NULL, 10) : otherwise;
}

static int open_all(void **state)
{
	hosts_open(hosts, &(struct host_opts){.caps = FI_RMA | FI_ATOMIC});
	uint64_t seed = number("WEFT_SOAK_SEED", 1);
	print_message("seed %" PRIu64 "\n", seed);
	model = model_new(seed, regions);
	for (int h = 0; h < 2; h++) {
		char name[FI_NAME_MAX];
		size_t len = sizeof name;
		ok(fi_mr_reg(hosts[h].domain, regions[h], MODEL_REGION_BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY,
			     0, &mrs[h], NULL));
		ok(fi_getname(&hosts[h].ep->fid, name, &len));
		assert_int_equal(fi_av_insert(hosts[h].av, name, 1, &selves[h], 0, NULL), 1);
	}
	return 0;
}

static int close_all(void **state)
{
	ok(fi_close(&mrs[0]->fid));
	ok(fi_close(&mrs[1]->fid));
	hosts_close(hosts);
	free(model);
	return 0;
}

/* The engine's numbers as libfabric's. */
static enum fi_datatype type_of(uint8_t type)
{
	if (type < WEFT_AMO_INT128)
		return FI_INT8 + type;
	return type == WEFT_AMO_INT128 ? FI_INT128 : FI_UINT128;
}

static enum fi_op op_of(uint8_t amo)
{
	static const enum fi_op ops[WEFT_AMO_OPS] = {
		[WEFT_AMO_MIN] = FI_MIN,           [WEFT_AMO_MAX] = FI_MAX,
		[WEFT_AMO_SUM] = FI_SUM,           [WEFT_AMO_PROD] = FI_PROD,
		[WEFT_AMO_LXOR] = FI_LXOR,         [WEFT_AMO_BXOR] = FI_BXOR,
		[WEFT_AMO_BAND] = FI_BAND,         [WEFT_AMO_WRITE] = FI_ATOMIC_WRITE,
		[WEFT_AMO_READ] = FI_ATOMIC_READ,  [WEFT_AMO_CSWAP] = FI_CSWAP,
		[WEFT_AMO_CSWAP_NE] = FI_CSWAP_NE, [WEFT_AMO_CSWAP_LE] = FI_CSWAP_LE,
		[WEFT_AMO_CSWAP_LT] = FI_CSWAP_LT, [WEFT_AMO_CSWAP_GE] = FI_CSWAP_GE,
		[WEFT_AMO_CSWAP_GT] = FI_CSWAP_GT, [WEFT_AMO_MSWAP] = FI_MSWAP,
	};
	return ops[amo];
}

static ssize_t begin_transfer(struct model_op *op, fi_addr_t to, uint64_t key, uint64_t flags)
{
	struct fid_ep *ep = hosts[op->host].ep;
	const struct iovec iov = {op->kind == MODEL_WRITE ? op->out : op->in, op->len};
	const struct fi_rma_iov remote = {op->addr, op->len, key};
	const struct fi_msg_rma msg = {.msg_iov = &iov,
				       .iov_count = 1,
				       .addr = to,
				       .rma_iov = &remote,
				       .rma_iov_count = 1,
				       .context = op,
				       .data = op->data};
	if (op->kind == MODEL_READ)
		return fi_readmsg(ep, &msg, flags);
	return fi_writemsg(ep, &msg, flags | (op->has_data ? FI_REMOTE_CQ_DATA : 0));
}

static ssize_t begin_atomic(struct model_op *op, fi_addr_t to, uint64_t key, uint64_t flags)
{
	struct fid_ep *ep = hosts[op->host].ep;
	size_t count = op->len / weft_amo_bytes(op->type);
	const struct fi_ioc a = {op->out, count}, c = {op->out + op->len, count};
	struct fi_ioc result = {op->in, count};
	const struct fi_rma_ioc remote = {op->addr, count, key};
	const struct fi_msg_atomic msg = {.msg_iov = &a,
					  .iov_count = 1,
					  .addr = to,
					  .rma_iov = &remote,
					  .rma_iov_count = 1,
					  .datatype = type_of(op->type),
					  .op = op_of(op->amo),
					  .context = op};
	if (op->kind == MODEL_ATOMIC)
		return fi_atomicmsg(ep, &msg, flags);
	if (op->kind == MODEL_FETCH)
		return fi_fetch_atomicmsg(ep, &msg, &result, NULL, 1, flags);
	return fi_compare_atomicmsg(ep, &msg, &c, NULL, 1, &result, NULL, 1, flags);
}

static void begin_one(void)
{
	struct model_op *op = model_next(model);
	if (!op)
		return;
	fi_addr_t to = op->host == op->target ? selves[op->host] : hosts[op->host].peer;
	uint64_t key = op->bad_key ? KEY + 1 : KEY;
	uint64_t flags = FI_COMPLETION | (op->delivered ? FI_DELIVERY_COMPLETE : FI_TRANSMIT_COMPLETE);
	ssize_t ret = op->kind <= MODEL_READ ? begin_transfer(op, to, key, flags) : begin_atomic(op, to, key, flags);
	if (ret == -FI_EAGAIN)
		return;
	ok(ret);
	model_begun(model, op);
}

static void check_error(struct host *h)
{
	struct fi_cq_err_entry e = {0};
	assert_int_equal(fi_cq_readerr(h->cq, &e, 0), 1);
	struct model_op *op = e.op_context;
	assert_int_equal(e.err, op->bad_key ? FI_EACCES : FI_EINVAL);
	model_ended(model, op, true);
}

static void check_done(const struct fi_cq_tagged_entry *e)
{
	static const uint64_t flags[] = {FI_RMA | FI_WRITE, FI_RMA | FI_READ, FI_ATOMIC | FI_WRITE, FI_ATOMIC | FI_READ,
					 FI_ATOMIC | FI_READ};
	struct model_op *op = e->op_context;
	assert_int_equal(e->flags, flags[op->kind]);
	model_ended(model, op, false);
}

static void collect(int h)
{
	struct fi_cq_tagged_entry e;
	ssize_t n;
	while ((n = fi_cq_read(hosts[h].cq, &e, 1)) != -FI_EAGAIN) {
		if (n == -FI_EAVAIL)
			check_error(&hosts[h]);
		else if (e.flags & FI_REMOTE_CQ_DATA)
			data_seen[h] += e.data;
		else
			check_done(&e);
	}
}

static void turn(void)
{
	for (int h = 0; h < 2; h++) {
		collect(h);
		wires_turn(&faults, &model->dice.state);
	}
}

static bool as_expected(void)
{
	return memcmp(regions, model->shadow, sizeof regions) == 0 &&
	       memcmp(data_seen, model->data, sizeof data_seen) == 0;
}

static void soak__memories_are_what_the_operations_say(void **state)
{
	enum { TURNS_MAX = 100000 };
	uint64_t ops = number("WEFT_SOAK_OPS", DEFAULT_OPS);
	while (model->posted < ops || model->done < model->posted) {
		for (int i = 0; i < AT_ONCE && model->posted < ops; i++)
			begin_one();
		turn();
	}
	for (int i = 0; i < TURNS_MAX && !as_expected(); i++)
		turn();
	assert_memory_equal(regions, model->shadow, sizeof regions);
	assert_memory_equal(data_seen, model->data, sizeof data_seen);
	struct wires_counts c = wires_counts();
	print_message("%" PRIu64 " operations, %" PRIu64 " refused; %" PRIu64 " packets, %" PRIu64 " lost, %" PRIu64
		      " repeated, %" PRIu64 " delayed\n",
		      model->done, model->refused, c.packets, c.lost, c.repeated, c.delayed);
	assert_true(c.lost && c.repeated && c.delayed && model->refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(soak__memories_are_what_the_operations_say, open_all, close_all),
	};
	return cmocka_run_group_tests(tests, wires_setup, NULL);
}
