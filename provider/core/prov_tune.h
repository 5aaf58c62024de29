/* SPDX-License-Identifier: BSD-3-Clause */
/* How devices and engines are configured by the environment: FI_WEFT_CC, _LB, _TUNE, _MTU and so on. */
#ifndef PROV_TUNE_H
#define PROV_TUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/engine.h"
#include "weft/err.h"
#include "weft/fault.h"

struct prov_tune {
	struct weft_engine_conf engine;
	uint8_t secret[WEFT_SECRET_BYTES];  /* engine.secret, without FI_WEFT_SEED */
	void *cc_tune, *lb_tune, *rcc_tune; /* parameters of the algorithms; ours, `engine` points to them */
	uint32_t max_ip_bytes;              /* 0: the port's default */
	uint32_t pool_pkts;                 /* 0: the port's default */
	bool payload_chosen;                /* FI_WEFT_TUNE says payload_bytes */
	bool link_chosen;                   /* or link_bps */
	bool probe_chosen;                  /* or probe_rate */
	bool faulty;                        /* or one of the faults below */
	struct weft_fault_conf fault;       /* breaks what we send, for tests */
	bool no_arp, rx_interrupt;
	bool telemetry;         /* EAL is started with it, unless eal_args say how */
	char *key_file;         /* ours; NULL: nothing is encrypted */
	char *eal_args;         /* ours; NULL: the defaults */
	weft_ns wait_ns;        /* how long an open waits for the other end's socket */
	weft_ns linger_ns;      /* how long a close waits for the last packets */
	uint32_t record_events; /* the flight recorder keeps so many; 0: there is none */
	uint32_t copy_bytes; /* longest message that is copied so that its send completes at once; 0: injected ones */
};

/* -EINVAL, -ENOMEM. Free with prov_tune_free also after an error. */
int prov_tune_load(struct prov_tune *tune, struct weft_err *err);
void prov_tune_free(struct prov_tune *tune);

/* Values of FI_WEFT_PROFILE by enum weft_profile; ends with NULL. */
extern const char *const prov_profiles[];

#endif
