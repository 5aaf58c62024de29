/* SPDX-License-Identifier: BSD-3-Clause */
/* A network namespace for a test's own interfaces. */
#ifndef WEFT_TESTS_NETNS_H
#define WEFT_TESTS_NETNS_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The process goes on in a network namespace of its own, which goes with it: as root, else in a user namespace. False,
 * said on stderr: the kernel refuses. */
static inline bool netns_enter(void)
{
	if (unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)
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
