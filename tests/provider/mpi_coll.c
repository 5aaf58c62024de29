/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives whose every byte is checked. */
#include "mpi_app.h"

#include <stdlib.h>
#include <string.h>

enum { BCAST = 100, GATHER = 101, SCATTER = 102, ALLGATHER = 103, ALLTOALL = 104 };

static void bcast(uint8_t *buf, size_t len, int root)
{
	if (mpi_rank == root)
		mpi_fill(buf, len, root, 0, BCAST);
	else
		memset(buf, 0, len);
	MPI_Bcast(buf, (int)len, MPI_BYTE, root, MPI_COMM_WORLD);
	mpi_verify(buf, len, root, 0, BCAST, "a broadcast");
}

/* Pieces of all ranks make `len` bytes. */
static void gathers(uint8_t *all, uint8_t *mine, size_t len, int root)
{
	mpi_fill(mine, len, mpi_rank, root, GATHER);
	MPI_Gather(mine, (int)len, MPI_BYTE, all, (int)len, MPI_BYTE, root, MPI_COMM_WORLD);
	for (int from = 0; from < mpi_size && mpi_rank == root; from++)
		mpi_verify(all + (size_t)from * len, len, from, root, GATHER, "a gather");
	for (int to = 0; to < mpi_size && mpi_rank == root; to++)
		mpi_fill(all + (size_t)to * len, len, root, to, SCATTER);
	MPI_Scatter(all, (int)len, MPI_BYTE, mine, (int)len, MPI_BYTE, root, MPI_COMM_WORLD);
	mpi_verify(mine, len, root, mpi_rank, SCATTER, "a scatter");
	mpi_fill(mine, len, mpi_rank, 0, ALLGATHER);
	MPI_Allgather(mine, (int)len, MPI_BYTE, all, (int)len, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < mpi_size; from++)
		mpi_verify(all + (size_t)from * len, len, from, 0, ALLGATHER, "an allgather");
}

static void alltoall(uint8_t *out, uint8_t *in, size_t len)
{
	for (int to = 0; to < mpi_size; to++)
		mpi_fill(out + (size_t)to * len, len, mpi_rank, to, ALLTOALL);
	MPI_Alltoall(out, (int)len, MPI_BYTE, in, (int)len, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < mpi_size; from++)
		mpi_verify(in + (size_t)from * len, len, from, mpi_rank, ALLTOALL, "an all-to-all");
}

/* Bytes are summed modulo 256. */
static void reductions(uint8_t *out, uint8_t *in, size_t len, int root)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)(mpi_rank + 1 + (int)(i % 13));
	MPI_Allreduce(out, in, (int)len, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
	int ranks = mpi_size * (mpi_size + 1) / 2;
	for (size_t i = 0; i < len; i++)
		mpi_check(in[i] == (uint8_t)(ranks + mpi_size * (int)(i % 13)), "an allreduce");
	MPI_Reduce(out, in, (int)len, MPI_UINT8_T, MPI_MAX, root, MPI_COMM_WORLD);
	for (size_t i = 0; i < len && mpi_rank == root; i++)
		mpi_check(in[i] == (uint8_t)(mpi_size + (int)(i % 13)), "a reduce");
	MPI_Scan(out, in, (int)len, MPI_UINT8_T, MPI_MIN, MPI_COMM_WORLD);
	for (size_t i = 0; i < len; i++)
		mpi_check(in[i] == (uint8_t)(1 + (int)(i % 13)), "a scan");
}

void mpi_collectives(size_t max)
{
	uint8_t *a = mpi_alloc(max + (size_t)mpi_size), *b = mpi_alloc(max + (size_t)mpi_size);
	for (size_t len = 1, i = 0; len <= max; len *= 8, i++) {
		int root = (int)i % mpi_size;
		size_t piece = (len + (size_t)mpi_size - 1) / (size_t)mpi_size;
		bcast(a, len, root);
		gathers(a, b, piece, root);
		alltoall(a, b, piece);
		reductions(a, b, len, root);
	}
	bcast(a, max, mpi_size - 1);
	reductions(a, b, max, 0);
	free(a);
	free(b);
}
