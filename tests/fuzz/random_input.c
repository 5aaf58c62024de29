/* SPDX-License-Identifier: BSD-3-Clause */
/* A fuzz target on random inputs, where there is no libFuzzer: FIRST_SEED COUNT. Each seed is printed before it is
 * used; one that failed is repeated by SEED 1. FILE alone: on the bytes of a file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "rng.h"

enum { INPUT_MIN = 20, INPUT_MAX = 1200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Short ones are as frequent as long ones. */
static size_t draw(uint64_t seed, uint8_t *input)
{
	struct rng dice = {rng_mix(seed)};
	size_t len = INPUT_MIN + rng_below(&dice, 1 + rng_below(&dice, INPUT_MAX - INPUT_MIN));
	for (size_t i = 0; i < len; i++)
		input[i] = (uint8_t)rng_next(&dice);
	return len;
}

static int run_file(const char *name)
{
	static uint8_t input[1 << 20];
	FILE *file = fopen(name, "rb");
	if (!file) {
		perror(name);
		return 1;
	}
	size_t len = fread(input, 1, sizeof input, file);
	fclose(file);
	return LLVMFuzzerTestOneInput(input, len);
}

int main(int argc, char **argv)
{
	uint8_t input[INPUT_MAX];
	if (argc == 2)
		return run_file(argv[1]);
	if (argc != 3) {
		fprintf(stderr, "usage: %s FIRST_SEED COUNT | FILE\n", argv[0]);
		return 2;
	}
	uint64_t first = strtoull(argv[1], NULL, 0), count = strtoull(argv[2], NULL, 0);
	for (uint64_t seed = first; seed < first + count; seed++) {
		printf("seed %" PRIu64 "\n", seed);
		fflush(stdout);
		LLVMFuzzerTestOneInput(input, draw(seed, input));
	}
	return 0;
}
