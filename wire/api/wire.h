/* SPDX-License-Identifier: BSD-3-Clause */
/* UET headers (PDS, SES) over UDP over IPv4 or IPv6: encode, decode, print. No state, no I/O.
 * Layouts: UE Specification 1.0.x sections 3.4 and 3.5; numbers in the field comments are wire widths in bits. */
#ifndef WEFT_WIRE_H
#define WEFT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/spi/pkt.h"
#include "wire_peek.h"

enum wire_pds_type {
	WIRE_PDS_TSS = 1,
	WIRE_PDS_RUD_REQ = 2,
	WIRE_PDS_ROD_REQ = 3,
	WIRE_PDS_RUDI_REQ = 4,
	WIRE_PDS_RUDI_RESP = 5,
	WIRE_PDS_UUD_REQ = 6,
	WIRE_PDS_ACK = 7,
	WIRE_PDS_ACK_CC = 8,
	WIRE_PDS_ACK_CCX = 9,
	WIRE_PDS_NACK = 10,
	WIRE_PDS_CP = 11,
	WIRE_PDS_NACK_CCX = 12,
	WIRE_PDS_RUD_CC_REQ = 13,
	WIRE_PDS_ROD_CC_REQ = 14,
};

enum wire_next_hdr {
	WIRE_NH_NONE = 0,
	WIRE_NH_SMALL = 1,
	WIRE_NH_MEDIUM = 2,
	WIRE_NH_STD = 3,
	WIRE_NH_RSP = 4,
	WIRE_NH_RSP_DATA = 5,
	WIRE_NH_RSP_DATA_SMALL = 6,
};

enum wire_ctl_type {
	WIRE_CTL_NOOP = 0,
	WIRE_CTL_ACK_REQ = 1,
	WIRE_CTL_CLEAR_CMD = 2,
	WIRE_CTL_CLEAR_REQ = 3,
	WIRE_CTL_CLOSE_CMD = 4,
	WIRE_CTL_CLOSE_REQ = 5,
	WIRE_CTL_PROBE = 6,
	WIRE_CTL_CREDIT = 7,
	WIRE_CTL_CREDIT_REQ = 8,
	WIRE_CTL_NEGOTIATION = 9,
};

enum wire_flags {
	WIRE_F_RETX = 0x10,      /* requests, CP, ACK, NACK: (answers) a retransmission */
	WIRE_F_AR = 0x08,        /* requests, CP: acknowledge at once */
	WIRE_F_SYN = 0x04,       /* requests, CP: establishing form */
	WIRE_F_ISROD = 0x20,     /* CP NOOP and NEGOTIATION */
	WIRE_F_ACK_M = 0x20,     /* ACK, NACK: the packet answered was marked */
	WIRE_F_ACK_P = 0x08,     /* ACK: answers a probe */
	WIRE_F_ACK_CLEAR = 0x02, /* ACK: please send CLEAR */
	WIRE_F_ACK_CLOSE = 0x04, /* ACK: please close */
	WIRE_F_NACK_NT = 0x08,   /* NACK: for RUDI */
};

/* Meaning of the state in ACK_CC; ACK_CCX and NACK_CCX carry vendor types. */
enum wire_cc_type { WIRE_CC_NSCC = 0, WIRE_CC_CREDIT = 1, WIRE_CC_VENDOR_E = 14, WIRE_CC_VENDOR_F = 15 };

