/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_stage.h"

#include <assert.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "prov_ep.h"
#include "prov_mr.h"

/* A region may be closed before what arrives is copied, so what is known of its memory is kept here. */
struct stage {
	struct iovec iov[PROV_IOV_MAX];
	struct prov_hmem mem[PROV_IOV_MAX];
	size_t count;
	uint8_t bytes[];
};

int prov_stage_new(struct prov_req *req, const struct iovec *iov, size_t count, uint64_t bytes, void **buf)
{
	assert(!req->bounce && count <= PROV_IOV_MAX);
	struct stage *stage = bytes < SIZE_MAX - sizeof *stage ? malloc(sizeof *stage + bytes) : NULL;
	if (!stage)
		return -FI_EAGAIN;
	stage->count = count;
	for (size_t i = 0; i < count; i++) {
		const struct prov_hmem *mem = prov_mr_device_at(req->ep->domain, iov[i].iov_base);
		stage->iov[i] = iov[i];
		stage->mem[i] = mem ? *mem : (struct prov_hmem){.cuda = NULL};
	}
	req->bounce = stage;
	req->staged = true;
	*buf = stage->bytes;
	return 0;
}

static bool piece_out(const struct stage *stage, size_t i, uint64_t at, const uint8_t *from, uint64_t bytes)
{
	uint8_t *to = (uint8_t *)stage->iov[i].iov_base + at;
	if (stage->mem[i].cuda)
		return prov_hmem_copy(&stage->mem[i], to, (uint8_t *)(uintptr_t)from, bytes, true);
	memcpy(to, from, bytes);
	return true;
}

bool prov_stage_out(const struct prov_req *req, uint64_t offset, uint64_t bytes)
{
	const struct stage *stage = req->bounce;
	const uint8_t *from = stage->bytes + offset;
	bool good = true;
	assert(req->staged);
	for (size_t i = 0; i < stage->count && bytes; i++) {
		uint64_t room = stage->iov[i].iov_len;
		if (offset >= room) {
			offset -= room;
			continue;
		}
		uint64_t n = bytes < room - offset ? bytes : room - offset;
		good &= piece_out(stage, i, offset, from, n);
		from += n;
		bytes -= n;
		offset = 0;
	}
	assert(!bytes);
	return good;
}

void prov_stage_drop(struct prov_req *req)
{
	if (!req->staged)
		return;
	free(req->bounce);
	req->bounce = NULL;
	req->staged = false;
}
