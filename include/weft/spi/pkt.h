/* SPDX-License-Identifier: BSD-3-Clause */
/* The packet: one cache line of metadata. Under DPDK it is the mbuf's private area, in the lab a slab element. */
#ifndef WEFT_PKT_H
#define WEFT_PKT_H

#include <stdint.h>

#include "weft/decl.h"
#include "weft/time.h"

WEFT_BEGIN_DECLS

enum {
	/* Bytes of header room behind `head`: IPv6 40 + UDP 8 + PDS 40 + SES 44 + extension 36. */
	WEFT_PKT_HEAD_MAX = 192,
	WEFT_L1_OVERHEAD_BYTES = 38, /* Ethernet header 14, FCS 4, preamble and gap 20 */
	WEFT_WIRE_MIN_BYTES = 84,    /* a minimum Ethernet frame with preamble and gap */
};

enum weft_ecn { WEFT_ECN_NOT = 0, WEFT_ECN_ECT1 = 1, WEFT_ECN_ECT0 = 2, WEFT_ECN_CE = 3 };

enum weft_pkt_flags {
	WEFT_PKT_TRAILER = 1, /* `trailer` holds a CRC32C that follows the payload on the wire */
	WEFT_PKT_CONTROL = 2, /* strict-priority class: ACK, NACK, control packets, trimmed data */
	WEFT_PKT_TRIMMED = 4, /* a switch removed the payload */
	WEFT_PKT_CREDIT = 8,  /* with WEFT_PKT_CONTROL: for the credit queue of a port that has one; set by DSCP */
};

/* Owner: exactly one at a time (doc/reference/ownership.md). The owner may use `next` for its lists. */
struct weft_pkt {
	struct weft_pkt *next; /* owner's list link */
	uint8_t *head; /* first byte of the IP header; at least WEFT_PKT_HEAD_MAX bytes of room when allocated */
	const uint8_t *payload; /* tx: the sender's memory, valid until tx() took the packet; rx: see head_len; NULL:
				   length only */
	void *port_data;        /* for the port that allocated the packet, nobody else */
	union {
		weft_ns arrived_ns; /* rx: when the port received the packet; tx: unused */
		union {
			weft_ps queued_ps;       /* in a port's data queue: when it joined */
			weft_ps next_arrival_ps; /* on a link: when the packet behind it arrives */
		} fabric;
	};
	uint32_t src; /* low 32 bits of the source address, host order */
	uint32_t dst; /* low 32 bits of the destination address, host order */
	union {
		uint32_t trailer; /* tx: the last four bytes on the wire, stored little endian; see WEFT_PKT_TRAILER */
		uint32_t fabric_ingress; /* in a fabric with PFC: the port whose link the packet came over */
	};
	uint16_t wire_bytes;  /* on the link: IP length + WEFT_L1_OVERHEAD_BYTES, at least WEFT_WIRE_MIN_BYTES */
	uint16_t head_len;    /* contiguous bytes at `head`. rx: may include the payload (then payload_len is 0) */
	uint16_t payload_len; /* bytes that follow `head_len` bytes, at `payload` */
	uint16_t entropy;     /* UDP source port */
	uint8_t ecn;          /* enum weft_ecn, as in the IP header */
	uint8_t dscp;         /* as in the IP header */
	uint8_t flags;        /* enum weft_pkt_flags */
	uint8_t reserved;     /* 0 */
};

WEFT_STATIC_ASSERT(sizeof(struct weft_pkt) == 64, "one cache line");

WEFT_END_DECLS

#endif
