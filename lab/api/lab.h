/* SPDX-License-Identifier: BSD-3-Clause */
/* The lab: engines on virtual NICs in a virtual fabric, in virtual time, driven from event to event. Same
 * configuration, same seed: same run, on any machine. It writes no files; an observer attaches taps. */
#ifndef WEFT_LAB_H
#define WEFT_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include "lab_config.h"
#include "net.h"
#include "queue_spread.h"
#include "run_flow.h"
#include "weft/engine.h"

struct lab;

/* Whether there can be such a fabric; the error of its parts, with a message. What only an engine refuses shows later.
 */
int lab_check_net(const struct lab_config *conf, struct weft_err *err);

/* Builds fabric, hosts and engines. The configuration stays the caller's and outlives the lab; several labs may share
 * one. Any error of the parts, with a message. */
int lab_create(const struct lab_config *conf, struct lab **out, struct weft_err *err);

/* Runs until every flow that can start has ended, well or not, or until conf->end_ns. -ETIMEDOUT: the end came first;
 * -EPROTO: an engine broke its contract with the lab; -ENOMEM, or what a tap returned. With a message. */
int lab_run(struct lab *lab, struct weft_err *err);

/* Returns how many packets were never given back: 0, or there is a leak. NULL is fine. */
uint32_t lab_destroy(struct lab *lab);

/* ---- what a run found ---- */

const struct lab_config *lab_conf(const struct lab *lab);

weft_ps lab_now(const struct lab *lab);

/* One per flow of the workload, in its order; the lab's. */
const struct run_flow *lab_flows(const struct lab *lab);
uint32_t lab_flow_count(const struct lab *lab);

/* Flows ended so far, well or not. */
uint32_t lab_flows_ended(const struct lab *lab);

/* Bytes of a flow of the workload that its receiver has placed so far, each byte once. */
uint64_t lab_flow_arrived(const struct lab *lab, uint32_t flow);

/* In what order the packets of all flows arrived. */
const struct reorder_sum *lab_reordering(const struct lab *lab);

/* How evenly the leaves' queues are filled, SPREAD_UP or SPREAD_DOWN; no samples unless the configuration asks. */
struct spread_result lab_queue_spread(const struct lab *lab, uint32_t dir);

/* Sum of the counters of all engines. */
void lab_stats(const struct lab *lab, struct weft_stats *sum);

/* Packets that found their host's receive ring full. */
uint64_t lab_rx_dropped(const struct lab *lab);

/* ---- its parts ---- */

struct weft_net *lab_net(struct lab *lab);
struct weft_engine *lab_engine(struct lab *lab, uint32_t host);

/* The fault port around a host's NIC; only there when conf->faulty. NULL otherwise. */
struct weft_port *lab_fault_port(struct lab *lab, uint32_t host);

/* ---- meanwhile ---- */

/* Calls fn at virtual time `at`, before what the fabric does next. At most 64 calls pending. -ENOSPC. */
int lab_at(struct lab *lab, weft_ns at, void (*fn)(struct lab *lab, void *arg), void *arg);

/* Calls fn now and then during the run, about every tenth of a second. */
void lab_progress(struct lab *lab, void (*fn)(struct lab *lab, void *arg), void *arg);

/* Events that an observer of a run is told of. An observer does not change the run; only an error it returns ends it.
 */
struct lab_taps {
	/* A packet passes `port`, which was chosen by weft_net_tap_port after lab_tap. The packet stays the fabric's.
	 */
	int (*pkt)(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt, weft_ps now,
		   struct weft_err *err);
	/* Everything up to `now` has happened; later than the sample before. *active: something has changed since. Only
	 * with a sample interval. */
	int (*sample)(void *arg, weft_ps now, bool *active, struct weft_err *err);
	/* Samples up to and including `until` are left out: nothing happened since the last, which was not active. */
	void (*skip)(void *arg, weft_ps until);
};

/* Attaches the one observer of a run, instead of an earlier one; NULL: none. `sample_ns` is the interval of samples, 0:
 * none are taken. */
void lab_tap(struct lab *lab, const struct lab_taps *taps, void *arg, weft_ns sample_ns);

#endif
