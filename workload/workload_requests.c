/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of the DRILL paper (section 4): strides, and hosts that ask many others at once. */
#include <errno.h>
#include <stdlib.h>

#include "workload_impl.h"

/* Stride(x): host i sends to host i + x, modulo the hosts. */
int build_stride(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	if (q->stride % q->hosts == 0)
		return weft_err_set(err, -EINVAL, "%.80s: hosts would send to themselves", q->spec);
	if (workload_alloc(w, q->hosts, q->hosts, 0))
		return -ENOMEM;
	for (uint32_t i = 0; i < q->hosts; i++)
		workload_add(w, i, (uint32_t)(((uint64_t)i + q->stride) % q->hosts), q->bytes);
	return 0;
}

/* Brings a random choice of `count` hosts to the front of order[from..n-1]. */
static void shuffle(uint32_t *order, uint32_t from, uint32_t n, uint32_t count, struct rng *rng)
{
	for (uint32_t i = from; i < from + count; i++) {
		uint32_t j = i + rng_below(rng, n - i), t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
}

/* The incast application: each of `percent` of the hosts asks that share of the others for a flow. */
int build_requests(const struct request *q, struct weft_workload *w, struct weft_err *err)
{
	struct rng rng = {rng_mix(q->seed)};
	uint32_t n = q->hosts, clients = n * q->percent / 100, servers = (n - 1) * q->percent / 100;

	if (!clients || !servers)
		return weft_err_set(err, -EINVAL, "%.80s: %u %% of %u hosts are none", q->spec, q->percent, n);
	if ((uint64_t)clients * servers > FLOWS_MAX)
		return weft_err_set(err, -EINVAL, "%.80s: more than %d flows", q->spec, FLOWS_MAX);
	uint32_t *asking = malloc(2 * (size_t)n * sizeof *asking), *asked = asking + n;
	if (!asking || workload_alloc(w, n, clients * servers, 0)) {
		free(asking);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		asking[i] = asked[i] = i;
	shuffle(asking, 0, n, clients, &rng);
	for (uint32_t c = 0; c < clients; c++) {
		uint32_t self = 0;
		while (asked[self] != asking[c])
			self++;
		asked[self] = asked[0];
		asked[0] = asking[c];
		shuffle(asked, 1, n, servers, &rng);
		for (uint32_t s = 1; s <= servers; s++)
			workload_add(w, asked[s], asking[c], q->bytes);
	}
	free(asking);
	return 0;
}
