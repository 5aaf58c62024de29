/* SPDX-License-Identifier: BSD-3-Clause */
#include "weft/kernel_if.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>

#include "netlink.h"

static int on_xdp(const struct nlattr *attr, void *arg)
{
	struct weft_if *out = arg;
	if (mnl_attr_get_type(attr) == IFLA_XDP_ATTACHED && netlink_has_bytes(attr, sizeof(uint8_t)))
		out->has_xdp = mnl_attr_get_u8(attr) != XDP_ATTACHED_NONE;
	return MNL_CB_OK;
}

/* What the kernel makes without hardware (veth, bridge, VLAN, ...) names its kind. */
static bool has_kind(const struct nlattr *info)
{
	const struct nlattr *attr;
	mnl_attr_for_each_nested(attr, info) if (mnl_attr_get_type(attr) == IFLA_INFO_KIND) return true;
	return false;
}

struct link_answer {
	struct weft_if *out;
	bool is_virtual;
};

static void link_attr(const struct nlattr *attr, struct link_answer *answer)
{
	struct weft_if *out = answer->out;
	uint16_t type = mnl_attr_get_type(attr);
	if (type == IFLA_LINKINFO)
		answer->is_virtual = has_kind(attr);
	if (type == IFLA_MTU && netlink_has_bytes(attr, sizeof(uint32_t)))
		out->mtu_bytes = mnl_attr_get_u32(attr);
	if (type == IFLA_ADDRESS && mnl_attr_get_payload_len(attr) == sizeof out->mac)
		memcpy(out->mac, mnl_attr_get_payload(attr), sizeof out->mac);
	if (type == IFLA_QDISC)
		snprintf(out->qdisc, sizeof out->qdisc, "%s", mnl_attr_get_str(attr));
	if (type == IFLA_XDP)
		mnl_attr_parse_nested(attr, on_xdp, out);
}

static int on_link(const struct nlmsghdr *head, void *arg)
{
	const struct ifinfomsg *msg = mnl_nlmsg_get_payload(head);
	struct link_answer *answer = arg;
	struct weft_if *out = answer->out;
	const struct nlattr *attr;

	if (head->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	out->index = (uint32_t)msg->ifi_index;
	out->is_up = msg->ifi_flags & IFF_UP;
	out->has_carrier = msg->ifi_flags & IFF_LOWER_UP;
	mnl_attr_for_each(attr, head, sizeof *msg) link_attr(attr, answer);
	return MNL_CB_OK;
}

static int link_read(const char *name, struct link_answer *answer, struct weft_err *err)
{
	struct netlink_request q;
	netlink_request_init(&q, RTM_GETLINK, sizeof(struct ifinfomsg), false);
	mnl_attr_put_strz(q.head, IFLA_IFNAME, name);
	int rc = netlink_ask(&q, on_link, answer, name, err);
	return rc == 0 && answer->out->index == 0 ? weft_err_set(err, -ENODEV, "%s: no such interface", name) : rc;
}

static bool is_link_local(const struct weft_ip *ip)
{
	return ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0x80;
}

/* Link-local addresses stay behind all others. */
static void addr_add(struct weft_if *out, const struct weft_if_addr *addr)
{
	uint32_t at = out->addr_count;
	if (!is_link_local(&addr->ip))
		while (at > 0 && is_link_local(&out->addrs[at - 1].ip))
			at--;
	if (at == WEFT_IF_ADDRS)
		return;
	if (out->addr_count == WEFT_IF_ADDRS)
		out->addr_count--;
	assert(at <= out->addr_count && out->addr_count < WEFT_IF_ADDRS);
	memmove(&out->addrs[at + 1], &out->addrs[at], (out->addr_count - at) * sizeof *addr);
	out->addrs[at] = *addr;
	out->addr_count++;
}

/* Our end of a point-to-point link is IFA_LOCAL, the other end IFA_ADDRESS; IPv6 has the latter alone where there is no
 * other end. */
static const struct nlattr *addr_attr(const struct nlmsghdr *head, uint32_t *flags)
{
	const struct nlattr *attr, *local = NULL, *address = NULL;
	mnl_attr_for_each(attr, head, sizeof(struct ifaddrmsg))
	{
		uint16_t type = mnl_attr_get_type(attr);
		if (type == IFA_LOCAL)
			local = attr;
		else if (type == IFA_ADDRESS)
			address = attr;
		else if (type == IFA_FLAGS && netlink_has_bytes(attr, sizeof *flags))
			*flags = mnl_attr_get_u32(attr);
	}
	return local != NULL ? local : address;
}

static int on_addr(const struct nlmsghdr *head, void *arg)
{
	const struct ifaddrmsg *msg = mnl_nlmsg_get_payload(head);
	struct weft_if *out = arg;
	uint32_t flags = msg->ifa_flags;
	struct weft_if_addr addr = {.prefix_len = msg->ifa_prefixlen};

	if (head->nlmsg_type != RTM_NEWADDR || msg->ifa_index != out->index)
		return MNL_CB_OK;
	const struct nlattr *attr = addr_attr(head, &flags);
	if (attr == NULL || flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_DEPRECATED))
		return MNL_CB_OK;
	if (msg->ifa_family == AF_INET && netlink_has_bytes(attr, 4))
		addr.ip = weft_ip_v4(__builtin_bswap32(mnl_attr_get_u32(attr)));
	else if (msg->ifa_family == AF_INET6 && netlink_has_bytes(attr, sizeof addr.ip.b))
		memcpy(addr.ip.b, mnl_attr_get_payload(attr), sizeof addr.ip.b);
	else
		return MNL_CB_OK;
	addr_add(out, &addr);
	return MNL_CB_OK;
}

