/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_field.h"

#include "wire_fmt.h"

/* ---- the table: groups first, each field's group follows from the lines between ---- */

#define AT(hdr, member)    offsetof(struct wire_##hdr, member)
#define WIDTH(hdr, member) (8 * WIRE_SIZE(hdr, member))
/* The bytes of a member that have bits of the field, from its beginning. */
#define FIRST(hdr, member, shift, bits) ((WIDTH(hdr, member) - (shift) - (bits)) / 8)
#define LAST(hdr, member, shift)        ((WIDTH(hdr, member) - 1 - (shift)) / 8)

#define GROUP(g) {.name = NULL, .group = WIRE_GROUP_##g},
#define FIELD(hdr, type, field, member, shift_, bits_, show_, names_, ui, text_)                                       \
	{.name = (ui),                                                                                                 \
	 .text = (text_),                                                                                              \
	 .at = AT(hdr, member) + FIRST(hdr, member, shift_, bits_),                                                    \
	 .bytes = LAST(hdr, member, shift_) - FIRST(hdr, member, shift_, bits_) + 1,                                   \
	 .shift = (shift_) % 8,                                                                                        \
	 .bits = (bits_),                                                                                              \
	 .show = WIRE_SHOW_##show_,                                                                                    \
	 .names = WIRE_NAMES_##names_},
#define BYTES(hdr, member, ui, text_)                                                                                  \
	{.name = (ui),                                                                                                 \
	 .text = (text_),                                                                                              \
	 .at = AT(hdr, member),                                                                                        \
	 .bytes = WIRE_SIZE(hdr, member),                                                                              \
	 .bits = WIDTH(hdr, member),                                                                                   \
	 .show = WIRE_SHOW_BYTES},

/* Entries without a name begin a group. */
const struct wire_field wire_fields[] = {WIRE_FIELDS(FIELD, FIELD, BYTES, GROUP){.name = NULL, .group = WIRE_GROUPS}};

uint64_t wire_field_value(const struct wire_field *f, const uint8_t *header)
{
	uint64_t value = 0;

	assert(f->bits <= 64);
	for (uint32_t i = 0; i < f->bytes; i++)
		value = value << 8 | header[f->at + i];
	value = value >> f->shift & WIRE_ONES(f->bits);
	if (f->show == WIRE_SHOW_SIGNED && value >> (f->bits - 1))
		value |= ~WIRE_ONES(f->bits);
	return value;
}

/* ---- what a packet has ---- */

struct list_of_parts {
	struct wire_part *parts;
	uint32_t count;
};

static void add(struct list_of_parts *l, enum wire_group group, const void *header)
{
	assert(l->count < WIRE_PARTS_MAX);
	l->parts[l->count++] = (struct wire_part){group, header};
}

static void add_ack(struct list_of_parts *l, const struct wire_view *v)
{
	uint8_t type = wire_hdr_type(v->hdr);

	add(l, WIRE_GROUP_ACK_FLAGS, v->hdr);
	add(l, wire_hdr_p(v->hdr) ? WIRE_GROUP_ACK_PROBE : WIRE_GROUP_ACK, v->hdr);
	add(l, WIRE_GROUP_IDS, v->hdr);
	if (type == WIRE_PDS_ACK)
		return;
	add(l, WIRE_GROUP_SACK, v->hdr);
	if (type == WIRE_PDS_ACK_CCX)
		add(l, WIRE_GROUP_ACK_CCX, v->hdr);
	else if (wire_ack_cc_cc_type(v->ack_cc) == WIRE_CC_NSCC)
		add(l, WIRE_GROUP_NSCC, v->hdr);
	else if (wire_ack_cc_cc_type(v->ack_cc) == WIRE_CC_CREDIT)
		add(l, WIRE_GROUP_CREDIT, v->hdr);
	else
		add(l, WIRE_GROUP_ACK_VENDOR, v->hdr);
}

static void add_pds(struct list_of_parts *l, const struct wire_view *v)
{
	uint8_t type = wire_hdr_type(v->hdr);
	enum wire_group ids = wire_hdr_syn(v->hdr) ? WIRE_GROUP_SYN_IDS : WIRE_GROUP_IDS;

	add(l, WIRE_GROUP_TYPE, v->hdr);
	add(l, type == WIRE_PDS_CP ? WIRE_GROUP_CTL : WIRE_GROUP_NEXT, v->hdr);
	add(l, WIRE_GROUP_FLAGS, v->hdr);
	switch (type) {
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		add(l, WIRE_GROUP_REQUEST_CC, v->hdr);
		/* fall through */
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
		add(l, WIRE_GROUP_REQUEST_FLAGS, v->hdr);
		add(l, WIRE_GROUP_REQUEST, v->hdr);
		add(l, ids, v->hdr);
		break;
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC:
	case WIRE_PDS_ACK_CCX:
		add_ack(l, v);
		break;
	case WIRE_PDS_NACK_CCX:
		add(l, WIRE_GROUP_NACK_CCX, v->hdr);
		/* fall through */
	case WIRE_PDS_NACK:
		add(l, WIRE_GROUP_NACK_FLAGS, v->hdr);
		add(l, WIRE_GROUP_NACK, v->hdr);
		add(l, WIRE_GROUP_IDS, v->hdr);
		break;
	case WIRE_PDS_CP:
		add(l, WIRE_GROUP_CP_FLAGS, v->hdr);
		add(l, WIRE_GROUP_CP, v->hdr);
		add(l, ids, v->hdr);
		break;
	case WIRE_PDS_RUDI_REQ:
	case WIRE_PDS_RUDI_RESP:
		add(l, WIRE_GROUP_RUDI_FLAGS, v->hdr);
		add(l, WIRE_GROUP_RUDI, v->hdr);
		break;
	}
}

static void add_extension(struct list_of_parts *l, const struct wire_view *v, uint8_t form)
{
	const uint8_t *ext = v->ses + wire_ses_bytes(form);
	enum ses_ext kind = ses_ext(form, wire_req_opcode(v->req));

	if (kind == EXT_RNDV)
		add(l, WIRE_GROUP_RENDEZVOUS, ext);
	if (kind == EXT_AMO)
		add(l, WIRE_GROUP_AMO, ext);
	if (kind == EXT_AMO && amo_has_operands(wire_amo_opcode((const struct wire_amo *)ext)))
		add(l, WIRE_GROUP_OPERANDS, ext);
}

static void add_request(struct list_of_parts *l, const struct wire_view *v, uint8_t form)
{
	add(l, WIRE_GROUP_REQ, v->ses);
	if (form == WIRE_NH_STD) {
		add(l, WIRE_GROUP_STD, v->ses);
		add(l, wire_req_som(v->req) ? WIRE_GROUP_STD_SOM : WIRE_GROUP_STD_PART, v->ses);
	} else if (form == WIRE_NH_MEDIUM) {
		add(l, WIRE_GROUP_MEDIUM, v->ses);
		add(l, wire_req_hd(v->req) ? WIRE_GROUP_MEDIUM_DATA : WIRE_GROUP_MEDIUM_OFFSET, v->ses);
	} else {
		add(l, WIRE_GROUP_SMALL, v->ses);
	}
	add_extension(l, v, form);
}

uint32_t wire_parts(const struct wire_view *v, struct wire_part parts[WIRE_PARTS_MAX])
{
	static const uint8_t responses[] = {[WIRE_NH_RSP] = WIRE_GROUP_RSP,
					    [WIRE_NH_RSP_DATA] = WIRE_GROUP_RSP_DATA,
					    [WIRE_NH_RSP_DATA_SMALL] = WIRE_GROUP_RSP_SMALL};
	struct list_of_parts l = {parts, 0};
	uint8_t form = wire_hdr_next_hdr(v->hdr);

	add_pds(&l, v);
	if (v->ses_bytes && form >= WIRE_NH_RSP) {
		add(&l, WIRE_GROUP_RESPONSE, v->ses);
		add(&l, responses[form], v->ses);
	} else if (v->ses_bytes) {
		add_request(&l, v, form);
	}
	return l.count;
}
