/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_SHIM_H
#define WEFT_SHIM_H

#include "pds.h"

enum shim_verdict {
	SHIM_PASS,   /* the packet is answered as usual */
	SHIM_TO_GAP, /* all up to the gap is acknowledged, and nothing of what is beyond */
	SHIM_HOLD,   /* nothing is answered yet */
};

/* With reorder_shim_ns, when the trigger was set to a packet with new data. `hold_until`: when the gap has lasted too
 * long. */
enum shim_verdict shim_decide(const struct pds_conf *conf, struct pdc_rx *p, weft_ns now, weft_ns *hold_until);

#endif
