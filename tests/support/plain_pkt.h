/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets as plain structs, which tests fill in, look at and compare. All reading and writing goes through wire's
 * check, accessors and builders. */
#ifndef WEFT_TEST_PLAIN_PKT_H
#define WEFT_TEST_PLAIN_PKT_H

#include "wire_check.h"

/* PDS header of any type; which fields are meaningful depends on `type`, the rest is 0. */
struct plain_pds {
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
struct plain_ses {
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

struct plain_pkt {
	struct wire_net net;
	struct plain_pds pds;
	struct plain_ses ses;
	uint16_t header_bytes;  /* IP header to the end of SES and extension */
	uint16_t payload_bytes; /* bytes after them, without trailer. Trimmed: 0 */
	uint8_t trimmed;        /* DSCP says a switch trimmed it; SES may be incomplete then (has_ses 0) */
	uint8_t has_ses;        /* ses is filled in, otherwise its contents mean nothing. Encode goes by next_hdr */
};

/* All fields of a packet that was checked by `rules`. */
void plain_of(const struct wire_view *v, const struct wire_rules *rules, struct plain_pkt *p);

/* wire_check with rules of these. */
enum wire_error plain_decode(const uint8_t *buf, size_t len, size_t more, uint16_t udp_port, bool require_crc,
			     struct plain_pkt *p);

/* Builds all headers of `p`, at most WEFT_PKT_HEAD_MAX bytes, with lengths for `p->payload_bytes` (and a trailer if
 * p->net.crc). Returns their bytes, 0 when a field does not fit its width, the type or form is unknown, the packet
 * would be too long or the two addresses are of different families. */
size_t plain_encode(const struct plain_pkt *p, uint8_t *buf);

#endif
