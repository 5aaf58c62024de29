/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of a run by time, in the order in which they happen (doc/guide/faults.md). */
#ifndef WEFT_TIMELINE_H
#define WEFT_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "net.h"
#include "topo.h"
#include "weft/err.h"
#include "weft/time.h"

enum timeline_action {
	TIMELINE_FAIL,
	TIMELINE_DEGRADE,     /* to another rate, without routing's knowledge */
	TIMELINE_RENEGOTIATE, /* to another rate, which routing learns of */
	TIMELINE_BER,
	TIMELINE_RESTORE,
	TIMELINE_ACTIONS
};

enum timeline_kind {
	TIMELINE_CABLE, /* both directions */
	TIMELINE_UPLINK,
	TIMELINE_DOWNLINK,
	TIMELINE_HOST, /* its cable, both directions */
	TIMELINE_SWITCH,
	TIMELINE_RANDOM, /* cables of a tier, both directions */
	TIMELINE_KINDS
};

struct timeline_target {
	enum timeline_kind kind;
	uint32_t tier, sw, up; /* of a cable; `up` is the number of the switch's uplink */
	uint32_t host;
	uint32_t share_ppm;   /* of the tier's cables, parts per million, 1..10^6 */
	uint32_t draw;        /* another number chooses other cables */
	uint32_t *cables;     /* chosen by timeline_resolve: switch * uplinks + uplink; owned */
	uint32_t cable_count; /* 0 before timeline_resolve */
	uint32_t uplinks;     /* most uplinks of any switch of the tier */
};

struct timeline_fault {
	const char *spec; /* as the user calls it, for messages; the timeline's own copy */
	weft_ns at_ns;
	weft_ns until_ns; /* when it ends, or WEFT_NEVER */
	enum timeline_action action;
	struct timeline_target target;
	uint64_t bps;      /* TIMELINE_DEGRADE, _RENEGOTIATE: the new rate, bits per second; 0: see rate_ppm */
	uint32_t rate_ppm; /* the new rate as a share of the link's own, parts per million */
	uint64_t ber_e18;  /* TIMELINE_BER: bit error rate in 10^-18 */
};

/* One change of the fabric. */
struct timeline_step {
	weft_ns at_ns;
	uint32_t fault; /* index */
	bool end;       /* the fault ends: its effect is undone */
	bool learn;     /* routing learns of the change; otherwise the change itself */
};

struct timeline {
	struct timeline_fault *faults;
	uint32_t fault_count;
	struct timeline_step *steps; /* sorted by time; made by timeline_resolve */
	uint32_t step_count;
};

/* Adds a copy of a fault, its spec included. -ENOMEM. */
int timeline_add(struct timeline *t, const struct timeline_fault *f, struct weft_err *err);

/* Checks every fault against the topology, draws random cables by the seed and puts all in order. `reconverge_ns`: how
 * long after a fault routing knows what failed or has another rate, WEFT_NEVER: it never does. -EINVAL names the spec
 * and what exists, -ENOMEM. */
int timeline_resolve(struct timeline *t, const struct weft_topo *topo, uint64_t seed, weft_ns reconverge_ns,
		     struct weft_err *err);

/* When step `next` is due, or WEFT_NEVER. */
weft_ns timeline_next_ns(const struct timeline *t, uint32_t next);

/* Applies all steps from *next on that are due at `now` to a fabric of the topology; *next becomes the first that is
 * not. -ENOMEM: routing could not learn. */
int timeline_apply(const struct timeline *t, uint32_t *next, weft_ns now, struct weft_net *net, struct weft_err *err);

void timeline_free(struct timeline *t);

/* Formats "'SPEC': reason" and returns `code`. */
int timeline_refuse(const struct timeline_fault *f, int code, struct weft_err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
