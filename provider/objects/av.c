/* SPDX-License-Identifier: BSD-3-Clause */
/* The address vector as an object. */
#include <errno.h>
#include <stdlib.h>

#include "av_table.h"
#include "avshare.h"
#include "member.h"
#include "prov_eq.h"
#include "prov_log.h"
#include "prov_ref.h"
#include "prov_refuse.h"

static int av_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct prov_av *av = container_of(fid, struct prov_av, fid.fid);
	if (bfid->fclass != FI_CLASS_EQ || av->eq)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	struct prov_eq *eq = container_of(bfid, struct prov_eq, fid.fid);
	prov_ref(&eq->refs);
	av->eq = eq;
	return 0;
}

static void av_free(struct prov_av *av)
{
	if (av->share)
		prov_avshare_close(av->share);
	free(av->entries);
	free(av->of_peer);
	free(av);
}

static int av_close(struct fid *fid)
{
	struct prov_av *av = container_of(fid, struct prov_av, fid.fid);
	if (av->refs)
		return -FI_EBUSY;
	if (av->eq)
		prov_unref(&av->eq->refs);
	prov_unref(&av->domain->refs);
	av_free(av);
	return 0;
}

static struct fi_ops av_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close,
	.bind = av_bind,
	.control = prov_no_control,
	.ops_open = prov_no_ops_open,
};

static int attr_check(const struct fi_av_attr *attr)
{
	enum { RX_CTX_BITS_MAX = 16 };
	if (attr->type > FI_AV_TABLE || attr->rx_ctx_bits < 0 || attr->rx_ctx_bits > RX_CTX_BITS_MAX)
		return -FI_EINVAL;
	if (attr->flags & FI_READ && !attr->name)
		return -FI_EINVAL;
	return attr->flags & ~(FI_EVENT | FI_READ | FI_SYMMETRIC) ? -FI_EBADFLAGS : 0;
}

static int share_open(struct prov_av *av, struct fi_av_attr *attr)
{
	struct weft_err err = {""};
	int ret = prov_avshare_open(av->domain->nic->name, attr->name, attr->count, av->read_only, &av->share, &err);
	if (ret)
		FI_WARN(&prov_weft, FI_LOG_AV, "%s\n", err.msg);
	else if (!attr->map_addr)
		attr->map_addr = prov_avshare_map(av->share);
	return ret;
}

static int av_init(struct prov_av *av, struct fi_av_attr *attr)
{
	enum { ENTRIES_MIN = 16, ENTRIES_MAX = 1 << 20 };
	size_t count = attr->count > ENTRIES_MIN ? attr->count : ENTRIES_MIN;
	av->capacity = count > ENTRIES_MAX ? ENTRIES_MAX : (uint32_t)count;
	av->entries = calloc(av->capacity, sizeof *av->entries);
	av->has_events = attr->flags & FI_EVENT;
	av->read_only = attr->flags & FI_READ;
	av->rx_ctx_bits = attr->rx_ctx_bits;
	if (!av->entries)
		return -FI_ENOMEM;
	return attr->name ? share_open(av, attr) : 0;
}

int prov_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out, void *context)
{
	struct fi_av_attr defaults = {.type = FI_AV_MAP}, *a = attr ? attr : &defaults;
	int ret = attr_check(a);
	struct prov_av *av = ret ? NULL : calloc(1, sizeof *av);
	if (!av)
		return ret ? ret : -FI_ENOMEM;
	av->domain = prov_domain_of(domain);
	ret = av_init(av, a);
	if (ret) {
		av_free(av);
		return ret;
	}
	prov_ref(&av->domain->refs);
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fi_ops;
	av->fid.ops = &prov_av_ops;
	if (!a->type)
		a->type = FI_AV_MAP;
	*out = &av->fid;
	return 0;
}
