/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "inside.h"

static const uint8_t payload[4096];

static void inject(struct duo *d, struct plain_pkt w)
{
	duo_inject_pkt(d, 1, &w, payload);
	duo_poll(d, 1);
}

static const struct plain_pds *last_sent(const struct duo *d)
{
	assert_true(d->log_len > 0);
	return &d->log[d->log_len - 1].w.pds;
}

static void open_logged(struct duo *d)
{
	open_default(d);
	d->logging = true;
}

/* The same packet after the target's id is known. */
static struct plain_pkt established(const struct duo *d, struct plain_pkt w, uint32_t psn_offset)
{
	w.pds.flags &= (uint8_t)~WIRE_F_SYN;
	w.pds.dpdcid = first_rx(d->e[1])->pdc.id;
	w.pds.psn += psn_offset;
	w.ses.message_id += (uint16_t)psn_offset;
	return w;
}

static void accept__syns_share_one_connection(void **state)
{
	struct duo d;
	open_logged(&d);
	struct plain_pkt w = duo_syn(1, 8);
	w.pds.psn += 3;
	w.pds.psn_offset = 3;
	w.ses.message_id = 4;
	inject(&d, w);
	inject(&d, duo_syn(1, 8));
	assert_int_equal(weft_engine_stats(d.e[1])->pdc_accepted, 1);
	assert_int_equal(first_rx(d.e[1])->win.next_expected, 1001);
	assert_int_equal(first_rx(d.e[1])->win.ooo_pkts, 1);
	inject(&d, duo_syn(1, 8));
	assert_int_equal(weft_engine_stats(d.e[1])->rx_dup, 1);
	assert_int_equal(last_sent(&d)->type, WIRE_PDS_ACK_CC);
	duo_close(&d);
}

/* A packet that the network has kept too long: an ACK's offset would name another one, which may be lost. */
static void duplicate__of_long_ago_is_not_acknowledged(void **state)
{
	static const uint32_t ages[] = {32769, 40000, 65536, 66000, 1u << 31};
	for (size_t i = 0; i < sizeof ages / sizeof *ages; i++) {
		struct duo d;
		open_logged(&d);
		struct plain_pkt w = duo_syn(1, 8);
		inject(&d, w);
		struct pdc_rx *p = first_rx(d.e[1]);
		p->win.next_expected += ages[i];
		p->win.cack_psn += ages[i];
		uint32_t acks = duo_count(&d, 1, WIRE_PDS_ACK, NULL) + duo_count(&d, 1, WIRE_PDS_ACK_CC, NULL);
		inject(&d, established(&d, w, 0));
		assert_int_equal(last_sent(&d)->type, WIRE_PDS_NACK);
		assert_int_equal(last_sent(&d)->code, WIRE_NACK_PSN_OOR_WINDOW);
		assert_int_equal(duo_count(&d, 1, WIRE_PDS_ACK, NULL) + duo_count(&d, 1, WIRE_PDS_ACK_CC, NULL), acks);
		assert_int_equal(duo_stats(&d, 1)->rx_window, 1);
		duo_close(&d);
	}
}

static void accept__trimmed_syn_opens_nothing(void **state)
{
	struct duo d;
	open_logged(&d);
	struct plain_pkt w = duo_syn(1, 0);
	w.net.dscp = WIRE_DSCP_TRIMMED;
	w.ses.request_length = 100;
	inject(&d, w);
	assert_null(first_rx(d.e[1]));
	assert_int_equal(last_sent(&d)->type, WIRE_PDS_NACK);
	assert_int_equal(last_sent(&d)->code, WIRE_NACK_TRIMMED);
	assert_int_equal(last_sent(&d)->spdcid, 0);
	assert_int_equal(last_sent(&d)->dpdcid, 9);
	duo_close(&d);
}

/* It may have been on its way since before its initiator was restarted: then the messages of the connection it ended
 * would come twice. */
