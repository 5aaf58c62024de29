/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_WIRE_PRINT_H
#define WEFT_WIRE_PRINT_H

#include "wire_check.h"

/* One line of text about a packet: addresses, PDS fields, SES fields if they are there. Returns snprintf-style length.
 */
int wire_print(const struct wire_view *v, char *buf, size_t size);

#endif
