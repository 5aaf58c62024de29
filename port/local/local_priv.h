/* SPDX-License-Identifier: BSD-3-Clause */
/* The port with local channels. */
#ifndef LOCAL_PRIV_H
#define LOCAL_PRIV_H

#include "local_ring.h"
#include "weft/local.h"

enum { LOCAL_BURST = 32, LOCAL_PATH_BYTES = 108 };

/* What is known of one address of the host. */
struct local_peer {
	bool is_open;   /* there is a channel */
	bool has_ended; /* nothing is sent over it any more; what is in it is received first */
	uint8_t at;     /* index in `open` of the port */
	int fd;         /* wakes the peer; it ends when the peer does */
	void *shm;
	uint64_t shm_bytes;
	struct weft_pkt *late, *late_last; /* wait for room in the ring; NULL: none. A list by `next` */
	struct local_end tx, rx;
	uint32_t rx_last;  /* has_ended: the packet with this number is the last one at most */
	weft_ns ask_at_ns; /* no channel: not to be asked for before */
};

struct local_port {
	struct weft_port port; /* first: ops get a pointer to it */
	struct weft_port *inner;
	struct weft_ip ip;
	weft_ns (*clock)(void);
	weft_ns now_ns;                /* of the latest receive */
	weft_ns look_ns;               /* when the sockets are looked at again */
	weft_ns asked_ns;              /* until then an answer may come */
	weft_ns call_ns;               /* when weft host is called again */
	int epoll_fd;                  /* what may have news */
	int door_fd;                   /* to weft host; -1: there is none */
	struct weft_ip first;          /* address of peers[0] */
	uint32_t peer_count;           /* 0: nobody is known */
	uint32_t open_count, turn;     /* channels; whose turn it is to be received from first */
	bool inner_first;              /* in the next receive */
	uint8_t open[LOCAL_PEERS_MAX]; /* peers with channels, in any order */
	struct local_peer peers[LOCAL_PEERS_MAX];
	struct weft_pkt *spare[LOCAL_BURST]; /* to receive into */
	uint32_t late_count;                 /* of all peers */
	uint16_t spare_count;
	struct weft_local_stats stats;
	char path[LOCAL_PATH_BYTES];
};

/* ---- local_talk.c: with weft host, and what comes of it ---- */

/* Looks at the sockets, calls weft host if need be. By the clock, never for each packet. */
void local_look(struct local_port *l);
/* Asks weft host for a channel to a peer that has none, if it is time to. */
void local_ask(struct local_port *l, struct local_peer *p);
/* Nothing more is sent to the peer over its channel, which is closed once it is empty. */
void local_end_channel(struct local_port *l, struct local_peer *p);
/* Closes it now. */
void local_close_channel(struct local_port *l, struct local_peer *p);

/* ---- local_late.c ---- */

/* Keeps a packet for a channel that is full, until there is room; it becomes the port's. False: there are too many, or
 * it is too large. */
bool local_late_keep(struct local_port *l, struct local_peer *p, struct weft_pkt *pkt);
/* Puts kept packets into the ring, as far as there is room. False: the ring is broken. */
bool local_late_put(struct local_port *l, struct local_peer *p);
/* Sends them the other way, as far as that has room. */
void local_late_divert(struct local_port *l, struct local_peer *p);
/* The same; what is left is dropped, and counted. */
void local_late_drop(struct local_port *l, struct local_peer *p);

/* The address of a peer. */
struct weft_ip local_peer_ip(const struct local_port *l, const struct local_peer *p);

#endif
