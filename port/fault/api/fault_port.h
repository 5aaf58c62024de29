/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports opened by weft_fault_open: other faults from now on, and what has been broken so far. */
#ifndef WEFT_PORT_FAULT_H
#define WEFT_PORT_FAULT_H

#include <stdint.h>

#include "weft/fault.h"

struct fault_stats {
	uint64_t lost, duplicated, reordered, corrupted; /* packets */
};

void fault_port_set(struct weft_port *port, const struct weft_fault_conf *conf); /* from now on */
void fault_port_stats(const struct weft_port *port, struct fault_stats *stats);

#endif
