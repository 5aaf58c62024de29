/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that does what AI Base asks for and nothing else, written from the standard's tables: initiator and target,
 * with retransmission, so that packets may be lost. It acknowledges every packet by a plain ACK, offers no window,
 * knows no probes of padding, no credit, no rendezvous and no vendor codes, and judges every field of what the engine
 * sends. */
#ifndef WEFT_TEST_BASE_PEER_H
#define WEFT_TEST_BASE_PEER_H

#include "engine_io.h"

enum { BASE_PDCS = 64, BASE_OUT = 4096, BASE_PSNS = 16384, BASE_MESSAGES = 512 };

/* What the engine's messages and WRITEs carry: bytes of this id, whatever their message id is. */
enum { BASE_CONTENT = 9 };

/* A connection, opened by either side; both directions. */
struct base_pdc {
	struct conform_pdc pdc;
	bool theirs;
	bool seen[BASE_PSNS]; /* PSNs of theirs, from Start_PSN */
	uint32_t cack;        /* all below have arrived, from Start_PSN */
	uint32_t held_code;   /* its return code; 0: it is data */
	uint32_t held;        /* a response that waits to be cleared, from Start_PSN; with `holds` */
	bool holds;
	uint32_t back; /* PSNs of ours in the return direction, from Start_PSN */
};

/* A packet of ours that needs an acknowledgement. */
struct base_out {
	struct uet_pkt pkt;
	struct base_pdc *on;
	weft_ns sent;
	bool acked;
};

struct base_peer {
	struct conform_peer p; /* the first departure of the engine is in p.said */
	struct engine_box *box;
	struct base_pdc pdcs[BASE_PDCS];
	uint32_t pdc_count;
	struct base_out out[BASE_OUT];
	uint32_t out_count, out_done;
	struct base_message {
		uint32_t id, op, bytes, have;
	} messages[BASE_MESSAGES]; /* of the engine's, in the order of their first packets */
	uint32_t message_count;
	uint32_t refuse;     /* return code for everything new; 0: none */
	uint32_t read_id;    /* of our READ */
	uint64_t read_bytes; /* that came back for it */
	uint32_t refused;    /* return code of the last answer to us that was not OK */
};

void base_open(struct base_peer *bp, struct engine_box *b);

/* Goes on until nothing is outstanding and nothing has come for a while. */
void base_run(struct base_peer *bp);

/* Sends a message, WRITE or READ on a connection of our own; base_run delivers it. Returns its message id. */
uint32_t base_start(struct base_peer *bp, enum uet_op op, uint32_t bytes);

#endif
