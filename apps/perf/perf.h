/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft perf`: what both sides of a measurement agree upon. */
#ifndef WEFT_PERF_H
#define WEFT_PERF_H

#include <stdbool.h>
#include <stdint.h>

enum perf_op { PERF_MESSAGE, PERF_TAGGED, PERF_WRITE, PERF_READ, PERF_ATOMIC, PERF_OPS };
extern const char *const perf_op_names[PERF_OPS + 1]; /* ended by NULL */

enum perf_test { PERF_LATENCY, PERF_BANDWIDTH, PERF_BOTH_WAYS, PERF_TESTS };
extern const char *const perf_test_names[PERF_TESTS + 1]; /* ended by NULL */

enum {
	PERF_SIZES_MAX = 32,
	PERF_BYTES_MAX = 64 << 20,
	PERF_CONNECTIONS_MAX = 256,
	PERF_THREADS_MAX = 64,
	PERF_WINDOW_MAX = 1024,
	PERF_NAME_MAX = 256, /* bytes of an endpoint's name */
};

/* What the client asks for. */
struct perf_job {
	enum perf_op op;
	bool tests[PERF_TESTS];
	uint32_t sizes[PERF_SIZES_MAX]; /* bytes */
	uint32_t size_count;
	uint32_t connections, threads; /* a thread has each threads-th connection */
	uint32_t window;               /* operations of a connection that are outstanding at most */
	bool check;                    /* every byte is compared */
	uint64_t row_ns;               /* how long a row is measured; 0: `iterations` */
	uint64_t iterations, warmup;   /* of a connection */
};

/* Whether the far side takes part in an operation, rather than its memory alone. */
static inline bool perf_has_receiver(enum perf_op op)
{
	return op == PERF_MESSAGE || op == PERF_TAGGED;
}

#endif
