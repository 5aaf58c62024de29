/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages with WEFT_OP_APART: each on a connection that opens and closes with it. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

static void submit_flags(struct duo *d, const void *buf, uint64_t len, uint64_t tag, uint16_t flags)
{
	struct weft_op op = {.kind = WEFT_OP_TSEND,
			     .flags = flags,
			     .peer = d->peer[0],
			     .buf = (void *)buf,
			     .len = len,
			     .tag = tag,
			     .context = (void *)buf};
	assert_int_equal(weft_submit(d->ep[0], &op), 0);
	d->due[0] = d->now;
}

/* One message apart from side 0 to 1, whole. */
static void transfer_apart(struct duo *d, uint64_t len)
{
	uint8_t *out = duo_pattern(len, len), *in = calloc(1, len + 1);
	duo_recv(d, 1, in, len, 5, 0, in);
	submit_flags(d, out, len, 5, WEFT_OP_APART);
	duo_run(d, d->now + WEFT_MS(2));
	duo_expect(d, 0, out, 0);
	duo_expect(d, 1, in, 0);
	assert_memory_equal(in, out, len);
	free(in);
	free(out);
}

/* Connections that are never idle long enough to be closed otherwise. */
static void open_lasting(struct duo *d)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.idle_close_ns = 0;
	duo_open(d, &conf);
}

static uint32_t count(const struct list *conns)
{
	uint32_t n = 0;
	list_for_each (l, conns)
		n++;
	return n;
}

/* Each message opens one and closes it; the usual connection stays as it is, and both sides keep nothing. */
static void apart__opens_and_closes(void **state)
{
	struct duo d;
	open_lasting(&d);
	duo_transfer(&d, 0, 10000);
	const struct pdc_tx *usual = first_tx(d.e[0]);
	transfer_apart(&d, 1);
	transfer_apart(&d, 300000);
	assert_int_equal(duo_stats(&d, 0)->pdc_opened, 3);
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 3);
	assert_int_equal(duo_stats(&d, 0)->pdc_closed, 2);
	assert_int_equal(count(&d.e[0]->pds.txs), 1);
	assert_ptr_equal(first_tx(d.e[0]), usual);
	assert_int_equal(d.e[0]->pds.busy_conns, 0);
	duo_run(&d, d.now + WEFT_S(2)); /* the time in which late copies find them */
	assert_int_equal(count(&d.e[1]->pds.rxs), 1);
	duo_transfer(&d, 0, 10000);
	assert_int_equal(duo_stats(&d, 0)->pdc_opened, 3);
	duo_close(&d);
}

/* A short one does not wait for a long one, on the usual connection or apart. */
static void apart__waits_for_nobody(void **state)
{
	enum { LONG = 2000 * 4096, SHORT = 4096 };
	uint8_t *out = duo_pattern(LONG, 1), *in = malloc(LONG);
	for (int first_apart = 0; first_apart < 2; first_apart++) {
		struct duo d;
		open_lasting(&d);
		duo_recv(&d, 1, in, LONG, 1, 0, &d);
		duo_recv(&d, 1, in, SHORT, 2, 0, in);
		submit_flags(&d, out, LONG, 1, first_apart ? WEFT_OP_APART : 0);
		submit_flags(&d, out + 1, SHORT, 2, WEFT_OP_APART);
		duo_run(&d, d.now + WEFT_MS(5));
		duo_expect(&d, 0, out + 1, 0);
		duo_expect(&d, 0, out, 0);
		duo_expect(&d, 1, in, 0);
		duo_expect(&d, 1, &d, 0);
		assert_int_equal(duo_stats(&d, 0)->pdc_opened, 2);
		assert_int_equal(duo_stats(&d, 0)->pdc_closed, 1u + (unsigned)first_apart);
		duo_close(&d);
	}
	free(in);
	free(out);
}

static enum duo_fate every_fifth_lost(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return nth % 5 == 3 ? DUO_DROP : nth % 7 == 2 ? DUO_LATE : DUO_PASS;
}

