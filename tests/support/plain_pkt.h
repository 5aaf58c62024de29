/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets as plain structs, which tests fill in, look at and compare. All reading and writing goes through wire's
 * check, accessors and builders. */
#ifndef WEFT_TEST_PLAIN_PKT_H
#define WEFT_TEST_PLAIN_PKT_H

#include "wire_check.h"

/* All fields of a packet that was checked by `rules`. */
void plain_of(const struct wire_view *v, const struct wire_rules *rules, struct wire_pkt *p);

enum wire_error plain_decode(const uint8_t *buf, size_t len, size_t more, uint16_t udp_port, bool require_crc,
			     struct wire_pkt *p);

size_t plain_encode(const struct wire_pkt *p, uint8_t *buf);

#endif