enum wire_nack_code {
	WIRE_NACK_TRIMMED = 0x01,
	WIRE_NACK_TRIMMED_LASTHOP = 0x02,
	WIRE_NACK_TRIMMED_ACK = 0x03,
	WIRE_NACK_NO_PDC_AVAIL = 0x04,
	WIRE_NACK_NO_CCC_AVAIL = 0x05,
	WIRE_NACK_NO_BITMAP = 0x06,
	WIRE_NACK_NO_PKT_BUFFER = 0x07,
	WIRE_NACK_NO_GTD_DEL_AVAIL = 0x08,
	WIRE_NACK_NO_SES_MSG_AVAIL = 0x09,
	WIRE_NACK_NO_RESOURCE = 0x0a,
	WIRE_NACK_PSN_OOR_WINDOW = 0x0b,
	WIRE_NACK_ROD_OOO = 0x0d,
	WIRE_NACK_INV_DPDCID = 0x0e,
	WIRE_NACK_PDC_HDR_MISMATCH = 0x0f,
	WIRE_NACK_CLOSING = 0x10,
	WIRE_NACK_CLOSING_IN_ERR = 0x11,
	WIRE_NACK_PKT_NOT_RCVD = 0x12,
	WIRE_NACK_GTD_RESP_UNAVAIL = 0x13,
	WIRE_NACK_ACK_WITH_DATA = 0x14,
	WIRE_NACK_INVALID_SYN = 0x15,
	WIRE_NACK_PDC_MODE_MISMATCH = 0x16,
	WIRE_NACK_NEW_START_PSN = 0x17,
	WIRE_NACK_RCVD_SES_PROCG = 0x18,
	WIRE_NACK_UNEXP_EVENT = 0x19,
	WIRE_NACK_RCVR_INFER_LOSS = 0x1a,
};

/* SES request opcodes (table of section 3.4) and flags of byte 1. */
enum wire_op {
	WIRE_OP_NO_OP = 0,
	WIRE_OP_WRITE = 1,
	WIRE_OP_READ = 2,
	WIRE_OP_ATOMIC = 3,
	WIRE_OP_FETCHING_ATOMIC = 4,
	WIRE_OP_SEND = 5,
	WIRE_OP_RENDEZVOUS_SEND = 6,
	WIRE_OP_DATAGRAM_SEND = 7,
	WIRE_OP_DEFERRABLE_SEND = 8,
	WIRE_OP_TAGGED_SEND = 9,
	WIRE_OP_RENDEZVOUS_TSEND = 10,
	WIRE_OP_DEFERRABLE_TSEND = 11,
	WIRE_OP_READY_TO_RESTART = 12,
	WIRE_OP_TSEND_ATOMIC = 13,
	WIRE_OP_TSEND_FETCH_ATOMIC = 14,
	WIRE_OP_MSG_ERROR = 15,
};
enum wire_ses_flags {
	WIRE_SES_DC = 0x20,
	WIRE_SES_IE = 0x10,
	WIRE_SES_REL = 0x08,
	WIRE_SES_HD = 0x04,
	WIRE_SES_EOM = 0x02,
	WIRE_SES_SOM = 0x01
};

