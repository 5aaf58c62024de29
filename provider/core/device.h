/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing what a device is made of: EAL, port, faults and engine. */
#ifndef PROV_DEVICE_H
#define PROV_DEVICE_H

#include "prov_nic.h"
#include "prov_tune.h"

/* Fills in the ports and the engine of `nic`; `tune` is fitted to the port. `dev` is one of `conf`. Errors of what it
 * opens. */
int prov_device_open(struct prov_nic *nic, const struct prov_conf *conf, const struct prov_dev *dev,
		     struct prov_tune *tune, struct weft_err *err);
/* Logs what happened, and closes them. Nobody polls any more. */
void prov_device_close(struct prov_nic *nic);

#endif
