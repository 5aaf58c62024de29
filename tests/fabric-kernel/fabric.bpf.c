/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0 */
/* One port of a switch that marks and trims, on the egress of an interface: it looks at the backlog of the queue below,
 * sets CE between two thresholds with rising probability, and cuts data packets that the queue has no room for down to
 * their headers. Those and control packets go into a class that is served first. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ACT_OK   0
#define ACT_SHOT 2

/* As much of the kernel's structures as is read; offsets come from its type information. */
#define KERNEL __attribute__((preserve_access_index))
struct gnet_stats_queue {
	__u32 backlog;
} KERNEL;
struct Qdisc {
	struct gnet_stats_queue qstats;
} KERNEL;
struct net_device {
	struct Qdisc *qdisc;
} KERNEL;
struct sk_buff {
	struct net_device *dev;
} KERNEL;
extern void *bpf_cast_to_kern_ctx(void *context) __ksym;

/* Whoever compiles this gives the numbers: MARK_MIN_BYTES, MARK_MAX_BYTES, QUEUE_BYTES, CONTROL_BYTES (what the first
 * class may hold beyond that), TRIM_IP_BYTES; FIRST_CLASS and DATA_CLASS, skb->priority for HTB; DSCP_DATA (may be
 * trimmed), DSCP_TRIMMED, DSCP_CONTROL. */

struct counters {
	__u64 packets, marked, trimmed, dropped, largest_backlog;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32); /* interface */
	__type(value, struct counters);
} ports SEC(".maps");

static __always_inline struct counters *counters_of(__u32 ifindex)
{
	struct counters none = {0};
	struct counters *c = bpf_map_lookup_elem(&ports, &ifindex);
	if (c)
		return c;
	bpf_map_update_elem(&ports, &ifindex, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&ports, &ifindex);
}

static __always_inline struct iphdr *ip_of(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	return (void *)(ip + 1) <= end && eth->h_proto == bpf_htons(ETH_P_IP) && ip->ihl == 5 ? ip : 0;
}

static __always_inline void set_checksum(struct iphdr *ip)
{
	ip->check = 0;
	__u32 sum = (__u32)bpf_csum_diff(0, 0, (__be32 *)ip, sizeof *ip, 0);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = (__u16)~sum;
}

/* The packet goes through the egress again, short, so that the queue counts what is left of it. */
static __always_inline int trim(struct __sk_buff *skb, struct counters *c)
{
	if (bpf_skb_change_tail(skb, ETH_HLEN + TRIM_IP_BYTES, 0))
		return ACT_SHOT;
	struct iphdr *ip = ip_of(skb);
	if (!ip)
		return ACT_SHOT;
	ip->tot_len = bpf_htons((__u16)TRIM_IP_BYTES);
	ip->tos = (__u8)(DSCP_TRIMMED << 2 | (ip->tos & 3));
	set_checksum(ip);
	__sync_fetch_and_add(&c->trimmed, 1);
	return bpf_redirect(skb->ifindex, 0);
}

static __always_inline void mark(struct iphdr *ip, __u32 backlog, struct counters *c)
{
	__u32 ecn = ip->tos & 3, span = MARK_MAX_BYTES - MARK_MIN_BYTES;
	if ((ecn != 1 && ecn != 2) || backlog <= MARK_MIN_BYTES)
		return;
	if (backlog < MARK_MAX_BYTES && bpf_get_prandom_u32() % span >= backlog - MARK_MIN_BYTES)
		return;
	ip->tos |= 3;
	set_checksum(ip);
	__sync_fetch_and_add(&c->marked, 1);
}

SEC("tc")
int port(struct __sk_buff *skb)
{
	if (bpf_skb_pull_data(skb, ETH_HLEN + sizeof(struct iphdr)))
		return ACT_OK;
	struct iphdr *ip = ip_of(skb);
	struct counters *c = counters_of(skb->ifindex);
	if (!ip || !c)
		return ACT_OK;
	struct sk_buff *kernel_skb = bpf_cast_to_kern_ctx(skb);
	__u32 backlog = kernel_skb->dev->qdisc->qstats.backlog;
	__u8 dscp = ip->tos >> 2;
	__sync_fetch_and_add(&c->packets, 1);
	if (backlog > c->largest_backlog)
		c->largest_backlog = backlog;
	if (dscp == DSCP_TRIMMED || dscp == DSCP_CONTROL) {
		skb->priority = FIRST_CLASS;
		if (backlog <= QUEUE_BYTES + CONTROL_BYTES)
			return ACT_OK;
	} else if (backlog + skb->len <= QUEUE_BYTES) {
		skb->priority = DATA_CLASS;
		mark(ip, backlog, c);
		return ACT_OK;
	} else if (dscp == DSCP_DATA && backlog <= QUEUE_BYTES + CONTROL_BYTES && skb->len > ETH_HLEN + TRIM_IP_BYTES) {
		return trim(skb, c);
	}
	__sync_fetch_and_add(&c->dropped, 1);
	return ACT_SHOT;
}

char _license[] SEC("license") = "Dual BSD/GPL";
