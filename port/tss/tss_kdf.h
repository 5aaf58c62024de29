/* SPDX-License-Identifier: BSD-3-Clause */
/* A sender's own key, derived from that of all. */
#ifndef TSS_KDF_H
#define TSS_KDF_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/tss.h"

enum { TSS_KEY_BYTES = 32, TSS_IV_BYTES = 12 };

/* What seals the packets of one sender during one epoch. */
struct tss_material {
	uint8_t key[TSS_KEY_BYTES]; /* of AES-256 */
	uint8_t mask[TSS_IV_BYTES]; /* to be XORed to the IV */
};

/* SP 800-108 in counter mode with CMAC-AES-256, as UET's cluster keys are derived from the source. False: no memory. */
bool tss_derive(const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *src, struct tss_material *out);

#endif
