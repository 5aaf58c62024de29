/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "wire_check.h"
#include "wire_fmt.h"
#include "wire_print.h"

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

static struct weft_ip dst_of(const struct wire_view *v)
{
	struct weft_ip dst;

	if (v->ip[0] >> 4 == 4)
		return weft_ip_v4(load32(v->ip + IP4_DST_AT));
	memcpy(dst.b, v->ip + IP6_SRC_AT + sizeof dst.b, sizeof dst.b);
	return dst;
}

static void add_net(struct line *l, const struct wire_view *v)
{
	static const char *const ecn[] = {"not-ect", "ect1", "ect0", "ce"};
	struct weft_ip dst = dst_of(v);

	add_ip(l, wire_view_src(v));
	add(l, " > ");
	add_ip(l, &dst);
	if (v->outer->native)
		add(l, " native");
	else
		add(l, " port=%u", load16((const uint8_t *)v->hdr - UDP_BYTES + 2));
	add(l, " ev=%u dscp=%u %s", wire_view_entropy(v), wire_view_dscp(v), ecn[wire_view_ecn(v)]);
}

static void add_ids(struct line *l, const struct wire_hdr *h, bool syn)
{
	if (syn)
		add(l, " pdc=%u>new syn_offset=%u%s", wire_hdr_spdcid(h), wire_hdr_psn_offset(h),
		    wire_hdr_use_rsv_pdc(h) ? " rsv" : "");
	else
		add(l, " pdc=%u>%u", wire_hdr_spdcid(h), wire_hdr_dpdcid(h));
}

static void add_request_pds(struct line *l, const struct wire_view *v)
{
	uint8_t type = wire_hdr_type(v->hdr);

	add(l, " psn=%u", wire_hdr_psn(v->hdr));
	add_ids(l, v->hdr, wire_hdr_syn(v->hdr));
	add(l, " clear=%+d", wire_hdr_clear_offset(v->hdr));
	if (type == WIRE_PDS_RUD_CC_REQ || type == WIRE_PDS_ROD_CC_REQ)
		add(l, " ccc=%u credit_target=%u", wire_request_cc_ccc_id(v->request_cc),
		    wire_request_cc_credit_target(v->request_cc));
}

/* Two words, the second of which may not be there. */
static void add_vendor(struct line *l, const uint8_t *state, bool two)
{
	add(l, " ccx=0x%016" PRIx64 "%016" PRIx64, load64(state), two ? load64(state + 8) : 0);
}

static void add_cc_state(struct line *l, const struct wire_ack_cc *a, uint8_t type)
{
	uint8_t cc_type = wire_ack_cc_cc_type(a);

	add(l, " cc_type=%u cc_flags=%u mpr=%u sack=%+d:0x%016" PRIx64, cc_type, wire_ack_cc_cc_flags(a),
	    wire_ack_cc_mpr(a), wire_ack_cc_sack_offset(a), wire_ack_cc_sack_bitmap(a));
	if (type == WIRE_PDS_ACK_CCX)
		add_vendor(l, ((const struct wire_ack_ccx *)a)->vendor, true);
	else if (cc_type == WIRE_CC_NSCC)
		add(l, " service=%u rc=%u pend=%u rcvd=%u ooo=%u", wire_ack_cc_service_time(a), wire_ack_cc_rc(a),
		    wire_ack_cc_rcv_cwnd_pend(a), wire_ack_cc_rcvd_bytes(a), wire_ack_cc_ooo_count(a));
	else if (cc_type == WIRE_CC_CREDIT)
		add(l, " credit=%u ooo=%u", wire_ack_cc_credit(a), wire_ack_cc_ooo_count(a));
	else
		add_vendor(l, a->vendor, false);
}

static void add_ack(struct line *l, const struct wire_view *v)
{
	add(l, " cack=%u", wire_hdr_cack(v->hdr));
	add_ids(l, v->hdr, false);
	if (wire_hdr_p(v->hdr))
		add(l, " opaque=0x%04x", wire_hdr_opaque(v->hdr));
	else
		add(l, " ack=%+d", wire_hdr_ack_offset(v->hdr));
	if (wire_hdr_type(v->hdr) != WIRE_PDS_ACK)
		add_cc_state(l, v->ack_cc, wire_hdr_type(v->hdr));
}

