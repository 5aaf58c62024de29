/* SPDX-License-Identifier: BSD-3-Clause */
/* What befalls the packets between two engines, as a program says: some are dropped, doubled, delayed, trimmed or
 * marked, some come again later, and some come with other bytes. */
#ifndef WEFT_FUZZ_BAD_WIRE_H
#define WEFT_FUZZ_BAD_WIRE_H

#include "duo.h"
#include "program.h"

enum { BAD_WIRE_KEPT = 64 };

struct bad_wire {
	struct duo *d;
	bool trims;            /* the engines know of a fabric that trims */
	bool cut;              /* for ever: nothing gets through */
	uint32_t narrow_bytes; /* packets with more payload get lost; 0: none does */
	struct {
		enum duo_fate fate;
		uint16_t mask; /* a bit per packet, the 17th is the first again; 0: nothing happens */
	} from[2];
	/* The last packets sent, of both sides. */
	struct kept {
		weft_ns sent_ns;
		int from;
		uint16_t len;
		uint8_t *bytes;
	} kept[BAD_WIRE_KEPT];
	uint32_t count; /* of packets kept ever */
};

/* Takes the wire of `d` over. */
void bad_wire_open(struct bad_wire *w, struct duo *d, bool trims);
void bad_wire_close(struct bad_wire *w);

/* What happens to the packets of one side from now on. */
void bad_wire_set(struct bad_wire *w, struct program *in);

/* Nothing happens to packets any more. */
void bad_wire_heal(struct bad_wire *w);

/* A packet comes again, unless it is older than that. */
void bad_wire_replay(struct bad_wire *w, struct program *in, weft_ns max_age_ns);

/* A packet comes with other bytes, perhaps to the side that sent it. */
void bad_wire_alter(struct bad_wire *w, struct program *in);

#endif
