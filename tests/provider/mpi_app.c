/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_app PART... - an ordinary MPI program that checks every byte it gets. Parts: modes, matching, incast,
 * collectives=MAX, onesided. */
#include "mpi_app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mpi_rank, mpi_size;

void mpi_check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "rank %d: wrong: %s\n", mpi_rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

void *mpi_alloc(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);
	mpi_check(p != NULL, "out of memory");
	return p;
}

uint8_t mpi_byte(int from, int to, int salt, size_t i)
{
	return (uint8_t)(from * 31 + to * 7 + salt * 3 + (int)(i % 251));
}

void mpi_fill(uint8_t *buf, size_t len, int from, int to, int salt)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = mpi_byte(from, to, salt, i);
}

void mpi_verify(const uint8_t *buf, size_t len, int from, int to, int salt, const char *what)
{
	for (size_t i = 0; i < len; i++)
		mpi_check(buf[i] == mpi_byte(from, to, salt, i), what);
}

static void part(const char *name)
{
	if (strcmp(name, "modes") == 0)
		mpi_modes();
	else if (strcmp(name, "matching") == 0)
		mpi_matching();
	else if (strcmp(name, "incast") == 0)
		mpi_incast(1 << 20, 4);
	else if (strcmp(name, "onesided") == 0)
		mpi_onesided();
	else if (strncmp(name, "collectives=", 12) == 0)
		mpi_collectives(strtoul(name + 12, NULL, 0));
	else
		mpi_check(false, "no such part");
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mpi_size);
	for (int i = 1; i < argc; i++) {
		part(argv[i]);
		MPI_Barrier(MPI_COMM_WORLD);
		if (mpi_rank == 0)
			printf("%s: %d ranks agree\n", argv[i], mpi_size);
	}
	MPI_Finalize();
	return 0;
}