/* SES responses. */
enum wire_rsp_op { WIRE_RSP_DEFAULT = 0, WIRE_RSP_RESPONSE = 1, WIRE_RSP_W_DATA = 2, WIRE_RSP_NONE = 3 };
enum wire_rc {
	WIRE_RC_NULL = 0x00,
	WIRE_RC_OK = 0x01,
	WIRE_RC_BAD_GENERATION = 0x02,
	WIRE_RC_DISABLED = 0x03,
	WIRE_RC_DISABLED_GEN = 0x04,
	WIRE_RC_NO_MATCH = 0x05,
	WIRE_RC_UNSUPPORTED_OP = 0x06,
	WIRE_RC_UNSUPPORTED_SIZE = 0x07,
	WIRE_RC_AT_INVALID = 0x08,
	WIRE_RC_AT_PERM = 0x09,
	WIRE_RC_AT_ATS_ERROR = 0x0a,
	WIRE_RC_AT_NO_TRANS = 0x0b,
	WIRE_RC_AT_OUT_OF_RANGE = 0x0c,
	WIRE_RC_HOST_POISONED = 0x0d,
	WIRE_RC_HOST_UNSUCCESS_CMPL = 0x0e,
	WIRE_RC_AMO_UNSUPPORTED_OP = 0x0f,
	WIRE_RC_AMO_UNSUPPORTED_DT = 0x10,
	WIRE_RC_AMO_UNSUPPORTED_SIZE = 0x11,
	WIRE_RC_AMO_UNALIGNED = 0x12,
	WIRE_RC_AMO_FP_NAN = 0x13,
	WIRE_RC_AMO_FP_UNDERFLOW = 0x14,
	WIRE_RC_AMO_FP_OVERFLOW = 0x15,
	WIRE_RC_AMO_FP_INEXACT = 0x16,
	WIRE_RC_PERM_VIOLATION = 0x17,
	WIRE_RC_OP_VIOLATION = 0x18,
	WIRE_RC_BAD_INDEX = 0x19,
	WIRE_RC_BAD_PID = 0x1a,
	WIRE_RC_BAD_JOB_ID = 0x1b,
	WIRE_RC_BAD_MKEY = 0x1c,
	WIRE_RC_BAD_ADDR = 0x1d,
	WIRE_RC_CANCELLED = 0x1e,
	WIRE_RC_UNDELIVERABLE = 0x1f,
	WIRE_RC_UNCOR = 0x20,
	WIRE_RC_UNCOR_TRNSNT = 0x21,
	WIRE_RC_TOO_LONG = 0x22,
	WIRE_RC_INITIATOR_ERROR = 0x23,
	WIRE_RC_DROPPED = 0x24,
	WIRE_RC_EXTENDED = 0x3e,
};

/* The order of fields below lets encoder and decoder move neighbours as one word (wire_fmt.h). */

/* Network layer. */
struct wire_net {
	struct weft_ip src, dst;
	uint16_t dst_port; /* UDP destination port; 0 when native */
	uint16_t entropy;  /* UDP source port */
	uint8_t dscp;      /* 6 */
	uint8_t ecn;       /* 2, enum weft_ecn */
	uint8_t native;    /* no UDP header: IP protocol 253 and a 4-byte entropy header */
	uint8_t crc;       /* a CRC32C trailer follows the payload */
};

/* PDS header of any type; which fields are meaningful depends on `type`, the rest is 0. */
struct wire_pds {
	uint8_t type;        /* 5, enum wire_pds_type */
	uint8_t next_hdr;    /* 4, enum wire_next_hdr; CP: 0, see ctl; NACK: 0, others are decoded as in any type */
	uint8_t flags;       /* 7, enum wire_flags; reserved bits are kept */
	uint8_t ctl;         /* CP: 4, enum wire_ctl_type */
	uint16_t dpdcid;     /* 16; 0 in a SYN */
	uint16_t spdcid;     /* 16 */
	uint32_t psn;        /* 32: requests and CP psn, ACK cack_psn, NACK nack_psn, RUDI pkt_id */
	int16_t offset;      /* 16: requests clear_psn_offset, ACK ack_psn_offset (0 when P is set) */
	uint16_t opaque;     /* 16: CP and ACK with P */
	uint16_t psn_offset; /* SYN: 12, psn - Start_PSN */
	uint8_t use_rsv_pdc; /* SYN: 1 */
	uint8_t ccc_id;      /* *_CC requests: 8 */
	uint32_t credit;     /* *_CC requests: credit_target 24; ACK_CC of type CREDIT: credit 24 */
	uint32_t payload;    /* CP and NACK: 32 */
	uint8_t code;        /* NACK: 8, enum wire_nack_code */
	uint8_t vendor_code; /* NACK: 8 */
	/* ACK_CC, ACK_CCX, NACK_CCX */
	uint16_t ooo_count;    /* 16 */
	int16_t sack_offset;   /* 16: PSN of bitmap bit 0 = cack_psn + sack_offset */
	uint8_t mpr;           /* 8, units of 128 PSNs */
	uint8_t cc_flags;      /* 4 */
	uint8_t cc_type;       /* 4, enum wire_cc_type */
	uint8_t rc;            /* NSCC: 1 */
	uint8_t rcv_cwnd_pend; /* NSCC: 7 */
	uint16_t service_time; /* NSCC: 16, units of 128 ns; 0 not valid, 0xffff overflow */
	uint32_t rcvd_bytes;   /* NSCC: 24, units of 256 bytes */
	uint64_t sack_bitmap;  /* 64, bit i: base + i received */
	uint64_t ccx[2]; /* vendor state, big endian words: ACK_CCX 128 bits; NACK_CCX 4 + 124 bits with nccx_type on
			    top; ACK_CC of another cc_type: 64 bits in ccx[0] */
};

