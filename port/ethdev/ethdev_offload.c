/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_offload.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "ethdev_dev.h"

static const struct {
	enum weft_ethdev_offload bit;
	const char *name;
} names[] = {
	{WEFT_OFFLOAD_TX_SEGMENTS, "tx_segments"},
	{WEFT_OFFLOAD_RX_SEGMENTS, "rx_segments"},
	{WEFT_OFFLOAD_RX_CHECKSUM, "rx_checksum"},
	{WEFT_OFFLOAD_RX_INTERRUPT, "rx_interrupt"},
};

static uint32_t bit_if(bool offered, enum weft_ethdev_offload bit)
{
	return offered ? (uint32_t)bit : 0;
}

/* pcap's driver takes and makes chains without saying so. */
static bool chains_tx(const struct rte_eth_dev_info *info)
{
	return (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) ||
	       ethdev_driver_is(info->driver_name, "net_pcap");
}

static bool chains_rx(const struct rte_eth_dev_info *info)
{
	return (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) || ethdev_driver_is(info->driver_name, "net_pcap");
}

int offload_choose(const struct weft_ethdev_conf *conf, const struct rte_eth_dev_info *info, uint32_t *offloads,
		   struct weft_err *err)
{
	uint32_t offered = bit_if(ethdev_copies(info) && chains_tx(info), WEFT_OFFLOAD_TX_SEGMENTS) |
			   bit_if(conf->rx_buffer_bytes != 0 && chains_rx(info), WEFT_OFFLOAD_RX_SEGMENTS) |
			   bit_if(info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, WEFT_OFFLOAD_RX_CHECKSUM) |
			   bit_if(conf->rx_interrupt || ethdev_has_interrupts(info) || ethdev_has_socket(info),
				  WEFT_OFFLOAD_RX_INTERRUPT);
	*offloads = offered & ~conf->offloads_off;
	if (conf->rx_buffer_bytes != 0 && !(*offloads & WEFT_OFFLOAD_RX_SEGMENTS))
		return weft_err_set(
			err, -EINVAL,
			"%s: receive buffers of %u bytes were asked for, but its driver (%s) cannot receive "
			"a frame in several",
			conf->dev, conf->rx_buffer_bytes, info->driver_name);
	return 0;
}

void offload_ask(uint32_t offloads, const struct rte_eth_dev_info *info, struct rte_eth_conf *eth)
{
	if (offloads & WEFT_OFFLOAD_TX_SEGMENTS)
		eth->txmode.offloads |= info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	if (offloads & WEFT_OFFLOAD_RX_SEGMENTS)
		eth->rxmode.offloads |= info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	if (offloads & WEFT_OFFLOAD_RX_CHECKSUM)
		eth->rxmode.offloads |= RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
	eth->intr_conf.rxq = (offloads & WEFT_OFFLOAD_RX_INTERRUPT) && !ethdev_has_socket(info);
}

uint32_t weft_ethdev_offloads(const struct weft_port *port)
{
	return ((const struct ethdev *)port)->offloads;
}

void weft_ethdev_offload_names(uint32_t offloads, char *out, size_t size)
{
	size_t used = 0;
	assert(size > 0);
	out[0] = '\0';
	for (size_t i = 0; i < RTE_DIM(names); i++)
		if ((offloads & names[i].bit) && used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used != 0 ? " " : "", names[i].name);
}
