/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures of operations that have no completion to tell them, or have had it: the next call to the peer returns them.
 * Everything under the device's lock. */
#ifndef PROV_LATE_H
#define PROV_LATE_H

#include <stdint.h>
#include <sys/queue.h>

struct prov_late_error;
/* One for each peer at most. */
TAILQ_HEAD(prov_late_errors, prov_late_error);

void prov_late_init(struct prov_late_errors *all);
/* `err`: positive errno. The first failure of a peer stays until it is taken. Without memory only the log has it. */
void prov_late_add(struct prov_late_errors *all, uint32_t peer, int err);
/* 0, or the negative error of the peer's earlier operations, once. */
int prov_late_take(struct prov_late_errors *all, uint32_t peer);
void prov_late_free(struct prov_late_errors *all);

#endif
