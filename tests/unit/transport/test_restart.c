/* SPDX-License-Identifier: BSD-3-Clause */
/* A host crashes and starts again at the same address. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "duo.h"

enum { LONG = 1 << 20, ANNOUNCED = 20000 };

struct pair {
	struct duo_conf conf;
	struct duo d;
	uint8_t *out, *in;
};

static void pair_open(struct pair *p)
{
	duo_conf_init(&p->conf);
	p->conf.ids_by_seed = true;
	p->conf.tune.rndv_bytes = ANNOUNCED - 1;
	duo_open(&p->d, &p->conf);
	p->out = duo_pattern(LONG, 3);
	p->in = calloc(1, LONG);
	assert_non_null(p->in);
}

static void pair_close(struct pair *p)
{
	duo_close(&p->d);
	free(p->out);
	free(p->in);
}

/* Side 0 begins another life a little later. */
static void restart(struct pair *p)
{
	struct weft_err err = {""};
	duo_crash(&p->d, 0);
	while (duo_next(&p->d, 1) < p->d.now + WEFT_US(12)) {
		weft_ns at = duo_next(&p->d, 1);
		p->d.now = at > p->d.now ? at : p->d.now;
		duo_poll(&p->d, 1);
	}
	p->d.now += WEFT_US(12);
	p->conf.seed++;
	assert_int_equal(duo_boot(&p->d, &p->conf, 0, &err), 0);
}

/* The peer fetches the message over its connection to the former life, which it has not given up yet. */
static void announced__by_the_new_life_arrives(void **state)
{
	struct pair p;
	(void)state;
	pair_open(&p);
	for (int i = 0; i < 64; i++)
		duo_send(&p.d, 1, p.out, ANNOUNCED - 1, 1, p.out);
	duo_run(&p.d, p.d.now + WEFT_US(30));
	restart(&p);
	duo_recv(&p.d, 1, p.in, ANNOUNCED, 2, 0, p.in);
	duo_send(&p.d, 0, p.out, ANNOUNCED, 2, p.out);
	duo_run(&p.d, p.d.now + WEFT_MS(500));
	duo_expect(&p.d, 0, p.out, 0);
	struct weft_cqe cqe;
	uint32_t reset = 0;
	while (duo_cqe(&p.d, 1, &cqe) && cqe.kind == WEFT_OP_TSEND)
		reset += cqe.err == ECONNRESET;
	assert_true(reset > 0);
	assert_int_equal(cqe.kind, WEFT_OP_TRECV);
	assert_int_equal(cqe.err, 0);
	assert_memory_equal(p.in, p.out, ANNOUNCED);
	pair_close(&p);
}

/* Nobody is left who could answer: the receive ends, and says why. */
static void announced__by_the_former_life_fails(void **state)
{
	struct pair p;
	(void)state;
	pair_open(&p);
	duo_recv(&p.d, 1, p.in, LONG, 2, 0, p.in);
	duo_send(&p.d, 0, p.out, LONG, 2, p.out);
	duo_run(&p.d, p.d.now + WEFT_US(30));
	restart(&p);
	duo_run(&p.d, p.d.now + WEFT_S(20));
	struct weft_cqe cqe;
	assert_true(duo_cqe(&p.d, 1, &cqe));
	assert_true(cqe.err == ECONNRESET || cqe.err == ETIMEDOUT);
	assert_false(duo_cqe(&p.d, 0, &cqe));
	pair_close(&p);
}

/* No memory at any moment of the start: it says so, nothing leaks, and the next try succeeds. */
static void memory__of_a_start_runs_out(void **state)
{
	struct pair p;
	struct weft_err err;
	uint64_t n = 0;
	int rc;
	(void)state;
	pair_open(&p);
	do {
		struct duo_mem *mem = &p.d.mem[0];
		duo_crash(&p.d, 0);
		err.msg[0] = 0;
		mem->fail_at = mem->calls + ++n;
		rc = duo_boot(&p.d, &p.conf, 0, &err);
		mem->fail_at = 0;
		assert_true(rc == 0 || (rc == -ENOMEM && err.msg[0]));
	} while (rc);
	assert_true(n > 10);
	duo_transfer(&p.d, 0, LONG);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(announced__by_the_new_life_arrives),
		cmocka_unit_test(announced__by_the_former_life_fails),
		cmocka_unit_test(memory__of_a_start_runs_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
