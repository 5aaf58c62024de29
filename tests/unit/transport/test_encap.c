/* SPDX-License-Identifier: BSD-3-Clause */
/* How packets are wrapped: one side begins as it is configured, the other one answers as it was asked, and begins so
 * what it begins later. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "duo.h"
#include "inside.h"
#include "rng.h"

enum { BYTES = 100000, ROUNDS = 8 };

struct want {
	uint16_t dst_port;
	uint8_t native, crc;
};

static const struct want wants[] = {{WIRE_UDP_PORT, 0, 0}, {WIRE_UDP_PORT_49150, 0, 0}, {0, 1, 1}};

static enum duo_fate lossy(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	uint64_t dice = rng_mix(nth * 2 + (uint64_t)from) % 32;
	return dice == 0 ? DUO_DROP : dice == 1 && w->payload_bytes ? DUO_TRIM : DUO_PASS;
}

static void send_and_check(struct duo *d, int side, const uint8_t *out, uint8_t *in, uint64_t len)
{
	static int context;
	struct weft_cqe cqe;

	memset(in, 0, BYTES);
	duo_recv(d, !side, in, len, 1, 0, &context);
	duo_send(d, side, out, len, 1, &context);
	duo_run(d, d->now + WEFT_MS(50));
	assert_memory_equal(in, out, len);
	for (int i = 0; i < 2; i++) {
		assert_true(duo_cqe(d, i, &cqe));
		assert_int_equal(cqe.err, 0);
	}
}

static void check_log(const struct duo *d, uint32_t from, const struct want *want)
{
	assert_true(d->log_len > from);
	for (uint32_t i = from; i < d->log_len; i++) {
		assert_int_equal(d->log[i].w.net.dst_port, want->dst_port);
		assert_int_equal(d->log[i].w.net.native, want->native);
		assert_int_equal(d->log[i].w.net.crc, want->crc);
	}
}

static void both_sides_wrap_as_the_first(const struct duo_conf *conf, const struct want *want)
{
	uint8_t *out = duo_pattern(BYTES, 3), *in = malloc(BYTES);
	struct duo d;

	duo_open(&d, conf);
	d.logging = true;
	d.fate = lossy;
	for (uint64_t i = 0; i < ROUNDS; i++)
		send_and_check(&d, i & 1, out, in, i < 2 ? i : (uint64_t)BYTES >> (i - 2));
	check_log(&d, 0, want);
	assert_int_equal(weft_engine_stats(d.e[0])->rx_bad_crc + weft_engine_stats(d.e[1])->rx_bad_crc, 0);
	duo_close(&d);
	free(out);
	free(in);
}

static void encap__of_all_kinds(void **state)
{
	for (uint32_t i = 0; i < 12; i++) {
		struct duo_conf conf;
		struct weft_engine_tune plain;
		duo_conf_init(&conf);
		plain = conf.tune;
		conf.tune_1 = &plain;
		conf.ipv6 = i & 1;
		conf.tune.encap = i / 2 % 3;
		conf.tune.ack_every = plain.ack_every = i < 6 ? 1 : 8;
		both_sides_wrap_as_the_first(&conf, &wants[conf.tune.encap]);
	}
}

/* A CRC over UDP: who requires it gets it from somebody who was not told. */
static void crc__answered(void **state)
{
	for (int v6 = 0; v6 < 2; v6++) {
		const struct want want = {WIRE_UDP_PORT, 0, 1};
		struct duo_conf conf;
		struct weft_engine_tune plain;
		duo_conf_init(&conf);
		plain = conf.tune;
		conf.tune_1 = &plain;
		conf.ipv6 = v6;
		conf.tune.crc = 1;
		both_sides_wrap_as_the_first(&conf, &want);
	}
}

