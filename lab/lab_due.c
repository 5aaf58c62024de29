/* SPDX-License-Identifier: BSD-3-Clause */
/* The hosts to poll at this instant, in the order in which they became due. */
#include "lab_int.h"

void lab_host_due(struct lab_host *h)
{
	struct lab *lab = h->lab;
	if (h->due)
		return;
	h->due = true;
	assert(lab->due_count < lab->host_count);
	uint32_t tail = lab->due_head + lab->due_count++;
	lab->due[tail < lab->host_count ? tail : tail - lab->host_count] = h->index;
}

struct lab_host *lab_take_due(struct lab *lab)
{
	if (!lab->due_count)
		return NULL;
	struct lab_host *h = &lab->hosts[lab->due[lab->due_head]];
	assert(h->due && lab->due_head < lab->host_count);
	lab->due_head = lab->due_head + 1 < lab->host_count ? lab->due_head + 1 : 0;
	lab->due_count--;
	h->due = false;
	return h;
}
