/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_frame.h"

#include <assert.h>

bool frame_xmit(struct ethdev *d, struct rte_mbuf *m)
{
	assert(m->data_len >= RTE_ETHER_HDR_LEN && rte_mbuf_refcnt_read(m) == 1);
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