/* The others keep their order, however packets fare; no message is lost, and every connection apart closes. */
static void apart__leaves_the_order_of_others(void **state)
{
	enum { MSGS = 20, BYTES = 30000 };
	uint8_t *out = duo_pattern((uint64_t)2 * MSGS * BYTES, 1), *in = malloc((size_t)2 * MSGS * BYTES);
	struct duo d;
	struct weft_cqe cqe;
	open_lasting(&d);
	d.fate = every_fifth_lost;
	for (uint32_t i = 0; i < MSGS; i++) {
		uint8_t *usual = in + (size_t)2 * i * BYTES, *apart = usual + BYTES;
		duo_recv(&d, 1, usual, BYTES, 1, 0, usual);
		duo_recv(&d, 1, apart, BYTES, 100 + i, 0, apart);
	}
	for (uint32_t i = 0; i < MSGS; i++) {
		const uint8_t *usual = out + (size_t)2 * i * BYTES;
		submit_flags(&d, usual, BYTES, 1, 0);
		submit_flags(&d, usual + BYTES, BYTES, 100 + i, WEFT_OP_APART);
	}
	duo_run(&d, d.now + WEFT_MS(50));
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t i = 0; i < 2 * MSGS; i++) {
			assert_true(duo_cqe(&d, (int)side, &cqe));
			assert_int_equal(cqe.err, 0);
		}
	assert_memory_equal(in, out, (size_t)2 * MSGS * BYTES);
	assert_int_equal(duo_stats(&d, 0)->pdc_opened, 1 + MSGS);
	assert_int_equal(duo_stats(&d, 0)->pdc_closed, MSGS);
	assert_int_equal(duo_stats(&d, 0)->pdc_failed, 0);
	assert_int_equal(count(&d.e[0]->pds.txs), 1);
	duo_close(&d);
	free(in);
	free(out);
}

/* Takes all rings that connections gave back, so that the next one needs memory. */
static uint32_t drain_rings(struct duo *d, void **held, uint32_t most)
{
	struct pool *rings = &d->e[0]->pds.sendq_mem.small;
	uint32_t n = 0;
	d->mem[0].fail_at = d->mem[0].calls + 1;
	d->mem[0].fail_rest = true;
	while (n < most && (held[n] = pool_get(rings)) != NULL)
		n++;
	assert_true(n < most);
	return n;
}

/* Without memory for the packet that closes, it is tried again until there is some, also where idle connections stay.
 */
static void apart__closes_when_memory_is_back(void **state)
{
	enum { BYTES = 300 * 4096 };
	uint8_t *out = duo_pattern(BYTES, 1), *in = malloc(BYTES);
	void *held[64];
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.idle_close_ns = 0;
	conf.tune.brtt_ns = WEFT_US(40); /* more packets in flight than the smallest ring has */
	duo_open(&d, &conf);
	d.latency_ns = WEFT_US(18);
	duo_recv(&d, 1, in, BYTES, 5, 0, in);
	submit_flags(&d, out, BYTES, 5, WEFT_OP_APART);
	duo_run(&d, d.now + WEFT_US(30));
	assert_true(first_tx(d.e[0])->q.mask + 1 > SENDQ_MIN);
	uint32_t n = drain_rings(&d, held, 64);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 0, out, 0);
	duo_expect(&d, 1, in, 0);
	assert_int_equal(count(&d.e[0]->pds.txs), 1);
	assert_int_equal(duo_stats(&d, 0)->pdc_closed, 0);
	uint64_t failed = duo_stats(&d, 0)->alloc_fail;
	assert_true(failed > 0);
	duo_run(&d, d.now + WEFT_MS(5));
	assert_true(duo_stats(&d, 0)->alloc_fail > failed);
	assert_int_equal(count(&d.e[0]->pds.txs), 1);
	d.mem[0].fail_at = 0;
	duo_run(&d, d.now + WEFT_MS(5));
	assert_int_equal(duo_stats(&d, 0)->pdc_closed, 1);
	assert_int_equal(count(&d.e[0]->pds.txs), 0);
	while (n)
		pool_put(&d.e[0]->pds.sendq_mem.small, held[--n]);
	duo_close(&d);
	free(in);
	free(out);
}

