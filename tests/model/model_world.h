/* SPDX-License-Identifier: BSD-3-Clause */
/* Two hosts run a program of a few operations each, on the transport itself; choices decide in which order packets
 * arrive, which are lost or come twice, and when the applications go on. */
#ifndef WEFT_MODEL_WORLD_H
#define WEFT_MODEL_WORLD_H

#include "choices.h"

enum { MODEL_OPS = 3 };

/* What each host does, a letter for an operation towards the other:
 *   s send, a announced (rendezvous) send, w WRITE, r READ; S A W R the same behind a fence; c closes its endpoint */
struct model_program {
	char ops[2][MODEL_OPS + 2];
};

/* NULL: every operation completed once and without error, with the right bytes, and none too early; the engines came to
 * rest. Else what did not hold. */
const char *model_run(const struct model_program *program, struct choices *choices);

#endif
