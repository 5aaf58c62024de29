/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "wire_fmt.h"

/* A line under construction; counts on past the end of the buffer, as snprintf does. */
struct line {
	char *buf;
	size_t size, used;
};

static __attribute__((format(printf, 2, 3))) void add(struct line *l, const char *fmt, ...)
{
	size_t room = l->used < l->size ? l->size - l->used : 0;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(room ? l->buf + l->used : NULL, room, fmt, ap);
	va_end(ap);
	l->used += n > 0 ? (size_t)n : 0;
}

/* A name, or the number when it has none. */
static void add_name(struct line *l, const char *before, const char *name, unsigned value)
{
	if (strcmp(name, "unknown") == 0)
		add(l, "%s0x%02x", before, value);
	else
		add(l, "%s%s", before, name);
}

struct flag_name {
	uint8_t mask;
	const char *name;
};

/* Names of the set bits, the others as one number. */
static void add_flags(struct line *l, uint8_t flags, const struct flag_name *names)
{
	for (; names->name; names++) {
		if (flags & names->mask)
			add(l, " %s", names->name);
		flags &= (uint8_t)~names->mask;
	}
	if (flags)
		add(l, " flags=0x%02x", flags);
}

static void add_ip(struct line *l, const struct weft_ip *ip)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (weft_ip_is_v4(ip))
		inet_ntop(AF_INET, ip->b + 12, text, sizeof text);
	else
		inet_ntop(AF_INET6, ip->b, text, sizeof text);
	add(l, "%s", text);
}

static void add_net(struct line *l, const struct wire_net *net)
{
	static const char *const ecn[] = {"not-ect", "ect1", "ect0", "ce"};

	add_ip(l, &net->src);
	add(l, " > ");
	add_ip(l, &net->dst);
	if (net->native)
		add(l, " native");
	else
		add(l, " port=%u", net->dst_port);
	add(l, " ev=%u dscp=%u %s", net->entropy, net->dscp, ecn[net->ecn & 3]);
}

static void add_ids(struct line *l, const struct wire_pds *d)
{
	if (d->flags & WIRE_F_SYN && d->type != WIRE_PDS_ACK && d->type != WIRE_PDS_ACK_CC &&
	    d->type != WIRE_PDS_ACK_CCX)
		add(l, " pdc=%u>new syn_offset=%u%s", d->spdcid, d->psn_offset, d->use_rsv_pdc ? " rsv" : "");
	else
		add(l, " pdc=%u>%u", d->spdcid, d->dpdcid);
}

static void add_request_pds(struct line *l, const struct wire_pds *d)
{
	add(l, " psn=%u", d->psn);
	add_ids(l, d);
	add(l, " clear=%+d", d->offset);
	if (d->type == WIRE_PDS_RUD_CC_REQ || d->type == WIRE_PDS_ROD_CC_REQ)
		add(l, " ccc=%u credit_target=%u", d->ccc_id, d->credit);
}

static void add_cc_state(struct line *l, const struct wire_pds *d)
{
	add(l, " cc_type=%u cc_flags=%u mpr=%u sack=%+d:0x%016" PRIx64, d->cc_type, d->cc_flags, d->mpr, d->sack_offset,
	    d->sack_bitmap);
	if (d->type == WIRE_PDS_ACK_CC && d->cc_type == WIRE_CC_NSCC)
		add(l, " service=%u rc=%u pend=%u rcvd=%u ooo=%u", d->service_time, d->rc, d->rcv_cwnd_pend,
		    d->rcvd_bytes, d->ooo_count);
	else if (d->type == WIRE_PDS_ACK_CC && d->cc_type == WIRE_CC_CREDIT)
		add(l, " credit=%u ooo=%u", d->credit, d->ooo_count);
	else
		add(l, " ccx=0x%016" PRIx64 "%016" PRIx64, d->ccx[0], d->ccx[1]);
}

static void add_ack(struct line *l, const struct wire_pds *d)
{
	add(l, " cack=%u", d->psn);
	add_ids(l, d);
	if (d->flags & WIRE_F_ACK_P)
		add(l, " opaque=0x%04x", d->opaque);
	else
		add(l, " ack=%+d", d->offset);
	if (d->type != WIRE_PDS_ACK)
		add_cc_state(l, d);
}

static void add_nack(struct line *l, const struct wire_pds *d)
{
	add_name(l, " ", wire_nack_name(d->code), d->code);
	if (d->vendor_code)
		add(l, " vendor=0x%02x", d->vendor_code);
	add(l, " psn=%u pdc=%u>%u payload=%u", d->psn, d->spdcid, d->dpdcid, d->payload);
	if (d->type == WIRE_PDS_NACK_CCX)
		add(l, " ccx=0x%016" PRIx64 "%016" PRIx64, d->ccx[0], d->ccx[1]);
}

static void add_cp(struct line *l, const struct wire_pds *d)
{
	add_name(l, " ", wire_ctl_name(d->ctl), d->ctl);
	add(l, " psn=%u", d->psn);
	add_ids(l, d);
	add(l, " opaque=0x%04x payload=%u", d->opaque, d->payload);
}

