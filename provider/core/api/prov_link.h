/* SPDX-License-Identifier: BSD-3-Clause */
/* The link of a device: who is told of it. Lock held in all calls. */
#ifndef PROV_LINK_H
#define PROV_LINK_H

#include "prov_nic.h"
#include "weft/ethdev.h"

/* weft_link_fn with the device as argument: the log and the listeners hear of it at once. */
void prov_link_heard(void *nic, enum weft_link_state state);
/* Tells the engine: another rate, or that its port is gone. After a poll that left prov_link_state.is_news. */
void prov_link_tell(struct prov_nic *nic, weft_ns now);

/* Operations are refused with -FI_ENODEV. */
static inline bool prov_link_is_gone(const struct prov_nic *nic)
{
	return nic->port_link.err == FI_ENODEV;
}

#endif
