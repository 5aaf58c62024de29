/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HOST_ADDRESS_POOL_H
#define WEFT_HOST_ADDRESS_POOL_H

#include <stdint.h>

#include "weft/addr.h"
#include "weft/err.h"

/* One address. -EINVAL with a message that begins with `what`. */
int address_parse(const char *what, const char *text, struct weft_ip *ip, struct weft_err *err);

/* "FIRST-LAST" or "FIRST+N", addresses that differ in their last four bytes alone, at most `max`. -EINVAL with a
 * message that begins with `what`. */
int address_pool_parse(const char *what, const char *text, struct weft_ip *out, uint32_t max, uint32_t *count,
		       struct weft_err *err);

#endif
