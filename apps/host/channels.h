/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels between two processes that have ports: memory that both get and nobody else, not this process either once
 * they have it. A process asks on a connection of its own (port/local/api/local_shm.h). Used by the door's thread
 * alone. Nothing waits for a process: who does not read what it is told loses its connection. */
#ifndef WEFT_HOST_CHANNELS_H
#define WEFT_HOST_CHANNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "local_shm.h"
#include "weft/time.h"

/* The process at a port, once it has connected. */
struct channel_client {
	int fd;                           /* -1: nobody */
	uint32_t peers;                   /* a bit for each port that a channel was made to */
	weft_ns made_ns[LOCAL_PEERS_MAX]; /* when the latest one to this port was, also for who was here before */
	weft_ns since_ns;                 /* what `asked` counts from */
	uint32_t asked;                   /* questions and connections */
};

struct channels {
	struct channel_client at[LOCAL_PEERS_MAX];
	struct weft_ip first; /* address of port 0; the others follow */
	uint32_t count;       /* ports */
	uint32_t mtu_bytes;   /* largest IP packet, 1..65535 */
};

void channels_init(struct channels *c, const struct weft_ip *first, uint32_t count, uint32_t mtu_bytes);

/* The connection of the process at a port; an older one ends. False: it comes too often or cannot be told anything; the
 * connection is the caller's. */
bool channels_join(struct channels *c, uint32_t port, int fd, weft_ns now);

/* One message of the process at `port`. NULL: all is well. "": it has left. Otherwise why it has to go. In either case
 * channels_leave is to be called. */
const char *channels_from_client(struct channels *c, uint32_t port, weft_ns now);

/* There is nobody at the port any more: closes the connection and tells the peers. */
void channels_leave(struct channels *c, uint32_t port);

#endif
