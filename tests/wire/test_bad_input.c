/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rule of the receiver, and a packet that breaks it by a bit or two in one byte: it is counted, answered as the
 * standard says, and delivers nothing. The packets before and after it are in order, and their messages arrive. */
#include "engine_io.h"

#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

enum {
	BYTES = 64,
	IP = 0,
	UDP = 20,
	PDS = 28, /* 12 bytes */
	SES = 40, /* 44 bytes */
	AMO = 84,
	SUM = 2,
	UINT64 = 7,
};

enum answer { NOTHING, NACK, RESPONSE };

struct row {
	const char *rule;
	enum uet_op op;
	uint16_t at;   /* byte of the IP packet */
	uint8_t flip;  /* bits of it */
	bool checksum; /* the IPv4 header's is made right */
	enum answer answer;
	uint8_t code; /* NACK code or return code */
	const char *counter;
};

static const struct row rows[] = {
	{"IP version", UET_SEND, IP, 0x10, true, NOTHING, 0, "rx_bad_ip"},
	{"IP options", UET_SEND, IP, 0x01, true, NOTHING, 0, "rx_bad_ip"},
	{"IP header checksum", UET_SEND, IP + 8, 0x01, false, NOTHING, 0, "rx_bad_ip"},
	{"IP total length beyond the frame", UET_SEND, IP + 2, 0x10, true, NOTHING, 0, "rx_bad_short"},
	{"IP fragment", UET_SEND, IP + 6, 0x20, true, NOTHING, 0, "rx_bad_ip"},
	{"IP protocol", UET_SEND, IP + 9, 0x40, true, NOTHING, 0, "rx_bad_udp"},
	{"IP destination", UET_SEND, IP + 19, 0x80, true, NOTHING, 0, "rx_not_ours"},
	{"UDP port", UET_SEND, UDP + 2, 0x01, false, NOTHING, 0, "rx_bad_udp"},
	{"UDP length", UET_SEND, UDP + 5, 0x01, false, NOTHING, 0, "rx_bad_udp"},
	{"PDS type 0", UET_SEND, PDS, 0x10, false, NOTHING, 0, "rx_bad_pds"},
	{"PDS type beyond 14", UET_SEND, PDS, 0x80, false, NOTHING, 0, "rx_bad_pds"},
	{"mode of the connection", UET_SEND, PDS, 0x08, false, NACK, 0x16, "rx_mode"},
	{"next header without meaning", UET_SEND, PDS, 0x02, false, NOTHING, 0, "rx_bad_ses"},
	{"small header", UET_SEND, PDS, 0x01, false, RESPONSE, 0x06, "rx_bad_ses"},
	{"medium header", UET_SEND, PDS + 1, 0x80, false, RESPONSE, 0x06, "rx_bad_ses"},
	{"SYN of an open connection", UET_SEND, PDS + 1, UET_SYN, false, NACK, 0x15, "rx_no_pdc"},
	{"PSN beyond the window", UET_SEND, PDS + 6, 0x40, false, NACK, 0x0b, "rx_window"},
	{"PSN of long ago", UET_SEND, PDS + 4, 0x80, false, NACK, 0x0b, "rx_window"},
	{"sender's PDCID", UET_SEND, PDS + 9, 0x01, false, NACK, 0x0f, "rx_no_pdc"},
	{"our PDCID", UET_SEND, PDS + 10, 0x01, false, NACK, 0x0e, "rx_no_pdc"},
	{"reserved opcode", UET_SEND, SES, 0x20, false, RESPONSE, 0x06, "rx_bad_ses"},
	{"SES version", UET_SEND, SES + 1, 0x40, false, RESPONSE, 0x20, "rx_bad_ses"},
	{"initiator's error", UET_SEND, SES + 1, UET_IE, false, RESPONSE, 0x23, "rx_bad_ses"},
	{"later packet without payload_length", UET_SEND, SES + 1, UET_SOM, false, RESPONSE, 0x18, "rx_bad_ses"},
	{"message id 0", UET_SEND, SES + 3, 0x04, false, RESPONSE, 0x23, "rx_bad_ses"},
	{"job id", UET_SEND, SES + 7, 0x02, false, RESPONSE, 0x1b, "rx_bad_ses"},
	{"PIDonFEP", UET_SEND, SES + 9, 0x01, false, RESPONSE, 0x1f, "rx_no_ep"},
	{"resource index", UET_SEND, SES + 10, 0x01, false, RESPONSE, 0x1f, "rx_no_ep"},
	{"payload that is not all here", UET_SEND, SES + 43, 0x01, false, NOTHING, 0, "rx_bad_short"},
	{"payload beyond request_length", UET_SEND, SES + 43, 0x60, false, RESPONSE, 0x18, "rx_bad_ses"},
	{"tagged message's job id", UET_TSEND, SES + 5, 0x80, false, RESPONSE, 0x1b, "rx_bad_ses"},
	{"key of a WRITE", UET_WRITE, SES + 31, 0x01, false, RESPONSE, 0x1c, "rma_refused"},
	{"bounds of a WRITE", UET_WRITE, SES + 12, 0x80, false, RESPONSE, 0x0c, "rma_refused"},
	{"payload of a WRITE that is not all here", UET_WRITE, SES + 43, 0x01, false, NOTHING, 0, "rx_bad_short"},
	{"payload of a WRITE beyond request_length", UET_WRITE, SES + 43, 0x60, false, RESPONSE, 0x18, "rx_bad_ses"},
	{"key of a READ", UET_READ, SES + 31, 0x01, false, RESPONSE, 0x1c, "rma_refused"},
	{"bounds of a READ", UET_READ, SES + 12, 0x80, false, RESPONSE, 0x0c, "rma_refused"},
	{"datatype of an atomic", UET_ATOMIC, AMO + 1, 0x40, false, RESPONSE, 0x10, "rx_bad_ses"},
	{"opcode of an atomic", UET_ATOMIC, AMO, 0x40, false, RESPONSE, 0x0f, "rx_bad_ses"},
	{"length of an atomic", UET_ATOMIC, SES + 43, 0x01, false, RESPONSE, 0x11, "rx_bad_ses"},
	{"key of an atomic", UET_ATOMIC, SES + 31, 0x01, false, RESPONSE, 0x1c, "rma_refused"},
};

