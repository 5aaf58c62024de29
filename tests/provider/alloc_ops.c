/* SPDX-License-Identifier: BSD-3-Clause */
#include "alloc_app.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "alloc_fail.h"

enum {
	OPS_MAX = 64,
	TAG = 9,
	PATIENCE_MS = 300, /* without memory; then it comes back */
};

/* One operation; its address is the context. */
struct op {
	const char *what;
	bool posted, ended, failed;
};

static struct op ops[OPS_MAX]; /* of the run: closing endpoints leaves nothing behind that points to them */
static int op_count;

static void op_failed(struct fid_cq *cq)
{
	struct fi_cq_err_entry e = {0};
	if (fi_cq_readerr(cq, &e, 0) != 1)
		broken("fi_cq_readerr", "no entry after -FI_EAVAIL");
	struct op *op = e.op_context;
	if (!op || !op->posted || op->ended)
		broken(op ? op->what : "?", "an error that belongs to nothing");
	op->ended = op->failed = true;
	printf("failed %s: %s\n", op->what, fi_strerror(e.err));
	refusals++;
}

static void progress(void)
{
	struct fi_cq_tagged_entry e;
	for (int i = 0; i < 2; i++) {
		ssize_t n = fi_cq_read(sides[i].h.cq, &e, 1);
		struct op *op = n == 1 ? e.op_context : NULL;
		if (n == -FI_EAVAIL)
			op_failed(sides[i].h.cq);
		else if (n != 1 && n != -FI_EAGAIN)
			broken("fi_cq_read", fi_strerror((int)-n));
		if (n == 1 && (!op || !op->posted || op->ended))
			broken(op ? op->what : "?", "a completion that belongs to nothing");
		if (op)
			op->ended = true;
	}
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* A shortage is survived for a while; then memory comes back, and all that waited for it goes on. */
static void pass(uint64_t since_ms)
{
	progress();
	if (alloc_fail_stop && now_ms() - since_ms > PATIENCE_MS)
		alloc_fail_stop();
}

#define POST(op, call)                                                                                                 \
	do {                                                                                                           \
		ssize_t ret_;                                                                                          \
		uint64_t since_ = now_ms();                                                                            \
		(op)->what = #call;                                                                                    \
		(op)->posted = true; /* it may end within the call */                                                  \
		while ((ret_ = (call)) == -FI_EAGAIN)                                                                  \
			pass(since_);                                                                                  \
		(op)->posted = ret_ == 0;                                                                              \
		if (ret_)                                                                                              \
			return refused(#call, ret_);                                                                   \
	} while (0)

/* Waits until all have ended. False: one of them with an error. */
static bool all_ended(const struct op *ops, int count)
{
	uint64_t since_ms = now_ms();
	bool fine = true;
	for (int i = 0; i < count; i++) {
		while (ops[i].posted && !ops[i].ended)
			pass(since_ms);
		fine &= !ops[i].failed;
	}
	return fine;
}

static void check(const char *what, const uint8_t *bytes, size_t len, uint64_t seed)
{
	if (pattern_check(bytes, len, seed) != len)
		broken(what, "wrong bytes");
}

static struct op *op_new(void)
{
	assert_true(op_count < OPS_MAX);
	return &ops[op_count++];
}

/* Expected and unexpected, short and long, to the other host and to ourselves. */
static bool messages(struct side *a, struct side *b)
{
	static const size_t sizes[] = {100, 5000, BYTES};
	for (size_t i = 0; i < 3; i++)
		for (int late = 0; late < 2; late++)
			for (int self = 0; self < 2; self++) {
				struct op *recv = op_new(), *send = op_new();
				struct side *to = self ? a : b;
				fi_addr_t addr = (fi_addr_t)(to - sides);
				pattern_fill(a->out, sizes[i], i);
				memset(to->in, 0, sizes[i]);
				if (!late)
					POST(recv,
					     fi_trecv(to->h.ep, to->in, BYTES, NULL, FI_ADDR_UNSPEC, TAG, 0, recv));
				POST(send, fi_tsend(a->h.ep, a->out, sizes[i], NULL, addr, TAG, send));
				for (int turns = 0; late && turns < 100; turns++)
					progress();
				if (late)
					POST(recv,
					     fi_trecv(to->h.ep, to->in, BYTES, NULL, FI_ADDR_UNSPEC, TAG, 0, recv));
				if (!all_ended(send, 1) || !all_ended(recv, 1))
					return false;
				check("message", to->in, sizes[i], i);
			}
	return true;
}

/* In pieces, which are gathered and scattered by a copy. */
static bool remote_memory(struct side *a, struct side *b)
{
	enum { MANY = 4 };
	struct op *write = op_new(), *read = op_new();
	struct iovec out[MANY], in[MANY];
	for (size_t i = 0; i < MANY; i++) {
		out[i] = (struct iovec){a->out + i * 5000, 5000};
		in[i] = (struct iovec){a->in + i * 5000, 5000};
	}
	fi_addr_t to = (fi_addr_t)(b - sides);
	pattern_fill(a->out, BYTES, 4);
	POST(write, fi_writev(a->h.ep, out, NULL, MANY, to, 0, KEY, write));
	if (!all_ended(write, 1))
		return false;
	check("write", b->mem, MANY * 5000, 4);
	memset(a->in, 0, BYTES);
	POST(read, fi_readv(a->h.ep, in, NULL, MANY, to, 0, KEY, read));
	if (!all_ended(read, 1))
		return false;
	check("read", a->in, MANY * 5000, 4);
	struct op *big = op_new();
	POST(big, fi_write(a->h.ep, a->out, BYTES, NULL, to, 0, KEY, big));
	if (!all_ended(big, 1))
		return false;
	check("long write", b->mem, BYTES, 4);
	return true;
}

static bool atomics(struct side *a, struct side *b)
{
	enum { COUNT = 100 };
	uint64_t operand[COUNT], result[COUNT], *target = (uint64_t *)(void *)b->mem;
	struct op *sum = op_new(), *swap = op_new();
	fi_addr_t to = (fi_addr_t)(b - sides);
	for (uint64_t i = 0; i < COUNT; i++) {
		target[i] = i;
		operand[i] = 1000;
	}
	POST(sum, fi_fetch_atomic(a->h.ep, operand, COUNT, NULL, result, NULL, to, 0, KEY, FI_UINT64, FI_SUM, sum));
	bool fine = all_ended(sum, 1);
	for (uint64_t i = 0; fine && i < COUNT; i++)
		if (target[i] != i + 1000 || result[i] != i)
			broken("fetch and add", "wrong numbers");
	if (!fine)
		return false;
	uint64_t compare = 1000, one = 5, before = 0;
	POST(swap, fi_compare_atomic(a->h.ep, &one, 1, NULL, &compare, NULL, &before, NULL, to, 0, KEY, FI_UINT64,
				     FI_CSWAP, swap));
	if (!all_ended(swap, 1))
		return false;
	if (before != 1000 || target[0] != 5)
		broken("compare and swap", "wrong numbers");
	return true;
}

/* Queued, and begun by a counter. */
static bool deferred(struct side *a, struct side *b)
{
	struct op *recv = op_new(), *later = op_new();
	char in[8] = "", text[8] = "later";
	const struct iovec iov = {text, sizeof text};
	struct fi_op_msg msg = {
		.ep = a->h.ep,
		.msg = {.msg_iov = &iov, .iov_count = 1, .addr = (fi_addr_t)(b - sides), .context = later},
		.flags = FI_COMPLETION};
	struct fi_deferred_work work = {
		.threshold = 2, .triggering_cntr = a->trigger, .op_type = FI_OP_SEND, .op.msg = &msg};
	POST(recv, fi_recv(b->h.ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, recv));
	POST(later, fi_control(&a->h.domain->fid, FI_QUEUE_WORK, &work));
	if (!DO(fi_cntr_add(a->trigger, 2)) || !all_ended(later, 1) || !all_ended(recv, 1))
		return false;
	if (strcmp(in, text) != 0)
		broken("deferred send", "wrong bytes");
	return true;
}

/* 0: of the other group's creation nothing has come yet; else whether it was joined. */
static int joined(struct side *s)
{
	struct fi_eq_entry entry;
	struct fi_eq_err_entry err = {0};
	uint32_t event;
	ssize_t n = fi_eq_read(s->eq, &event, &entry, sizeof entry, 0);
	if (n == -FI_EAGAIN)
		return 0;
	if (n == sizeof entry && event == FI_JOIN_COMPLETE)
		return 1;
	if (n != -FI_EAVAIL || fi_eq_readerr(s->eq, &err, 0) <= 0)
		broken("fi_eq_read", "neither joined nor an error");
	refused("fi_join_collective's event", -err.err);
	return -1;
}

static bool join(void)
{
	struct fi_av_set_attr attr = {.start_addr = 0, .end_addr = 1, .stride = 1};
	uint64_t since_ms = now_ms();
	fi_addr_t addr;
	bool fine = true;
	for (int i = 0; i < 2; i++) {
		struct side *s = &sides[i];
		if (!OPEN(s, fi_av_set(s->h.av, &attr, &s->set, NULL), s->set) || !DO(fi_av_set_addr(s->set, &addr)) ||
		    !OPEN(s, fi_join_collective(s->h.ep, addr, s->set, 0, &s->mc, s), s->mc))
			return false;
	}
	for (int i = 0; i < 2; i++) {
		int how;
		while ((how = joined(&sides[i])) == 0)
			pass(since_ms);
		fine &= how > 0;
	}
	return fine;
}

static bool collectives(void)
{
	uint64_t in[2][100], out[2][100];
	struct op *reduce[2] = {op_new(), op_new()};
	if (!join())
		return false;
	for (int i = 0; i < 2; i++)
		for (uint64_t k = 0; k < 100; k++)
			out[i][k] = k + (uint64_t)i;
	for (int i = 0; i < 2; i++)
		POST(reduce[i], fi_allreduce(sides[i].h.ep, out[i], 100, NULL, in[i], NULL, fi_mc_addr(sides[i].mc),
					     FI_UINT64, FI_SUM, 0, reduce[i]));
	if (!all_ended(reduce[0], 1) | !all_ended(reduce[1], 1))
		return false;
	for (int i = 0; i < 2; i++)
		for (uint64_t k = 0; k < 100; k++)
			if (in[i][k] != 2 * k + 1)
				broken("allreduce", "wrong numbers");
	return true;
}

bool use_all(void)
{
	struct side *a = &sides[0], *b = &sides[1];
	op_count = 0;
	memset(ops, 0, sizeof ops);
	return messages(a, b) && messages(b, a) && remote_memory(a, b) && atomics(a, b) && deferred(a, b) &&
	       collectives();
}
