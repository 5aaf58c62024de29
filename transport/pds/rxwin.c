/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxwin.h"

#include <string.h>

enum { BITS_MIN = 64, WINDOWS_PER_BLOCK = 4 };

void rxwin_mem_init(struct rxwin_mem *m, const struct weft_mem *mem, uint32_t window_pkts)
{
	uint32_t bits = BITS_MIN;
	assert(window_pkts > 0);
	while (bits < window_pkts)
		bits *= 2;
	m->window_pkts = window_pkts;
	m->mask = bits - 1;
	pool_init(&m->pool, mem, bits / 8 * 2, WINDOWS_PER_BLOCK);
	pool_init(&m->gtd_pool, mem, RXWIN_GTD_MAX * sizeof(struct gtd_rsp), WINDOWS_PER_BLOCK);
}

void rxwin_mem_fini(struct rxwin_mem *m)
{
	pool_fini(&m->pool);
	pool_fini(&m->gtd_pool);
}

void rxwin_init(struct rxwin *w, uint32_t psn)
{
	*w = (struct rxwin){.next_expected = psn, .cack_psn = psn - 1};
}

bool __attribute__((noinline)) rxwin_alloc(struct rxwin *w, struct rxwin_mem *m)
{
	assert(!w->received && !w->ooo_pkts && !w->unreported_pkts);
	w->received = pool_get(&m->pool);
	if (!w->received)
		return false;
	uint32_t words = (m->mask + 1) / 64;
	memset(w->received, 0, 2 * words * sizeof(uint64_t));
	return true;
}

void rxwin_release(struct rxwin *w, struct rxwin_mem *m)
{
	assert(w->received || !w->ooo_pkts);
	if (w->received)
		pool_put(&m->pool, w->received);
	w->received = NULL;
}

void rxwin_fini(struct rxwin *w, struct rxwin_mem *m)
{
	rxwin_release(w, m);
	if (w->gtd)
		pool_put(&m->gtd_pool, w->gtd);
	w->gtd = NULL;
}

void __attribute__((noinline)) rxwin_close_hole(struct rxwin *w, struct rxwin_mem *m)
{
	uint32_t run = bitmap_run(w->received, m->mask, w->next_expected, m->window_pkts);
	assert(run <= w->ooo_pkts);
	for (uint32_t i = 0; i < run; i += 64) {
		uint32_t n = run - i < 64 ? run - i : 64;
		uint64_t bits = bitmap_get64(rxwin_unreported(w, m), m->mask, w->next_expected + i);
		bits &= n < 64 ? ~(UINT64_MAX << n) : UINT64_MAX;
		w->unreported_pkts -= (uint32_t)__builtin_popcountll(bits);
	}
	bitmap_clear_range(w->received, m->mask, w->next_expected, run);
	bitmap_clear_range(rxwin_unreported(w, m), m->mask, w->next_expected, run);
	w->next_expected += run;
	w->ooo_pkts -= run;
	assert(w->unreported_pkts <= w->ooo_pkts);
	if (!w->ooo_pkts)
		rxwin_release(w, m);
}

void rxwin_mark_ooo(struct rxwin *w, const struct rxwin_mem *m, uint32_t psn)
{
	assert(w->received && psn - w->next_expected <= m->mask);
	bitmap_set(w->received, m->mask, psn);
	bitmap_set(rxwin_unreported(w, m), m->mask, psn);
	w->unreported_pkts++;
	w->ooo_pkts++;
	assert(w->unreported_pkts <= w->ooo_pkts && w->ooo_pkts <= m->window_pkts);
}

