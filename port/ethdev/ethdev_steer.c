/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_steer.h"

#include <assert.h>
#include <string.h>

#include <rte_flow.h>

#define HASH_ADDRESSES                                                                                                 \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_IPV6 |                \
	 RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER | RTE_ETH_RSS_IPV6_EX)
#define HASH_PORTS                                                                                                     \
	(RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV6_UDP_EX | RTE_ETH_RSS_PORT)

enum { PATTERN_MAX = 5 };

void steer_hash_configure(const struct rte_eth_dev_info *info, uint16_t queues, struct rte_eth_conf *eth)
{
	uint64_t hash = info->flow_type_rss_offloads & HASH_ADDRESSES;
	if (queues <= 1 || hash == 0)
		return;
	eth->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	eth->rx_adv_conf.rss_conf.rss_hf = hash;
}

enum weft_queue_hash steer_hash_look(uint16_t id, uint16_t queues, bool may_change)
{
	struct rte_eth_rss_conf conf = {.rss_key = NULL};
	if (queues <= 1)
		return WEFT_HASH_NONE;
	if (rte_eth_dev_rss_hash_conf_get(id, &conf) != 0)
		return WEFT_HASH_UNKNOWN;
	if ((conf.rss_hf & HASH_PORTS) != 0 && may_change) {
		conf = (struct rte_eth_rss_conf){.rss_hf = conf.rss_hf & HASH_ADDRESSES};
		rte_eth_dev_rss_hash_update(id, &conf);
		if (rte_eth_dev_rss_hash_conf_get(id, &conf) != 0)
			return WEFT_HASH_UNKNOWN;
	}
	return (conf.rss_hf & HASH_PORTS) != 0 ? WEFT_HASH_PORTS : WEFT_HASH_ADDRESSES;
}

/* ---- flow rules ---- */

static struct rte_flow *rule_make(uint16_t id, uint16_t queue, const struct rte_flow_item *pattern)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_action_queue to = {.index = queue};
	const struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to},
						  {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error err;
	if (rte_flow_validate(id, &attr, pattern, actions, &err) != 0)
		return NULL;
	return rte_flow_create(id, &attr, pattern, actions, &err);
}

/* Drivers differ in how much of a packet a rule has to name: some take addresses for packets without a UDP header only,
 * some leave ports alone. */
enum rule_form { RULE_PORT, RULE_UDP, RULE_IP, RULE_FORMS };

/* Ethernet, VLAN unless 0, then IP to `ip`; returns the number of items. The specifications stay the caller's. */
static unsigned pattern_begin(struct rte_flow_item *pattern, const struct rte_flow_item *ip,
			      const struct rte_flow_item_vlan *vlan)
{
	static const struct rte_flow_item_vlan mask = {.hdr.vlan_tci = RTE_BE16(0xfff)};
	unsigned n = 0;
	pattern[n++] = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_ETH};
	if (vlan->hdr.vlan_tci != 0)
		pattern[n++] = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_VLAN, .spec = vlan, .mask = &mask};
	pattern[n++] = *ip;
	return n;
}

static void pattern_end(struct rte_flow_item *item, enum rule_form form)
{
	static const struct rte_flow_item_udp spec = {.hdr.dst_port = RTE_BE16(UET_PORT)},
					      mask = {.hdr.dst_port = RTE_BE16(UINT16_MAX)};
	if (form == RULE_PORT)
		*item++ = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask};
	if (form == RULE_UDP)
		*item++ = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_UDP};
	*item = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_END};
}

struct rte_flow *steer_rule_add(uint16_t id, uint16_t queue, const struct weft_ip *ip, uint16_t vlan)
{
	static const struct rte_flow_item_ipv4 mask4 = {.hdr.dst_addr = UINT32_MAX};
	struct rte_flow_item_ipv6 spec6 = {.has_frag_ext = 0}, mask6 = spec6;
	const struct rte_flow_item_ipv4 spec4 = {.hdr.dst_addr = rte_cpu_to_be_32(weft_ip_low32(ip))};
	const struct rte_flow_item_vlan tag = {.hdr.vlan_tci = rte_cpu_to_be_16(vlan)};
	struct rte_flow_item item = {.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &spec4, .mask = &mask4};
	struct rte_flow_item pattern[PATTERN_MAX];
	struct rte_flow *rule = NULL;
	memset(mask6.hdr.dst_addr, UINT8_MAX, sizeof mask6.hdr.dst_addr);
	memcpy(spec6.hdr.dst_addr, ip->b, sizeof spec6.hdr.dst_addr);
	if (!weft_ip_is_v4(ip))
		item = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_IPV6, .spec = &spec6, .mask = &mask6};
	unsigned n = pattern_begin(pattern, &item, &tag);
	assert(n + 2 <= PATTERN_MAX);
	for (enum rule_form form = 0; form < RULE_FORMS && rule == NULL; form++) {
		pattern_end(pattern + n, form);
		rule = rule_make(id, queue, pattern);
	}
	return rule;
}

void steer_rule_remove(uint16_t id, struct rte_flow *rule)
{
	struct rte_flow_error err;
	if (rule != NULL)
		rte_flow_destroy(id, rule, &err);
}
