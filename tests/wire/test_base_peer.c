/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic with a peer that does AI Base and nothing else, in every encapsulation, with and without loss. */
#include "base_peer.h"

#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOSS_PPM = 20000, MIB = 1 << 20, SHORT_READ = 16 };

static const struct kind {
	const char *name;
	bool v6;
	enum uet_encap encap;
	uint32_t loss_ppm;
} kinds[] = {
	{"UDP IPv4", false, UET_UDP, 0},
	{"native IPv4", false, UET_NATIVE, 0},
	{"UDP IPv4, 2 % loss", false, UET_UDP, LOSS_PPM},
	{"native IPv4, 2 % loss", false, UET_NATIVE, LOSS_PPM},
	{"UDP IPv6, 2 % loss", true, UET_UDP, LOSS_PPM},
	{"native IPv6, 2 % loss", true, UET_NATIVE, LOSS_PPM},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const uint32_t sizes[] = {0, 1, 16, 64, 1024, 1025, 5000, 65536, MIB};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

struct both {
	struct engine_box box;
	struct base_peer peer;
	uint32_t bytes;            /* of the last operation */
	uint8_t out[MIB], in[MIB]; /* of the engine's operations */
};

static struct both *open_both(const struct kind *kind)
{
	struct both *t = calloc(1, sizeof *t);

	assert_non_null(t);
	box_open(&t->box, kind->v6, kind->encap, kind->encap == UET_NATIVE);
	base_open(&t->peer, &t->box);
	t->box.loss_ppm = kind->loss_ppm;
	for (uint32_t i = 0; i < MIB; i++)
		t->out[i] = conform_byte(BASE_CONTENT, i);
	return t;
}

static void close_both(struct both *t)
{
	assert_string_equal(t->peer.p.said, "");
	assert_int_equal(t->box.lost > 0, t->box.loss_ppm > 0);
	box_close(&t->box);
	free(t);
}

/* An operation of the engine towards the peer. */
static void submit(struct both *t, uint8_t kind, uint32_t bytes)
{
	struct weft_op op = {.kind = kind,
			     .peer = t->box.peer,
			     .buf = kind == WEFT_OP_READ ? t->in : t->out,
			     .len = bytes,
			     .tag = kind == WEFT_OP_TSEND ? BOX_TAG : 0,
			     .rkey = BOX_KEY,
			     .context = t};
	t->bytes = bytes;
	assert_int_equal(weft_submit(t->box.ep, &op), 0);
	base_run(&t->peer);
}

static void completed(struct both *t, int err)
{
	struct weft_cqe cqe;

	if (!box_completion(&t->box, &cqe))
		fail_msg("no completion of %u bytes; %s", (unsigned)t->bytes, t->peer.p.said);
	assert_ptr_equal(cqe.context, t);
	assert_int_equal(cqe.err, err);
}

/* Their message, then ours, and so on. */
static void ping_pong(struct both *t, enum uet_op theirs, uint8_t ours)
{
	for (uint32_t i = 0; i < SIZES; i++) {
		box_receive(&t->box, 0, theirs == UET_TSEND);
		uint32_t id = base_start(&t->peer, theirs, sizes[i]), before = t->peer.message_count;
		base_run(&t->peer);
		box_expect_message(&t->box, id, sizes[i]);
		submit(t, ours, sizes[i]);
		completed(t, 0);
		assert_int_equal(t->peer.message_count, before + 1);
		assert_int_equal(t->peer.messages[before].have, sizes[i]);
		assert_int_equal(t->peer.messages[before].op, theirs);
	}
}

static void sends(void **state)
{
	struct both *t = open_both(*state);
	ping_pong(t, UET_SEND, WEFT_OP_SEND);
	close_both(t);
}

static void tagged_sends(void **state)
{
	struct both *t = open_both(*state);
	ping_pong(t, UET_TSEND, WEFT_OP_TSEND);
	close_both(t);
}

static void writes(void **state)
{
	struct both *t = open_both(*state);

	for (uint32_t i = 0; i < SIZES; i++) {
		memset(t->box.region, 0, sizes[i]);
		uint32_t id = base_start(&t->peer, UET_WRITE, sizes[i]), before = t->peer.message_count;
		base_run(&t->peer);
		for (uint32_t k = 0; k < sizes[i]; k++)
			assert_int_equal(t->box.region[k], conform_byte(id, k));
		submit(t, WEFT_OP_WRITE, sizes[i]);
		completed(t, 0);
		assert_int_equal(t->peer.messages[before].have, sizes[i]);
	}
	close_both(t);
}

/* A READ of theirs, then ours. */
static void read_both(struct both *t, uint32_t bytes)
{
	base_start(&t->peer, UET_READ, bytes);
	base_run(&t->peer);
	assert_int_equal(t->peer.read_bytes, bytes);
	uint32_t before = t->peer.message_count;
	memset(t->in, 0, bytes);
	submit(t, WEFT_OP_READ, bytes);
	completed(t, 0);
	for (uint32_t k = 0; k < bytes; k++)
		assert_int_equal(t->in[k], conform_byte(t->peer.messages[before].id, k));
}

static void reads(void **state)
{
	struct both *t = open_both(*state);

	for (uint32_t i = 0; i < MIB; i++)
		t->box.region[i] = conform_byte(3, i);
	for (uint32_t i = 0; i < SIZES; i++)
		if (sizes[i] > SHORT_READ)
			read_both(t, sizes[i]);
	close_both(t);
}

/* Their answer is in the acknowledgement. */
static void short_reads(void **state)
{
	static const uint32_t lengths[] = {0, 1, SHORT_READ};
	struct both *t = open_both(*state);
	for (uint32_t i = 0; i < SHORT_READ; i++)
		t->box.region[i] = conform_byte(3, i);
	for (int i = 0; i < 30; i++)
		read_both(t, lengths[i % 3]);
	close_both(t);
}

/* Return codes that end an operation, and with what. */
static void refusals(void **state)
{
	static const struct {
		uint32_t rc;
		int err;
	} codes[] = {{UET_RC_UNDELIVERABLE, EHOSTUNREACH}, {UET_RC_BAD_MKEY, EACCES}, {UET_RC_AT_OUT_OF_RANGE, ERANGE}};
	struct both *t = open_both(*state);

	for (uint32_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		t->peer.refuse = codes[i].rc;
		submit(t, WEFT_OP_WRITE, 100);
		completed(t, codes[i].err);
		t->peer.refuse = 0;
		submit(t, WEFT_OP_SEND, 100); /* the connection lives */
		completed(t, 0);
	}
	t->peer.refused = 0;
	uint64_t index = t->peer.p.target.index;
	t->peer.p.target.index = 0x0ff;
	base_start(&t->peer, UET_SEND, 100);
	base_run(&t->peer);
	assert_true(t->peer.refused == UET_RC_UNDELIVERABLE || t->peer.refused == UET_RC_BAD_INDEX);
	t->peer.p.target.index = (uint32_t)index;
	close_both(t);
}

int main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(sends), cmocka_unit_test(tagged_sends), cmocka_unit_test(writes),
		cmocka_unit_test(reads), cmocka_unit_test(short_reads),  cmocka_unit_test(refusals),
	};
	enum { CASES = sizeof cases / sizeof cases[0] };
	int bad = 0;

	for (uint32_t i = 0; i < KINDS; i++) {
		struct CMUnitTest tests[CASES];
		for (uint32_t k = 0; k < CASES; k++) {
			tests[k] = cases[k];
			tests[k].initial_state = (void *)(uintptr_t)&kinds[i];
		}
		bad += _cmocka_run_group_tests(kinds[i].name, tests, CASES, NULL, NULL);
	}
	return bad;
}