struct gtd_rsp *rxwin_keep_data(struct rxwin *w, struct rxwin_mem *m, struct gtd_rsp rsp)
{
	assert(!rxwin_response(w, rsp.psn) && rsp.data_bytes <= RXWIN_DATA_MAX);
	if (w->gtd_count >= (rsp.psn == w->next_expected ? RXWIN_GTD_MAX : RXWIN_GTD_MAX - 1))
		return NULL;
	if (!w->gtd)
		w->gtd = pool_get(&m->gtd_pool);
	if (!w->gtd)
		return NULL;
	struct gtd_rsp *kept = &w->gtd[w->gtd_count++];
	*kept = rsp;
	return kept;
}

bool rxwin_keep_response(struct rxwin *w, struct rxwin_mem *m, struct gtd_rsp rsp)
{
	return rxwin_keep_data(w, m, rsp);
}

void rxwin_clear(struct rxwin *w, uint32_t clear_psn)
{
	if (!w->gtd_count ||
	    !psn_before(clear_psn, w->next_expected)) /* who has the answers has sent all before them */
		return;
	uint8_t kept = 0;
	for (uint8_t i = 0; i < w->gtd_count; i++)
		if (psn_after(w->gtd[i].psn, clear_psn))
			w->gtd[kept++] = w->gtd[i];
	w->gtd_count = kept;
	rxwin_update_cack(w);
}

void rxwin_clear_all(struct rxwin *w)
{
	w->gtd_count = 0;
	rxwin_update_cack(w);
}

const struct gtd_rsp *rxwin_response(const struct rxwin *w, uint32_t psn)
{
	for (uint32_t i = 0; i < w->gtd_count; i++)
		if (w->gtd[i].psn == psn)
			return &w->gtd[i];
	return NULL;
}

/* ---- SACK ---- */

static void note_reported(struct rxwin *w, const struct rxwin_mem *m, uint32_t base, uint64_t reported)
{
	uint64_t *unreported = rxwin_unreported(w, m);
	reported &= bitmap_get64(unreported, m->mask, base);
	assert((uint32_t)__builtin_popcountll(reported) <= w->unreported_pkts);
	w->unreported_pkts -= (uint32_t)__builtin_popcountll(reported);
	for (; reported; reported &= reported - 1)
		bitmap_clear(unreported, m->mask, base + (uint32_t)__builtin_ctzll(reported));
}

/* Base of the next bitmap: the first PSN no SACK has covered yet; with none left, the 64 up to the trigger once more,
 * against lost ACKs. */
static uint32_t sack_base(const struct rxwin *w, const struct rxwin_mem *m, uint32_t trigger_psn)
{
	if (w->unreported_pkts)
		return w->next_expected +
		       bitmap_find(rxwin_unreported(w, m), m->mask, w->next_expected, m->window_pkts);
	return psn_max(trigger_psn - 63, w->next_expected);
}

/* PSNs whose error response has not been cleared must stay open at the initiator. */
static uint64_t without_responses(const struct rxwin *w, uint32_t base, uint64_t bits)
{
	for (uint32_t i = 0; i < w->gtd_count; i++)
		if (w->gtd[i].psn - base < 64)
			bits &= ~(UINT64_C(1) << (w->gtd[i].psn - base));
	return bits;
}

void rxwin_report_trigger(struct rxwin *w, const struct rxwin_mem *m, uint32_t trigger_psn)
{
	if (rxwin_is_unreported(w, m, trigger_psn))
		note_reported(w, m, trigger_psn, 1);
}

struct sack __attribute__((noinline)) rxwin_report(struct rxwin *w, const struct rxwin_mem *m, uint32_t trigger_psn)
{
	assert(w->ooo_pkts && w->received);
	rxwin_report_trigger(w, m, trigger_psn);
	uint32_t base = sack_base(w, m, trigger_psn);
	uint64_t bits = bitmap_get64(w->received, m->mask, base);
	uint32_t end = w->next_expected + m->window_pkts - base;
	if (end < 64)
		bits &= ~(UINT64_MAX << end);
	note_reported(w, m, base, bits);
	return (struct sack){(int16_t)(base - w->cack_psn), without_responses(w, base, bits)};
}
