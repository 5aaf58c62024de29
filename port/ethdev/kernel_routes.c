/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes of the kernel's main table. Policy rules and other tables are for traffic that the kernel itself sends. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/rtnetlink.h>

#include "netlink.h"
#include "weft/kernel_if.h"

/* A route while it is read; the metric decides among those of one prefix. */
struct found {
	struct weft_route route;
	uint32_t metric, table;
	bool leaves_by_ours;
};

struct reader {
	uint32_t index;
	struct weft_route *routes;
	uint32_t *metrics; /* of `routes` */
	uint32_t count, room;
	bool no_memory;
};

static bool reader_grow(struct reader *r)
{
	uint32_t room = r->room != 0 ? 2 * r->room : 16;
	struct weft_route *routes = realloc(r->routes, room * sizeof *routes);
	if (routes != NULL)
		r->routes = routes;
	uint32_t *metrics = realloc(r->metrics, room * sizeof *metrics);
	if (metrics != NULL)
		r->metrics = metrics;
	if (routes == NULL || metrics == NULL)
		return false;
	r->room = room;
	return true;
}

static bool is_same_prefix(const struct weft_route *a, const struct weft_route *b)
{
	return a->prefix_len == b->prefix_len && weft_ip_eq(&a->prefix, &b->prefix);
}

static void reader_add(struct reader *r, const struct found *f)
{
	for (uint32_t i = 0; i < r->count; i++) {
		if (!is_same_prefix(&r->routes[i], &f->route))
			continue;
		if (f->metric < r->metrics[i]) {
			r->routes[i] = f->route;
			r->metrics[i] = f->metric;
		}
		return;
	}
	if (r->count == r->room && !reader_grow(r)) {
		r->no_memory = true;
		return;
	}
	assert(r->count < r->room);
	r->routes[r->count] = f->route;
	r->metrics[r->count++] = f->metric;
}

/* An address of `family` in an attribute. False: it is none. */
static bool ip_get(const struct nlattr *attr, uint8_t family, struct weft_ip *ip)
{
	if (family == AF_INET && mnl_attr_get_payload_len(attr) == 4) {
		*ip = weft_ip_v4(__builtin_bswap32(mnl_attr_get_u32(attr)));
		return true;
	}
	if (family != AF_INET6 || mnl_attr_get_payload_len(attr) != sizeof ip->b)
		return false;
	memcpy(ip->b, mnl_attr_get_payload(attr), sizeof ip->b);
	return true;
}

/* The first next hop on our interface. */
static void multipath_read(const struct nlattr *attr, uint8_t family, const struct reader *r, struct found *f)
{
	const struct rtnexthop *hop = mnl_attr_get_payload(attr);
	int left = (int)mnl_attr_get_payload_len(attr);
	for (; RTNH_OK(hop, left) && !f->leaves_by_ours; left -= RTNH_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop)) {
		if ((uint32_t)hop->rtnh_ifindex != r->index || hop->rtnh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN))
			continue;
		const struct nlattr *via = (const struct nlattr *)RTNH_DATA(hop);
		int via_bytes = hop->rtnh_len - (int)sizeof *hop;
		f->leaves_by_ours = true;
		for (; mnl_attr_ok(via, via_bytes); via_bytes -= MNL_ALIGN(via->nla_len), via = mnl_attr_next(via)) {
			if (mnl_attr_get_type(via) == RTA_VIA)
				f->leaves_by_ours = false; /* a gateway of the other family */
			if (mnl_attr_get_type(via) == RTA_GATEWAY)
				ip_get(via, family, &f->route.gateway);
		}
	}
}

static void route_attr(const struct nlattr *attr, const struct rtmsg *msg, const struct reader *r, struct found *f,
		       bool *foreign_gateway)
{
	uint32_t number = netlink_has_bytes(attr, sizeof number) ? mnl_attr_get_u32(attr) : 0;
	switch (mnl_attr_get_type(attr)) {
	case RTA_DST:
		ip_get(attr, msg->rtm_family, &f->route.prefix);
		break;
	case RTA_GATEWAY:
		ip_get(attr, msg->rtm_family, &f->route.gateway);
		break;
	case RTA_OIF:
		f->leaves_by_ours = number == r->index;
		break;
	case RTA_PRIORITY:
		f->metric = number;
		break;
	case RTA_TABLE:
		f->table = number;
		break;
	case RTA_MULTIPATH:
		multipath_read(attr, msg->rtm_family, r, f);
		break;
	case RTA_VIA:
		*foreign_gateway = true;
		break;
	default:
		break;
	}
}

static int on_route(const struct nlmsghdr *head, void *arg)
{
	const struct rtmsg *msg = mnl_nlmsg_get_payload(head);
	struct reader *r = arg;
	struct found f = {.table = msg->rtm_table};
	bool foreign_gateway = false;
	const struct nlattr *attr;

	if (head->nlmsg_type != RTM_NEWROUTE || msg->rtm_type != RTN_UNICAST || msg->rtm_flags & RTM_F_CLONED ||
	    msg->rtm_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN))
		return MNL_CB_OK;
	f.route.prefix_len = msg->rtm_dst_len;
	if (msg->rtm_family == AF_INET)
		f.route.prefix = weft_ip_v4(0);
	mnl_attr_for_each(attr, head, sizeof *msg) route_attr(attr, msg, r, &f, &foreign_gateway);
	if (f.leaves_by_ours && !foreign_gateway && f.table == RT_TABLE_MAIN)
		reader_add(r, &f);
	return MNL_CB_OK;
}

static int routes_ask(struct reader *r, uint8_t family, struct weft_err *err)
{
	struct netlink_request q;
	struct rtmsg *msg = netlink_request_init(&q, RTM_GETROUTE, sizeof *msg, true);
	msg->rtm_family = family;
	msg->rtm_table = RT_TABLE_MAIN;
	int rc = netlink_ask(&q, on_route, r, "routes", err);
	/* A kernel without IPv6 has no routes of it. */
	return rc == -EOPNOTSUPP || rc == -EAFNOSUPPORT ? 0 : rc;
}

int weft_if_routes(uint32_t index, struct weft_route **routes, uint32_t *count, struct weft_err *err)
{
	struct reader r = {.index = index};
	int rc = -EINTR;
	for (int i = 0; i < NETLINK_TRIES && rc == -EINTR; i++) {
		r.count = 0;
		rc = routes_ask(&r, AF_INET, err);
		if (rc == 0)
			rc = routes_ask(&r, AF_INET6, err);
	}
	if (rc == 0 && r.no_memory)
		rc = weft_err_set(err, -ENOMEM, "routes: out of memory");
	free(r.metrics);
	if (rc != 0) {
		free(r.routes);
		return rc;
	}
	*routes = r.routes;
	*count = r.count;
	return 0;
}
