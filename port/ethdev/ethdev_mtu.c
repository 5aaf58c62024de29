/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_mtu.h"

#include <errno.h>
#include <string.h>

#include "ethdev_dev.h"
#include "weft/kernel_if.h"

/* Of the kernel's interface that some drivers share; 0: there is none. */
static uint32_t interface_mtu(const struct rte_eth_dev_info *info)
{
	char name[IFNAMSIZ];
	struct weft_if iface;
	if (info->if_index == 0 || if_indextoname(info->if_index, name) == NULL ||
	    weft_if_read(name, &iface, NULL) != 0)
		return 0;
	return iface.mtu_bytes;
}

int mtu_choose(const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info, uint32_t shared,
	       uint32_t *ip_bytes, struct weft_err *err)
{
	uint32_t most = ethdev_ip_bytes_max(info), kernel = interface_mtu(info);
	if (shared != 0)
		most = RTE_MIN(most, shared);
	*ip_bytes = conf->max_ip_bytes != 0 ? conf->max_ip_bytes : RTE_MIN(most, (uint32_t)ETHDEV_IP_MAX_BYTES);
	if (*ip_bytes > most)
		return weft_err_set(err, -EINVAL, "%s: carries IP packets of up to %u bytes, %u were asked for",
				    conf->dev, most, *ip_bytes);
	/* The kernel's traffic relies on its MTU, so it is not raised unasked. */
	if (conf->max_ip_bytes == 0 && kernel != 0)
		*ip_bytes = RTE_MIN(*ip_bytes, kernel);
	return 0;
}

int mtu_set(struct ethdev *d, bool is_wanted, const struct rte_eth_dev_info *info, struct weft_err *err)
{
	uint32_t mtu = ethdev_mtu(info, d->port.max_ip_bytes);
	if (mtu == 0 || interface_mtu(info) >= mtu)
		return 0;
	int rc = rte_eth_dev_set_mtu(d->id, (uint16_t)mtu);
	if (rc == 0 || rc == -ENOTSUP)
		return 0;
	if (!is_wanted && mtu > RTE_ETHER_MTU && rte_eth_dev_set_mtu(d->id, RTE_ETHER_MTU) == 0) {
		d->port.max_ip_bytes = RTE_ETHER_MTU;
		return 0;
	}
	return weft_err_set(err, rc, "%s: its driver (%s) refuses an MTU of %u bytes: %s", d->name, info->driver_name,
			    mtu, strerror(-rc));
}