/* The answer to the first question says how long the lists of modes are that the second has to leave room for. */
static uint64_t speed_bps(const char *name)
{
	enum { UNKNOWN = -1, WORDS_MAX = 3 * 127 };
	union {
		struct ethtool_link_settings s;
		uint8_t room[sizeof(struct ethtool_link_settings) + WORDS_MAX * sizeof(uint32_t)];
	} e = {.s = {.cmd = ETHTOOL_GLINKSETTINGS}};
	struct ifreq req = {.ifr_data = (char *)&e};
	snprintf(req.ifr_name, sizeof req.ifr_name, "%s", name);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	bool known = ioctl(fd, SIOCETHTOOL, &req) == 0 && e.s.link_mode_masks_nwords < 0;
	if (known) {
		e.s = (struct ethtool_link_settings){
			.cmd = ETHTOOL_GLINKSETTINGS,
			.link_mode_masks_nwords = (int8_t)-e.s.link_mode_masks_nwords,
		};
		known = ioctl(fd, SIOCETHTOOL, &req) == 0 && e.s.speed != 0 && e.s.speed != (uint32_t)UNKNOWN;
	}
	close(fd);
	return known ? e.s.speed * UINT64_C(1000000) : 0;
}

/* Interfaces that do not tell have one. */
static uint32_t rx_queues(const char *name)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq req = {.ifr_data = (char *)&channels};
	snprintf(req.ifr_name, sizeof req.ifr_name, "%s", name);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 1;
	bool known = ioctl(fd, SIOCETHTOOL, &req) == 0;
	close(fd);
	uint32_t queues = known ? channels.combined_count + channels.rx_count : 0;
	return queues > 0 ? queues : 1;
}

static int addrs_read(const char *name, struct weft_if *out, struct weft_err *err)
{
	struct netlink_request q;
	int rc = -EINTR;
	for (int i = 0; i < NETLINK_TRIES && rc == -EINTR; i++) {
		out->addr_count = 0;
		netlink_request_init(&q, RTM_GETADDR, sizeof(struct ifaddrmsg), true);
		rc = netlink_ask(&q, on_addr, out, name, err);
	}
	return rc;
}

int weft_if_read(const char *name, struct weft_if *out, struct weft_err *err)
{
	*out = (struct weft_if){0};
	if (strlen(name) >= sizeof out->name)
		return weft_err_set(err, -ENODEV, "%.40s: no interface has so long a name", name);
	strcpy(out->name, name);
	struct link_answer answer = {.out = out};
	int rc = link_read(name, &answer, err);
	if (rc != 0)
		return rc;
	out->link_bps = answer.is_virtual ? 0 : speed_bps(name); /* such speeds are made up */
	out->rx_queues = rx_queues(name);
	return addrs_read(name, out, err);
}
