/* SPDX-License-Identifier: BSD-3-Clause */
/* One run in the lab, from resolved options to its files. */
#ifndef WEFT_SIMRUN_H
#define WEFT_SIMRUN_H

#include "options.h"

struct simrun {
	struct options *o; /* resolved; o->files says what is written */
	/* Called during the run as lab_progress does; may be NULL. */
	void (*progress)(struct lab *lab, void *arg);
	void *progress_arg;
	/* Called with the result, whose flows live until it returns; may be NULL. An errno with a message ends the run.
	 */
	int (*report)(const struct run_result *r, void *arg, struct weft_err *err);
	void *report_arg;
	struct weft_err verdict; /* why the run is no success although it could be made; empty: it is one */
	bool refused;            /* there was no run: its options contradict each other */
};

/* Runs, writes the directory and reports. An error means that there is no complete result: the lab could not be built,
 * or something could not be written. */
int simrun(struct simrun *s, struct weft_err *err);

#endif
