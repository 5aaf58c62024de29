/* SPDX-License-Identifier: BSD-3-Clause */
/* What the initiator does on each NACK code. */
#include "cmocka_all.h"

#include <errno.h>

#include "inside.h"

enum { NEW_START = 77000 };

/* A packet is lost, and the target refuses it: what happens to it. */
enum deed {
	RTO,    /* nothing: the timer sends it again */
	NOW,    /* sent again at once */
	LATER,  /* sent again before the timer, but not at once */
	RESET,  /* starts over on a new connection */
	NUMBER, /* starts over with the Start_PSN that was named */
	FAIL,   /* the operation fails */
};

/* UE 1.0 sec. 3.5, NACK codes. ROD_OOO for the only packet says nothing of one before it. */
static const uint8_t deeds[256] = {
	[0x01] = NOW,    [0x02] = NOW,   [0x03] = NOW,   [0x04] = LATER, [0x05] = LATER, [0x06] = LATER, [0x07] = LATER,
	[0x08] = LATER,  [0x09] = LATER, [0x0a] = LATER, [0x0b] = LATER, [0x0d] = RTO,   [0x0e] = RESET, [0x0f] = RESET,
	[0x10] = RESET,  [0x11] = FAIL,  [0x12] = NOW,   [0x13] = FAIL,  [0x14] = NOW,   [0x15] = RESET, [0x16] = RESET,
	[0x17] = NUMBER, [0x18] = RTO,   [0x19] = RESET, [0x1a] = NOW,   [0xfd] = LATER, [0xfe] = NOW,   [0xff] = FAIL,
};

static const uint8_t sent[8] = {1}; /* the message, and its context */

static enum duo_fate drop_first(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	bool *dropped = arg;
	if (from || !is_data(w) || *dropped)
		return DUO_PASS;
	*dropped = true;
	return DUO_DROP;
}

static struct plain_pkt nack(const struct duo *d, uint8_t code)
{
	struct plain_pkt w = duo_syn(0, 0);
	w.pds = (struct plain_pds){.type = WIRE_PDS_NACK,
				   .code = code,
				   .psn = first_tx(d->e[0])->start_psn,
				   .dpdcid = first_tx(d->e[0])->pdc.id,
				   .payload = NEW_START};
	w.has_ses = 0;
	return w;
}

/* When the packet was sent for the second time, in base RTTs from the NACK; it begins with this PSN then. */
static double again_at(const struct duo *d, uint32_t *psn, weft_ns refused_ns)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < d->log_len; i++) {
		if (d->log[i].from || !is_data(&d->log[i].w) || n++ == 0)
			continue;
		*psn = d->log[i].w.pds.psn;
		return (double)(d->log[i].at - refused_ns) / 1e4; /* duo's base RTT is 10 us */
	}
	return -1;
}

static enum deed deed_of(uint8_t code)
{
	bool dropped = false;
	struct duo d;
	struct weft_cqe cqe;
	uint32_t psn = 0;
	open_default(&d);
	d.logging = true;
	d.fate = drop_first;
	d.fate_arg = &dropped;
	duo_send(&d, 0, sent, sizeof sent, 1, sent);
	duo_poll(&d, 0);
	uint32_t start = first_tx(d.e[0])->start_psn;
	struct plain_pkt w = nack(&d, code);
	weft_ns refused_ns = d.now;
	duo_inject_pkt(&d, 0, &w, NULL);
	duo_poll(&d, 0);
	duo_run(&d, d.now + WEFT_MS(50));
	assert_true(duo_cqe(&d, 0, &cqe));
	double at = again_at(&d, &psn, refused_ns);
	duo_close(&d);
	if (cqe.err) {
		assert_int_equal(cqe.err, ECONNRESET);
		return FAIL;
	}
	assert_true(at >= 0);
	if (psn != start)
		return psn == NEW_START ? NUMBER : RESET;
	return at < 1 ? NOW : at < 5 ? LATER : RTO;
}

static void nack__each_code_has_its_action(void **state)
{
	int bad = 0;
	for (unsigned code = 0; code < 256; code++) {
		enum deed deed = deed_of((uint8_t)code);
		if (deed == deeds[code])
			continue;
		print_message("code 0x%02x: %d instead of %d\n", code, deed, deeds[code]);
		bad++;
	}
	assert_int_equal(bad, 0);
}

/* The packet was sent twice, or once, and the NACK is for the other transmission: what is in flight is left alone. */
static void nack__for_another_transmission_is_stale(void **state)
{
	static const uint8_t codes[] = {WIRE_NACK_TRIMMED, WIRE_NACK_NO_PKT_BUFFER, WIRE_NACK_PKT_NOT_RCVD};
	for (int retx = 0; retx < 2; retx++)
		for (size_t i = 0; i < sizeof codes; i++) {
			struct hit both = {0, 1, DUO_DROP};
			struct duo d;
			open_default(&d);
			d.fate = hit_data;
			d.fate_arg = &both;
			duo_send(&d, 0, sent, sizeof sent, 1, sent);
			duo_poll(&d, 0);
			if (retx)
				duo_run(&d, d.now + WEFT_US(75)); /* sent again after 70 us */
			const struct weft_stats *s = duo_stats(&d, 0);
			assert_int_equal(s->tx_retx, retx);
			struct plain_pkt w = nack(&d, codes[i]);
			w.pds.flags = retx ? 0 : WIRE_F_RETX;
			duo_inject_pkt(&d, 0, &w, NULL);
			duo_run(&d, d.now + WEFT_US(60));
			assert_int_equal(s->rx_nack, 1);
			assert_int_equal(s->rx_stale, 1);
			assert_int_equal(s->tx_retx, retx);
			duo_run(&d, d.now + WEFT_MS(5));
			duo_expect(&d, 0, sent, 0);
			duo_close(&d);
		}
}

/* Who names one Start_PSN after another does not keep us busy for ever: the sixth time the operation fails. */
static void new_start_psn__five_times_at_most(void **state)
{
	enum { SYN_TRIES_MAX = 5 };
	struct hit all = {0, UINT64_MAX, DUO_DROP};
	struct duo d;
	struct weft_cqe cqe;
	uint32_t started = 0;
	open_default(&d);
	d.fate = hit_data;
	d.fate_arg = &all;
	duo_send(&d, 0, sent, sizeof sent, 1, sent);
	duo_poll(&d, 0);
	for (; started < 20 && first_tx(d.e[0]); started++) {
		struct plain_pkt w = nack(&d, WIRE_NACK_NEW_START_PSN);
		w.pds.payload = NEW_START + 1000 * started;
		duo_inject_pkt(&d, 0, &w, NULL);
		duo_poll(&d, 0);
	}
	assert_int_equal(started, SYN_TRIES_MAX + 1);
	assert_true(duo_cqe(&d, 0, &cqe));
	assert_int_equal(cqe.err, ECONNRESET);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nack__each_code_has_its_action),
		cmocka_unit_test(nack__for_another_transmission_is_stale),
		cmocka_unit_test(new_start_psn__five_times_at_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
