/* SPDX-License-Identifier: BSD-3-Clause */
/* Driving nodes to the end of their flows, with a word on the terminal now and then. */
#include <stdio.h>
#include <unistd.h>

#include "bench.h"

#define PROGRESS_NS WEFT_MS(200)

void bench_drive(struct bench_driver *d, weft_ns deadline)
{
	bool tty = d->first == 0 && isatty(STDERR_FILENO);
	weft_ns now = bench_now(), shown = now;
	while (!bench_driver_done(d) && now < deadline) {
		for (int i = 0; i < 16; i++)
			bench_driver_poll(d);
		now = bench_now();
		if (!tty || now - shown < PROGRESS_NS)
			continue;
		shown = now;
		fprintf(stderr, "\rweft bench: %u sends and %u receives left, %.1f s ", d->sends_left, d->recvs_left,
			(double)(now - d->t0) / 1e9);
	}
	if (tty)
		fputs("\r\033[K", stderr);
}
