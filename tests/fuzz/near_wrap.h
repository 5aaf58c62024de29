/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that run over the limits of their types soon, which takes billions of packets otherwise. */
#ifndef WEFT_FUZZ_NEAR_WRAP_H
#define WEFT_FUZZ_NEAR_WRAP_H

#include "duo.h"

/* Connections that are opened from now on, of any engine, begin at this PSN; 0: where they like. The program is linked
 * with --wrap=pdc_id_take. */
void near_wrap_psn(uint32_t psn);

/* Message ids and credit of connections with nothing under way, at both sides. */
void near_wrap_counts(struct duo *d);

#endif