/* The first packet of several does not say how long it is, and need not have one of UET's sizes. */
static void crc__behind_packets_of_any_size(void **state)
{
	static const uint32_t sizes[] = {64, 500, 1027, 1500, 8100};
	for (uint32_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
		struct duo_conf conf;
		struct weft_engine_tune plain;
		duo_conf_init(&conf);
		conf.tune.payload_bytes = sizes[i / 2];
		plain = conf.tune;
		conf.tune_1 = &plain;
		conf.tune.encap = i & 1 ? 2 : 0;
		conf.tune.crc = !(i & 1);
		both_sides_wrap_as_the_first(&conf, i & 1 ? &wants[2] : &(struct want){WIRE_UDP_PORT, 0, 1});
	}
}

/* Who has begun over UDP and then hears from a peer over IP, begins there with the peer's from then on. */
static void remote_heard__changes_what_is_begun(void **state)
{
	uint8_t *out = duo_pattern(BYTES, 3), *in = malloc(BYTES);
	struct weft_engine_tune native;
	struct duo_conf conf;
	struct duo d;

	duo_conf_init(&conf);
	conf.tune.idle_close_ns = WEFT_MS(1);
	native = conf.tune;
	native.encap = 2;
	conf.tune_1 = &native;
	duo_open(&d, &conf);
	d.logging = true;
	send_and_check(&d, 0, out, in, BYTES);
	check_log(&d, 0, &wants[0]);
	uint32_t from = d.log_len;
	send_and_check(&d, 1, out, in, BYTES);
	check_log(&d, from, &wants[0]); /* it has heard from us, too */
	duo_close(&d);
	free(out);
	free(in);
}

/* Until somebody answers it may not have understood: a request that is wrapped otherwise is a hint. */
static enum duo_fate only_native(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return w->net.native ? DUO_PASS : DUO_DROP;
}

static void remote_heard__rewraps_what_is_not_answered(void **state)
{
	static int context;
	uint8_t *out = duo_pattern(BYTES, 3), *in = calloc(1, BYTES);
	struct weft_engine_tune native;
	struct duo_conf conf;
	struct weft_cqe cqe;
	struct duo d;

	duo_conf_init(&conf);
	native = conf.tune;
	native.encap = 2;
	conf.tune_1 = &native;
	duo_open(&d, &conf);
	d.fate = only_native;
	duo_recv(&d, 1, in, BYTES, 1, 0, &context);
	duo_send(&d, 0, out, BYTES, 1, &context);
	duo_run(&d, d.now + WEFT_MS(1));
	assert_false(duo_cqe(&d, 0, &cqe));
	duo_send(&d, 1, out, 1, 2, &context);
	duo_run(&d, d.now + WEFT_MS(100));
	assert_true(duo_cqe(&d, 0, &cqe));
	assert_int_equal(cqe.err, 0);
	assert_memory_equal(in, out, BYTES);
	duo_close(&d);
	free(out);
	free(in);
}

/* What a host begins with trailers, and wraps otherwise when the peer begins without, is not taken for damaged,
 * whichever of its packets and of their answers arrives first. */
static enum duo_fate drops_some(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	const unsigned *lost = arg;
	return nth < 8 && *lost >> (nth + 8 * (unsigned)from) & 1 ? DUO_DROP : DUO_PASS;
}

static void both_begin(unsigned lost, uint8_t *out, uint8_t *in)
{
	static int context[2];
	struct weft_engine_tune native;
	struct duo_conf conf;
	struct duo d;

	duo_conf_init(&conf);
	native = conf.tune;
	native.encap = 2;
	conf.tune_1 = &native;
	duo_open(&d, &conf);
	d.fate = drops_some;
	d.fate_arg = &lost;
	for (int side = 0; side < 2; side++) {
		duo_recv(&d, !side, in + side * BYTES, BYTES, 1, 0, &context[side]);
		duo_send(&d, side, out, BYTES, 1, &context[side]);
	}
	duo_run(&d, d.now + WEFT_S(1));
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < 2; i++) {
			struct weft_cqe cqe;
			assert_true(duo_cqe(&d, side, &cqe));
			assert_int_equal(cqe.err, 0);
		}
	assert_memory_equal(in, out, BYTES);
	assert_memory_equal(in + BYTES, out, BYTES);
	duo_close(&d);
}

