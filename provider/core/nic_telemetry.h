/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NIC_TELEMETRY_H
#define NIC_TELEMETRY_H

#include "prov_nic.h"

/* The open device can be read over telemetry from now on; it works without, too. The caller does not hold the lock. */
void prov_telemetry_add(struct prov_nic *nic);
/* Nothing reads it any more. Likewise. */
void prov_telemetry_remove(struct prov_nic *nic);

#endif
