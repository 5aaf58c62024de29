/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a run in the lab writes while it runs: a capture of packets, and time series (series.h). */
#ifndef WEFT_OUTPUTS_H
#define WEFT_OUTPUTS_H

#include "lab.h"

/* Which files. Strings are the caller's and outlive the outputs; all zero: none. */
struct outputs_conf {
	const char *dir;          /* directory for a run's files, made if it is not there; NULL: none are written */
	weft_ns series_ns;        /* sampling interval of the time series in `dir`; 0: none */
	const char *series_ports; /* shell patterns of the ports' names in it, with commas between; NULL: all */
	const char *pcap;         /* file for captured packets (pcapng); NULL: none */
	const char *pcap_ports;   /* patterns of the ports it shows; NULL: the hosts' NICs */
};

struct outputs;

/* Opens the files and attaches them to the lab, which has not run yet. -EIO or an errno of a file that could not be
 * made; -EINVAL: patterns that match no port, or a series without directory; -ENOMEM; with a message. */
int outputs_open(struct lab *lab, const struct outputs_conf *conf, struct outputs **out, struct weft_err *err);

/* Detaches from the lab and ends all files. `whole`: the run came to its end, so that its last samples and links.csv
 * are written. NULL is fine. -EIO with a message. */
int outputs_close(struct outputs *o, bool whole, struct weft_err *err);

/* lab_run and outputs_close: the error of the run, or else that of the files. */
int outputs_run(struct outputs *o, struct lab *lab, struct weft_err *err);

#endif