/* What the peer sends passes here; the n-th packet is broken. */
struct breaker {
	struct conform_io io;
	const struct row *row; /* NULL: packets pass */
};

static void set_checksum(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[10] = ip[11] = 0;
	for (int i = 0; i < UDP; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = (uint8_t)(~sum >> 8);
	ip[11] = (uint8_t)~sum;
}

static bool broken_send(void *arg, const uint8_t *ip, size_t len)
{
	struct breaker *b = arg;
	uint8_t bytes[UET_PACKET_MAX];

	memcpy(bytes, ip, len);
	if (b->row) {
		bytes[b->row->at] ^= b->row->flip;
		if (b->row->checksum)
			set_checksum(bytes);
	}
	return b->io.send(b->io.arg, bytes, len);
}

static size_t receive(void *arg, uint8_t *ip, size_t room, uint64_t *left_ns)
{
	struct breaker *b = arg;
	return b->io.receive(b->io.arg, ip, room, left_ns);
}

static uint64_t counter(struct engine_box *b, const char *name)
{
	for (size_t i = 0; i < WEFT_COUNTER_COUNT; i++)
		if (!strcmp(weft_counter_descs[i].name, name))
			return *(const uint64_t *)((const char *)duo_stats(&b->duo, 0) + weft_counter_descs[i].offset);
	fail_msg("no counter %s", name);
	return 0;
}

static struct uet_pkt request(struct conform_peer *p, struct conform_pdc *pdc, enum uet_op op)
{
	static const uint8_t add_one[12] = {SUM, UINT64, [11] = 1};
	struct uet_pkt pkt = conform_request(p, pdc, op, BYTES);

	pkt.f[UET_FLAGS] |= UET_AR;
	if (op == UET_WRITE || op == UET_READ || op == UET_ATOMIC)
		pkt.f[UET_MATCH] = p->target.key;
	if (op == UET_READ)
		pkt.payload_bytes = 0;
	if (op == UET_ATOMIC) {
		pkt.payload = add_one;
		pkt.payload_bytes = sizeof add_one;
		pkt.f[UET_REQUEST_LENGTH] = sizeof add_one - 4;
	}
	return pkt;
}

/* What the row wants is the only answer; false: it is not. */
static bool answered(struct conform_peer *p, const struct row *row)
{
	enum answer got = NOTHING;
	unsigned code = 0;

	if (conform_next(p, p->target.timeout_ns)) {
		const struct uet_pkt *a = &p->got.pkt;
		got = a->f[UET_TYPE] == UET_NACK ? NACK : RESPONSE;
		code = (unsigned)a->f[got == NACK ? UET_NACK_CODE : UET_RETURN_CODE];
	}
	if (got == row->answer && code == row->code)
		return true;
	print_message("%s: answer %d with code 0x%02x instead of %d with 0x%02x\n", row->rule, got, code, row->answer,
		      row->code);
	return false;
}

/* A message in order arrives. */
static void arrives(struct engine_box *b, struct conform_peer *p, struct conform_pdc *pdc, struct uet_pkt *pkt)
{
	uint32_t id = (uint32_t)pkt->f[UET_MESSAGE];

	assert_true(conform_ask(p, pdc, pkt));
	assert_int_equal(p->got.pkt.f[UET_RETURN_CODE], UET_RC_OK);
	if (pkt->f[UET_OPCODE] == UET_SEND || pkt->f[UET_OPCODE] == UET_TSEND)
		box_expect_message(b, id, BYTES);
}

/* Returns whether all of it is as it should be. */
static bool run(struct engine_box *b, const struct row *row)
{
	struct conform_peer p;
	struct conform_pdc pdc;
	struct weft_cqe cqe;

	box_peer(b, &p);
	struct breaker breaker = {.io = p.io};
	p.io = (struct conform_io){.arg = &breaker, .send = broken_send, .receive = receive};
	conform_open(&p, &pdc, UET_RUD_REQ);
	for (int i = 0; i < 3; i++) { /* Start_PSN is not a PDCID back then */
		struct uet_pkt good = request(&p, &pdc, UET_SEND);
		arrives(b, &p, &pdc, &good);
		pdc.dpdcid = (uint16_t)p.got.pkt.f[UET_SPDCID];
	}
	struct uet_pkt bad = request(&p, &pdc, row->op);
	memset(b->region, 0x5a, BYTES);

	uint64_t before = counter(b, row->counter);
	breaker.row = row;
	conform_send(&p, &pdc, &bad);
	bool fine = answered(&p, row);
	breaker.row = NULL;
	if (counter(b, row->counter) != before + 1) {
		print_message("%s: %s is not one more\n", row->rule, row->counter);
		fine = false;
	}
	assert_false(box_completion(b, &cqe));
	for (int i = 0; i < BYTES; i++)
		assert_int_equal(b->region[i], 0x5a);

	/* A refused packet has its PSN, others may come again. */
	struct uet_pkt next = row->answer == RESPONSE ? request(&p, &pdc, UET_SEND) : bad;
	arrives(b, &p, &pdc, &next);
	return fine;
}

static void rules__hold(void **state)
{
	int bad = 0;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct engine_box *b = malloc(sizeof *b);
		assert_non_null(b);
		box_open(b, false, UET_UDP, false);
		for (uint32_t n = 0; n < BOX_RECEIVES; n++)
			box_receive(b, n, n & 1);
		bad += !run(b, &rows[i]);
		box_close(b);
		free(b);
	}
	assert_int_equal(bad, 0);
}

/* The table itself: without the broken bit every request is taken. */
static void rules__are_broken_by_the_bit_alone(void **state)
{
	static const enum uet_op ops[] = {UET_SEND, UET_TSEND, UET_WRITE, UET_READ, UET_ATOMIC};

	for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
		struct engine_box *b = malloc(sizeof *b);
		struct conform_peer p;
		struct conform_pdc pdc;
		assert_non_null(b);
		box_open(b, false, UET_UDP, false);
		for (uint32_t n = 0; n < BOX_RECEIVES; n++)
			box_receive(b, n, n & 1);
		box_peer(b, &p);
		conform_open(&p, &pdc, UET_RUD_REQ);
		struct uet_pkt pkt = request(&p, &pdc, ops[i]);
		arrives(b, &p, &pdc, &pkt);
		box_close(b);
		free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules__are_broken_by_the_bit_alone),
		cmocka_unit_test(rules__hold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
