/* SPDX-License-Identifier: BSD-3-Clause */
/* Announced messages (rendezvous) at their receiver. */
#ifndef WEFT_RNDV_H
#define WEFT_RNDV_H

#include "endpoint.h"
#include "msg.h"

void rndv_fetch(struct ses *ses, struct rx_msg *m); /* if there is a receive, or it is to be thrown away */
void rndv_retry(struct ses *ses);                   /* those that there was no memory for */
void rndv_detach(struct ses *ses, struct weft_ep *ep);

#endif
