/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: the engine is polled and finished operations reach their queues. */
#ifndef PROV_PROGRESS_H
#define PROV_PROGRESS_H

#include <stdbool.h>
#include <time.h>

#include "prov_nic.h"

/* Polls the engine once and hands finished operations to their queues. Lock held. True when anything happened. */
bool prov_progress(struct prov_nic *nic);
/* Rings the doorbell: what was submitted leaves. Does not look for packets if somebody did just before. `may_batch`: a
 * few such calls may do nothing; the next one, or prov_progress, makes up for them. Lock held. */
void prov_doorbell(struct prov_nic *nic, bool may_batch);
/* Wakes threads in prov_wait_until, which may be waiting for what has just happened. Lock held. */
void prov_nic_wake(struct prov_nic *nic);
/* True when nothing has happened for a while: a caller that spins on an empty queue should yield. Lock held. */
bool prov_is_idle(const struct prov_nic *nic);

/* ---- waiting (prov_sleep.c). Lock not held, but held around `done`. ---- */

/* `done` may act: it returns true when the wait is over. */

/* Polls until done(arg) or until `timeout_ms` (negative: for ever) is over; false then. */
bool prov_wait_until(struct prov_nic *nic, bool (*done)(void *arg), void *arg, int timeout_ms);
/* The same without ever sleeping (FI_WAIT_YIELD). */
bool prov_yield_until(struct prov_nic *nic, bool (*done)(void *arg), void *arg, int timeout_ms);
/* Body of the thread for automatic progress. */
void *prov_progress_thread(void *nic);
/* `limit` as CLOCK_MONOTONIC tells the time. */
void prov_deadline(weft_ns limit, struct timespec *ts);

#endif
