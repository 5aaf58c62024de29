/* SPDX-License-Identifier: BSD-3-Clause */
/* Short ACKs say what full ones say; whoever has more to say sends a full one. */
#include "cmocka_all.h"

#include <stdbool.h>
#include <string.h>

#include "inside.h"

enum { PKTS = 200, OTHERS = 3, FULL_EACH = 8 };

/* Every ACK of a transfer, in order. */
struct acks {
	struct plain_pkt pkt[2 * PKTS];
	weft_ns at[2 * PKTS];
	uint32_t n, shorts;
};

static bool is_ack(const struct duo_rec *r)
{
	return r->from == 1 && (r->w.pds.type == WIRE_PDS_ACK || r->w.pds.type == WIRE_PDS_ACK_CC);
}

static uint32_t answered(const struct plain_pkt *ack)
{
	return ack->pds.psn + (uint32_t)ack->pds.offset;
}

static void collect(const struct duo *d, struct acks *acks)
{
	*acks = (struct acks){.n = 0};
	for (const struct duo_rec *r = d->log; r < d->log + d->log_len; r++) {
		if (!is_ack(r))
			continue;
		acks->shorts += r->w.pds.type == WIRE_PDS_ACK;
		acks->at[acks->n] = r->at;
		acks->pkt[acks->n++] = r->w;
	}
}

/* Some are late, some marked. */
static enum duo_fate disturb(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	if (from != 0 || !is_data(w))
		return DUO_PASS;
	return nth % 5 == 3 ? DUO_LATE : nth % 7 == 2 ? DUO_MARK : DUO_PASS;
}

/* Side 1 has no share to tell. */
static void open_unshared(struct duo *d, const struct duo_conf *conf)
{
	duo_open(d, conf);
	d->logging = true;
	d->e[1]->pds.sharers.link_bps = 0;
	sharers_tell(&d->e[1]->pds.sharers);
}

static void transfer(struct duo *d, const struct duo_conf *conf, struct acks *acks)
{
	open_unshared(d, conf);
	d->late_ns = 5000;
	d->fate = disturb;
	duo_transfer(d, 0, PKTS * 4096);
	assert_int_equal(weft_engine_stats(d->e[0])->tx_retx, 0);
	collect(d, acks);
}

static void each__says_the_same(void **state)
{
	static struct acks full, mixed;
	struct duo_conf conf;
	struct duo d;

	duo_conf_init(&conf);
	transfer(&d, &conf, &full);
	duo_close(&d);
	conf.tune.short_acks = 1;
	transfer(&d, &conf, &mixed);
	assert_int_equal(weft_engine_stats(d.e[1])->tx_ack, full.n);
	duo_close(&d);
	assert_int_equal(full.shorts, 0);
	assert_int_equal(mixed.shorts, PKTS - PKTS / FULL_EACH);
	assert_int_equal(mixed.n, full.n);
	for (uint32_t i = 0; i < full.n; i++) {
		const struct plain_pkt *a = &full.pkt[i], *b = &mixed.pkt[i];
		assert_int_equal(b->pds.type == WIRE_PDS_ACK_CC, answered(b) % FULL_EACH == 0);
		assert_int_equal(mixed.at[i], full.at[i]);
		assert_int_equal(b->net.entropy, a->net.entropy);
		assert_int_equal(b->pds.flags, a->pds.flags);
		assert_int_equal(b->pds.psn, a->pds.psn);
		assert_int_equal(b->pds.offset, a->pds.offset);
		assert_int_equal(b->pds.spdcid, a->pds.spdcid);
		assert_int_equal(b->pds.dpdcid, a->pds.dpdcid);
		assert_int_equal(a->pds.service_time, 0);
	}
}

/* Which of the first PKTS packets an ACK reports. */
static void note_reported(const struct plain_pkt *ack, uint32_t first, bool *seen)
{
	for (uint32_t i = 0; i < PKTS; i++) {
		uint32_t psn = first + i, bit = psn - (ack->pds.psn + (uint32_t)ack->pds.sack_offset);
		seen[i] |= psn_diff(psn, ack->pds.psn) <= 0 || psn == answered(ack) ||
			   (ack->pds.type == WIRE_PDS_ACK_CC && bit < 64 && ack->pds.sack_bitmap >> bit & 1);
	}
}

/* Of several packets of which some came early, an ACK says which; what it does not report, a later one does. */
static void coalesced__every_psn_is_reported(void **state)
{
	for (uint32_t ack_every = 1; ack_every <= 16; ack_every *= 2) {
		static struct acks full, acks;
		struct duo_conf conf;
		struct duo d;
		bool seen[PKTS] = {false};

		duo_conf_init(&conf);
		conf.tune.ack_every = ack_every;
		transfer(&d, &conf, &full);
		duo_close(&d);
		conf.tune.short_acks = 1;
		transfer(&d, &conf, &acks);
		assert_int_equal(first_rx(d.e[1])->win.unreported_pkts, 0);
		for (uint32_t i = 0; i < acks.n; i++)
			note_reported(&acks.pkt[i], d.log[0].w.pds.psn, seen);
		for (uint32_t i = 0; i < PKTS; i++)
			assert_true(seen[i]);
		assert_true(acks.shorts > 0 && acks.shorts < acks.n);
		assert_int_equal(acks.n, full.n); /* none more is needed */
		duo_close(&d);
	}
}

