/* SPDX-License-Identifier: BSD-3-Clause */
/* How long packets are on the link. */
#include "lab_config.h"
#include "wire.h"

/* Size on the link of a packet with these headers: the encoder knows. */
static uint32_t wire_bytes(const struct lab_config *c, struct wire_pkt *p)
{
	uint8_t head[WEFT_PKT_HEAD_MAX];
	p->net.src = p->net.dst = weft_ip_v4(weft_net_host_ip(0));
	p->net.dst_port = WIRE_UDP_PORT;
	size_t bytes = wire_encode(p, head) + p->payload_bytes + (c->engine.crc ? 4 : 0) + WEFT_L1_OVERHEAD_BYTES;
	return bytes < WEFT_WIRE_MIN_BYTES ? WEFT_WIRE_MIN_BYTES : (uint32_t)bytes;
}

uint32_t lab_data_wire_bytes(const struct lab_config *c, uint32_t payload)
{
	struct wire_pkt p = {.pds = {.type = c->rcc ? WIRE_PDS_RUD_CC_REQ : WIRE_PDS_RUD_REQ, .next_hdr = WIRE_NH_STD},
			     .ses = {.opcode = WIRE_OP_TAGGED_SEND, .flags = WIRE_SES_SOM},
			     .payload_bytes = (uint16_t)payload};
	return wire_bytes(c, &p);
}

uint32_t lab_ack_wire_bytes(const struct lab_config *c)
{
	struct wire_pkt p = {.pds = {.type = WIRE_PDS_ACK_CC, .next_hdr = WIRE_NH_RSP},
			     .ses = {.opcode = WIRE_RSP_DEFAULT}};
	return wire_bytes(c, &p);
}
