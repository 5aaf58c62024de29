/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: what peers' requests may reach, looked up by key for each packet, so that a dead key is dead at once.
 */
#ifndef MR_RANGE_H
#define MR_RANGE_H

#include "u64map.h"
#include "weft/engine.h"

struct ses;

struct weft_mr {
	struct ses *ses;
	struct weft_mr_attr attr; /* segs: in the same memory behind us, or NULL */
	uint64_t serial;          /* tells it from a later region with the same key */
	bool broken;              /* attr.move failed once: what was copied since may be missing; nobody has access */
	uint64_t *broken_count;   /* regions that broke; the engine's */
};

/* All of an engine. */
struct mrs {
	struct u64map map; /* struct weft_mr by scope and key */
	uint64_t serial;   /* of the newest */
	const struct weft_mem *mem;
};

/* Bytes of one region that a request is about. */
struct mr_range {
	uint64_t raddr, bytes;
};

/* The region, if `access` to the range is allowed; else NULL and enum wire_rc in `rc`. */
struct weft_mr *mr_check(const struct mrs *mrs, uint32_t scope, uint64_t key, struct mr_range range, uint8_t access,
			 uint8_t *rc);

/* Copies between a range that mr_check has passed and other memory; NULL there: nothing is copied. WIRE_RC_OK, or what
 * to answer because the region is broken. */
uint8_t mr_store(struct weft_mr *mr, uint64_t raddr, const uint8_t *from, uint64_t bytes);
uint8_t mr_load(struct weft_mr *mr, uint64_t raddr, uint8_t *to, uint64_t bytes);

/* Where the CPU finds the range; NULL: in several pieces or nowhere, or it is empty. */
uint8_t *mr_at(const struct weft_mr *mr, struct mr_range range);

void mrs_init(struct mrs *mrs, const struct weft_mem *mem);
/* All regions die. */
void mrs_fini(struct mrs *mrs);

/* -EEXIST, -ENOMEM. */
int mr_add(struct mrs *mrs, const struct weft_mr_attr *attr, struct weft_mr **out);
/* From now on its key is dead; the caller frees it. */
void mr_forget(struct mrs *mrs, const struct weft_mr *mr);
/* The region with this key, or NULL. */
struct weft_mr *mr_get(const struct mrs *mrs, uint32_t scope, uint64_t key);

#endif
