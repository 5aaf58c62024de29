/* SPDX-License-Identifier: BSD-3-Clause */
/* What differs from one DPDK driver to the next. */
#ifndef WEFT_ETHDEV_DEV_H
#define WEFT_ETHDEV_DEV_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "weft/err.h"

enum { ETHDEV_ARGS_MAX = 512 };

/* True when a device's name or arguments begin with that driver's name. */
bool ethdev_driver_is(const char *devargs, const char *driver);

/* Adds the arguments a driver needs when the user did not give them: for IP packets of `ip_bytes`, for an address
 * (`mac`) that is not random. -ENAMETOOLONG. */
int ethdev_args_complete(const char *devargs, uint32_t ip_bytes, const struct rte_ether_addr *mac, char *full,
			 size_t size, struct weft_err *err);

/* Largest IP packet the device carries as it was created. */
uint32_t ethdev_ip_bytes_max(const struct rte_eth_dev_info *info);

/* Longest IP packet in a buffer that the kernel maps for AF_XDP. */
uint32_t ethdev_xdp_ip_bytes(void);

/* Most bytes a pool's element may have, with all that belongs to it; 0: no limit. */
uint32_t ethdev_elem_bytes_max(const struct rte_eth_dev_info *info);

/* Bytes a receive buffer must hold for the driver's sake, however small the packets. */
uint32_t ethdev_rx_buffer_bytes(const struct rte_eth_dev_info *info);

/* rxmode.mtu to configure; 0 for drivers that reject a value. */
uint32_t ethdev_mtu(const struct rte_eth_dev_info *info, uint32_t ip_bytes);

/* The driver has copied every packet it took when its transmit call returns. */
bool ethdev_copies(const struct rte_eth_dev_info *info);

/* Whether to ask for receive interrupts. Drivers of hardware choose slower paths when asked. */
bool ethdev_has_interrupts(const struct rte_eth_dev_info *info);

/* The driver receives from a packet socket, which can be waited for in place of an interrupt. */
bool ethdev_has_socket(const struct rte_eth_dev_info *info);

/* Blocks SIGPIPE in this thread; `before` is for the release, which also forgets one that came meanwhile. */
void ethdev_sigpipe_hold(sigset_t *before);
void ethdev_sigpipe_release(const sigset_t *before);

/* Stops the device and, with `close`, closes it. The caller holds the lock of all devices (ethdev_end.c). */
void ethdev_dev_end(uint16_t id, const struct rte_eth_dev_info *info, bool stop, bool close);

#endif
