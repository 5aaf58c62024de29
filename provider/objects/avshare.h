/* SPDX-License-Identifier: BSD-3-Clause */
/* Address vectors shared by the processes of a host: a table of addresses in shared memory, found by name. */
#ifndef WEFT_PROV_AVSHARE_H
#define WEFT_PROV_AVSHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/err.h"

struct prov_avshare;

/* Opens the table of this name for domains of this device, or makes it unless `read_only`. It lives as long as a
 * process has it open. `entries`: expected addresses. -ENOENT: not there; -EINVAL: unusable name; other errno of
 * shm_open. */
int prov_avshare_open(const char *domain, const char *name, size_t entries, bool read_only, struct prov_avshare **out,
		      struct weft_err *err);
void prov_avshare_close(struct prov_avshare *share);
/* Adds one use of an address and returns its index. -ENOMEM: the table is full. */
int prov_avshare_insert(struct prov_avshare *share, const struct weft_addr *addr, uint32_t *index);
/* Removes one use. -EINVAL: the entry is free. */
int prov_avshare_remove(struct prov_avshare *share, uint32_t index);
/* A number that changes with every change of the table. */
uint64_t prov_avshare_version(const struct prov_avshare *share);
/* Entries in use or used before. */
uint32_t prov_avshare_count(struct prov_avshare *share);
/* Uses of an entry, 0 when it is free, and its address. */
uint32_t prov_avshare_get(struct prov_avshare *share, uint32_t index, struct weft_addr *addr);
/* Array with the fi_addr_t of each entry in use; the other elements are undefined. */
void *prov_avshare_map(const struct prov_avshare *share);

#endif
