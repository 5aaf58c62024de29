/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories below DPDK's runtime directory: one for each process with a telemetry socket. */
#ifndef WEFT_ETHDEV_DIRS_H
#define WEFT_ETHDEV_DIRS_H

/* Removes the directories weft-PID in `parent` that killed processes left: no such process is there, and nobody listens
 * on the socket in it. Others', which we may not remove, stay. Returns how many it removed. */
unsigned ethdev_dirs_tidy(const char *parent);

#endif
