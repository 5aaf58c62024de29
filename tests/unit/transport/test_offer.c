/* SPDX-License-Identifier: BSD-3-Clause */
/* Wefts that take each other for endpoints of UET find out, and nothing changes between others. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "offer.h"

enum { BYTES = 100000, LIMIT = 1000 };

#define IDLE_CLOSE_NS WEFT_MS(200)

/* As a restarted process does. */
static void forget(struct weft_engine *e)
{
	while (first_rx(e))
		pdc_rx_free(&e->pds, first_rx(e), 0);
}

static void open_pair(struct duo *d, enum weft_profile a, enum weft_profile b)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = LIMIT;
	duo_open(d, &conf);
	d->e[0]->pds.conf.tune.profile = a;
	d->e[1]->pds.conf.tune.profile = b;
	d->logging = true;
}

static void message(struct duo *d, int from)
{
	static int context;
	uint8_t *out = duo_pattern(BYTES, 3), *in = calloc(1, BYTES);
	assert_non_null(in);
	duo_recv(d, !from, in, BYTES, 1, 0, &context);
	duo_send(d, from, out, BYTES, 1, &context);
	duo_run(d, d->now + WEFT_MS(50));
	assert_memory_equal(in, out, BYTES);
	for (int i = 0; i < 2; i++)
		duo_expect(d, i, &context, 0);
	free(out);
	free(in);
}

static uint64_t offers_of(const struct duo *d)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < d->log_len; i++)
		n += d->log[i].w.pds.type == WIRE_PDS_CP && d->log[i].w.pds.ctl == WIRE_CTL_PROBE &&
		     d->log[i].w.pds.opaque == OFFER_OPAQUE;
	return n;
}

static uint64_t fetched(const struct duo *d, int side)
{
	return duo_stats(d, side)->rndv_fetched;
}

/* The first message of a connection goes as to a stranger; then those that follow are announced and fetched. */
static void wefts__find_out(void **state)
{
	struct duo d;
	open_pair(&d, WEFT_PROFILE_AI_BASE, WEFT_PROFILE_HPC);
	message(&d, 0);
	assert_int_equal(fetched(&d, 1), 0);
	message(&d, 0);
	assert_int_equal(fetched(&d, 1), 1);
	message(&d, 1); /* over the connection that it fetches by, and has asked over */
	assert_int_equal(fetched(&d, 0), 1);
	assert_int_equal(offers_of(&d), 2);
	duo_close(&d);
}

static void profile_weft__asks_nobody(void **state)
{
	struct duo d;
	open_pair(&d, WEFT_PROFILE_WEFT, WEFT_PROFILE_WEFT);
	message(&d, 0);
	assert_int_equal(fetched(&d, 1), 1);
	assert_int_equal(offers_of(&d), 0);
	duo_close(&d);
}

static bool is_answer(const struct plain_pkt *w)
{
	return w->pds.flags & WIRE_F_ACK_P && w->pds.opaque == OFFER_OPAQUE &&
	       (w->pds.type == WIRE_PDS_ACK_CC || w->pds.type == WIRE_PDS_ACK_CCX);
}

static enum duo_fate no_answers(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return is_answer(w) ? DUO_DROP : DUO_PASS;
}

/* One that never answers is asked three times, however long the connection lives, and gets what the standard says. */
static void silence__is_respected(void **state)
{
	struct duo d;
	open_pair(&d, WEFT_PROFILE_AI_BASE, WEFT_PROFILE_AI_BASE);
	d.fate = no_answers;
	for (int i = 0; i < 10; i++)
		message(&d, 0);
	assert_int_equal(offers_of(&d), 3);
	assert_int_equal(fetched(&d, 1), 0);
	duo_close(&d);
}

