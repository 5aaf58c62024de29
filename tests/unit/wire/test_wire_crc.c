/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "rng.h"
#include "samples.h"

static void wire_crc32c__check_value(void **state)
{
	assert_int_equal(wire_crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(wire_crc32c(0, "", 0), 0);
}

/* RFC 3720 appendix B.4. */
static void wire_crc32c__published_examples(void **state)
{
	uint8_t data[32];

	memset(data, 0, sizeof data);
	assert_int_equal(wire_crc32c(0, data, sizeof data), 0x8a9136aa);
	memset(data, 0xff, sizeof data);
	assert_int_equal(wire_crc32c(0, data, sizeof data), 0x62a8ab43);
	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)i;
	assert_int_equal(wire_crc32c(0, data, sizeof data), 0x46dd794e);
}

/* Bit by bit, straight from the reflected polynomial. */
static uint32_t crc_by_bits(const uint8_t *p, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (; len > 0; len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void wire_crc32c__every_length_and_alignment(void **state)
{
	struct rng r = {5};
	uint8_t data[96];

	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)rng_next(&r);
	for (size_t from = 0; from < 8; from++) {
		for (size_t len = 0; len <= sizeof data - from; len++)
			assert_int_equal(wire_crc32c(0, data + from, len), crc_by_bits(data + from, len));
	}
}

/* Any number of bytes through all lengths of streams. */
static void wire_crc32c__random_lengths_and_alignments(void **state)
{
	enum { BYTES = 12000, ROUNDS = 400 };
	struct rng r = {6};
	uint8_t *data = malloc(BYTES + 8);

	assert_non_null(data);
	for (unsigned i = 0; i < BYTES + 8; i++)
		data[i] = (uint8_t)rng_next(&r);
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t from = rng_below(&r, 8), len = rng_below(&r, round & 1 ? BYTES : 600);
		uint32_t want = crc_by_bits(data + from, len);
		assert_int_equal(wire_crc32c(0, data + from, len), want);
		assert_int_equal(wire_crc32c_portable(0, data + from, len), want);
		size_t cut = rng_below(&r, (uint32_t)len + 1);
		assert_int_equal(wire_crc32c(wire_crc32c(0, data + from, cut), data + from + cut, len - cut), want);
	}
	free(data);
}

static void wire_crc32c__chains(void **state)
{
	const char text[] = "The payload may lie apart from its headers.";
	uint32_t whole = wire_crc32c(0, text, sizeof text);

	for (size_t cut = 0; cut <= sizeof text; cut++)
		assert_int_equal(wire_crc32c(wire_crc32c(0, text, cut), text + cut, sizeof text - cut), whole);
}

/* From the source address on: TTL, DSCP and ECN may change on the way, addresses may not. */
static void wire_crc__covers_from_source_address(void **state)
{
	const uint8_t uet[16] = {0x31};
	uint8_t buf[PACKET_MAX];

	for (int v4 = 0; v4 < 2; v4++) {
		size_t len = wrap_uet(v4, uet, sizeof uet, buf), from = v4 ? 12 : 8;
		uint32_t crc = wire_crc(buf, len - 4, buf + len - 4, 4);
		assert_int_equal(be32toh(crc), wire_crc32c(0, buf + from, len - from));
		for (size_t i = 1; i < len; i++) {
			buf[i] ^= 0x10;
			assert_int_equal(wire_crc(buf, len - 4, buf + len - 4, 4) == crc, i < from);
			buf[i] ^= 0x10;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_crc32c__check_value),
		cmocka_unit_test(wire_crc32c__published_examples),
		cmocka_unit_test(wire_crc32c__every_length_and_alignment),
		cmocka_unit_test(wire_crc32c__random_lengths_and_alignments),
		cmocka_unit_test(wire_crc32c__chains),
		cmocka_unit_test(wire_crc__covers_from_source_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
