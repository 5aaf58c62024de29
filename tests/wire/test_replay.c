/* SPDX-License-Identifier: BSD-3-Clause */
/* What the initiator of each capture sent is sent again to an engine: its answers have every field that the standard
 * fixes as it says, and the payload arrives. PDCIDs of ours are learnt, everything else is as it was captured, but for
 * message ids that begin at 0: those are one more, because id 0 is refused. */
#include "capture_file.h"
#include "engine_io.h"

#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

enum {
	MESSAGES_MAX = 16,
	ANSWER_NS = 300000,
	SMALL_REGION = 4096,
	REGION = 65536,
	ACK_DATA_BYTES = 16,
	DATAGRAM_MAX = 2048
};

/* What is replayed. `why`: does not pass yet. */
static const struct script {
	const char *file;
	uint8_t first;  /* the initiator is 10.99.0.1 */
	uint8_t raised; /* message ids begin at 0 */
	uint32_t region_bytes;
	const char *why;
} scripts[] = {
	{"no_answer.pcap", 1, 0, REGION, NULL},  {"ids.pcap", 1, 1, REGION, NULL},
	{"id_gap.pcap", 1, 0, REGION, NULL},     {"job.pcap", 0, 0, REGION, NULL},
	{"deferrable.pcap", 1, 1, REGION, NULL}, {"ordered.pcap", 1, 1, REGION, NULL},
	{"read16.pcap", 1, 1, REGION, NULL},     {"read3000.pcap", 1, 1, REGION, NULL},
	{"read1000.pcap", 0, 0, REGION, NULL},   {"close_req.pcap", 0, 0, REGION, NULL},
	{"bad_index.pcap", 1, 0, REGION, NULL},  {"bad_key.pcap", 1, 1, SMALL_REGION, NULL},
};
enum { SCRIPTS = sizeof scripts / sizeof scripts[0] };

/* A message that has to arrive. */
struct message {
	uint32_t id, bytes;
	uint64_t data;          /* header data, with has_data */
	bool has_data, written; /* written: by a WRITE with header data */
	uint8_t *content;
};

struct replay {
	struct engine_box box;
	struct conform_peer peer;
	struct conform_pdc pdc;
	const struct script *script;
	uint32_t high;                         /* highest PSN sent */
	uint32_t messages, read, answered;     /* counts: messages begun, bytes that came back, answers judged */
	struct message sent[MESSAGES_MAX + 1]; /* that should complete at the target */
	uint8_t data[REGION];                  /* what came back */
};

/* Where a packet's bytes belong in its message. */
static uint32_t offset_of(const struct uet_pkt *pkt)
{
	return pkt->f[UET_SES_FLAGS] & UET_SOM ? 0 : (uint32_t)pkt->f[UET_MESSAGE_OFFSET];
}

static bool is_message(const struct uet_pkt *pkt)
{
	uint64_t op = pkt->f[UET_OPCODE];
	return op == UET_SEND || op == UET_TSEND || op == UET_DEFER_SEND || op == UET_DEFER_TSEND;
}

/* The return code a request must get; 0: any but OK. */
static uint32_t expected_code(const struct replay *r, const struct uet_pkt *pkt)
{
	uint64_t op = pkt->f[UET_OPCODE];

	if (pkt->f[UET_MESSAGE] == 0)
		return 0;
	if (pkt->f[UET_INDEX] != BOX_NUMBER)
		return UET_RC_UNDELIVERABLE;
	if (op != UET_WRITE && op != UET_READ)
		return UET_RC_OK;
	if (pkt->f[UET_MATCH] != BOX_KEY)
		return UET_RC_BAD_MKEY;
	bool inside = pkt->f[UET_BUFFER_OFFSET] + pkt->f[UET_REQUEST_LENGTH] <= r->script->region_bytes;
	return inside ? UET_RC_OK : UET_RC_AT_OUT_OF_RANGE;
}

