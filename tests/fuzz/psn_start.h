/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections whose PSNs run over the limits of signed numbers soon. */
#ifndef WEFT_FUZZ_PSN_START_H
#define WEFT_FUZZ_PSN_START_H

#include "weft/engine.h"

/* The next connection of the engine, which has no secret, begins so many PSNs before 2^31. */
void psn_start_before_sign(struct weft_engine *e, uint32_t before);

#endif
