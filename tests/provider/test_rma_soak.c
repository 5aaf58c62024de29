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
	wires_drain();
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

/* ---- a region that dies while it is being used ---- */

enum { DYING_KEY = 12, DYING_BYTES = 60000, DYING_OPS = 24, LIVES = 60 };

struct victim {
	struct fid_mr *mr;
	uint8_t memory[DYING_BYTES], after[DYING_BYTES]; /* what the memory was when the region died */
	uint8_t out[DYING_BYTES], in[DYING_OPS][DYING_BYTES];
	unsigned under_way, done, refused;
};

static void attack(struct victim *v, unsigned i)
{
	struct rng *dice = &model->dice;
	struct fid_ep *ep = hosts[0].ep;
	fi_addr_t to = hosts[0].peer;
	size_t len = 1 + rng_below(dice, rng_below(dice, 2) ? 1000 : DYING_BYTES);
	uint64_t addr = rng_below(dice, DYING_BYTES - len + 1);
	size_t count = len / 8 < 100 ? len / 8 + 1 : 100;
	if (addr + count * 8 > DYING_BYTES)
		addr = 0;
	switch (rng_below(dice, 4)) {
	case 0:
		ok(fi_write(ep, v->out, len, NULL, to, addr, DYING_KEY, v));
		break;
	case 1:
		ok(fi_read(ep, v->in[i], len, NULL, to, addr, DYING_KEY, v));
		break;
	case 2:
		ok(fi_atomic(ep, v->out, count, NULL, to, addr, DYING_KEY, FI_UINT64, FI_SUM, v));
		break;
	default:
		ok(fi_fetch_atomic(ep, v->out, count, NULL, v->in[i], NULL, to, addr, DYING_KEY, FI_UINT64, FI_SUM, v));
	}
	v->under_way++;
}

static void attack_turn(struct victim *v)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry err = {0};
	ssize_t n = fi_cq_read(hosts[0].cq, &e, 1);
	if (n == -FI_EAVAIL) {
		assert_int_equal(fi_cq_readerr(hosts[0].cq, &err, 0), 1);
		assert_int_equal(err.err, FI_EACCES);
		v->refused++;
	} else if (n == 1) {
		v->done++;
	}
	v->under_way -= n == 1 || n == -FI_EAVAIL;
	wires_turn(&faults, &model->dice.state);
	assert_int_equal(fi_cq_read(hosts[1].cq, &e, 1), -FI_EAGAIN);
	wires_turn(&faults, &model->dice.state);
}

/* Whatever is under way when a region is closed is done before or refused, and its memory is the application's. */
static void close__nothing_changes_afterwards(void **state)
{
	struct victim *v = calloc(1, sizeof *v);
	assert_non_null(v);
	memset(v->out, 0x5a, sizeof v->out);
	for (unsigned life = 0; life < LIVES; life++) {
		ok(fi_mr_reg(hosts[1].domain, v->memory, DYING_BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, DYING_KEY, 0,
			     &v->mr, NULL));
		for (unsigned i = 0; i < DYING_OPS; i++)
			attack(v, i);
		for (uint32_t n = rng_below(&model->dice, 60); n; n--)
			attack_turn(v);
		ok(fi_close(&v->mr->fid));
		memcpy(v->after, v->memory, DYING_BYTES);
		while (v->under_way)
			attack_turn(v);
		assert_memory_equal(v->memory, v->after, DYING_BYTES);
	}
	print_message("%u done, %u refused\n", v->done, v->refused);
	assert_true(v->done && v->refused);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(soak__memories_are_what_the_operations_say, open_all, close_all),
		cmocka_unit_test_setup_teardown(close__nothing_changes_afterwards, open_all, close_all),
	};
	return cmocka_run_group_tests(tests, wires_setup, NULL);
}
