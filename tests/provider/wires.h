/* SPDX-License-Identifier: BSD-3-Clause */
/* Wires that lose, repeat and delay packets between the two hosts of a test: in place of rings_setup. Nothing moves but
 * in wires_turn. */
#ifndef PROVIDER_WIRES_H
#define PROVIDER_WIRES_H

#include <stdint.h>

/* What befalls packets, each per thousand; a delayed one is overtaken by some of those behind it. */
struct wires_faults {
	uint32_t lost, repeated, delayed;
};

/* What has befallen them. */
struct wires_counts {
	uint64_t packets, lost, repeated, delayed;
};

/* Makes the two devices and names them in the environment. Once per process: a cmocka group setup. */
int wires_setup(void **state);
/* All packets that wait reach the other side, or suffer. `rng`: the state of the dice. */
void wires_turn(const struct wires_faults *faults, uint64_t *rng);
struct wires_counts wires_counts(void);
/* Throws away what is on the wires: a closed device is not gone before its last packet. */
void wires_drain(void);

#endif
