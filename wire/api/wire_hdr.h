/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers of UET 1.0.x as they stand in a packet (UE Specification 1.0.x sections 3.4 and 3.5), read and written in
 * place. wire_fields.h says which bits of a member are which field; from it each field has
 *     wire_HEADER_FIELD(header)              its value, and
 *     wire_HEADER_set_FIELD(header, value)   which leaves the other bits of the member as they are.
 * Nothing here looks at lengths: what may be read of a received packet is what wire_check says. */
#ifndef WEFT_WIRE_HDR_H
#define WEFT_WIRE_HDR_H

#include <assert.h>
#include <stddef.h>

#include "wire.h"
#include "wire_be.h"
#include "wire_fields.h"

/* ---- PDS ---- */

/* What PDS headers begin with. UUD ends after bytes 2 and 3, RUDI after the PSN. */
struct wire_hdr {
	wire_be16 prologue;
	union { /* bytes 2 and 3, by type */
		wire_be16 clear_offset, ack_offset, opaque;
		struct {
			uint8_t nack_code, nack_vendor;
		};
	};
	wire_be32 psn; /* of requests and control packets; CACK_PSN of ACKs; RUDI: packet id */
	wire_be16 spdcid;
	wire_be16 dpdcid; /* in a SYN where the PSNs start */
};

/* RUD_CC_REQ, ROD_CC_REQ. */
struct wire_request_cc {
	struct wire_hdr hdr;
	uint8_t ccc_id;
	wire_be24 credit_target;
};

/* ACK_CC, and the first 24 bytes of ACK_CCX. */
struct wire_ack_cc {
	struct wire_hdr hdr;
	uint8_t cc_type_flags;
	uint8_t mpr;
	wire_be16 sack_offset;
	wire_be64 sack_bitmap;
	union {
		struct { /* WIRE_CC_NSCC */
			wire_be16 service_time;
			wire_be32 penalty_rcvd;
			wire_be16 ooo_count;
		};
		struct { /* WIRE_CC_CREDIT */
			wire_be24 credit;
			wire_be24 reserved;
			wire_be16 credit_ooo_count;
		};
		uint8_t vendor[8]; /* others */
	};
};

struct wire_ack_ccx {
	struct wire_hdr hdr;
	uint8_t sack[12]; /* as in struct wire_ack_cc */
	uint8_t vendor[16];
};

struct wire_nack {
	struct wire_hdr hdr;
	wire_be32 payload;
};

struct wire_nack_ccx {
	struct wire_nack nack;
	uint8_t vendor[16];
};

struct wire_cp {
	struct wire_hdr hdr;
	wire_be32 payload;
};

/* ---- SES ---- */

/* What requests begin with. */
struct wire_req {
	uint8_t opcode;
	uint8_t flags;
	wire_be16 id_or_length; /* standard: message id; small, medium: length */
	uint8_t ri_generation;
	wire_be24 job_id;
	wire_be16 pid_on_fep;
	wire_be16 resource_index;
};

struct wire_std {
	struct wire_req req;
	wire_be64 buffer_offset;
	wire_be32 initiator;
	wire_be64 match;
	union {
		wire_be64 header_data; /* SOM */
		struct {
			wire_be32 payload_length;
			wire_be32 message_offset;
		};
	};
	wire_be32 request_length;
};

struct wire_medium {
	struct wire_req req;
	wire_be64 offset_or_data; /* HD: header data */
	wire_be32 initiator;
	wire_be64 match;
};

struct wire_small {
	struct wire_req req;
	wire_be64 buffer_offset;
};

/* What responses begin with; a response without data. */
struct wire_rsp {
	uint8_t opcode;
	uint8_t code;
	wire_be16 id_or_length; /* small response with data: payload length */
	uint8_t ri_generation;
	wire_be24 job_id;
	wire_be32 modified_length; /* of the forms with data: see those */
};

struct wire_rsp_data {
	uint8_t rsp[8]; /* as in struct wire_rsp */
	wire_be16 read_message_id;
	wire_be16 payload_length;
	wire_be32 modified_length;
	wire_be32 message_offset;
};

struct wire_rsp_small {
	uint8_t rsp[8]; /* as in struct wire_rsp */
	wire_be32 original_psn;
};

/* ---- extensions of requests ---- */

struct wire_amo {
	uint8_t opcode, datatype, control, reserved;
	uint8_t compare[16], swap[16]; /* the CSWAP family only */
};

struct wire_rndv {
	wire_be32 eager_length;
	wire_be32 target; /* resource index generation, PIDonFEP, resource index */
	wire_be64 offset;
	wire_be64 match;
};

enum {
	WIRE_AMO_BYTES = 4, /* without operands */
	WIRE_HEADERS_MAX = 40 + 44 + 36,
};

