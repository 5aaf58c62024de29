/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_peer.h"

#include "cmocka_all.h"

#include <string.h>

enum {
	QUIET_NS = 3000000,
	TICK_NS = 20000,
	RETRANSMIT_NS = 200000,
	WINDOW = 64,
	ACK_DATA_BYTES = 16,
	FIRST_PDCID = 700,
	TOS_CONTROL = 46 << 2,
	ECN_MASK = 3,
	ECT0 = 2,
};

void base_open(struct base_peer *bp, struct engine_box *b)
{
	*bp = (struct base_peer){.box = b};
	box_peer(b, &bp->p);
}

static void reply(struct base_peer *bp, const struct uet_pkt *pkt)
{
	uint8_t ip[UET_PACKET_MAX];
	size_t len = uet_wrap(&bp->p.link, bp->p.got.entropy, TOS_CONTROL, pkt, ip);

	assert_true(len > 0);
	bp->p.io.send(bp->p.io.arg, ip, len);
}

/* ---- what the engine sends, field by field ---- */

static void judge(struct base_peer *bp, bool fine, const char *what)
{
	if (!fine)
		conform_say(&bp->p, "%s: type %u, opcode %u, message %u, PSN %u", what,
			    (unsigned)bp->p.got.pkt.f[UET_TYPE], (unsigned)bp->p.got.pkt.f[UET_OPCODE],
			    (unsigned)bp->p.got.pkt.f[UET_MESSAGE], (unsigned)bp->p.got.pkt.f[UET_PSN]);
}

static void judge_outside(struct base_peer *bp)
{
	const struct uet_frame *got = &bp->p.got;

	judge(bp, got->encap == bp->p.link.encap, "encapsulation");
	judge(bp, got->encap != UET_UDP || (got->udp_port == UET_PORT && got->udp_checksum == 0), "UDP header");
	judge(bp, got->crc_ok, "trailer");
	judge(bp, got->reserved_clear, "reserved bits");
}

static void judge_place(struct base_peer *bp, const struct uet_pkt *r)
{
	uint32_t mtu = bp->p.target.mtu, length = (uint32_t)r->f[UET_REQUEST_LENGTH];
	bool som = r->f[UET_SES_FLAGS] & UET_SOM, eom = r->f[UET_SES_FLAGS] & UET_EOM;
	uint32_t at = som ? 0 : (uint32_t)r->f[UET_MESSAGE_OFFSET], rest = length - at;
	uint32_t here = rest < mtu ? rest : mtu;

	judge(bp, som || at % mtu == 0, "message_offset is no multiple of the Payload MTU");
	judge(bp, at <= length && eom == (rest <= mtu), "EOM");
	judge(bp, som || r->f[UET_PAYLOAD_LENGTH] == here, "payload_length");
	judge(bp, r->payload_bytes == (r->f[UET_OPCODE] == UET_READ ? 0 : here), "payload");
	judge(bp, !som || r->f[UET_SES_FLAGS] & UET_HD || r->f[UET_HEADER_DATA] == 0, "header_data without HD");
}

static void judge_request(struct base_peer *bp, const struct uet_pkt *r)
{
	uint64_t op = r->f[UET_OPCODE];

	judge(bp, r->f[UET_NEXT] == UET_STANDARD, "next header");
	judge(bp, (bp->p.got.tos & ECN_MASK) == ECT0, "ECN of data");
	judge(bp, !(r->f[UET_FLAGS] & ~(uint64_t)(UET_RETX | UET_AR | UET_SYN)), "flags");
	judge(bp, uet_signed(r, UET_CLEAR_OFFSET) < 0, "clear_psn_offset");
	judge(bp, op == UET_SEND || op == UET_TSEND || op == UET_WRITE || op == UET_READ, "opcode");
	judge(bp, r->f[UET_VERSION] == 0 && r->f[UET_GENERATION] == 0, "version and generation");
	judge(bp, r->f[UET_SES_FLAGS] & UET_REL && !(r->f[UET_SES_FLAGS] & UET_IE), "SES flags");
	judge(bp, r->f[UET_MESSAGE] != 0, "message id");
	judge(bp, r->f[UET_JOB] == BOX_JOB, "job id");
	judge(bp, r->f[UET_PID] == BOX_PEER_NUMBER >> 4 || r->f[UET_PID] == 0, "PIDonFEP");
	judge(bp, r->f[UET_INITIATOR] == BOX_NUMBER, "initiator");
	judge(bp, op != UET_TSEND || r->f[UET_MATCH] == BOX_TAG, "match bits");
	judge(bp, op != UET_SEND || r->f[UET_MATCH] == 0, "match bits of a SEND");
	judge_place(bp, r);
	for (uint32_t i = 0, at = r->f[UET_SES_FLAGS] & UET_SOM ? 0 : (uint32_t)r->f[UET_MESSAGE_OFFSET];
	     i < r->payload_bytes; i++)
		if (r->payload[i] != conform_byte(BASE_CONTENT, at + i)) {
			judge(bp, false, "bytes");
			return;
		}
}

