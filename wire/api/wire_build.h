/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of packets to send, written in place: wire_build_pds and wire_build_ses begin a header, the setters of
 * wire_hdr.h fill it in, wire_build_net puts the network headers in front. A packet that differs from an earlier one in
 * few fields is a patched copy of that. */
#ifndef WEFT_WIRE_BUILD_H
#define WEFT_WIRE_BUILD_H

#include <stdbool.h>

#include "likely.h"
#include "wire.h"
#include "wire_echo.h"
#include "wire_hdr.h"
#include "wire_share.h"

enum {
	WIRE_IP4_UDP_BYTES = 20 + 8, /* network headers of most packets */
	/* Headers over these of RUD_REQ with a standard request, RUD_REQ with a response with data, ACK_CC with a
	 * response. */
	WIRE_DATA_BYTES = WIRE_IP4_UDP_BYTES + sizeof(struct wire_hdr) + sizeof(struct wire_std),
	WIRE_READ_DATA_BYTES = WIRE_IP4_UDP_BYTES + sizeof(struct wire_hdr) + sizeof(struct wire_rsp_data),
	WIRE_ACK_BYTES = WIRE_IP4_UDP_BYTES + sizeof(struct wire_ack_cc) + sizeof(struct wire_rsp),
	WIRE_SHORT_ACK_BYTES = WIRE_IP4_UDP_BYTES + sizeof(struct wire_hdr),
};

/* Bytes in front of the PDS header. */
static inline uint32_t wire_net_bytes(const struct wire_net *net)
{
	return (weft_ip_is_v4(&net->src) ? 20 : 40) + (net->native ? 4 : 8);
}

/* The same of packets between hosts of one family that are wrapped so (enum wire_encap). */
static inline uint32_t wire_encap_bytes(bool is_v4, uint8_t encap)
{
	return (is_v4 ? 20 : 40) + ((encap & WIRE_ENCAP_FORM) == WIRE_ENCAP_NATIVE ? 4 : 8);
}

/* Bytes behind the payload. */
static inline uint32_t wire_trailer_bytes(uint8_t encap)
{
	return encap & WIRE_ENCAP_CRC;
}

/* Sets what depends on how packets are wrapped (enum wire_encap). */
static inline void wire_net_wrap(struct wire_net *net, uint8_t encap)
{
	static const uint16_t ports[] = {WIRE_UDP_PORT, WIRE_UDP_PORT_49150, 0};

	assert((encap & WIRE_ENCAP_FORM) <= WIRE_ENCAP_NATIVE && encap <= (WIRE_ENCAP_CRC | WIRE_ENCAP_NATIVE));
	net->dst_port = WIRE_UDP_PORT;
	net->native = net->crc = 0;
	if (likely(!encap))
		return;
	net->dst_port = ports[encap & WIRE_ENCAP_FORM];
	net->native = (encap & WIRE_ENCAP_FORM) == WIRE_ENCAP_NATIVE;
	net->crc = (encap & WIRE_ENCAP_CRC) != 0;
}

/* Writes the headers in front of `bytes` bytes of PDS and SES headers and payload, trailer not included, to `ip`. IPv4:
 * DF, id 0, TTL 64; IPv6: flow label 0; UDP checksum 0. Both addresses are of one family, and the packet is not longer
 * than its length field can say. */
void wire_build_net(uint8_t *ip, const struct wire_net *net, uint32_t bytes);

/* Begins a PDS header of a known type, all else 0. `next_hdr`: enum wire_next_hdr, of a CP its enum wire_ctl_type.
 * Returns where it ends. */
static inline uint8_t *wire_build_pds(uint8_t *pds, uint8_t type, uint8_t next_hdr, uint8_t flags)
{
	uint32_t bytes = wire_pds_bytes(type);

	assert(bytes && next_hdr < 16 && !(flags & 0x80));
	memset(pds, 0, bytes);
	wire_store(pds, 2, (uint32_t)type << 11 | (uint32_t)next_hdr << 7 | flags);
	return pds + bytes;
}

/* The same for the header of a SES form, opcode and flags (of responses the return code) of 6 bits. */
static inline uint8_t *wire_build_ses(uint8_t *ses, uint8_t next_hdr, uint8_t opcode, uint8_t flags)
{
	uint32_t bytes = wire_ses_bytes(next_hdr);

	assert(bytes && opcode < 64 && flags < 64);
	memset(ses, 0, bytes);
	ses[0] = opcode;
	ses[1] = flags;
	return ses + bytes;
}

/* A control packet. */
struct wire_control {
	uint8_t ctl;   /* enum wire_ctl_type */
	uint8_t flags; /* enum wire_flags */
	uint16_t opaque;
	uint16_t spdcid, dpdcid; /* dpdcid: 0 in a SYN, whose first PSN is `psn` */
	uint32_t psn, payload;
};

/* Builds one, and returns where it ends. */
uint8_t *wire_build_control(uint8_t *pds, const struct wire_control *c);

/* ---- patched copies, IPv4 and UDP ---- */

/* What distinguishes a data packet from its neighbours in the same message. */
struct wire_data_patch {
	uint8_t flags;        /* enum wire_flags; no SYN */
	int16_t clear_offset; /* CLEAR_PSN less PSN */
	uint32_t psn;
	uint16_t entropy;
	uint32_t message_offset; /* of the payload, bytes */
};

static inline __attribute__((always_inline)) struct wire_hdr *wire_patch(uint8_t *ip, uint16_t entropy, uint8_t type,
									 uint8_t next_hdr, uint8_t flags, uint32_t psn)
{
	struct wire_hdr *hdr = (struct wire_hdr *)(ip + WIRE_IP4_UDP_BYTES);

	assert(ip[0] == 0x45 && wire_hdr_type(hdr) == type && wire_hdr_next_hdr(hdr) == next_hdr && !(flags & 0x80));
	wire_store(ip + 20, 2, entropy);
	wire_store(&hdr->prologue.b[1], 1, (uint64_t)next_hdr << 7 | flags); /* byte 0 stays */
	wire_hdr_set_psn(hdr, psn);
	return hdr;
}