static void accept__no_other_numbering(void **state)
{
	struct duo d;
	open_logged(&d);
	inject(&d, duo_syn(1, 8));
	struct plain_pkt w = duo_syn(1, 8);
	w.pds.psn = 5000000;
	for (int i = 0; i < 3; i++) {
		inject(&d, w);
		assert_int_equal(last_sent(&d)->code, WIRE_NACK_INVALID_SYN);
		assert_int_equal(last_sent(&d)->dpdcid, w.pds.spdcid);
		d.now += WEFT_MS(1); /* silence */
	}
	inject(&d, duo_syn(1, 8));
	assert_int_equal(weft_engine_stats(d.e[1])->rx_dup, 1);
	assert_int_equal(weft_engine_stats(d.e[1])->pdc_accepted, 1);
	duo_close(&d);
}

static void give_up__answers_what_came_and_refuses_the_rest(void **state)
{
	struct duo d;
	open_logged(&d);
	inject(&d, duo_syn(1, 8));
	struct plain_pkt late = established(&d, duo_syn(1, 8), 0), w = established(&d, duo_syn(1, 8), 1);
	struct plain_pkt noop = {.net = w.net, .pds = w.pds};
	noop.pds.type = WIRE_PDS_CP;
	noop.pds.ctl = WIRE_CTL_NOOP;
	pdc_rx_give_up(&d.e[1]->pds, first_rx(d.e[1]), d.now);
	inject(&d, late);
	assert_int_equal(last_sent(&d)->type, WIRE_PDS_ACK_CC);
	inject(&d, w);
	assert_int_equal(last_sent(&d)->code, WIRE_NACK_CLOSING_IN_ERR);
	inject(&d, noop);
	assert_int_equal(last_sent(&d)->type, WIRE_PDS_NACK);
	assert_int_equal(last_sent(&d)->code, WIRE_NACK_CLOSING_IN_ERR);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_data, 1);
	duo_run(&d, d.now + WEFT_MS(300));
	assert_null(first_rx(d.e[1]));
	duo_close(&d);
}

/* An ACK that was held back when the connection was given up still comes when it is due. */
static void give_up__acknowledges_what_it_has(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.ack_every = 4;
	duo_open(&d, &conf);
	d.logging = true;
	inject(&d, duo_syn(1, 8));
	inject(&d, established(&d, duo_syn(1, 8), 1));
	uint64_t acks = duo_stats(&d, 1)->tx_ack;
	assert_true(first_rx(d.e[1])->ack_at_ns != WEFT_NEVER);
	pdc_rx_give_up(&d.e[1]->pds, first_rx(d.e[1]), d.now);
	duo_run(&d, d.now + d.e[1]->pds.conf.ack_delay_ns + WEFT_US(1));
	assert_int_equal(duo_stats(&d, 1)->tx_ack, acks + 1);
	duo_run(&d, d.now + WEFT_MS(300));
	assert_null(first_rx(d.e[1]));
	duo_close(&d);
}

/* Whoever has not heard yet that a request was refused does not hear later that it was carried out. */
static void give_up__goes_on_refusing(void **state)
{
	struct plain_pkt w = duo_syn(1, 8);
	struct duo d;
	open_logged(&d);
	w.ses.opcode = WIRE_OP_WRITE;
	w.ses.match = 99; /* no such key */
	inject(&d, w);
	uint8_t rc = d.log[d.log_len - 1].w.ses.return_code;
	assert_int_equal(rc, WIRE_RC_BAD_MKEY);
	pdc_rx_give_up(&d.e[1]->pds, first_rx(d.e[1]), d.now);
	inject(&d, established(&d, w, 0));
	assert_int_equal(last_sent(&d)->type, WIRE_PDS_ACK_CC);
	assert_true(d.log[d.log_len - 1].w.has_ses);
	assert_int_equal(d.log[d.log_len - 1].w.ses.return_code, rc);
	duo_close(&d);
}

static void accept__without_memory(void **state)
{
	for (uint64_t n = 1; n <= 3; n++) {
		struct duo d;
		open_logged(&d);
		d.mem[1].fail_at = d.mem[1].calls + n;
		inject(&d, duo_syn(1, 8));
		bool refused = last_sent(&d)->type == WIRE_PDS_NACK;
		assert_int_equal(refused, !weft_engine_stats(d.e[1])->rx_data);
		d.mem[1].fail_at = 0;
		inject(&d, duo_syn(1, 8));
		assert_int_equal(last_sent(&d)->type, WIRE_PDS_ACK_CC);
		duo_close(&d);
	}
}

