/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run in the lab looked like over time, as CSV files in a directory: ports.csv, conns.csv and arrivals.csv with
 * a sample every interval, links.csv with the whole run. Columns and rules: doc/guide/lab.md. Rows go out as they come;
 * a connection or port costs some tens of bytes of memory. */
#ifndef WEFT_SERIES_H
#define WEFT_SERIES_H

#include "outputs.h"

struct series;

/* Writes into conf->dir, which is made if it is not there; ports.csv, conns.csv and arrivals.csv only with
 * conf->series_ns.
 * -EIO or the errno of what could not be made, -ENOMEM, -EINVAL: conf->series_ports matches no port; with a message. */
int series_open(struct lab *lab, const struct outputs_conf *conf, struct series **out, struct weft_err *err);

/* Takes a sample of `now`, which is later than the sample before; everything up to then has happened. *active: a row
 * was written. -EIO with a message as soon as a row could not be written, -ENOMEM. */
int series_sample(struct series *s, weft_ps now, bool *active, struct weft_err *err);

/* Samples up to and including `until` are left out: nothing happened since the last, which had no rows. */
void series_skip(struct series *s, weft_ps until);

/* Ends all files; with `whole` the rest of the run since the last sample and links.csv are written. NULL is fine. -EIO
 * with a message. */
int series_close(struct series *s, weft_ps now, bool whole, struct weft_err *err);

#endif
