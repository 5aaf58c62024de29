/* SPDX-License-Identifier: BSD-3-Clause */
/* A fabric with simple hosts for tests: packets are queued by the test, every delivery is recorded. */
#ifndef WEFT_TEST_LAN_H
#define WEFT_TEST_LAN_H

#include "net.h"
#include "sim_port.h"

enum { LAN_MTU = 4260, LAN_HEAD = 72 };

struct lan;

struct lan_host {
	struct lan *lan;
	uint32_t id;
	struct weft_pkt *first, **last;          /* to send, in order */
	uint64_t data, control, trimmed, marked; /* packets delivered here; credits are control */
	uint64_t credits;                        /* ... of these */
	uint64_t bytes;                          /* wire bytes delivered here */
	weft_ps last_at;                         /* latest delivery */
	weft_ps wake_at;                         /* latest wake */
	uint32_t wakes;
	uint32_t ack_bytes; /* answer data with a control packet of this size; 0: don't */
	uint32_t ack_from;  /* ... from the n-th data packet on */
};

struct lan {
	struct weft_net *net;
	struct sim_slab *slab;
	struct lan_host *hosts;
	uint64_t freed; /* packets the fabric dropped */
	void (*on_deliver)(struct lan_host *host, const struct weft_pkt *pkt, weft_ps now); /* may be NULL */
};

/* Defaults of a configuration: no marking, no trimming, queues of 5 BDP. */
struct weft_net_conf lan_conf(void);

/* Builds on a topology (a preset, or a file of CONFIG_DIR) at `bps`; fails the test when it can't. */
void lan_open(struct lan *lan, const char *topology, uint64_t bps, struct weft_net_conf conf);
void lan_open_topo(struct lan *lan, const struct weft_topo *topo, struct weft_net_conf conf);
/* Why there is no fabric of that preset; the result of weft_net_create, which is not 0. */
int lan_refused(const char *topology, uint64_t bps, struct weft_net_conf conf, struct weft_err *err);

/* Destroys everything and checks that no packet leaked. */
void lan_close(struct lan *lan);

struct lan_send {
	uint32_t src, dst;
	uint32_t wire_bytes; /* 0: LAN_MTU */
	uint32_t count;      /* 0: 1 */
	uint16_t entropy;
	bool control, no_ect, no_trim, ordered;
	bool credit;      /* of the smallest size */
	bool spray;       /* entropy + 0, 1, 2, ... */
	bool unscheduled; /* first packets of a message, sent without credit */
};

/* Queues packets at the source without telling the fabric. */
void lan_queue(struct lan *lan, struct lan_send s);
/* ... and kicks its uplink at `now`. */
void lan_send(struct lan *lan, weft_ps now, struct lan_send s);

struct weft_net_stats lan_stats(const struct lan *lan);

/* Sum over hosts of data packets delivered. */
uint64_t lan_data(const struct lan *lan);

#endif
