/* SPDX-License-Identifier: BSD-3-Clause */
/* The congestion control algorithms of this folder and the parameters a user may set. Selected by name through
 * weft_cc_find. */
#ifndef CC_OPS_H
#define CC_OPS_H

#include "weft/spi/cc.h"
#include "weft/spi/rcc.h"

/* What SMaRTT reacts to. */
enum smartt_signals { SMARTT_BOTH, SMARTT_DELAY, SMARTT_ECN };

/* What it ignores of the packets that were in flight when QuickAdapt acted. */
enum smartt_ignore { SMARTT_IGNORE_NONE, SMARTT_IGNORE_ALL, SMARTT_IGNORE_MARKED };

/* Parameters of "smartt", "smartt2" and "smartt3". BDP: link rate times base RTT. All percentages are integers, 100
 * being one. */
struct smartt_tune {
	uint32_t target_pct;     /* target RTT (trtt), of the base RTT */
	uint32_t max_cwnd_pct;   /* largest and initial window, of the BDP */
	uint32_t start_pct;      /* initial window, of the BDP; 0: the largest */
	uint32_t fi_pct;         /* fair increase constant fi for a BDP of 150,000 bytes */
	uint32_t pi_pct;         /* proportional increase constant, of the derived brtt / (trtt - brtt) */
	uint32_t fast_k;         /* fast increase: window growth per acknowledged byte */
	uint32_t fast_rtt_shift; /* fast increase: an RTT up to brtt + brtt / 2^n counts as the base RTT */
	uint32_t qa_scaling_pct; /* QuickAdapt: new window, of the bytes acknowledged in one trtt */
	uint32_t qa_rtt_pct;     /* QuickAdapt without trimming: the RTT must exceed this, of the base RTT ... */
	uint32_t qa_acked_pct;   /* ... and less than this, of the window, have been acknowledged in one trtt */
	uint32_t md_gain_pct;    /* multiplicative decrease: weight of the excess delay */
	uint32_t md_max_cut_pct; /* multiplicative decrease: largest cut, of the window */
	uint32_t ewma_shift;     /* average RTT: a sample weighs 1/2^n */
	uint32_t qa_gate_pct;    /* QuickAdapt: only when less than this, of the largest window, was acknowledged; 0:
				    always */
	uint32_t first_qa_pct;   /* ours: the first QuickAdapt, whatever qa_gate_pct says: new window, of the bytes
				    acknowledged in one trtt; 0: like any other */
	/* Variants the paper compares with; the defaults are the published algorithm. */
	uint32_t signals;       /* 0: ECN and delay, 1: delay alone, 2: ECN alone (sec. III-B, figure 5) */
	uint32_t ignore_phase;  /* of what was in flight when QuickAdapt acted, ignore 0: nothing, 1: all (figure 9), 2:
				   marked */
	uint32_t sample_acks;   /* adjust the window at every n-th ACK (sec. III-G) */
	uint8_t sample_rtt;     /* adjust it once per average RTT (sec. III-G) */
	uint8_t quick_adapt;    /* QuickAdapt at all (figure 8) */
	uint8_t fast_increase;  /* fast increase at all (figures 10 and 13) */
	uint8_t fair_increase;  /* scale fi with the connection's BDP; 0: additive, the same for all (figure 6) */
	uint8_t ecn_decrease;   /* a marked ACK below the target costs half a packet (figure 11) */
	uint8_t pace_below;     /* windows below a packet, paced (sec. III-J) */
	uint8_t longest_target; /* ours: the target RTT leaves a queue for the longest path's BDP, not the connection's
				 */
	uint8_t burst_target;   /* ours: the target RTT grows with what an ACK reports */
	uint8_t common_rtt;     /* ours: every connection reacts to queues as one of the longest path would */
	uint8_t from_flight;    /* ours: a loss takes the window that was not in use, too */
	uint32_t share_pct;  /* ours: window by what the receiver says of its link when many share it, together, of the
				longest path's BDP; 0: what it says is ignored */
	uint8_t share_start; /* ours: the initial window is divided by the host's busy connections */
};

/* Parameters of "mprdma". */
struct mprdma_tune {
	uint32_t max_cwnd_pct; /* largest and initial window, of the BDP */
	uint32_t mark_cut_pct; /* what a marked ACK costs, of a packet */
	uint8_t loss_halves;   /* a loss halves the window once per base RTT; 0: costs its size (REPS sec. 4.1) */
};

