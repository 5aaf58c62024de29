/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "inside.h"

struct heard {
	uint32_t count[WEFT_LB_FB_KINDS];
};

static void note_feedback(void *arg, const struct weft_ip *peer, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
	((struct heard *)arg)->count[fb]++;
}

static void open_traced(struct duo *d, struct heard *heard)
{
	struct weft_trace_ops trace = {.feedback = note_feedback, .arg = heard};
	open_default(d);
	weft_engine_trace(d->e[0], &trace);
	d->logging = true;
}

static void trim__retransmitted_once_and_at_once(void **state)
{
	struct hit h = {5, 9, DUO_TRIM};
	struct heard heard = {{0}};
	struct duo d;
	open_traced(&d, &heard);
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 100 * 4096);
	const struct weft_stats *s = weft_engine_stats(d.e[0]);
	assert_int_equal(s->tx_retx, 5);
	assert_int_equal(s->tx_retx_trim, 5);
	assert_int_equal(s->timeouts + s->lost_gap, 0);
	assert_int_equal(heard.count[WEFT_LB_TRIM], 5);
	assert_int_equal(heard.count[WEFT_LB_OK], 100);
	for (uint32_t i = 0; i < d.log_len; i++) {
		uint32_t psn = d.log[i].w.pds.psn;
		if (d.log[i].from == 0)
			assert_int_equal(duo_count(&d, 0, WIRE_PDS_RUD_REQ, &psn),
					 d.log[i].fate == DUO_TRIM ? 2 : 1 + !!(d.log[i].w.pds.flags & WIRE_F_RETX));
		if (d.log[i].w.pds.flags & WIRE_F_RETX && d.log[i].from == 0)
			assert_in_range(d.log[i].at, WEFT_MS(1) + 2 * d.latency_ns,
					WEFT_MS(1) + 2 * d.latency_ns + 8000);
	}
	duo_close(&d);
}

static void trim__last_hop_is_no_fault_of_the_path(void **state)
{
	struct hit h = {5, 9, DUO_TRIM_LASTHOP};
	struct heard heard = {{0}};
	struct duo d;
	open_traced(&d, &heard);
	d.fate = hit_data;
	d.fate_arg = &h;
	duo_transfer(&d, 0, 100 * 4096);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx_trim, 5);
	assert_int_equal(heard.count[WEFT_LB_TRIM], 0);
	assert_int_equal(heard.count[WEFT_LB_OK], 105);
	duo_close(&d);
}

static enum duo_fate trim_every_third(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 0 && is_data(w) && !(w->pds.flags & WIRE_F_RETX) && w->pds.psn % 3 == 0 ? DUO_TRIM : DUO_PASS;
}

static void trim__storm(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.cc = "smartt";
	conf.lb = "reps";
	duo_open(&d, &conf);
	d.fate = trim_every_third;
	duo_transfer(&d, 0, 3000 * 4096);
	const struct weft_stats *s = weft_engine_stats(d.e[0]);
	assert_int_equal(s->tx_retx, 1000);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_trimmed, 1000);
	assert_int_equal(s->timeouts, 0);
	assert_int_equal(weft_engine_stats(d.e[1])->rx_dup, 0);
	duo_close(&d);
}

static enum duo_fate every_third_ack_late(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 1 && nth % 3 == 0 ? DUO_LATE : DUO_PASS;
}

/* A later ACK speaks for the packet of one that is late; that one then says nothing new. */
static void all_acked__every_packet_counts_once(void **state)
{
	struct heard heard = {{0}};
	struct weft_trace_ops trace = {.feedback = note_feedback, .arg = &heard};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.lb_all_acked = 1;
	duo_open(&d, &conf);
	weft_engine_trace(d.e[0], &trace);
	d.fate = every_third_ack_late;
	d.late_ns = 3000;
	duo_transfer(&d, 0, 300 * 4096);
	assert_true(heard.count[WEFT_LB_COVERED] > 10);
	assert_int_equal(heard.count[WEFT_LB_OK] + heard.count[WEFT_LB_COVERED], 300);
	duo_close(&d);
}

