/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and requests of hand-made peers whose packets disagree with each other or contradict themselves. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "rma_duo.h"

enum { PART = 1000, PARTS = 3, BYTES = PART * PARTS, REGION = 4096, JOB = 5 };

/* What is wrong with a packet. */
enum fault {
	NOTHING,
	OPCODE_SEND,
	OPCODE_TSEND,
	OPCODE_WRITE,
	OPCODE_READ,
	REQUEST_LENGTH,
	KEY,
	PLACE,
	JOB_ID,
	VERSION,
	IE,
	SECOND_FIRST, /* SOM in a second packet */
	OFFSET_0,
};

struct row {
	uint8_t opcode; /* of the message */
	enum fault fault;
	uint8_t rc; /* of the second packet, which has the fault */
};

static const struct row rows[] = {
	{WIRE_OP_TAGGED_SEND, NOTHING, WIRE_RC_OK},
	{WIRE_OP_TAGGED_SEND, OPCODE_SEND, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_TAGGED_SEND, OPCODE_WRITE, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_TAGGED_SEND, REQUEST_LENGTH, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_TAGGED_SEND, JOB_ID, WIRE_RC_BAD_JOB_ID},
	{WIRE_OP_TAGGED_SEND, VERSION, WIRE_RC_UNCOR},
	{WIRE_OP_TAGGED_SEND, IE, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_WRITE, NOTHING, WIRE_RC_OK},
	{WIRE_OP_WRITE, OPCODE_SEND, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_WRITE, OPCODE_TSEND, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_WRITE, OPCODE_READ, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_WRITE, REQUEST_LENGTH, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_WRITE, KEY, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_WRITE, PLACE, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_WRITE, JOB_ID, WIRE_RC_BAD_JOB_ID},
	{WIRE_OP_WRITE, VERSION, WIRE_RC_UNCOR},
	{WIRE_OP_WRITE, IE, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_READ, NOTHING, WIRE_RC_OK},
	{WIRE_OP_READ, REQUEST_LENGTH, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_READ, KEY, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_READ, PLACE, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_READ, JOB_ID, WIRE_RC_BAD_JOB_ID},
	{WIRE_OP_READ, VERSION, WIRE_RC_UNCOR},
	{WIRE_OP_READ, IE, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_READ, SECOND_FIRST, WIRE_RC_INITIATOR_ERROR},
	{WIRE_OP_READ, OFFSET_0, WIRE_RC_INITIATOR_ERROR},
};

static void set_opcode(struct plain_pkt *w, uint8_t opcode)
{
	w->ses.opcode = opcode;
	w->payload_bytes = opcode == WIRE_OP_READ ? 0 : PART;
}

static void break_packet(struct plain_pkt *w, enum fault fault)
{
	switch (fault) {
	case OPCODE_SEND:
		set_opcode(w, WIRE_OP_SEND);
		break;
	case OPCODE_TSEND:
		set_opcode(w, WIRE_OP_TAGGED_SEND);
		break;
	case OPCODE_WRITE:
		set_opcode(w, WIRE_OP_WRITE);
		break;
	case OPCODE_READ:
		set_opcode(w, WIRE_OP_READ);
		break;
	case REQUEST_LENGTH:
		w->ses.request_length++;
		break;
	case KEY:
		w->ses.match++;
		break;
	case PLACE:
		w->ses.buffer_offset++;
		break;
	case JOB_ID:
		w->ses.job_id++;
		break;
	case VERSION:
		w->ses.version++;
		break;
	case IE:
		w->ses.flags |= WIRE_SES_IE;
		break;
	case SECOND_FIRST:
		w->ses.flags |= WIRE_SES_SOM;
		break;
	case OFFSET_0:
		w->ses.message_offset = 0;
		break;
	case NOTHING:
		break;
	}
}

/* The n-th part of the message, in the packet with the given PSN offset. */
static struct plain_pkt part(uint8_t opcode, uint32_t n, uint16_t psn_offset)
{
	struct plain_pkt w = duo_syn(1, PART);
	w.pds.psn += psn_offset;
	w.pds.psn_offset = psn_offset;
	w.pds.flags |= WIRE_F_AR;
	w.ses.job_id = JOB;
	w.ses.match = RMA_KEY;
	w.ses.request_length = BYTES;
	w.ses.flags = (uint8_t)(WIRE_SES_REL | (n == 0 ? WIRE_SES_SOM : 0) | (n == PARTS - 1 ? WIRE_SES_EOM : 0));
	w.ses.message_offset = n * PART;
	set_opcode(&w, opcode);
	return w;
}

