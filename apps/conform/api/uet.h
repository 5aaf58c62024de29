/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of Ultra Ethernet Transport, written and read from one table of bit positions. It shares nothing with the
 * transport's own headers, so that a mistake in one of them shows in the other. */
#ifndef WEFT_CONFORM_UET_H
#define WEFT_CONFORM_UET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uet_field {
	UET_TYPE,
	UET_NEXT, /* next header; control packets: their type */
	UET_FLAGS,
	UET_CLEAR_OFFSET, /* 16 bits, two's complement, as all offsets */
	UET_PSN,          /* RUDI: packet id; NACK: the refused packet */
	UET_ACK_OFFSET,   /* with flag P: the probe's opaque value */
	UET_CACK,
	UET_SPDCID,
	UET_DPDCID, /* with SYN: offset from Start_PSN */
	UET_NACK_CODE,
	UET_NACK_VENDOR,
	UET_NACK_PAYLOAD,
	UET_OPAQUE,
	UET_CP_PAYLOAD,
	UET_CC_TYPE,
	UET_CC_FLAGS,
	UET_MPR,
	UET_SACK_OFFSET,
	UET_SACK,
	UET_CC_STATE,
	UET_CCC_ID,
	UET_CREDIT,
	UET_OPCODE,
	UET_VERSION,
	UET_SES_FLAGS,
	UET_MESSAGE,
	UET_SHORT_LENGTH, /* request or payload length of small and medium headers */
	UET_GENERATION,
	UET_JOB,
	UET_PID,
	UET_INDEX,
	UET_BUFFER_OFFSET, /* deferrable sends: two tokens */
	UET_INITIATOR,
	UET_MATCH,          /* match bits or key */
	UET_HEADER_DATA,    /* whole 64 bits; without SOM they hold the next two */
	UET_PAYLOAD_LENGTH, /* 14 bits */
	UET_MESSAGE_OFFSET,
	UET_REQUEST_LENGTH,
	UET_LIST,
	UET_RSP_OPCODE,
	UET_RETURN_CODE,
	UET_MODIFIED_LENGTH,
	UET_READ_MESSAGE,
	UET_ORIGINAL_PSN,
	UET_FIELDS
};

enum uet_type {
	UET_RUD_REQ = 2,
	UET_ROD_REQ,
	UET_RUDI_REQ,
	UET_RUDI_RESP,
	UET_UUD_REQ,
	UET_ACK,
	UET_ACK_CC,
	UET_ACK_CCX,
	UET_NACK,
	UET_CP,
	UET_NACK_CCX,
	UET_RUD_CC_REQ,
	UET_ROD_CC_REQ
};
enum uet_next { UET_NONE, UET_SMALL, UET_MEDIUM, UET_STANDARD, UET_RSP, UET_RSP_DATA, UET_RSP_SMALL };
enum uet_flag { UET_CLEAR = 0x02, UET_SYN = 0x04, UET_AR = 0x08, UET_P = 0x08, UET_RETX = 0x10, UET_M = 0x20 };
enum uet_ctl {
	UET_NOOP,
	UET_ACK_REQ,
	UET_CLEAR_CMD,
	UET_CLEAR_REQ,
	UET_CLOSE_CMD,
	UET_CLOSE_REQ,
	UET_PROBE,
	UET_CREDIT_CMD,
	UET_CREDIT_REQ,
	UET_NEGOTIATION
};
enum uet_ses_flag { UET_SOM = 1, UET_EOM = 2, UET_HD = 4, UET_REL = 8, UET_IE = 16, UET_DC = 32 };
enum uet_op {
	UET_NO_OP,
	UET_WRITE,
	UET_READ,
	UET_ATOMIC,
	UET_FETCH_ATOMIC,
	UET_SEND,
	UET_RNDV_SEND,
	UET_DATAGRAM_SEND,
	UET_DEFER_SEND,
	UET_TSEND,
	UET_RNDV_TSEND,
	UET_DEFER_TSEND,
	UET_MSG_ERROR = 15,
	UET_OP_RESERVED = 0x20
};
enum uet_rsp_op { UET_DEFAULT, UET_RESPONSE, UET_RESPONSE_DATA };
enum uet_rc {
	UET_RC_NULL = 0x00,
	UET_RC_OK = 0x01,
	UET_RC_UNSUPPORTED_OP = 0x06,
	UET_RC_AT_OUT_OF_RANGE = 0x0c,
	UET_RC_PERM_VIOLATION = 0x17,
	UET_RC_BAD_INDEX = 0x19,
	UET_RC_BAD_PID = 0x1a,
	UET_RC_BAD_JOB_ID = 0x1b,
	UET_RC_BAD_MKEY = 0x1c,
	UET_RC_UNDELIVERABLE = 0x1f,
	UET_RC_UNCOR = 0x20,
	UET_RC_INITIATOR_ERROR = 0x23
};
enum uet_nack {
	UET_NACK_TRIMMED = 0x01,
	UET_NACK_OUT_OF_WINDOW = 0x0b,
	UET_NACK_ROD_OOO = 0x0d,
	UET_NACK_INV_DPDCID = 0x0e,
	UET_NACK_HDR_MISMATCH = 0x0f,
	UET_NACK_INVALID_SYN = 0x15,
	UET_NACK_MODE_MISMATCH = 0x16
};
enum { UET_PORT = 4793, UET_PORT_OLD = 49150, UET_PROTOCOL = 253, UET_HEADERS_MAX = 128, UET_PACKET_MAX = 10240 };

