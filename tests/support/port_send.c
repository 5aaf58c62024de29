/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_send.h"

#include <assert.h>

bool port_send(struct weft_port *port, const struct plain_pkt *w, const uint8_t *payload)
{
	struct weft_pkt *pkt;
	if (port->ops->alloc(port, &pkt, 1) != 1)
		return false;
	pkt->head_len = (uint16_t)plain_encode(w, pkt->head);
	assert(pkt->head_len > 0); /* aborts: the caller may be a process that a test forked */
	pkt->payload = payload;
	pkt->payload_len = w->payload_bytes;
	if (port->ops->tx(port, &pkt, 1) == 1)
		return true;
	port->ops->free(port, &pkt, 1);
	return false;
}

struct plain_pkt port_data_pkt(uint32_t src, uint32_t dst, uint16_t entropy, uint32_t psn, uint16_t payload_bytes)
{
	return (struct plain_pkt){
		.net = {.src = weft_ip_v4(src),
			.dst = weft_ip_v4(dst),
			.entropy = entropy,
			.dst_port = WIRE_UDP_PORT,
			.dscp = WIRE_DSCP_TRIMMABLE,
			.ecn = WEFT_ECN_ECT0},
		.pds = {.type = WIRE_PDS_RUD_REQ, .next_hdr = WIRE_NH_STD, .psn = psn},
		.ses = {.opcode = WIRE_OP_SEND, .flags = WIRE_SES_SOM | WIRE_SES_EOM, .request_length = payload_bytes},
		.payload_bytes = payload_bytes,
	};
}
