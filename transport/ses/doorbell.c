/* SPDX-License-Identifier: BSD-3-Clause */
/* No operation is forgotten: whoever submits stores it in the ring and then exchanges `is_rung` for true; the engine
 * exchanges `is_rung` for false and then reads the ring. The two exchanges have an order.
 *
 * - The producer's comes second: it finds false and links the endpoint, so the engine looks once more.
 * - The engine's comes second: it reads what the producer's wrote, or a later exchange. Acquire and release make all
 *   before the producer's exchange visible, the operation too, and this look finds it.
 *
 * A plain store of the engine's would not do: it reads nothing, so the engine might read the ring as it was before the
 * operation although its store overwrites the producer's true.
 *
 * `next_rung` belongs to the producer from its exchange to the push, and to the engine from taking the stack to its
 * exchange; the push releases what taking the stack acquires. An endpoint is in the stack at most once, and the engine
 * takes all of it, so no element can go and come back while a push compares. */
#include "doorbell.h"

void doorbell_ring(struct weft_ep *ep)
{
	if (atomic_exchange_explicit(&ep->is_rung, true, memory_order_acq_rel))
		return;
	struct weft_ep *first = atomic_load_explicit(&ep->ses->rung, memory_order_relaxed);
	do
		ep->next_rung = first;
	while (!atomic_compare_exchange_weak_explicit(&ep->ses->rung, &first, ep, memory_order_release,
						      memory_order_relaxed));
}

/* The stack has the endpoint rung last on top: each goes before the one above it. */
void doorbells_collect(struct ses *ses)
{
	struct list *later = &ses->ready;
	if (!atomic_load_explicit(&ses->rung, memory_order_relaxed))
		return;
	struct weft_ep *next, *ep = atomic_exchange_explicit(&ses->rung, NULL, memory_order_acquire);
	for (; ep; ep = next) {
		next = ep->next_rung;
		assert(ep->ses == ses && atomic_load_explicit(&ep->is_rung, memory_order_relaxed));
		atomic_exchange_explicit(&ep->is_rung, false, memory_order_acq_rel);
		if (!list_empty(&ep->ready_link))
			continue;
		list_add_tail(later, &ep->ready_link);
		later = &ep->ready_link;
	}
}
