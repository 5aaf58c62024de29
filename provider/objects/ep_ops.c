/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoint: options, sizes and names. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "member.h"
#include "prov_addr.h"
#include "prov_ep_parts.h"

static struct prov_ep *ep_of(struct fid *fid)
{
	return prov_ep_of(container_of(fid, struct fid_ep, fid));
}

int prov_ep_setname(fid_t fid, void *addr, size_t addrlen)
{
	struct prov_ep *ep = ep_of(fid);
	struct weft_addr parsed;
	if (ep->wep)
		return -FI_EOPBADSTATE;
	if (prov_addr_from_sock(addr, addrlen, &ep->addr.ip, &parsed) ||
	    (!weft_ip_is_any(&parsed.ip) && !weft_ip_eq(&parsed.ip, &ep->addr.ip)))
		return -FI_EADDRNOTAVAIL;
	ep->addr.port = parsed.port;
	return 0;
}

int prov_ep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct prov_ep *ep = ep_of(fid);
	struct sockaddr_storage ss;
	prov_nic_lock(ep->domain->nic);
	int ret = prov_ep_listen(ep);
	prov_nic_unlock(ep->domain->nic);
	if (ret)
		return ret;
	prov_addr_to_sock(&ep->addr, &ss);
	return prov_addr_copy_out(&ss, addr, addrlen);
}

int prov_ep_no_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	return -FI_ENOSYS;
}

int prov_ep_no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	return -FI_ENOSYS;
}

int prov_ep_no_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	return -FI_ENOSYS;
}

int prov_ep_no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return -FI_ENOSYS;
}

/* Copies an option out as fi_getopt does: `*len` becomes its size. */
static int opt_copy_out(const void *opt, size_t size, void *optval, size_t *len)
{
	size_t room = *len;
	*len = size;
	if (room < size)
		return -FI_ETOOSMALL;
	memcpy(optval, opt, size);
	return 0;
}

/* Memory of devices is always copied. */
int prov_ep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	const int p2p = FI_HMEM_P2P_DISABLED;
	size_t cm_bytes;
	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	switch (optname) {
	case FI_OPT_MIN_MULTI_RECV:
		return opt_copy_out(&ep_of(fid)->min_multi_recv, sizeof(size_t), optval, optlen);
	case FI_OPT_CM_DATA_SIZE:
		cm_bytes = ep_of(fid)->is_msg ? PROV_CM_DATA_BYTES : 0;
		return opt_copy_out(&cm_bytes, sizeof cm_bytes, optval, optlen);
	case FI_OPT_FI_HMEM_P2P:
		return opt_copy_out(&p2p, sizeof p2p, optval, optlen);
	case FI_OPT_XPU_TRIGGER:
		return -FI_EOPNOTSUPP;
	}
	return -FI_ENOPROTOOPT;
}

int prov_ep_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen)
{
	struct prov_ep *ep = ep_of(fid);
	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	switch (optname) {
	case FI_OPT_MIN_MULTI_RECV:
		if (optlen != sizeof(size_t))
			return -FI_EINVAL;
		prov_nic_lock(ep->domain->nic);
		ep->min_multi_recv = *(const size_t *)optval;
		prov_nic_unlock(ep->domain->nic);
		return 0;
	case FI_OPT_FI_HMEM_P2P:
		if (optlen != sizeof(int))
			return -FI_EINVAL;
		return *(const int *)optval == FI_HMEM_P2P_REQUIRED ? -FI_EOPNOTSUPP : 0;
	}
	return -FI_ENOPROTOOPT;
}

int prov_ep_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx, void *context)
{
	return sep->fid.fclass == FI_CLASS_SEP ? prov_sep_tx(sep, index, attr, tx, context) : -FI_EINVAL;
}

int prov_ep_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx, void *context)
{
	return sep->fid.fclass == FI_CLASS_SEP ? prov_sep_rx(sep, index, attr, rx, context) : -FI_EINVAL;
}

ssize_t prov_ep_tx_size_left(struct fid_ep *fid)
{
	struct prov_ep *ep = prov_ep_of(fid);
	prov_nic_lock(ep->domain->nic);
	assert(ep->tx_used <= ep->tx_size);
	ssize_t left = (ssize_t)ep->tx_size - (ssize_t)ep->tx_used;
	prov_nic_unlock(ep->domain->nic);
	return ep->enabled ? left : -FI_EOPBADSTATE;
}

/* Receives are limited by memory only. */
ssize_t prov_ep_rx_size_left(struct fid_ep *fid)
{
	return prov_ep_of(fid)->enabled ? PROV_QUEUE_DEFAULT : -FI_EOPBADSTATE;
}
