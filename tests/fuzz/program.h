/* SPDX-License-Identifier: BSD-3-Clause */
/* An input of a fuzzer, read as a program: one byte after the other, zeros at the end. */
#ifndef WEFT_FUZZ_PROGRAM_H
#define WEFT_FUZZ_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

struct program {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t program_u8(struct program *p)
{
	if (!p->left)
		return 0;
	p->left--;
	return *p->at++;
}

static inline uint16_t program_u16(struct program *p)
{
	uint16_t high = program_u8(p);
	return (uint16_t)(high << 8 | program_u8(p));
}

#endif
