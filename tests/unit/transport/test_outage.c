/* SPDX-License-Identifier: BSD-3-Clause */
/* A wire that carries nothing for a while, and what is forged to turn an error into success. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

enum { BYTES = 400000 };

struct cut {
	weft_ns from, to;
	const struct duo *d;
};

static enum duo_fate cut(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	const struct cut *c = arg;
	return c->d->now >= c->from && c->d->now < c->to ? DUO_DROP : DUO_PASS;
}

/* How long after the wire is back a message is delivered that was in the middle; at any time in the middle. */
static weft_ns recovery_ns(weft_ns outage_ns, weft_ns into_ns)
{
	struct duo d;
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = 0;
	conf.tune.peer_timeout_ns = WEFT_S(10);
	duo_open(&d, &conf);
	uint8_t *out = duo_pattern(BYTES, 3), *in = calloc(1, BYTES);
	duo_transfer(&d, 0, 10); /* the connection is open */
	struct cut c = {.from = d.now + into_ns, .to = d.now + into_ns + outage_ns, .d = &d};
	d.fate = cut;
	d.fate_arg = &c;
	duo_recv(&d, 1, in, BYTES, 7, 0, in);
	duo_send(&d, 0, out, BYTES, 7, out);
	struct weft_cqe cqe;
	while (!duo_cqe(&d, 1, &cqe) && d.now < c.to + WEFT_S(5))
		duo_run(&d, d.now + WEFT_US(50));
	assert_memory_equal(in, out, BYTES);
	weft_ns after = d.now > c.to ? d.now - c.to : 0;
	duo_close(&d);
	free(out);
	free(in);
	return after;
}

static void outage__over_soon(void **state)
{
	for (weft_ns into = 0; into < WEFT_US(40); into += WEFT_US(3)) {
		assert_in_range(recovery_ns(WEFT_MS(50), into), 0, WEFT_MS(10));
		assert_in_range(recovery_ns(WEFT_MS(400), into), 0, WEFT_MS(60));
		assert_in_range(recovery_ns(WEFT_MS(2), into), 0, WEFT_MS(5));
	}
}

/* A message takes no longer than it needs, unlike duo_transfer. Returns how many packets were sent again. */
static uint64_t transfer_now(struct duo *d, uint8_t *buf)
{
	uint64_t before = duo_stats(d, 0)->tx_retx;
	struct weft_cqe cqe;
	duo_recv(d, 1, buf, BYTES, 7, 0, buf);
	duo_send(d, 0, buf + BYTES, BYTES, 7, buf);
	while (!duo_cqe(d, 0, &cqe))
		duo_run(d, d->now + WEFT_US(10));
	assert_int_equal(cqe.err, 0);
	duo_expect(d, 1, buf, 0);
	return duo_stats(d, 0)->tx_retx - before;
}

/* A host that is late for want of a processor is late again and again: that is no loss, and soon not taken for one. The
 * timeout doubles from 70 us to more than the 4 ms that the answer takes. */
static void late_host__is_remembered(void **state)
{
	enum { HICCUPS = 20, LEARNED = 7 };
	struct duo d;
	struct duo_conf conf;
	uint8_t *buf = calloc(2, BYTES);
	duo_conf_init(&conf);
	conf.tune.rtt_memory_ns = WEFT_MS(500);
	duo_open(&d, &conf);
	assert_int_equal(transfer_now(&d, buf), 0);
	for (int i = 0; i < HICCUPS; i++) {
		weft_ns latency = d.latency_ns;
		d.latency_ns = WEFT_MS(2);
		uint64_t again = transfer_now(&d, buf);
		d.latency_ns = latency;
		assert_true(i > 0 || again > 0);
		assert_true(i < LEARNED || again == 0);
		for (int k = 0; k < 10; k++)
			assert_int_equal(transfer_now(&d, buf), 0);
		duo_run(&d, d.now + WEFT_MS(50));
	}
	duo_close(&d);
	free(buf);
}

