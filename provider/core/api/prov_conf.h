/* SPDX-License-Identifier: BSD-3-Clause */
/* Which devices the environment names. */
#ifndef PROV_CONF_H
#define PROV_CONF_H

#include "weft/addr.h"
#include "weft/err.h"
#include "weft/ethdev.h"

/* One device the user named, usable as one domain. */
struct prov_dev {
	char *name;                     /* domain name: the device without its arguments; "#1" and so on behind it where
					   the device is named again */
	char *devargs;                  /* what DPDK gets */
	uint16_t engine, engines;       /* which one of how many on this device */
	bool is_host_port;              /* of weft host */
	uint32_t mtu_bytes;             /* largest IP packet behind it; 0: what the device carries */
	struct weft_ip ip;              /* our address on it */
	struct weft_ip base;            /* the same before +N: common to all processes with this setting */
	struct weft_ethdev_net net;     /* the network behind it; `routes` are ours, `kernel_if` is not set */
	struct weft_route *routes;      /* of `net` */
	char iface[WEFT_IF_NAME_BYTES]; /* the kernel's interface whose routes are followed; empty: none */
};

/* The environment, read anew by each fi_getinfo and fi_domain. */
struct prov_conf {
	struct prov_dev *devs;
	unsigned count;
};

/* Declares all FI_WEFT_* parameters to libfabric. */
void prov_conf_define(void);
/* -ENODATA: no device named; -EINVAL: one of the variables makes no sense; -ENOMEM. Free with prov_conf_free also after
 * an error. */
int prov_conf_load(struct prov_conf *conf, struct weft_err *err);
void prov_conf_free(struct prov_conf *conf);
/* NULL when no device has this name. */
const struct prov_dev *prov_conf_find(const struct prov_conf *conf, const char *name);

#endif
