/* SPDX-License-Identifier: BSD-3-Clause */
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
__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t wide = crc, word;

	for (; len >= sizeof word; len -= sizeof word, p += sizeof word) {
		memcpy(&word, p, sizeof word);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	while (len-- > 0)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#endif

uint32_t wire_crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_sse42(~crc, data, len);
#endif
	return ~crc_portable(~crc, data, len);
}

uint32_t wire_crc(const uint8_t *buf, size_t header_bytes, const uint8_t *payload, size_t payload_bytes)
{
	size_t from = buf[0] >> 4 == 4 ? IP4_SRC_AT : IP6_SRC_AT;

	return __builtin_bswap32(wire_crc32c(wire_crc32c(0, buf + from, header_bytes - from), payload, payload_bytes));
}
