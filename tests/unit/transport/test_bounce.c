/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for messages without a receive: by what has arrived, and never all of it for one. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bounce.h"
#include "inside.h"

enum { LIMIT = 1 << 20, C = 0x0b000001 };

/* The PDCID that we have for a stranger's connection. */
static uint16_t their_pdc(const struct duo *d)
{
	return list_entry(d->e[1]->pds.rxs.prev, struct pdc_rx, link)->pdc.id;
}

static void inject_from(struct duo *d, uint32_t ip, struct plain_pkt w)
{
	uint8_t buf[2048] = {0};
	w.net.src = weft_ip_v4(ip);
	w.net.dst = weft_peer_addr(d->e[0], d->peer[0])->ip;
	w.net.dst_port = WIRE_UDP_PORT;
	size_t head = plain_encode(&w, buf);
	duo_inject(d, 1, buf, (uint16_t)(head + w.payload_bytes));
	duo_poll(d, 1);
}

static enum duo_fate to_strangers(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return weft_ip_low32(&w->net.dst) >> 24 == C >> 24 ? DUO_DROP : DUO_PASS;
}

static void open_limited(struct duo *d, uint64_t limit, uint32_t validate)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.unexpected_bytes = limit;
	conf.tune.validate = validate;
	conf.tune.rndv_bytes = 0;
	duo_open(d, &conf);
	d->fate = to_strangers;
}

/* Arrives at side 1 without a receive; `sent`: the sender is told so. */
static bool unexpected(struct duo *d, uint8_t *buf, uint64_t len)
{
	struct weft_cqe cqe;
	duo_send(d, 0, buf, len, 7, buf);
	duo_run(d, d->now + WEFT_MS(5));
	return duo_cqe(d, 0, &cqe) && !cqe.err;
}

/* What a message says of its length takes no memory. */
static void claim__takes_what_has_arrived(void **state)
{
	enum { CLAIMED = 268435456 - 65536 };
	struct duo d;
	uint8_t b[64] = {0};
	open_limited(&d, 268435456, WEFT_VALIDATE_NEVER);
	struct plain_pkt w = duo_syn(1, 8);
	w.ses.flags = WIRE_SES_REL | WIRE_SES_SOM;
	w.ses.request_length = CLAIMED;
	w.ses.match = 0xdead;
	inject_from(&d, C, w);
	uint64_t table = CLAIMED / BOUNCE_CHUNK * sizeof(void *);
	assert_in_range(d.e[1]->ses.unexpected_bytes, 8, BOUNCE_CHUNK + table);
	assert_true(unexpected(&d, b, sizeof b));
	duo_close(&d);
}

/* Messages of any length, in chunks or not, are whole when their receive comes. */
static void chunks__make_the_message(void **state)
{
	static const uint32_t lens[] = {1, 65535, 65536, 65537, 131072, 300001};
	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		struct duo d;
		uint8_t *out = duo_pattern(lens[i], i), *in = calloc(1, lens[i]);
		open_limited(&d, LIMIT, WEFT_VALIDATE_NEVER);
		assert_true(unexpected(&d, out, lens[i]));
		assert_true(d.e[1]->ses.unexpected_bytes >= lens[i]);
		duo_recv(&d, 1, in, lens[i], 7, 0, in);
		duo_poll(&d, 1);
		duo_expect(&d, 1, in, 0);
		assert_memory_equal(in, out, lens[i]);
		assert_int_equal(d.e[1]->ses.unexpected_bytes + d.e[1]->ses.unproven_bytes, 0);
		duo_close(&d);
		free(in);
		free(out);
	}
}

/* Packets that overlap add up to the length of a message, most of which has not arrived: its receive fails. */
static void overlap__is_no_whole_message(void **state)
{
	enum { PART = 1024, WHOLE = 2 * BOUNCE_CHUNK };
	struct duo d;
	uint8_t *in = calloc(1, WHOLE);
	open_limited(&d, LIMIT, WEFT_VALIDATE_NEVER);
	struct plain_pkt w = duo_syn(1, PART);
	w.ses.flags = WIRE_SES_REL | WIRE_SES_SOM;
	w.ses.request_length = WHOLE;
	w.ses.match = 7;
	inject_from(&d, C, w);
	w.pds.flags = 0;
	w.pds.dpdcid = their_pdc(&d);
	w.ses.flags = WIRE_SES_REL;
	w.ses.message_offset = PART;
	for (uint32_t i = 1; i < WHOLE / PART; i++) {
		w.pds.psn = 1000 + i;
		inject_from(&d, C, w);
	}
	assert_true(d.e[1]->ses.unexpected_bytes > 0);
	duo_recv(&d, 1, in, WHOLE, 7, 0, in);
	duo_poll(&d, 1);
	duo_expect(&d, 1, in, EIO);
	assert_int_equal(duo_stats(&d, 1)->msg_failed, 1);
	assert_int_equal(d.e[1]->ses.unexpected_bytes + d.e[1]->ses.unproven_bytes, 0);
	duo_close(&d);
	free(in);
}