/* Turns the WIRE_DATA_BYTES of headers of one RUD_REQ with standard request into those of another of the same
 * connection, message and size: it is established (no SYN) and does not begin its message (no SOM). */
static inline __attribute__((always_inline)) void wire_patch_data(uint8_t *ip, const struct wire_data_patch *p)
{
	struct wire_hdr *hdr = wire_patch(ip, p->entropy, WIRE_PDS_RUD_REQ, WIRE_NH_STD, p->flags, p->psn);

	wire_hdr_set_clear_offset(hdr, p->clear_offset);
	wire_std_set_message_offset((struct wire_std *)(hdr + 1), p->message_offset);
}

/* The same for the WIRE_READ_DATA_BYTES of a RUD_REQ with a response with data. */
static inline __attribute__((always_inline)) void wire_patch_read_data(uint8_t *ip, const struct wire_data_patch *p)
{
	struct wire_hdr *hdr = wire_patch(ip, p->entropy, WIRE_PDS_RUD_REQ, WIRE_NH_RSP_DATA, p->flags, p->psn);

	wire_hdr_set_clear_offset(hdr, p->clear_offset);
	wire_rsp_data_set_message_offset((struct wire_rsp_data *)(hdr + 1), p->message_offset);
}

/* What distinguishes one ACK_CC of type NSCC with a response from another of the same sender. */
struct wire_ack_patch {
	uint16_t entropy;
	uint8_t flags; /* enum wire_flags; no P */
	int16_t ack_offset;
	uint32_t cack;
	uint16_t spdcid, dpdcid;
	int16_t sack_offset;
	uint64_t sack_bitmap;
	uint16_t service_time; /* 128 ns */
	uint32_t rcvd_bytes;   /* 256 bytes; 24 bits */
	uint8_t share;         /* wire_share.h, like has_room */
	bool has_room;
	uint16_t ooo_count;
	struct wire_echo echo; /* what the response repeats */
};

/* Makes the template one of ACKs or short ACKs to `dst`, an IPv4 address. */
void wire_aim_ack(uint8_t *template, const struct weft_ip *dst);

/* Whether it is one. */
static inline __attribute__((always_inline)) bool wire_ack_is_to(const uint8_t *template, const struct weft_ip *dst)
{
	return memcmp(template + 16, dst->b + 12, 4) == 0;
}

/* What every ACK says of its packet and its connection. */
static inline __attribute__((always_inline)) void wire_patch_ack(struct wire_hdr *hdr, int16_t ack_offset,
								 uint16_t spdcid, uint16_t dpdcid)
{
	wire_hdr_set_ack_offset(hdr, ack_offset);
	wire_hdr_set_spdcid(hdr, spdcid);
	wire_hdr_set_dpdcid(hdr, dpdcid);
}

/* Makes an ACK of a template of an ACK_CC of type NSCC with a response over IPv4 and UDP, with the addresses, the
 * response's other fields, and mpr as they shall be, and 0 elsewhere. Both have WIRE_ACK_BYTES. */
static inline __attribute__((always_inline)) void wire_fill_ack(uint8_t *ip, const uint8_t *template,
								const struct wire_ack_patch *p)
{
	memcpy(ip, template, WIRE_ACK_BYTES);
	struct wire_hdr *hdr = wire_patch(ip, p->entropy, WIRE_PDS_ACK_CC, WIRE_NH_RSP, p->flags, p->cack);
	struct wire_ack_cc *ack = (struct wire_ack_cc *)hdr;
	struct wire_rsp *rsp = (struct wire_rsp *)(ack + 1);

	assert(!(p->flags & WIRE_F_ACK_P) && p->rcvd_bytes >> 24 == 0);
	wire_patch_ack(hdr, p->ack_offset, p->spdcid, p->dpdcid);
	wire_ack_cc_set_sack_offset(ack, p->sack_offset);
	wire_ack_cc_set_sack_bitmap(ack, p->sack_bitmap);
	wire_ack_cc_set_cc_flags(ack, p->has_room ? WIRE_SHARE_FLAG_ROOM : 0);
	wire_ack_cc_set_service_time(ack, p->service_time);
	wire_store(&ack->penalty_rcvd, sizeof ack->penalty_rcvd, (uint32_t)p->share << 24 | p->rcvd_bytes);
	wire_ack_cc_set_ooo_count(ack, p->ooo_count);
	wire_rsp_repeat(rsp, &p->echo);
}

/* What distinguishes one ACK without congestion state and response from another of the same sender; as above. */
struct wire_short_ack_patch {
	uint16_t entropy;
	uint8_t flags;
	int16_t ack_offset;
	uint32_t cack;
	uint16_t spdcid, dpdcid;
};

/* The same as wire_fill_ack for these. Both have WIRE_SHORT_ACK_BYTES. */
static inline __attribute__((always_inline)) void wire_fill_short_ack(uint8_t *ip, const uint8_t *template,
								      const struct wire_short_ack_patch *p)
{
	memcpy(ip, template, WIRE_SHORT_ACK_BYTES);
	struct wire_hdr *hdr = wire_patch(ip, p->entropy, WIRE_PDS_ACK, WIRE_NH_NONE, p->flags, p->cack);

	assert(!(p->flags & WIRE_F_ACK_P));
	wire_patch_ack(hdr, p->ack_offset, p->spdcid, p->dpdcid);
}

#endif
