/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process has which port. A process has what it asked for as long as it keeps its connection, or, when this
 * process was restarted meanwhile, as long as it lives. */
#ifndef WEFT_HOST_LEASE_H
#define WEFT_HOST_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "switch_port.h"

struct lease {
	bool is_taken;
	bool has_complained; /* something was said of this process on standard error */
	uid_t uid;
	pid_t pid;
	uint64_t start; /* when the process began, in the kernel's ticks: a number may be another process's later */
	int pid_fd;     /* readable when it has ended */
	int connection; /* it ends when this is closed at the other end; -1: restored from the file */
};

struct leases {
	struct lease at[SWITCH_PORTS_MAX];
	uint32_t ports;    /* that there are */
	uint32_t per_user; /* that a user other than root may have at once */
	uint32_t hand;     /* the port to look at first: addresses rest for as long as possible */
};

/* The first free port for a process, -1 and why not. The caller sets `connection`. */
int leases_take(struct leases *l, uid_t uid, pid_t pid, const char **why);
/* Closes its descriptors. */
void leases_end(struct leases *l, uint32_t port);

/* Writes who has what to a file, so that it takes the place of an older one at once. -errno. */
int leases_save(const struct leases *l, const char *path);
/* Takes over what the file has of processes that live. No file, or one that makes no sense: nothing. */
void leases_restore(struct leases *l, const char *path);

#endif
