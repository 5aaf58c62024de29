/* SPDX-License-Identifier: BSD-3-Clause */
#include "conform_rows.h"

const struct conform_row conform_rows[] = {
	{"encapsulation", "answers are wrapped as the question was", CONFORM_AI_BASE, row_encapsulation},
	{"entropy", "answers carry the entropy of the packet they answer", CONFORM_AI_BASE, row_entropy},
	{"reserved", "reserved bits are 0", CONFORM_AI_BASE, row_reserved},
	{"job", "responses carry the job id of the request", CONFORM_AI_BASE, row_job},
	{"length", "responses have modified_length", CONFORM_AI_BASE, row_length},
	{"syn", "a SYN with data opens a connection and is acknowledged", CONFORM_AI_BASE, row_syn},
	{"syn-join", "a second SYN joins its connection", CONFORM_AI_BASE, row_syn_join},
	{"syn-late", "the first packet may arrive after the second", CONFORM_AI_BASE, row_syn_late},
	{"duplicate", "a packet sent again is acknowledged again", CONFORM_AI_BASE, row_duplicate},
	{"ecn", "a mark (CE) comes back as M", CONFORM_AI_BASE, row_ecn},
	{"rod", "reliable, ordered delivery", CONFORM_AI_BASE, row_rod},
	{"rod-gap", "a gap in ordered delivery: NACK ROD_OOO", CONFORM_AI_BASE, row_rod_gap},
	{"window", "a PSN beyond the window: NACK PSN_OOR_WINDOW", CONFORM_AI_BASE, row_window},
	{"unknown-pdc", "an unknown PDCID: NACK INV_DPDCID", CONFORM_AI_BASE, row_unknown_pdc},
	{"other-syn", "a SYN with another Start_PSN: NACK INVALID_SYN", CONFORM_AI_BASE, row_other_syn},
	{"other-mode", "an ordered packet on an unordered connection is refused", CONFORM_AI_BASE, row_other_mode},
	{"close", "CLOSE_CMD is acknowledged, and the connection gone", CONFORM_AI_BASE, row_close},
	{"probe", "PROBE: an acknowledgement with P and the opaque value", CONFORM_AI_BASE, row_probe},
	{"ack-req", "ACK_REQ: an acknowledgement for that PSN", CONFORM_AI_BASE, row_ack_req},
	{"noop", "control packet NOOP is acknowledged", CONFORM_AI_BASE, row_noop},
	{"negotiation", "NEGOTIATION is acknowledged (since 1.0.3)", CONFORM_OPTIONAL, row_negotiation},
	{"clear", "a refusal holds CACK until it is cleared", CONFORM_AI_BASE, row_clear},
	{"short", "packets that end early are dropped, and the connection lives", CONFORM_AI_BASE, row_short_packets},
	{"no-op", "operation NO_OP", CONFORM_AI_BASE, row_no_op},
	{"send", "SEND of one packet", CONFORM_AI_BASE, row_send},
	{"send-empty", "SEND of 0 bytes", CONFORM_AI_BASE, row_send_empty},
	{"send-parts", "SEND of several packets", CONFORM_AI_BASE, row_send_parts},
	{"send-data", "SEND with header data", CONFORM_AI_BASE, row_send_data},
	{"tagged", "TAGGED_SEND", CONFORM_AI_FULL, row_tagged},
	{"deferrable", "DEFERRABLE_SEND is taken as SEND", CONFORM_AI_BASE, row_deferrable},
	{"deferrable-tagged", "DEFERRABLE_TSEND is taken as TAGGED_SEND", CONFORM_AI_FULL, row_deferrable_tagged},
	{"id-gaps", "message ids 1, 3, 4", CONFORM_AI_BASE, row_id_gaps},
	{"id-order", "message ids 7, 2, 5", CONFORM_AI_BASE, row_id_order},
	{"id-zero", "message id 0 is refused with an answer", CONFORM_AI_BASE, row_id_zero},
	{"bad-job", "another job: BAD_JOB_ID", CONFORM_AI_BASE, row_bad_job},
	{"bad-pid", "no such PIDonFEP: UNDELIVERABLE or BAD_PID", CONFORM_AI_BASE, row_bad_pid},
	{"bad-index", "no such resource index: UNDELIVERABLE or BAD_INDEX", CONFORM_AI_BASE, row_bad_index},
	{"index-high", "all 12 bits of the resource index count", CONFORM_AI_BASE, row_index_high},
	{"reserved-op", "a reserved operation: UNSUPPORTED_OP", CONFORM_AI_BASE, row_reserved_op},
	{"version", "another version: UNCOR", CONFORM_AI_BASE, row_version},
	{"initiator-error", "flag IE: INITIATOR_ERROR", CONFORM_AI_BASE, row_initiator_error},
	{"msg-error", "MSG_ERROR ends a message and is answered", CONFORM_AI_BASE, row_msg_error},
	{"rendezvous", "RENDEZVOUS_SEND is served or refused", CONFORM_HPC, row_rendezvous},
	{"bad-key-write", "WRITE with an unknown key: BAD_MKEY", CONFORM_AI_BASE, row_bad_key_write},
	{"bad-key-read", "READ with an unknown key: BAD_MKEY", CONFORM_AI_FULL, row_bad_key_read},
	{"write", "WRITE of one packet", CONFORM_AI_BASE, row_write},
	{"write-parts", "WRITE of several packets", CONFORM_AI_BASE, row_write_parts},
	{"write-data", "WRITE with header data", CONFORM_AI_BASE, row_write_data},
	{"read-empty", "READ of 0 bytes", CONFORM_AI_FULL, row_read_empty},
	{"read-ack", "READ of 16 bytes: data in the acknowledgement", CONFORM_AI_FULL, row_read_ack},
	{"read", "READ of one packet: data in the return direction", CONFORM_AI_FULL, row_read},
	{"read-parts", "READ of several packets, a request for each", CONFORM_AI_FULL, row_read_parts},
	{"atomic", "ATOMIC: SUM of UINT64", CONFORM_AI_BASE, row_atomic},
	{"fetch", "FETCHING_ATOMIC: SUM of UINT64", CONFORM_AI_FULL, row_fetch},
	{"cswap", "FETCHING_ATOMIC: CSWAP of UINT64", CONFORM_AI_FULL, row_cswap},
	{"small-read", "READ with a small header", CONFORM_HPC, row_small_read},
	{"rudi", "WRITE over RUDI", CONFORM_HPC, row_rudi},
	{NULL, NULL, CONFORM_OPTIONAL, NULL},
};

/* The endpoint may keep connections of an earlier run. A SYN with the PDCID of one of them is refused, and an initiator
 * takes another PDCID then. */
static bool pdcid_was_taken(const struct conform_peer *p, enum conform_result result)
{
	const struct uet_pkt *got = &p->got.pkt;

	return result != CONFORM_PASS && got->f[UET_TYPE] == UET_NACK && got->f[UET_NACK_CODE] == UET_NACK_INVALID_SYN;
}

enum conform_result conform_run(struct conform_peer *p, const struct conform_row *row)
{
	enum { PDCIDS_TRIED = 3, PDCID_STEP = 4099 /* more than two runs open */ };
	const uint32_t excused = p->excused;

	for (int tried = 1;; tried++) {
		p->said[0] = '\0';
		p->got = (struct uet_frame){.pkt = {.payload = NULL}};
		enum conform_result result = row->run(p);
		if (tried == PDCIDS_TRIED || !pdcid_was_taken(p, result))
			return result;
		p->excused = excused;
		p->pdcid = (p->pdcid + PDCID_STEP) % UINT16_MAX + 1;
	}
}
