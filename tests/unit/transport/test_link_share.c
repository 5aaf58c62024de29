/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets tell Wefts their share of the link, and nobody else; initiators believe Wefts alone. */
#include "cmocka_all.h"

#include "inside.h"
#include "wire_share.h"

enum { BYTES = 40 * 4096, OTHERS = 3 };

/* What the congestion control of side 0 was told. */
static struct {
	uint64_t ack_bps, loss_bps;
	bool has_room;
} heard;

static void hear_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	if (ev->share_bps) {
		heard.ack_bps = ev->share_bps;
		heard.has_room = ev->has_room;
	}
}

static void hear_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	if (ev->share_bps)
		heard.loss_bps = ev->share_bps;
}

/* The third packet of data is trimmed; no PROBE arrives, by which Wefts would find each other. */
static enum duo_fate trim_third(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	static const struct hit third = {2, 2, DUO_TRIM_LASTHOP};
	return w->pds.type == WIRE_PDS_CP ? DUO_DROP : hit_data((void *)(uintptr_t)&third, from, w, nth);
}

static enum duo_fate drop_probes(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return w->pds.type == WIRE_PDS_CP ? DUO_DROP : DUO_PASS;
}

/* A message from side 0 to side 1, whose link is full of others, or not; its third packet is trimmed there. */
static void message(struct duo *d, enum weft_profile profile, bool full)
{
	static struct weft_cc_ops cc;
	struct duo_conf conf;

	heard = (typeof(heard)){0};
	cc = *weft_cc_find("fixed");
	cc.on_ack = hear_ack;
	cc.on_loss = hear_loss;
	duo_conf_init(&conf);
	duo_open(d, &conf);
	d->e[0]->pds.conf.cc = &cc;
	d->logging = true;
	for (int i = 0; i < 2; i++)
		d->e[i]->pds.conf.tune.profile = profile;
	struct sharers *s = &d->e[1]->pds.sharers;
	for (int i = 0; i < OTHERS; i++)
		sharers_join(s);
	s->until_ns = d->now + WEFT_S(1); /* the period lasts */
	s->is_full = full;
	d->fate = full ? trim_third : drop_probes;
	duo_transfer(d, 0, BYTES);
	for (int i = 0; i < OTHERS; i++)
		sharers_leave(s);
}

static void full__wefts_hear_their_share(void **state)
{
	struct duo d;
	message(&d, WEFT_PROFILE_WEFT, true);
	uint64_t bps = d.e[1]->pds.sharers.link_bps / (OTHERS + 1);
	assert_int_equal(heard.loss_bps, wire_share_bps(wire_share_code(bps)));
	assert_true(heard.ack_bps >= heard.loss_bps);
	assert_false(heard.has_room);
	duo_close(&d);
}

static void room__wefts_hear_of_it(void **state)
{
	struct duo d;
	message(&d, WEFT_PROFILE_WEFT, false);
	assert_int_equal(heard.loss_bps, 0);
	assert_int_equal(heard.ack_bps, wire_share_bps(wire_share_code(d.e[1]->pds.sharers.link_bps)));
	assert_true(heard.has_room);
	duo_close(&d);
}

/* For the standard those fields are a window penalty, flags that are 0, and a vendor's code. */
static void strangers__are_told_nothing(void **state)
{
	struct duo d;
	message(&d, WEFT_PROFILE_HPC, true);
	uint32_t acks = 0, nacks = 0;
	for (uint32_t i = 0; i < d.log_len; i++) {
		const struct plain_pds *p = &d.log[i].w.pds;
		acks += p->type == WIRE_PDS_ACK_CC;
		nacks += p->type == WIRE_PDS_NACK;
		if (p->type == WIRE_PDS_ACK_CC)
			assert_false(p->rc || p->rcv_cwnd_pend || p->cc_flags);
		if (p->type == WIRE_PDS_NACK)
			assert_int_equal(p->vendor_code, 0);
	}
	assert_true(acks > 30 && nacks == 1);
	assert_int_equal(heard.ack_bps, 0);
	assert_int_equal(heard.loss_bps, 0);
	duo_close(&d);
}

static enum duo_fate nothing_arrives(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 1 ? DUO_DROP : DUO_PASS;
}

/* A penalty of a stranger is no share. */
static void strangers__are_not_believed(void **state)
{
	static const enum weft_profile profiles[] = {WEFT_PROFILE_HPC, WEFT_PROFILE_WEFT};
	for (int is_weft = 0; is_weft < 2; is_weft++) {
		struct duo d;
		message(&d, WEFT_PROFILE_HPC, false);
		d.e[0]->pds.conf.tune.profile = profiles[is_weft];
		struct plain_pkt ack = {0};
		for (uint32_t i = 0; i < d.log_len; i++)
			if (d.log[i].w.pds.type == WIRE_PDS_ACK_CC)
				ack = d.log[i].w;
		ack.pds.rcv_cwnd_pend = 0x40;
		d.fate = nothing_arrives;
		duo_inject_pkt(&d, 0, &ack, NULL);
		duo_poll(&d, 0);
		assert_int_equal(heard.ack_bps, is_weft ? wire_share_bps(0x40) : 0);
		duo_close(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full__wefts_hear_their_share),
		cmocka_unit_test(room__wefts_hear_of_it),
		cmocka_unit_test(strangers__are_told_nothing),
		cmocka_unit_test(strangers__are_not_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
