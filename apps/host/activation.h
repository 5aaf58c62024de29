/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HOST_ACTIVATION_H
#define WEFT_HOST_ACTIVATION_H

/* The socket that the service manager has opened for this process, by systemd's protocol (LISTEN_PID, LISTEN_FDS),
 * which is not blocking from now on; -1: there is none. */
int activation_take(void);

#endif
