/* SPDX-License-Identifier: BSD-3-Clause */
/* NICs that are to be unplugged. The kernel asks VFIO's user to let go of the device and waits for that; the driver
 * reads the request on EAL's interrupt thread. The port is parked then, and whoever owns it is told that the link was
 * removed; the device is free when its last port is closed. */
#ifndef WEFT_ETHDEV_REMOVAL_H
#define WEFT_ETHDEV_REMOVAL_H

#include "ethdev_priv.h"

/* Listens to requests for the device `name`, EAL's name of it. */
void removal_watch(struct ethdev *d, const char *name);
void removal_unwatch(struct ethdev *d);

#endif