static void add_pds(struct line *l, const struct wire_pds *d)
{
	static const struct flag_name request[] = {{WIRE_F_RETX, "RETX"}, {WIRE_F_AR, "AR"}, {WIRE_F_SYN, "SYN"}, {0}};
	static const struct flag_name control[] = {
		{WIRE_F_ISROD, "ISROD"}, {WIRE_F_RETX, "RETX"}, {WIRE_F_AR, "AR"}, {WIRE_F_SYN, "SYN"}, {0}};
	static const struct flag_name ack[] = {{WIRE_F_ACK_M, "M"},         {WIRE_F_RETX, "RETX"},
					       {WIRE_F_ACK_P, "P"},         {WIRE_F_ACK_CLEAR, "CLEAR"},
					       {WIRE_F_ACK_CLOSE, "CLOSE"}, {0}};
	static const struct flag_name nack[] = {
		{WIRE_F_ACK_M, "M"}, {WIRE_F_RETX, "RETX"}, {WIRE_F_NACK_NT, "NT"}, {0}};
	static const struct flag_name rudi[] = {{WIRE_F_ACK_M, "M"}, {WIRE_F_RETX, "RETX"}, {0}};
	const struct flag_name *flags = rudi;

	add_name(l, " | ", wire_pds_name(d->type), d->type);
	switch (d->type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		add_request_pds(l, d);
		flags = request;
		break;
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC:
	case WIRE_PDS_ACK_CCX:
		add_ack(l, d);
		flags = ack;
		break;
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		add_nack(l, d);
		flags = nack;
		break;
	case WIRE_PDS_CP:
		add_cp(l, d);
		flags = control;
		break;
	case WIRE_PDS_RUDI_REQ:
	case WIRE_PDS_RUDI_RESP:
		add(l, " pkt_id=%u", d->psn);
		break;
	}
	add_flags(l, d->flags, flags);
}

static void add_extension(struct line *l, const struct wire_ses *s, enum ses_ext ext)
{
	if (ext == EXT_AMO)
		add(l, " amo=0x%02x datatype=0x%02x control=0x%02x", s->amo_opcode, s->amo_datatype, s->amo_control);
	if (ext == EXT_AMO && amo_has_operands(s->amo_opcode))
		add(l, " compare=0x%016" PRIx64 "%016" PRIx64 " swap=0x%016" PRIx64 "%016" PRIx64, s->amo_compare[0],
		    s->amo_compare[1], s->amo_swap[0], s->amo_swap[1]);
	if (ext == EXT_RNDV)
		add(l, " eager=%u read_gen=%u read_pid=%u read_ri=%u read_offset=%" PRIu64 " read_match=0x%" PRIx64,
		    s->rndv_eager_length, s->rndv_ri_generation, s->rndv_pid_on_fep, s->rndv_resource_index,
		    s->rndv_offset, s->rndv_match);
}

static void add_request(struct line *l, const struct wire_ses *s, uint8_t form)
{
	static const struct flag_name flags[] = {{WIRE_SES_DC, "DC"},
						 {WIRE_SES_IE, "IE"},
						 {WIRE_SES_REL, "REL"},
						 {WIRE_SES_HD, "HD"},
						 {WIRE_SES_EOM, "EOM"},
						 {WIRE_SES_SOM, "SOM"},
						 {0}};

	add_name(l, " | ", wire_op_name(s->opcode), s->opcode);
	add_flags(l, s->flags, flags);
	if (form == WIRE_NH_STD)
		add(l, " id=%u", s->message_id);
	add(l, " gen=%u job=%u pid=%u ri=%u length=%u", s->ri_generation, s->job_id, s->pid_on_fep, s->resource_index,
	    s->request_length);
	if (form == WIRE_NH_STD && !(s->flags & WIRE_SES_SOM))
		add(l, " part=%u@%u", s->payload_length, s->message_offset);
	else if (s->flags & WIRE_SES_HD)
		add(l, " data=0x%" PRIx64, s->header_data);
	if (form != WIRE_NH_MEDIUM || !(s->flags & WIRE_SES_HD))
		add(l, " buffer=0x%" PRIx64, s->buffer_offset);
	if (form != WIRE_NH_SMALL)
		add(l, " initiator=%u match=0x%" PRIx64, s->initiator, s->match);
	add_extension(l, s, ses_ext(form, s->opcode));
}

static void add_response(struct line *l, const struct wire_ses *s, uint8_t form)
{
	add_name(l, " | ", wire_rsp_name(s->opcode), s->opcode);
	add(l, " list=%u", s->list);
	add_name(l, " rc=", wire_rc_name(s->return_code), s->return_code);
	if (form != WIRE_NH_RSP_DATA_SMALL)
		add(l, " id=%u", s->message_id);
	add(l, " job=%u", s->job_id);
	if (form == WIRE_NH_RSP)
		add(l, " gen=%u", s->ri_generation);
	if (form == WIRE_NH_RSP_DATA)
		add(l, " read_id=%u part=%u@%u", s->read_message_id, s->payload_length, s->message_offset);
	if (form == WIRE_NH_RSP_DATA_SMALL)
		add(l, " part=%u psn=%u", s->payload_length, s->original_psn);
	else
		add(l, " modified=%u", s->modified_length);
}

int wire_print(const struct wire_pkt *p, char *buf, size_t size)
{
	struct line l = {buf, size, 0};

	add_net(&l, &p->net);
	add_pds(&l, &p->pds);
	if (p->has_ses && p->pds.next_hdr >= WIRE_NH_RSP)
		add_response(&l, &p->ses, p->pds.next_hdr);
	else if (p->has_ses)
		add_request(&l, &p->ses, p->pds.next_hdr);
	add(&l, " | %u payload%s%s", p->payload_bytes, p->trimmed ? " trimmed" : "", p->net.crc ? " crc" : "");
	return (int)l.used;
}
