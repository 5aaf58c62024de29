/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's numbers that a user may set, with `weft sim --set key=value` or FI_WEFT_TUNE. */
#ifndef WEFT_TUNE_H
#define WEFT_TUNE_H

#include <stdint.h>

#include "weft/decl.h"
#include "weft/spi/param.h"

WEFT_BEGIN_DECLS

/* weft_engine_tune.profile: what peers are taken for. With a profile of UET they get what the standard says and nothing
 * more until they have said that they are Wefts; WEFT adds what no other endpoint understands. */
enum weft_profile { WEFT_PROFILE_WEFT, WEFT_PROFILE_AI_BASE, WEFT_PROFILE_AI_FULL, WEFT_PROFILE_HPC };

/* weft_engine_tune.validate: when the initiator of a connection to us has to show that its address is its own before
 * anything of it is taken, which costs its first messages a round trip. */
enum weft_validate {
	WEFT_VALIDATE_NEVER,
	WEFT_VALIDATE_MANY,   /* while `half_open` connections or more have shown nothing; requests whose answers are
			       * longer than they are wait for it always */
	WEFT_VALIDATE_ALWAYS, /* and so no message comes from a forged address or from a packet recorded long ago */
};

/* Ranges and defaults are in weft_engine_tunes; weft_param_defaults(weft_engine_tunes, &tune) sets the defaults. */
struct weft_engine_tune {
	uint64_t link_bps;         /* rate of the host's link, bits per second; 0: the port's */
	uint64_t brtt_window_ns;   /* base RTTs are the smallest sample of a time of this length or the one before */
	uint64_t brtt_ns;          /* base RTT of a full packet on the longest idle path; 0: measured by probes */
	uint64_t brtt_floor_ns;    /* measured base RTTs never go below this (software peers answer late) */
	uint64_t rto_ns;           /* retransmission timeout; 0: 7 base RTTs (SMaRTT sec. III-D) */
	uint64_t rto_max_ns;       /* ceiling of the exponential back-off */
	uint64_t rtt_memory_ns;    /* the largest RTT of at least so long counts for timeouts: hosts that are late for
				    * want of a processor will be late again; 0: of two timeouts */
	uint64_t reorder_ns;       /* a packet is lost when one sent this much later was acknowledged; 0: 3 base RTTs */
	uint64_t ack_delay_ns;     /* a coalesced ACK waits at most this long; 0: half a base RTT */
	uint64_t peer_timeout_ns;  /* silence after which a peer's operations fail */
	uint64_t idle_close_ns;    /* idle connections are closed after this; 0: never */
	uint64_t unexpected_bytes; /* memory for messages without a receive; beyond it packets are refused, and their
				    * sender tries again */
	uint64_t pmtu_raise_ns;    /* sizes that a path did not carry are tried again after this; with pmtu_discovery */
	uint64_t rndv_bytes;       /* longer messages are announced, and fetched by their receiver; 0: none is */
	uint32_t probe_rate;       /* what is known of link_bps, 0..2: true, an upper bound, nothing */
	uint32_t brtt_floor_pkts;  /* ... nor below the link's time for so many full packets; 0: see probe_rate */
	uint32_t payload_bytes;    /* payload per full packet (UET Payload MTU) */
	uint32_t ack_every;        /* data packets per ACK, 1..64 */
	uint32_t acks_per_window;  /* fewest ACKs per window that a sender asks for, 0..256, so that targets coalesce
				    * fewer packets where windows are small; 0: no request, the target's ack_every */
	uint32_t dup_ack_threshold; /* a packet is lost when this many packets sent later were acknowledged, as with
				     * TCP; 0: `reorder_ns` decides. Not with go_back_n */
	uint32_t reorder_shim_pkts; /* most packets beyond a gap whose ACKs a target withholds; with reorder_shim_ns */
	uint64_t reorder_shim_ns;   /* ... and how long; 0: no shim, every packet is reported at once */
	uint32_t profile;     /* enum weft_profile. But for WEFT: payload_bytes is one of 1024, 2048, 4096 and 8192,
			       * pmtu_discovery has no effect, and rndv_bytes none before a peer has said that it is a
			       * Weft */
	uint32_t encap;       /* how what we begin is wrapped, 0..2: UDP port 4793, UDP port 49150, IP protocol 253 with
			       * a CRC32C; a peer that began something itself gets its own, and answers have that of
			       * their request */
	uint32_t validate;    /* enum weft_validate */
	uint32_t half_open;   /* see validate, 1..32767 */
	uint32_t window_pkts; /* PSN window offered and used, multiple of 128, 128..32640 */
	uint32_t evs_size;    /* entropy values, 1..65536 */
	uint32_t job_id; /* of all requests sent, 24 bits; those with another one are refused (BAD_JOB_ID). 0: none is
			  * sent, and any is taken */
	uint32_t timeout_probes; /* entropies probed at once when a connection times out again, and until data is
				    acknowledged, 0..64 */
	uint8_t trimming;        /* 1: the fabric trims, so timeouts mean failed paths (REPS appendix A) */
	uint8_t crc;             /* 1: a CRC32C trailer is sent and required; 0: sent to peers that send one */
	uint8_t go_back_n;       /* 1: our connections deliver in order; a loss repeats all that was sent after it */
	uint8_t lb_all_acked;    /* 1: the load balancer hears of all packets of a coalesced ACK (REPS sec. 4.5.2) */
	uint8_t pacing;          /* 1: packets go to the port at link rate, so that no queue builds in the NIC */
	uint8_t pmtu_discovery;  /* 1: packets have payload_bytes only after probes of that size were answered */
	uint8_t ack_burst;       /* 1: packets of a connection that arrive in one burst share an ACK */
	uint8_t short_acks;      /* 1: ACKs of one packet leave out what Wefts have no need to be told. Others need the
				  * response: for fabrics without them */
};

/* Keys, help, defaults and ranges of struct weft_engine_tune; ends with a NULL key. */
extern const struct weft_param weft_engine_tunes[];

/* Sets what goes with weft_cc_auto(): eight ACKs in a window however many packets targets coalesce (acks_per_window), a
 * load balancer that hears of all their packets (lb_all_acked), and probes after two timeouts in a row
 * (timeout_probes). For after weft_param_defaults; what else is set stays. */
void weft_engine_tune_auto(struct weft_engine_tune *tune);

WEFT_END_DECLS

#endif