/* Notes what should arrive. */
static void remember(struct replay *r, const struct uet_pkt *pkt)
{
	struct message *m = &r->sent[r->messages ? r->messages - 1 : 0];

	bool written = pkt->f[UET_OPCODE] == UET_WRITE && pkt->f[UET_SES_FLAGS] & UET_HD;
	if ((!is_message(pkt) && !written) || expected_code(r, pkt) != UET_RC_OK)
		return;
	if (pkt->f[UET_SES_FLAGS] & UET_SOM && !(pkt->f[UET_FLAGS] & UET_RETX)) {
		assert_true(r->messages < MESSAGES_MAX);
		m = &r->sent[r->messages++];
		*m = (struct message){.id = (uint32_t)pkt->f[UET_MESSAGE],
				      .bytes = (uint32_t)pkt->f[UET_REQUEST_LENGTH],
				      .data = pkt->f[UET_HEADER_DATA],
				      .written = written,
				      .has_data = pkt->f[UET_SES_FLAGS] & UET_HD,
				      .content = calloc(1, pkt->f[UET_REQUEST_LENGTH] + 1)};
		assert_non_null(m->content);
	}
	assert_true(offset_of(pkt) + pkt->payload_bytes <= m->bytes);
	memcpy(m->content + offset_of(pkt), pkt->payload, pkt->payload_bytes);
}

/* Data of a READ, in an acknowledgement or in the return direction, which is acknowledged. */
static void take_data(struct replay *r)
{
	const struct uet_pkt *got = &r->peer.got.pkt;
	uint32_t at = (uint32_t)got->f[UET_MESSAGE_OFFSET];

	if (got->f[UET_NEXT] != UET_RSP_DATA || at + got->payload_bytes > sizeof r->data)
		return;
	memcpy(r->data + at, got->payload, got->payload_bytes);
	r->read += got->payload_bytes;
	if (got->f[UET_TYPE] != UET_RUD_REQ)
		return;
	if (got->f[UET_FLAGS] & UET_SYN || got->f[UET_DPDCID] != r->pdc.spdcid)
		conform_say(&r->peer, "data comes on another connection");
	struct uet_pkt ack = {.f = {[UET_TYPE] = UET_ACK,
				    [UET_CACK] = got->f[UET_PSN],
				    [UET_SPDCID] = r->pdc.spdcid,
				    [UET_DPDCID] = r->pdc.dpdcid}};
	uint16_t entropy = r->pdc.entropy;
	conform_send(&r->peer, &r->pdc, &ack);
	r->pdc.entropy = entropy; /* of the question, whose answer may still come */
}

/* Waits for the answer to a packet. */
static bool await(struct replay *r, const struct uet_pkt *pkt)
{
	while (conform_next(&r->peer, ANSWER_NS)) {
		take_data(r);
		if (conform_answers(&r->peer, &r->pdc, pkt))
			return true;
	}
	return false;
}

static void judge(struct replay *r, const struct uet_pkt *pkt)
{
	bool control = pkt->f[UET_TYPE] == UET_CP;
	const struct uet_pkt *got = &r->peer.got.pkt;
	uint32_t psn = (uint32_t)pkt->f[UET_PSN], rc = control ? UET_RC_OK : expected_code(r, pkt);

	r->answered++;
	if (control && pkt->f[UET_NEXT] == UET_PROBE)
		return;
	if (!rc && got->f[UET_RETURN_CODE] > UET_RC_OK)
		rc = (uint32_t)got->f[UET_RETURN_CODE];
	if (pkt->f[UET_OPCODE] == UET_READ && got->f[UET_NEXT] == UET_RSP_DATA) {
		if (pkt->f[UET_REQUEST_LENGTH] > ACK_DATA_BYTES)
			conform_say(&r->peer, "%u bytes in an acknowledgement", (unsigned)pkt->f[UET_REQUEST_LENGTH]);
		return;
	}
	conform_judge_ack(&r->peer, &r->pdc, pkt, rc, rc == UET_RC_OK ? r->high : psn - 1);
}

