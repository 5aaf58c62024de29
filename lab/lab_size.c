/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of packets on the link. */
#include "lab_config.h"
#include "wire_build.h"

/* A packet with these headers over IPv4 and UDP. */
static uint32_t wire_bytes(const struct lab_config *c, uint8_t pds_type, uint8_t next_hdr, uint32_t payload)
{
	uint32_t head = WIRE_IP4_UDP_BYTES + wire_pds_bytes(pds_type) + wire_ses_bytes(next_hdr);
	uint32_t bytes = head + payload + (c->engine.crc ? 4 : 0) + WEFT_L1_OVERHEAD_BYTES;
	return bytes < WEFT_WIRE_MIN_BYTES ? WEFT_WIRE_MIN_BYTES : bytes;
}

uint32_t lab_data_wire_bytes(const struct lab_config *c, uint32_t payload)
{
	return wire_bytes(c, c->rcc ? WIRE_PDS_RUD_CC_REQ : WIRE_PDS_RUD_REQ, WIRE_NH_STD, payload);
}

uint32_t lab_ack_wire_bytes(const struct lab_config *c)
{
	return wire_bytes(c, WIRE_PDS_ACK_CC, WIRE_NH_RSP, 0);
}
