/* SPDX-License-Identifier: BSD-3-Clause */
/* Manual progress: an application that waits for its peer elsewhere, and so does not call us, neither keeps its last
 * message from arriving nor the peer's from completing, whatever the wire lost. */
#include <string.h>
#include <time.h>

#include "fixture.h"
#include "rng.h"
#include "wires.h"

enum { SMALL = 100, LARGE = 100000, PATIENCE_S = 20 };

static const struct wires_faults whole, cut = {.lost = 1000};
static struct rng dice = {1};
static uint8_t out[LARGE], in[LARGE];

static void nap(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	nanosleep(&ms, NULL);
}

/* The one host makes calls, the other does not. */
static void await(struct host *h, const void *context)
{
	struct fi_cq_tagged_entry entry;
	time_t end = time(NULL) + PATIENCE_S;
	ssize_t n = -FI_EAGAIN;
	while (n == -FI_EAGAIN && time(NULL) < end) {
		wires_turn(&whole, &dice.state);
		n = fi_cq_read(h->cq, &entry, 1);
		if (n == -FI_EAGAIN)
			nap();
	}
	assert_int_equal(n, 1);
	assert_ptr_equal(entry.op_context, context);
}

/* Both call, so that addresses and connections are known afterwards. */
static void warm_up(void)
{
	struct fi_cq_tagged_entry entry;
	unsigned ended = 0;
	for (int i = 0; i < 2; i++) {
		ok(fi_trecv(hosts[!i].ep, in, SMALL, NULL, hosts[!i].peer, 1, 0, NULL));
		ok(fi_tsend(hosts[i].ep, out, SMALL, NULL, hosts[i].peer, 1, NULL));
	}
	while (ended < 4) {
		wires_turn(&whole, &dice.state);
		for (int i = 0; i < 2; i++)
			ended += fi_cq_read(hosts[i].cq, &entry, 1) == 1;
	}
}

/* A copied message has completed; its packet is lost, and its sender never calls again. */
static void send__arrives_though_its_sender_waits_elsewhere(void **state)
{
	warm_up();
	pattern_fill(out, SMALL, 7);
	ok(fi_trecv(hosts[1].ep, in, SMALL, NULL, hosts[1].peer, 2, 0, in));
	ok(fi_tsend(hosts[0].ep, out, SMALL, NULL, hosts[0].peer, 2, out));
	wires_turn(&cut, &dice.state);
	await(&hosts[1], in);
	assert_int_equal(pattern_check(in, SMALL, 7), SMALL);
}

/* A long message completes when it is acknowledged; the last acknowledgement is lost, and the receiver never calls
 * again. */
static void send__completes_though_its_receiver_waits_elsewhere(void **state)
{
	struct fi_cq_tagged_entry entry;
	warm_up();
	pattern_fill(out, LARGE, 8);
	ok(fi_trecv(hosts[1].ep, in, LARGE, NULL, hosts[1].peer, 2, 0, in));
	ok(fi_tsend(hosts[0].ep, out, LARGE, NULL, hosts[0].peer, 2, out));
	while (fi_cq_read(hosts[1].cq, &entry, 1) == -FI_EAGAIN) {
		assert_int_equal(fi_cq_read(hosts[0].cq, NULL, 0), -FI_EAGAIN);
		wires_turn(&whole, &dice.state);
	}
	wires_turn(&cut, &dice.state);
	assert_int_equal(pattern_check(in, LARGE, 8), LARGE);
	await(&hosts[0], out);
}

/* A host that computes and has no connection is not dead: what a new peer sends it is taken. */
static void send__is_taken_by_who_computes(void **state)
{
	const struct timespec long_enough = {.tv_sec = 2};
	nanosleep(&long_enough, NULL); /* until nothing is expected any more */
	pattern_fill(out, LARGE, 9);
	ok(fi_tsend(hosts[0].ep, out, LARGE, NULL, hosts[0].peer, 2, out));
	await(&hosts[0], out);
}

static int teardown(void **state)
{
	hosts_teardown(state);
	wires_drain();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(send__arrives_though_its_sender_waits_elsewhere, hosts_setup, teardown),
		cmocka_unit_test_setup_teardown(send__completes_though_its_receiver_waits_elsewhere, hosts_setup,
						teardown),
		cmocka_unit_test_setup_teardown(send__is_taken_by_who_computes, hosts_setup, teardown),
	};
	return cmocka_run_group_tests(tests, wires_setup, NULL);
}