/* What a WRITE has left when its last packet is acknowledged. */
static void check_written(struct replay *r, const struct uet_pkt *pkt)
{
	if (pkt->f[UET_OPCODE] != UET_WRITE || expected_code(r, pkt) != UET_RC_OK)
		return;
	const uint8_t *at = r->box.region + pkt->f[UET_BUFFER_OFFSET] + offset_of(pkt);
	if (memcmp(at, pkt->payload, pkt->payload_bytes) != 0)
		conform_say(&r->peer, "bytes of a WRITE are not in the region");
}

static void play_packet(struct replay *r, const struct uet_pkt *captured)
{
	struct uet_pkt pkt = *captured;
	bool control = pkt.f[UET_TYPE] == UET_CP;

	if (!control && pkt.f[UET_TYPE] != UET_RUD_REQ && pkt.f[UET_TYPE] != UET_ROD_REQ)
		return;
	if (!r->pdc.spdcid) {
		r->pdc.spdcid = (uint16_t)pkt.f[UET_SPDCID];
		r->pdc.start = r->high = (uint32_t)(pkt.f[UET_PSN] - (pkt.f[UET_DPDCID] & 0xfff));
	}
	if (!(pkt.f[UET_FLAGS] & UET_SYN))
		pkt.f[UET_DPDCID] = r->pdc.dpdcid;
	if (!control)
		pkt.f[UET_MESSAGE] += r->script->raised;
	if (pkt.f[UET_PSN] && (int32_t)((uint32_t)pkt.f[UET_PSN] - r->high) > 0)
		r->high = (uint32_t)pkt.f[UET_PSN];
	if (!control)
		remember(r, &pkt);
	conform_send(&r->peer, &r->pdc, &pkt);
	if (!(pkt.f[UET_FLAGS] & UET_AR))
		return;
	if (!await(r, &pkt)) {
		conform_say(&r->peer, "no answer to PSN %u", (unsigned)pkt.f[UET_PSN]);
		return;
	}
	judge(r, &pkt);
	if (!control)
		check_written(r, &pkt);
}

/* Every message arrived, in the order of sending, and nothing else. */
static void check_arrived(struct replay *r)
{
	struct weft_cqe cqe;

	for (uint32_t i = 0; i < r->messages; i++) {
		const struct message *m = &r->sent[i];
		if (!box_completion(&r->box, &cqe)) {
			conform_say(&r->peer, "message %u did not arrive", m->id);
			return;
		}
		bool same =
			m->written ? cqe.kind == WEFT_OP_REMOTE_WRITE : memcmp(cqe.context, m->content, m->bytes) == 0;
		if (cqe.err || cqe.len != m->bytes || !same)
			conform_say(&r->peer, "message %u arrived with error %d and %u bytes, or others", m->id,
				    cqe.err, (unsigned)cqe.len);
		if (m->has_data && (!(cqe.flags & WEFT_OP_HAS_DATA) || cqe.data != m->data))
			conform_say(&r->peer, "message %u arrived without its header data", m->id);
	}
	if (box_completion(&r->box, &cqe))
		conform_say(&r->peer, "a completion too many");
}

static void check_read(struct replay *r, uint32_t bytes)
{
	if (r->read < bytes || memcmp(r->data, r->box.region, bytes) != 0)
		conform_say(&r->peer, "%u of %u bytes were read, or others", r->read, bytes);
}

static void prepare(struct replay *r, const struct script *script, enum uet_encap encap)
{
	r->script = script;
	box_open(&r->box, false, encap, true);
	box_region(&r->box, script->region_bytes);
	box_peer(&r->box, &r->peer);
	for (uint32_t i = 0; i < script->region_bytes; i++)
		r->box.region[i] = conform_byte(5, i);
	for (uint32_t i = 0; i < BOX_RECEIVES; i++)
		box_receive(&r->box, i, i & 1);
}

