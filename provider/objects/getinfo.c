/* SPDX-License-Identifier: BSD-3-Clause */
#include "member.h"
#include "prov_getinfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prov_addr.h"
#include "prov_attr.h"
#include "prov_conf.h"
#include "prov_domain.h"
#include "prov_log.h"
#include "prov_nic_info.h"

/* What node, service and hints say about one side. */
struct side {
	struct prov_addrs addrs; /* none: unspecified */
	uint16_t port;           /* without an address; 0: unspecified */
};

struct want {
	const struct fi_info *hints;
	struct side src, dest;
};

static int side_resolve(struct side *side, const char *node, const char *service, uint64_t flags)
{
	int ret = prov_addr_resolve(node, service, flags, &side->addrs);
	if (ret || !side->addrs.count)
		return ret;
	side->port = side->addrs.addr[0].port;
	if (!node)
		side->addrs.count = 0;
	return 0;
}

/* Node and service take precedence over hints. */
static int side_hint(struct side *side, const void *sock, size_t len)
{
	struct weft_addr addr;
	if (!sock || side->addrs.count)
		return 0;
	if (prov_addr_from_sock(sock, len, NULL, &addr))
		return -FI_ENODATA;
	if (side->port)
		addr.port = side->port; /* the caller gave a service without a node */
	side->port = addr.port;
	if (!weft_ip_is_any(&addr.ip))
		side->addrs = (struct prov_addrs){.addr = {addr}, .count = 1};
	return 0;
}

static int want_parse(const char *node, const char *service, uint64_t flags, struct want *want)
{
	const struct fi_info *hints = want->hints;
	bool is_src = flags & FI_SOURCE || !node;
	int ret = side_resolve(is_src ? &want->src : &want->dest, node, service, flags);
	if (!ret && hints)
		ret = side_hint(&want->src, hints->src_addr, hints->src_addrlen);
	if (!ret && hints)
		ret = side_hint(&want->dest, hints->dest_addr, hints->dest_addrlen);
	return ret;
}

/* Any address, or one of those that were given. */
static bool side_has_ip(const struct side *side, const struct weft_ip *ip)
{
	for (unsigned i = 0; i < side->addrs.count; i++)
		if (weft_ip_is_any(&side->addrs.addr[i].ip) || weft_ip_eq(&side->addrs.addr[i].ip, ip))
			return true;
	return side->addrs.count == 0;
}

/* The application restricts output to a domain it has opened. */
static bool domain_suits(const struct fi_domain_attr *h, const struct prov_dev *dev)
{
	return !h->domain || strcmp(container_of(h->domain, struct prov_domain, fid)->nic->name, dev->name) == 0;
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
	if (h && h->domain_attr && !domain_suits(h->domain_attr, dev))
		return false;
	if (h && h->addr_format != FI_FORMAT_UNSPEC && h->addr_format != FI_SOCKADDR &&
	    h->addr_format != format_of(&dev->ip))
		return false;
	return (side_has_ip(&want->src, &dev->ip) || side_has_ip(&want->src, &dev->base)) &&
	       (!want->dest.addrs.count || prov_addr_pick(&want->dest.addrs, &dev->ip));
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
	info->fabric_attr->name = prov_fabric_name();
	info->domain_attr->name = strdup(dev->name);
	info->domain_attr->domain = prov_domain_find(dev->name);
	return info->fabric_attr->name && info->domain_attr->name ? 0 : -FI_ENOMEM;
}

static int addrs_fill(const struct prov_dev *dev, const struct want *want, struct fi_info *info)
{
	const struct weft_addr src = {.ip = dev->ip, .port = want->src.port};
	bool generic = want->hints && want->hints->addr_format == FI_SOCKADDR;
	info->addr_format = generic ? (uint32_t)FI_SOCKADDR : format_of(&dev->ip);
	int ret = sock_dup(&src, &info->src_addr, &info->src_addrlen);
	const struct weft_addr *dest = prov_addr_pick(&want->dest.addrs, &dev->ip);
	if (!ret && dest)
		ret = sock_dup(dest, &info->dest_addr, &info->dest_addrlen);
	return ret;
}

/* The tail pointer moves with the list. */
static int entry_add(uint32_t version, enum prov_kind kind, const struct prov_dev *dev, const struct want *want,
		     struct fi_info ***tail)
{
	struct fi_info *info = fi_allocinfo();
	if (!info)
		return -FI_ENOMEM;
	**tail = info; /* the caller frees the whole list after an error */
	*tail = &info->next;
	prov_attr_fill(version, kind, want->hints, info);
	info->handle = want->hints ? want->hints->handle : NULL;
	info->nic = prov_nic_info(dev, PROV_SYSFS);
	int ret = info->nic ? names_fill(dev, info) : -FI_ENOMEM;
	return ret ? ret : addrs_fill(dev, want, info);
}

static int list_build(uint32_t version, const struct prov_conf *conf, const struct want *want, struct fi_info **out)
{
	struct fi_info **tail = out;
	int ret = 0;
	for (int kind = 0; kind < PROV_KINDS; kind++)
		for (unsigned i = 0; i < conf->count && !ret; i++)
			if (prov_attr_fits(version, kind, want->hints) && dev_suits(&conf->devs[i], want))
				ret = entry_add(version, kind, &conf->devs[i], want, &tail);
	if (ret) {
		fi_freeinfo(*out);
		*out = NULL;
	}
	return ret ? ret : *out ? 0 : -FI_ENODATA;
}

static int list_find(uint32_t version, const struct prov_conf *conf, const char *node, const char *service,
		     uint64_t flags, const struct fi_info *hints, struct fi_info **out)
{
	struct want want = {.hints = hints};
	int ret = want_parse(node, service, flags, &want);
	if (!ret)
		ret = list_build(version, conf, &want, out);
	if (ret == -FI_ENOMEM)
		FI_WARN(&prov_weft, FI_LOG_CORE, "out of memory\n"); /* libfabric says only that there is nothing */
	return ret;
}

int prov_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		 struct fi_info **out)
{
	struct prov_conf conf;
	struct weft_err err = {""};
	*out = NULL;
	int ret = prov_conf_load(&conf, &err);
	if (ret == -ENODATA)
		FI_INFO(&prov_weft, FI_LOG_CORE, "%s\n", err.msg);
	else if (ret)
		FI_WARN(&prov_weft, FI_LOG_CORE, "%s\n", err.msg);
	if (!ret)
		ret = list_find(version, &conf, node, service, flags, hints, out);
	else if (ret == -EINVAL)
		ret = -FI_ENODATA; /* the warning is logged; other providers may still serve */
	prov_conf_free(&conf);
	return ret;
}
