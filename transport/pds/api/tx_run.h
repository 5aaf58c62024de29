/* SPDX-License-Identifier: BSD-3-Clause */
/* What PDS knows of a message: a run of bytes that is cut into packets, in order, and ends when all of them are
 * acknowledged. Whoever has something to send embeds one in its own record. */
#ifndef WEFT_TX_RUN_H
#define WEFT_TX_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"

enum { TX_HEAD_BYTES = 20 + 8 + 12 + 44 }; /* headers of a data packet over IPv4 */

struct tx_run {
	struct list link;            /* in pdc_tx.runs */
	const uint8_t *buf;          /* the bytes, in place until the run has ended; NULL: length only */
	uint32_t bytes;              /* length; 0 is one packet without payload */
	uint32_t cut_bytes;          /* how much has been cut into packets */
	uint32_t unacked_pkts;       /* cut and not acknowledged */
	uint32_t ask_bytes;          /* packets carry nothing, and stand for so many bytes each; 0: they carry theirs */
	bool fenced;                 /* not cut before all earlier runs have ended */
	bool ahead;                  /* before all that have not begun and are not; fences do not wait for it */
	bool special;                /* ask_bytes, fenced, or no header may be copied for others: takes more thought */
	bool cut;                    /* every packet has been cut, or no more will be */
	uint8_t head_bytes;          /* of `head` that are filled in, or 0 */
	uint8_t head[TX_HEAD_BYTES]; /* of a full packet in the middle of the run, on the connection as it is now */
};

#endif