static void request__unknown_connection(void **state)
{
	struct duo d;
	open_logged(&d);
	struct plain_pkt w = duo_syn(1, 8);
	w.pds.flags = 0;
	w.pds.dpdcid = 3;
	inject(&d, w);
	assert_int_equal(last_sent(&d)->code, WIRE_NACK_INV_DPDCID);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_no_pdc, 1);
	duo_close(&d);
}

static void request__another_initiator_is_unknown(void **state)
{
	struct duo d;
	open_logged(&d);
	inject(&d, duo_syn(1, 8));
	struct plain_pkt w = established(&d, duo_syn(1, 8), 1);
	w.pds.spdcid++;
	inject(&d, w);
	assert_int_equal(last_sent(&d)->code, WIRE_NACK_PDC_HDR_MISMATCH);
	duo_close(&d);
}

static void window__ends_where_offered(void **state)
{
	struct duo d;
	open_logged(&d);
	inject(&d, duo_syn(1, 8));
	inject(&d, established(&d, duo_syn(1, 8), 1024));
	assert_int_equal(last_sent(&d)->type, WIRE_PDS_ACK_CC);
	assert_int_equal(last_sent(&d)->mpr, 8);
	inject(&d, established(&d, duo_syn(1, 8), 1025));
	assert_int_equal(last_sent(&d)->code, WIRE_NACK_PSN_OOR_WINDOW);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_window, 1);
	/* All between: the window moves over them, from the last to the first. */
	for (uint32_t i = 1023; i > 0; i--)
		inject(&d, established(&d, duo_syn(1, 8), i));
	assert_int_equal(first_rx(d.e[1])->win.next_expected, 1000 + 1025);
	assert_int_equal(first_rx(d.e[1])->win.ooo_pkts, 0);
	assert_int_equal(first_rx(d.e[1])->win.unreported_pkts, 0);
	assert_int_equal(last_sent(&d)->psn, 1000 + 1024);
	duo_close(&d);
}

static struct plain_pkt control(const struct duo *d, uint8_t ctl, uint32_t psn)
{
	struct plain_pkt w = established(d, duo_syn(1, 0), 0);
	w.pds.type = WIRE_PDS_CP;
	w.pds.next_hdr = WIRE_NH_NONE;
	w.pds.ctl = ctl;
	w.pds.offset = 0;
	w.pds.psn = psn;
	w.has_ses = false;
	return w;
}

static void control__ack_request(void **state)
{
	struct duo d;
	open_logged(&d);
	inject(&d, duo_syn(1, 8));
	inject(&d, control(&d, WIRE_CTL_ACK_REQ, 1000));
	assert_int_equal(last_sent(&d)->type, WIRE_PDS_ACK_CC);
	inject(&d, control(&d, WIRE_CTL_ACK_REQ, 1001));
	assert_int_equal(last_sent(&d)->code, WIRE_NACK_PKT_NOT_RCVD);
	duo_close(&d);
}

static void control__close_and_late_copies(void **state)
{
	struct duo d;
	open_logged(&d);
	inject(&d, duo_syn(1, 8));
	inject(&d, control(&d, WIRE_CTL_CLOSE_CMD, 1001));
	assert_int_equal(last_sent(&d)->type, WIRE_PDS_ACK_CC);
	assert_int_equal(last_sent(&d)->psn, 1001);
	inject(&d, established(&d, duo_syn(1, 8), 0));
	assert_int_equal(last_sent(&d)->type, WIRE_PDS_ACK_CC);
	inject(&d, established(&d, duo_syn(1, 8), 2));
	assert_int_equal(last_sent(&d)->code, WIRE_NACK_CLOSING);
	struct plain_pkt again = control(&d, WIRE_CTL_CLOSE_CMD, 1001);
	duo_run(&d, d.now + WEFT_MS(300));
	assert_null(first_rx(d.e[1]));
	inject(&d, again);
	assert_int_equal(last_sent(&d)->code, WIRE_NACK_INV_DPDCID);
	duo_close(&d);
}

