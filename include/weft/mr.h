/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that peers may read and write. All calls have the thread rules of weft_engine_poll. */
#ifndef WEFT_MR_H
#define WEFT_MR_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/decl.h"
#include "weft/ep.h"

WEFT_BEGIN_DECLS

struct weft_engine;
struct weft_mr; /* one region, the engine's */

enum weft_mr_access {
	WEFT_MR_READ = 1,   /* peers may READ, and with WRITE use atomics that fetch */
	WEFT_MR_WRITE = 2,  /* peers may WRITE and use atomics */
	WEFT_MR_EVENTS = 4, /* each access completes as WEFT_OP_REMOTE_* at the endpoint it was addressed to */
};

/* In a region's key: what it is for may be carried out more than once, so WEFT_OP_IDEMPOTENT is allowed (UE 1.0
 * sec. 3.4). */
#define WEFT_MR_KEY_IDEMPOTENT (UINT64_C(1) << 63)

/* A piece of a region. */
struct weft_mr_seg {
	void *base;     /* the caller's until weft_mr_del */
	uint64_t bytes; /* may be 0 */
};

/* Moves `bytes` between a region's memory at `at` and ordinary memory at `other`: to the region, or from it. `context`
 * is the region's. Called by the thread that polls the engine. False: the memory can't be used. The access ends with
 * EIO where its initiator can still be told, and each later one is refused: nobody takes what is missing for data. */
typedef bool (*weft_mr_move_fn)(void *context, void *at, void *other, uint64_t bytes, bool to_region);

struct weft_mr_attr {
	uint64_t key;                   /* chosen by the caller, unique within the scope */
	void *base;                     /* the caller's until weft_mr_del */
	uint64_t bytes;                 /* of the whole region */
	const struct weft_mr_seg *segs; /* its pieces when it has several, else NULL; copied */
	uint32_t seg_count;             /* of `segs` */
	uint64_t start; /* address of its first byte in the peers' requests: 0, or `base` for virtual addresses */
	uint32_t scope; /* only through endpoints of this scope (weft_ep_scope) */
	uint8_t access; /* enum weft_mr_access */
	void *context;  /* returned in REMOTE_* completions */
	/* For memory that the CPU can't use, such as a device's: all access goes through it, and what peers read is a
	 * copy. Such a region answers no READ with WEFT_OP_IDEMPOTENT, and its atomics exclude only those of this
	 * engine. NULL: ordinary memory. */
	weft_mr_move_fn move;
};

/* Longest WRITE and READ, in bytes, that are ordered among each other as they were submitted, and atomics with them: a
 * later one sees and replaces what an earlier one did. A READ of any length sees every earlier WRITE of any length, and
 * a message is matched after every earlier WRITE has ended. All this for one peer, without WEFT_OP_BACKGROUND. */
#define WEFT_RMA_ORDERED_BYTES 1024

/* Peers may use the region from now on. -EEXIST: the scope has that key, -ENOMEM. */
int weft_mr_add(struct weft_engine *e, const struct weft_mr_attr *attr, struct weft_mr **out);

/* Ends the region: nothing is read or written any more when this returns, and the memory is the caller's. What peers
 * are reading is sent from copies. */
void weft_mr_del(struct weft_mr *mr);

/* Sets WEFT_MR_EVENTS from now on. */
void weft_mr_events(struct weft_mr *mr);

/* Context of the region with this key; NULL: none. */
void *weft_mr_find(const struct weft_engine *e, uint32_t scope, uint64_t key);

/* Which regions peers reach through this endpoint; scope 0 at first. `events`: as if each had WEFT_MR_EVENTS. */
void weft_ep_scope(struct weft_ep *ep, uint32_t scope, bool events);

WEFT_END_DECLS

#endif
