/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses that are assigned to ports: what may leave a port, and where packets go. All 128 bits of an address count.
 */
#ifndef WEFT_SWITCH_ASSIGNED_H
#define WEFT_SWITCH_ASSIGNED_H

#include <stdbool.h>
#include <stdint.h>

#include "rtnet.h"
#include "weft/addr.h"
#include "weft/spi/pkt.h"

struct assigned;

/* `conf` is copied. NULL: no memory. */
struct assigned *assigned_create(const struct rtnet_assigned *conf, uint32_t ports);
void assigned_destroy(struct assigned *a);

uint32_t assigned_uplink(const struct assigned *a);

/* Whether `port` may speak for the address: one of its own or, of the uplink, nobody's. */
bool assigned_may_send(const struct assigned *a, uint32_t port, const struct weft_ip *ip);
/* The same for the source of a packet that wire_peek takes. */
bool assigned_may_send_pkt(const struct assigned *a, uint32_t port, const struct weft_pkt *pkt);
/* The port that the packet's destination is behind. UINT32_MAX: it came from the uplink, and nobody here has that
 * address. */
uint32_t assigned_target(const struct assigned *a, uint32_t from, const struct weft_pkt *pkt);

#endif
