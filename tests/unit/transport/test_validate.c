/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses that are not their senders': little is sent to them, little is kept for them, and others are served. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "rma_duo.h"

enum { REGION = 1 << 20, FORGED = 0x0b000000, RATIO_MAX = 3 };

/* What goes to and comes from forged addresses; IP bytes. It arrives nowhere. */
struct outside {
	uint64_t in_bytes, out_bytes;
};

static enum duo_fate count_forged(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	struct outside *o = arg;
	uint8_t buf[WEFT_PKT_HEAD_MAX];
	if ((weft_ip_low32(&w->net.dst) & 0xff000000) != FORGED)
		return DUO_PASS;
	o->out_bytes += plain_encode(w, buf) + w->payload_bytes;
	return DUO_DROP;
}

static void forge(struct duo *d, struct outside *o, uint32_t nth, struct plain_pkt w, const uint8_t *payload)
{
	uint8_t buf[2048] = {0};
	w.net.src = weft_ip_v4(FORGED + nth);
	w.net.dst = weft_peer_addr(d->e[0], d->peer[0])->ip;
	w.net.dst_port = WIRE_UDP_PORT;
	size_t head = plain_encode(&w, buf);
	if (payload)
		memcpy(buf + head, payload, w.payload_bytes);
	o->in_bytes += head + w.payload_bytes;
	duo_inject(d, 1, buf, (uint16_t)(head + w.payload_bytes));
	duo_poll(d, 1);
}

static void open_validating(struct duo *d, struct duo_conf *conf, uint32_t validate)
{
	conf->tune.validate = validate;
	conf->tune.half_open = 64;
	conf->tune.peer_timeout_ns = WEFT_S(2);
	duo_open(d, conf);
}

static void expect_ratio(struct duo *d, const struct outside *o)
{
	duo_run(d, d->now + WEFT_S(5));
	if (o->out_bytes > RATIO_MAX * o->in_bytes)
		print_message("%llu bytes in, %llu out\n", (unsigned long long)o->in_bytes,
			      (unsigned long long)o->out_bytes);
	assert_true(o->out_bytes <= RATIO_MAX * o->in_bytes);
}

/* A million forged first packets in a minute, each from an address of its own. */
static void flood__others_connect(void **state)
{
	enum { SYNS = 20000, GAP_NS = 60000 };
	struct outside o = {0};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	open_validating(&d, &conf, WEFT_VALIDATE_MANY);
	d.fate = count_forged;
	d.fate_arg = &o;
	uint8_t buf[8] = {0};
	duo_recv(&d, 1, buf, sizeof buf, 99, 0, buf);
	for (uint32_t i = 0; i < SYNS; i++) {
		if (i == SYNS / 2)
			duo_send(&d, 0, buf, sizeof buf, 99, buf);
		forge(&d, &o, i, duo_syn(1, 0), NULL);
		duo_run(&d, d.now + GAP_NS);
	}
	duo_expect(&d, 0, buf, 0);
	duo_expect(&d, 1, buf, 0);
	assert_in_range(duo_stats(&d, 1)->pdc_accepted, 64, 65);
	assert_in_range(d.mem[1].live, 0, 64 * 8);
	assert_int_equal(duo_stats(&d, 1)->syn_asked, SYNS - 64 + 1);
	expect_ratio(&d, &o);
	duo_transfer(&d, 1, 100000); /* and it can begin connections itself */
	duo_close(&d);
}

