/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ports that encrypt, on ports of the test joined by a wire that the test plays. */
#ifndef TSS_PAIR_H
#define TSS_PAIR_H

#include <stdbool.h>

#include "weft/tss.h"

enum {
	PAIR_PKTS = 256,       /* of a port of the test */
	PAIR_IP_BYTES = 9000,  /* that it carries */
	PAIR_NUMBER_AT = 44,   /* of the packet's number, in the packets of pair_pkt, once sealed */
	PAIR_INNER_BYTES = 60, /* behind UDP, in the packets of pair_pkt */
};
#define PAIR_FIRST UINT64_C(0x1234000000000005)

/* A port of the test. */
struct wire_end {
	struct weft_port port;
	struct weft_pkt pkts[PAIR_PKTS], *unused[PAIR_PKTS];
	uint8_t bytes[PAIR_PKTS][PAIR_IP_BYTES + 64];
	uint32_t unused_n;
	struct weft_pkt *sent[PAIR_PKTS], *arrived[PAIR_PKTS];
	uint32_t sent_n, arrived_n;
	uint32_t room; /* packets that tx still takes */
	bool is_closed;
};

struct tss_pair {
	struct wire_end ends[2];
	struct weft_port *ports[2]; /* 10.0.0.1 and 10.0.0.2, or 2001:db8::1 and ::2 */
	struct weft_tss_keys keys;
};

/* Keys 6 and 7; 7 seals. */
void pair_open(struct tss_pair *p, bool v6, bool no_cryptodev, uint64_t first_number);
void pair_close(struct tss_pair *p);
/* Opens one end, under which the end of the test is empty. */
void pair_open_end(struct tss_pair *p, int end, const struct weft_tss_conf *conf);

/* A packet of the test's, as the engine makes them: `mark` is in it. UDP over IPv4, or without UDP over IPv6. */
struct weft_pkt *pair_pkt(struct tss_pair *p, int from, bool v6, uint8_t mark);
/* Its bytes, all in one piece; returns their number. */
uint32_t pair_plain(bool v6, uint8_t mark, uint8_t *out);

/* Sends one, which the port takes. */
void pair_send(struct tss_pair *p, int from, bool v6, uint8_t mark);
/* The sealed packet at `i` among those sent. */
struct weft_pkt *pair_sent(struct tss_pair *p, int from, uint32_t i);
/* Brings a copy to the other end, or to this one. */
void pair_bring(struct tss_pair *p, int to, const struct weft_pkt *pkt);
void pair_bring_bytes(struct tss_pair *p, int to, const uint8_t *bytes, uint32_t n);
/* All that was sent goes to the other end. */
void pair_carry(struct tss_pair *p, int from);
/* Receives all there is; the packets must be as pair_pkt made them, in this order of marks. */
void pair_expect(struct tss_pair *p, int at, bool v6, const uint8_t *marks, uint32_t n);
/* Receives all there is, which must be nothing. */
void pair_expect_none(struct tss_pair *p, int at);

struct weft_tss_stats pair_stats(const struct tss_pair *p, int end);
/* Received packets that are counted, in all rows together. */
uint64_t pair_counted(const struct tss_pair *p, int end);

#endif