/* ---- target ---- */

static struct base_pdc *find(struct base_peer *bp, const struct uet_pkt *r)
{
	for (uint32_t i = 0; i < bp->pdc_count; i++) {
		struct base_pdc *on = &bp->pdcs[i];
		if (on->theirs && on->pdc.dpdcid == r->f[UET_SPDCID])
			return on;
		if (!on->theirs && !(r->f[UET_FLAGS] & UET_SYN) && on->pdc.spdcid == r->f[UET_DPDCID])
			return on;
	}
	if (!(r->f[UET_FLAGS] & UET_SYN) || bp->pdc_count == BASE_PDCS)
		return NULL;
	struct base_pdc *on = &bp->pdcs[bp->pdc_count];
	*on = (struct base_pdc){.theirs = true};
	on->pdc.type = UET_RUD_REQ;
	on->pdc.spdcid = (uint16_t)(FIRST_PDCID + bp->pdc_count++);
	on->pdc.dpdcid = (uint16_t)r->f[UET_SPDCID];
	on->pdc.start = on->pdc.psn = (uint32_t)r->f[UET_PSN] - ((uint32_t)r->f[UET_DPDCID] & 0xfff);
	return on;
}

static void advance(struct base_pdc *on)
{
	while (on->cack < BASE_PSNS && on->seen[on->cack] && !(on->holds && on->cack == on->held))
		on->cack++;
}

static void clear(struct base_pdc *on, uint32_t psn)
{
	if (on->holds && (int32_t)(psn - on->pdc.start - on->held) >= 0)
		on->holds = false;
	advance(on);
}

static struct uet_pkt ack_of(const struct base_peer *bp, const struct base_pdc *on, uint32_t psn)
{
	struct uet_pkt ack = {.payload = NULL};
	uint32_t cack = on->pdc.start + on->cack - 1;

	ack.f[UET_TYPE] = UET_ACK;
	ack.f[UET_FLAGS] = bp->p.got.pkt.f[UET_FLAGS] & UET_RETX;
	ack.f[UET_CACK] = cack;
	ack.f[UET_ACK_OFFSET] = (uint16_t)(psn - cack);
	ack.f[UET_SPDCID] = on->pdc.spdcid;
	ack.f[UET_DPDCID] = on->pdc.dpdcid;
	return ack;
}

static void count_message(struct base_peer *bp, const struct uet_pkt *r)
{
	struct base_message *m = bp->messages, *end = m + bp->message_count;

	while (m < end && (m->id != r->f[UET_MESSAGE] || m->op != r->f[UET_OPCODE] || m->have == m->bytes))
		m++;
	if (m == end) {
		assert_true(bp->message_count++ < BASE_MESSAGES);
		*m = (struct base_message){.id = (uint32_t)r->f[UET_MESSAGE],
					   .op = (uint32_t)r->f[UET_OPCODE],
					   .bytes = (uint32_t)r->f[UET_REQUEST_LENGTH]};
	}
	judge(bp, m->bytes == r->f[UET_REQUEST_LENGTH], "request_length");
	m->have += r->payload_bytes;
}

static struct base_out *push(struct base_peer *bp, struct base_pdc *on)
{
	assert_true(bp->out_count < BASE_OUT);
	struct base_out *o = &bp->out[bp->out_count++];
	*o = (struct base_out){.on = on};
	return o;
}

