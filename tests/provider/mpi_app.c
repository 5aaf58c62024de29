/* SPDX-License-Identifier: BSD-3-Clause */
/* An ordinary MPI program: a ring, all-to-alls whose bytes are checked, probes and messages to oneself. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The token gains one at every rank but the first. */
static void ring(int laps)
{
	for (int lap = 0; lap < laps; lap++) {
		int token = lap;
		if (rank != 0) {
			MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			token++;
		}
		MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
		if (rank == 0) {
			MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			check(token == lap + size - 1, "the token came back wrong");
		}
	}
}

static uint8_t byte_of(int from, int to, size_t i)
{
	return (uint8_t)(from * 31 + to * 7 + (int)(i % 251));
}

static void alltoall(size_t len)
{
	uint8_t *out = malloc(len * (size_t)size), *in = calloc((size_t)size, len);
	check(out && in, "out of memory");
	for (int to = 0; to < size; to++)
		for (size_t i = 0; i < len; i++)
			out[(size_t)to * len + i] = byte_of(rank, to, i);
	MPI_Alltoall(out, (int)len, MPI_BYTE, in, (int)len, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < size; from++)
		for (size_t i = 0; i < len; i++)
			check(in[(size_t)from * len + i] == byte_of(from, rank, i), "all-to-all: a byte is wrong");
	free(out);
	free(in);
}

/* From whoever comes first, found by probe, fetched by matched receive; one of them is the rank itself. */
static void probes(void)
{
	MPI_Request *sends = calloc((size_t)size, sizeof *sends);
	int seen = 0;
	check(sends != NULL, "out of memory");
	for (int to = 0; to < size; to++)
		MPI_Isend(&rank, 1, MPI_INT, to, 9, MPI_COMM_WORLD, &sends[to]);
	for (int i = 0; i < size; i++) {
		MPI_Status status;
		MPI_Message message;
		int value = -1;
		MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, &status);
		MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
		check(value == status.MPI_SOURCE, "a probed message is another's");
		seen += value;
	}
	check(seen == size * (size - 1) / 2, "somebody came twice");
	MPI_Waitall(size, sends, MPI_STATUSES_IGNORE);
	free(sends);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {1, 100, 5000, 300000};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	ring(50);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		alltoall(sizes[i]);
	probes();
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks agree\n", size);
	MPI_Finalize();
	return 0;
}