/* As many messages from C as it can get in; payload that nobody has asked for. */
static uint32_t fill_by(struct duo *d, uint32_t ip, uint16_t bytes)
{
	struct plain_pkt w = duo_syn(1, bytes);
	uint64_t refused = duo_stats(d, 1)->rx_no_mem;
	w.ses.match = 99;
	inject_from(d, ip, w);
	uint16_t dpdcid = their_pdc(d);
	uint32_t n = 1;
	for (; n < 60000 && duo_stats(d, 1)->rx_no_mem == refused; n++) {
		w.pds.flags = 0;
		w.pds.dpdcid = dpdcid;
		w.pds.psn = 1000 + n;
		w.ses.message_id = (uint16_t)(1 + n);
		inject_from(d, ip, w);
	}
	assert_true(duo_stats(d, 1)->rx_no_mem > refused);
	return n;
}

/* A host that fills what it can leaves room for others: records, and bytes. */
static void greedy__leaves_room(void **state)
{
	for (uint16_t bytes = 0; bytes <= 1024; bytes += 1024) {
		struct duo d;
		uint8_t b[64] = {0};
		open_limited(&d, LIMIT, WEFT_VALIDATE_NEVER);
		uint32_t first = fill_by(&d, C, bytes), second = fill_by(&d, C + 1, bytes);
		assert_true(first > 500 && second > 50 && second < first);
		assert_true(unexpected(&d, b, sizeof b));
		duo_close(&d);
	}
}

/* A message with a posted receive gets in when there is no record left at all. */
static void wanted__gets_in(void **state)
{
	struct duo d;
	uint8_t b[64] = {0}, in[64];
	open_limited(&d, 1000, WEFT_VALIDATE_NEVER);
	for (uint32_t i = 0; i < 40; i++)
		fill_by(&d, C + i, 0);
	d.e[1]->ses.pds->conf.tune.unexpected_bytes = 0;
	duo_recv(&d, 1, in, sizeof in, 7, 0, in);
	duo_send(&d, 0, b, sizeof b, 7, b);
	duo_run(&d, d.now + WEFT_MS(30));
	duo_expect(&d, 1, in, 0);
	duo_close(&d);
}

/* Addresses that have shown nothing share an eighth, however many they are. */
static void unproven__share_an_eighth(void **state)
{
	struct duo d;
	uint8_t b[1024] = {0};
	open_limited(&d, LIMIT, WEFT_VALIDATE_MANY);
	struct plain_pkt w = duo_syn(1, 1024);
	w.ses.match = 99;
	for (uint32_t i = 0; i < 1000; i++)
		inject_from(&d, C + i, w);
	assert_in_range(d.e[1]->ses.unexpected_bytes, LIMIT / 10, LIMIT / 8);
	assert_true(unexpected(&d, b, sizeof b));
	duo_close(&d);
}

/* What is refused again and again is sent less and less often. */
static void refusals__back_off(void **state)
{
	struct duo d;
	static uint8_t b[100000];
	open_limited(&d, 1000, WEFT_VALIDATE_NEVER);
	assert_false(unexpected(&d, b, sizeof b));
	/* 25 packets; every 40 us, as at first, they would come 125 times in 5 ms */
	assert_in_range(duo_stats(&d, 1)->rx_no_mem, 2 * 25, 10 * 25);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claim__takes_what_has_arrived), cmocka_unit_test(chunks__make_the_message),
		cmocka_unit_test(greedy__leaves_room),           cmocka_unit_test(wanted__gets_in),
		cmocka_unit_test(unproven__share_an_eighth),     cmocka_unit_test(refusals__back_off),
		cmocka_unit_test(overlap__is_no_whole_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