/* One packet of data for each request, in the return direction. Data is that of the READ's own message id. */
static void answer_read(struct base_peer *bp, struct base_pdc *on, const struct uet_pkt *r)
{
	uint32_t mtu = bp->p.target.mtu, length = (uint32_t)r->f[UET_REQUEST_LENGTH];
	bool som = r->f[UET_SES_FLAGS] & UET_SOM;
	struct uet_pkt *pkt = &push(bp, on)->pkt;

	pkt->f[UET_TYPE] = UET_RUD_REQ;
	pkt->f[UET_NEXT] = UET_RSP_DATA;
	pkt->f[UET_CLEAR_OFFSET] = (uint16_t)-1;
	pkt->f[UET_PSN] = on->pdc.start + on->back++;
	pkt->f[UET_SPDCID] = on->pdc.spdcid;
	pkt->f[UET_DPDCID] = on->pdc.dpdcid;
	pkt->f[UET_RSP_OPCODE] = UET_RESPONSE_DATA;
	pkt->f[UET_RETURN_CODE] = UET_RC_OK;
	pkt->f[UET_MESSAGE] = pkt->f[UET_READ_MESSAGE] = r->f[UET_MESSAGE];
	pkt->f[UET_JOB] = r->f[UET_JOB];
	pkt->f[UET_MODIFIED_LENGTH] = length;
	pkt->f[UET_MESSAGE_OFFSET] = som ? 0 : r->f[UET_MESSAGE_OFFSET];
	pkt->payload_bytes = som ? (length < mtu ? length : mtu) : (uint32_t)r->f[UET_PAYLOAD_LENGTH];
	pkt->f[UET_PAYLOAD_LENGTH] = pkt->payload_bytes;
}

static bool is_short_read(const struct uet_pkt *r)
{
	return r->f[UET_OPCODE] == UET_READ && r->f[UET_REQUEST_LENGTH] <= ACK_DATA_BYTES;
}

/* Data in the acknowledgement of a READ of up to 16 bytes. */
static void respond_data(struct base_peer *bp, struct uet_pkt *ack, const struct uet_pkt *r)
{
	uint8_t bytes[ACK_DATA_BYTES];

	ack->f[UET_NEXT] = UET_RSP_DATA;
	ack->f[UET_RSP_OPCODE] = UET_RESPONSE_DATA;
	ack->f[UET_READ_MESSAGE] = r->f[UET_MESSAGE];
	ack->f[UET_PAYLOAD_LENGTH] = ack->payload_bytes = (uint32_t)r->f[UET_REQUEST_LENGTH];
	for (uint32_t i = 0; i < ack->payload_bytes; i++)
		bytes[i] = conform_byte((uint32_t)r->f[UET_MESSAGE], i);
	ack->payload = bytes;
	reply(bp, ack);
}

static void respond(struct base_peer *bp, struct base_pdc *on, const struct uet_pkt *r, uint32_t index)
{
	struct uet_pkt ack;
	bool kept = on->holds && index == on->held, refused = kept && on->held_code;

	advance(on);
	ack = ack_of(bp, on, (uint32_t)r->f[UET_PSN]);
	ack.f[UET_NEXT] = UET_RSP;
	ack.f[UET_FLAGS] |= kept ? UET_CLEAR : 0;
	ack.f[UET_RSP_OPCODE] = refused ? UET_RESPONSE : UET_DEFAULT;
	ack.f[UET_RETURN_CODE] = refused ? on->held_code : UET_RC_OK;
	ack.f[UET_MESSAGE] = r->f[UET_MESSAGE];
	ack.f[UET_JOB] = r->f[UET_JOB];
	ack.f[UET_MODIFIED_LENGTH] = refused ? 0 : r->f[UET_REQUEST_LENGTH];
	if (kept && !refused)
		respond_data(bp, &ack, r);
	else
		reply(bp, &ack);
}

/* A packet that had not arrived before. Refusals and short answers are kept until they are cleared. */
static void take_new(struct base_peer *bp, struct base_pdc *on, const struct uet_pkt *r, uint32_t index)
{
	if (!bp->refuse)
		count_message(bp, r);
	if (bp->refuse || is_short_read(r)) {
		on->held = index;
		on->held_code = bp->refuse;
		on->holds = true;
	} else if (r->f[UET_OPCODE] == UET_READ) {
		answer_read(bp, on, r);
	}
}

