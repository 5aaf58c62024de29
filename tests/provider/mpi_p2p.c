/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between neighbours on a ring in every mode MPI has, and what may happen to their receives. */
#include "mpi_app.h"

#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {0, 1, 64, 5000, 70000, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes, LEN_MAX = 1 << 20, TAG = 3 };

static int right(void)
{
	return (mpi_rank + 1) % mpi_size;
}

static int left(void)
{
	return (mpi_rank + mpi_size - 1) % mpi_size;
}

typedef int (*isend_fn)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* One message to the right, one from the left. A ready send goes when the receive is known to be posted. */
static void ring_shift(isend_fn isend, bool ready, size_t len, int salt, uint8_t *out, uint8_t *in)
{
	MPI_Request requests[2];
	MPI_Status status[2];
	int got;
	mpi_fill(out, len, mpi_rank, right(), salt);
	memset(in, 0, len);
	MPI_Irecv(in, LEN_MAX, MPI_BYTE, left(), TAG, MPI_COMM_WORLD, &requests[0]);
	if (ready)
		MPI_Barrier(MPI_COMM_WORLD);
	isend(out, (int)len, MPI_BYTE, right(), TAG, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, status); // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): a call by pointer
	MPI_Get_count(&status[0], MPI_BYTE, &got);
	mpi_check((size_t)got == len && status[0].MPI_SOURCE == left() && status[0].MPI_TAG == TAG, "a wrong status");
	mpi_verify(in, len, left(), mpi_rank, salt, "a ring's message");
}

static void buffered(uint8_t *out, uint8_t *in)
{
	/* A message holds its part until it is acknowledged, even after it was received. */
	int bytes = SIZES * (LEN_MAX + MPI_BSEND_OVERHEAD);
	void *buf = mpi_alloc((size_t)bytes);
	MPI_Buffer_attach(buf, bytes);
	for (int i = 0; i < SIZES; i++) {
		ring_shift(MPI_Ibsend, false, sizes[i], 40 + i, out, in);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Buffer_detach(&buf, &bytes);
	free(buf);
}

static void persistent(uint8_t *out, uint8_t *in)
{
	enum { STARTS = 5, LEN = 9000 };
	MPI_Request requests[2];
	MPI_Send_init(out, LEN, MPI_BYTE, right(), TAG, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init(in, LEN, MPI_BYTE, left(), TAG, MPI_COMM_WORLD, &requests[1]);
	for (int i = 0; i < STARTS; i++) {
		mpi_fill(out, LEN, mpi_rank, right(), 60 + i);
		MPI_Startall(2, requests);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): started
		mpi_verify(in, LEN, left(), mpi_rank, 60 + i, "a persistent request's message");
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
}

static void sendrecv(uint8_t *out, uint8_t *in)
{
	for (int i = 0; i < SIZES; i++) {
		mpi_fill(out, sizes[i], mpi_rank, right(), 80 + i);
		MPI_Sendrecv(out, (int)sizes[i], MPI_BYTE, right(), TAG, in, LEN_MAX, MPI_BYTE, left(), TAG,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		mpi_verify(in, sizes[i], left(), mpi_rank, 80 + i, "a sendrecv's message");
		MPI_Sendrecv_replace(out, (int)sizes[i], MPI_BYTE, right(), TAG, left(), TAG, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
		mpi_verify(out, sizes[i], left(), mpi_rank, 80 + i, "a message in place of another");
	}
}

void mpi_modes(void)
{
	uint8_t *out = mpi_alloc(LEN_MAX), *in = mpi_alloc(LEN_MAX);
	for (int i = 0; i < SIZES; i++) {
		ring_shift(MPI_Isend, false, sizes[i], i, out, in);
		ring_shift(MPI_Issend, false, sizes[i], 10 + i, out, in);
		ring_shift(MPI_Irsend, true, sizes[i], 20 + i, out, in);
	}
	buffered(out, in);
	persistent(out, in);
	sendrecv(out, in);
	free(out);
	free(in);
}

/* A receive nobody answers is cancelled; the next message with its tag goes to a later one. */
static void cancelled(void)
{
	MPI_Request request;
	MPI_Status status;
	int value = 0, flag = 0;
	MPI_Irecv(&value, 1, MPI_INT, left(), TAG + 1, MPI_COMM_WORLD, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &flag);
	mpi_check(flag, "a receive could not be cancelled");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Sendrecv(&mpi_rank, 1, MPI_INT, right(), TAG + 1, &value, 1, MPI_INT, left(), TAG + 1, MPI_COMM_WORLD,
		     &status);
	mpi_check(value == left(), "after a cancelled receive");
}

/* From whoever comes first, found by probe; one of them is the rank itself. */
static void probed(bool matched)
{
	MPI_Request *sends = mpi_alloc((size_t)mpi_size * sizeof *sends);
	int seen = 0;
	for (int to = 0; to < mpi_size; to++)
		MPI_Isend(&mpi_rank, 1, MPI_INT, to, 9, MPI_COMM_WORLD, &sends[to]);
	for (int i = 0; i < mpi_size; i++) {
		MPI_Status status;
		MPI_Message message;
		int value = -1;
		if (matched) {
			MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, &status);
			MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
		} else {
			MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
			MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
		mpi_check(value == status.MPI_SOURCE, "a probed message is another's");
		seen += value;
	}
	mpi_check(seen == mpi_size * (mpi_size - 1) / 2, "somebody came twice");
	MPI_Waitall(mpi_size, sends, MPI_STATUSES_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	free(sends);
}

/* Many messages of one tag are received in the order they were sent, whatever their sizes. */
static void ordered(void)
{
	enum { COUNT = 200, WORDS_MAX = 5000 };
	MPI_Request sends[COUNT];
	int *out = mpi_alloc(sizeof(int) * COUNT * WORDS_MAX), *in = mpi_alloc(sizeof(int) * WORDS_MAX);
	for (int i = 0; i < COUNT; i++) {
		int words = i % 3 ? 1 + i : WORDS_MAX;
		out[(size_t)i * WORDS_MAX] = i;
		MPI_Isend(out + (size_t)i * WORDS_MAX, words, MPI_INT, right(), TAG + 2, MPI_COMM_WORLD, &sends[i]);
	}
	for (int i = 0; i < COUNT; i++) {
		MPI_Recv(in, WORDS_MAX, MPI_INT, left(), TAG + 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		mpi_check(in[0] == i, "messages overtook each other");
	}
	MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE);
	free(out);
	free(in);
}

void mpi_matching(void)
{
	cancelled();
	probed(false);
	probed(true);
	ordered();
}

void mpi_incast(size_t len, int rounds)
{
	uint8_t *buf = mpi_alloc(len * (size_t)mpi_size);
	MPI_Request *requests = mpi_alloc((size_t)mpi_size * sizeof *requests);
	for (int round = 0; round < rounds; round++) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (mpi_rank != 0) {
			mpi_fill(buf, len, mpi_rank, 0, round);
			MPI_Send(buf, (int)len, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
			continue;
		}
		for (int from = 1; from < mpi_size; from++)
			MPI_Irecv(buf + (size_t)from * len, (int)len, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
				  &requests[from - 1]);
		MPI_Waitall(mpi_size - 1, requests, MPI_STATUSES_IGNORE);
		for (int from = 1; from < mpi_size; from++)
			mpi_verify(buf + (size_t)from * len, len, from, 0, round, "an incast's message");
	}
	free(buf);
	free(requests);
}