/* Puts it before side 1; returns the return code it is answered with. */
static uint8_t answer_to(struct duo *d, struct plain_pkt w, const uint8_t *payload)
{
	uint32_t seen = d->log_len;
	duo_inject_pkt(d, 1, &w, payload);
	duo_poll(d, 1);
	for (uint32_t i = seen; i < d->log_len; i++)
		if (!is_data(&d->log[i].w) && d->log[i].w.pds.next_hdr == WIRE_NH_RSP)
			return d->log[i].w.ses.return_code;
	return WIRE_RC_OK; /* the default response of an ACK without another */
}

/* Nothing of the second packet was taken. */
static void expect_untouched(struct rma_duo *r, const uint8_t *in)
{
	struct weft_cqe cqe;
	assert_int_equal(duo_stats(&r->d, 1)->rx_bad_ses, 1);
	assert_int_equal(r->d.e[1]->ses.answers, 0);
	assert_false(duo_cqe(&r->d, 1, &cqe));
	for (uint32_t i = PART; i < BYTES; i++)
		assert_int_equal(r->mem[i] | in[i], 0);
}

static bool runs(const struct row *row, const uint8_t *out)
{
	struct rma_duo r;
	struct duo_conf conf;
	uint8_t in[BYTES] = {0};
	duo_conf_init(&conf);
	conf.tune.job_id = JOB;
	rma_open(&r, &conf, REGION, WEFT_MR_READ | WEFT_MR_WRITE);
	r.d.logging = true;
	duo_recv(&r.d, 1, in, sizeof in, RMA_KEY, 0, in);
	assert_int_equal(answer_to(&r.d, part(row->opcode, 0, 0), out), WIRE_RC_OK);
	struct plain_pkt second = part(row->opcode, 1, 1);
	break_packet(&second, row->fault);
	uint8_t rc = answer_to(&r.d, second, out + PART);
	if (rc != row->rc)
		print_message("opcode %u, fault %d: return code 0x%02x instead of 0x%02x\n", row->opcode, row->fault,
			      rc, row->rc);
	else if (row->fault)
		expect_untouched(&r, in);
	rma_close(&r);
	return rc == row->rc;
}

static void parts__agree_with_the_first(void **state)
{
	uint8_t *out = duo_pattern(BYTES, 1);
	uint32_t bad = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		bad += !runs(&rows[i], out);
	assert_int_equal(bad, 0);
	free(out);
}

/* All of a message is fetched, so its announcement has no payload, and says so. */
static void announcement__has_no_payload(void **state)
{
	static const struct {
		uint16_t eager_bytes, payload_bytes;
	} kinds[] = {{0, 0}, {0, 8}, {8, 0}, {8, 8}};
	uint8_t *out = duo_pattern(BYTES, 1);
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = PART;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct duo d;
		duo_open(&d, &conf);
		d.logging = true;
		duo_send(&d, 0, out, BYTES, 7, out);
		duo_poll(&d, 0);
		struct plain_pkt w = d.log[0].w; /* how an announcement looks */
		assert_int_equal(w.ses.opcode, WIRE_OP_RENDEZVOUS_TSEND);
		w.pds.flags |= WIRE_F_AR;
		w.pds.spdcid += 50; /* before it arrives, another connection has one */
		w.ses.rndv_eager_length = kinds[i].eager_bytes;
		w.payload_bytes = kinds[i].payload_bytes;
		assert_int_equal(answer_to(&d, w, out), i ? WIRE_RC_UNSUPPORTED_SIZE : WIRE_RC_OK);
		assert_int_equal(duo_stats(&d, 1)->rx_bad_ses, i != 0);
		assert_int_equal(duo_stats(&d, 1)->msg_unexpected, i == 0);
		duo_close(&d);
	}
	free(out);
}

/* A target asks for the end of a connection that is there: a request to close opens none. */
static void close_request__opens_nothing(void **state)
{
	struct plain_pkt w = {.net = {.dscp = WIRE_DSCP_CONTROL},
			      .pds = {.type = WIRE_PDS_CP, .ctl = WIRE_CTL_CLOSE_REQ, .spdcid = 9, .psn = 1000}};
	for (int syn = 0; syn < 2; syn++) {
		struct duo d;
		open_default(&d);
		w.pds.flags = syn ? WIRE_F_SYN : 0;
		duo_inject_pkt(&d, 1, &w, NULL);
		duo_poll(&d, 1);
		assert_int_equal(duo_stats(&d, 1)->rx_ctrl, 1);
		assert_int_equal(duo_stats(&d, 1)->rx_no_pdc, 1);
		assert_int_equal(duo_stats(&d, 1)->pdc_accepted, 0);
		assert_null(first_rx(d.e[1]));
		duo_transfer(&d, 0, PART);
		duo_close(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts__agree_with_the_first),
		cmocka_unit_test(announcement__has_no_payload),
		cmocka_unit_test(close_request__opens_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