static void remote_heard__while_both_begin(void **state)
{
	uint8_t *out = duo_pattern(BYTES, 3), *in = malloc(2 * BYTES);
	for (unsigned lost = 0; lost < 0x10000; lost += 37)
		both_begin(lost, out, in);
	free(out);
	free(in);
}

/* With crc=on a DSCP of trimmed packets is no way around the trailer: nothing opens, and nothing but data is read. */
static void crc__not_avoided_by_a_dscp(void **state)
{
	struct duo_conf conf;
	struct duo d;

	duo_conf_init(&conf);
	conf.tune.crc = 1;
	conf.cc = "eqds";
	duo_open(&d, &conf);
	struct plain_pkt syn = duo_syn(1, 0);
	syn.net.dscp = WIRE_DSCP_TRIMMED;
	syn.pds.type = WIRE_PDS_RUD_CC_REQ;
	duo_inject_pkt(&d, 1, &syn, NULL);
	duo_poll(&d, 1);
	assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 0);
	duo_transfer(&d, 0, BYTES);
	uint64_t acks = duo_stats(&d, 0)->rx_ack, bad = duo_stats(&d, 0)->rx_bad_crc;
	struct plain_pkt ack = {.net = {.dscp = WIRE_DSCP_TRIMMED, .entropy = 5},
				.pds = {.type = WIRE_PDS_ACK_CC, .dpdcid = 1, .spdcid = 1}};
	duo_inject_pkt(&d, 0, &ack, NULL);
	duo_poll(&d, 0);
	assert_int_equal(duo_stats(&d, 0)->rx_ack, acks);
	assert_int_equal(duo_stats(&d, 0)->rx_bad_crc, bad + 1);
	duo_close(&d);
}

static struct plain_pkt last_data_of(const struct duo *d, int side)
{
	uint32_t i = d->log_len;
	while (i && !(d->log[i - 1].from == side && is_data(&d->log[i - 1].w)))
		i--;
	assert_true(i > 0);
	return d->log[i - 1].w;
}

static void next_without_trailer(const struct duo_conf *conf, const struct want *want)
{
	static int context;
	static const uint8_t forged[64] = {0xbb};
	uint8_t out[64] = {1}, in[64] = {0};
	struct weft_cqe cqe;
	struct duo d;

	duo_open(&d, conf);
	d.logging = true;
	duo_transfer(&d, 0, sizeof in);
	duo_transfer(&d, 0, sizeof in); /* by then the initiator knows the connection */
	struct plain_pkt next = last_data_of(&d, 0);
	assert_false(next.pds.flags & WIRE_F_SYN);
	assert_int_equal(next.net.crc, 1);
	next.net.crc = next.net.native = 0;
	next.pds.psn++;
	next.ses.message_id++;
	next.ses.match = 1;
	duo_recv(&d, 1, in, sizeof in, 1, 0, &context);
	duo_inject_pkt(&d, 1, &next, forged);
	duo_poll(&d, 1);
	assert_int_equal(duo_stats(&d, 1)->rx_bad_crc, 1);
	assert_false(duo_cqe(&d, 1, &cqe));
	duo_send(&d, 0, out, sizeof out, 1, &context);
	duo_run(&d, d.now + WEFT_MS(50));
	duo_expect(&d, 0, &context, 0);
	duo_expect(&d, 1, &context, 0);
	assert_memory_equal(in, out, sizeof in);
	check_log(&d, 0, want); /* answers, too, are wrapped as before */
	duo_close(&d);
}

/* A connection that began with trailers has them in all packets: one without is damaged, even where nobody requires
 * them. */
static void crc__of_all_packets_or_none(void **state)
{
	for (int native = 0; native < 2; native++) {
		struct duo_conf conf;
		struct weft_engine_tune plain;
		duo_conf_init(&conf);
		plain = conf.tune;
		conf.tune_1 = &plain;
		conf.tune.encap = native ? 2 : 0;
		conf.tune.crc = !native;
		next_without_trailer(&conf, native ? &wants[2] : &(struct want){WIRE_UDP_PORT, 0, 1});
	}
}

