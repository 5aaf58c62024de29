/* SPDX-License-Identifier: BSD-3-Clause */
/* A network namespace for a test's own interfaces. */
#ifndef WEFT_TESTS_NETNS_H
#define WEFT_TESTS_NETNS_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Root of the user namespace just made, so that the programs it starts keep the right to make interfaces. */
static inline bool netns_root(unsigned uid)
{
	FILE *f = fopen("/proc/self/uid_map", "w");
	bool written = f != NULL && fprintf(f, "0 %u 1", uid) > 0;
	return f != NULL && fclose(f) == 0 && written;
}

/* The process goes on in a network namespace of its own, which goes with it: as root, else in a user namespace, which
 * has to be before it starts threads. False, said on stderr: the kernel refuses. */
static inline bool netns_enter(void)
{
	unsigned uid = (unsigned)getuid();
	if (unshare(CLONE_NEWNET) == 0 || (unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && netns_root(uid)))
		return true;
	perror("no network namespace");
	return false;
}

/* Runs a command line of ip(8); false: it failed, or there is no ip. */
static inline bool ip_run(const char *args)
{
	char line[256];
	snprintf(line, sizeof line, "ip %s", args);
	return system(line) == 0; // NOLINT(cert-env33-c): the tests' own words
}

#endif
