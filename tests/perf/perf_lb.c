/* SPDX-License-Identifier: BSD-3-Clause */
/* Instructions per pick and per feedback of the load balancers. */
#include <stdbool.h>

#include "lb_ops.h"
#include "perf_case.h"

enum { REPS_BUDGET = 40, EVS = 65536, PRIME_BUDGET = 120, STATE_WORDS = 512 };

struct lb_case {
	const struct weft_lb_ops *ops;
	uint8_t cached;     /* entropies acknowledged first: 0.. */
	uint8_t used;       /* ... and then picked */
	bool frozen;        /* before the picks */
	bool picks;         /* a pick is counted ... */
	enum weft_lb_fb fb; /* ... and this feedback; WEFT_LB_FB_KINDS: none */
	uint32_t wait_ns;   /* not 0: an answer that waited so long instead */
};

static __attribute__((noinline)) uint16_t measured_pick(struct weft_lb *lb, uint32_t psn, weft_ns now)
{
	return lb->ops->pick(lb, psn, now);
}

static __attribute__((noinline)) void measured_feedback(struct weft_lb *lb, uint16_t ev, enum weft_lb_fb fb,
							weft_ns now)
{
	lb->ops->feedback(lb, ev, fb, now);
}

static __attribute__((noinline)) void measured_answer(struct weft_lb *lb, uint16_t ev, weft_ns wait_ns, weft_ns now)
{
	lb->ops->answered(lb, ev, WEFT_LB_OK, wait_ns, WEFT_NEVER, now);
}

static void prepare(struct weft_lb *lb, const struct lb_case *c, uint64_t i)
{
	lb->ops->init(lb, i, 0);
	for (uint16_t ev = 0; ev < c->cached; ev++)
		lb->ops->feedback(lb, ev, WEFT_LB_OK, i);
	if (c->frozen)
		lb->ops->feedback(lb, 1000, WEFT_LB_TIMEOUT, i);
	for (uint32_t psn = 0; psn < c->used; psn++)
		lb->ops->pick(lb, psn, i);
}

static int run(const struct perf_case *perf, uint64_t n)
{
	static uint64_t tune[32];
	struct weft_lb_params params = {.evs_size = EVS, .bdp_pkts = 280, .brtt_ns = 12000, .tune = tune};
	const struct lb_case *c = perf->arg;
	bool good = true;

	weft_param_defaults(c->ops->tunes, tune);
	for (uint64_t i = 0; i < n; i++) {
		struct {
			struct weft_lb lb;
			uint64_t state[STATE_WORDS];
		} s = {.lb = {c->ops, &params}};
		prepare(&s.lb, c, i);
		uint16_t ev = c->picks ? measured_pick(&s.lb, (uint32_t)i, i) : 0;
		if (c->wait_ns)
			measured_answer(&s.lb, ev, c->wait_ns, i);
		else if (c->fb != WEFT_LB_FB_KINDS)
			measured_feedback(&s.lb, ev, c->fb, i);
		bool recycled = c->cached > c->used || c->frozen;
		good &= !c->picks || (recycled ? ev < c->cached : ev < params.evs_size);
	}
	return good;
}

#define CASE(...) (&(const struct lb_case){__VA_ARGS__})

int main(int argc, char **argv)
{
	const struct weft_lb_ops *reps = &weft_lb_reps, *reps2 = &weft_lb_reps2, *ops = &weft_lb_spray,
				 *ecmp = &weft_lb_ecmp;
	const struct perf_case cases[] = {
		{"both", REPS_BUDGET, "reps pick cached + feedback OK", run, CASE(reps, 8, 0, false, true, WEFT_LB_OK)},
		{"explore", REPS_BUDGET, "reps pick random + feedback OK", run,
		 CASE(reps, 8, 8, false, true, WEFT_LB_OK)},
		{"marked", REPS_BUDGET, "reps pick random + feedback CE", run,
		 CASE(reps, 8, 8, false, true, WEFT_LB_CE)},
		{"first", 0, "reps pick random + feedback OK, ring empty", run,
		 CASE(reps, 0, 0, false, true, WEFT_LB_OK)},
		{"frozen", 0, "reps pick frozen + feedback OK", run, CASE(reps, 8, 8, true, true, WEFT_LB_OK)},
		{"timeout", 0, "reps feedback TIMEOUT", run, CASE(reps, 8, 0, false, false, WEFT_LB_TIMEOUT)},
		{"reps2", 0, "reps2 pick cached + answer in time", run,
		 CASE(reps2, 8, 0, false, true, WEFT_LB_OK, 100)},
		{"reps2_late", 0, "reps2 pick random + answer late", run,
		 CASE(reps2, 8, 8, false, true, WEFT_LB_OK, 5000)},
		{"ops", 0, "ops pick + feedback", run, CASE(ops, 0, 0, false, true, WEFT_LB_OK)},
		{"ecmp", 0, "ecmp pick + feedback", run, CASE(ecmp, 0, 0, false, true, WEFT_LB_OK)},
		{"prime", PRIME_BUDGET, "prime pick + feedback OK", run,
		 CASE(&weft_lb_prime, 0, 3, false, true, WEFT_LB_OK)},
		{"prime_ce", PRIME_BUDGET, "prime pick + feedback CE", run,
		 CASE(&weft_lb_prime, 0, 3, false, true, WEFT_LB_CE)},
		{"prime_turn", PRIME_BUDGET, "prime pick at a round's end + feedback TRIM", run,
		 CASE(&weft_lb_prime, 0, 16, false, true, WEFT_LB_TRIM)},
		{"prime2", 0, "prime2 pick + feedback OK", run, CASE(&weft_lb_prime2, 0, 3, false, true, WEFT_LB_OK)},
		{"prime2_turn", 0, "prime2 pick at a round's end + feedback TRIM", run,
		 CASE(&weft_lb_prime2, 0, 16, false, true, WEFT_LB_TRIM)},
		{"co-prime", 0, "co-prime pick + feedback", run,
		 CASE(&weft_lb_co_prime, 0, 3, false, true, WEFT_LB_OK)},
		{"plb", 0, "plb pick + feedback OK", run, CASE(&weft_lb_plb, 0, 0, false, true, WEFT_LB_OK)},
		{"flowlet", 0, "flowlet pick + feedback", run, CASE(&weft_lb_flowlet, 0, 0, false, true, WEFT_LB_OK)},
		{"mptcp", 0, "mptcp pick + feedback", run, CASE(&weft_lb_mptcp, 0, 0, false, true, WEFT_LB_OK)},
		{"mprdma", 0, "mprdma pick + feedback OK", run, CASE(&weft_lb_mprdma, 0, 0, false, true, WEFT_LB_OK)},
		{"bitmap", 0, "bitmap pick + feedback CE", run, CASE(&weft_lb_bitmap, 0, 0, false, true, WEFT_LB_CE)},
		{NULL},
	};

	return perf_main(argc, argv, cases);
}
