/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication in one window: put, get, accumulate, fetch-and-op, compare-and-swap, by fence and by lock. */
#include "mpi_app.h"

#include <stdlib.h>
#include <string.h>

enum { CELLS = 1 << 16, SALT_PUT = 7 };

/* Each rank's window has a stripe for every rank and, at the front, cells all of them count in. */
struct window {
	MPI_Win win;
	int64_t *cells;
	size_t stripe; /* cells of one rank's */
};

static MPI_Aint at(const struct window *w, int rank)
{
	return (MPI_Aint)((size_t)(rank + 1) * w->stripe);
}

static int64_t value_of(int from, int to, size_t i, int round)
{
	return ((int64_t)from << 40) + ((int64_t)to << 32) + round * (int64_t)CELLS + (int64_t)i;
}

/* Everybody writes its stripe at everybody, then reads it back and looks at its own window. */
static void put_get(struct window *w, int round)
{
	size_t n = w->stripe >> (round % 4 * 4 < 12 ? round % 4 * 4 : 12);
	int64_t *out = mpi_alloc(w->stripe * sizeof *out * (size_t)mpi_size),
		*back = mpi_alloc(w->stripe * sizeof *back);
	n = n ? n : 1;
	MPI_Win_fence(0, w->win);
	for (int to = 0; to < mpi_size; to++) {
		int64_t *part = out + (size_t)to * w->stripe;
		for (size_t i = 0; i < n; i++)
			part[i] = value_of(mpi_rank, to, i, round);
		MPI_Put(part, (int)n, MPI_INT64_T, to, at(w, mpi_rank), (int)n, MPI_INT64_T, w->win);
	}
	MPI_Win_fence(0, w->win);
	for (int from = 0; from < mpi_size; from++)
		for (size_t i = 0; i < n; i++)
			mpi_check(w->cells[(size_t)at(w, from) + i] == value_of(from, mpi_rank, i, round), "a put");
	MPI_Win_fence(0, w->win);
	for (int to = 0; to < mpi_size; to++) {
		memset(back, 0, n * sizeof *back);
		MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
		MPI_Get(back, (int)n, MPI_INT64_T, to, at(w, mpi_rank), (int)n, MPI_INT64_T, w->win);
		MPI_Win_unlock(to, w->win);
		for (size_t i = 0; i < n; i++)
			mpi_check(back[i] == value_of(mpi_rank, to, i, round), "a get");
	}
	MPI_Barrier(MPI_COMM_WORLD);
	free(out);
	free(back);
}

static void counters_reset(struct window *w)
{
	MPI_Win_fence(0, w->win);
	memset(w->cells, 0, w->stripe * sizeof *w->cells);
	MPI_Win_fence(0, w->win);
}

/* All ranks add to the same cells at once. */
static void accumulate(struct window *w)
{
	enum { COUNT = 64, TIMES = 10 };
	int64_t ones[COUNT];
	counters_reset(w);
	for (int i = 0; i < COUNT; i++)
		ones[i] = i + 1;
	for (int t = 0; t < TIMES; t++)
		for (int to = 0; to < mpi_size; to++)
			MPI_Accumulate(ones, COUNT, MPI_INT64_T, to, 0, COUNT, MPI_INT64_T, MPI_SUM, w->win);
	MPI_Win_fence(0, w->win);
	for (int i = 0; i < COUNT; i++)
		mpi_check(w->cells[i] == (int64_t)TIMES * mpi_size * (i + 1), "an accumulate");
}

/* Tickets of one counter at rank 0: every number is drawn once. */
static void tickets(struct window *w)
{
	enum { TIMES = 50 };
	int64_t one = 1, mine = 0, sum = 0, drawn;
	counters_reset(w);
	MPI_Win_lock_all(0, w->win);
	for (int t = 0; t < TIMES; t++) {
		MPI_Fetch_and_op(&one, &drawn, MPI_INT64_T, 0, 0, MPI_SUM, w->win);
		MPI_Win_flush(0, w->win);
		mine += drawn;
	}
	MPI_Win_unlock_all(w->win);
	MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	int64_t n = (int64_t)TIMES * mpi_size;
	mpi_check(sum == n * (n - 1) / 2, "a ticket was drawn twice");
}

/* The cell passes from rank to rank, each may take it only when its turn has come. Rank 0, whose cell it is, stands by:
 * Open MPI 4.1.4 crashes when a rank compares and swaps with itself through btl:ofi. */
static void swaps(struct window *w)
{
	int64_t want = mpi_rank, next = mpi_rank + 1, old = -1;
	counters_reset(w);
	w->cells[0] = 1;
	MPI_Win_fence(0, w->win);
	MPI_Win_lock_all(0, w->win);
	while (mpi_rank != 0 && old != want) {
		MPI_Compare_and_swap(&next, &want, &old, MPI_INT64_T, 0, 0, w->win);
		MPI_Win_flush(0, w->win);
		mpi_check(old > 0 && old <= mpi_size, "a compare-and-swap");
	}
	MPI_Win_unlock_all(w->win);
	MPI_Win_fence(0, w->win);
	mpi_check(mpi_rank != 0 || w->cells[0] == mpi_size, "a turn was lost");
}

void mpi_onesided(void)
{
	struct window w = {.stripe = CELLS / (size_t)(mpi_size + 1)};
	/* Not MPI_Win_allocate: on one node its memory is shared, and nothing would be sent. */
	w.cells = mpi_alloc(CELLS * sizeof *w.cells);
	MPI_Win_create(w.cells, CELLS * (MPI_Aint)sizeof *w.cells, sizeof *w.cells, MPI_INFO_NULL, MPI_COMM_WORLD,
		       &w.win);
	memset(w.cells, 0, CELLS * sizeof(int64_t));
	for (int round = 0; round < 4; round++)
		put_get(&w, round);
	accumulate(&w);
	tickets(&w);
	swaps(&w);
	MPI_Win_free(&w.win);
	free(w.cells);
}
