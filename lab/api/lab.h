/* SPDX-License-Identifier: BSD-3-Clause */
/* The lab: engines on virtual NICs in a virtual fabric, in virtual time, driven from event to event. Same options, same
 * seed: same run, on any machine. */
#ifndef WEFT_LAB_H
#define WEFT_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include "net.h"
#include "options.h"
#include "result.h"
#include "weft/engine.h"

struct lab;

/* Builds fabric, hosts and engines. The options stay the caller's, outlive the lab, and their workload's triggers count
 * during the run (one run per parse). Any error of the parts, with a message. */
int lab_create(struct options *o, struct lab **out, struct weft_err *err);

/* Runs until every flow that can start has ended, well or not, or until the options' end. -ETIMEDOUT: the end came
 * first; -EIO: the capture could not be written; -EPROTO: an engine broke its contract with the lab. With a message. */
int lab_run(struct lab *lab, struct weft_err *err);

/* `flows` stay the lab's. wall_s is left 0. */
int lab_result(const struct lab *lab, struct run_result *r, struct weft_err *err);

/* Returns how many packets were never given back: 0, or there is a leak. NULL is fine. */
uint32_t lab_destroy(struct lab *lab);

/* ---- for scenarios ---- */

/* Calls fn at virtual time `at`, before what the fabric does next. At most 64 calls pending. -ENOSPC. */
int lab_at(struct lab *lab, weft_ns at, void (*fn)(struct lab *lab, void *arg), void *arg);

weft_ps lab_now(const struct lab *lab);
struct weft_net *lab_net(struct lab *lab);
struct weft_engine *lab_engine(struct lab *lab, uint32_t host);

/* The fault port around a host's NIC; only there when some fault parameter is set. NULL otherwise. */
struct weft_port *lab_fault_port(struct lab *lab, uint32_t host);

/* Counts over all engines. */
void lab_stats(const struct lab *lab, struct weft_stats *sum);

/* Flows ended so far, well or not. */
uint32_t lab_flows_ended(const struct lab *lab);

/* Bytes of a flow of the workload that its receiver has placed so far, each byte once. */
uint64_t lab_flow_arrived(const struct lab *lab, uint32_t flow);

uint32_t lab_flow_count(const struct lab *lab);

/* Calls fn now and then during the run, about every tenth of a second. */
void lab_progress(struct lab *lab, void (*fn)(struct lab *lab, void *arg), void *arg);

#endif
