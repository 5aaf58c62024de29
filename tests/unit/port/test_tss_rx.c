/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes out of a port that encrypts, by driver and by libcrypto. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "tss_kdf.h"
#include "tss_pair.h"
#include "weft/ethdev.h"

/* Sealed by another implementation (Python's cryptography): pair_pkt's packets with the last byte 59. */
static const char sealed_v4[] = "4522007400004000401126550a0000010a000002111112b900600000090000031234000000000005337f59"
				"c30b9f2dc2a5bb34b306b4d44051cb65b9cd969b9ef7dec876104719470bff311146b04029e8a69d526533"
				"4a755e7533a9cb27e43079b7103ccbd3a63a69949e7a95ed75e726f90a97";
static const char sealed_v6[] =
	"62200000005cfd4020010db800000000000000000000000120010db800000000000000000000000211110000080000031234ffffffffff"
	"ffd4027e07441e0deb06f28c9168dc7eb8fd216b74a7a700d584a6a257e64286689fa200c64971e41c96d95ddc683f3fa85c69e4ba7402"
	"975ac3426fb3311986d055e6d41705ed5569b7ee92d0";

enum { SEALED_BYTES = 116, MARK = 59 };

static struct tss_pair pair;
static bool no_cryptodev, derive_fails;

bool __real_tss_derive(const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *src,
		       struct tss_material *out);
bool __wrap_tss_derive(const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *src,
		       struct tss_material *out);

bool __wrap_tss_derive(const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *src,
		       struct tss_material *out)
{
	return !derive_fails && __real_tss_derive(key, epoch, src, out);
}

static int setup(void **state)
{
	derive_fails = false;
	pair_open(&pair, false, no_cryptodev, PAIR_FIRST);
	return 0;
}

static int setup_v6(void **state)
{
	derive_fails = false;
	pair_open(&pair, true, no_cryptodev, UINT64_C(0x1234ffffffffffff));
	pair.keys.current = 0;
	return weft_tss_set_keys(pair.ports[0], &pair.keys, NULL);
}

static int teardown(void **state)
{
	pair_close(&pair);
	return 0;
}

static uint32_t hex_read(const char *hex, uint8_t *out)
{
	uint32_t n = 0;
	for (; *hex; hex += 2) {
		unsigned byte;
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		out[n++] = (uint8_t)byte;
	}
	return n;
}

static void known_answer(bool v6, const char *hex)
{
	uint8_t sealed[200];
	const uint8_t mark = MARK;
	uint32_t n = hex_read(hex, sealed);
	pair_send(&pair, 0, v6, mark);
	struct weft_pkt *pkt = pair_sent(&pair, 0, 0);
	assert_int_equal(pkt->head_len, n);
	assert_memory_equal(pkt->head, sealed, n);
	pair_bring_bytes(&pair, 1, sealed, n);
	pair_expect(&pair, 1, v6, &mark, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_opened, 1);
}

static void rx__known_answer_v4(void **state)
{
	known_answer(false, sealed_v4);
}

static void rx__known_answer_v6(void **state)
{
	known_answer(true, sealed_v6);
}

/* Class of service, flow label and hop limit of IPv6 have no checksum and change on the way. */
static bool bit_is_free(bool v6, uint32_t bit)
{
	return v6 && ((bit >= 4 && bit < 32) || (bit >= 56 && bit < 64));
}

static void every_bit(bool v6)
{
	const uint8_t mark = MARK;
	uint64_t passed = 0;
	pair_send(&pair, 0, v6, mark);
	struct weft_pkt *pkt = pair_sent(&pair, 0, 0);
	for (uint32_t bit = 0; bit < 8u * pkt->head_len; bit++) {
		if (bit_is_free(v6, bit))
			continue;
		pkt->head[bit / 8] ^= (uint8_t)(1 << (7 - bit % 8));
		pair_bring(&pair, 1, pkt);
		pkt->head[bit / 8] ^= (uint8_t)(1 << (7 - bit % 8));
		pair_expect_none(&pair, 1);
		assert_int_equal(pair_counted(&pair, 1), ++passed);
	}
	assert_int_equal(pair_stats(&pair, 1).tss_opened, 0);
	pair_bring(&pair, 1, pkt);
	pair_expect(&pair, 1, v6, &mark, 1);
}