/* One script. Returns 1 when it fails without a mark. */
static int play(const struct script *script, enum uet_encap encap)
{
	struct replay *r = calloc(1, sizeof *r);
	struct capture *c = malloc(sizeof *c);
	uint32_t reads = 0;

	assert_true(r && c);
	prepare(r, script, encap);
	capture_load(c, script->file);
	for (uint32_t i = 0; i < c->count; i++) {
		const struct capture_packet *p = &c->packets[i];
		if (!p->uet || p->from_first != script->first)
			continue;
		if (p->frame.pkt.f[UET_TYPE] == UET_RUD_REQ && p->frame.pkt.f[UET_OPCODE] == UET_READ &&
		    p->frame.pkt.f[UET_NEXT] == UET_STANDARD)
			reads = (uint32_t)p->frame.pkt.f[UET_REQUEST_LENGTH];
		play_packet(r, &p->frame.pkt);
	}
	while (conform_next(&r->peer, ANSWER_NS))
		take_data(r);
	check_arrived(r);
	check_read(r, reads);
	assert_true(r->answered > 0 || *r->peer.said);
	bool fine = !*r->peer.said;
	if (fine != !script->why)
		print_message("%s: %s%s\n", script->file, fine ? "passes; take its mark away: " : r->peer.said,
			      fine ? script->why : "");
	capture_free(c);
	while (r->messages)
		free(r->sent[--r->messages].content);
	box_close(&r->box);
	free(c);
	free(r);
	return !fine && !script->why;
}

static void replay_native(void **state)
{
	int bad = 0;
	for (int i = 0; i < SCRIPTS; i++)
		bad += play(&scripts[i], UET_NATIVE);
	assert_int_equal(bad, 0);
}

static void replay_udp(void **state)
{
	int bad = 0;
	for (int i = 0; i < SCRIPTS; i++)
		bad += play(&scripts[i], UET_UDP);
	assert_int_equal(bad, 0);
}

/* A datagram endpoint gets what was sent, in either form of the header, and answers nothing. */
static void play_datagrams(const char *file, enum uet_encap encap)
{
	struct replay *r = calloc(1, sizeof *r);
	struct capture *c = malloc(sizeof *c);
	struct weft_err err = {""};
	struct weft_ep *ep;
	uint32_t datagrams = 0;
	uint8_t in[DATAGRAM_MAX];

	assert_true(r && c);
	prepare(r, &scripts[0], encap);
	weft_ep_close(r->box.ep); /* its number is the datagrams' */
	duo_poll(&r->box.duo, 0);
	assert_int_equal(weft_ep_open_dgram(r->box.duo.e[0], BOX_NUMBER, 64, 256, &ep, &err), 0);
	r->box.ep = ep;
	capture_load(c, file);
	for (uint32_t i = 0; i < c->count; i++) {
		const struct uet_pkt *pkt = &c->packets[i].frame.pkt;
		struct weft_cqe cqe;
		if (!c->packets[i].uet || pkt->f[UET_TYPE] != UET_UUD_REQ)
			continue;
		const struct weft_op recv = {
			.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = in, .len = sizeof in, .context = in};
		assert_int_equal(weft_submit(ep, &recv), 0);
		struct uet_pkt sent = *pkt;
		sent.f[UET_INDEX] = BOX_NUMBER;
		conform_send(&r->peer, &r->pdc, &sent);
		assert_false(conform_next(&r->peer, ANSWER_NS));
		assert_true(box_completion(&r->box, &cqe));
		assert_int_equal(cqe.err, 0);
		assert_int_equal(cqe.len, pkt->payload_bytes);
		assert_memory_equal(in, pkt->payload, pkt->payload_bytes);
		datagrams++;
	}
	assert_true(datagrams > 0);
	capture_free(c);
	box_close(&r->box);
	free(c);
	free(r);
}

static void replay_datagrams(void **state)
{
	for (int encap = UET_NATIVE; encap <= UET_UDP; encap++) {
		play_datagrams("uud_standard.pcap", (enum uet_encap)encap);
		play_datagrams("uud_medium.pcap", (enum uet_encap)encap);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(replay_native), cmocka_unit_test(replay_udp),
					   cmocka_unit_test(replay_datagrams)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
