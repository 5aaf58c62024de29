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
	NATIVE_PROTOCOL = 253,  /* UET without UDP */
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

static socklen_t sockaddr_of(const struct weft_ip *ip, struct sockaddr_storage *out)
{
	*out = (struct sockaddr_storage){0};
	if (weft_ip_is_v4(ip)) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;
		*in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(UET_PORT)};
		in->sin_addr.s_addr = htonl(weft_ip_low32(ip));
		return sizeof *in;
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
	*in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(UET_PORT)};
	memcpy(&in6->sin6_addr, ip->b, sizeof in6->sin6_addr);
	return sizeof *in6;
}

/* A socket on the port that takes nothing: the kernel drops in silence what it gets a copy of, instead of answering
 * "port unreachable". */
int iface_guard(const char *iface, const struct weft_ip *ip, int *fd, struct weft_err *err)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog filter = {.len = 1, .filter = &none};
	struct sockaddr_storage addr;
	socklen_t len = sockaddr_of(ip, &addr);
	*fd = socket(addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return weft_err_set(err, -errno, "%s: no socket: %s", iface, strerror(errno));
	setsockopt(*fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
	if (bind(*fd, (struct sockaddr *)&addr, len) == 0)
		return 0;
	int rc = -errno;
	close(*fd);
	*fd = -1;
	if (rc == -EADDRNOTAVAIL) /* not one of the kernel's addresses: it does not answer for it */
		return 0;
	return weft_err_set(err, rc, "%s: cannot have UDP port %d of our address: %s%s", iface, UET_PORT, strerror(-rc),
			    rc == -EADDRINUSE ? " by another process; each needs an address of its own" : "");
}

/* Arriving ARP, neighbour discovery and UET. Offsets are from the Ethernet header. */
static void filter_attach(int fd, void *arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, SKF_AD_OFF + SKF_AD_PKTTYPE), /* 0 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 22, 0),     /* 1 */
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),                          /* 2: type */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 19, 0),           /* 3 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 9, 0),           /* 4 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 18),            /* 5 */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),                          /* 6: protocol */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_PROTOCOL, 15, 0),     /* 7 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 15),         /* 8 */
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),                          /* 9: fragment offset */
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 13, 0),             /* 10 */
		BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),                         /* 11: length of the IP header */
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, 16),                          /* 12: destination port */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UET_PORT, 9, 10),            /* 13 */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),                          /* 14: next header */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_PROTOCOL, 7, 0),      /* 15 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 3, 0),          /* 16 */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, 6),       /* 17 */
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 54),                          /* 18: ICMP's type */
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ICMP6_ND_FIRST, 2, 4),       /* 19 */
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 56),                          /* 20: destination port */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UET_PORT, 1, 2),             /* 21 */
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, ICMP6_ND_LAST, 1, 0),        /* 22 */
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),                           /* 23 */
		BPF_STMT(BPF_RET | BPF_K, 0),                                    /* 24 */
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