static void rx__every_flipped_bit_v4(void **state)
{
	every_bit(false);
}

static void rx__every_flipped_bit_v6(void **state)
{
	every_bit(true);
}

/* Also of a sender that is known. */
static void rx__every_flipped_bit_later(void **state)
{
	pair_send(&pair, 0, false, 1);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	pair_expect(&pair, 1, false, (const uint8_t[]){1}, 1);
	pair_send(&pair, 0, false, 2);
	struct weft_pkt *pkt = pair_sent(&pair, 0, 1);
	for (uint32_t bit = 0; bit < 8u * pkt->head_len; bit++) {
		pkt->head[bit / 8] ^= (uint8_t)(1 << bit % 8);
		pair_bring(&pair, 1, pkt);
		pkt->head[bit / 8] ^= (uint8_t)(1 << bit % 8);
		pair_expect_none(&pair, 1);
	}
	assert_int_equal(pair_counted(&pair, 1), 1 + 8u * pkt->head_len);
	pair_bring(&pair, 1, pkt);
	pair_expect(&pair, 1, false, (const uint8_t[]){2}, 1);
}

/* Shortened anywhere, with lengths that fit. */
static void rx__every_length(void **state)
{
	uint8_t bytes[SEALED_BYTES];
	pair_send(&pair, 0, false, 1);
	struct weft_pkt *pkt = pair_sent(&pair, 0, 0);
	assert_int_equal(pkt->head_len, SEALED_BYTES);
	for (uint32_t n = 0; n < SEALED_BYTES; n++) {
		memcpy(bytes, pkt->head, SEALED_BYTES);
		pair_bring_bytes(&pair, 1, bytes, n);
		bytes[3] = (uint8_t)n;
		bytes[25] = (uint8_t)(n - 20);
		uint32_t sum = (uint32_t)(bytes[10] << 8 | bytes[11]) + SEALED_BYTES - n; /* one's complement */
		sum = (sum & 0xffff) + (sum >> 16);
		bytes[10] = (uint8_t)(sum >> 8);
		bytes[11] = (uint8_t)sum;
		pair_bring_bytes(&pair, 1, bytes, n);
		pair_expect_none(&pair, 1);
	}
	struct weft_tss_stats s = pair_stats(&pair, 1);
	assert_int_equal(pair_counted(&pair, 1), 2 * SEALED_BYTES);
	assert_true(s.tss_bad_tag > 40 && s.tss_malformed > 40 && s.tss_clear > 40);
}

static void rx__replayed(void **state)
{
	static const uint8_t marks[] = {1, 2, 3};
	for (int i = 0; i < 3; i++)
		pair_send(&pair, 0, false, marks[i]);
	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 3; i++)
			pair_bring(&pair, 1, pair_sent(&pair, 0, i));
	pair_expect(&pair, 1, false, marks, 3);
	assert_int_equal(pair_stats(&pair, 1).tss_replayed, 6);
}

static void rx__late(void **state)
{
	static const uint8_t marks[] = {7};
	pair_send(&pair, 0, false, 1);
	uint8_t old[SEALED_BYTES];
	memcpy(old, pair_sent(&pair, 0, 0)->head, SEALED_BYTES);
	pair.ports[0]->ops->close(pair.ports[0]);
	const struct weft_tss_conf conf = {.ip = weft_ip_v4(0x0a000001),
					   .first_number = PAIR_FIRST + WEFT_TSS_REPLAY_WINDOW,
					   .keys = &pair.keys,
					   .no_cryptodev = no_cryptodev};
	pair_open_end(&pair, 0, &conf);
	pair_send(&pair, 0, false, 7);
	pair_carry(&pair, 0);
	pair_expect(&pair, 1, false, marks, 1);
	pair_bring_bytes(&pair, 1, old, SEALED_BYTES);
	pair_expect_none(&pair, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_late, 1);
}

static void rx__any_order(void **state)
{
	static const uint8_t marks[] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
	for (uint8_t i = 0; i < 10; i++)
		pair_send(&pair, 0, false, i);
	for (uint32_t i = 10; i-- > 0;)
		pair_bring(&pair, 1, pair_sent(&pair, 0, i));
	pair_expect(&pair, 1, false, marks, 10);
}

