/* SPDX-License-Identifier: BSD-3-Clause */
/* What an MPI program sees of the network below it: how long MPI_Init takes, how much memory a rank holds afterwards,
 * and, by size, half a round trip and the rate one way between ranks 0 and 1. Prints "NAME BYTES VALUE" lines.
 * Arguments: seconds per measurement, and the sizes in bytes (at most 4 MiB), if not the usual ones. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOW = 16, BYTES_MAX = 4 << 20, BATCHES = 10 };

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* KiB; 0: unknown. */
static long resident_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static void ping(char *buf, int bytes, int rank)
{
	int other = 1 - rank;
	if (rank == 0)
		MPI_Send(buf, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
	MPI_Recv(buf, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == 1)
		MPI_Send(buf, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
}

static void stream(char *buf, int bytes, int rank)
{
	MPI_Request req[WINDOW];
	for (int i = 0; i < WINDOW; i++)
		if (rank == 0)
			MPI_Isend(buf, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req[i]);
		else
			MPI_Irecv(buf, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req[i]);
	MPI_Waitall(WINDOW, req, MPI_STATUSES_IGNORE);
	char done = 0;
	if (rank == 1)
		MPI_Send(&done, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
	else
		MPI_Recv(&done, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Seconds that `count` calls take. */
static double timed(void (*what)(char *, int, int), char *buf, int bytes, int rank, int count)
{
	double from = seconds();
	for (int i = 0; i < count; i++)
		what(buf, bytes, rank);
	return seconds() - from;
}

/* Seconds per call: the median of the batches, which last `budget` seconds in all. */
static double measure(void (*what)(char *, int, int), char *buf, int bytes, int rank, double budget)
{
	double each[BATCHES], one = timed(what, buf, bytes, rank, 4) / 4;
	int count = (int)(budget / BATCHES / one) + 1;
	MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = 0; i < BATCHES; i++) {
		double t = timed(what, buf, bytes, rank, count) / count;
		int at = i;
		for (; at > 0 && each[at - 1] > t; at--)
			each[at] = each[at - 1];
		each[at] = t;
	}
	return each[BATCHES / 2];
}

static void by_size(char *buf, int bytes, int rank, double budget)
{
	if (bytes < 0 || bytes > BYTES_MAX)
		return;
	double half = measure(ping, buf, bytes, rank, budget) / 2;
	double window = measure(stream, buf, bytes, rank, budget);
	if (rank == 0)
		printf("latency_us %d %.3f\nbandwidth_mbs %d %.1f\n", bytes, half * 1e6, bytes,
		       bytes * (double)WINDOW / window / 1e6);
}

static void by_sizes(char **text, int rank, double budget)
{
	static const int usual[] = {8, 64, 512, 4096, 8192, 16384, 65536, 262144, 1 << 20, BYTES_MAX};
	char *buf = calloc(1, BYTES_MAX);
	if (!buf)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (unsigned i = 0; !text[0] && i < sizeof usual / sizeof usual[0]; i++)
		by_size(buf, usual[i], rank, budget);
	for (; text[0]; text++)
		by_size(buf, atoi(text[0]), rank, budget);
	free(buf);
}

int main(int argc, char **argv)
{
	double from = seconds(), budget = argc > 1 ? atof(argv[1]) : 0.2;
	static char *none[] = {NULL};
	if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
		return 1;
	double took = seconds() - from;
	int rank, ranks;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("init_s 0 %.3f\nresident_mb 0 %.1f\n", took, (double)resident_kib() * 1024 / 1e6);
	if (budget > 0 && ranks > 1 && rank < 2)
		by_sizes(argc > 2 ? argv + 2 : none, rank, budget);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
