/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a vhost port's guest. DPDK unmaps it on a thread of its own when the guest goes. It waits until no burst of
 * ours reads there, but not for questions about a queue and its interrupts: those come between these two calls. */
#ifndef WEFT_ETHDEV_GUEST_H
#define WEFT_ETHDEV_GUEST_H

#include "ethdev_priv.h"

/* After the device has started. Does nothing for other drivers than vhost's. False: no memory. */
bool guest_watch(struct ethdev *d, const struct rte_eth_dev_info *info);
void guest_unwatch(struct ethdev *d);
/* True: the memory stays until guest_leave, which must follow soon, on this thread. False: there is no guest. Always
 * true for other devices. */
bool guest_enter(struct ethdev *d);
void guest_leave(struct ethdev *d);

#endif
