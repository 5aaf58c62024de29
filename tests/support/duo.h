/* SPDX-License-Identifier: BSD-3-Clause */
/* Two engines, a and b, on mock ports joined by a wire with latency; the clock is moved by hand. A test may look at
 * every packet and decide its fate. */
#ifndef WEFT_TEST_DUO_H
#define WEFT_TEST_DUO_H

#include <stdbool.h>
#include <stdint.h>

#include "plain_pkt.h"
#include "weft/engine.h"

enum duo_fate { DUO_PASS, DUO_DROP, DUO_DUP, DUO_TRIM, DUO_TRIM_LASTHOP, DUO_MARK, DUO_LATE };

/* One packet as it was handed to the wire. */
struct duo_rec {
	weft_ns at;
	int from;
	enum duo_fate fate;
	struct plain_pkt w;
};

struct duo;
struct duo_port {
	struct weft_port port;
	struct duo *duo;
	int side;
	struct weft_pkt *rx;      /* arrived or on their way, by arrival time ... */
	struct weft_pkt *rx_last; /* ... the last of them, if there are any */
	uint32_t rx_len;
	uint32_t tx_room;    /* packets taken per tx call; UINT32_MAX normally */
	uint32_t alloc_fail; /* the next so many allocations give nothing */
};

struct duo_mem {
	uint64_t calls, fail_at; /* the fail_at-th allocation returns NULL; 0: never */
	bool fail_rest;          /* and so do all after it */
	int64_t live;
};

struct duo {
	weft_ns now;
	weft_ns latency_ns; /* one way */
	weft_ns late_ns;    /* extra for DUO_LATE */
	struct duo_port port[2];
	struct weft_engine *e[2];
	struct weft_ep *ep[2];
	uint32_t peer[2]; /* peer[i]: id of the other side's endpoint at engine i */
	weft_ns due[2];
	struct duo_mem mem[2];
	int64_t pkts;     /* packets alive */
	uint64_t sent[2]; /* packets given to the wire by side */
	enum duo_fate (*fate)(void *arg, int from, const struct plain_pkt *w, uint64_t nth);
	void *fate_arg;
	/* Sees the bytes of every packet that is handed to the wire, whatever its fate; NULL: nobody does. */
	void (*tap)(void *arg, int from, const uint8_t *bytes, uint16_t len);
	void *tap_arg;
	/* Every packet that arrives has another IPv4 identification, as those of some hosts have: no network headers
	 * are seen twice. `ip_id` is the last one. */
	bool numbers_packets;
	uint16_t ip_id;
	bool logging; /* keep every packet sent in `log`, in order */
	struct duo_rec *log;
	uint32_t log_len, log_room;
};

struct duo_conf {
	struct weft_engine_tune tune;
	const struct weft_engine_tune *tune_1; /* of side 1, when it differs; else NULL */
	const char *cc, *lb;                   /* cc: any name weft_cc_select takes */
	const char *cc_1;                      /* of side 1, when it differs; else NULL */
	const char *lb_background;             /* NULL: lb */
	bool ipv6;
	uint64_t seed;
	uint32_t ring_entries; /* of the endpoints' rings */
	uint32_t cq_entries;   /* of their completion rings, when they differ; else 0 */
	/* Changes what an engine on `port` is created with; NULL: nobody does. */
	void (*adjust)(struct weft_engine_conf *ec, struct weft_port *port);
	bool ids_by_seed; /* PDCIDs begin where the seed says, as after a restart; else at 1 */
};

/* Defaults: 100 Gb/s, 10 us base RTT, fixed window, oblivious spraying, trimming. */
void duo_conf_init(struct duo_conf *conf);

/* Two hosts without engines: duo_boot starts them. */
void duo_init(struct duo *d);

/* Both engines, one endpoint each (numbers 100 and 200), each knowing the other. Fails the test on error. */
void duo_open(struct duo *d, const struct duo_conf *conf);

/* Destroys the engines and checks that no packet and no memory leaked. */
void duo_close(struct duo *d);

/* The host of a side crashes: its engine is gone, with what it had under way and the packets that have arrived. e[side]
 * and ep[side] are NULL until duo_boot, and only the other side may be polled. */
void duo_crash(struct duo *d, int side);

/* It starts again at the same address, with the numbers of conf->seed; what arrived meanwhile is lost. -ENOMEM with a
 * message, and it is down as before. */
int duo_boot(struct duo *d, const struct duo_conf *conf, int side, struct weft_err *err);

/* Polls both whenever something is due until `until` or nothing is left to do. */
void duo_run(struct duo *d, weft_ns until);

/* One poll of one side at the present time. What it is due next must not have passed. */
void duo_poll(struct duo *d, int side);

/* When a side has something to do next: what its engine said, or a packet that arrives. */
weft_ns duo_next(const struct duo *d, int side);

/* Builds an operation and submits it. */
void duo_send(struct duo *d, int side, const void *buf, uint64_t len, uint64_t tag, const void *context);
void duo_recv(struct duo *d, int side, void *buf, uint64_t len, uint64_t tag, uint64_t ignore, const void *context);

/* The next completion; false: none. */
bool duo_cqe(struct duo *d, int side, struct weft_cqe *cqe);

/* Takes the next completion of a side and checks its context and error. */
struct weft_cqe duo_expect(struct duo *d, int side, const void *context, int err);

/* One tagged message from `side` to the other: sent, received into a posted buffer, compared. */
void duo_transfer(struct duo *d, int side, uint64_t len);

/* How many packets in the log came from `side` and are of this PDS type; `psn`: only those with it, if not NULL. */
uint32_t duo_count(const struct duo *d, int side, uint8_t type, const uint32_t *psn);

/* The counters of one side's engine. */
const struct weft_stats *duo_stats(const struct duo *d, int side);

/* The nth control packet of a kind (enum wire_ctl) that `side` sent; NULL: the log has fewer. */
const struct duo_rec *duo_nth_ctl(const struct duo *d, int side, uint8_t ctl, uint32_t n);

/* A buffer with a position-dependent pattern; free() it. */
uint8_t *duo_pattern(uint64_t len, uint64_t seed);

/* Puts a packet among those of a port by its time of arrival, behind those of the same time. */
void duo_arrives(struct duo_port *to, struct weft_pkt *pkt, weft_ns at);

/* Puts raw bytes in front of an engine as if they had arrived. */
void duo_inject(struct duo *d, int to, const uint8_t *bytes, uint16_t len);

/* Encodes a packet with `w->payload_bytes` of payload and injects it as if the other side had sent it (addresses and
 * UDP port are filled in). */
void duo_inject_pkt(struct duo *d, int to, struct plain_pkt *w, const uint8_t *payload);

/* A data packet with a standard SES header for endpoint 100 or 200 of `to`: the first and only one of message 1 of a
 * new connection. Tests change what they are about and inject it. */
struct plain_pkt duo_syn(int to, uint16_t payload_bytes);

/* An ACK for this packet alone, from a hand-made target; the test adds a response. */
static inline struct plain_pkt duo_ack_of(const struct plain_pkt *request, uint8_t next_hdr)
{
	return (struct plain_pkt){.net = {.dscp = WIRE_DSCP_CONTROL, .entropy = 5},
				  .pds = {.type = WIRE_PDS_ACK_CC,
					  .next_hdr = next_hdr,
					  .flags = WIRE_F_ACK_CLEAR,
					  .spdcid = 50,
					  .dpdcid = request->pds.spdcid,
					  .psn = request->pds.psn - 1,
					  .offset = 1,
					  .mpr = 8,
					  .sack_offset = 1}};
}

#endif
