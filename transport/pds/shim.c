/* SPDX-License-Identifier: BSD-3-Clause */
/* A target that waits before it tells of packets beyond a gap, as receivers do that put packets in order below TCP
 * (DRILL sec. 3.3): a gap that closes in time was never there for the sender. Packets are placed as they come all the
 * same. */
#include "engine_int.h"

/* All up to the gap, and nothing of what is beyond. */
static void ack_up_to_gap(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	uint32_t beyond = p->ooo_pkts;
	p->ooo_pkts = 0;
	ack_again(e, p, now);
	p->ooo_pkts = beyond;
}

bool shim_holds(struct weft_engine *e, struct pdc_rx *p, weft_ns now)
{
	bool moved = psn_before(p->trigger_psn, p->next_expected);
	if (!p->ooo_pkts)
		return false;
	if (moved || p->ooo_pkts == 1)
		p->gap_since_ns = now;
	if (now - p->gap_since_ns >= e->tune.reorder_shim_ns || p->ooo_pkts > e->tune.reorder_shim_pkts)
		return false;
	pdc_rx_ack_at(e, p, p->gap_since_ns + e->tune.reorder_shim_ns);
	if (moved) {
		ack_up_to_gap(e, p, now);
	} else {
		p->unacked_pkts++;
		e->stats.rx_held++;
	}
	return true;
}
