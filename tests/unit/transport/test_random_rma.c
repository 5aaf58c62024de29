/* SPDX-License-Identifier: BSD-3-Clause */
/* Many reads, writes and atomics both ways while packets suffer: a failing case is one seed. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "model_op.h"

enum { OPS = 1500, KEY = 3, SEEDS = 6, AT_ONCE = 40 };

struct run {
	struct duo d;
	struct rng dice;
	struct model *model;
	struct weft_mr *mrs[2];
	uint32_t self[2]; /* peer ids */
	uint64_t data[2];
	bool trimming;
	uint64_t suffered;
};

static uint8_t regions[2][MODEL_REGION_BYTES];

/* Some percent of the packets, each fate as likely. */
static enum duo_fate fate_of(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	static const enum duo_fate fates[] = {DUO_DROP, DUO_DUP, DUO_LATE, DUO_TRIM};
	struct run *r = arg;
	uint32_t throw = rng_below(&r->dice, 100);
	if (throw >= 4)
		return DUO_PASS;
	r->suffered++;
	enum duo_fate fate = fates[throw];
	return fate == DUO_TRIM && !(r->trimming && w->net.dscp == WIRE_DSCP_TRIMMABLE) ? DUO_DROP : fate;
}

static void begin(struct run *r, struct model_op *op)
{
	static struct weft_op_atomic atomics[2][MODEL_SLOTS][MODEL_DEPTH];
	struct weft_op_atomic *a = &atomics[op->host][op->slot - r->model->slots[op->host]][op - op->slot->ops];
	const struct weft_op wop =
		model_weft_op(op, a, op->host == op->target ? r->self[op->host] : r->d.peer[op->host], KEY);
	if (weft_submit(r->d.ep[op->host], &wop) == 0)
		model_begun(r->model, op);
}

static void collect(struct run *r, int side)
{
	struct weft_cqe cqe;
	while (duo_cqe(&r->d, side, &cqe)) {
		if (cqe.kind == WEFT_OP_REMOTE_WRITE) {
			r->data[side] += cqe.data;
			continue;
		}
		struct model_op *op = cqe.context;
		assert_int_equal(cqe.err, op->bad_key ? EACCES : op->bad_addr ? ERANGE : 0);
		model_ended(r->model, op, cqe.err);
	}
}

static void open_run(struct run *r, const struct duo_conf *conf)
{
	duo_open(&r->d, conf);
	r->d.fate = fate_of;
	r->d.fate_arg = r;
	r->d.late_ns = WEFT_US(40);
	r->model = model_new(conf->seed, regions);
	for (int i = 0; i < 2; i++) {
		const struct weft_mr_attr attr = {.key = KEY,
						  .base = regions[i],
						  .bytes = MODEL_REGION_BYTES,
						  .access = WEFT_MR_READ | WEFT_MR_WRITE};
		struct weft_addr us = *weft_peer_addr(r->d.e[!i], r->d.peer[!i]);
		assert_int_equal(weft_mr_add(r->d.e[i], &attr, &r->mrs[i]), 0);
		assert_int_equal(weft_peer_add(r->d.e[i], &us, &r->self[i]), 0);
	}
}

/* One of the next allocations of either side gives nothing. */
static void starve(struct run *r)
{
	for (int i = 0; i < 2; i++)
		r->d.mem[i].fail_at = r->d.mem[i].calls + 1 + rng_below(&r->dice, 8);
}

static void run(const struct duo_conf *conf, bool short_of_mem)
{
	struct run r = {.dice = {conf->seed + 99}, .trimming = conf->tune.trimming};
	open_run(&r, conf);
	while (r.model->posted < OPS || r.model->done < r.model->posted) {
		for (int i = 0; i < AT_ONCE && r.model->posted < OPS; i++) {
			struct model_op *op = model_next(r.model);
			if (op)
				begin(&r, op);
		}
		if (short_of_mem)
			starve(&r);
		assert_true(r.d.now < WEFT_S(20));
		duo_run(&r.d, r.d.now + WEFT_US(20));
		collect(&r, 0);
		collect(&r, 1);
	}
	duo_run(&r.d, r.d.now + WEFT_S(1));
	for (int i = 0; i < 2; i++) {
		collect(&r, i);
		assert_memory_equal(regions[i], r.model->shadow[i], MODEL_REGION_BYTES);
		assert_int_equal(r.data[i], r.model->data[i]);
		weft_mr_del(r.mrs[i]);
	}
	assert_true(r.suffered && r.model->refused);
	duo_close(&r.d);
	free(r.model);
}

/* One test each; 0: the default. */
struct variant {
	const char *cc, *lb;
	uint32_t ack_every, window_pkts, payload_bytes, unexpected_bytes;
	bool trimming, ipv6, go_back_n, crc, short_of_mem;
};

static void rma__memories_are_what_the_operations_say(void **state)
{
	const struct variant *v = *state;
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.cc = v->cc;
	conf.lb = v->lb;
	conf.ipv6 = v->ipv6;
	conf.tune.ack_every = v->ack_every;
	conf.tune.window_pkts = v->window_pkts;
	conf.tune.trimming = v->trimming;
	conf.tune.go_back_n = v->go_back_n;
	conf.tune.crc = v->crc;
	if (v->payload_bytes)
		conf.tune.payload_bytes = v->payload_bytes;
	if (v->unexpected_bytes)
		conf.tune.unexpected_bytes = v->unexpected_bytes;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		conf.seed = seed * 1000 + v->ack_every;
		print_message("seed %u\n", (unsigned)conf.seed);
		run(&conf, v->short_of_mem);
	}
}

int main(void)
{
	static struct variant variants[] = {
		{"fixed", "ops", 1, 1024, .trimming = true},
		{"smartt", "reps", 1, 128},
		{"smartt", "reps", 16, 1024, .trimming = true},
		{"fixed", "ops", 64, 128, .trimming = true, .crc = true},
		{"smartt", "reps", 4, 1024, .ipv6 = true, .trimming = true},
		{"eqds+smartt", "reps", 4, 1024, .trimming = true},
		{"fixed", "ecmp", 1, 1024, .go_back_n = true},
		{"smartt", "reps", 2, 1024, .payload_bytes = 2200, .unexpected_bytes = 4000},
		{"fixed", "ops", 1, 1024, .trimming = true, .short_of_mem = true},
	};
	enum { COUNT = sizeof variants / sizeof *variants };
	struct CMUnitTest tests[COUNT];
	for (int i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){"rma__memories_are_what_the_operations_say",
					       rma__memories_are_what_the_operations_say, NULL, NULL, &variants[i]};
	return tests_run("random_rma", tests, COUNT, NULL, NULL);
}
