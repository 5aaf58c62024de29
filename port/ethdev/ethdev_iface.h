/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces of the kernel as devices. The kernel keeps the interface: everything but UET packets is its traffic. */
#ifndef WEFT_ETHDEV_IFACE_H
#define WEFT_ETHDEV_IFACE_H

#include <stdbool.h>
#include <stddef.h>

#include "ethdev_priv.h"
#include "weft/addr.h"
#include "weft/err.h"
#include "weft/ethdev.h"

struct ethdev;

/* True when `dev` is the name of an interface of the kernel, in this thread's network namespace. */
bool iface_named(const char *dev);

/* The way number `i` to open an interface without AF_XDP, best first: arguments of a DPDK device. False: there are no
 * more. */
bool iface_devargs(const char *iface, unsigned i, char *devargs, size_t size);

/* Before the device is made. Keeps the kernel from answering peers that their packets reach nobody, and other processes
 * from the same address. Sets the descriptors, to be closed by iface_unguard after the port; -1 when the kernel does
 * not have the address, or does not give UDP port 49150 or the IP protocol away. -EADDRINUSE and other errors of
 * bind(2) for UDP port 4793. */
int iface_guard(const char *iface, const struct weft_ip *ip, int fds[IFACE_GUARDS], struct weft_err *err);
void iface_unguard(int fds[IFACE_GUARDS]);

/* After the device is made: its packet sockets take only what is for us, so that the kernel's other traffic neither
 * costs time nor fills their rings. Without effect on drivers that have none. */
void iface_filter(const char *iface);

/* Calls `fn` for every packet socket of this process on the interface with that index: its drivers'. */
void iface_each_socket(unsigned index, void (*fn)(int fd, void *arg), void *arg);

/* A packet socket on the interface with that filter, the caller's to close: what the XDP program leaves to the kernel.
 * Errors of socket(2) and bind(2). */
int iface_tap(const char *iface, int *fd, struct weft_err *err);

#endif
