/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_net.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "member.h"
#include "prov_addr.h"
#include "prov_log.h"

enum { PREFIX_V4_MAX = 32, PREFIX_V6_MAX = 128, VLAN_MAX = 4094, PCP_MAX = 7, TEXT_MAX = 1024 };

static char *trim(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	for (char *end = text + strlen(text); end > text && isspace((unsigned char)end[-1]);)
		*--end = 0;
	return text;
}

static bool number_parse(const char *text, unsigned long max, unsigned long *n)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*n = strtoul(text, &end, 10);
	return !*end && !errno && *n <= max;
}

/* Takes no memory. What follows % is for the kernel, which knows interfaces. */
static bool ip_parse(const char *text, struct weft_ip *ip)
{
	char host[INET6_ADDRSTRLEN];
	struct in_addr v4;
	size_t len = strcspn(text, "%");
	if (len >= sizeof host)
		return false;
	snprintf(host, sizeof host, "%.*s", (int)len, text);
	if (inet_pton(AF_INET, host, &v4) != 1)
		return inet_pton(AF_INET6, host, ip->b) == 1;
	*ip = weft_ip_v4(ntohl(v4.s_addr));
	return true;
}

static unsigned prefix_max(const struct weft_ip *ip)
{
	return weft_ip_is_v4(ip) ? PREFIX_V4_MAX : PREFIX_V6_MAX;
}

/* ---- addresses ---- */

/* Adds `n` to the address as one big-endian number; wraps in the low 32 bits. */
static void ip_add(struct weft_ip *ip, uint32_t n)
{
	n += weft_ip_low32(ip);
	for (int i = 15; i >= 12; i--, n >>= 8)
		ip->b[i] = (uint8_t)n;
}

/* Cuts "+N" or "/N" off the end of `text` if `mark` begins the last such piece; `*n` is left alone without. */
static bool suffix_cut(char *text, char mark, unsigned long max, unsigned long *n)
{
	char *at = strrchr(text, mark), *other = strrchr(text, mark == '+' ? '/' : '+');
	if (!at || (other && other > at))
		return true;
	*at = 0;
	return number_parse(at + 1, max, n);
}

int prov_net_addr(const char *text, struct prov_dev *dev, struct weft_err *err)
{
	char host[80];
	unsigned long add = 0, prefix_len = 0;
	bool good = (size_t)snprintf(host, sizeof host, "%s", text) < sizeof host &&
		    strchr(text, '/') == strrchr(text, '/') && strchr(text, '+') == strrchr(text, '+');
	/* In either order: the one behind is cut first. */
	good = good && suffix_cut(host, '/', PREFIX_V6_MAX, &prefix_len) && suffix_cut(host, '+', UINT32_MAX, &add) &&
	       suffix_cut(host, '/', PREFIX_V6_MAX, &prefix_len);
	if (!good || strpbrk(host, "+/"))
		return weft_err_set(err, -EINVAL, "FI_WEFT_ADDR: '%s' is not ADDRESS, ADDRESS/PREFIX or either with +N",
				    text);
	if (!ip_parse(host, &dev->ip) || weft_ip_is_any(&dev->ip))
		return weft_err_set(err, -EINVAL, "FI_WEFT_ADDR: '%s' is not an IPv4 or IPv6 address", text);
	if (prefix_len > prefix_max(&dev->ip))
		return weft_err_set(err, -EINVAL, "FI_WEFT_ADDR: '%s' has a longer prefix than its address", text);
	dev->net.prefix_len = (uint8_t)prefix_len;
	dev->base = dev->ip;
	ip_add(&dev->ip, (uint32_t)add);
	return 0;
}

/* ---- the kernel's interface ---- */

bool prov_net_iface(const struct prov_dev *dev, char *name, size_t size)
{
	bool on_iface = strncmp(dev->devargs, "net_af_", 7) == 0;
	if (on_iface)
		return weft_ethdev_arg(dev->devargs, "iface", name, size);
	size_t len = strcspn(dev->devargs, ",");
	return (size_t)snprintf(name, size, "%.*s", (int)len, dev->devargs) < size && if_nametoindex(name);
}

static bool is_in(const struct weft_ip *ip, const struct weft_if_addr *net)
{
	unsigned len = weft_ip_is_v4(&net->ip) ? 96u + net->prefix_len : net->prefix_len;
	for (unsigned bit = 0; bit < len; bit++)
		if ((ip->b[bit / 8] ^ net->ip.b[bit / 8]) & 0x80u >> bit % 8)
			return false;
	return weft_ip_is_v4(ip) == weft_ip_is_v4(&net->ip);
}

static const struct weft_if_addr *iface_net(const struct weft_if *iface, const struct weft_ip *ip)
{
	for (uint32_t i = 0; i < iface->addr_count; i++)
		if (is_in(ip, &iface->addrs[i]))
			return &iface->addrs[i];
	return NULL;
}

/* Engines on one interface take its addresses in turn, those of the first one's family; the last where there are
 * fewer. */
