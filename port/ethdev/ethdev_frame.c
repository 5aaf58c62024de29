/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_frame.h"

bool frame_xmit(struct ethdev *d, struct rte_mbuf *m)
{
	if (ethdev_burst_tx(d, &m, 1) == 1)
		return true;
	rte_pktmbuf_free(m);
	return false;
}

void frame_drop(struct ethdev *d, struct rte_mbuf *m)
{
	d->stats.rx_foreign++;
	rte_pktmbuf_free(m);
}
