/* SPDX-License-Identifier: BSD-3-Clause */
/* What switches see of a packet and do to it: addresses, class, ECN, trimming. All that a fabric knows of the wire. */
#ifndef WEFT_WIRE_PEEK_H
#define WEFT_WIRE_PEEK_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/spi/pkt.h"

enum {
	WIRE_UDP_PORT = 4793,
	WIRE_UDP_PORT_49150 = 49150, /* in use before the assignment of the other; some endpoints still send to it */
};

/* DSCP code points of the classes; operators configure switches to match (doc/reference/protocol.md). */
enum wire_dscp {
	WIRE_DSCP_TRIMMABLE = 8,
	WIRE_DSCP_ORDERED = 10,     /* trimmable, too; of connections on one path where switches tell these apart */
	WIRE_DSCP_UNSCHEDULED = 12, /* trimmable; dropped or trimmed first, for no credit called for it */
	WIRE_DSCP_TRIMMED = 16,
	WIRE_DSCP_TRIMMED_LASTHOP = 18,
	/* Credits whose losses in the switches are meant (SprayPass, ExpressPass); ECN-capable. */
	WIRE_DSCP_CREDIT = 40,
	WIRE_DSCP_CONTROL = 46
};

/* The class of what a sender gives this code point, as weft_pkt flags: credits are control where no queue is kept for
 * them. */
static inline uint8_t wire_class_flags(uint8_t dscp)
{
	if (dscp == WIRE_DSCP_CREDIT)
		return WEFT_PKT_CONTROL | WEFT_PKT_CREDIT;
	return dscp == WIRE_DSCP_CONTROL ? WEFT_PKT_CONTROL : 0;
}

/* Fills pkt->src, dst, entropy, ecn, dscp, wire_bytes and flags (but for WEFT_PKT_TRAILER) from the bytes at pkt->head;
 * what a switch can see. Never reads beyond head_len. False: not a packet of ours (no IPv4/IPv6 + UDP or entropy
 * header; options, fragments); dst, src, ecn and dscp are still set when there is an IP header, otherwise 0. */
bool wire_peek(struct weft_pkt *pkt);

/* What switches do, on the bytes at pkt->head, keeping pkt's fields in step; no-op without an IP header. */

/* Sets ECN CE, fixes the IPv4 checksum. That the packet is ECN-capable is the caller's to know. */
void wire_mark_ce(struct weft_pkt *pkt);

/* Drops payload and trailer, keeps all headers; DSCP TRIMMED(_LASTHOP), new IP length and checksum, ECN and UDP length
 * as they are. */
void wire_trim(struct weft_pkt *pkt, bool last_hop);

#endif
