/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets put into a port, without an engine. */
#ifndef WEFT_TEST_PORT_SEND_H
#define WEFT_TEST_PORT_SEND_H

#include <stdbool.h>

#include "plain_pkt.h"
#include "weft/spi/port.h"

/* Encodes `w` into a packet of the port's, with w->payload_bytes of payload by reference, and sends it. False: the port
 * had no packet or no room. */
bool port_send(struct weft_port *port, const struct plain_pkt *w, const uint8_t *payload);

/* A trimmable data packet between two IPv4 addresses, which is a whole message. */
struct plain_pkt port_data_pkt(uint32_t src, uint32_t dst, uint16_t entropy, uint32_t psn, uint16_t payload_bytes);

#endif