/* ---- profiles ---- */

static void exchange(struct duo *d, uint64_t len)
{
	uint8_t *out = duo_pattern(len, 3), *in = calloc(1, len);
	static int context;
	struct weft_cqe cqe;

	for (int side = 0; side < 2; side++) {
		duo_recv(d, !side, in, len, 1, 0, &context);
		duo_send(d, side, out, len, 1, &context);
		duo_run(d, d->now + WEFT_MS(50));
		assert_memory_equal(in, out, len);
		memset(in, 0, len);
		for (int i = 0; i < 2; i++) {
			assert_true(duo_cqe(d, i, &cqe));
			assert_int_equal(cqe.err, 0);
		}
	}
	free(out);
	free(in);
}

static bool was_announced(const struct duo *d)
{
	for (uint32_t i = 0; i < d->log_len; i++)
		if (d->log[i].w.ses.opcode == WIRE_OP_RENDEZVOUS_TSEND && d->log[i].w.pds.type == WIRE_PDS_RUD_REQ)
			return true;
	return false;
}

static enum duo_fate no_probes(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return w->pds.type == WIRE_PDS_CP && w->pds.ctl == WIRE_CTL_PROBE ? DUO_DROP : DUO_PASS;
}

/* Nothing of our own is sent to one that has not said it is a Weft: no announcement, no search for sizes. */
static void profile__keeps_to_the_standard(void **state)
{
	for (uint32_t profile = WEFT_PROFILE_WEFT; profile <= WEFT_PROFILE_HPC; profile++) {
		bool ours = profile == WEFT_PROFILE_WEFT;
		struct duo_conf conf;
		struct duo d;

		duo_conf_init(&conf);
		conf.tune.rndv_bytes = 1000;
		conf.tune.pmtu_discovery = 1;
		conf.tune.profile = profile;
		duo_open(&d, &conf);
		d.logging = true;
		d.fate = ours ? NULL : no_probes;
		exchange(&d, BYTES);
		exchange(&d, BYTES);
		assert_int_equal(was_announced(&d), ours);
		assert_int_equal(weft_engine_stats(d.e[0])->pmtu_probes > 0, ours);
		duo_close(&d);
	}
}

/* Payloads are of the sizes that UET has. */
static void profile__wants_a_payload_mtu(void **state)
{
	for (uint32_t bytes = 64; bytes <= 8192; bytes += 64) {
		struct weft_engine_conf ec = {.cc = weft_cc_find("fixed"), .lb = weft_lb_find("ops")};
		struct weft_port port = {.max_ip_bytes = 9000};
		struct weft_engine *e = NULL;
		struct weft_err err = {""};

		weft_param_defaults(weft_engine_tunes, &ec.tune);
		ec.tune.payload_bytes = bytes;
		ec.tune.profile = WEFT_PROFILE_HPC;
		ec.ip = weft_ip_v4(1);
		bool good = bytes == 1024 || bytes == 2048 || bytes == 4096 || bytes == 8192;
		if (good)
			continue;
		assert_int_equal(weft_engine_create(&ec, &port, 0, &e, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "4096 or 8192"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encap__of_all_kinds),
		cmocka_unit_test(crc__answered),
		cmocka_unit_test(remote_heard__while_both_begin),
		cmocka_unit_test(crc__not_avoided_by_a_dscp),
		cmocka_unit_test(crc__of_all_packets_or_none),
		cmocka_unit_test(crc__behind_packets_of_any_size),
		cmocka_unit_test(remote_heard__changes_what_is_begun),
		cmocka_unit_test(remote_heard__rewraps_what_is_not_answered),
		cmocka_unit_test(profile__keeps_to_the_standard),
		cmocka_unit_test(profile__wants_a_payload_mtu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