static void control__others_are_ignored(void **state)
{
	struct duo d;
	open_logged(&d);
	inject(&d, duo_syn(1, 8));
	uint32_t before = d.log_len;
	for (uint8_t ctl = 0; ctl < 16; ctl++)
		if (ctl != WIRE_CTL_CLOSE_CMD)
			inject(&d, control(&d, ctl, 1000));
	/* NOOP, NEGOTIATION and ACK_REQ name a PSN that has arrived, PROBE is answered. */
	assert_int_equal(d.log_len - before, 4);
	duo_close(&d);
}

static enum duo_fate drop_later(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 0 && nth >= 10 ? DUO_DROP : DUO_PASS;
}

enum { HALF_BYTES = 200000 };

/* A message of which nothing but the first packets arrives. */
static void begin_half_message(struct duo *d, const uint8_t *out, uint8_t *in)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.peer_timeout_ns = WEFT_MS(200);
	duo_open(d, &conf);
	d->fate = drop_later;
	duo_recv(d, 1, in, HALF_BYTES, 1, 0, in);
	duo_send(d, 0, out, HALF_BYTES, 1, out);
}

static void silence__ends_half_received_messages(void **state)
{
	struct duo d;
	uint8_t *out = duo_pattern(HALF_BYTES, 1), *in = malloc(HALF_BYTES);
	begin_half_message(&d, out, in);
	duo_run(&d, d.now + WEFT_MS(450));
	duo_expect(&d, 0, out, ETIMEDOUT);
	assert_int_equal(duo_expect(&d, 1, in, ETIMEDOUT).len, 0);
	assert_null(first_rx(d.e[1]));
	assert_int_equal(weft_engine_stats(d.e[1])->pdc_failed, 1);
	duo_close(&d);
	free(in);
	free(out);
}

/* Of a target that sends nothing and is polled late, each time. */
static void silence__is_noticed_in_late_polls(void **state)
{
	static const weft_ns periods_ns[] = {WEFT_US(5), 137000, 1370000, 13700000};
	for (size_t i = 0; i < sizeof periods_ns / sizeof *periods_ns; i++) {
		struct duo d;
		struct weft_cqe cqe;
		uint8_t *out = duo_pattern(HALF_BYTES, 1), *in = malloc(HALF_BYTES);
		begin_half_message(&d, out, in);
		duo_run(&d, d.now + WEFT_US(50));
		weft_ns start = d.now;
		while (!duo_cqe(&d, 1, &cqe)) {
			d.now += periods_ns[i];
			assert_true(d.now < start + WEFT_MS(400));
			duo_poll(&d, 1);
		}
		assert_int_equal(cqe.err, ETIMEDOUT);
		assert_true(d.now >= start + WEFT_MS(190));
		duo_close(&d);
		free(in);
		free(out);
	}
}

static void silence__reaps_forgotten_connections(void **state)
{
	struct duo d;
	open_default(&d);
	inject(&d, duo_syn(1, 8));
	duo_run(&d, d.now + WEFT_S(8));
	assert_non_null(first_rx(d.e[1]));
	duo_run(&d, d.now + WEFT_S(2));
	assert_null(first_rx(d.e[1]));
	assert_int_equal(weft_engine_stats(d.e[1])->pdc_failed, 0);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accept__syns_share_one_connection),
		cmocka_unit_test(duplicate__of_long_ago_is_not_acknowledged),
		cmocka_unit_test(accept__trimmed_syn_opens_nothing),
		cmocka_unit_test(accept__no_other_numbering),
		cmocka_unit_test(give_up__answers_what_came_and_refuses_the_rest),
		cmocka_unit_test(give_up__acknowledges_what_it_has),
		cmocka_unit_test(give_up__goes_on_refusing),
		cmocka_unit_test(accept__without_memory),
		cmocka_unit_test(request__unknown_connection),
		cmocka_unit_test(request__another_initiator_is_unknown),
		cmocka_unit_test(window__ends_where_offered),
		cmocka_unit_test(control__ack_request),
		cmocka_unit_test(control__close_and_late_copies),
		cmocka_unit_test(control__others_are_ignored),
		cmocka_unit_test(silence__ends_half_received_messages),
		cmocka_unit_test(silence__is_noticed_in_late_polls),
		cmocka_unit_test(silence__reaps_forgotten_connections),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
