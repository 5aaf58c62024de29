/* SPDX-License-Identifier: BSD-3-Clause */
/* Fences beside announced messages: the READ that fetches a message is the receiver's, and no operation of the
 * application's may hold it up. */
#include "duo.h"

#include "cmocka_all.h"

#include <stdlib.h>

enum { LEN = 300000, OPS = 2 };

static void submit(struct duo *d, int side, const uint8_t *out, uint16_t flags)
{
	struct weft_op op = {.kind = WEFT_OP_TSEND,
			     .peer = d->peer[side],
			     .buf = (void *)out,
			     .len = LEN,
			     .tag = 7,
			     .context = (void *)out,
			     .flags = flags};
	assert_int_equal(weft_submit(d->ep[side], &op), 0);
}

/* Both sides announce messages, the later ones behind a fence. */
static void fence__does_not_hold_up_fetches(void **state)
{
	for (unsigned fenced = 1; fenced < 4; fenced++) {
		struct duo d;
		struct duo_conf conf;
		uint8_t *out = duo_pattern(LEN, 1), *in = calloc(2 * OPS, LEN);
		duo_conf_init(&conf);
		conf.tune.rndv_bytes = 65536;
		duo_open(&d, &conf);
		for (int side = 0; side < 2; side++)
			for (unsigned i = 0; i < OPS; i++) {
				duo_recv(&d, side, in + (size_t)(OPS * side + (int)i) * LEN, LEN, 7, 0, in);
				submit(&d, side, out, fenced >> i & 1 ? WEFT_OP_FENCE : 0);
			}
		d.due[0] = d.due[1] = d.now;
		duo_run(&d, d.now + WEFT_S(10));
		for (int side = 0; side < 2; side++) {
			struct weft_cqe c;
			unsigned n = 0;
			for (; duo_cqe(&d, side, &c); n++)
				assert_int_equal(c.err, 0);
			assert_int_equal(n, 2 * OPS);
		}
		for (int i = 0; i < 2 * OPS; i++)
			assert_memory_equal(in + (size_t)i * LEN, out, LEN);
		duo_close(&d);
		free(out);
		free(in);
	}
}

/* An announced message waits for its receive, and an operation behind a fence for the message: the peer is alive all
 * the time. */
static void fence__waiting_is_no_silence(void **state)
{
	struct duo d;
	struct duo_conf conf;
	uint8_t *out = duo_pattern(LEN, 1), *in = calloc(OPS, LEN);
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = 65536;
	conf.tune.peer_timeout_ns = WEFT_MS(200);
	duo_open(&d, &conf);
	for (unsigned i = 0; i < OPS; i++)
		submit(&d, 0, out, i ? WEFT_OP_FENCE : 0);
	duo_run(&d, d.now + WEFT_S(1));
	for (unsigned i = 0; i < OPS; i++)
		duo_recv(&d, 1, in + (size_t)i * LEN, LEN, 7, 0, in);
	d.due[1] = d.now;
	duo_run(&d, d.now + WEFT_S(1));
	for (unsigned i = 0; i < OPS; i++) {
		duo_expect(&d, 0, out, 0);
		duo_expect(&d, 1, in, 0);
		assert_memory_equal(in + (size_t)i * LEN, out, LEN);
	}
	assert_int_equal(duo_stats(&d, 0)->pdc_failed, 0);
	duo_close(&d);
	free(out);
	free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fence__does_not_hold_up_fetches),
		cmocka_unit_test(fence__waiting_is_no_silence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