/* How long a new host needs to connect and to send 16 messages of 1 MiB, forged first packets coming or not. */
static weft_ns time_of_transfers(bool flooded)
{
	enum { GAP_NS = 60000, BEFORE = 2000, TAG = 99, MESSAGES = 16, BYTES = 1 << 20 };
	struct outside o = {0};
	struct duo_conf conf;
	struct duo d;
	static uint8_t in[MESSAGES][BYTES];
	uint8_t *out = duo_pattern(BYTES, 4);
	duo_conf_init(&conf);
	open_validating(&d, &conf, WEFT_VALIDATE_MANY);
	d.fate = count_forged;
	d.fate_arg = &o;
	uint32_t syns = 0;
	for (; flooded && syns < BEFORE; syns++) {
		forge(&d, &o, syns, duo_syn(1, 0), NULL);
		duo_run(&d, d.now + GAP_NS);
	}
	memset(in, 0, sizeof in);
	weft_ns began = d.now;
	for (int i = 0; i < MESSAGES; i++) {
		duo_recv(&d, 1, in[i], BYTES, TAG, 0, in[i]);
		duo_send(&d, 0, out, BYTES, TAG, out);
	}
	while (duo_stats(&d, 0)->msg_sent < MESSAGES) {
		assert_true(d.now - began < WEFT_S(1));
		if (flooded)
			forge(&d, &o, syns++, duo_syn(1, 0), NULL);
		duo_run(&d, d.now + GAP_NS / 6);
		for (int i = 0; i < 5 && duo_stats(&d, 0)->msg_sent < MESSAGES; i++)
			duo_run(&d, d.now + GAP_NS / 6);
	}
	weft_ns took = d.now - began;
	for (int i = 0; i < MESSAGES; i++)
		assert_memory_equal(in[i], out, BYTES);
	free(out);
	d.fate = NULL;
	duo_run(&d, d.now + WEFT_S(5));
	struct weft_cqe cqe;
	while (duo_cqe(&d, 0, &cqe) || duo_cqe(&d, 1, &cqe))
		assert_int_equal(cqe.err, 0);
	duo_close(&d);
	return took;
}

/* With a million forged first packets a minute a new host keeps four fifths of its goodput. */
static void flood__others_keep_goodput(void **state)
{
	weft_ns alone = time_of_transfers(false), flooded = time_of_transfers(true);
	print_message("%.3f of the goodput\n", (double)alone / (double)flooded);
	assert_true(flooded * 4 <= alone * 5);
}

/* Whoever has connected, there are PDCIDs for our own connections. */
static void ids__left_for_ours(void **state)
{
	struct outside o = {0};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	duo_open(&d, &conf);
	d.fate = count_forged;
	d.fate_arg = &o;
	for (uint32_t i = 0; i < 70000; i++)
		forge(&d, &o, i, duo_syn(1, 0), NULL);
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 49152);
	duo_transfer(&d, 1, 100000);
	duo_close(&d);
}

/* Numbers of peers are kept, so addresses that have shown nothing get few; a new honest host gets its own. */
static void peers__few_for_forged_addresses(void **state)
{
	struct outside o = {0};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.validate = WEFT_VALIDATE_MANY;
	conf.tune.half_open = 32767;
	duo_open(&d, &conf);
	d.fate = count_forged;
	d.fate_arg = &o;
	for (uint32_t i = 0; i < 10000; i++)
		forge(&d, &o, i, duo_syn(1, 0), NULL);
	assert_in_range(d.e[1]->ses.peers.count, 4000, 4096);
	struct weft_op op = {.kind = WEFT_OP_TSEND, .peer = d.peer[0], .buf = &op, .len = 8, .tag = 5, .context = &op};
	struct weft_ep *stranger;
	struct weft_err err;
	assert_int_equal(weft_ep_open(d.e[0], 777, 16, 16, &stranger, &err), 0);
	assert_int_equal(weft_submit(stranger, &op), 0);
	duo_run(&d, d.now + WEFT_MS(5));
	struct weft_cqe cqe;
	assert_int_equal(weft_cq_take(stranger, &cqe, 1), 1);
	assert_int_equal(cqe.err, 0);
	weft_ep_close(stranger);
	duo_close(&d);
}

