/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of the scripted peer: connections, requests, waiting for answers. */
#include "conform.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	TRIES = 3,
	PAYLOAD_MAX = 8192,
	TOS_DATA = 2, /* best effort, ECT(0) */
	TOS_CONTROL = 46 << 2,
	PSN_STEP = 1 << 17, /* Start_PSNs are at least 2^16 apart */
	ENTROPY_FACTOR = 40503,
};

void conform_peer_init(struct conform_peer *p, const struct conform_io *io, const struct uet_link *link,
		       const struct conform_target *target)
{
	*p = (struct conform_peer){.io = *io, .link = *link, .target = *target};
	p->pdcid = 1 + target->seed % 60000;
	p->psn = 1000 + target->seed * 7919;
	p->message = 1;
}

enum conform_result conform_say(struct conform_peer *p, const char *format, ...)
{
	va_list args;

	if (!p->said[0]) {
		va_start(args, format);
		vsnprintf(p->said, sizeof p->said, format, args);
		va_end(args);
	}
	return CONFORM_DEPARTS;
}

void conform_open(struct conform_peer *p, struct conform_pdc *pdc, uint8_t type)
{
	*pdc = (struct conform_pdc){.type = type, .spdcid = (uint16_t)p->pdcid, .start = p->psn, .psn = p->psn};
	p->pdcid = p->pdcid % UINT16_MAX + 1;
	p->psn += PSN_STEP;
}

uint8_t conform_byte(uint32_t id, uint64_t i)
{
	return (uint8_t)(id * 7 + i * 31 + (i >> 8) * 3);
}

/* Common to requests and control packets with a PSN. */
static struct uet_pkt numbered(struct conform_pdc *pdc, uint8_t type, uint32_t psn)
{
	struct uet_pkt pkt = {.payload = NULL};

	pkt.f[UET_TYPE] = type;
	pkt.f[UET_PSN] = psn;
	pkt.f[UET_SPDCID] = pdc->spdcid;
	pkt.f[UET_DPDCID] = pdc->dpdcid ? pdc->dpdcid : psn - pdc->start;
	pkt.f[UET_FLAGS] = pdc->dpdcid ? 0 : UET_SYN;
	return pkt;
}

struct uet_pkt conform_request(struct conform_peer *p, struct conform_pdc *pdc, enum uet_op op, uint32_t bytes)
{
	struct uet_pkt pkt = numbered(pdc, pdc->type, pdc->psn++);

	pkt.f[UET_NEXT] = UET_STANDARD;
	pkt.f[UET_CLEAR_OFFSET] = (uint16_t)-1;
	pkt.f[UET_OPCODE] = op;
	pkt.f[UET_SES_FLAGS] = UET_REL | UET_SOM | UET_EOM;
	pkt.f[UET_MESSAGE] = p->message;
	p->message = p->message % UINT16_MAX + 1;
	pkt.f[UET_JOB] = p->target.job;
	pkt.f[UET_PID] = p->target.pid;
	pkt.f[UET_INDEX] = p->target.index;
	pkt.f[UET_INITIATOR] = p->target.initiator;
	pkt.f[UET_MATCH] = op == UET_TSEND || op == UET_DEFER_TSEND ? p->target.tag : 0;
	pkt.f[UET_REQUEST_LENGTH] = bytes;
	pkt.payload_bytes = bytes;
	return pkt;
}

struct uet_pkt conform_control(struct conform_peer *p, struct conform_pdc *pdc, enum uet_ctl ctl)
{
	bool counts = ctl == UET_NOOP || ctl == UET_CLOSE_CMD || ctl == UET_CLOSE_REQ || ctl == UET_NEGOTIATION;
	struct uet_pkt pkt = numbered(pdc, UET_CP, counts ? pdc->psn++ : 0);

	(void)p;
	pkt.f[UET_NEXT] = ctl;
	if (pdc->type == UET_ROD_REQ && (ctl == UET_NOOP || ctl == UET_NEGOTIATION))
		pkt.f[UET_FLAGS] |= UET_M; /* ISROD has the same bit */
	return pkt;
}

