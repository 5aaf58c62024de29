/* SPDX-License-Identifier: BSD-3-Clause */
/* A target that waits before it tells of packets beyond a gap, as receivers do that put packets in order below TCP
 * (DRILL sec. 3.3): a gap that closes in time was never there for the sender. Packets are placed as they come all the
 * same. */
#include "shim.h"

enum shim_verdict shim_decide(const struct pds_conf *conf, struct pdc_rx *p, weft_ns now, weft_ns *hold_until)
{
	bool moved = psn_before(p->trigger_psn, p->win.next_expected);
	if (!p->win.ooo_pkts)
		return SHIM_PASS;
	if (moved || p->win.ooo_pkts == 1)
		p->gap_since_ns = now;
	assert(p->gap_since_ns <= now);
	if (now - p->gap_since_ns >= conf->tune.reorder_shim_ns || p->win.ooo_pkts > conf->tune.reorder_shim_pkts)
		return SHIM_PASS;
	*hold_until = p->gap_since_ns + conf->tune.reorder_shim_ns;
	return moved ? SHIM_TO_GAP : SHIM_HOLD;
}
