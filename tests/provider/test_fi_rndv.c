/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>

#include "weft/provider.h"

enum { BYTES = 1 << 20, TAG = 3 };

struct large {
	struct host h[2];
	uint8_t *out, *in;
};

static int large_open(void **state)
{
	struct large *l = calloc(1, sizeof *l);
	hosts_open(l->h, NULL);
	l->out = malloc(BYTES);
	l->in = calloc(1, BYTES);
	pattern_fill(l->out, BYTES, 1);
	*state = l;
	return 0;
}

static int large_close(void **state)
{
	struct large *l = *state;
	hosts_close(l->h);
	free(l->out);
	free(l->in);
	free(l);
	return 0;
}

static uint64_t fetched(struct host *h)
{
	struct weft_fi_ops *ops;
	struct weft_stats stats;
	ok(fi_open_ops(&h->domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL));
	ok(ops->stats(&h->domain->fid, &stats));
	return stats.rndv_fetched;
}

static void send__posted_and_unexpected(void **state)
{
	struct large *l = *state;
	for (int posted = 0; posted < 2; posted++) {
		memset(l->in, 0, BYTES);
		if (posted)
			ok(fi_trecv(l->h[1].ep, l->in, BYTES, NULL, FI_ADDR_UNSPEC, TAG, 0, l->in));
		ok(fi_tsend(l->h[0].ep, l->out, BYTES, NULL, l->h[0].peer, TAG, l->out));
		if (!posted) {
			expect_nothing(&l->h[0]); /* it waits for its receive */
			ok(fi_trecv(l->h[1].ep, l->in, BYTES, NULL, FI_ADDR_UNSPEC, TAG, 0, l->in));
		}
		struct fi_cq_tagged_entry e = next_done(&l->h[1]);
		assert_int_equal(e.len, BYTES);
		assert_int_equal(e.flags, FI_TAGGED | FI_RECV);
		next_done(&l->h[0]);
		assert_int_equal(pattern_check(l->in, BYTES, 1), BYTES);
		assert_int_equal(fetched(&l->h[1]), posted + 1);
	}
}

/* Both ends in pieces. */
static void sendv__scattered(void **state)
{
	struct large *l = *state;
	const struct iovec from[2] = {{l->out, 1000}, {l->out + 1000, BYTES - 1000}};
	const struct iovec to[2] = {{l->in, BYTES - 7}, {l->in + BYTES - 7, 7}};
	ok(fi_tsendv(l->h[0].ep, from, NULL, 2, l->h[0].peer, TAG, l->out));
	ok(fi_trecvv(l->h[1].ep, to, NULL, 2, FI_ADDR_UNSPEC, TAG, 0, l->in));
	next_done(&l->h[1]);
	next_done(&l->h[0]);
	assert_int_equal(pattern_check(l->in, BYTES, 1), BYTES);
}

static void peek__claim_and_truncate(void **state)
{
	struct large *l = *state;
	struct fi_msg_tagged msg = {.addr = FI_ADDR_UNSPEC, .tag = TAG, .context = l->in};
	const struct iovec iov = {l->in, 5000};
	ok(fi_tsend(l->h[0].ep, l->out, BYTES, NULL, l->h[0].peer, TAG, l->out));
	expect_nothing(&l->h[1]);
	ok(fi_trecvmsg(l->h[1].ep, &msg, FI_PEEK | FI_COMPLETION));
	assert_int_equal(next_done(&l->h[1]).len, BYTES);
	ok(fi_trecvmsg(l->h[1].ep, &msg, FI_PEEK | FI_CLAIM | FI_COMPLETION));
	assert_int_equal(next_done(&l->h[1]).len, BYTES);
	msg.msg_iov = &iov;
	msg.iov_count = 1;
	ok(fi_trecvmsg(l->h[1].ep, &msg, FI_CLAIM | FI_COMPLETION));
	struct fi_cq_err_entry e = next_error(&l->h[1]);
	assert_int_equal(e.err, FI_ETRUNC);
	assert_int_equal(e.len, 5000);
	assert_int_equal(e.olen, BYTES - 5000);
	assert_int_equal(pattern_check(l->in, 5000, 1), 5000);
	next_done(&l->h[0]);
}

static void discard__lets_the_sender_go(void **state)
{
	struct large *l = *state;
	const struct fi_msg_tagged msg = {.addr = FI_ADDR_UNSPEC, .tag = TAG, .context = l->in};
	ok(fi_tsend(l->h[0].ep, l->out, BYTES, NULL, l->h[0].peer, TAG, l->out));
	expect_nothing(&l->h[1]);
	ok(fi_trecvmsg(l->h[1].ep, &msg, FI_PEEK | FI_DISCARD | FI_COMPLETION));
	next_done(&l->h[1]);
	next_done(&l->h[0]);
}

/* Closing with a message half fetched, or announced only. */
static void close__under_way(void **state)
{
	struct large *l = *state;
	for (int i = 0; i < 8; i++)
		ok(fi_tsend(l->h[0].ep, l->out, BYTES, NULL, l->h[0].peer, TAG, l->out));
	for (int i = 0; i < 4; i++)
		ok(fi_trecv(l->h[1].ep, l->in, BYTES, NULL, FI_ADDR_UNSPEC, TAG, 0, l->in));
	next_done(&l->h[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(send__posted_and_unexpected, large_open, large_close),
		cmocka_unit_test_setup_teardown(sendv__scattered, large_open, large_close),
		cmocka_unit_test_setup_teardown(peek__claim_and_truncate, large_open, large_close),
		cmocka_unit_test_setup_teardown(discard__lets_the_sender_go, large_open, large_close),
		cmocka_unit_test_setup_teardown(close__under_way, large_open, large_close),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
