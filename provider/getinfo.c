/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_getinfo: one entry for each configured device that suits the hints, node and service. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prov.h"

/* What node, service and hints say about addresses. */
struct want {
	const struct fi_info *hints;
	struct weft_addr src, dest; /* all zero: unspecified */
	bool has_dest;
};

static int hint_addr(const void *sock, size_t len, struct weft_addr *addr)
{
	uint16_t port = addr->port;
	if (!sock || !prov_ip_is_any(&addr->ip))
		return 0; /* nothing there, or node and service have precedence */
	if (prov_addr_from_sock(sock, len, NULL, addr))
		return -FI_ENODATA;
	if (port)
		addr->port = port; /* a service came without a node */
	return 0;
}

static int want_parse(const char *node, const char *service, uint64_t flags, struct want *want)
{
	const struct fi_info *hints = want->hints;
	bool is_src = flags & FI_SOURCE || !node;
	int ret = prov_addr_resolve(node, service, flags, is_src ? &want->src : &want->dest);
	if (!ret && hints)
		ret = hint_addr(hints->src_addr, hints->src_addrlen, &want->src);
	if (!ret && hints)
		ret = hint_addr(hints->dest_addr, hints->dest_addrlen, &want->dest);
	want->has_dest = !prov_ip_is_any(&want->dest.ip);
	return ret;
}

static uint32_t format_of(const struct weft_ip *ip)
{
	return weft_ip_is_v4(ip) ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
}

static bool dev_suits(const struct prov_dev *dev, const struct want *want)
{
	const struct fi_info *h = want->hints;
	if (h && h->domain_attr && h->domain_attr->name && strcmp(h->domain_attr->name, dev->name) != 0)
		return false;
	if (h && h->addr_format != FI_FORMAT_UNSPEC && h->addr_format != FI_SOCKADDR &&
	    h->addr_format != format_of(&dev->ip))
		return false;
	if (!prov_ip_is_any(&want->src.ip) && !weft_ip_eq(&want->src.ip, &dev->ip))
		return false;
	return !want->has_dest || weft_ip_is_v4(&want->dest.ip) == weft_ip_is_v4(&dev->ip);
}

static int sock_dup(const struct weft_addr *addr, void **out, size_t *len)
{
	struct sockaddr_storage ss;
	prov_addr_to_sock(addr, &ss);
	*len = prov_addr_len(&addr->ip);
	*out = malloc(*len);
	if (!*out)
		return -FI_ENOMEM;
	memcpy(*out, &ss, *len);
	return 0;
}

static int names_fill(const struct prov_dev *dev, struct fi_info *info)
{
	info->fabric_attr->name = strdup(PROV_NAME);
	info->domain_attr->name = strdup(dev->name);
	return info->fabric_attr->name && info->domain_attr->name ? 0 : -FI_ENOMEM;
}

static int addrs_fill(const struct prov_dev *dev, const struct want *want, struct fi_info *info)
{
	const struct weft_addr src = {.ip = dev->ip, .port = want->src.port};
	bool generic = want->hints && want->hints->addr_format == FI_SOCKADDR;
	info->addr_format = generic ? (uint32_t)FI_SOCKADDR : format_of(&dev->ip);
	int ret = sock_dup(&src, &info->src_addr, &info->src_addrlen);
	if (!ret && want->has_dest)
		ret = sock_dup(&want->dest, &info->dest_addr, &info->dest_addrlen);
	return ret;
}

/* The tail pointer moves with the list. */
static int entry_add(uint32_t version, const struct prov_dev *dev, const struct want *want, struct fi_info ***tail)
{
	struct fi_info *info = fi_allocinfo();
	if (!info)
		return -FI_ENOMEM;
	**tail = info; /* fi_freeinfo on the list releases it whatever happens next */
	*tail = &info->next;
	prov_attr_fill(version, want->hints, info);
	int ret = names_fill(dev, info);
	return ret ? ret : addrs_fill(dev, want, info);
}

static int list_build(uint32_t version, const struct prov_conf *conf, const struct want *want, struct fi_info **out)
{
	struct fi_info **tail = out;
	int ret = 0;
	for (unsigned i = 0; i < conf->count && !ret; i++)
		if (dev_suits(&conf->devs[i], want))
			ret = entry_add(version, &conf->devs[i], want, &tail);
	if (ret) {
		fi_freeinfo(*out);
		*out = NULL;
	}
	return ret ? ret : *out ? 0 : -FI_ENODATA;
}

int prov_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		 struct fi_info **out)
{
	struct want want = {.hints = hints};
	struct prov_conf conf;
	struct weft_err err = {""};
	*out = NULL;
	if (!prov_attr_fits(version, hints))
		return -FI_ENODATA;
	int ret = prov_conf_load(&conf, &err);
	if (ret == -ENODATA)
		FI_INFO(&prov_weft, FI_LOG_CORE, "%s\n", err.msg);
	else if (ret)
		FI_WARN(&prov_weft, FI_LOG_CORE, "%s\n", err.msg);
	if (ret == -EINVAL)
		ret = -FI_ENODATA; /* told; other providers may still serve */
	if (!ret)
		ret = want_parse(node, service, flags, &want);
	if (!ret)
		ret = list_build(version, &conf, &want, out);
	prov_conf_free(&conf);
	return ret;
}
