/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ether.h>

#include "ethdev_priv.h"

enum {
	TAIL_BYTES = 64, /* behind a frame: VLAN tag, CRC */
	SEALS = F_SEAL_SHRINK | F_SEAL_GROW,
};

/* An odd number of cache lines, so that the headers of packets lie in different sets of the caches. */
uint32_t shm_stride_bytes(uint32_t ip_bytes)
{
	uint32_t bytes = RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN + ip_bytes + TAIL_BYTES;
	uint32_t lines = (bytes + RTE_CACHE_LINE_SIZE - 1) / RTE_CACHE_LINE_SIZE | 1;
	assert(lines * RTE_CACHE_LINE_SIZE <= UINT16_MAX);
	return lines * RTE_CACHE_LINE_SIZE;
}

/* ---- files ---- */

int shm_file_create(const char *name, uint64_t bytes, int *fd)
{
	*fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	if (ftruncate(*fd, (off_t)bytes) == 0 && fcntl(*fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) == 0)
		return 0;
	int rc = -errno;
	close(*fd);
	*fd = -1;
	return rc;
}

void *shm_file_map(int fd, uint64_t bytes)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) != 0 || (uint64_t)st.st_size != bytes) {
		errno = EPROTO;
		return NULL;
	}
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p != MAP_FAILED ? p : NULL;
}

/* ---- buffers ---- */

int shm_mem_open(struct shm_mem *mem, int fd, uint32_t count, uint32_t stride_bytes, const char *dev,
		 struct weft_err *err)
{
	*mem = (struct shm_mem){.count = count, .stride_bytes = stride_bytes};
	mem->mbufs = calloc(count, sizeof *mem->mbufs);
	mem->holder = malloc(count);
	if (mem->mbufs != NULL && mem->holder != NULL)
		mem->base = shm_file_map(fd, (uint64_t)count * stride_bytes);
	int rc = mem->mbufs == NULL || mem->holder == NULL ? -ENOMEM : mem->base == NULL ? -errno : 0;
	if (rc == 0) {
		memset(mem->holder, SHM_US, count);
		return 0;
	}
	shm_mem_close(mem);
	return weft_err_set(err, rc, "%s: cannot map %u packet buffers of %u bytes: %s", dev, count, stride_bytes,
			    strerror(-rc));
}

void shm_mem_close(struct shm_mem *mem)
{
	if (mem->base != NULL)
		munmap(mem->base, (uint64_t)mem->count * mem->stride_bytes);
	free(mem->mbufs);
	free(mem->holder);
	*mem = (struct shm_mem){0};
}

bool shm_buf_of(const struct shm_mem *mem, const struct rte_mbuf *m, uint32_t *buf)
{
	uint64_t at = (uint64_t)((uintptr_t)m->buf_addr - (uintptr_t)mem->base);
	if (at >= (uint64_t)mem->count * mem->stride_bytes)
		return false;
	*buf = (uint32_t)(at / mem->stride_bytes);
	assert(mem->mbufs[*buf] == m);
	return true;
}

/* ---- pools ---- */

struct placing {
	struct shm_mem *mem;
	uint32_t first, count;
	bool others;
};

/* DPDK's own pools of external buffers (rte_pktmbuf_pool_create_extbuf) keep nothing of which mbuf has which buffer. */
static void mbuf_place(struct rte_mempool *pool, void *arg, void *obj, unsigned i)
{
	const struct placing *p = arg;
	struct rte_mbuf *m = obj;
	struct rte_mbuf_ext_shared_info *info = (void *)(mbuf_pkt(m) + 1);
	uint32_t buf = p->others ? (i < p->first ? i : i + p->count) : p->first + i;
	memset(m, 0, sizeof *m);
	m->priv_size = sizeof(struct weft_pkt);
	m->buf_addr = p->mem->base + (uint64_t)buf * p->mem->stride_bytes;
	m->buf_iova = RTE_BAD_IOVA;
	m->buf_len = (uint16_t)p->mem->stride_bytes;
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->pool = pool;
	m->nb_segs = 1;
	m->port = RTE_MBUF_PORT_INVALID;
	m->ol_flags = RTE_MBUF_F_EXTERNAL;
	rte_mbuf_refcnt_set(m, 1);
	*info = (struct rte_mbuf_ext_shared_info){.refcnt = 1};
	m->shinfo = info;
	assert(p->mem->mbufs[buf] == NULL);
	p->mem->mbufs[buf] = m;
}

int shm_pool_create(struct shm_mem *mem, uint32_t first, uint32_t count, bool others, struct rte_mempool **pool,
		    const char *dev, struct weft_err *err)
{
	enum {
		ELEM_BYTES = sizeof(struct rte_mbuf) + sizeof(struct weft_pkt) + sizeof(struct rte_mbuf_ext_shared_info)
	};
	struct placing placing = {.mem = mem, .first = first, .count = count, .others = others};
	uint32_t n = others ? mem->count - count : count;
	struct rte_pktmbuf_pool_private private = {.mbuf_data_room_size = (uint16_t)mem->stride_bytes,
						   .mbuf_priv_size = sizeof(struct weft_pkt),
						   .flags = RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF};
	assert(first + count <= mem->count && n > 0);
	*pool = ethdev_pool_of(n, ELEM_BYTES, &private);
	if (*pool == NULL)
		return weft_err_set(err, -ENOMEM, "%s: no memory for the metadata of %u packets: %s", dev, n,
				    rte_strerror(rte_errno));
	rte_mempool_obj_iter(*pool, mbuf_place, &placing);
	return 0;
}