static void on_request(struct base_peer *bp, const struct uet_pkt *r)
{
	struct base_pdc *on = find(bp, r);

	if (!on)
		return;
	judge_outside(bp);
	judge_request(bp, r);
	uint32_t index = (uint32_t)r->f[UET_PSN] - on->pdc.start;
	if (index >= BASE_PSNS) {
		judge(bp, false, "PSN");
		return;
	}
	clear(on, (uint32_t)r->f[UET_PSN] + (uint32_t)uet_signed(r, UET_CLEAR_OFFSET));
	bool first = !on->seen[index];
	on->seen[index] = true;
	if (first)
		take_new(bp, on, r, index);
	respond(bp, on, r, index);
}

/* Data of our READ. */
static void on_data(struct base_peer *bp, const struct uet_pkt *r)
{
	struct base_pdc *on = find(bp, r);

	if (!on || on->theirs) {
		judge(bp, false, "data on another connection");
		return;
	}
	judge_outside(bp);
	uint32_t index = (uint32_t)r->f[UET_PSN] - on->pdc.start, at = (uint32_t)r->f[UET_MESSAGE_OFFSET];
	judge(bp,
	      index < BASE_PSNS && r->f[UET_READ_MESSAGE] == bp->read_id &&
		      r->f[UET_PAYLOAD_LENGTH] == r->payload_bytes,
	      "fields of data");
	if (index >= BASE_PSNS || at + r->payload_bytes > BOX_REGION_BYTES)
		return;
	if (!on->seen[index])
		bp->read_bytes += r->payload_bytes;
	on->seen[index] = true;
	judge(bp, memcmp(r->payload, bp->box->region + at, r->payload_bytes) == 0, "data");
	advance(on);
	struct uet_pkt ack = ack_of(bp, on, (uint32_t)r->f[UET_PSN]);
	reply(bp, &ack);
}

static void on_control(struct base_peer *bp, const struct uet_pkt *c)
{
	struct base_pdc *on = find(bp, c);

	if (!on)
		return;
	judge_outside(bp);
	uint32_t index = (uint32_t)c->f[UET_PSN] - on->pdc.start;
	struct uet_pkt ack = ack_of(bp, on, (uint32_t)c->f[UET_PSN]);
	switch (c->f[UET_NEXT]) {
	case UET_CLEAR_CMD:
		clear(on, (uint32_t)c->f[UET_CP_PAYLOAD]);
		return;
	case UET_PROBE:
		ack = ack_of(bp, on, 0);
		ack.f[UET_FLAGS] = UET_P;
		ack.f[UET_ACK_OFFSET] = c->f[UET_OPAQUE];
		break;
	case UET_NOOP:
	case UET_CLOSE_CMD:
		judge(bp, index < BASE_PSNS, "PSN of a control packet");
		on->seen[index % BASE_PSNS] = true;
		advance(on);
		ack = ack_of(bp, on, (uint32_t)c->f[UET_PSN]);
		break;
	default:
		return;
	}
	reply(bp, &ack);
}

/* ---- initiator ---- */

static void on_ack(struct base_peer *bp, const struct uet_pkt *a)
{
	uint32_t cack = (uint32_t)a->f[UET_CACK], psn = cack + (uint32_t)uet_signed(a, UET_ACK_OFFSET);

	judge_outside(bp);
	for (uint32_t i = bp->out_done; i < bp->out_count; i++) {
		struct base_out *o = &bp->out[i];
		uint32_t mine = (uint32_t)o->pkt.f[UET_PSN];
		if (o->on->pdc.spdcid != a->f[UET_DPDCID] || (mine != psn && (int32_t)(mine - cack) > 0))
			continue;
		o->acked = true;
		if (!o->on->pdc.dpdcid)
			o->on->pdc.dpdcid = (uint16_t)a->f[UET_SPDCID];
	}
	if (a->f[UET_NEXT] == UET_RSP_DATA) {
		judge(bp, memcmp(a->payload, bp->box->region, a->payload_bytes) == 0, "data in an acknowledgement");
		bp->read_bytes = a->payload_bytes;
	} else if (a->f[UET_NEXT] == UET_RSP && a->f[UET_RETURN_CODE] > UET_RC_OK) {
		bp->refused = (uint32_t)a->f[UET_RETURN_CODE];
	}
	if (a->f[UET_FLAGS] & UET_CLEAR)
		for (uint32_t i = 0; i < bp->pdc_count; i++)
			if (bp->pdcs[i].pdc.spdcid == a->f[UET_DPDCID])
				conform_clear(&bp->p, &bp->pdcs[i].pdc);
}

