/* SPDX-License-Identifier: BSD-3-Clause */
/* The network behind each device: address, prefix, routes, VLAN and DSCPs, from the environment or from the kernel's
 * interface that the device stands on. */
#ifndef PROV_NET_H
#define PROV_NET_H

#include "prov_conf.h"
#include "weft/err.h"

/* FI_WEFT_GATEWAY and so on, expanded; NULL: not set. Lists have one item for each device, separated by ';', or one for
 * all. */
struct prov_net_texts {
	const char *gateway, *routes, *vlan, *vlan_pcp, *dscp;
};

/* "10.0.0.1/24", "fd00::1" or either with "+N" somewhere behind: fills in `ip`, `base` and the prefix of `dev`.
 * -EINVAL. */
int prov_net_addr(const char *text, struct prov_dev *dev, struct weft_err *err);
/* Fills in the rest of all devices' networks, whose addresses are known or all zero: then the kernel's interface gives
 * them one, if it can. -EINVAL, -ENOMEM. */
int prov_net_load(struct prov_conf *conf, const struct prov_net_texts *texts, struct weft_err *err);

/* The kernel's interface that an af_packet or af_xdp device names as "iface=", or a device's own name. False: there is
 * none. */
bool prov_net_iface(const struct prov_dev *dev, char *name, size_t size);

#endif