void conform_send(struct conform_peer *p, struct conform_pdc *pdc, const struct uet_pkt *pkt)
{
	uint8_t ip[UET_PACKET_MAX], payload[PAYLOAD_MAX];
	struct uet_pkt full = *pkt;
	bool control = pkt->f[UET_TYPE] == UET_CP || (pkt->f[UET_TYPE] >= UET_ACK && pkt->f[UET_TYPE] <= UET_NACK);

	pdc->entropy = (uint16_t)((pkt->f[UET_PSN] + 1) * ENTROPY_FACTOR);
	if (full.payload == NULL && full.payload_bytes <= PAYLOAD_MAX) {
		uint64_t at = pkt->f[UET_SES_FLAGS] & UET_SOM ? 0 : pkt->f[UET_MESSAGE_OFFSET];
		for (uint32_t i = 0; i < full.payload_bytes; i++)
			payload[i] = conform_byte((uint32_t)pkt->f[UET_MESSAGE], at + i);
		full.payload = payload;
	}
	uint8_t data_tos = p->link.data_tos ? p->link.data_tos : TOS_DATA;
	size_t len = uet_wrap(&p->link, pdc->entropy, control ? TOS_CONTROL : data_tos, &full, ip);
	if (len && !p->io.send(p->io.arg, ip, len))
		conform_say(p, "a packet of %zu bytes could not be sent", len);
}

bool conform_wait(struct conform_peer *p, uint64_t *left_ns)
{
	size_t len;

	while ((len = p->io.receive(p->io.arg, p->packet, sizeof p->packet, left_ns)))
		if (uet_unwrap(&p->link, p->packet, len, &p->got))
			return true;
	return false;
}

bool conform_next(struct conform_peer *p, uint64_t timeout_ns)
{
	return conform_wait(p, &timeout_ns);
}

bool conform_answers(const struct conform_peer *p, const struct conform_pdc *pdc, const struct uet_pkt *pkt)
{
	const struct uet_pkt *a = &p->got.pkt;
	uint64_t type = a->f[UET_TYPE];
	bool ack = type == UET_ACK || type == UET_ACK_CC || type == UET_ACK_CCX;

	if (a->f[UET_DPDCID] != pdc->spdcid || (!ack && type != UET_NACK && type != UET_NACK_CCX))
		return false;
	if (!ack)
		return a->f[UET_PSN] == pkt->f[UET_PSN];
	if (pkt->f[UET_TYPE] == UET_CP && pkt->f[UET_NEXT] == UET_PROBE)
		return a->f[UET_FLAGS] & UET_P && a->f[UET_ACK_OFFSET] == pkt->f[UET_OPAQUE];
	uint32_t psn = (uint32_t)a->f[UET_CACK] + (uint32_t)uet_signed(a, UET_ACK_OFFSET);
	return !(a->f[UET_FLAGS] & UET_P) && psn == pkt->f[UET_PSN];
}

bool conform_ask(struct conform_peer *p, struct conform_pdc *pdc, struct uet_pkt *pkt)
{
	pkt->f[UET_FLAGS] |= UET_AR;
	for (int i = 0; i < TRIES; i++) {
		uint64_t left_ns = p->target.timeout_ns;
		p->repeated = i > 0;
		conform_send(p, pdc, pkt);
		while (conform_wait(p, &left_ns))
			if (conform_answers(p, pdc, pkt))
				return true;
		pkt->f[UET_FLAGS] |= UET_RETX;
	}
	return false;
}

void conform_clear(struct conform_peer *p, struct conform_pdc *pdc)
{
	struct uet_pkt pkt = conform_control(p, pdc, UET_CLEAR_CMD);

	pkt.f[UET_CP_PAYLOAD] = pdc->psn - 1;
	conform_send(p, pdc, &pkt);
}
