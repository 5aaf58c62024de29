/* SPDX-License-Identifier: BSD-3-Clause */
/* Four hosts and a fabric in real time between them, over rings; time is an argument. */
#ifndef WEFT_TEST_RTNET_LAB_H
#define WEFT_TEST_RTNET_LAB_H

#include "port_send.h"
#include "rtnet.h"
#include "weft/ethdev.h"

enum { HOSTS = 4, PAYLOAD = 4096, RING = 1024 };

struct lab {
	struct weft_port *host[HOSTS], *sw[HOSTS];
	struct rtnet *rtnet;
	struct weft_topo topo;
	struct weft_err err;
};

/* Once per program: setup of a group of tests. */
int lab_setup(void **state);

/* Host h's address is `base` + h. */
void lab_open(struct lab *l, uint32_t base, const struct rtnet_conf *overrides);
/* ... whose clock is at `now`. */
void lab_open_at(struct lab *l, uint32_t base, const struct rtnet_conf *overrides, weft_ns now);
void lab_close(struct lab *l);

/* A data packet; false: the port had no packet or no room. */
bool send_data(struct weft_port *port, uint32_t src, uint32_t dst, uint32_t psn);

/* Receives and frees what waits at a host; counts full data packets and trimmed ones. */
void drain(struct weft_port *port, unsigned *full, unsigned *trimmed);

#endif
