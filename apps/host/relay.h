/* SPDX-License-Identifier: BSD-3-Clause */
/* Between a client and DPDK's vhost-user server, which trusts what it reads: its one thread waits for the rest of a
 * message that began, maps whatever file it gets, and asks nobody who is there. A relay hands on whole messages alone,
 * of the kinds a virtio-user device needs, with files that can neither end nor block under who uses them. */
#ifndef WEFT_HOST_RELAY_H
#define WEFT_HOST_RELAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RELAY_FDS = 8, RELAY_HEADER_BYTES = 12, RELAY_PAYLOAD_MAX = 512, RELAY_RINGS = 2 };

struct relay {
	int client;   /* -1: closed */
	int backend;  /* -1: nothing was said yet */
	uint32_t got; /* bytes of the message that comes in */
	uint32_t fd_count;
	int fds[RELAY_FDS]; /* that came with it */
	uint8_t message[RELAY_HEADER_BYTES + RELAY_PAYLOAD_MAX];
	/* What DPDK has mapped. */
	uint32_t region_count;
	int region_fds[RELAY_FDS];
	off_t region_bytes[RELAY_FDS];
	/* Where DPDK tells the client of what it did; -1: nowhere. */
	int call_fds[RELAY_RINGS];
};

/* `client` becomes the relay's. */
void relay_open(struct relay *r, int client);
/* DPDK sees its client leave. */
void relay_close(struct relay *r);

/* The client has something: hands on what is whole. `backend_path` is connected to when the first message is. NULL, or
 * why the client has to go: a constant text; "" when it left. */
const char *relay_from_client(struct relay *r, const char *backend_path);
/* The backend has something. As above. */
const char *relay_from_backend(struct relay *r);

/* Whether a file that is mapped has become shorter than it was. */
bool relay_has_lost_memory(const struct relay *r);

/* Whether an event of the client's is full: who writes to it waits. */
bool relay_has_full_event(const struct relay *r);

#endif
