/* SPDX-License-Identifier: BSD-3-Clause */
#include "conform_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000, LINE_MAX_BYTES = 256 };

/* The one neighbour of an interface, from /proc/net/arp. */
static int only_neighbour(const char *device, char *text, size_t size, struct weft_err *err)
{
	char line[LINE_MAX_BYTES], ip[64], name[64];
	uint32_t found = 0;
	FILE *table = fopen("/proc/net/arp", "r");

	while (table && fgets(line, sizeof line, table)) {
		unsigned flags = 0;
		int columns = sscanf(line, "%63s %*s %x %*s %*s %63s", ip, &flags, name);
		if (columns == 3 && flags & ATF_COM && !strcmp(name, device) && found++ == 0)
			snprintf(text, size, "%s", ip);
	}
	if (table)
		fclose(table);
	return found == 1
		       ? 0
		       : weft_err_set(err, -EINVAL, "%s has %u neighbours: name the peer with --peer", device, found);
}

static int find_local(const char *device, struct uet_link *link, struct weft_err *err)
{
	struct ifaddrs *all, *a;
	int family = link->v6 ? AF_INET6 : AF_INET, rc = -EADDRNOTAVAIL;

	if (getifaddrs(&all))
		return weft_err_set(err, -errno, "addresses of %s: %s", device, strerror(errno));
	for (a = all; a && rc; a = a->ifa_next) {
		if (!a->ifa_addr || a->ifa_addr->sa_family != family || strcmp(a->ifa_name, device) != 0)
			continue;
		const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a->ifa_addr)->sin6_addr;
		const struct in6_addr *peer = (const struct in6_addr *)(const void *)link->remote;
		if (link->v6 && IN6_IS_ADDR_LINKLOCAL(six) != IN6_IS_ADDR_LINKLOCAL(peer))
			continue;
		if (link->v6)
			memcpy(link->local, six, 16);
		else
			memcpy(link->local, &((const struct sockaddr_in *)(const void *)a->ifa_addr)->sin_addr, 4);
		rc = 0;
	}
	freeifaddrs(all);
	return rc ? weft_err_set(err, rc, "%s has no address of the peer's family", device) : 0;
}

static int bind_in(struct conform_net *net, const char *device)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(net->v6 ? ETH_P_IPV6 : ETH_P_IP),
				 .sll_ifindex = (int)if_nametoindex(device)};

	net->in = socket(AF_PACKET, SOCK_DGRAM, at.sll_protocol);
	return net->in < 0 || bind(net->in, (const struct sockaddr *)&at, sizeof at) ? -errno : 0;
}

static int open_out(struct conform_net *net, const char *device)
{
	net->out = socket(net->v6 ? AF_INET6 : AF_INET, SOCK_RAW, IPPROTO_RAW);
	return net->out < 0 || setsockopt(net->out, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device))
		       ? -errno
		       : 0;
}

/* Somebody listens, so the kernel sends no ICMP "unreachable". */
static int open_quiet(struct conform_net *net, uint16_t udp_port)
{
	int family = net->v6 ? AF_INET6 : AF_INET;
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(udp_port)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(udp_port)};
	const struct sockaddr *at = net->v6 ? (const struct sockaddr *)&six : (const struct sockaddr *)&four;

	net->quiet[0] = socket(family, SOCK_RAW, UET_PROTOCOL);
	net->quiet[1] = socket(family, SOCK_DGRAM, 0);
	if (net->quiet[0] < 0 || net->quiet[1] < 0)
		return -errno;
	return bind(net->quiet[1], at, net->v6 ? sizeof six : sizeof four) ? -errno : 0;
}

static int read_peer(const char *device, const char *peer, struct uet_link *link, struct weft_err *err)
{
	char text[64] = "";
	int rc = 0;

	if (peer)
		snprintf(text, sizeof text, "%s", peer);
	else
		rc = only_neighbour(device, text, sizeof text, err);
	if (rc)
		return rc;
	link->v6 = strchr(text, ':') != NULL;
	if (inet_pton(link->v6 ? AF_INET6 : AF_INET, text, link->remote) != 1)
		return weft_err_set(err, -EINVAL, "'%s' is no IP address", text);
	return find_local(device, link, err);
}

int conform_net_open(struct conform_net *net, const char *device, const char *peer, struct uet_link *link,
		     struct weft_err *err)
{
	int rc;

	*net = (struct conform_net){.in = -1, .out = -1, .quiet = {-1, -1}};
	if (!if_nametoindex(device))
		return weft_err_set(err, -ENODEV, "there is no interface '%s'", device);
	rc = read_peer(device, peer, link, err);
	if (rc)
		return rc;
	net->v6 = link->v6;
	memcpy(net->remote, link->remote, sizeof net->remote);
	rc = bind_in(net, device);
	rc = rc ? rc : open_out(net, device);
	rc = rc ? rc : open_quiet(net, link->udp_port);
	if (rc == 0)
		return 0;
	conform_net_close(net);
	if (rc == -EADDRINUSE)
		return weft_err_set(err, rc, "UDP port %u is used by another process of this host", link->udp_port);
	return weft_err_set(err, rc, "sockets of %s: %s", device, strerror(-rc));
}

void conform_net_close(struct conform_net *net)
{
	int all[] = {net->in, net->out, net->quiet[0], net->quiet[1]};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i] >= 0)
			close(all[i]);
}

static bool net_send(void *arg, const uint8_t *ip, size_t len)
{
	const struct conform_net *net = arg;
	struct sockaddr_in four = {.sin_family = AF_INET};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};

	if (net->v6) {
		memcpy(&six.sin6_addr, net->remote, 16);
		return sendto(net->out, ip, len, 0, (const struct sockaddr *)&six, sizeof six) == (ssize_t)len;
	}
	memcpy(&four.sin_addr, net->remote, 4);
	return sendto(net->out, ip, len, 0, (const struct sockaddr *)&four, sizeof four) == (ssize_t)len;
}

static uint64_t clock_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Packets of others and our own are read, too: whoever asked sorts them out, within the time. */
static size_t net_receive(void *arg, uint8_t *ip, size_t room, uint64_t *left_ns)
{
	const struct conform_net *net = arg;
	const uint64_t end = clock_now() + *left_ns;
	ssize_t n = 0;

	while (*left_ns > 0 && n <= 0) {
		struct pollfd in = {.fd = net->in, .events = POLLIN};
		struct sockaddr_ll from = {.sll_family = AF_PACKET};
		socklen_t from_bytes = sizeof from;
		if (poll(&in, 1, (int)((*left_ns + NS_PER_MS - 1) / NS_PER_MS)) == 1)
			n = recvfrom(net->in, ip, room, 0, (struct sockaddr *)&from, &from_bytes);
		n = n > 0 && from.sll_pkttype == PACKET_HOST ? n : 0;
		uint64_t now = clock_now();
		*left_ns = now < end ? end - now : 0;
	}
	return (size_t)n;
}

struct conform_io conform_net_io(struct conform_net *net)
{
	return (struct conform_io){.arg = net, .send = net_send, .receive = net_receive};
}