static const struct weft_if_addr *iface_addr(const struct weft_if *iface, uint16_t engine)
{
	const struct weft_if_addr *found = &iface->addrs[0];
	for (uint32_t i = 1; i < iface->addr_count && engine; i++) {
		if (weft_ip_is_v4(&iface->addrs[i].ip) != weft_ip_is_v4(&found->ip))
			continue;
		found = &iface->addrs[i];
		engine--;
	}
	return found;
}

/* An address that is not of one of the interface's networks is a network of the user's own. */
static void iface_take(struct prov_dev *dev, bool has_routes)
{
	struct weft_if iface;
	char name[WEFT_IF_NAME_BYTES];
	if (!prov_net_iface(dev, name, sizeof name) || weft_if_read(name, &iface, NULL))
		return;
	if (weft_ip_is_any(&dev->ip) && iface.addr_count)
		dev->ip = dev->base = iface_addr(&iface, dev->engine)->ip;
	const struct weft_if_addr *net = iface_net(&iface, &dev->ip);
	if (!net)
		return;
	if (!dev->net.prefix_len)
		dev->net.prefix_len = net->prefix_len;
	if (!has_routes)
		snprintf(dev->iface, sizeof dev->iface, "%s", name);
}

/* ---- routes ---- */

static int route_add(struct prov_dev *dev, const struct weft_route *route, struct weft_err *err)
{
	struct weft_route *routes = realloc(dev->routes, (dev->net.route_count + 1) * sizeof *routes);
	if (!routes)
		return weft_err_set(err, -ENOMEM, "out of memory");
	dev->routes = routes;
	dev->net.routes = routes;
	routes[dev->net.route_count++] = *route;
	return 0;
}

static bool is_link_local(const struct weft_ip *ip)
{
	return ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0x80;
}

/* A gateway has to be on the link, else nothing could be sent to it. */
static int gateway_check(const struct prov_dev *dev, const char *variable, const char *text,
			 const struct weft_ip *gateway, struct weft_err *err)
{
	const struct weft_if_addr own = {.ip = dev->ip, .prefix_len = dev->net.prefix_len};
	if (weft_ip_is_v4(gateway) != weft_ip_is_v4(&dev->ip))
		return weft_err_set(err, -EINVAL, "%s: '%s' is not of the address family of FI_WEFT_ADDR", variable,
				    text);
	if (weft_ip_eq(gateway, &dev->ip))
		return weft_err_set(err, -EINVAL, "%s: '%s' is the address of %s itself", variable, text, dev->name);
	if (!dev->net.prefix_len)
		return weft_err_set(
			err, -EINVAL,
			"%s needs to know who is on the link: give FI_WEFT_ADDR a prefix, as in 10.1.0.5/24", variable);
	if (!is_link_local(gateway) && !is_in(gateway, &own))
		return weft_err_set(err, -EINVAL, "%s: '%s' is not in the network of %s's address (/%u)", variable,
				    text, dev->name, dev->net.prefix_len);
	return 0;
}

static int gateway_parse(struct prov_dev *dev, char *text, struct weft_err *err)
{
	struct weft_route route = {.prefix = weft_ip_is_v4(&dev->ip) ? weft_ip_v4(0) : (struct weft_ip){{0}}};
	if (!ip_parse(text, &route.gateway))
		return weft_err_set(err, -EINVAL, "FI_WEFT_GATEWAY: '%s' is not an IPv4 or IPv6 address", text);
	int ret = gateway_check(dev, "FI_WEFT_GATEWAY", text, &route.gateway, err);
	return ret ? ret : route_add(dev, &route, err);
}

/* "10.2.0.0/16", "default", "10.2.0.1": the last one is a host. */
static bool prefix_parse(const struct prov_dev *dev, char *text, struct weft_route *route)
{
	char *slash = strchr(text, '/');
	unsigned long len;
	if (strcmp(text, "default") == 0) {
		route->prefix = weft_ip_is_v4(&dev->ip) ? weft_ip_v4(0) : (struct weft_ip){{0}};
		return true;
	}
	if (slash)
		*slash = 0;
	if (!ip_parse(text, &route->prefix))
		return false;
	len = prefix_max(&route->prefix);
	if (slash && !number_parse(slash + 1, len, &len))
		return false;
	route->prefix_len = (uint8_t)len;
	return true;
}

/* "PREFIX via GATEWAY", or "PREFIX" alone: on the link. */
static int route_parse(struct prov_dev *dev, const char *item, struct weft_err *err)
{
	char prefix[80], via[8], gateway[80], rest[2];
	struct weft_route route = {.prefix_len = 0};
	int words = sscanf(item, "%79s %7s %79s %1s", prefix, via, gateway, rest);
	bool good = words == 1 || (words == 3 && strcmp(via, "via") == 0 && ip_parse(gateway, &route.gateway));
	if (!good || !prefix_parse(dev, prefix, &route))
		return weft_err_set(err, -EINVAL, "FI_WEFT_ROUTES: '%s' is not PREFIX/LENGTH [via GATEWAY]", item);
	if (weft_ip_is_v4(&route.prefix) != weft_ip_is_v4(&dev->ip))
		return weft_err_set(err, -EINVAL, "FI_WEFT_ROUTES: '%s' is not of the address family of FI_WEFT_ADDR",
				    item);
	int ret = words == 3 ? gateway_check(dev, "FI_WEFT_ROUTES", gateway, &route.gateway, err) : 0;
	return ret ? ret : route_add(dev, &route, err);
}