static enum duo_fate dup_acks(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 1 ? DUO_DUP : DUO_PASS;
}

/* The second copy of the last ACK finds a connection that has given its memory back. */
static void ack__duplicates_are_harmless(void **state)
{
	struct heard heard = {{0}};
	struct duo d;
	open_traced(&d, &heard);
	d.fate = dup_acks;
	duo_transfer(&d, 0, 10 * 4096);
	duo_transfer(&d, 0, 1);
	assert_int_equal(weft_engine_stats(d.e[0])->rx_ack, 22);
	assert_int_equal(heard.count[WEFT_LB_OK], 11);
	assert_int_equal(first_tx(d.e[0])->inflight_bytes, 0);
	duo_close(&d);
}

/* An ACK of side 1 for the connection of side 0. */
static struct plain_pkt ack_of(const struct duo *d, uint32_t cack)
{
	const struct pdc_tx *p = first_tx(d->e[0]);
	return (struct plain_pkt){.net = {.dscp = WIRE_DSCP_CONTROL},
				  .pds = {.type = WIRE_PDS_ACK_CC,
					  .spdcid = p->remote_id ? p->remote_id : 77,
					  .dpdcid = p->pdc.id,
					  .psn = cack}};
}

static struct plain_pkt nack_of(const struct duo *d, uint32_t psn, uint8_t code, uint16_t target)
{
	struct plain_pkt w = ack_of(d, 0);
	w.pds = (struct plain_pds){
		.type = WIRE_PDS_NACK, .code = code, .psn = psn, .spdcid = target, .dpdcid = w.pds.dpdcid};
	return w;
}

enum { SENT_BYTES_MAX = 10 * 4096 };
static const uint8_t sent[SENT_BYTES_MAX] = {1}; /* the message, and its context */

static void submit_and_send(struct duo *d, uint32_t bytes)
{
	duo_send(d, 0, sent, bytes, 1, sent);
	duo_poll(d, 0);
}

static struct pdc_tx *open_and_send(struct duo *d, uint32_t bytes)
{
	open_default(d);
	submit_and_send(d, bytes);
	return first_tx(d->e[0]);
}

/* The operation failed, as the target was lost. */
static void expect_reset(struct duo *d)
{
	struct weft_cqe cqe;
	assert_true(duo_cqe(d, 0, &cqe));
	assert_int_equal(cqe.err, ECONNRESET);
}

static void ack__beyond_what_was_sent_is_stale(void **state)
{
	struct weft_cqe cqe;
	struct duo d;
	struct pdc_tx *p = open_and_send(&d, 4096);
	struct plain_pkt w = ack_of(&d, p->q.nxt);
	duo_inject_pkt(&d, 0, &w, NULL);
	w = ack_of(&d, p->q.nxt + 100);
	duo_inject_pkt(&d, 0, &w, NULL);
	w = ack_of(&d, p->start_psn - 3000);
	duo_inject_pkt(&d, 0, &w, NULL);
	w = ack_of(&d, p->start_psn);
	w.pds.dpdcid++;
	duo_inject_pkt(&d, 0, &w, NULL);
	duo_poll(&d, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->rx_stale, 4);
	assert_false(duo_cqe(&d, 0, &cqe));
	duo_close(&d);
}

static void ack__bitmap_beyond_the_queue_is_cut(void **state)
{
	struct duo d;
	struct pdc_tx *p = open_and_send(&d, SENT_BYTES_MAX);
	uint32_t pkts = sendq_len(&p->q);
	assert_true(pkts >= 2);
	static const int16_t offsets[] = {1, -60, -64, -32768, 32767, 5};
	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
		struct plain_pkt w = ack_of(&d, p->start_psn - 1);
		w.pds.sack_offset = offsets[i];
		w.pds.sack_bitmap = UINT64_MAX;
		w.pds.offset = -5;
		duo_inject_pkt(&d, 0, &w, NULL);
	}
	duo_poll(&d, 0);
	assert_true(psn_diff(p->q.una, p->q.nxt) <= 0);
	assert_int_equal(p->q.una, p->start_psn + pkts);
	duo_run(&d, d.now + WEFT_MS(10));
	duo_close(&d);
}