static void rx__clear(void **state)
{
	uint8_t bytes[256];
	pair_bring_bytes(&pair, 1, bytes, pair_plain(false, 1, bytes));
	pair_bring_bytes(&pair, 1, bytes, pair_plain(true, 1, bytes));
	bytes[6] = 58; /* ICMPv6 */
	pair_bring_bytes(&pair, 1, bytes, 104);
	memset(bytes, 0xff, sizeof bytes);
	pair_bring_bytes(&pair, 1, bytes, sizeof bytes);
	pair_expect_none(&pair, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_clear, 4);
}

static void rx__other_keys(void **state)
{
	struct weft_tss_keys other = pair.keys;
	other.key[1].secret[31] ^= 1;
	assert_int_equal(weft_tss_set_keys(pair.ports[0], &other, NULL), 0);
	pair_send(&pair, 0, false, 1);
	other.key[1].id = 9;
	assert_int_equal(weft_tss_set_keys(pair.ports[0], &other, NULL), 0);
	pair_send(&pair, 0, false, 1);
	pair_carry(&pair, 0);
	pair_expect_none(&pair, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_bad_tag, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_unknown_key, 1);
}

/* Sources are kept once they were authentic, no more than asked for, once per key. */
static void rx__more_sources_than_room(void **state)
{
	static const uint8_t marks[] = {1, 2};
	const struct weft_tss_conf conf = {
		.ip = weft_ip_v4(0x0a000002), .keys = &pair.keys, .sources_max = 1, .no_cryptodev = no_cryptodev};
	pair.ports[1]->ops->close(pair.ports[1]);
	pair_open_end(&pair, 1, &conf);
	pair_send(&pair, 0, false, 1);
	pair_send(&pair, 0, false, 2);
	pair.keys.current = 0;
	assert_int_equal(weft_tss_set_keys(pair.ports[0], &pair.keys, NULL), 0);
	pair_send(&pair, 0, false, 3);
	pair_carry(&pair, 0);
	pair_expect(&pair, 1, false, marks, 2);
	assert_int_equal(pair_stats(&pair, 1).tss_no_room, 1);
}

static void rx__no_memory_for_a_key(void **state)
{
	static const uint8_t marks[] = {2};
	pair_send(&pair, 0, false, 1);
	pair_carry(&pair, 0);
	derive_fails = true;
	pair_expect_none(&pair, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_no_room, 1);
	derive_fails = false;
	pair_send(&pair, 0, false, 2);
	pair_carry(&pair, 0);
	pair_expect(&pair, 1, false, marks, 1);
}

/* What is left of a packet when a switch has trimmed it to `n` bytes. */
static void bring_trimmed(const struct weft_pkt *pkt, uint8_t n)
{
	uint8_t bytes[SEALED_BYTES];
	memcpy(bytes, pkt->head, n);
	bytes[1] = 16 << 2;
	bytes[3] = n;
	bytes[10] = bytes[11] = 0;
	uint32_t sum = 0;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	sum = 0xffff - ((sum & 0xffff) + (sum >> 16));
	bytes[10] = (uint8_t)(sum >> 8);
	bytes[11] = (uint8_t)sum;
	pair_bring_bytes(&pair, 1, bytes, n);
}

static void send_of_type(uint8_t prologue, uint8_t flags)
{
	struct weft_pkt *pkt = pair_pkt(&pair, 0, false, 1);
	pkt->head[28] = prologue;
	pkt->head[29] = flags;
	assert_int_equal(pair.ports[0]->ops->tx(pair.ports[0], &pkt, 1), 1);
}

