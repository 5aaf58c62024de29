/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether an address is that of the host that uses it. A connection's initiator has shown it when a packet comes that
 * names our PDCID, or a SYN that begins with the Start_PSN we asked for (NACK NEW_START_PSN, UE 1.0 sec. 3.5): both
 * were only told to that address. The Start_PSN is a keyed hash, so nothing is kept for who does not come back. */
#ifndef WEFT_VALIDATE_H
#define WEFT_VALIDATE_H

#include "pds.h"

/* Whether a new connection has to begin with the Start_PSN we ask for: always, or too many connections of others wait
 * to be validated. All SYNs of a connection get the same answer while they may be under way: or its messages would come
 * once with their first numbers and again with the new ones. */
bool validate_is_due(const struct pds *pds, weft_ns now);
/* Whether a SYN begins with the Start_PSN asked for. */
bool validate_is_answered(const struct pds *pds, const struct wire_view *v, weft_ns now);
/* Asks for it. */
void validate_ask(struct pds *pds, const struct wire_view *v, weft_ns now);

/* The initiator of a new connection has shown nothing. */
void validate_begin(struct pds *pds, struct pdc_rx *p, weft_ns now);
/* It has, or the connection ends; nothing when it had before. */
void validate_end(struct pds *pds, struct pdc_rx *p);

/* Whether the initiator has to show that its address is its own, or to send something, before it gets more credit. */
bool validate_holds_credit(const struct pdc_rx *p);
/* A credit left for it. */
void validate_note_credit(struct pds *pds, struct pdc_rx *p);

#endif
