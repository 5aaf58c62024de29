/* SPDX-License-Identifier: BSD-3-Clause */
/* Why an operation to a peer failed, as far as the port knows: text for applications and the log. */
#ifndef PROV_EXPLAIN_H
#define PROV_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "prov_nic.h"

enum { PROV_EXPLAIN_BYTES = 320 /* with the terminating zero */ };

/* Whether operations that fail with this errno value get a text. */
bool prov_explains(int err);
/* Names the peer and, if it is another, the next hop; also warns in the log, once while operations to one peer fail.
 * ENODEV: names the device, whoever `peer` is. The caller frees the text. NULL: there is nothing to say, or no memory.
 * Lock held. */
char *prov_explain(struct prov_nic *nic, uint32_t peer, int err);

#endif
