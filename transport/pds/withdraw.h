/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that are numbered and too large for the path. Their content cannot just be numbered anew: the packet may have
 * arrived, or arrive later, and bytes that arrive twice would count twice. So it is withdrawn: a request in its place,
 * with its PSN, that every target refuses (doc/reference/protocol.md, Path MTU). The refusal, which the target repeats
 * until it is cleared, tells that the packet has not arrived and never will. An acknowledgement tells that it has. */
#ifndef WEFT_WITHDRAW_H
#define WEFT_WITHDRAW_H

#include "pds.h"

/* The record, which is lost, is sent as a withdrawal from now on. */
void withdraw(const struct pds *pds, struct sent *s);
/* The withdrawal was refused: its bytes are numbered anew, in packets that the path carries. False: no memory; as if
 * the refusal had not come. */
bool withdraw_refused(struct pds *pds, struct pdc_tx *p, uint32_t psn);

#endif
