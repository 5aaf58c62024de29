/* SPDX-License-Identifier: BSD-3-Clause */
/* UET headers (PDS, SES) over UDP over IPv4 or IPv6: their numbers, and what switches do to packets. No state, no I/O.
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
	WIRE_NACK_EXP_NORMAL = 0xfd, /* experiments, by class */
	WIRE_NACK_EXP_ERROR = 0xfe,
	WIRE_NACK_EXP_FATAL = 0xff,
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
	WIRE_OP_WITHDRAW = 0x30, /* vendor space: ours; every target refuses it (UNSUPPORTED_OP) */
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

/* How packets between two hosts are wrapped: what is between the IP and the PDS header, and whether a trailer follows
 * the payload. A form, and WIRE_ENCAP_CRC or not. */
enum wire_encap {
	WIRE_ENCAP_UDP = 0,       /* UDP port 4793 */
	WIRE_ENCAP_UDP_49150 = 1, /* UDP port 49150 */
	WIRE_ENCAP_NATIVE = 2,    /* IP protocol 253 and an entropy header of 4 bytes */
	WIRE_ENCAP_FORM = 3,      /* the bits of these */
	WIRE_ENCAP_CRC = 4,       /* a CRC32C follows the payload */
};

/* What the network headers of a packet to send say. */
struct wire_net {
	struct weft_ip src, dst;
	uint16_t dst_port; /* UDP destination port; 0 when native */
	uint16_t entropy;  /* UDP source port */
	uint8_t dscp;      /* 6 */
	uint8_t ecn;       /* 2, enum weft_ecn */
	uint8_t native;    /* no UDP header: IP protocol 253 and a 4-byte entropy header */
	uint8_t crc;       /* a CRC32C trailer follows the payload */
};

/* What wire_check found wrong; weft counters are named after these. 0 is success. */
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

/* What a NACK asks the source of the packet to do. */
enum wire_nack_action {
	WIRE_NACK_DO_NOTHING,        /* no meaning, or reserved */
	WIRE_NACK_DO_RESEND_TRIMMED, /* as soon as the window allows; congestion */
	WIRE_NACK_DO_RESEND_LOST,    /* likewise; the packet was lost */
	WIRE_NACK_DO_RESEND,         /* at once */
	WIRE_NACK_DO_RESEND_LATER,   /* the target lacks something */
	WIRE_NACK_DO_GO_BACK,        /* to the first packet not acknowledged (ROD) */
	WIRE_NACK_DO_WAIT,           /* it has arrived, and is being worked on */
	WIRE_NACK_DO_RENUMBER,       /* begin with the Start_PSN in the NACK's payload */
	WIRE_NACK_DO_RESTART,        /* close the connection; what it was about may go over a new one */
	WIRE_NACK_DO_FAIL,           /* close the connection; what it was about has failed */
};
enum wire_nack_action wire_nack_action(uint8_t code);

const char *wire_op_name(uint8_t opcode);
const char *wire_rsp_name(uint8_t opcode);
const char *wire_rc_name(uint8_t return_code);

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

/* The trailer (weft_pkt.trailer) of the encoded headers at `buf` and the payload: a CRC32C from the IP source address
 * on (UE 1.0 sec. 3.5), whose most significant byte goes first. */
uint32_t wire_crc(const uint8_t *buf, size_t header_bytes, const uint8_t *payload, size_t payload_bytes);

/* Castagnoli CRC, by the CPU's instructions where it has them. Start with 0; chains: crc32c(crc32c(0, a), b). */
uint32_t wire_crc32c(uint32_t crc, const void *data, size_t len);
/* The same without such instructions. */
uint32_t wire_crc32c_portable(uint32_t crc, const void *data, size_t len);

#endif
