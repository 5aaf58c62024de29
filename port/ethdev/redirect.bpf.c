/* SPDX-License-Identifier: BSD-3-Clause */
/* On an interface of the kernel with an AF_XDP socket: UET packets to one address go to the socket, everything else
 * goes on to the kernel, and so do they while there is no socket. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define UET_PORT        4793
#define UET_PORT_49150  49150
#define NATIVE_PROTOCOL 253 /* UET without UDP */
#define FRAGMENT_OFFSET 0x1fff

/* Whoever loads the program puts an IPv6 address, or an IPv4 address in its mapped form, in the place of this text. */
const volatile union {
	char text[16];
	__u32 words[4];
} own_address = {.text = "weft own address"};

/* DPDK's driver knows the map by this name, and enters a socket for each queue. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

static __always_inline int is_uet(__u8 protocol, const struct udphdr *l4, const void *end)
{
	if (protocol == NATIVE_PROTOCOL)
		return 1;
	if (protocol != IPPROTO_UDP || (const void *)(l4 + 1) > end)
		return 0;
	return l4->dest == bpf_htons(UET_PORT) || l4->dest == bpf_htons(UET_PORT_49150);
}

static __always_inline int is_ours_v4(const struct iphdr *ip, const void *end)
{
	if ((const void *)(ip + 1) > end || ip->frag_off & bpf_htons(FRAGMENT_OFFSET))
		return 0;
	if (own_address.words[2] != bpf_htonl(0xffff) || ip->daddr != own_address.words[3])
		return 0;
	return is_uet(ip->protocol, (const void *)ip + ip->ihl * 4, end);
}

static __always_inline int is_ours_v6(const struct ipv6hdr *ip, const void *end)
{
	if ((const void *)(ip + 1) > end)
		return 0;
	for (int i = 0; i < 4; i++)
		if (ip->daddr.in6_u.u6_addr32[i] != own_address.words[i])
			return 0;
	return is_uet(ip->nexthdr, (const void *)(ip + 1), end);
}

SEC("xdp")
int weft_redirect(struct xdp_md *ctx)
{
	const void *end = (const void *)(long)ctx->data_end;
	const struct ethhdr *eth = (const void *)(long)ctx->data;
	int ours = 0;
	if ((const void *)(eth + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		ours = is_ours_v4((const void *)(eth + 1), end);
	else if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		ours = is_ours_v6((const void *)(eth + 1), end);
	return ours ? bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS) : XDP_PASS;
}

const char license_name[] SEC("license") = "BSD";