/* Its bitmap is that of ACK_CC; its state says nothing to us, whatever it looks like. */
static void ack__with_vendor_state_acknowledges(void **state)
{
	struct duo d;
	struct pdc_tx *p = open_and_send(&d, SENT_BYTES_MAX);
	uint32_t pkts = sendq_len(&p->q);
	assert_true(pkts >= 3);
	struct plain_pkt w = ack_of(&d, p->start_psn);
	w.pds.type = WIRE_PDS_ACK_CCX;
	w.pds.cc_type = 14;
	w.pds.ccx[0] = w.pds.ccx[1] = UINT64_MAX;
	w.pds.sack_offset = 2;
	w.pds.sack_bitmap = 1;
	duo_inject_pkt(&d, 0, &w, NULL);
	duo_poll(&d, 0);
	assert_int_equal(p->q.una, p->start_psn + 1);
	assert_int_equal(sendq_at(&p->q, p->start_psn + 1)->state, SENT_INFLIGHT);
	assert_int_equal(sendq_at(&p->q, p->start_psn + 2)->state, SENT_ACKED);
	assert_int_equal(weft_engine_stats(d.e[0])->rx_bad_pds, 0);
	duo_run(&d, d.now + WEFT_MS(10));
	duo_close(&d);
}

static void ack__from_another_target_id_is_stale(void **state)
{
	struct duo d;
	open_default(&d);
	duo_transfer(&d, 0, 1);
	submit_and_send(&d, 1);
	struct pdc_tx *p = first_tx(d.e[0]);
	struct plain_pkt w = ack_of(&d, p->q.nxt - 1);
	w.pds.spdcid++;
	duo_inject_pkt(&d, 0, &w, NULL);
	w.pds.spdcid = 0;
	duo_inject_pkt(&d, 0, &w, NULL);
	duo_poll(&d, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->rx_stale, 2);
	assert_int_equal(sendq_len(&p->q), 1);
	duo_run(&d, d.now + WEFT_MS(10));
	duo_expect(&d, 0, sent, 0);
	duo_close(&d);
}

/* What a target said to an engine that had our address and our connection's number before. */
static void answers_to_others__do_not_name_our_target(void **state)
{
	struct duo d;
	struct pdc_tx *p = open_and_send(&d, 1);
	struct plain_pkt w = ack_of(&d, p->start_psn + 5000);
	duo_inject_pkt(&d, 0, &w, NULL);
	w = nack_of(&d, p->start_psn + 5000, WIRE_NACK_TRIMMED, 77);
	duo_inject_pkt(&d, 0, &w, NULL);
	duo_poll(&d, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->rx_stale, 2);
	assert_int_equal(p->state, PDC_TX_SYN);
	assert_int_equal(p->remote_id, 0);
	duo_run(&d, d.now + WEFT_MS(10));
	duo_expect(&d, 0, sent, 0);
	duo_close(&d);
}

/* Somebody has answered, and then nobody knows us: a second target may have taken what was on its way to the first. */
static void nack__unknown_connection_after_an_answer_is_an_error(void **state)
{
	struct duo d;
	struct pdc_tx *p = open_and_send(&d, 1);
	struct plain_pkt w = nack_of(&d, p->start_psn, WIRE_NACK_TRIMMED, 77);
	duo_inject_pkt(&d, 0, &w, NULL);
	w = nack_of(&d, p->start_psn, WIRE_NACK_INV_DPDCID, 0);
	duo_inject_pkt(&d, 0, &w, NULL);
	duo_poll(&d, 0);
	expect_reset(&d);
	assert_null(first_tx(d.e[0]));
	duo_close(&d);
}

/* A connection given up by its target may have delivered what it does not acknowledge. */
static void nack__closing_in_error_starts_nothing_over(void **state)
{
	struct duo d;
	struct pdc_tx *p = open_and_send(&d, 1);
	struct plain_pkt w = nack_of(&d, p->start_psn, WIRE_NACK_CLOSING_IN_ERR, 0);
	duo_inject_pkt(&d, 0, &w, NULL);
	duo_poll(&d, 0);
	expect_reset(&d);
	duo_close(&d);
}

