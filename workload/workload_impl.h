/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that make workloads: a pattern's numbers, and how they become flows. */
#ifndef WEFT_WORKLOAD_IMPL_H
#define WEFT_WORKLOAD_IMPL_H

#include "rng.h"
#include "workload.h"
#include "workload_cdf.h"

enum {
	FLOWS_MAX = 1 << 24,        /* of a pattern */
	POISSON_FLOWS_MAX = 1 << 20 /* where a number is easily mistaken */
};

/* A pattern's numbers, as far as it has them, checked one by one. */
struct request {
	const char *spec; /* for messages */
	const struct weft_workload_site *site;
	const struct weft_topo *topo;
	uint64_t seed;
	uint32_t hosts;    /* 0..hosts-1 take part */
	uint32_t senders;  /* of one incast; of poisson, 0: all hosts */
	uint32_t incasts;  /* at the same time */
	uint32_t fan_out;  /* receivers of an outcast's sender */
	uint32_t flows;    /* how many */
	uint32_t parallel; /* flows of a node at a time */
	uint32_t rounds;   /* of a repeated pattern */
	uint32_t stride;   /* between sender and receiver */
	uint32_t percent;  /* of the hosts that ask, and of the others that each of them asks */
	const char *inner; /* the repeated pattern */
	uint64_t bytes;    /* of a flow, or of the vector that is reduced */
	uint64_t load;     /* of the access links, 10^-9 */
	weft_ns duration_ns;
	bool off_leaf;     /* only to hosts of other leaves */
	bool one_receiver; /* of all flows of a host */
	bool spread;       /* consecutive ranks on different leaves */
	bool shifted;      /* every host's receivers in the order of one ring */
	struct cdf *cdf;
};

/* Builders fill an empty workload, which the caller frees. -ENOMEM (the caller writes the message), or -EINVAL with a
 * message. */
typedef int request_build(const struct request *q, struct weft_workload *w, struct weft_err *err);

/* workload_build.c */
request_build build_permutation, build_crosscore, build_tornado, build_random, build_incast, build_outcast_incast,
	build_alltoall;

/* workload_requests.c */
request_build build_stride, build_requests;

/* workload_allreduce.c */
request_build build_ring, build_butterfly, build_halving;

/* workload_poisson.c */
request_build build_poisson;

/* ---- workload_pattern.c ---- */

/* Reads "NAME:NUMBERS" into `q`, whose cdf has room already; *build makes its flows, NULL: the pattern q->inner is
 * repeated. -ENOENT, -EINVAL with a message. */
int request_read(const char *spec, const struct weft_workload_site *site, struct request *q, request_build **build,
		 struct weft_err *err);

/* ---- workload_build.c ---- */

/* Room for so many flows and triggers. -ENOMEM. */
int workload_alloc(struct weft_workload *w, uint32_t nodes, uint32_t flows, uint32_t triggers);

/* Appends a flow that starts at once, with the next id; the room is there. */
struct weft_flow *workload_add(struct weft_workload *w, uint32_t src, uint32_t dst, uint64_t bytes);

/* Makes the last flow wait for trigger `t` instead. */
void workload_wait(struct weft_flow *f, uint32_t t);

/* A random permutation of 0..n-1 in which nobody is its own image; the caller frees it. NULL: no memory. */
uint32_t *workload_cycle(uint32_t n, struct rng *rng);

/* ---- workload_background.c ---- */

/* -EINVAL: so many flows are too many. */
int workload_check_count(uint64_t flows, struct weft_err *err);

/* Moves the flows of `more` to the end of `w`, `later` ns later, as background or not. -EINVAL when there are too many,
 * -ENOMEM. */
int workload_join(struct weft_workload *w, struct weft_workload *more, weft_ns later, bool background,
		  struct weft_err *err);

/* ---- workload_link.c ---- */

/* Fills the triggers' target lists from the flows' start_trigger, in order. -ENOMEM. */
int workload_link(struct weft_workload *w);

/* A flow that no sequence of completions starts: its trigger is activated too seldom. */
struct workload_stuck {
	uint32_t flow;
	uint32_t activations, needed;
};

/* 1: all flows start in the end. 0: *stuck is the first that does not. -ENOMEM. */
int workload_all_start(const struct weft_workload *w, struct workload_stuck *stuck);

#endif
