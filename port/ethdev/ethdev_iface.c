/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_iface.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ethdev_priv.h"
#include "weft/kernel_if.h"

enum {
	FRAME_EXTRA_BYTES = 96, /* what af_packet's ring has in front of an IP packet, and its Ethernet header */
	FRAME_MIN_BYTES = 2048,
	FRAME_MAX_BYTES = 16384,
	ICMP6_ND_FIRST = 133,
	ICMP6_ND_LAST = 137,
};

bool iface_named(const char *dev)
{
	return dev != NULL && dev[0] != '\0' && strlen(dev) < IFNAMSIZ && strchr(dev, ',') == NULL &&
	       if_nametoindex(dev) != 0;
}

/* Slots of af_packet's ring hold a packet of the interface each, as a power of two divides its blocks. */
static unsigned frame_bytes(const char *iface)
{
	struct weft_if info;
	unsigned bytes = FRAME_MIN_BYTES;
	if (weft_if_read(iface, &info, NULL) != 0)
		return FRAME_MAX_BYTES;
	while (bytes < info.mtu_bytes + FRAME_EXTRA_BYTES && bytes < FRAME_MAX_BYTES)
		bytes *= 2;
	return bytes;
}

/* af_packet's driver joins a group whose number is made of process id and interface, and fails when another process has
 * that group for another interface; pcap's driver knows no groups. */
bool iface_devargs(const char *iface, unsigned i, char *devargs, size_t size)
{
	if (i == 0)
		snprintf(devargs, size, "net_af_packet_%s,iface=%s,framesz=%u,blocksz=65536,framecnt=512", iface, iface,
			 frame_bytes(iface));
	else if (i == 1)
		snprintf(devargs, size, "net_pcap_%s,iface=%s", iface, iface);
	return i <= 1;
}

static socklen_t sockaddr_of(const struct weft_ip *ip, uint16_t port, struct sockaddr_storage *out)
{
	*out = (struct sockaddr_storage){0};
	if (weft_ip_is_v4(ip)) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;
		*in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		in->sin_addr.s_addr = htonl(weft_ip_low32(ip));
		return sizeof *in;
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
	*in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	memcpy(&in6->sin6_addr, ip->b, sizeof in6->sin6_addr);
	return sizeof *in6;
}

/* A socket that takes nothing, of a UDP port or, with port 0, of UET's IP protocol. -1: errno says why. */
static int guard_open(const struct weft_ip *ip, uint16_t port)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog filter = {.len = 1, .filter = &none};
	struct sockaddr_storage addr;
	socklen_t len = sockaddr_of(ip, port, &addr);
	int fd = socket(addr.ss_family, (port != 0 ? SOCK_DGRAM : SOCK_RAW) | SOCK_CLOEXEC,
			port != 0 ? 0 : UET_PROTOCOL);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
	if (bind(fd, (struct sockaddr *)&addr, len) == 0)
		return fd;
	int reason = errno;
	close(fd);
	errno = reason;
	return -1;
}

int iface_guard(const char *iface, const struct weft_ip *ip, int fds[IFACE_GUARDS], struct weft_err *err)
{
	fds[0] = guard_open(ip, UET_PORT);
	if (fds[0] < 0 && errno != EADDRNOTAVAIL) { /* that is not one of the kernel's addresses: it does not answer */
		int rc = -errno;
		return weft_err_set(err, rc, "%s: cannot have UDP port %d of our address: %s%s", iface, UET_PORT,
				    strerror(-rc),
				    rc == -EADDRINUSE ? " by another process; each needs an address of its own" : "");
	}
	fds[1] = guard_open(ip, UET_PORT_49150);
	fds[2] = guard_open(ip, 0);
	return 0;
}

void iface_unguard(int fds[IFACE_GUARDS])
{
	for (int i = 0; i < IFACE_GUARDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Arriving ARP, neighbour discovery and UET. Offsets are from the Ethernet header. */
static void filter_attach(int fd, void *arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, SKF_AD_OFF + SKF_AD_PKTTYPE), /* 0 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 24, 0),     /* 1 */
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),                          /* 2: type */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 21, 0),           /* 3 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 10, 0),          /* 4 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 20),            /* 5 */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),                          /* 6: protocol */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UET_PROTOCOL, 17, 0),        /* 7 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 17),         /* 8 */
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),                          /* 9: fragment offset */
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 15, 0),             /* 10 */
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),                         /* 11: length of the IP header */
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 16),                          /* 12: destination port */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UET_PORT, 11, 0),            /* 13 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UET_PORT_49150, 10, 11),     /* 14 */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),                          /* 15: next header */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UET_PROTOCOL, 8, 0),         /* 16 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 3, 0),          /* 17 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, 7),       /* 18 */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 54),                          /* 19: ICMP's type */
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ICMP6_ND_FIRST, 3, 5),       /* 20 */
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 56),                          /* 21: destination port */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UET_PORT, 2, 0),             /* 22 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UET_PORT_49150, 1, 2),       /* 23 */
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, ICMP6_ND_LAST, 1, 0),        /* 24 */
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),                           /* 25 */
		BPF_STMT(BPF_RET | BPF_K, 0),                                    /* 26 */
	};
	const struct sock_fprog filter = {.len = RTE_DIM(code), .filter = code};
	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

static bool is_packet_socket(int fd, unsigned index)
{
	struct sockaddr_ll ll = {0};
	socklen_t len = sizeof ll;
	return getsockname(fd, (struct sockaddr *)&ll, &len) == 0 && ll.sll_family == AF_PACKET &&
	       ll.sll_ifindex == (int)index && ll.sll_protocol == htons(ETH_P_ALL);
}

/* Drivers do not tell their sockets. */
void iface_each_socket(unsigned index, void (*fn)(int fd, void *arg), void *arg)
{
	DIR *dir = opendir("/proc/self/fd");
	for (const struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
		int fd = atoi(e->d_name);
		if (is_packet_socket(fd, index))
			fn(fd, arg);
	}
	if (dir != NULL)
		closedir(dir);
}

void iface_filter(const char *iface)
{
	iface_each_socket(if_nametoindex(iface), filter_attach, NULL);
}

int iface_tap(const char *iface, int *fd, struct weft_err *err)
{
	const struct sockaddr_ll ll = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(iface)};
	*fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); /* takes nothing until it is bound */
	if (*fd < 0)
		return weft_err_set(err, -errno, "%s: no packet socket: %s", iface, strerror(errno));
	filter_attach(*fd, NULL);
	if (bind(*fd, (const struct sockaddr *)&ll, sizeof ll) == 0)
		return 0;
	int rc = -errno;
	close(*fd);
	*fd = -1;
	return weft_err_set(err, rc, "%s: no packet socket: %s", iface, strerror(-rc));
}
