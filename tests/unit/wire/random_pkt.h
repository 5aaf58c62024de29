/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets with random fields, only those which their type and form carry; the others are 0. */
#ifndef WEFT_TEST_WIRE_RANDOM_PKT_H
#define WEFT_TEST_WIRE_RANDOM_PKT_H

#include "plain_pkt.h"
#include "rng.h"

/* `ext` picks an extension where the form may have one: 0 none, 1 atomic, 2 compare and swap, 3 rendezvous. */
void random_pkt(struct rng *r, uint8_t type, uint8_t next_hdr, unsigned ext, struct plain_pkt *p);

#endif