/* Parameters of "swift". */
struct swift_tune {
	uint32_t target_pct;        /* base target delay, of the base RTT */
	uint32_t fs_range_pct;      /* flow scaling: largest addition to the target, of the base RTT ... */
	uint32_t fs_min_pct;        /* ... at and below this window, of a packet */
	uint32_t fs_max_pct;        /* no addition from this window on, of a packet; above fs_min_pct */
	uint32_t ai_pct;            /* additive increase per RTT, of a packet */
	uint32_t beta_pct;          /* multiplicative decrease: weight of the excess delay */
	uint32_t max_mdf_pct;       /* multiplicative decrease: largest cut, of the window */
	uint32_t max_cwnd_pct;      /* largest and initial window, of the BDP */
	uint32_t min_cwnd_permille; /* smallest window, thousandths of a packet */
	uint32_t retx_reset;        /* timeouts in a row that bring the smallest window */
};

/* Parameters of "dcqcn". */
struct dcqcn_tune {
	uint32_t cnp_ns;          /* at most one notification in this time */
	uint32_t alpha_ns;        /* "K": alpha decays once in this time without notifications */
	uint32_t timer_ns;        /* "T": a round of the increase timer */
	uint32_t byte_counter;    /* "B": a round of the byte counter, bytes; 0: 2 ms of the link */
	uint32_t rounds;          /* "F": rounds of fast recovery */
	uint32_t ai_ppm, hai_ppm; /* "R_AI", "R_HAI", millionths of the link rate */
	uint32_t g_shift;         /* "g" = 1/2^n */
	uint32_t min_ppm;         /* smallest rate, millionths of the link rate */
	uint32_t cwnd_pct;        /* constant window, of the BDP */
};

/* What an algorithm that schedules takes for the share of lost credits. */
enum schedule_feedback { SCHEDULE_ECN, SCHEDULE_SEQUENCE };

/* Parameters of "spraypass" and "expresspass"; names in quotes are the papers'. */
struct schedule_tune {
	uint32_t w_init_permille; /* "w_init": first aggressiveness, and first rate as a share of the highest */
	uint32_t w_max_permille;  /* "w_max" */
	uint32_t w_min_permille;  /* "w_min" */
	uint32_t aim_permille;    /* "aim_ratio": share of marked packets or lost credits that is tolerated ... */
	uint32_t feedback;        /* enum schedule_feedback */
	uint32_t paths;           /* path numbers in use; 0 stands for 1 */
	uint32_t board_bits;      /* "N_b": data between two looks at the speed board ... */
	uint32_t board_pkts;      /* ... and no less than so many packets per valid path */
	uint32_t theta_permille;  /* "theta": paths slower than this share of the fastest are excluded */
	uint32_t reprobe_us;      /* an excluded path is tried after this; doubles while that fails */
	uint32_t linger_pct;      /* a sender without data keeps credits this long, of the base RTT */
	uint32_t jitter_pct;      /* time between credits varies by up to this, either way */
	uint32_t nic_credits;     /* credits that may wait in the host */
	uint32_t first_pct;       /* what an idle sender may send unscheduled, of the BDP, with `unscheduled` */
	uint8_t uniform;          /* path numbers are drawn without replacement, round by round */
	uint8_t probing;          /* slow paths are excluded */
	uint8_t aim_scaled;       /* ... at a rate of 0, falling to none at the highest rate */
	uint8_t sent_base;        /* losses are taken off the rate at which the lost were sent, a period ago */
	uint8_t unscheduled;      /* idle senders send at once, at low priority (sec. V-A) */
	uint8_t strict;           /* refuse fabrics without credit queues */
};

/* Parameters of "newreno". */
struct newreno_tune {
	uint32_t initial_pkts; /* initial window, packets */
	uint32_t max_cwnd_pct; /* largest window, of the BDP */
	uint8_t restart;       /* a connection that was idle for a base RTT begins as a new one */
};

/* Parameters of "fixed". */
struct fixed_tune {
	uint32_t cwnd_pct; /* constant window, of the BDP */
};

/* Parameters of "eqds". */
struct eqds_tune {
	uint32_t pull_first_pct;     /* what an idle sender may send without credit, of the BDP */
	uint32_t pull_max_pct;       /* most a sender asks for ahead and keeps unused, of the BDP */
	uint32_t pull_rate_permille; /* rate of all credit together, of the link's */
	uint32_t pull_pkts;          /* full packets per credit */
};

extern const struct weft_rcc_ops weft_rcc_eqds;
extern const struct weft_rcc_ops weft_rcc_spraypass;
extern const struct weft_rcc_ops weft_rcc_expresspass;

extern const struct weft_param smartt_tunes[];
extern const struct weft_param smartt2_tunes[];
extern const struct weft_param smartt3_tunes[];

extern const struct weft_cc_ops weft_cc_smartt;
extern const struct weft_cc_ops weft_cc_smartt2;
extern const struct weft_cc_ops weft_cc_smartt3;
extern const struct weft_cc_ops weft_cc_mprdma;
extern const struct weft_cc_ops weft_cc_swift;
extern const struct weft_cc_ops weft_cc_dcqcn;
extern const struct weft_cc_ops weft_cc_newreno;
extern const struct weft_cc_ops weft_cc_fixed;

#endif