static void on_nack(struct base_peer *bp, const struct uet_pkt *a)
{
	for (uint32_t i = bp->out_done; i < bp->out_count; i++)
		if (bp->out[i].on->pdc.spdcid == a->f[UET_DPDCID] && bp->out[i].pkt.f[UET_PSN] == a->f[UET_PSN])
			conform_say(&bp->p, "NACK 0x%02x of PSN %u", (unsigned)a->f[UET_NACK_CODE],
				    (unsigned)a->f[UET_PSN]);
}

static void dispatch(struct base_peer *bp)
{
	const struct uet_pkt *pkt = &bp->p.got.pkt;

	switch (pkt->f[UET_TYPE]) {
	case UET_RUD_REQ:
		if (pkt->f[UET_NEXT] == UET_RSP_DATA)
			on_data(bp, pkt);
		else
			on_request(bp, pkt);
		break;
	case UET_ACK:
	case UET_ACK_CC:
		on_ack(bp, pkt);
		break;
	case UET_NACK:
		on_nack(bp, pkt);
		break;
	case UET_CP:
		on_control(bp, pkt);
		break;
	default:
		judge(bp, false, "type");
	}
}

/* What is due, within a window. */
static void transmit(struct base_peer *bp)
{
	weft_ns now = bp->box->duo.now;

	while (bp->out_done < bp->out_count && bp->out[bp->out_done].acked)
		bp->out_done++;
	for (uint32_t i = bp->out_done; i < bp->out_count && i < bp->out_done + WINDOW; i++) {
		struct base_out *o = &bp->out[i];
		if (o->acked || (o->sent && now - o->sent < RETRANSMIT_NS))
			continue;
		o->pkt.f[UET_FLAGS] |= UET_AR | (o->sent ? UET_RETX : 0);
		if (o->pkt.f[UET_FLAGS] & UET_SYN && o->on->pdc.dpdcid) {
			o->pkt.f[UET_FLAGS] &= ~(uint64_t)UET_SYN;
			o->pkt.f[UET_DPDCID] = o->on->pdc.dpdcid;
		}
		o->sent = now;
		conform_send(&bp->p, &o->on->pdc, &o->pkt);
	}
}

void base_run(struct base_peer *bp)
{
	weft_ns last = bp->box->duo.now, end = last + WEFT_S(2);

	while (bp->box->duo.now < end && bp->box->duo.now - last < QUIET_NS) {
		transmit(bp);
		if (conform_next(&bp->p, TICK_NS)) {
			dispatch(bp);
			last = bp->box->duo.now;
		} else if (bp->out_done < bp->out_count) {
			last = bp->box->duo.now;
		}
	}
	if (bp->out_done < bp->out_count)
		conform_say(&bp->p, "PSN %u was never acknowledged", (unsigned)bp->out[bp->out_done].pkt.f[UET_PSN]);
	bp->out_count = bp->out_done = 0;
}

uint32_t base_start(struct base_peer *bp, enum uet_op op, uint32_t bytes)
{
	uint32_t mtu = bp->p.target.mtu, packets = bytes > mtu ? (bytes + mtu - 1) / mtu : 1;

	assert_true(bp->pdc_count < BASE_PDCS);
	struct base_pdc *on = &bp->pdcs[bp->pdc_count++];
	*on = (struct base_pdc){.theirs = false};
	conform_open(&bp->p, &on->pdc, UET_RUD_REQ);
	struct uet_pkt whole = conform_request(&bp->p, &on->pdc, op, bytes);
	if (op == UET_WRITE || op == UET_READ)
		whole.f[UET_MATCH] = BOX_KEY;
	for (uint32_t i = 0; i < packets; i++) {
		struct uet_pkt *pkt = &push(bp, on)->pkt;
		*pkt = conform_part(&whole, i, mtu);
		pkt->payload_bytes = op == UET_READ ? 0 : pkt->payload_bytes;
	}
	on->pdc.psn = on->pdc.start + packets;
	bp->read_id = (uint32_t)whole.f[UET_MESSAGE];
	bp->read_bytes = 0;
	return bp->read_id;
}
