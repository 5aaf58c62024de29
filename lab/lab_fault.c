/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies the faults of a run at their times, with one pending call for all of them. */
#include "lab_int.h"

static void faults_due(struct lab *lab, void *arg)
{
	const struct timeline *t = &lab->conf->faults;
	struct weft_err why;
	(void)arg;
	int rc = timeline_apply(t, &lab->next_fault, lab->now / 1000, lab->net, &why);
	if (rc)
		lab_break(lab, rc, "%s", why.msg);
	if (timeline_next_ns(t, lab->next_fault) != WEFT_NEVER)
		lab_at(lab, timeline_next_ns(t, lab->next_fault), faults_due, NULL);
}

int lab_faults_start(struct lab *lab)
{
	weft_ns first = timeline_next_ns(&lab->conf->faults, 0);
	return first == WEFT_NEVER ? 0 : lab_at(lab, first, faults_due, NULL);
}
