/* SPDX-License-Identifier: BSD-3-Clause */
/* The flight recorder of a device: a file in memory, so that it outlives the process that crashes. */
#ifndef PROV_RECORDER_H
#define PROV_RECORDER_H

#include "prov_nic.h"

/* Creates the file for so many events (0: none), and lets the engine write into it. A device works without one, too:
 * what is missing is logged. */
void prov_recorder_open(struct prov_nic *nic, uint32_t events);
/* Removes it; the engine is gone. */
void prov_recorder_close(struct prov_nic *nic);

#endif
