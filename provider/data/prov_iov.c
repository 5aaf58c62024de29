/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_iov.h"

#include <assert.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "prov_ep.h"
#include "prov_mr.h"

int64_t prov_iov_total(const struct iovec *iov, size_t count)
{
	uint64_t total = 0;
	if (count > PROV_IOV_MAX || (count && !iov))
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (iov[i].iov_len > INT64_MAX - total || (iov[i].iov_len && !iov[i].iov_base))
			return -1;
		total += iov[i].iov_len;
	}
	return (int64_t)total;
}

static bool piece_copy(const struct prov_domain *domain, uint8_t *to, const struct iovec *piece)
{
	const struct prov_hmem *mem = prov_mr_device_at(domain, piece->iov_base);
	if (mem)
		return prov_hmem_copy(mem, piece->iov_base, to, piece->iov_len, false);
	memcpy(to, piece->iov_base, piece->iov_len);
	return true;
}

int prov_req_gather(struct prov_req *req, const struct iovec *iov, size_t count, uint64_t total)
{
	assert(!req->bounce);
	uint8_t *p = req->bounce = malloc(total);
	if (!p)
		return -FI_EAGAIN;
	for (size_t i = 0; i < count; i++) {
		if (iov[i].iov_len && !piece_copy(req->ep->domain, p, &iov[i]))
			return -FI_EIO;
		p += iov[i].iov_len;
	}
	return 0;
}

void prov_req_scatter(void *arg, uint64_t offset, const uint8_t *data, uint32_t len, bool retx)
{
	struct prov_req *req = arg;
	assert(req->iov_count > 0 && req->iov_count <= PROV_IOV_MAX);
	for (uint32_t i = 0; i < req->iov_count && len; i++) {
		uint64_t room = req->iov[i].iov_len;
		if (offset >= room) {
			offset -= room;
			continue;
		}
		uint32_t n = len < room - offset ? len : (uint32_t)(room - offset);
		memcpy((uint8_t *)req->iov[i].iov_base + offset, data, n);
		data += n;
		len -= n;
		offset = 0;
	}
}