/* `waits`: it is refused until its address has shown something. */
static void forged_read(uint32_t length, uint8_t opcode, bool waits)
{
	struct rma_duo r;
	struct outside o = {0};
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.validate = WEFT_VALIDATE_MANY;
	conf.tune.peer_timeout_ns = WEFT_S(2);
	rma_open(&r, &conf, REGION, WEFT_MR_READ | WEFT_MR_WRITE);
	r.d.fate = count_forged;
	r.d.fate_arg = &o;
	struct plain_pkt w = duo_syn(1, 0);
	w.ses.opcode = opcode;
	w.ses.match = RMA_KEY;
	w.ses.request_length = length;
	w.ses.amo_opcode = WEFT_AMO_READ; /* has no operands */
	w.ses.amo_datatype = WEFT_AMO_UINT8;
	forge(&r.d, &o, 1, w, NULL);
	assert_int_equal(duo_stats(&r.d, 1)->rx_unproven, waits);
	expect_ratio(&r.d, &o);
	rma_close(&r);
}

static void requests__answers_are_no_longer(void **state)
{
	forged_read(1, WIRE_OP_READ, false);
	forged_read(16, WIRE_OP_READ, false);
	forged_read(17, WIRE_OP_READ, true);
	forged_read(REGION, WIRE_OP_READ, true);
	forged_read(16, WIRE_OP_FETCHING_ATOMIC, false);
	forged_read(17, WIRE_OP_FETCHING_ATOMIC, true);
	forged_read(UINT16_MAX, WIRE_OP_FETCHING_ATOMIC, true);
	forged_read(8, WIRE_OP_WRITE, false);
	forged_read(0, WIRE_OP_SEND, false);
}

/* A host that asks for more answers than there can be, and acknowledges none, leaves some to others. */
static void answers__left_for_others(void **state)
{
	enum { CONNECTIONS = 20, READS = 1000, ANSWERS_MAX = 16384 };
	struct rma_duo r;
	struct outside o = {0};
	uint8_t in[64];
	rma_open(&r, NULL, REGION, WEFT_MR_READ);
	r.d.fate = count_forged;
	r.d.fate_arg = &o;
	struct plain_pkt w = duo_syn(1, 0);
	w.ses.opcode = WIRE_OP_READ;
	w.ses.match = RMA_KEY;
	w.ses.request_length = 64;
	for (uint16_t c = 0; c < CONNECTIONS; c++)
		for (uint16_t i = 0; i < READS; i++) {
			w.pds.spdcid = (uint16_t)(c + 1);
			w.pds.psn = 1000u + i;
			w.pds.psn_offset = i;
			w.ses.message_id = (uint16_t)(i + 1);
			forge(&r.d, &o, 1, w, NULL);
		}
	assert_in_range(r.d.e[1]->ses.answers, ANSWERS_MAX / 2, ANSWERS_MAX * 4 / 5 + 1);
	const struct weft_op op = rma_op(WEFT_OP_READ, in, sizeof in, 0);
	rma_submit(&r.d, 0, &op);
	duo_run(&r.d, r.d.now + WEFT_MS(5));
	duo_expect(&r.d, 0, in, 0);
	rma_close(&r);
}

/* An announced message is fetched by its receiver: from a forged address it is not. */
static void announcements__are_not_fetched(void **state)
{
	struct outside o = {0};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = 1000;
	open_validating(&d, &conf, WEFT_VALIDATE_MANY);
	uint8_t *buf = duo_pattern(REGION, 1), *in = calloc(1, REGION);
	duo_recv(&d, 1, in, REGION, 7, 0, in);
	d.logging = true;
	duo_send(&d, 0, buf, REGION, 7, buf);
	duo_poll(&d, 0);
	struct plain_pkt w = d.log[0].w; /* how an announcement looks */
	assert_int_equal(w.ses.opcode, WIRE_OP_RENDEZVOUS_TSEND);
	d.fate = count_forged;
	d.fate_arg = &o;
	forge(&d, &o, 1, w, NULL);
	expect_ratio(&d, &o);
	assert_memory_equal(buf, in, REGION); /* that of the honest peer was */
	assert_true(duo_stats(&d, 1)->rx_unproven > 0);
	duo_close(&d);
	free(buf);
	free(in);
}

