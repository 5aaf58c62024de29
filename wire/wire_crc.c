/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC32C. The CPU's instruction takes three cycles for eight bytes, and a new one may begin in each: three streams keep
 * it busy. A stream's CRC is moved behind the bytes of the next by a carry-less multiplication. */
#include "wire_fmt.h"

/* Four bits at a time: the fallback needs no large table. Entry i: i run through the reflected polynomial 0x82f63b78.
 */
static uint32_t crc_portable(uint32_t crc, const uint8_t *p, size_t len)
{
	static const uint32_t nibble[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};

	while (len-- > 0) {
		crc ^= *p++;
		crc = crc >> 4 ^ nibble[crc & 15];
		crc = crc >> 4 ^ nibble[crc & 15];
	}
	return crc;
}

#ifdef __x86_64__
#define CRC_CPU   __attribute__((target("sse4.2,pclmul")))
#define WORD_SIZE sizeof(uint64_t)

/* The bytes of a stream, and x to the power of 8 * bytes * n - 33 modulo the polynomial, reflected: a CRC multiplied by
 * it and reduced by the instruction is that CRC n streams later. */
struct crc_lane {
	size_t bytes;
	uint32_t once, twice;
};

static const struct crc_lane crc_lanes[] = {
	{1024, 0x170076fa, 0xa51b6135},
	{256, 0xb9e02b86, 0xdd7e3b0c},
	{64, 0x9e4addf8, 0x0d3b6092},
};

CRC_CPU static inline uint64_t crc_word(uint64_t crc, const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof word);
	return __builtin_ia32_crc32di(crc, word);
}

/* A product of 64 bits that stands for a CRC of 32. */
CRC_CPU static inline uint64_t crc_move(uint64_t crc, uint32_t by)
{
	typedef long long pair __attribute__((vector_size(16)));
	const pair a = {(long long)crc, 0}, b = {by, 0};

	return (uint64_t)__builtin_ia32_pclmulqdq128(a, b, 0)[0];
}

/* Three streams side by side, as long as there are bytes for them. Returns how many it has taken. */
CRC_CPU static inline size_t crc_streams(uint32_t *crc, const uint8_t *p, size_t len, const struct crc_lane *lane)
{
	size_t taken = 0;

	for (; len - taken >= 3 * lane->bytes; taken += 3 * lane->bytes) {
		const uint8_t *end = p + taken + lane->bytes;
		uint64_t a = *crc, b = 0, c = 0;
#pragma GCC unroll 8
		for (const uint8_t *at = p + taken; at < end; at += WORD_SIZE) {
			a = crc_word(a, at);
			b = crc_word(b, at + lane->bytes);
			c = crc_word(c, at + 2 * lane->bytes);
		}
		*crc = (uint32_t)(c ^ __builtin_ia32_crc32di(0, crc_move(a, lane->twice) ^ crc_move(b, lane->once)));
	}
	return taken;
}

CRC_CPU static uint32_t crc_cpu(uint32_t crc, const uint8_t *p, size_t len)
{
	for (unsigned i = 0; i < sizeof crc_lanes / sizeof crc_lanes[0]; i++) {
		size_t taken = crc_streams(&crc, p, len, &crc_lanes[i]);
		p = taken ? p + taken : p; /* without payload there is none */
		len -= taken;
	}
	for (; len >= WORD_SIZE; len -= WORD_SIZE, p += WORD_SIZE)
		crc = (uint32_t)crc_word(crc, p);
	while (len-- > 0)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#endif

uint32_t wire_crc32c_portable(uint32_t crc, const void *data, size_t len)
{
	return ~crc_portable(~crc, data, len);
}

uint32_t wire_crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
		return ~crc_cpu(~crc, data, len);
#endif
	return wire_crc32c_portable(crc, data, len);
}

uint32_t wire_crc(const uint8_t *buf, size_t header_bytes, const uint8_t *payload, size_t payload_bytes)
{
	size_t from = buf[0] >> 4 == 4 ? IP4_SRC_AT : IP6_SRC_AT;

	return __builtin_bswap32(wire_crc32c(wire_crc32c(0, buf + from, header_bytes - from), payload, payload_bytes));
}