/* The answer to the first of two transmissions, and the answer to the second: only the second has a known start. */
static void rtt__retransmissions_are_ambiguous(void **state)
{
	for (int retx = 0; retx < 2; retx++) {
		struct hit h = {0, 1, DUO_DROP};
		struct duo d;
		open_default(&d);
		d.fate = hit_data;
		d.fate_arg = &h;
		submit_and_send(&d, 4096);
		duo_run(&d, d.now + 75000); /* sent again after 70 us */
		assert_int_equal(weft_engine_stats(d.e[0])->timeouts, 1);
		struct pdc_tx *p = first_tx(d.e[0]);
		struct plain_pkt w = ack_of(&d, p->start_psn);
		w.pds.flags = retx ? WIRE_F_RETX : 0;
		duo_inject_pkt(&d, 0, &w, NULL);
		duo_poll(&d, 0);
		duo_expect(&d, 0, sent, 0);
		assert_in_range(p->srtt_ns, retx ? 4700 : 0, retx ? 5000 : 0);
		duo_close(&d);
	}
}

/* Answers are confirmed by CLEAR once all up to the newest is acknowledged, in whatever order they came. */
static void clear__waits_for_the_newest_answer(void **state)
{
	static const uint8_t offsets[] = {5, 3, 0, 0}, all_before[] = {0, 0, 3, 8}; /* two answers, two plain ACKs */
	struct duo d;
	struct pdc_tx *p = open_and_send(&d, SENT_BYTES_MAX);
	d.logging = true;
	duo_run(&d, d.now + WEFT_US(4)); /* all are sent, none is acknowledged */
	for (int i = 0; i < 4; i++) {
		struct plain_pkt w = ack_of(&d, p->start_psn + all_before[i] - 1);
		w.pds.next_hdr = offsets[i] ? WIRE_NH_RSP_DATA : WIRE_NH_NONE;
		w.pds.offset = offsets[i];
		w.ses.opcode = WIRE_RSP_W_DATA;
		duo_inject_pkt(&d, 0, &w, NULL);
		duo_poll(&d, 0);
		assert_int_equal(count_ctl(&d, 0, WIRE_CTL_CLEAR_CMD), i == 3);
	}
	duo_close(&d);
}

static void nack__lack_of_resources_holds_the_connection(void **state)
{
	struct hit h = {0, 0, DUO_DROP};
	struct duo d;
	open_default(&d);
	d.logging = true;
	d.fate = hit_data;
	d.fate_arg = &h;
	submit_and_send(&d, 4096);
	struct pdc_tx *p = first_tx(d.e[0]);
	struct plain_pkt w = nack_of(&d, p->start_psn, WIRE_NACK_NO_PKT_BUFFER, 0);
	duo_inject_pkt(&d, 0, &w, NULL);
	weft_ns start = d.now;
	duo_run(&d, start + WEFT_MS(1));
	duo_expect(&d, 0, sent, 0);
	assert_int_equal(weft_engine_stats(d.e[0])->tx_retx_nack, 1);
	assert_true(is_data(&d.log[1].w));
	assert_in_range(d.log[1].at - start, WEFT_US(40), WEFT_US(41));
	duo_close(&d);
}

/* ---- what load balancers are told of the rest of the last message ---- */

enum { TOLD_MAX = 512 };
static struct told {
	weft_ns left_ns[TOLD_MAX];
	uint32_t count, marked;
} told;

static void telling_init(struct weft_lb *lb, uint64_t seed, weft_ns now)
{
}

static uint16_t telling_pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	return (uint16_t)psn;
}

static void telling_feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns now)
{
}

static void telling_answered(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb, weft_ns wait_ns, weft_ns left_ns,
			     weft_ns now)
{
	assert_true(told.count < TOLD_MAX);
	told.left_ns[told.count++] = left_ns;
	told.marked += fb == WEFT_LB_CE;
	assert_true(fb == WEFT_LB_CE || fb == WEFT_LB_OK);
}

