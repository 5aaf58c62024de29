/* SPDX-License-Identifier: BSD-3-Clause */
/* All sequences of choices in which at most so many differ from the usual one, one after the other. Whoever is tried
 * out asks at each point; the same answers lead to the same next question. */
#ifndef WEFT_MODEL_CHOICES_H
#define WEFT_MODEL_CHOICES_H

#include <stdbool.h>
#include <stdint.h>

enum { CHOICES_MAX = 600 };

struct choices {
	uint32_t unusual_max; /* how many may differ in one sequence */
	uint32_t count;       /* asked for so far in this sequence */
	uint32_t fixed;       /* of them, what choices_next decided; the rest are usual ones */
	uint32_t unusual;     /* of those made */
	uint8_t made[CHOICES_MAX];
	uint8_t of[CHOICES_MAX]; /* how many there were */
};

/* The sequence of usual choices comes first. */
void choices_first(struct choices *c, uint32_t unusual_max);
/* The next sequence; false: there is none left. */
bool choices_next(struct choices *c);
/* Goes back to the beginning of the same sequence. */
void choices_again(struct choices *c);
/* One of `n`, 0 is the usual one. */
unsigned choose(struct choices *c, unsigned n);
/* Prints the unusual ones as POSITION=CHOICE, and reads that: `text` is altered. False: it is something else. */
void choices_print(const struct choices *c);
bool choices_read(struct choices *c, char *text);

#endif
