/* SPDX-License-Identifier: BSD-3-Clause */
/* What all processes tell at one time, as one JSON document:
 *   schema      "weft.top/1"
 *   time_ns     when it was taken, by a monotonic clock
 *   processes   [{pid, program, devices: [names]}]
 *   more        true: some have more rows than were asked for
 *   counters, conns, ops, neigh, ports   lists of rows, as telemetry tells them, each with `pid` and `on`, the device
 *   local       rows of the devices that may have channels to processes of their host: the counters local_...
 */
#ifndef WEFT_TOP_SNAPSHOT_H
#define WEFT_TOP_SNAPSHOT_H

#include <jansson.h>
#include <stdint.h>

/* Asks all processes that may be asked, or with `pid` != 0 that one. The caller's. */
json_t *top_snapshot_take(uint32_t pid);

/* Rates of what `now` counts, from the snapshot before: of ports "rx_bps", "tx_bps", "rx_pps", "tx_pps", of local
 * channels "local_rx_pps", "local_tx_pps". */
void top_snapshot_rates(json_t *now, const json_t *before);

#endif