/* SES header of any form, selected by the PDS next_hdr. Decoding sets what the form does not carry to 0, except
 * the fields from amo_compare on, which are left alone unless the packet has them. Nothing here is checked against the
 * packet's size: the receiver compares payload_length with payload_bytes. */
struct wire_ses {
	uint32_t job_id;          /* 24 */
	uint16_t message_id;      /* 16; standard requests and responses */
	uint8_t flags;            /* requests: 6, enum wire_ses_flags */
	uint8_t opcode;           /* 6: enum wire_op, or enum wire_rsp_op in responses */
	uint16_t resource_index;  /* 12 */
	uint16_t pid_on_fep;      /* 12 */
	uint8_t version;          /* 2 */
	uint8_t ri_generation;    /* 8 */
	uint8_t list;             /* responses: 2 */
	uint8_t return_code;      /* responses: 6, enum wire_rc */
	uint64_t buffer_offset;   /* 64; DEFERRABLE_*: initiator_restart_token in the high, target_restart_token in the
				     low half */
	uint64_t match;           /* 64: match bits or memory key; READY_TO_RESTART: two tokens */
	uint64_t header_data;     /* 64: SOM = 1, or medium with HD */
	uint32_t message_offset;  /* 32: SOM = 0; responses with data */
	uint32_t payload_length;  /* 14: SOM = 0; small and medium requests: request_length; responses with data */
	uint32_t request_length;  /* 32; whole message; small and medium: same as payload_length */
	uint32_t initiator;       /* 32 */
	uint32_t modified_length; /* 32: responses */
	uint32_t original_psn;    /* 32: small data response */
	uint16_t read_message_id; /* 16: response with data */
	/* extensions */
	uint8_t amo_opcode, amo_datatype, amo_control; /* ATOMIC, FETCHING_ATOMIC */
	uint64_t amo_compare[2], amo_swap[2];          /* CSWAP family: big endian words, high first */
	uint32_t rndv_eager_length;                    /* RENDEZVOUS_* */
	uint8_t rndv_ri_generation;
	uint16_t rndv_pid_on_fep, rndv_resource_index;
	uint64_t rndv_offset, rndv_match;
};

struct wire_pkt {
	struct wire_net net;
	struct wire_pds pds;
	struct wire_ses ses;
	uint16_t header_bytes;  /* decode: IP header to the end of SES and extension */
	uint16_t payload_bytes; /* bytes after them, without trailer. Decode of a trimmed packet: 0 */
	uint8_t trimmed;        /* decode: DSCP says a switch trimmed it; SES may be incomplete then (has_ses 0) */
	uint8_t has_ses; /* decode: ses is filled in, otherwise its contents mean nothing. Encode goes by next_hdr */
};

/* What decode found wrong; weft counters are named after these. 0 is success. */
enum wire_error {
	WIRE_OK = 0,
	WIRE_ERR_SHORT, /* ends before its headers or its IP length do */
	WIRE_ERR_IP,    /* not IPv4 or IPv6, wrong checksum or length, IPv4 options, fragment, mapped address */
	WIRE_ERR_UDP,   /* another protocol or port, UDP length differs from the IP length */
	WIRE_ERR_PDS,   /* unknown type */
	WIRE_ERR_SES,   /* unknown form */
	WIRE_ERR_CRC,   /* trailer required, but wrong or not contiguous */
	WIRE_ERRORS,
	WIRE_NOT_OURS = WIRE_ERRORS /* nothing wrong, but to another address; not looked into any further */
};

