/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that went, of which packets had come: which of them came is not known any more, so that none of these keys may
 * come back. Kept for the life of the port, 48 bytes each, without the secrets. */
#ifndef TSS_RETIRED_H
#define TSS_RETIRED_H

#include "tss_kdf.h"
#include "weft/mem.h"

/* What tells a key from all others and shows nothing of it: its id, and what it derives for the address of nobody. */
struct tss_print {
	uint32_t id;
	struct tss_material derived;
};

/* All zero: none. */
struct tss_retired {
	struct tss_print *prints;
	uint32_t count, room;
};

/* False: no memory. */
bool tss_print_make(const struct weft_tss_key *key, struct tss_print *out);

bool tss_retired_has(const struct tss_retired *r, const struct tss_print *print);

/* Makes room for `more` prints. False: no memory. */
bool tss_retired_reserve(struct tss_retired *r, const struct weft_mem *mem, uint32_t more);

/* There is room. */
void tss_retired_add(struct tss_retired *r, const struct tss_print *print);

void tss_retired_fini(struct tss_retired *r, const struct weft_mem *mem);

#endif
