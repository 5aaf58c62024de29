/* SPDX-License-Identifier: BSD-3-Clause */
/* The program weft-bench, which `weft bench` becomes. */
#include "cmd.h"

int main(int argc, char **argv)
{
	static char name[] = "bench";
	argv[0] = name;
	return weft_cmd_bench(argc, argv);
}
