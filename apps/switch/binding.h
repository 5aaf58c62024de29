/* SPDX-License-Identifier: BSD-3-Clause */
/* Which port of a switch an address belongs to. The first port that sends from an address has it. Another port gets it
 * only while that port's link is down: what else claims it, by packets or by ARP and ND, is refused. In a fabric of
 * ours the address of host h (weft_net_host_ip) is port h's from the beginning, as long as that port's link is up and
 * its host has used no other address. Addresses are told apart by their low 32 bits. */
#ifndef WEFT_SWITCH_BINDING_H
#define WEFT_SWITCH_BINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/spi/port.h"

struct bindings;

/* `ports` stay the caller's, which polls them, and outlive the bindings. NULL: no memory. */
struct bindings *bindings_create(struct weft_port *const *ports, uint32_t count);
void bindings_destroy(struct bindings *b);

/* `port` claims `addr`, which it has from now on unless it is another port's: false. A port has at most 1,024
 * addresses; of further ones nothing is remembered. */
bool bindings_claim(struct bindings *b, uint32_t port, uint32_t addr);

/* The port that has `addr`, or would have it in a fabric of ours, which may be no port at all. */
uint32_t bindings_find(const struct bindings *b, uint32_t addr);

#endif