/* What others answer to a PROBE says nothing of Wefts; nor does a vendor's state that is not ours. */
static void answers__of_others(void **state)
{
	for (uint8_t type = WIRE_PDS_ACK; type <= WIRE_PDS_ACK_CCX; type++) {
		struct duo d;
		open_pair(&d, WEFT_PROFILE_AI_BASE, WEFT_PROFILE_AI_BASE);
		d.fate = no_answers;
		message(&d, 0);
		struct plain_pkt answer = {0};
		for (uint32_t i = 0; i < d.log_len; i++)
			if (is_answer(&d.log[i].w))
				answer = d.log[i].w;
		assert_int_equal(answer.pds.type, WIRE_PDS_ACK_CCX);
		answer.pds.type = type;
		answer.pds.ccx[0] ^= type == WIRE_PDS_ACK_CCX;
		duo_inject_pkt(&d, 0, &answer, NULL);
		duo_poll(&d, 0);
		message(&d, 0);
		message(&d, 0);
		assert_int_equal(fetched(&d, 1), 0);
		assert_int_equal(offers_of(&d), 1);
		duo_close(&d);
	}
}

/* An announcement by one that has not asked means something that Weft does not know. */
static void announcements__of_strangers(void **state)
{
	static int context;
	struct duo d;
	open_pair(&d, WEFT_PROFILE_WEFT, WEFT_PROFILE_AI_BASE);
	uint8_t *out = duo_pattern(BYTES, 3);
	duo_send(&d, 0, out, BYTES, 1, &context);
	duo_run(&d, d.now + WEFT_MS(50));
	duo_expect(&d, 0, &context, EOPNOTSUPP);
	duo_close(&d);
	free(out);
}

/* What a host has said over one connection does not hold for the next, which may be to another life of it. */
static void each_connection__finds_out(void **state)
{
	struct duo d;
	open_pair(&d, WEFT_PROFILE_AI_BASE, WEFT_PROFILE_AI_BASE);
	d.e[0]->pds.conf.tune.idle_close_ns = IDLE_CLOSE_NS;
	message(&d, 0);
	message(&d, 0);
	assert_int_equal(fetched(&d, 1), 1);
	duo_run(&d, d.now + 2 * IDLE_CLOSE_NS);
	assert_int_equal(duo_stats(&d, 0)->pdc_closed, 1);
	message(&d, 0);
	assert_int_equal(fetched(&d, 1), 1);
	message(&d, 0);
	assert_int_equal(fetched(&d, 1), 2);
	assert_int_equal(offers_of(&d), 3);
	duo_close(&d);
}

/* Announcements that start over go as plain messages, in their turn: a host that started again has heard nothing. */
static void new_life__gets_plain_messages(void **state)
{
	enum { MESSAGES = 4 };
	static int context[MESSAGES];
	struct duo d;
	open_pair(&d, WEFT_PROFILE_AI_BASE, WEFT_PROFILE_AI_BASE);
	message(&d, 0);
	duo_run(&d, d.now + WEFT_MS(500));
	forget(d.e[1]);
	uint8_t *out = duo_pattern(BYTES, 3), *in = calloc(MESSAGES, BYTES);
	assert_non_null(in);
	for (int i = 0; i < MESSAGES; i++) {
		duo_recv(&d, 1, in + (size_t)i * BYTES, BYTES, 0, 0, &context[i]);
		duo_send(&d, 0, out, i % 2 ? 100 : BYTES, 0, &context[i]);
	}
	duo_run(&d, d.now + WEFT_MS(50));
	for (int i = 0; i < MESSAGES; i++) {
		duo_expect(&d, 1, &context[i], 0);
		duo_expect(&d, 0, &context[i], 0);
	}
	assert_int_equal(fetched(&d, 1), 0);
	duo_close(&d);
	free(out);
	free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wefts__find_out),
		cmocka_unit_test(profile_weft__asks_nobody),
		cmocka_unit_test(silence__is_respected),
		cmocka_unit_test(answers__of_others),
		cmocka_unit_test(announcements__of_strangers),
		cmocka_unit_test(each_connection__finds_out),
		cmocka_unit_test(new_life__gets_plain_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
