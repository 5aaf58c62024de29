/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices whose driver asks to be set up anew, as after a reset of the NIC behind a virtual function. Every port on the
 * device is parked first: polled by another thread each, they must not touch it meanwhile. */
#ifndef WEFT_ETHDEV_RESET_H
#define WEFT_ETHDEV_RESET_H

#include "ethdev_priv.h"

/* Listens to the driver. The device is ours to set up. */
void reset_watch(struct ethdev *d);
void reset_unwatch(struct ethdev *d);
/* A step of what the driver has asked for, by the polling thread. True: the port is parked. */
bool reset_look(struct ethdev *d);

#endif