/* Each allocation fails once: the message arrives all the same, its connection closes, and nothing is left over. */
static void apart__any_allocation_fails(void **state)
{
	for (uint64_t nth = 1; nth < 30; nth++) {
		struct duo d;
		open_lasting(&d);
		d.mem[0].fail_at = d.mem[0].calls + nth;
		transfer_apart(&d, 300000);
		duo_run(&d, d.now + WEFT_MS(10));
		assert_int_equal(duo_stats(&d, 0)->pdc_opened, 1);
		assert_int_equal(duo_stats(&d, 0)->pdc_closed, 1);
		assert_int_equal(count(&d.e[0]->pds.txs), 0);
		duo_close(&d);
	}
}

/* Its id is taken at the target: it starts over with another, and closes as any. */
static void apart__restarts(void **state)
{
	struct duo d;
	uint8_t payload[8] = {0};
	open_lasting(&d);
	struct plain_pkt w = duo_syn(1, 8);
	w.ses.match = 99;
	w.pds.spdcid = 1; /* the first id that side 0 will use */
	duo_inject_pkt(&d, 1, &w, payload);
	duo_poll(&d, 1);
	transfer_apart(&d, 20000);
	assert_int_equal(duo_stats(&d, 0)->pdc_failed, 0);
	assert_int_equal(duo_stats(&d, 0)->pdc_closed, 1);
	assert_int_equal(count(&d.e[0]->pds.txs), 0);
	duo_close(&d);
}

static enum duo_fate lost(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return DUO_DROP;
}

/* Silence ends it like any other, and the engine that shuts down waits for it. */
static void apart__fails_alone(void **state)
{
	uint8_t *out = duo_pattern(20000, 3);
	struct duo d;
	open_lasting(&d);
	duo_transfer(&d, 0, 10000);
	d.fate = lost;
	submit_flags(&d, out, 20000, 5, WEFT_OP_APART);
	duo_run(&d, d.now + WEFT_S(30));
	duo_expect(&d, 0, out, ETIMEDOUT);
	assert_int_equal(count(&d.e[0]->pds.txs), 1);
	d.fate = NULL;
	duo_transfer(&d, 0, 10000);
	assert_int_equal(duo_stats(&d, 0)->pdc_opened, 2);
	duo_close(&d);
	free(out);
}

/* What needs the order of a connection has no place on one apart. */
static void apart__refuses(void **state)
{
	static const struct {
		uint8_t kind;
		uint16_t flags;
	} bad[] = {{WEFT_OP_TSEND, WEFT_OP_FENCE},
		   {WEFT_OP_SEND, WEFT_OP_MATCHED},
		   {WEFT_OP_WRITE, 0},
		   {WEFT_OP_WRITE, WEFT_OP_IDEMPOTENT},
		   {WEFT_OP_READ, 0}};
	uint8_t byte = 1;
	struct duo d;
	open_lasting(&d);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct weft_op op = {.kind = bad[i].kind,
				     .flags = (uint16_t)(bad[i].flags | WEFT_OP_APART),
				     .peer = d.peer[0],
				     .buf = &byte,
				     .len = 1,
				     .context = &d};
		assert_int_equal(weft_submit(d.ep[0], &op), 0);
		duo_poll(&d, 0);
		duo_expect(&d, 0, &d, EINVAL);
	}
	assert_int_equal(duo_stats(&d, 0)->pdc_opened, 0);
	duo_close(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(apart__opens_and_closes),
		cmocka_unit_test(apart__waits_for_nobody),
		cmocka_unit_test(apart__leaves_the_order_of_others),
		cmocka_unit_test(apart__closes_when_memory_is_back),
		cmocka_unit_test(apart__any_allocation_fails),
		cmocka_unit_test(apart__restarts),
		cmocka_unit_test(apart__fails_alone),
		cmocka_unit_test(apart__refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
