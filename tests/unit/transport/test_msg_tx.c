/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* What one packet says about its message. */
static void check_part(const struct plain_pkt *w, uint32_t i, uint32_t total)
{
	uint32_t offset = i * 4096, rest = total - offset;
	assert_int_equal(w->ses.opcode, WIRE_OP_TAGGED_SEND);
	assert_int_equal(!!(w->ses.flags & WIRE_SES_SOM), offset == 0);
	assert_int_equal(!!(w->ses.flags & WIRE_SES_EOM), rest <= 4096);
	assert_int_equal(w->ses.request_length, total);
	assert_int_equal(w->payload_bytes, rest < 4096 ? rest : 4096);
	assert_int_equal(w->ses.match, 7);
	assert_int_equal(w->ses.initiator, 100);
	assert_int_equal(w->ses.pid_on_fep << 4 | w->ses.resource_index, 200);
	if (offset) {
		assert_int_equal(w->ses.message_offset, offset);
		assert_int_equal(w->ses.payload_length, w->payload_bytes);
	}
}

static void cut__parts_cover_the_message(void **state)
{
	static const uint32_t sizes[] = {0, 1, 4096, 4097, 8192, 20000};
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		struct duo d;
		open_default(&d);
		d.logging = true;
		duo_transfer(&d, 0, sizes[k]);
		uint32_t parts = 0;
		for (uint32_t i = 0; i < d.log_len; i++)
			if (d.log[i].from == 0)
				check_part(&d.log[i].w, parts++, sizes[k]);
		assert_int_equal(parts, sizes[k] ? (sizes[k] + 4095) / 4096 : 1);
		duo_close(&d);
	}
}

static void cut__messages_follow_each_other(void **state)
{
	struct duo d;
	uint8_t *out = duo_pattern(10000, 1);
	open_default(&d);
	d.logging = true;
	for (int i = 0; i < 5; i++)
		duo_send(&d, 0, out, 10000, (uint64_t)i, out + i);
	duo_run(&d, d.now + WEFT_MS(1));
	for (int i = 0; i < 5; i++)
		duo_expect(&d, 0, out + i, 0); /* in order here, where nothing is lost */
	uint32_t packets = 0;
	for (uint32_t i = 0; i < d.log_len; i++)
		if (d.log[i].from == 0) {
			assert_int_equal(d.log[i].w.ses.message_id, 1 + packets / 3);
			assert_int_equal(d.log[i].w.ses.match, packets / 3);
			packets++;
		}
	assert_int_equal(packets, 15);
	duo_close(&d);
	free(out);
}

/* A retransmission is the same packet but for flags, entropy and what it confirms. */
static void cut__retransmission_says_the_same(void **state)
{
	struct hit h = {2, 2, DUO_DROP};
	const struct plain_pkt *first = NULL, *again = NULL;
	struct duo d;
	open_default(&d);
	d.logging = true;
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 30000);
	for (uint32_t i = 0; i < d.log_len; i++)
		if (d.log[i].from == 0 && d.log[i].fate == DUO_DROP)
			first = &d.log[i].w;
		else if (d.log[i].from == 0 && d.log[i].w.pds.flags & WIRE_F_RETX)
			again = &d.log[i].w;
	assert_non_null(first);
	assert_non_null(again);
	assert_int_equal(first->pds.psn, again->pds.psn);
	assert_int_equal(first->ses.message_offset, again->ses.message_offset);
	assert_int_equal(first->ses.message_id, again->ses.message_id);
	assert_int_equal(first->payload_bytes, again->payload_bytes);
	duo_close(&d);
}

static void length_only__no_bytes_travel(void **state)
{
	struct duo d;
	open_default(&d);
	duo_recv(&d, 1, NULL, 1 << 20, 7, 0, NULL);
	duo_send(&d, 0, NULL, 1 << 20, 7, NULL);
	duo_run(&d, d.now + WEFT_MS(10));
	duo_expect(&d, 0, NULL, 0);
	assert_int_equal(duo_expect(&d, 1, NULL, 0).len, 1 << 20);
	duo_close(&d);
}

static enum duo_fate drop_all(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return DUO_DROP;
}

/* The latest request of a message, if it is another one than `before`; until then time passes. */
static struct plain_pkt next_request(struct duo *d, uint16_t before)
{
	for (weft_ns end = d->now + WEFT_MS(100); d->now < end; duo_run(d, d->now + WEFT_US(10)))
		for (uint32_t i = d->log_len; i-- > 0;)
			if (d->log[i].from == 0 && d->log[i].w.pds.next_hdr == WIRE_NH_STD &&
			    d->log[i].w.ses.message_id != before)
				return d->log[i].w;
	fail_msg("no message after %u", before);
	return (struct plain_pkt){0};
}

static void refuse_request(struct duo *d, const struct plain_pkt *request, uint8_t rc)
{
	struct plain_pkt w = duo_ack_of(request, WIRE_NH_RSP);
	w.ses = (struct plain_ses){.opcode = WIRE_RSP_RESPONSE,
				   .return_code = rc,
				   .ri_generation = 7,
				   .message_id = request->ses.message_id};
	d->log_len = 0;
	duo_inject_pkt(d, 0, &w, NULL);
	duo_poll(d, 0);
}

/* A target that is not ready is asked five times more, as a new message each time, and then it is an error; one that
 * tells another generation gets that. */
static void refused__for_now_is_repeated(void **state)
{
	static const struct {
		uint8_t rc, generation;
	} cases[] = {{WIRE_RC_NO_MATCH, 0}, {WIRE_RC_DISABLED_GEN, 0}, {WIRE_RC_BAD_GENERATION, 7}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct duo d;
		uint8_t out[100] = {1};
		struct weft_cqe none;
		open_default(&d);
		d.logging = true;
		d.fate = drop_all;
		duo_send(&d, 0, out, sizeof out, 7, out);
		duo_poll(&d, 0);
		struct plain_pkt request = next_request(&d, 0);
		for (uint16_t id = 1; id <= 5; id++) {
			assert_int_equal(request.ses.message_id, id);
			assert_int_equal(request.ses.ri_generation, id > 1 ? cases[i].generation : 0);
			refuse_request(&d, &request, cases[i].rc);
			assert_false(duo_cqe(&d, 0, &none));
			request = next_request(&d, id);
		}
		assert_int_equal(weft_engine_stats(d.e[0])->msg_repeated, 5);
		refuse_request(&d, &request, cases[i].rc);
		duo_run(&d, d.now + WEFT_MS(1));
		assert_true(duo_cqe(&d, 0, &none));
		assert_int_not_equal(none.err, 0);
		assert_int_equal(weft_engine_stats(d.e[0])->msg_repeated, 5);
		duo_close(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut__parts_cover_the_message),      cmocka_unit_test(cut__messages_follow_each_other),
		cmocka_unit_test(cut__retransmission_says_the_same), cmocka_unit_test(refused__for_now_is_repeated),
		cmocka_unit_test(length_only__no_bytes_travel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