_Static_assert(sizeof(struct wire_hdr) == 12 && sizeof(struct wire_request_cc) == 16, "as on the wire");
_Static_assert(sizeof(struct wire_ack_cc) == 32 && sizeof(struct wire_ack_ccx) == 40, "as on the wire");
_Static_assert(sizeof(struct wire_nack) == 16 && sizeof(struct wire_nack_ccx) == 32, "as on the wire");
_Static_assert(sizeof(struct wire_cp) == 16 && sizeof(struct wire_req) == 12, "as on the wire");
_Static_assert(sizeof(struct wire_std) == 44 && sizeof(struct wire_medium) == 32, "as on the wire");
_Static_assert(sizeof(struct wire_small) == 20 && sizeof(struct wire_rsp) == 12, "as on the wire");
_Static_assert(sizeof(struct wire_rsp_data) == 20 && sizeof(struct wire_rsp_small) == 12, "as on the wire");
_Static_assert(sizeof(struct wire_amo) == 36 && sizeof(struct wire_rndv) == 24, "as on the wire");

/* ---- accessors ---- */

#define WIRE_ONES(bits)       (UINT64_MAX >> (64 - (bits)))
#define WIRE_SIZE(hdr, field) sizeof(((struct wire_##hdr *)0)->field)

#define WIRE_ACCESSORS(hdr, type, field, member, shift, bits, show, names, ui, text)                                   \
	_Static_assert((shift) + (bits) <= 8 * WIRE_SIZE(hdr, member) && (bits) <= 8 * sizeof(type), "fits");          \
	static inline __attribute__((always_inline)) type wire_##hdr##_##field(const struct wire_##hdr *h)             \
	{                                                                                                              \
		return (type)(wire_load(&h->member, sizeof h->member) >> (shift)&WIRE_ONES(bits));                     \
	}                                                                                                              \
	static inline __attribute__((always_inline)) void wire_##hdr##_set_##field(struct wire_##hdr *h, type value)   \
	{                                                                                                              \
		const uint64_t mask = WIRE_ONES(bits) << (shift);                                                      \
		uint64_t rest = 0;                                                                                     \
		assert((bits) == 8 * sizeof(type) || !((uint64_t)value & ~WIRE_ONES(bits)));                           \
		if ((bits) < 8 * sizeof h->member)                                                                     \
			rest = wire_load(&h->member, sizeof h->member) & ~mask;                                        \
		wire_store(&h->member, sizeof h->member, rest | ((uint64_t)value << (shift)&mask));                    \
	}
#define WIRE_NO_ACCESSORS(...)

WIRE_FIELDS(WIRE_ACCESSORS, WIRE_NO_ACCESSORS, WIRE_NO_ACCESSORS, WIRE_NO_ACCESSORS)

/* Bytes of a PDS header, 0 for types without one we know. */
static inline uint32_t wire_pds_bytes(uint8_t type)
{
	static const uint8_t bytes[32] = {
		[WIRE_PDS_RUD_REQ] = 12,    [WIRE_PDS_ROD_REQ] = 12,  [WIRE_PDS_RUDI_REQ] = 8,
		[WIRE_PDS_RUDI_RESP] = 8,   [WIRE_PDS_UUD_REQ] = 4,   [WIRE_PDS_ACK] = 12,
		[WIRE_PDS_ACK_CC] = 32,     [WIRE_PDS_ACK_CCX] = 40,  [WIRE_PDS_NACK] = 16,
		[WIRE_PDS_CP] = 16,         [WIRE_PDS_NACK_CCX] = 32, [WIRE_PDS_RUD_CC_REQ] = 16,
		[WIRE_PDS_ROD_CC_REQ] = 16,
	};
	return bytes[type & 31];
}

/* Bytes of the SES header without extension, 0 for unknown forms. */
static inline uint32_t wire_ses_bytes(uint8_t next_hdr)
{
	static const uint8_t bytes[16] = {
		[WIRE_NH_SMALL] = 20, [WIRE_NH_MEDIUM] = 32,   [WIRE_NH_STD] = 44,
		[WIRE_NH_RSP] = 12,   [WIRE_NH_RSP_DATA] = 20, [WIRE_NH_RSP_DATA_SMALL] = 12,
	};
	return bytes[next_hdr & 15];
}

/* The CSWAP family and masked swap bring two operands along. */
static inline int wire_amo_has_operands(uint8_t amo_opcode)
{
	return amo_opcode >= 0x0d && amo_opcode <= 0x13;
}

/* What follows a request of an opcode that brings it. */
static inline const struct wire_amo *wire_amo_of(const struct wire_std *h)
{
	return (const struct wire_amo *)(h + 1);
}

static inline const struct wire_rndv *wire_rndv_of(const struct wire_std *h)
{
	return (const struct wire_rndv *)(h + 1);
}

/* Widths: WIRE_BITS_HEADER_FIELD. */
#define WIRE_WIDTHS(hdr, type, field, member, shift, bits, show, names, ui, text) WIRE_BITS_##hdr##_##field = (bits),
enum { WIRE_FIELDS(WIRE_WIDTHS, WIRE_NO_ACCESSORS, WIRE_NO_ACCESSORS, WIRE_NO_ACCESSORS) };

#undef WIRE_WIDTHS
#undef WIRE_ACCESSORS
#undef WIRE_NO_ACCESSORS

#endif
