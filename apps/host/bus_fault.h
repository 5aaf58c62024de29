/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HOST_BUS_FAULT_H
#define WEFT_HOST_BUS_FAULT_H

/* A client that shortens a file whose memory it shares would end this process by SIGBUS. From now on such a page reads
 * as zeros instead, and the eventfd `tell_fd` becomes readable, so that somebody finds out whose it is. Once per
 * process. */
void bus_fault_survive(int tell_fd);

#endif
