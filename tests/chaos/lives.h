/* SPDX-License-Identifier: BSD-3-Clause */
/* Two hosts that send each other messages while packets get lost, hosts crash and memory is short. */
#ifndef WEFT_LIVES_H
#define WEFT_LIVES_H

#include "duo.h"
#include "rng.h"

enum { LIVES_MESSAGES = 512, LIVES_BYTES = 65536, LIVES_SPARE = 8 };

/* One run, as the command line says; lives_options describes the numbers. */
struct lives_conf {
	uint64_t seed;
	uint32_t rounds, messages, bytes;
	uint32_t crashes, down_us;
	uint32_t loss_ppm, dup_ppm, late_ppm, trim_ppm, mark_ppm, late_ns;
	uint32_t outages, outage_us;
	uint32_t nomem, boot_nomem;
	uint8_t nomem_rest;
};
extern const struct weft_param lives_options[];

/* A message. Its tag is its index, and its bytes follow from that. */
struct lives_msg {
	uint8_t *buf; /* NULL: not sent, or ended */
	uint32_t len;
	int from;
	uint32_t life[2]; /* of both hosts when it was submitted */
	weft_ns ended_at; /* with success, error, or its host; WEFT_NEVER: not yet */
	int err;
	uint32_t taken;      /* times delivered */
	uint32_t taken_life; /* life of the receiver in which it was delivered last */
	bool sent;           /* submitted */
};

struct lives_recv {
	uint8_t *buf; /* NULL: ended, or its host's life is over */
	int side;
};

struct lives {
	struct lives_conf conf;
	struct duo_conf duo;
	struct duo d;
	struct rng dice, wire;
	bool bad;           /* the wire loses, repeats and delays packets */
	weft_ns dark_until; /* no packet passes before */
	bool up[2];
	uint32_t life[2], round_life[2]; /* number of the present life, and when the round began */
	weft_ns born[2];
	struct lives_msg msgs[LIVES_MESSAGES];
	struct lives_recv recvs[2 * (LIVES_MESSAGES + LIVES_SPARE)];
	uint32_t msg_count, recv_count; /* of the round */
	uint64_t delivered, failed, crashed, boots_refused;
};

/* A packet comes within this time or never. */
static inline weft_ns lives_late_ns(const struct lives *l)
{
	return l->conf.late_ns + 2 * l->d.latency_ns;
}

/* ---- lives_msgs.c ---- */

/* Posts the receives of a host for all that may come in a round. */
void lives_post(struct lives *l, int side);

/* Submits one message; nothing when its host is down or has no memory. */
void lives_send(struct lives *l);

/* Takes a host's completions and checks them. */
void lives_collect(struct lives *l, int side);

/* What a host had under way ends with it. */
void lives_drop(struct lives *l, int side);

void lives_cancel(struct lives *l);

/* Messages and receives that have not ended; messages of which the receiver is owed the delivery. */
uint32_t lives_open_sends(const struct lives *l);
uint32_t lives_open_recvs(const struct lives *l);
uint32_t lives_owed(const struct lives *l);

/* A host of this message crashed while it was under way, or its receiver did earlier in this round, and a connection to
 * the life before may be left. */
bool lives_exposed(const struct lives *l, const struct lives_msg *m);

#endif
