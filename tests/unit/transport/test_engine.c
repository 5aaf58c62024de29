/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "duo.h"

static void transfer(struct duo *d, uint64_t len)
{
	uint8_t *out = duo_pattern(len, 1), *in = calloc(1, len + 1);
	struct weft_cqe cqe;
	duo_recv(d, 1, in, len, 7, 0, in);
	duo_send(d, 0, out, len, 7, out);
	duo_run(d, d->now + WEFT_MS(500));
	assert_true(duo_cqe(d, 0, &cqe));
	assert_ptr_equal(cqe.context, out);
	assert_int_equal(cqe.err, 0);
	assert_true(duo_cqe(d, 1, &cqe));
	assert_ptr_equal(cqe.context, in);
	assert_int_equal(cqe.err, 0);
	assert_int_equal(cqe.len, len);
	assert_int_equal(cqe.tag, 7);
	assert_memory_equal(in, out, len);
	free(in);
	free(out);
}

static void poll__messages_of_all_sizes_arrive(void **state)
{
	static const uint64_t sizes[] = {0, 1, 4095, 4096, 4097, 100000, 8 << 20};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		transfer(&d, sizes[i]);
	const struct weft_stats *a = weft_engine_stats(d.e[0]), *b = weft_engine_stats(d.e[1]);
	assert_int_equal(a->tx_retx, 0);
	assert_int_equal(a->timeouts, 0);
	assert_int_equal(b->rx_dup, 0);
	assert_int_equal(a->msg_sent, 7);
	assert_int_equal(b->msg_received, 7);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll__messages_of_all_sizes_arrive),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
