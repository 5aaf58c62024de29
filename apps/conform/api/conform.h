/* SPDX-License-Identifier: BSD-3-Clause */
/* A scripted peer: it plays scripts of packets against an endpoint and judges the answers by what the standard fixes.
 * The endpoint may be behind an interface (`weft conform`) or an engine of a test with a clock moved by hand. */
#ifndef WEFT_CONFORM_H
#define WEFT_CONFORM_H

#include "uet.h"

/* Where packets go and come from; all calls of one peer are made by one thread. */
struct conform_io {
	void *arg;
	/* Sends an IP packet; false: it could not be sent. */
	bool (*send)(void *arg, const uint8_t *ip, size_t len);
	/* The next IP packet, at most `room` bytes of it. Returns its bytes; 0: none came within *left_ns. That is less
	 * the time that it took then, so that packets of no use, however many, do not make a wait longer. */
	size_t (*receive)(void *arg, uint8_t *ip, size_t room, uint64_t *left_ns);
};

/* How the endpoint under test is addressed. */
struct conform_target {
	uint32_t job;        /* 24 bits */
	uint32_t pid;        /* PIDonFEP, 12 bits */
	uint32_t index;      /* resource index, 12 bits */
	uint32_t initiator;  /* our initiator id */
	uint64_t tag;        /* match bits of tagged messages */
	uint64_t key;        /* of a region that may be written, read and changed by atomics */
	uint32_t key_bytes;  /* its size; 0: no region is known, and rows that need one are skipped */
	uint32_t mtu;        /* Payload MTU, 1024, 2048, 4096 or 8192 */
	uint32_t seed;       /* PDCIDs and PSNs of ours begin there */
	uint64_t timeout_ns; /* how long an answer is waited for, before each of two repetitions and after them */
};

/* The peer; made by conform_peer_init. */
struct conform_peer {
	struct conform_io io;
	struct uet_link link;
	struct conform_target target;
	uint32_t pdcid, psn, message; /* the next ones of ours */
	struct uet_frame got;         /* the packet received last */
	uint8_t packet[UET_PACKET_MAX];
	bool repeated;    /* the last question was sent more than once: which of them is answered is open */
	uint32_t excused; /* enum conform_general, departures that have rows of their own and were found */
	char said[256];   /* how the endpoint departed; empty: it did not */
};

/* One connection that the peer opened, as it knows it. */
struct conform_pdc {
	uint8_t type;            /* UET_RUD_REQ or UET_ROD_REQ */
	uint16_t spdcid, dpdcid; /* ours; the endpoint's, 0 until its first answer */
	uint32_t start, psn;     /* Start_PSN; the next PSN */
	uint16_t entropy;        /* of the packet sent last */
};

void conform_peer_init(struct conform_peer *p, const struct conform_io *io, const struct uet_link *link,
		       const struct conform_target *target);

/* What all answers have in common. Each has a row, and an endpoint that departs there is not blamed again in others. */
enum conform_general {
	CONFORM_ENCAPSULATION = 1,
	CONFORM_ENTROPY = 2,
	CONFORM_RESERVED = 4,
	CONFORM_JOB = 8,
	CONFORM_LENGTH = 16,
	CONFORM_ALL_GENERAL = 31,
};

/* What a row found. */
enum conform_result {
	CONFORM_PASS,    /* as the standard says */
	CONFORM_DEPARTS, /* otherwise: conform_peer.said has where */
	CONFORM_REFUSED, /* an operation that is not served, refused as the standard says */
	CONFORM_SILENT,  /* no answer */
	CONFORM_SKIPPED, /* needs a region */
	CONFORM_RESULTS
};
const char *conform_result_name(enum conform_result result);

/* From which profile on the row is mandatory. */
enum conform_need { CONFORM_AI_BASE, CONFORM_AI_FULL, CONFORM_HPC, CONFORM_OPTIONAL };
const char *conform_need_name(enum conform_need need);

/* A row of the matrix. */
struct conform_row {
	const char *name;  /* short, for scripts; NULL ends the table */
	const char *title; /* what is asked */
	enum conform_need need;
	enum conform_result (*run)(struct conform_peer *p);
};
extern const struct conform_row conform_rows[];

/* Runs a row on new connections. */
enum conform_result conform_run(struct conform_peer *p, const struct conform_row *row);

/* What the standard leaves to the implementation; nothing of it is compared. Ends with a NULL name. */
struct conform_free {
	const char *name, *why;
};
extern const struct conform_free conform_free_fields[];

/* ---- steps, for rows and for tests with more to say ---- */

/* A connection nobody has heard of yet. */
void conform_open(struct conform_peer *p, struct conform_pdc *pdc, uint8_t type);

/* The only packet of a message with the next message id and PSN, and a standard header. */
struct uet_pkt conform_request(struct conform_peer *p, struct conform_pdc *pdc, enum uet_op op, uint32_t bytes);

/* Byte `i` of what message `id` carries. */
uint8_t conform_byte(uint32_t id, uint64_t i);

/* Sends one packet of the connection, requests with the payload they should have. */
void conform_send(struct conform_peer *p, struct conform_pdc *pdc, const struct uet_pkt *pkt);

/* The next packet of the endpoint, in p->got. False: none came in time. */
bool conform_next(struct conform_peer *p, uint64_t timeout_ns);

/* The same for a wait of several packets: *left_ns is less the time that it took. */
bool conform_wait(struct conform_peer *p, uint64_t *left_ns);

/* Whether p->got answers this packet. */
bool conform_answers(const struct conform_peer *p, const struct conform_pdc *pdc, const struct uet_pkt *pkt);

/* Sends with AR until an answer comes, which is p->got then. False: three times in vain. */
bool conform_ask(struct conform_peer *p, struct conform_pdc *pdc, struct uet_pkt *pkt);

/* Writes into `want` the acknowledgement of `pkt` that the standard asks for, with return code `rc`, when everything up
 * to `cack` has arrived; what it leaves free is as in `got`. */
void conform_wanted_ack(const struct uet_pkt *pkt, const struct uet_frame *got, uint32_t rc, uint32_t cack,
			struct uet_pkt *want);

/* Judges p->got as the acknowledgement of `pkt`. */
enum conform_result conform_judge_ack(struct conform_peer *p, struct conform_pdc *pdc, const struct uet_pkt *pkt,
				      uint32_t rc, uint32_t cack);

/* Judges p->got as a NACK of `pkt` with one of two codes. */
enum conform_result conform_judge_nack(struct conform_peer *p, const struct conform_pdc *pdc, const struct uet_pkt *pkt,
				       uint8_t code, uint8_t other);

/* Packet `i` of a message that is described by its first; PSNs, and offsets of SYNs, count on. */
struct uet_pkt conform_part(const struct uet_pkt *whole, uint32_t i, uint32_t mtu);

/* A whole message in packets of the Payload MTU; judged when `len` bytes have been answered. */
enum conform_result conform_message(struct conform_peer *p, struct conform_pdc *pdc, enum uet_op op, uint32_t id,
				    uint32_t len);

/* Says that everything up to here has been received: CLEAR_CMD. */
void conform_clear(struct conform_peer *p, struct conform_pdc *pdc);

/* Closes the connection; judged. */
enum conform_result conform_close(struct conform_peer *p, struct conform_pdc *pdc);

/* Notes a departure, the first of a row. Returns CONFORM_DEPARTS. */
enum conform_result conform_say(struct conform_peer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The sequence numbers of a control packet, and its fields; asked or sent as any other. */
struct uet_pkt conform_control(struct conform_peer *p, struct conform_pdc *pdc, enum uet_ctl ctl);

#endif
