/* SPDX-License-Identifier: BSD-3-Clause */
/* What only the kernel's calls tell: offloads, queues, RSS and AF_XDP of an interface, and the MTU of the path to a
 * peer. Of a tree other than this machine's it is read from the file ethtool/INTERFACE, lines of a name and a number.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doctor.h"
#include "weft/ethdev.h"

static bool ask(int fd, const struct doctor *d, void *command)
{
	struct ifreq req = {0};
	memcpy(req.ifr_name, d->iface, sizeof d->iface);
	req.ifr_data = command;
	return ioctl(fd, SIOCETHTOOL, &req) == 0;
}

static bool is_on(int fd, const struct doctor *d, uint32_t command)
{
	struct ethtool_value value = {.cmd = command};
	return ask(fd, d, &value) && value.data != 0;
}

static void eth_ask(struct doctor *d)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ethtool_rxnfc hash = {.cmd = ETHTOOL_GRXFH, .flow_type = UDP_V4_FLOW};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	d->eth.is_known = true;
	d->eth.tx_csum = is_on(fd, d, ETHTOOL_GTXCSUM);
	d->eth.tx_sg = is_on(fd, d, ETHTOOL_GSG);
	if (ask(fd, d, &channels))
		d->eth.rx_queues = channels.combined_count + channels.rx_count;
	d->eth.hash_is_known = ask(fd, d, &hash);
	d->eth.hashes_ports = (hash.data & (RXH_L4_B_0_1 | RXH_L4_B_2_3)) != 0;
	close(fd);
}

static int peer_connect(const char *peer)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
	bool is_v4 = inet_pton(AF_INET, peer, &v4.sin_addr) == 1;
	if (!is_v4 && inet_pton(AF_INET6, peer, &v6.sin6_addr) != 1)
		return -1;
	int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc =
		is_v4 ? connect(fd, (struct sockaddr *)&v4, sizeof v4) : connect(fd, (struct sockaddr *)&v6, sizeof v6);
	if (fd >= 0 && rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* No packet is sent: the kernel tells the MTU of the route, or what ICMP taught it. */
static void path_ask(struct doctor *d)
{
	int mtu_bytes = 0, fd = peer_connect(d->peer);
	socklen_t len = sizeof mtu_bytes;
	if (fd < 0)
		return;
	bool is_v6 = strchr(d->peer, ':') != NULL;
	if (getsockopt(fd, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_MTU : IP_MTU, &mtu_bytes, &len) == 0)
		d->path_mtu_bytes = (uint32_t)mtu_bytes;
	close(fd);
}

static uint64_t told(const struct doctor *d, const char *path, const char *key)
{
	uint64_t value = 0;
	fs_field_number(d, path, key, 10, &value);
	return value;
}

static void tree_read(struct doctor *d)
{
	char path[64], text[16];
	snprintf(path, sizeof path, "ethtool/%s", d->iface);
	d->eth.is_known = fs_field(d, path, "rx_queues", text, sizeof text);
	d->eth.rx_queues = (uint32_t)told(d, path, "rx_queues");
	d->eth.hash_is_known = fs_field(d, path, "hashes_ports", text, sizeof text);
	d->eth.hashes_ports = told(d, path, "hashes_ports") != 0;
	d->eth.tx_csum = told(d, path, "tx_csum") != 0;
	d->eth.tx_sg = told(d, path, "tx_sg") != 0;
	d->eth.xdp_is_known = fs_field(d, path, "no_xdp", d->eth.no_xdp, sizeof d->eth.no_xdp);
	if (strcmp(d->eth.no_xdp, "0") == 0)
		d->eth.no_xdp[0] = '\0';
	d->path_mtu_bytes = d->peer != NULL ? (uint32_t)told(d, path, "path_mtu") : 0;
}

static void xdp_ask(struct doctor *d)
{
	struct weft_err err = {""};
	int rc = weft_ethdev_af_xdp(d->iface, &err);
	d->eth.xdp_is_known = rc == 0 || rc == -ENOTSUP;
	snprintf(d->eth.no_xdp, sizeof d->eth.no_xdp, "%s", rc == 0 ? "" : err.msg);
}

void doctor_eth_read(struct doctor *d)
{
	if (d->root[0] != '\0') {
		tree_read(d);
		return;
	}
	if (d->iface[0] != '\0') {
		eth_ask(d);
		xdp_ask(d);
	}
	if (d->peer != NULL)
		path_ask(d);
}
