/* SPDX-License-Identifier: BSD-3-Clause */
/* The entries of an address vector. Inserting an address twice gives the same index and counts uses, so that a received
 * message has one source. All under the device's lock. */
#ifndef PROV_AV_TABLE_H
#define PROV_AV_TABLE_H

#include "prov_av.h"

/* Entry of an address, whatever receive context it names; NULL: none. */
struct prov_av_entry *prov_av_resolve_entry(struct prov_av *av, fi_addr_t addr);
/* Adds one use of an address. A new entry gets the index `wanted`, or the lowest free one for UINT32_MAX. -FI_ENOMEM.
 */
int prov_av_entry_add(struct prov_av *av, const struct weft_addr *addr, uint32_t wanted, fi_addr_t *out);
/* Removes one use. */
void prov_av_entry_del(struct prov_av *av, uint32_t index);
/* Applies what other processes changed in a shared vector. */
void prov_av_follow(struct prov_av *av);

/* Inserting and removing (av_insert.c). */
extern struct fi_ops_av prov_av_ops;

#endif