/* The packet without its end, and no more than that; it does not count as come. */
static void rx__trimmed(void **state)
{
	enum { LEFT = 28 + 12 + 20 };
	struct weft_pkt *pkt;
	uint8_t plain[256];
	send_of_type(0x11, 0x80);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	assert_int_equal(pair.ports[1]->ops->rx(pair.ports[1], &pkt, 1), 1);
	pair.ports[1]->ops->free(pair.ports[1], &pkt, 1);
	send_of_type(0x11, 0x80);
	for (int i = 0; i < 2; i++) {
		bring_trimmed(pair_sent(&pair, 0, 1), LEFT);
		assert_int_equal(pair.ports[1]->ops->rx(pair.ports[1], &pkt, 1), 1);
		pair_plain(false, 1, plain);
		assert_int_equal(pkt->head_len, LEFT - 12);
		assert_int_equal(pkt->head[3], LEFT - 12);
		assert_int_equal(pkt->head[25], 68);
		assert_int_equal(pkt->head[29], 0x80);
		assert_memory_equal(pkt->head + 30, plain + 30, LEFT - 12 - 30);
		pair.ports[1]->ops->free(pair.ports[1], &pkt, 1);
	}
	assert_int_equal(pair_stats(&pair, 1).tss_trimmed, 2);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 1));
	assert_int_equal(pair.ports[1]->ops->rx(pair.ports[1], &pkt, 1), 1);
	pair.ports[1]->ops->free(pair.ports[1], &pkt, 1);
}

/* ACKs, NACKs and control packets would be believed; a first packet might open a connection. */
static void rx__trimmed_is_refused(void **state)
{
	enum { LEFT = 28 + 12 + 20 };
	uint64_t refused = 0;
	struct weft_pkt *pkt;
	send_of_type(0x11, 0x80);
	bring_trimmed(pair_sent(&pair, 0, 0), LEFT); /* of nobody known */
	pair_expect_none(&pair, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_trimmed_refused, ++refused);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	assert_int_equal(pair.ports[1]->ops->rx(pair.ports[1], &pkt, 1), 1);
	pair.ports[1]->ops->free(pair.ports[1], &pkt, 1);
	for (uint8_t type = 0; type < 32; type++) {
		bool is_request = type == 2 || type == 3 || type == 13 || type == 14;
		send_of_type((uint8_t)(type << 3 | 1), is_request ? 0x84 : 0x80);
		bring_trimmed(pair_sent(&pair, 0, type + 1u), LEFT);
		pair_expect_none(&pair, 1);
		assert_int_equal(pair_stats(&pair, 1).tss_trimmed_refused, ++refused);
	}
	send_of_type(0x11, 0x80);
	for (uint8_t n = 28; n < 28 + 12 + 12; n++) {
		bring_trimmed(pair_sent(&pair, 0, 33), n);
		pair_expect_none(&pair, 1);
	}
	assert_int_equal(pair_stats(&pair, 1).tss_trimmed, 0);
	bring_trimmed(pair_sent(&pair, 0, 33), 28 + 12 + 12);
	assert_int_equal(pair.ports[1]->ops->rx(pair.ports[1], &pkt, 1), 1);
	pair.ports[1]->ops->free(pair.ports[1], &pkt, 1);
}

/* One that was trimmed stays behind the whole one that came before it. */
static void rx__trimmed_keeps_its_place(void **state)
{
	struct weft_pkt *pkts[3];
	for (int i = 0; i < 4; i++)
		send_of_type(0x11, 0x80);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	assert_int_equal(pair.ports[1]->ops->rx(pair.ports[1], pkts, 1), 1);
	pair.ports[1]->ops->free(pair.ports[1], pkts, 1);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 1));
	bring_trimmed(pair_sent(&pair, 0, 2), 60);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 3));
	assert_int_equal(pair.ports[1]->ops->rx(pair.ports[1], pkts, 3), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pkts[i]->head_len == 60 - 12, i == 1);
	pair.ports[1]->ops->free(pair.ports[1], pkts, 3);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rx__known_answer_v4, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__known_answer_v6, setup_v6, teardown),
		cmocka_unit_test_setup_teardown(rx__every_flipped_bit_v4, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__every_flipped_bit_v6, setup_v6, teardown),
		cmocka_unit_test_setup_teardown(rx__every_flipped_bit_later, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__every_length, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__replayed, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__late, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__any_order, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__clear, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__other_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__more_sources_than_room, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__no_memory_for_a_key, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__trimmed, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__trimmed_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(rx__trimmed_keeps_its_place, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	struct weft_err err;
	if (weft_eal_start(NULL, &err))
		return 1;
	int failed = run();
	no_cryptodev = true;
	return failed + run();
}
