/* SPDX-License-Identifier: BSD-3-Clause */
/* What check, builder and the switch's calls share: big-endian access, the outer headers at a glance, header sizes.
 */
#ifndef WEFT_WIRE_FMT_H
#define WEFT_WIRE_FMT_H

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire.h"
#include "wire_hdr.h"

enum {
	IP4_BYTES = 20,
	IP6_BYTES = 40,
	UDP_BYTES = 8,
	ENTROPY_BYTES = 4,
	CRC_BYTES = 4,
	IP_PROTO_UDP = 17,
	IP_PROTO_NATIVE = 253, /* experimental number, what peers without UDP use */
	SENT_TTL = 64,
	IP4_DF = 0x4000,
	IP4_FRAGMENT = 0x3fff, /* MF and offset */
	IP4_SUM_AT = 10,
	IP4_SRC_AT = 12,
	IP4_DST_AT = 16,
	UDP_PORT_AT = 20 + 2, /* destination port and length, over IPv4 */
	IP6_SRC_AT = 8,
	PDS_MIN_BYTES = 4,
	TRIM_KEEP_BYTES = 16, /* of the PDS header, at least (UE 1.0 table 4-1) */
	LEN14_MAX = 0x3fff,
};

static inline uint16_t load16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return __builtin_bswap16(v);
}

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return __builtin_bswap32(v);
}

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return __builtin_bswap64(v);
}

static inline void store16(uint8_t *p, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(p, &v, sizeof v);
}

static inline void store32(uint8_t *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof v);
}

static inline void store64(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof v);
}

/* Raw access, for bytes that stay in network order. */
static inline uint32_t raw32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline uint64_t raw64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static inline void put_raw32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof v);
}

static inline void put_raw64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof v);
}

/* Ones' complement sum of 16-bit words, folded from 64 to 16 bits; byte order does not matter to it (RFC 1071). The
 * upper half of a number plus itself rotated by half is the sum of its halves with the carry added in. */
static inline uint16_t fold16(uint64_t sum)
{
	uint32_t half = (uint32_t)((sum + (sum << 32 | sum >> 32)) >> 32);

	return (uint16_t)((half + (half << 16 | half >> 16)) >> 16);
}

/* Folded sum over an IPv4 header without options: 0xffff when its checksum is right. */
static inline uint16_t ip4_sum(const uint8_t *ip)
{
	return fold16((uint64_t)raw32(ip) + raw32(ip + 4) + raw32(ip + 8) + raw32(ip + 12) + raw32(ip + 16));
}

/* The IP header at a glance. */
struct ip_view {
	uint32_t header_bytes; /* 20 or 40 */
	uint32_t total_bytes;  /* IP header included, as the header says: >= header_bytes is not certain */
	uint8_t proto, tos;
	bool plain; /* no options, not a fragment */
};

/* False: not a whole IPv4 or IPv6 header. */
static inline bool ip_view(const uint8_t *buf, size_t len, struct ip_view *v)
{
	if (len >= IP4_BYTES && buf[0] >> 4 == 4) {
		v->header_bytes = IP4_BYTES;
		v->total_bytes = load16(buf + 2);
		v->proto = buf[9];
		v->tos = buf[1];
		v->plain = buf[0] == 0x45 && !(load16(buf + 6) & IP4_FRAGMENT);
		return true;
	}
	if (len >= IP6_BYTES && buf[0] >> 4 == 6) {
		v->header_bytes = IP6_BYTES;
		v->total_bytes = IP6_BYTES + (uint32_t)load16(buf + 4);
		v->proto = buf[6];
		v->tos = (uint8_t)(load16(buf) >> 4);
		v->plain = true;
		return true;
	}
	return false;
}

static inline bool dscp_trimmed(uint8_t dscp)
{
	return dscp == WIRE_DSCP_TRIMMED || dscp == WIRE_DSCP_TRIMMED_LASTHOP;
}

/* Whether there is an SES header (or none, by 0) of that form. */
static inline bool ses_known(uint8_t next_hdr)
{
	return next_hdr <= WIRE_NH_RSP_DATA_SMALL;
}

enum { EXT_AMO_BYTES = 4, EXT_CSWAP_BYTES = 36, EXT_RNDV_BYTES = 24 };
enum { AMO_CSWAP_FIRST = 0x0d, AMO_CSWAP_LAST = 0x13 };

enum ses_ext { EXT_NONE, EXT_AMO, EXT_RNDV };

/* What follows a request's SES header; rendezvous comes with the standard form only. */
static inline enum ses_ext ses_ext(uint8_t next_hdr, uint8_t opcode)
{
	enum {
		AMO = 1 << WIRE_OP_ATOMIC | 1 << WIRE_OP_FETCHING_ATOMIC | 1 << WIRE_OP_TSEND_ATOMIC |
		      1 << WIRE_OP_TSEND_FETCH_ATOMIC,
		RNDV = 1 << WIRE_OP_RENDEZVOUS_SEND | 1 << WIRE_OP_RENDEZVOUS_TSEND
	};
	uint64_t bit = UINT64_C(1) << (opcode & 63);

	if (next_hdr < WIRE_NH_SMALL || next_hdr > WIRE_NH_STD || !(bit & (AMO | RNDV)))
		return EXT_NONE;
	if (bit & AMO)
		return EXT_AMO;
	return next_hdr == WIRE_NH_STD ? EXT_RNDV : EXT_NONE;
}

/* Compare-and-swap and masked swap bring two operands along. */
static inline bool amo_has_operands(uint8_t amo_opcode)
{
	return amo_opcode >= AMO_CSWAP_FIRST && amo_opcode <= AMO_CSWAP_LAST;
}

static inline uint32_t ext_bytes(enum ses_ext ext, uint8_t amo_opcode)
{
	if (ext == EXT_AMO)
		return amo_has_operands(amo_opcode) ? EXT_CSWAP_BYTES : EXT_AMO_BYTES;
	return ext == EXT_RNDV ? EXT_RNDV_BYTES : 0;
}

/* What form of SES header follows; control packets have none, and their type in the place of it. */
static inline uint8_t ses_form(const struct wire_hdr *hdr)
{
	return wire_hdr_type(hdr) == WIRE_PDS_CP ? WIRE_NH_NONE : wire_hdr_next_hdr(hdr);
}

/* Bytes of the SES header at `ses` with its extension; more than `left`, the bytes that are there, when they end before
 * it does. Reads none beyond them. */
static inline uint32_t ses_span(const uint8_t *ses, uint32_t left, uint8_t next_hdr)
{
	uint32_t bytes = wire_ses_bytes(next_hdr);

	assert(bytes || left);
	if (left < bytes)
		return bytes;
	enum ses_ext ext = ses_ext(next_hdr, wire_req_opcode((const struct wire_req *)ses));
	if (ext == EXT_NONE)
		return bytes;
	return left > bytes ? bytes + ext_bytes(ext, ses[bytes]) : bytes + 1;
}

#endif