/* A port that takes nothing for a while loses nothing: its packets wait, and are not taken for lost. */
static void full_port__loses_nothing(void **state)
{
	struct duo d;
	uint8_t *buf = calloc(2, BYTES);
	struct weft_cqe cqe;
	open_default(&d);
	transfer_now(&d, buf);
	d.port[0].tx_room = 5;
	duo_recv(&d, 1, buf, BYTES, 7, 0, buf);
	duo_send(&d, 0, buf + BYTES, BYTES, 7, buf);
	duo_poll(&d, 0);
	d.port[0].tx_room = 0;
	for (weft_ns end = d.now + WEFT_MS(5); d.now < end; d.now += WEFT_US(10)) {
		duo_poll(&d, 0);
		duo_poll(&d, 1);
	}
	d.port[0].tx_room = UINT32_MAX;
	while (!duo_cqe(&d, 0, &cqe))
		duo_run(&d, d.now + WEFT_US(10));
	assert_int_equal(cqe.err, 0);
	duo_expect(&d, 1, buf, 0);
	assert_int_equal(duo_stats(&d, 0)->timeouts, 0);
	assert_int_equal(duo_stats(&d, 0)->tx_retx, 0);
	duo_close(&d);
	free(buf);
}

/* Nobody clears a refusal who does not know its PSN: the operation fails, as it should. */
static enum duo_fate lose_first_answer(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	int *left = arg;
	return from == 1 && w->pds.type == WIRE_PDS_ACK_CC && (*left)-- > 0 ? DUO_DROP : DUO_PASS;
}

static void clear__forged(void **state)
{
	static const int32_t ahead[] = {1, 1000, 1 << 30, INT32_MAX};
	for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++) {
		struct duo d;
		int left = 1;
		uint32_t nobody;
		uint8_t b[64] = {0};
		open_default(&d);
		d.fate = lose_first_answer;
		d.fate_arg = &left;
		const struct weft_addr addr = {weft_peer_addr(d.e[0], d.peer[0])->ip, 999};
		assert_int_equal(weft_peer_add(d.e[0], &addr, &nobody), 0);
		const struct weft_op op = {.kind = WEFT_OP_TSEND, .peer = nobody, .buf = b, .len = 64, .context = b};
		assert_int_equal(weft_submit(d.ep[0], &op), 0);
		duo_poll(&d, 0);
		d.now += d.latency_ns;
		duo_poll(&d, 1); /* refused for good: the response waits, and the ACK that carries it is lost */
		struct pdc_rx *r = first_rx(d.e[1]);
		assert_int_equal(r->win.gtd_count, 1);
		struct plain_pkt w = {.net = {.dscp = WIRE_DSCP_CONTROL, .entropy = 1},
				      .pds = {.type = WIRE_PDS_CP,
					      .ctl = WIRE_CTL_CLEAR_CMD,
					      .spdcid = r->remote_id,
					      .dpdcid = r->pdc.id,
					      .payload = r->start_psn + (uint32_t)ahead[i]}};
		duo_inject_pkt(&d, 1, &w, NULL);
		duo_poll(&d, 1);
		assert_int_equal(r->win.gtd_count, 1);
		duo_run(&d, d.now + WEFT_S(1));
		duo_expect(&d, 0, b, EHOSTUNREACH);
		duo_close(&d);
	}
}

/* A CREDIT that does not know the Start_PSN names no target. */
static void credit__forged(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct duo_conf conf;
		struct duo d;
		uint8_t *out = duo_pattern(BYTES, 3), *in = calloc(1, BYTES);
		duo_conf_init(&conf);
		conf.cc = i ? "spraypass" : "eqds";
		duo_open(&d, &conf);
		d.e[0]->pds.has_secret = d.e[1]->pds.has_secret = true;
		duo_recv(&d, 1, in, BYTES, 7, 0, in);
		duo_send(&d, 0, out, BYTES, 7, out);
		duo_poll(&d, 0);
		struct plain_pkt w = {.net = {.dscp = WIRE_DSCP_CREDIT, .entropy = 1},
				      .pds = {.type = WIRE_PDS_CP,
					      .ctl = WIRE_CTL_CREDIT,
					      .spdcid = 4242,
					      .dpdcid = first_tx(d.e[0])->pdc.id,
					      .opaque = 4000,
					      .payload = 1}};
		duo_inject_pkt(&d, 0, &w, NULL);
		duo_poll(&d, 0);
		assert_int_equal(first_tx(d.e[0])->remote_id, 0);
		duo_run(&d, d.now + WEFT_MS(50));
		duo_expect(&d, 1, in, 0);
		duo_expect(&d, 0, out, 0);
		assert_memory_equal(in, out, BYTES);
		duo_close(&d);
		free(out);
		free(in);
	}
}

