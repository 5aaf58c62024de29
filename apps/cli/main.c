/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "conform_cmd.h"
#include "doctor_cmd.h"
#include "host_cmd.h"
#include "launch.h"
#include "top_cmd.h"
#include "trace_cmd.h"

/* One line per subcommand. */
static const struct {
	const char *name, *help;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"balls", "balls into bins: the model behind REPS", launch_weftlab},
	{"bench", "run a connection matrix through libfabric, in real time", launch_program},
	{"conform", "ask a foreign UET endpoint what it supports and where it departs", weft_cmd_conform},
	{"doctor", "find what is wrong with a machine or a NIC, and what mends it", weft_cmd_doctor},
	{"host", "share a NIC among the processes of a host, in real time", weft_cmd_host},
	{"metrics", "serve to Prometheus what processes count and wait for", launch_program},
	{"perf", "measure latency and bandwidth of any libfabric provider between two hosts", launch_program},
	{"reproduce", "run a publication's figures and judge its claims", launch_weftlab},
	{"report", "make an HTML page with tables and plots of runs", launch_weftlab},
	{"sim", "run a workload on a virtual fabric in virtual time", weft_cmd_sim},
	{"sweep", "run all that a scenario file describes", launch_weftlab},
	{"switch", "switch packets between DPDK ports in real time", weft_cmd_switch},
	{"top", "show what processes are doing, live", weft_cmd_top},
	{"trace", "save what a process did with its last packets", weft_cmd_trace},
	{NULL, NULL, NULL},
};

static void usage(FILE *out)
{
	fputs("usage: weft COMMAND [OPTION]...\n\ncommands:\n", out);
	for (unsigned i = 0; commands[i].name; i++)
		fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].help);
	fputs("\nweft COMMAND --help lists a command's options; weft --version prints the version.\n", out);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("weft " WEFT_VERSION);
		return 0;
	}
	for (unsigned i = 0; commands[i].name; i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "weft: unknown command '%s'\n", argv[1]);
	usage(stderr);
	return 2;
}
