/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fabric is built from: its configuration, and the one table of what users may set in it. */
#ifndef WEFT_NET_CONF_H
#define WEFT_NET_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "route.h"
#include "weft/err.h"
#include "weft/spi/param.h"
#include "weft/spi/pkt.h"

/* What a full data queue does. COIN: to the arriving packet or the queue's tail, 1:1. OFF drops. */
enum weft_trim_mode { WEFT_TRIM_OFF, WEFT_TRIM_ARRIVING, WEFT_TRIM_COIN, WEFT_TRIM_OFF_COIN };

static inline bool weft_trim_mode_trims(uint32_t mode)
{
	return mode == WEFT_TRIM_ARRIVING || mode == WEFT_TRIM_COIN;
}

/* What users may set. All zeros: nothing is marked, trimmed or paused, queues have their default sizes. */
struct weft_net_tune {
	uint32_t queue_bytes; /* data queue per port; 0: one BDP with trimming, five without; with credit queues at
				 least so many packets as credits can wait on a path */
	uint32_t ecn_min_pct, ecn_max_pct; /* RED thresholds in % of one BDP, up to 1000; 0,0: no marking */
	uint32_t ecn_prob_pct;   /* share that is marked just below the upper one, %; 0 stands for 100. Beyond: all */
	uint32_t trim;           /* enum weft_trim_mode */
	uint32_t pfc_xoff_pct;   /* PFC: data of one incoming link that waits in a switch and pauses it, % of one BDP;
				    1.. */
	uint32_t pfc_xon_pct;    /* PFC: ... and that it falls to before it goes on, % of that; 0..100 */
	uint32_t ordered_pct;    /* data of ordered traffic (by DSCP) waits in a queue of its own, which gets this share
				    of the port's bytes while both wait, %; 100: it goes first; 0: one queue. Not with
				    PFC */
	uint32_t credit_queue;   /* credits (WEFT_PKT_CREDIT) that may wait at a port, hosts' NICs included; more are
				    dropped. 0: no such queues, credits are control; ..65535. Not with PFC */
	uint32_t credit_refresh; /* N_cdt: credits after which a port takes its marking probability anew; 0: 4;
				    ..65535 */
	uint32_t credit_data_bytes; /* wire bytes of the data that a credit stands for; 0: mtu_bytes */
	uint32_t credit_ack_bytes;  /* ... and of its acknowledgements; 0: one of 110 bytes */
	uint8_t pfc;                /* 0 or 1. Lossless: switches pause what is before them instead of dropping data */
};

/* Every knob of a fabric: key, default, range and meaning. Describes struct weft_net_tune; drives --set, --help-params
 * and the documentation. */
extern const struct weft_param weft_net_tunes[];

struct weft_net_conf {
	uint64_t seed;      /* of salts, RED, coins and switches' draws */
	uint32_t mtu_bytes; /* wire bytes of a full data packet: sizes BDP and idle RTT */
	weft_ns brtt_ns;    /* base RTT for the BDP of queues and marks; 0: the idle path's */
	struct weft_net_tune tune;
	const struct weft_route_ops *route;                /* how switches choose among equal ports; NULL: by ECMP */
	const void *route_tune;                            /* its parameters, copied; NULL: defaults */
	void (*free_pkt)(void *arg, struct weft_pkt *pkt); /* takes dropped packets */
	void *free_arg;
};

/* What weft_net_create refuses: knobs that contradict each other. -EINVAL. */
int weft_net_conf_check(const struct weft_net_conf *conf, struct weft_err *err);

#endif