/* Packet `i` of a connection, each a message. */
static void inject(struct duo *d, uint16_t i, uint8_t ecn)
{
	struct plain_pkt w = duo_syn(1, 8);
	uint8_t payload[8] = {0};
	w.pds.psn += i;
	w.pds.psn_offset = i;
	w.ses.message_id = (uint16_t)(1 + i);
	w.net.ecn = ecn;
	duo_inject_pkt(d, 1, &w, payload);
	duo_poll(d, 1);
}

/* A packet that came again was reported before; another one beyond the gap was not. */
static void duplicate__tells_of_others(void **state)
{
	static struct acks acks;
	struct duo_conf conf;
	struct duo d;

	duo_conf_init(&conf);
	conf.tune.ack_every = 4;
	conf.tune.short_acks = 1;
	open_unshared(&d, &conf);
	inject(&d, 0, WEFT_ECN_ECT0);
	inject(&d, 2, WEFT_ECN_CE); /* has an ACK at once */
	inject(&d, 3, WEFT_ECN_ECT0);
	inject(&d, 100, WEFT_ECN_ECT0);
	inject(&d, 4, WEFT_ECN_CE); /* its bitmap has no room for 100 */
	assert_int_equal(first_rx(d.e[1])->win.unreported_pkts, 1);
	inject(&d, 2, WEFT_ECN_ECT0);
	collect(&d, &acks);
	assert_int_equal(acks.n, 4);
	assert_int_equal(acks.pkt[1].pds.type, WIRE_PDS_ACK);
	assert_int_equal(acks.pkt[3].pds.type, WIRE_PDS_ACK_CC);
	assert_int_equal(first_rx(d.e[1])->win.unreported_pkts, 0);
	duo_close(&d);
}

static void sent_late__are_full(void **state)
{
	struct duo_conf conf;
	struct duo d;
	uint8_t out[4096] = {1};

	for (weft_ns late_ns = 0; late_ns <= 3000; late_ns += 3000) {
		duo_conf_init(&conf);
		conf.tune.short_acks = 1;
		open_unshared(&d, &conf);
		duo_transfer(&d, 0, 8); /* its first PSN may be one of an eighth */
		uint32_t first = d.log_len;
		for (int i = 0; i < 2; i++) {
			duo_send(&d, 0, out, sizeof out, 1, out);
			duo_poll(&d, 0);
			d.now += d.latency_ns + late_ns; /* the packet waits in the receive ring */
			duo_poll(&d, 1);
			d.now += d.latency_ns;
			duo_poll(&d, 0);
			duo_expect(&d, 0, out, 0);
		}
		uint32_t shorts = 0;
		for (const struct duo_rec *r = d.log + first; r < d.log + d.log_len; r++)
			shorts += r->w.pds.type == WIRE_PDS_ACK;
		assert_int_equal(shorts > 0, late_ns == 0);
		duo_close(&d);
	}
}

/* Wefts would find each other by these. */
static enum duo_fate drop_probes(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return w->pds.type == WIRE_PDS_CP ? DUO_DROP : DUO_PASS;
}

/* Strangers are not sure to take the rest for 0; and a share has to be told. */
static void strangers_and_sharers__hear_all(void **state)
{
	static struct acks acks;
	struct duo_conf conf;
	struct duo d;

	duo_conf_init(&conf);
	conf.tune.short_acks = 1;
	conf.tune.profile = WEFT_PROFILE_AI_BASE;
	duo_open(&d, &conf);
	d.logging = true;
	d.fate = drop_probes;
	duo_transfer(&d, 0, PKTS * 4096);
	collect(&d, &acks);
	duo_close(&d);
	assert_true(acks.n > 0);
	assert_int_equal(acks.shorts, 0);

	conf.tune.profile = WEFT_PROFILE_WEFT;
	duo_open(&d, &conf);
	d.logging = true;
	for (int i = 0; i < OTHERS; i++)
		sharers_join(&d.e[1]->pds.sharers);
	duo_transfer(&d, 0, PKTS * 4096);
	collect(&d, &acks);
	duo_close(&d);
	assert_int_equal(acks.n, PKTS);
	assert_int_equal(acks.shorts, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each__says_the_same),
		cmocka_unit_test(coalesced__every_psn_is_reported),
		cmocka_unit_test(duplicate__tells_of_others),
		cmocka_unit_test(sent_late__are_full),
		cmocka_unit_test(strangers_and_sharers__hear_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
