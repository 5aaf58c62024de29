/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: what peers' requests may reach, looked up by key for each packet, so that a dead key is dead at once.
 */
#ifndef MR_RANGE_H
#define MR_RANGE_H

#include "weft/engine.h"

struct weft_mr {
	struct weft_engine *e;
	struct weft_mr_attr attr; /* segs: in the same memory behind us, or NULL */
	uint64_t serial;          /* tells it from a later region with the same key */
};

/* Bytes of one region that a request is about. */
struct mr_range {
	uint64_t raddr, bytes;
};

/* The region, if `access` to the range is allowed; else NULL and enum wire_rc in `rc`. */
struct weft_mr *mr_check(const struct weft_engine *e, uint32_t scope, uint64_t key, struct mr_range range,
			 uint8_t access, uint8_t *rc);

/* Copies between a range that mr_check has passed and other memory; NULL there: nothing is copied. */
void mr_store(const struct weft_mr *mr, uint64_t raddr, const uint8_t *from, uint64_t bytes);
void mr_load(const struct weft_mr *mr, uint64_t raddr, uint8_t *to, uint64_t bytes);

/* Where the range lies; NULL: in several pieces, or it is empty. */
uint8_t *mr_at(const struct weft_mr *mr, struct mr_range range);

/* All regions die; at the engine's end. */
void mrs_fini(struct weft_engine *e);

#endif
