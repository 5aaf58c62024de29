/* SPDX-License-Identifier: BSD-3-Clause */
/* The classes of packets by the order of struct weft_dscp, a byte each. */
#ifndef WEFT_ETHDEV_DSCP_H
#define WEFT_ETHDEV_DSCP_H

#include "weft/ethdev.h"

enum { DSCPS = 64, DSCP_CLASSES = sizeof(struct weft_dscp) };

/* What the engine knows the classes by. */
extern const uint8_t dscp_ours[DSCP_CLASSES];

/* Switches have to tell the classes apart. -EINVAL with a message that begins with `what`. */
int dscp_check(const char *what, const struct weft_dscp *dscp, struct weft_err *err);

#endif
