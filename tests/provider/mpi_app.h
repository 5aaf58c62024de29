/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the MPI program share. */
#ifndef WEFT_MPI_APP_H
#define WEFT_MPI_APP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern int mpi_rank, mpi_size;

/* Ends the job unless `good`. */
void mpi_check(bool good, const char *what);
/* Never NULL. */
void *mpi_alloc(size_t bytes);
/* Byte `i` of message `salt` from one rank to another. */
uint8_t mpi_byte(int from, int to, int salt, size_t i);
void mpi_fill(uint8_t *buf, size_t len, int from, int to, int salt);
void mpi_verify(const uint8_t *buf, size_t len, int from, int to, int salt, const char *what);

/* Point-to-point communication in all modes. */
void mpi_modes(void);
void mpi_matching(void);
/* Every other rank sends to rank 0 at once, `rounds` times. */
void mpi_incast(size_t len, int rounds);
/* Collectives of 1 byte up to `max` bytes. */
void mpi_collectives(size_t max);
/* Put, get and accumulate in a window. */
void mpi_onesided(void);

#endif
