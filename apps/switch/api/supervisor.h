/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the service manager that started this process how it is, by systemd's protocol: a datagram of text to the
 * socket that NOTIFY_SOCKET names. Without that variable nothing is told. */
#ifndef WEFT_SWITCH_SUPERVISOR_H
#define WEFT_SWITCH_SUPERVISOR_H

#include "weft/time.h"

struct supervisor {
	int fd;              /* -1: nobody to tell */
	weft_ns interval_ns; /* of signs of life; 0: none are expected */
	weft_ns told_ns;     /* when the last one was sent */
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. What cannot be used is as if it were not set. */
void supervisor_open(struct supervisor *s);
/* `state`: "READY=1", "STOPPING=1". A message that the manager has no room for is lost. */
void supervisor_tell(const struct supervisor *s, const char *state);
/* A sign of life when half of the time that the manager waits for one is over. */
void supervisor_is_alive(struct supervisor *s, weft_ns now);
void supervisor_close(struct supervisor *s);

#endif