/* The two packets of an address that has shown nothing get so many credits. */
static void forged_credit_request(const char *cc, uint64_t credits_of_request, uint64_t credits_of_data)
{
	struct outside o = {0};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.cc = cc;
	open_validating(&d, &conf, WEFT_VALIDATE_MANY);
	d.fate = count_forged;
	d.fate_arg = &o;
	struct plain_pkt w = {.net = {.dscp = WIRE_DSCP_CONTROL, .entropy = 5},
			      .pds = {.type = WIRE_PDS_CP,
				      .ctl = WIRE_CTL_CREDIT_REQ,
				      .flags = WIRE_F_SYN,
				      .spdcid = 9,
				      .psn = 1000,
				      .opaque = 1,
				      .payload = 100000}};
	forge(&d, &o, 1, w, NULL);
	expect_ratio(&d, &o);
	uint64_t credits = duo_stats(&d, 1)->tx_credit;
	assert_int_equal(credits, credits_of_request);
	struct plain_pkt data = duo_syn(1, 8); /* eqds opens with data */
	data.pds.type = WIRE_PDS_RUD_CC_REQ;
	data.pds.credit = 100000;
	data.pds.spdcid = 10;
	data.ses.match = 1234;
	forge(&d, &o, 2, data, (const uint8_t *)"12345678");
	expect_ratio(&d, &o);
	assert_int_equal(duo_stats(&d, 1)->tx_credit - credits, credits_of_data);
	duo_transfer(&d, 0, 300000);
	duo_close(&d);
}

static void credit__little_to_forged_addresses(void **state)
{
	forged_credit_request("eqds", 0, 2);
	forged_credit_request("spraypass", 2, 0);
	forged_credit_request("expresspass", 2, 0);
}

/* ---- always ---- */

/* Nothing of a packet from a forged address is taken. */
static void always__nothing_is_injected(void **state)
{
	struct outside o = {0};
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	open_validating(&d, &conf, WEFT_VALIDATE_ALWAYS);
	d.fate = count_forged;
	d.fate_arg = &o;
	uint8_t in[8] = {0};
	struct weft_cqe cqe;
	duo_recv(&d, 1, in, sizeof in, 7, 0, in);
	forge(&d, &o, 1, duo_syn(1, 8), (const uint8_t *)"attacked");
	expect_ratio(&d, &o);
	assert_false(duo_cqe(&d, 1, &cqe));
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 0);
	duo_send(&d, 0, "honestly", 8, 7, &d);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 1, in, 0);
	assert_memory_equal(in, "honestly", 8);
	duo_close(&d);
}

/* What was recorded on its way is of no use later, for which the connection has been forgotten meanwhile. */
static void always__recordings_are_refused(void **state)
{
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.idle_close_ns = WEFT_MS(1);
	open_validating(&d, &conf, WEFT_VALIDATE_ALWAYS);
	d.logging = true;
	duo_transfer(&d, 0, 8);
	duo_run(&d, d.now + WEFT_S(20));
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 1);
	uint32_t recorded = d.log_len;
	uint8_t in[8] = {0};
	struct weft_cqe cqe;
	duo_recv(&d, 1, in, sizeof in, 0, UINT64_MAX, in);
	for (uint32_t i = 0; i < recorded; i++) {
		struct plain_pkt w = d.log[i].w;
		if (d.log[i].from == 0 && w.pds.type == WIRE_PDS_RUD_REQ)
			duo_inject_pkt(&d, 1, &w, (const uint8_t *)"12345678");
	}
	duo_run(&d, d.now + WEFT_MS(1));
	assert_false(duo_cqe(&d, 1, &cqe));
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 1);
	duo_close(&d);
}

static enum duo_fate trouble(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	static const enum duo_fate fates[] = {DUO_DROP, DUO_DUP, DUO_LATE, DUO_TRIM};
	uint64_t dice = rng_next(arg);
	return dice % 6 ? DUO_PASS : fates[(dice >> 8) % 4];
}

