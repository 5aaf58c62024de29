/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments for EAL. */
#ifndef WEFT_ETHDEV_ARGS_H
#define WEFT_ETHDEV_ARGS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	EAL_ARGS_MAX = 64,
	EAL_ARGS_OURS = 6, /* log level, lcores and its value, file prefix, shared files, NULL */
};

/* The argument vector; texts are the caller's, but for what eal_args_complete adds. */
struct eal_args {
	int argc;
	char *argv[EAL_ARGS_MAX];
	bool cores, log; /* the caller chose lcores, log levels */
	bool prefix;     /* or which files EAL shares with other processes */
	bool no_huge;    /* or to do without hugepages */
	bool alone;      /* or to share none */
	bool silent;     /* or to have no telemetry socket */
};

/* Splits `text` in place behind the program's name. False: too many. */
bool eal_args_split(struct eal_args *a, char *text);
/* Adds what the caller did not choose: lcores that pin nobody, few log lines, files that no other process uses. */
void eal_args_complete(struct eal_args *a);

/* "0000:03:00.0" or "03:00.0", followed by nothing or a comma. */
bool eal_is_pci(const char *dev);
/* True when the kernel has at least 128 MiB of hugepages to give. */
bool eal_has_hugepages(void);

#endif