static void add_nack(struct line *l, const struct wire_view *v)
{
	uint8_t code = wire_nack_code(v->nack), vendor_code = wire_nack_vendor_code(v->nack);

	add_name(l, " ", wire_nack_name(code), code);
	if (vendor_code)
		add(l, " vendor=0x%02x", vendor_code);
	add(l, " psn=%u", wire_hdr_psn(v->hdr));
	add_ids(l, v->hdr, false);
	add(l, " payload=%u", wire_nack_payload(v->nack));
	if (wire_hdr_type(v->hdr) == WIRE_PDS_NACK_CCX)
		add_vendor(l, v->nack_ccx->vendor, true);
}

static void add_cp(struct line *l, const struct wire_view *v)
{
	uint8_t ctl = wire_hdr_ctl(v->hdr);

	add_name(l, " ", wire_ctl_name(ctl), ctl);
	add(l, " psn=%u", wire_hdr_psn(v->hdr));
	add_ids(l, v->hdr, wire_hdr_syn(v->hdr));
	add(l, " opaque=0x%04x payload=%u", wire_hdr_opaque(v->hdr), wire_cp_payload(v->cp));
}

static void add_pds(struct line *l, const struct wire_view *v)
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
	uint8_t type = wire_hdr_type(v->hdr);

	add_name(l, " | ", wire_pds_name(type), type);
	switch (type) {
	case WIRE_PDS_RUD_REQ:
	case WIRE_PDS_ROD_REQ:
	case WIRE_PDS_RUD_CC_REQ:
	case WIRE_PDS_ROD_CC_REQ:
		add_request_pds(l, v);
		flags = request;
		break;
	case WIRE_PDS_ACK:
	case WIRE_PDS_ACK_CC:
	case WIRE_PDS_ACK_CCX:
		add_ack(l, v);
		flags = ack;
		break;
	case WIRE_PDS_NACK:
	case WIRE_PDS_NACK_CCX:
		add_nack(l, v);
		flags = nack;
		break;
	case WIRE_PDS_CP:
		add_cp(l, v);
		flags = control;
		break;
	case WIRE_PDS_RUDI_REQ:
	case WIRE_PDS_RUDI_RESP:
		add(l, " pkt_id=%u", wire_hdr_psn(v->hdr));
		break;
	}
	add_flags(l, wire_hdr_flags(v->hdr), flags);
}

static void add_amo(struct line *l, const struct wire_amo *a)
{
	add(l, " amo=0x%02x datatype=0x%02x control=0x%02x", wire_amo_opcode(a), wire_amo_datatype(a),
	    wire_amo_control(a));
	if (amo_has_operands(wire_amo_opcode(a)))
		add(l, " compare=0x%016" PRIx64 "%016" PRIx64 " swap=0x%016" PRIx64 "%016" PRIx64, load64(a->compare),
		    load64(a->compare + 8), load64(a->swap), load64(a->swap + 8));
}

static void add_rndv(struct line *l, const struct wire_rndv *r)
{
	add(l, " eager=%u read_gen=%u read_pid=%u read_ri=%u read_offset=%" PRIu64 " read_match=0x%" PRIx64,
	    wire_rndv_eager_length(r), wire_rndv_ri_generation(r), wire_rndv_pid_on_fep(r), wire_rndv_resource_index(r),
	    wire_rndv_offset(r), wire_rndv_match(r));
}

static void add_std(struct line *l, const struct wire_std *s)
{
	if (!wire_req_som(&s->req))
		add(l, " part=%u@%u", wire_std_payload_length(s), wire_std_message_offset(s));
	else if (wire_req_hd(&s->req))
		add(l, " data=0x%" PRIx64, wire_std_header_data(s));
	add(l, " buffer=0x%" PRIx64 " initiator=%u match=0x%" PRIx64, wire_std_buffer_offset(s), wire_std_initiator(s),
	    wire_std_match(s));
}

