/* SPDX-License-Identifier: BSD-3-Clause */
/* The process's end of shared packet buffers. */
#ifndef WEFT_SHM_CLIENT_H
#define WEFT_SHM_CLIENT_H

#include "weft/ethdev.h"

/* weft_ethdev_open of "shm:PATH". -EBUSY: another process has the port; -ETIMEDOUT, -EPROTO: no switch answers;
 * -EINVAL: several queues, no address, or packets larger than the switch's. With a message. */
int shm_client_open(const struct weft_ethdev_conf *conf, struct weft_port **out, struct weft_err *err);

#endif
