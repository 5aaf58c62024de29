/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive window: which PSNs have arrived, which of them no SACK has reported yet, and the responses that hold the
 * cumulative acknowledgement back until the initiator has cleared them. */
#ifndef WEFT_RXWIN_H
#define WEFT_RXWIN_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "bitmap.h"
#include "likely.h"
#include "pool.h"
#include "psn.h"

enum { RXWIN_DATA_MAX = 16 }; /* bytes of data in a response (Max_ACK_Data_Size) */

/* A response that the initiator must confirm before it is forgotten (guaranteed delivery, UE 1.0 sec. 3.5): an error,
 * or one with data. */
struct gtd_rsp {
	uint64_t head; /* of the request: see struct wire_echo */
	uint32_t psn;
	uint8_t return_code;
	uint8_t data_bytes; /* of `data`; 0: it has none */
	uint32_t length;    /* of the request; with data only */
	uint8_t data[RXWIN_DATA_MAX];
};

enum { RXWIN_GTD_MAX = 32 }; /* of a connection; with more of them packets are refused for now */

/* What all windows of an engine share. */
struct rxwin_mem {
	uint32_t window_pkts; /* PSNs that are taken beyond CACK */
	uint32_t mask;        /* bits of a bitmap, a power of two >= window_pkts, less one */
	struct pool pool;     /* bitmaps of windows that have a hole */
	struct pool gtd_pool; /* RXWIN_GTD_MAX responses each */
};

struct rxwin {
	uint32_t cack_psn;        /* all up to here received and responses cleared */
	uint32_t next_expected;   /* first PSN never received */
	uint32_t ooo_pkts;        /* received above the first hole */
	uint32_t unreported_pkts; /* of these, those that are not yet in any SACK */
	uint64_t *received; /* window of PSNs above next_expected; NULL until one arrives. See also rxwin_unreported */
	uint8_t gtd_count;
	struct gtd_rsp *gtd; /* responses not cleared yet; NULL until there is the first */
};

/* A bitmap on its way out. */
struct sack {
	int16_t offset; /* of its base from CACK */
	uint64_t bits;
};

void rxwin_mem_init(struct rxwin_mem *m, const struct weft_mem *mem, uint32_t window_pkts);
void rxwin_mem_fini(struct rxwin_mem *m);

/* Empty; the first PSN expected is `psn`. */
void rxwin_init(struct rxwin *w, uint32_t psn);
void rxwin_release(struct rxwin *w, struct rxwin_mem *m);
/* Frees all it has. */
void rxwin_fini(struct rxwin *w, struct rxwin_mem *m);

/* Memory for the bitmaps; the window has none. False: there is none. */
bool rxwin_alloc(struct rxwin *w, struct rxwin_mem *m);

/* The bitmap of what is received and not yet in any SACK, which lies behind `received`. */
static inline uint64_t *rxwin_unreported(const struct rxwin *w, const struct rxwin_mem *m)
{
	assert(w->received);
	return w->received + (m->mask + 1) / 64;
}

/* Makes sure that `psn` can be marked: in order that needs nothing, ahead of a hole bitmaps. False: no memory. */
static inline bool rxwin_reserve(struct rxwin *w, struct rxwin_mem *m, uint32_t psn)
{
	return psn == w->next_expected || w->received || rxwin_alloc(w, m);
}

/* Whether the PSN is not beyond the window. It may be an earlier one, but none so old that the offset of an ACK (16
 * bits) would name another packet: its sender does not wait for it, as no window reaches that far. */
static inline bool rxwin_takes(const struct rxwin *w, const struct rxwin_mem *m, uint32_t psn)
{
	int32_t ahead = psn_diff(psn, w->cack_psn);
	return ahead <= (int32_t)m->window_pkts && ahead >= INT16_MIN;
}

static inline bool rxwin_has(const struct rxwin *w, const struct rxwin_mem *m, uint32_t psn)
{
	return psn_before(psn, w->next_expected) || (w->ooo_pkts && bitmap_test(w->received, m->mask, psn));
}

/* Whether the PSN arrived beyond the hole and no SACK has reported it. */
static inline bool rxwin_is_unreported(const struct rxwin *w, const struct rxwin_mem *m, uint32_t psn)
{
	return w->unreported_pkts && !psn_before(psn, w->next_expected) &&
	       bitmap_test(rxwin_unreported(w, m), m->mask, psn);
}

/* CACK stays below the oldest response that the initiator has not confirmed. */
static inline void rxwin_update_cack(struct rxwin *w)
{
	uint32_t cack = w->next_expected - 1;
	assert(w->gtd_count <= RXWIN_GTD_MAX);
	for (uint32_t i = 0; i < w->gtd_count; i++)
		if (psn_diff(w->gtd[i].psn, cack) <= 0)
			cack = w->gtd[i].psn - 1;
	assert(psn_before(cack, w->next_expected));
	w->cack_psn = cack;
}

/* The hole at next_expected is filled: everything contiguous is covered by CACK from now on. */
void rxwin_close_hole(struct rxwin *w, struct rxwin_mem *m);
void rxwin_mark_ooo(struct rxwin *w, const struct rxwin_mem *m, uint32_t psn);

/* The PSN has arrived: not before, within the window, and after rxwin_reserve. Returns whether it was the lowest one
 * missing below others. */
static inline bool rxwin_mark(struct rxwin *w, struct rxwin_mem *m, uint32_t psn)
{
	bool closes_hole = false;
	assert(rxwin_takes(w, m, psn) && !rxwin_has(w, m, psn));
	if (psn == w->next_expected) {
		w->next_expected++;
		if (w->ooo_pkts) {
			rxwin_close_hole(w, m);
			closes_hole = true;
		}
	} else {
		rxwin_mark_ooo(w, m, psn);
	}
	rxwin_update_cack(w);
	return closes_hole;
}

/* Keeps a response until it is cleared. False: no place. The last place is for the oldest PSN missing: the initiator
 * can't confirm anything beyond before that has arrived. */
bool rxwin_keep_response(struct rxwin *w, struct rxwin_mem *m, struct gtd_rsp rsp);
/* The same; returns it, so that data can be filled in. NULL: no place. */
struct gtd_rsp *rxwin_keep_data(struct rxwin *w, struct rxwin_mem *m, struct gtd_rsp rsp);

/* The initiator has the responses up to this PSN. */
void rxwin_clear(struct rxwin *w, uint32_t clear_psn);
void rxwin_clear_all(struct rxwin *w);

/* The response to this PSN that is kept, or NULL. */
const struct gtd_rsp *rxwin_response(const struct rxwin *w, uint32_t psn);

/* The next bitmap of a window with a hole, for an ACK triggered by this PSN; what it covers counts as reported. */
struct sack rxwin_report(struct rxwin *w, const struct rxwin_mem *m, uint32_t trigger_psn);

/* An ACK without bitmap reports its trigger alone. */
void rxwin_report_trigger(struct rxwin *w, const struct rxwin_mem *m, uint32_t trigger_psn);

#endif