static void add_medium(struct line *l, const struct wire_medium *m)
{
	if (wire_req_hd(&m->req))
		add(l, " data=0x%" PRIx64, wire_medium_header_data(m));
	else
		add(l, " buffer=0x%" PRIx64, wire_medium_buffer_offset(m));
	add(l, " initiator=%u match=0x%" PRIx64, wire_medium_initiator(m), wire_medium_match(m));
}

static void add_small(struct line *l, const struct wire_small *s)
{
	if (wire_req_hd(&s->req))
		add(l, " data=0x0");
	add(l, " buffer=0x%" PRIx64, wire_small_buffer_offset(s));
}

static uint32_t length_of(const struct wire_view *v, uint8_t form)
{
	if (form == WIRE_NH_STD)
		return wire_std_request_length(v->std);
	return form == WIRE_NH_MEDIUM ? wire_medium_length(v->medium) : wire_small_length(v->small);
}

static void add_request(struct line *l, const struct wire_view *v, uint8_t form)
{
	static const struct flag_name flags[] = {{WIRE_SES_DC, "DC"},
						 {WIRE_SES_IE, "IE"},
						 {WIRE_SES_REL, "REL"},
						 {WIRE_SES_HD, "HD"},
						 {WIRE_SES_EOM, "EOM"},
						 {WIRE_SES_SOM, "SOM"},
						 {0}};
	const struct wire_req *r = v->req;
	const uint8_t *ext = v->ses + wire_ses_bytes(form);

	add_name(l, " | ", wire_op_name(wire_req_opcode(r)), wire_req_opcode(r));
	add_flags(l, wire_req_flags(r), flags);
	if (form == WIRE_NH_STD)
		add(l, " id=%u", wire_std_message_id(v->std));
	add(l, " gen=%u job=%u pid=%u ri=%u length=%u", wire_req_ri_generation(r), wire_req_job_id(r),
	    wire_req_pid_on_fep(r), wire_req_resource_index(r), length_of(v, form));
	if (form == WIRE_NH_STD)
		add_std(l, v->std);
	else if (form == WIRE_NH_MEDIUM)
		add_medium(l, v->medium);
	else
		add_small(l, v->small);
	enum ses_ext kind = ses_ext(form, wire_req_opcode(r));
	if (kind == EXT_AMO)
		add_amo(l, (const struct wire_amo *)ext);
	if (kind == EXT_RNDV)
		add_rndv(l, (const struct wire_rndv *)ext);
}

static void add_response(struct line *l, const struct wire_view *v, uint8_t form)
{
	const struct wire_rsp *r = v->rsp;
	const struct wire_rsp_data *d = v->rsp_data;

	add_name(l, " | ", wire_rsp_name(wire_rsp_opcode(r)), wire_rsp_opcode(r));
	add(l, " list=%u", wire_rsp_list(r));
	add_name(l, " rc=", wire_rc_name(wire_rsp_return_code(r)), wire_rsp_return_code(r));
	if (form != WIRE_NH_RSP_DATA_SMALL)
		add(l, " id=%u", wire_rsp_message_id(r));
	add(l, " job=%u", wire_rsp_job_id(r));
	if (form == WIRE_NH_RSP)
		add(l, " gen=%u modified=%u", wire_rsp_ri_generation(r), wire_rsp_modified_length(r));
	else if (form == WIRE_NH_RSP_DATA)
		add(l, " read_id=%u part=%u@%u modified=%u", wire_rsp_data_read_message_id(d),
		    wire_rsp_data_payload_length(d), wire_rsp_data_message_offset(d), wire_rsp_data_modified_length(d));
	else
		add(l, " part=%u psn=%u", wire_rsp_payload_length(r), wire_rsp_small_original_psn(v->rsp_small));
}

int wire_print(const struct wire_view *v, char *buf, size_t size)
{
	struct line l = {buf, size, 0};
	uint8_t form = wire_hdr_next_hdr(v->hdr);

	add_net(&l, v);
	add_pds(&l, v);
	if (v->ses_bytes && form >= WIRE_NH_RSP)
		add_response(&l, v, form);
	else if (v->ses_bytes)
		add_request(&l, v, form);
	add(&l, " | %u payload%s%s", v->payload_bytes, v->outer->trimmed ? " trimmed" : "",
	    v->outer->crc ? " crc" : "");
	return (int)l.used;
}