static int routes_parse(struct prov_dev *dev, char *text, struct weft_err *err)
{
	char *save = NULL;
	int ret = 0;
	for (char *item = strtok_r(text, ",", &save); item && !ret; item = strtok_r(NULL, ",", &save))
		ret = *trim(item) ? route_parse(dev, trim(item), err) : 0;
	return ret;
}

/* ---- tags and code points ---- */

static int vlan_parse(struct prov_dev *dev, char *text, struct weft_err *err)
{
	unsigned long vlan;
	if (!number_parse(text, VLAN_MAX, &vlan) || !vlan)
		return weft_err_set(err, -EINVAL, "FI_WEFT_VLAN: '%s' is not a VLAN: 1 to %d", text, VLAN_MAX);
	dev->net.vlan = (uint16_t)vlan;
	return 0;
}

static int vlan_pcp_parse(struct prov_dev *dev, char *text, struct weft_err *err)
{
	unsigned long pcp;
	if (!number_parse(text, PCP_MAX, &pcp))
		return weft_err_set(err, -EINVAL, "FI_WEFT_VLAN_PCP: '%s' is not a priority: 0 to %d", text, PCP_MAX);
	if (!dev->net.vlan)
		return weft_err_set(err, -EINVAL, "FI_WEFT_VLAN_PCP: %s has no FI_WEFT_VLAN to be a priority in",
				    dev->name);
	dev->net.vlan_pcp = (uint8_t)pcp;
	return 0;
}

static int dscp_parse(struct prov_dev *dev, char *text, struct weft_err *err)
{
	return weft_dscp_parse("FI_WEFT_DSCP", text, &dev->net.dscp, err);
}

/* ---- lists ---- */

/* Hands item `i` of the list, or its only one, to `parse`; an empty one is left out. */
static int item_parse(struct prov_dev *dev, unsigned i, const char *list,
		      int (*parse)(struct prov_dev *dev, char *text, struct weft_err *err), struct weft_err *err)
{
	char text[TEXT_MAX];
	if (!list)
		return 0;
	for (unsigned k = 0; k < i && strchr(list, ';'); k++) {
		list = strchr(list, ';') + 1;
		assert(list);
	}
	size_t len = strcspn(list, ";");
	if (len >= sizeof text)
		return weft_err_set(err, -EINVAL, "%.64s...: longer than %zu characters", list, sizeof text);
	memcpy(text, list, len);
	text[len] = 0;
	char *item = trim(text);
	return *item ? parse(dev, item, err) : 0;
}

static unsigned items(const char *list)
{
	unsigned n = 1;
	for (; (list = strchr(list, ';')); list++)
		n++;
	return n;
}

static int lists_check(const struct prov_conf *conf, const struct prov_net_texts *t, struct weft_err *err)
{
	const struct {
		const char *name, *list;
	} all[] = {{"GATEWAY", t->gateway},
		   {"ROUTES", t->routes},
		   {"VLAN", t->vlan},
		   {"VLAN_PCP", t->vlan_pcp},
		   {"DSCP", t->dscp}};
	for (size_t i = 0; i < count_of(all); i++)
		if (all[i].list && items(all[i].list) != 1 && items(all[i].list) != conf->count)
			return weft_err_set(err, -EINVAL,
					    "FI_WEFT_%s has %u items for %u devices: one for each, or one for all",
					    all[i].name, items(all[i].list), conf->count);
	return 0;
}

static int dev_load(struct prov_dev *dev, unsigned i, const struct prov_net_texts *t, struct weft_err *err)
{
	iface_take(dev, t->gateway || t->routes);
	int ret = item_parse(dev, i, t->routes, routes_parse, err);
	if (!ret)
		ret = item_parse(dev, i, t->gateway, gateway_parse, err);
	if (!ret)
		ret = item_parse(dev, i, t->vlan, vlan_parse, err);
	if (!ret)
		ret = item_parse(dev, i, t->vlan_pcp, vlan_pcp_parse, err);
	if (!ret)
		ret = item_parse(dev, i, t->dscp, dscp_parse, err);
	return ret;
}

int prov_net_load(struct prov_conf *conf, const struct prov_net_texts *texts, struct weft_err *err)
{
	int ret = lists_check(conf, texts, err);
	for (unsigned i = 0; i < conf->count && !ret; i++)
		ret = dev_load(&conf->devs[i], i, texts, err);
	return ret;
}
