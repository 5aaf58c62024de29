/* SPDX-License-Identifier: BSD-3-Clause */
/* What our endpoints can do, and whether that is enough for what an application asks. */
#ifndef PROV_ATTR_H
#define PROV_ATTR_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stdint.h>

/* Endpoint types, in the order fi_getinfo lists them. */
enum prov_kind { PROV_RDM, PROV_DGRAM, PROV_MSG, PROV_KINDS };

/* True when endpoints of this type can do everything `hints` (may be NULL) asks for; the reason is logged if not. */
/* The fabric's name: "weft", and behind '-' FI_WEFT_PROFILE where it is not that. The caller's to free; NULL: no
 * memory. */
char *prov_fabric_name(void);
/* Whether this names our fabric, with any profile. */
bool prov_fabric_is(const char *name);

bool prov_attr_fits(uint32_t version, enum prov_kind kind, const struct fi_info *hints);
/* Fills everything but addresses and names: our capabilities, narrowed to what `hints` asked for. */
void prov_attr_fill(uint32_t version, enum prov_kind kind, const struct fi_info *hints, struct fi_info *info);

#endif