/* A packet: the fields its headers have (the others are 0), and what follows them. */
struct uet_pkt {
	uint64_t f[UET_FIELDS];
	const uint8_t *payload; /* the caller's, or in the bytes that were read */
	uint32_t payload_bytes;
};

/* A field's name in messages. */
const char *uet_field_name(enum uet_field field);

/* Bytes of both headers that type and next header ask for; 0: no such header. */
size_t uet_header_bytes(const struct uet_pkt *pkt);

/* Writes headers and payload to `out`, which has room for UET_PACKET_MAX bytes. Returns their number, 0 when a header
 * is unknown. */
size_t uet_write(const struct uet_pkt *pkt, uint8_t *out);

/* Reads `len` bytes. False: too short or a header that does not exist. */
bool uet_read(const uint8_t *bytes, size_t len, struct uet_pkt *pkt);

/* Whether each reserved bit of the headers is 0. `bytes` was read into `pkt`. */
bool uet_reserved_clear(const struct uet_pkt *pkt, const uint8_t *bytes);

/* The first field whose values differ, without those whose bit is set in `ignored`; UET_FIELDS: none. */
enum uet_field uet_difference(const struct uet_pkt *a, const struct uet_pkt *b, uint64_t ignored);

/* A 16 bit offset with its sign. */
int32_t uet_signed(const struct uet_pkt *pkt, enum uet_field field);

/* ---- around it ---- */

enum uet_encap { UET_NATIVE, UET_UDP };

/* Two hosts and how packets between them are wrapped. IPv4 addresses are the first 4 bytes. */
struct uet_link {
	uint8_t local[16], remote[16];
	bool v6, crc; /* crc: packets end in CRC32C */
	enum uet_encap encap;
	uint16_t udp_port; /* to both: packets to others than this, 4793 and 49150 are no UET */
	uint8_t data_tos;  /* DSCP and ECN of requests; 0: best effort, ECT(0) */
	size_t cut;        /* for packets with faults: so many bytes are missing at the end; 0: none */
};

/* A packet from the network. */
struct uet_frame {
	struct uet_pkt pkt;
	enum uet_encap encap;
	uint16_t udp_port, entropy, udp_checksum;
	uint8_t tos; /* DSCP and ECN */
	bool crc_ok; /* true without a trailer, too */
	bool reserved_clear;
};

/* Writes the IP packet from local to remote. Returns its bytes, 0 as uet_write. */
size_t uet_wrap(const struct uet_link *link, uint16_t entropy, uint8_t tos, const struct uet_pkt *pkt, uint8_t *ip);

/* Reads an IP packet from remote to local, whatever its encapsulation. False: it is no UET between these two. */
bool uet_unwrap(const struct uet_link *link, const uint8_t *ip, size_t len, struct uet_frame *frame);

/* CRC32C, reflected, all ones before and after; bit by bit. */
uint32_t uet_crc(const uint8_t *bytes, size_t len);

#endif
