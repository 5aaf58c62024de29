/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_devargs.h>

#include "ethdev_dev.h"
#include "ethdev_priv.h"
#include "weft/ethdev.h"

enum {
	BUFFER_DEFAULT_BYTES = 2048, /* memif's bsize, af_packet's framesz */
	BUFFER_STEP_BYTES = 64,
	/* A frame in af_packet's ring follows struct tpacket2_hdr and sockaddr_ll, aligned for the IP header. */
	AF_PACKET_OFFSET_BYTES = 66,
	XDP_HEADROOM_BYTES = 256, /* in front of each frame, the kernel's XDP_PACKET_HEADROOM */
};

/* Value of `key=` in "name,key=value,..."; NULL: not there. */
static const char *arg_find(const char *args, const char *key)
{
	size_t len = strlen(key);
	for (const char *p = args; p != NULL && *p != '\0'; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, key, len) == 0 && p[len] == '=')
			return p + len + 1;
	}
	return NULL;
}

bool weft_ethdev_arg(const char *devargs, const char *key, char *value, size_t size)
{
	const char *found = arg_find(devargs, key);
	size_t len = found ? strcspn(found, ",") : 0;
	if (!found || !value)
		return found;
	if (len >= size)
		return false;
	memcpy(value, found, len);
	value[len] = '\0';
	return true;
}

bool ethdev_driver_is(const char *devargs, const char *driver)
{
	return strncmp(devargs, driver, strlen(driver)) == 0;
}

int ethdev_args_complete(const char *devargs, uint32_t ip_bytes, const struct rte_ether_addr *mac, char *full,
			 size_t size, struct weft_err *err)
{
	char more[64] = "";
	/* memif cuts larger frames into chains, and mixes those up. */
	if (ethdev_driver_is(devargs, "net_memif") && arg_find(devargs, "bsize") == NULL)
		snprintf(more, sizeof more, ",bsize=%u",
			 (uint32_t)RTE_ALIGN_CEIL(ip_bytes + RTE_ETHER_HDR_LEN, BUFFER_STEP_BYTES));
	if (ethdev_driver_is(devargs, "net_af_packet") && arg_find(devargs, "framesz") == NULL)
		snprintf(more, sizeof more, ",framesz=8192,blocksz=65536,framecnt=512");
	if (ethdev_driver_is(devargs, "net_virtio_user") && arg_find(devargs, "mac") == NULL)
		snprintf(more, sizeof more, ",mac=" RTE_ETHER_ADDR_PRT_FMT, RTE_ETHER_ADDR_BYTES(mac));
	if ((size_t)snprintf(full, size, "%s%s", devargs, more) >= size)
		return weft_err_set(err, -ENAMETOOLONG, "device \"%.60s...\": arguments are too long", devargs);
	return 0;
}

/* 0: unknown. */
static uint32_t interface_mtu(const char *args)
{
	struct ifreq req = {.ifr_mtu = 0};
	bool named = weft_ethdev_arg(args, "iface", req.ifr_name, sizeof req.ifr_name);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		return 0;
	bool known = named && ioctl(fd, SIOCGIFMTU, &req) == 0;
	close(fd);
	return known ? (uint32_t)req.ifr_mtu : 0;
}

static uint32_t buffer_bytes(const char *args, const char *key)
{
	const char *value = arg_find(args, key);
	return value != NULL ? (uint32_t)strtoul(value, NULL, 0) : (uint32_t)BUFFER_DEFAULT_BYTES;
}

static uint32_t sub_or_0(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 0;
}

static uint32_t af_packet_ip_bytes(const char *args)
{
	uint32_t room = sub_or_0(buffer_bytes(args, "framesz"), AF_PACKET_OFFSET_BYTES + RTE_ETHER_HDR_LEN);
	uint32_t mtu = interface_mtu(args);
	return mtu != 0 ? RTE_MIN(mtu, room) : room;
}

uint32_t ethdev_xdp_ip_bytes(void)
{
	return ethdev_pool_ip_bytes((uint32_t)sysconf(_SC_PAGESIZE), XDP_HEADROOM_BYTES);
}

static uint32_t af_xdp_ip_bytes(const char *args)
{
	uint32_t room = ethdev_xdp_ip_bytes(), mtu = interface_mtu(args);
	return mtu != 0 ? RTE_MIN(mtu, room) : room;
}

/* What the device was created with. */
static const char *device_args(const struct rte_eth_dev_info *info)
{
	const struct rte_devargs *devargs = info->device != NULL ? rte_dev_devargs(info->device) : NULL;
	return devargs != NULL && devargs->args != NULL ? devargs->args : "";
}

/* The kernel maps af_xdp's buffers page by page. */
uint32_t ethdev_elem_bytes_max(const struct rte_eth_dev_info *info)
{
	return ethdev_driver_is(info->driver_name, "net_af_xdp") ? (uint32_t)sysconf(_SC_PAGESIZE) : 0;
}

uint32_t ethdev_ip_bytes_max(const struct rte_eth_dev_info *info)
{
	const char *args = device_args(info);

	if (ethdev_driver_is(info->driver_name, "net_memif"))
		return sub_or_0(buffer_bytes(args, "bsize"), RTE_ETHER_HDR_LEN);
	if (ethdev_driver_is(info->driver_name, "net_af_packet"))
		return af_packet_ip_bytes(args);
	if (ethdev_driver_is(info->driver_name, "net_af_xdp"))
		return af_xdp_ip_bytes(args);
	return RTE_MIN((uint32_t)info->max_mtu, sub_or_0(info->max_rx_pktlen, RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN));
}

uint32_t ethdev_rx_buffer_bytes(const struct rte_eth_dev_info *info)
{
	return ethdev_driver_is(info->driver_name, "net_af_packet") ? buffer_bytes(device_args(info), "framesz") : 0;
}

uint32_t ethdev_mtu(const struct rte_eth_dev_info *info, uint32_t ip_bytes)
{
	bool fixed = ethdev_driver_is(info->driver_name, "net_memif") ||
		     ethdev_driver_is(info->driver_name, "net_af_packet") ||
		     ethdev_driver_is(info->driver_name, "net_af_xdp");
	return fixed ? 0 : ip_bytes;
}

bool ethdev_copies(const struct rte_eth_dev_info *info)
{
	static const char *const drivers[] = {"net_vhost", "net_af_packet", "net_tap", "net_pcap"};
	if (ethdev_driver_is(info->driver_name, "net_memif"))
		return arg_find(device_args(info), "zero-copy") == NULL;
	for (size_t i = 0; i < RTE_DIM(drivers); i++)
		if (ethdev_driver_is(info->driver_name, drivers[i]))
			return true;
	return false;
}

bool ethdev_has_interrupts(const struct rte_eth_dev_info *info)
{
	return ethdev_driver_is(info->driver_name, "net_vhost") ||
	       ethdev_driver_is(info->driver_name, "net_virtio_user") || ethdev_driver_is(info->driver_name, "net_tap");
}

bool ethdev_has_socket(const struct rte_eth_dev_info *info)
{
	return info->if_index != 0 && (ethdev_driver_is(info->driver_name, "net_af_packet") ||
				       ethdev_driver_is(info->driver_name, "net_pcap"));
}