/* Names for counters, traces and the printer: as in the enums, without prefix; "unknown" for numbers without one. */
const char *wire_error_name(enum wire_error error);
const char *wire_pds_name(uint8_t type);
const char *wire_ctl_name(uint8_t ctl);
const char *wire_nack_name(uint8_t code);
const char *wire_op_name(uint8_t opcode);
const char *wire_rsp_name(uint8_t opcode);
const char *wire_rc_name(uint8_t return_code);

/* Writes all headers of `p` to `buf` (at least WEFT_PKT_HEAD_MAX bytes) with IP and UDP lengths for `p->payload_bytes`
 * (and a trailer if p->net.crc; the caller appends it, see wire_crc). Returns the header bytes written, 0 when a field
 * does not fit its width, the type or form is unknown, the packet would exceed 65535 bytes or the two addresses are of
 * different families. Reads only what the type and form carry. IPv4: DF, id 0, TTL 64; IPv6: flow label 0. */
size_t wire_encode(const struct wire_pkt *p, uint8_t *buf);

/* Decodes a packet: `len` contiguous bytes at `buf` starting with the IP header, followed elsewhere by `more` payload
 * bytes (0 for packets from a NIC). `udp_port`: which destination port is ours; packets without UDP are always ours.
 * Bytes beyond the IP length are padding. Never reads outside, accepts anything; on an error the contents of `p` mean
 * nothing. With `require_crc` the packet must carry a correct trailer and be contiguous; trimmed packets are exempt. */
enum wire_error wire_decode(const uint8_t *buf, size_t len, size_t more, uint16_t udp_port, bool require_crc,
			    struct wire_pkt *p);

/* An IPv4 header, and what of the UDP header is the same for all packets of that length, found to be sound: most
 * packets of a connection repeat it, and then one comparison says so. All 0: none yet. It holds for one address of
 * ours. See wire_decode_hot. */
struct wire_seen {
	uint64_t version, ttl; /* the first 16 bytes, as they stand in the packet, named after what they begin with */
	uint32_t dst;
	uint32_t udp;   /* as it stands: destination port and length, which is that of the IP packet less its header */
	uint32_t total; /* length of the IP packet, bytes */
};

/* Where packets of the usual form (IPv4, UDP, established) have the PDCID of their receiver, and ACKs the PSN of the
 * packet they answer; of others any number. Good for hints only: nothing
 * but the length is checked, by the first; the second needs what that found. */
static inline uint16_t wire_peek_dpdcid(const struct weft_pkt *pkt)
{
	const uint8_t *pds = pkt->head + 20 + 8;
	if (pkt->head_len < 20 + 8 + 12)
		return 0;
	return (uint16_t)(pds[10] << 8 | pds[11]);
}

static inline uint32_t wire_peek_acked_psn(const struct weft_pkt *pkt)
{
	const uint8_t *pds = pkt->head + 20 + 8;
	uint32_t cack_psn = (uint32_t)pds[4] << 24 | (uint32_t)pds[5] << 16 | (uint32_t)pds[6] << 8 | pds[7];
	return cack_psn + (uint32_t)(int16_t)(pds[2] << 8 | pds[3]);
}

/* CRC32C of the trailer over the encoded headers at `buf` and the payload: from the IP source address on (UE 1.0
 * sec. 3.5). */
uint32_t wire_crc(const uint8_t *buf, size_t header_bytes, const uint8_t *payload, size_t payload_bytes);

/* Castagnoli CRC, hardware instruction when the CPU has it. Start with 0; chains: crc32c(crc32c(0, a), b). */
uint32_t wire_crc32c(uint32_t crc, const void *data, size_t len);

#endif
