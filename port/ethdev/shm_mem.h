/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet buffers that a switch and its processes share, as one of them sees them: each buffer has an mbuf of ours, and
 * somebody who holds it. The mbuf of a buffer that we do not hold is in no pool. */
#ifndef WEFT_SHM_MEM_H
#define WEFT_SHM_MEM_H

#include <rte_mbuf.h>

#include "weft/err.h"

enum { SHM_US = UINT8_MAX }; /* we hold the buffer: it is in a pool or in use */

struct shm_mem {
	uint8_t *base; /* NULL: not mapped */
	uint32_t count;
	uint32_t stride_bytes;
	struct rte_mbuf **mbufs; /* by buffer; NULL: it is in no pool yet */
	uint8_t *holder;         /* by buffer: SHM_US, or a number of the caller's */
};

/* Bytes from one buffer to the next for IP packets of `ip_bytes`. */
uint32_t shm_stride_bytes(uint32_t ip_bytes);

/* A file of `bytes` zero bytes, of that size for good. -errno. */
int shm_file_create(const char *name, uint64_t bytes, int *fd);
/* Maps a file that shm_file_create made, perhaps in another process. NULL: it is none, or not of that size; errno. */
void *shm_file_map(int fd, uint64_t bytes);

/* Maps the buffers; we hold them all. `dev` is for messages. -ENOMEM and others with a message; then nothing stays. */
int shm_mem_open(struct shm_mem *mem, int fd, uint32_t count, uint32_t stride_bytes, const char *dev,
		 struct weft_err *err);
/* All mbufs are in their pools, which are no longer used. */
void shm_mem_close(struct shm_mem *mem);

/* A pool of the buffers `first` to `first` + `count` - 1, or with `others` of all but these. -ENOMEM with a message. */
int shm_pool_create(struct shm_mem *mem, uint32_t first, uint32_t count, bool others, struct rte_mempool **pool,
		    const char *dev, struct weft_err *err);

/* Number of the buffer that an mbuf's data are in; false: none of these. */
bool shm_buf_of(const struct shm_mem *mem, const struct rte_mbuf *m, uint32_t *buf);

#endif
