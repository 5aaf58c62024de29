/* SPDX-License-Identifier: BSD-3-Clause */
/* Plots of one run: its time series (ports.csv, conns.csv, arrivals.csv) and the load of its links (links.csv). Files
 * that are not there are left out; bad ones are errors. */
#ifndef WEFT_REPORT_SERIES_H
#define WEFT_REPORT_SERIES_H

#include "report_html.h"
#include "weft/err.h"

/* Queue depth and utilisation of the ports with the deepest queues, utilisation of all uplinks. 1 when the file is
 * there, 0 when it is not, or a negative errno with a message. */
int series_ports(struct report *r, const char *path, struct weft_err *err);

/* Window, bytes in flight, RTT, cached and frozen entropies of the first connections. Returns as series_ports. */
int series_conns(struct report *r, const char *path, struct weft_err *err);

/* Throughput of the first flows. Returns as series_ports. */
int series_rates(struct report *r, const char *path, struct weft_err *err);

/* Share of each uplink in what its switch sent up, sorted. Returns as series_ports. */
int series_links(struct report *r, const char *path, struct weft_err *err);

#endif
