/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of a running fabric as a table. */
#ifndef WEFT_SWITCH_REPORT_H
#define WEFT_SWITCH_REPORT_H

#include <stdbool.h>

#include "rtnet.h"
#include "switch_port.h"

/* Prints to standard output. `as`: it is one switch of its topology; `credits`: it has credit queues. */
void switch_report(struct rtnet *rtnet, const struct switch_ports *ports, bool as, bool credits);

#endif