static void use_telling(struct weft_engine_conf *ec, struct weft_port *port)
{
	static const struct weft_lb_ops telling = {.name = "telling",
						   .init = telling_init,
						   .pick = telling_pick,
						   .feedback = telling_feedback,
						   .answered = telling_answered};
	ec->lb = &telling;
}

static void open_telling(struct duo *d)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.adjust = use_telling;
	duo_open(d, &conf);
	told.count = told.marked = 0;
}

/* Nothing before the rest fits the window, then less with every answer, and nothing when all was sent. */
static void answered__tells_when_the_last_message_has_left(void **state)
{
	struct duo d;
	open_telling(&d);
	duo_transfer(&d, 0, 400 * 4096);
	assert_int_equal(told.count, 400);
	weft_ns before = WEFT_NEVER, brtt = first_tx(d.e[0])->brtt_ns;
	uint32_t i = 0, at_end = 0;
	for (; told.left_ns[i] == WEFT_NEVER; i++)
		;
	assert_true(i > 0);
	assert_in_range(told.left_ns[i], brtt * 9 / 10, brtt * 2);
	for (; i < 400 && told.left_ns[i] != WEFT_NEVER; i++, at_end++) {
		assert_true(told.left_ns[i] <= before);
		before = told.left_ns[i];
	}
	assert_true(at_end > 10 && before < brtt / 10);
	for (; i < 400; i++)
		assert_true(told.left_ns[i] == WEFT_NEVER);
	duo_close(&d);
}

static enum duo_fate mark_every_tenth(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 0 && nth % 10 == 0 ? DUO_MARK : DUO_PASS;
}

/* What a marked packet waited says whether its path is worse than others. */
static void answered__tells_marks_with_their_waits(void **state)
{
	struct duo d;
	open_telling(&d);
	d.fate = mark_every_tenth;
	duo_transfer(&d, 0, 400 * 4096);
	assert_int_equal(told.count, 400);
	assert_int_equal(told.marked, duo_stats(&d, 0)->rx_ack_ce);
	assert_in_range(told.marked, 38, 41);
	duo_close(&d);
}

/* A message that others follow has no end to hurry for. */
static void answered__tells_nothing_while_others_follow(void **state)
{
	struct duo d;
	uint32_t ends = 0;
	open_telling(&d);
	for (uint32_t i = 0; i < 100; i++)
		submit_and_send(&d, 4 * 4096);
	duo_run(&d, WEFT_MS(5));
	assert_int_equal(told.count, 400);
	for (uint32_t i = 0; i < 400; i++)
		ends += told.left_ns[i] != WEFT_NEVER;
	assert_in_range(ends, 0, 4);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trim__retransmitted_once_and_at_once),
		cmocka_unit_test(trim__last_hop_is_no_fault_of_the_path),
		cmocka_unit_test(trim__storm),
		cmocka_unit_test(all_acked__every_packet_counts_once),
		cmocka_unit_test(ack__duplicates_are_harmless),
		cmocka_unit_test(ack__beyond_what_was_sent_is_stale),
		cmocka_unit_test(ack__bitmap_beyond_the_queue_is_cut),
		cmocka_unit_test(ack__with_vendor_state_acknowledges),
		cmocka_unit_test(ack__from_another_target_id_is_stale),
		cmocka_unit_test(answers_to_others__do_not_name_our_target),
		cmocka_unit_test(nack__unknown_connection_after_an_answer_is_an_error),
		cmocka_unit_test(nack__closing_in_error_starts_nothing_over),
		cmocka_unit_test(rtt__retransmissions_are_ambiguous),
		cmocka_unit_test(clear__waits_for_the_newest_answer),
		cmocka_unit_test(nack__lack_of_resources_holds_the_connection),
		cmocka_unit_test(answered__tells_when_the_last_message_has_left),
		cmocka_unit_test(answered__tells_marks_with_their_waits),
		cmocka_unit_test(answered__tells_nothing_while_others_follow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