/* Messages of new connections arrive once, whatever becomes of packets and whenever it is asked for. */
static void messages__come_once(uint32_t validate, uint64_t seed)
{
	enum { MESSAGES = 12 };
	struct rng dice = {seed};
	struct duo_conf conf;
	struct duo d;
	static uint8_t in[MESSAGES][5000];
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = seed % 2 ? 2000 : 0;
	open_validating(&d, &conf, validate);
	d.e[1]->pds.conf.tune.half_open = 1 + (uint32_t)(seed % 2);
	d.fate = trouble;
	d.fate_arg = &dice;
	d.late_ns = WEFT_US(100);
	uint8_t *out = duo_pattern(5000, seed);
	for (uint32_t i = 0; i < MESSAGES + 2; i++)
		duo_recv(&d, 1, in[i % MESSAGES], 5000, 0, UINT64_MAX, &in[i]);
	for (uint32_t i = 0; i < MESSAGES; i++)
		duo_send(&d, 0, out, rng_below(&dice, 5001), i, out);
	duo_run(&d, d.now + WEFT_MS(500));
	uint32_t came = 0;
	for (struct weft_cqe cqe; duo_cqe(&d, 1, &cqe);) {
		assert_int_equal(cqe.err, 0);
		assert_false(came >> cqe.tag & 1);
		came |= 1u << cqe.tag;
	}
	assert_int_equal(came, (1u << MESSAGES) - 1);
	free(out);
	duo_close(&d);
}

static void trouble__messages_come_once(void **state)
{
	for (uint64_t seed = 1; seed < 200; seed++) {
		messages__come_once(WEFT_VALIDATE_ALWAYS, seed);
		messages__come_once(WEFT_VALIDATE_MANY, seed);
	}
}

/* ---- Start_PSNs that are named ---- */

static const weft_ns epoch_ns = UINT64_C(1) << 33;

static enum duo_fate note_start_psn(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	if (w->pds.type == WIRE_PDS_NACK && w->pds.code == WIRE_NACK_NEW_START_PSN)
		*(uint32_t *)arg = w->pds.payload;
	return (weft_ip_low32(&w->net.dst) & 0xff000000) == FORGED ? DUO_DROP : DUO_PASS;
}

/* A host is told a Start_PSN at the end of an epoch, and begins with it at `later_ns`. Returns whether that is taken.
 */
static bool is_taken(weft_ns later_ns)
{
	struct outside o = {0};
	struct duo_conf conf;
	struct duo d;
	uint32_t named = 0;
	duo_conf_init(&conf);
	open_validating(&d, &conf, WEFT_VALIDATE_ALWAYS);
	d.fate = note_start_psn;
	d.fate_arg = &named;
	struct plain_pkt w = duo_syn(1, 0);
	duo_run(&d, 3 * epoch_ns - 1);
	d.now = 3 * epoch_ns - 1;
	forge(&d, &o, 1, w, NULL);
	assert_int_equal(duo_stats(&d, 1)->syn_asked, 1);
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 0);
	w.pds.psn = named;
	d.now = later_ns;
	forge(&d, &o, 1, w, NULL);
	uint64_t accepted = duo_stats(&d, 1)->pdc_accepted;
	assert_int_equal(duo_stats(&d, 1)->syn_asked, 2 - accepted);
	duo_close(&d);
	return accepted;
}

static void start_psn__is_good_for_an_epoch_and_the_next(void **state)
{
	assert_true(is_taken(3 * epoch_ns - 1));
	assert_true(is_taken(3 * epoch_ns));
	assert_true(is_taken(4 * epoch_ns - 1));
	assert_false(is_taken(4 * epoch_ns));
	assert_false(is_taken(5 * epoch_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flood__others_connect),
		cmocka_unit_test(flood__others_keep_goodput),
		cmocka_unit_test(ids__left_for_ours),
		cmocka_unit_test(peers__few_for_forged_addresses),
		cmocka_unit_test(requests__answers_are_no_longer),
		cmocka_unit_test(answers__left_for_others),
		cmocka_unit_test(announcements__are_not_fetched),
		cmocka_unit_test(credit__little_to_forged_addresses),
		cmocka_unit_test(always__nothing_is_injected),
		cmocka_unit_test(always__recordings_are_refused),
		cmocka_unit_test(start_psn__is_good_for_an_epoch_and_the_next),
		cmocka_unit_test(trouble__messages_come_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
