/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the lab. Calls go down this list: the loop (lab.c), hosts (lab_host.c), flows (lab_flow.c) and faults
 * (lab_fault.c); below them the hosts that are due (lab_due.c), pending calls (lab_call.c) and what ends a run early
 * (lab_break.c). */
#ifndef WEFT_LAB_INT_H
#define WEFT_LAB_INT_H

#include <assert.h>

#include "lab.h"
#include "pattern.h"
#include "queue_spread.h"
#include "reorder.h"
#include "sim_port.h"

enum {
	LAB_PORT = 16,           /* endpoint number on every host */
	LAB_CALLS_MAX = 64,      /* pending lab_at calls */
	LAB_POLLS_MAX = 1 << 16, /* at one instant and host: more is an engine that gets nowhere */
};

/* One host: an engine, its port, and when it wants to be polled. */
struct lab_host {
	struct lab *lab;
	uint32_t index;
	struct weft_port *nic;  /* the virtual NIC; closed with `port` */
	struct weft_port *port; /* what the engine sees: the NIC or the fault port around it */
	bool faulty;            /* `port` is a fault port */
	struct weft_engine *engine;
	struct weft_ep *ep;
	struct weft_lb_routes lb_routes; /* the engine asks it for paths */
	weft_ns deadline;                /* of the engine, or NEVER */
	weft_ps wake_at; /* what the fabric was asked for; may be earlier than the deadline, never later */
	bool due;        /* in the lab's queue of hosts to poll */
	bool tx_blocked; /* the NIC's ring was full: poll when it has room */
};

struct lab_call {
	weft_ps at;
	void (*fn)(struct lab *lab, void *arg);
	void *arg;
};

/* How one flow arrives. */
struct lab_arrival {
	struct pattern_check check;
	struct reorder order;
	struct lab *lab;
};

struct lab {
	const struct lab_config *conf;
	struct weft_net *net;
	struct sim_slab *slab;
	struct lab_host *hosts;
	uint32_t host_count;
	weft_ps now;
	uint32_t *due; /* ring of host indices to poll now; each host at most once */
	uint32_t due_head, due_count;
	struct pattern pattern;
	struct run_flow *flows;
	struct lab_arrival *arrivals; /* of the flows */
	struct reorder_sum reordering;
	uint32_t *by_start; /* flows with a start time, in that order */
	uint32_t *host_ops; /* sends and receives of each host */
	uint32_t *fired;    /* activations of each trigger so far */
	uint32_t timed_count, next_timed;
	uint32_t active, ended; /* flows under way; flows over */
	struct lab_call calls[LAB_CALLS_MAX];
	uint32_t call_count;
	uint32_t next_fault;         /* step of the configuration's faults */
	const struct lab_taps *taps; /* NULL: nobody observes */
	void *taps_arg;
	weft_ps sample_ps; /* interval of samples for the taps; 0: none */
	weft_ps sample_at; /* next sample, or NEVER */
	struct queue_spread *spread;
	weft_ps spread_at, spread_end; /* next sample of it, or NEVER; the last one */
	void (*progress)(struct lab *lab, void *arg);
	void *progress_arg;
	int broken_rc;          /* what ended the run early, an errno: the first such thing; 0: nothing */
	struct weft_err broken; /* its message */
};

/* ---- lab_break.c ---- */

/* Ends the run early, unless something else has done so already. `rc` is a negative errno. */
void lab_break(struct lab *lab, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- lab_call.c ---- */

/* When the first pending call is due, or NEVER. */
weft_ps lab_next_call(const struct lab *lab);

/* Makes all calls whose time has come. */
void lab_run_calls(struct lab *lab);

/* ---- lab_due.c ---- */

/* Puts a host at the end of the queue of those to poll, unless it is in it. */
void lab_host_due(struct lab_host *h);

/* Takes the first host of the queue; NULL: it is empty. */
struct lab_host *lab_take_due(struct lab *lab);

/* ---- lab_host.c ---- */

/* Builds host `index`; the arrays of `lab` are there already. */
int lab_host_create(struct lab *lab, uint32_t index, struct weft_err *err);
void lab_host_destroy(struct lab_host *h);

/* Polls every host that is due, until none is. */
void lab_poll_due(struct lab *lab);

/* ---- lab_fault.c ---- */

/* Makes the configuration's faults happen. Errors of lab_at. */
int lab_faults_start(struct lab *lab);

/* ---- lab_flow.c ---- */

int lab_flows_create(struct lab *lab, struct weft_err *err);
void lab_flows_destroy(struct lab *lab);

/* When the next flow starts by the clock, or NEVER. */
weft_ps lab_next_start(const struct lab *lab);

/* Starts all flows whose time has come. */
void lab_start_timed(struct lab *lab);

/* Takes a host's completions. */
void lab_take_completions(struct lab_host *h);

/* Operations a host may have under way at once. */
uint32_t lab_host_operations(const struct lab *lab, uint32_t host);

#endif
