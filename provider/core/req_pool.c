/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>

#include "prov_hang.h"
#include "prov_nic.h"
#include "prov_req.h"

enum { CHUNK_REQS = 64 };

struct prov_req_chunk {
	struct prov_req_chunk *next;
	struct prov_req reqs[CHUNK_REQS];
};

void prov_req_pool_init(struct prov_req_pool *pool)
{
	*pool = (struct prov_req_pool){.chunks = NULL};
	TAILQ_INIT(&pool->free);
}

static bool pool_grow(struct prov_req_pool *pool)
{
	struct prov_req_chunk *chunk = calloc(1, sizeof *chunk);
	if (!chunk)
		return false;
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	for (int i = 0; i < CHUNK_REQS; i++)
		TAILQ_INSERT_HEAD(&pool->free, &chunk->reqs[i], link);
	pool->count += CHUNK_REQS;
	return true;
}

struct prov_req *prov_req_get(struct prov_nic *nic)
{
	struct prov_req_pool *pool = &nic->reqs;
	assert_locked(nic);
	assert(TAILQ_EMPTY(&pool->free) == (pool->count == 0));
	if (TAILQ_EMPTY(&pool->free) && !pool_grow(pool))
		return NULL;
	struct prov_req *req = TAILQ_FIRST(&pool->free);
	assert(req->state == PROV_REQ_FREE);
	TAILQ_REMOVE(&pool->free, req, link);
	pool->count--;
	*req = (struct prov_req){.state = PROV_REQ_HELD, .src = FI_ADDR_NOTAVAIL};
	return req;
}

void prov_req_work_begin(struct prov_req *req, struct prov_work work)
{
	assert(!req->work.cntr && !work.cntr == !work.started);
	req->work = work;
	if (work.cntr)
		++*work.started;
}

void prov_req_put(struct prov_nic *nic, struct prov_req *req)
{
	assert_locked(nic);
	assert(req->state == PROV_REQ_HELD);
	prov_req_work_end(req);
	free(req->bounce);
	free(req->entry.err_data);
	req->bounce = req->entry.err_data = NULL;
	req->state = PROV_REQ_FREE;
	TAILQ_INSERT_HEAD(&nic->reqs.free, req, link); /* reuse the request that is most likely in the cache */
	nic->reqs.count++;
}

bool prov_req_reserve(struct prov_nic *nic, size_t count)
{
	assert_locked(nic);
	while (nic->reqs.count < count)
		if (!pool_grow(&nic->reqs))
			return false;
	return true;
}

void prov_req_put_all(struct prov_nic *nic, struct prov_req_list *list)
{
	struct prov_req *req;
	while ((req = TAILQ_FIRST(list))) {
		assert(req->state == PROV_REQ_POSTED || req->state == PROV_REQ_CLAIMED);
		TAILQ_REMOVE(list, req, link);
		prov_hang_remove(nic, req);
		req->state = PROV_REQ_HELD;
		prov_req_put(nic, req);
	}
}

void prov_req_pool_free(struct prov_req_pool *pool)
{
	struct prov_req_chunk *chunk = pool->chunks;
	while (chunk) {
		struct prov_req_chunk *next = chunk->next;
		for (int i = 0; i < CHUNK_REQS; i++)
			free(chunk->reqs[i].bounce);
		free(chunk);
		chunk = next;
	}
	pool->chunks = NULL;
}
