/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that the user asked for, by lab_at. There are few, so they stay in the order of their registration. */
#include <errno.h>

#include "lab_int.h"

int lab_at(struct lab *lab, weft_ns at, void (*fn)(struct lab *lab, void *arg), void *arg)
{
	if (lab->call_count == LAB_CALLS_MAX)
		return -ENOSPC;
	lab->calls[lab->call_count++] = (struct lab_call){.at = at * 1000, .fn = fn, .arg = arg};
	return 0;
}

/* The index of the call that comes first, the earlier registered one of two at the same time; call_count: none. */
static uint32_t first_call(const struct lab *lab)
{
	uint32_t first = 0;
	for (uint32_t i = 1; i < lab->call_count; i++) {
		if (lab->calls[i].at < lab->calls[first].at)
			first = i;
	}
	return first;
}

weft_ps lab_next_call(const struct lab *lab)
{
	return lab->call_count ? lab->calls[first_call(lab)].at : WEFT_NEVER;
}

static struct lab_call take_call(struct lab *lab, uint32_t index)
{
	struct lab_call call = lab->calls[index];
	assert(index < lab->call_count && lab->call_count <= LAB_CALLS_MAX);
	lab->call_count--;
	for (uint32_t i = index; i < lab->call_count; i++)
		lab->calls[i] = lab->calls[i + 1];
	return call;
}

void lab_run_calls(struct lab *lab)
{
	while (lab->call_count && lab_next_call(lab) <= lab->now) {
		struct lab_call call = take_call(lab, first_call(lab));
		call.fn(lab, call.arg);
	}
}