/* A first packet that comes late, when its connection has been closed, is not carried out again. */
static void late__first_packet(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	d.logging = true;
	duo_transfer(&d, 0, 8);
	struct plain_pkt first = d.log[0].w;
	assert_int_equal(first.pds.flags & WIRE_F_SYN, WIRE_F_SYN);
	weft_engine_shutdown(d.e[0], d.now);
	duo_run(&d, d.now + WEFT_MS(100));
	uint8_t in[8] = {0};
	struct weft_cqe cqe;
	duo_recv(&d, 1, in, sizeof in, 0, UINT64_MAX, in);
	duo_inject_pkt(&d, 1, &first, (const uint8_t *)"12345678");
	duo_run(&d, d.now + WEFT_MS(1));
	assert_false(duo_cqe(&d, 1, &cqe));
	assert_int_equal(duo_stats(&d, 1)->rx_dup, 1);
	duo_close(&d);
}

/* A connection that became idle, whose CLOSE_CMD is not answered since the wire carries nothing. */
static const struct pdc_tx *open_and_close_in_vain(struct duo *d, struct cut *c, weft_ns peer_timeout_ns)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.peer_timeout_ns = peer_timeout_ns;
	duo_open(d, &conf);
	duo_transfer(d, 0, 10);
	*c = (struct cut){.from = d->now, .to = WEFT_NEVER, .d = d};
	d->fate = cut;
	d->fate_arg = c;
	const struct pdc_tx *p = first_tx(d->e[0]);
	while (p->state != PDC_TX_CLOSING)
		duo_run(d, d->now + WEFT_MS(1));
	return p;
}

/* A message that is sent just before the connection is given up was never on its way: it has as much time as any. */
static void closing__message_of_the_last_moment(void **state)
{
	for (int back = 0; back < 2; back++) {
		struct duo d;
		struct cut c;
		const struct pdc_tx *p = open_and_close_in_vain(&d, &c, WEFT_MS(500));
		duo_run(&d, p->last_heard_ns + WEFT_MS(499));
		uint8_t *out = duo_pattern(20000, 3), *in = calloc(1, 20000);
		duo_recv(&d, 1, in, 20000, 7, 0, in);
		duo_send(&d, 0, out, 20000, 7, out);
		c.to = back ? d.now + WEFT_MS(250) : WEFT_NEVER;
		struct weft_cqe cqe;
		duo_run(&d, d.now + WEFT_MS(200));
		assert_false(duo_cqe(&d, 0, &cqe));
		duo_run(&d, d.now + WEFT_MS(400));
		duo_expect(&d, 0, out, back ? 0 : ETIMEDOUT);
		if (back) {
			duo_expect(&d, 1, in, 0);
			assert_memory_equal(in, out, 20000);
		}
		const struct weft_stats *stats = duo_stats(&d, 0);
		assert_int_equal(stats->pdc_opened, 2);
		assert_int_equal(stats->pdc_failed, back ? 1 : 2);
		assert_int_equal(stats->pdc_closed, 0);
		duo_close(&d);
		free(out);
		free(in);
	}
}

/* The wire is back when a message is sent, which does not wait for the next timeout. */
static void closing__message_asks_again(void **state)
{
	struct duo d;
	struct cut c;
	open_and_close_in_vain(&d, &c, WEFT_S(5));
	duo_run(&d, d.now + WEFT_S(2));
	uint8_t *out = duo_pattern(20000, 3), *in = calloc(1, 20000);
	for (int i = 0; i < 2; i++)
		duo_recv(&d, 1, in, 20000, 7, 0, in);
	c.to = d.now;
	for (int i = 0; i < 2; i++)
		duo_send(&d, 0, out, 20000, 7, out);
	duo_run(&d, d.now + WEFT_MS(1));
	for (int i = 0; i < 2; i++) {
		duo_expect(&d, 0, out, 0);
		duo_expect(&d, 1, in, 0);
	}
	assert_int_equal(duo_stats(&d, 0)->pdc_closed, 1);
	assert_int_equal(duo_stats(&d, 0)->pdc_failed, 0);
	duo_close(&d);
	free(out);
	free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outage__over_soon),
		cmocka_unit_test(late_host__is_remembered),
		cmocka_unit_test(full_port__loses_nothing),
		cmocka_unit_test(clear__forged),
		cmocka_unit_test(credit__forged),
		cmocka_unit_test(late__first_packet),
		cmocka_unit_test(closing__message_of_the_last_moment),
		cmocka_unit_test(closing__message_asks_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
