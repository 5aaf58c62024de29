/* SPDX-License-Identifier: BSD-3-Clause */
/* SMaRTT in floating point, as the paper prints it (Algorithms 1-4, equations 1-3), plus the departures that
 * doc/reference/algorithms.md lists. Slow, obvious, and written independently of cc/smartt.c. */
#ifndef SMARTT_MODEL_H
#define SMARTT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct model {
	double mtu, brtt, trtt, bdp, fi, pi; /* fi, pi scaled by BDP / 150,000 */
	double cwnd, avg_rtt, weight;
	double acked, bytes_ignored, bytes_to_ignore, count, end, last_decrease;
	bool trigger_qa, increase;
	unsigned adapts, fasts, decreases; /* how often it did what */
};

void model_init(struct model *m, double link_bps, double brtt_ns, double mtu);
void model_ack(struct model *m, double now, double size, double rtt, bool ecn, double unacked);
void model_trim(struct model *m, double now, double size, double unacked);

/* A gap or a timeout. */
void model_lose(struct model *m, double now, double size);

#endif
