/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters of SMaRTT as published ("smartt") and of our variants of it ("smartt2", "smartt3"), which differ in
 * their defaults alone. doc/reference/algorithms.md says where each comes from. */
#include "cc_ops.h"

#define TUNE(name, help, def, min, max)                                                                                \
	{                                                                                                              \
#name, help, def, min, max, offsetof(struct smartt_tune, name), WEFT_PARAM_U32                         \
	}
#define SWITCH(name, help, def)                                                                                        \
	{                                                                                                              \
#name, help, def, 0, 1, offsetof(struct smartt_tune, name), WEFT_PARAM_BOOL                            \
	}

#define TUNES(target, largest, start, fi, pi, qa, ewma, ignore, burst, gate, first, ours, shared)                      \
	{                                                                                                              \
		TUNE(target_pct, "target RTT, percent of the base RTT", target, 101, 400),                             \
			TUNE(max_cwnd_pct, "largest and initial window, percent of the BDP", largest, 1, 10000),       \
			TUNE(start_pct, "initial window, percent of the BDP; 0: the largest", start, 0, 10000),        \
			TUNE(fi_pct, "fair increase, percent of a packet per RTT at a BDP of 150,000 bytes", fi, 0,    \
			     10000),                                                                                   \
			TUNE(pi_pct, "proportional increase, percent of brtt / (trtt - brtt)", pi, 0, 10000),          \
			TUNE(fast_k, "fast increase, window growth per acknowledged byte", 2, 0, 64),                  \
			TUNE(fast_rtt_shift, "fast increase, RTTs up to brtt + brtt / 2^n count as idle", 3, 0, 31),   \
			TUNE(qa_scaling_pct,                                                                           \
			     "QuickAdapt, new window in percent of the bytes acknowledged in a target RTT", qa, 1,     \
			     1000),                                                                                    \
			TUNE(qa_rtt_pct, "QuickAdapt without trimming, RTT needed in percent of the base RTT", 175,    \
			     100, 10000),                                                                              \
			TUNE(qa_acked_pct,                                                                             \
			     "QuickAdapt without trimming, when less than this percent of the window was "             \
			     "acknowledged",                                                                           \
			     50, 0, 100),                                                                              \
			TUNE(qa_gate_pct,                                                                              \
			     "QuickAdapt, only when less than this percent of the largest window was acknowledged; "   \
			     "0: always",                                                                              \
			     gate, 0, 100),                                                                            \
			TUNE(first_qa_pct,                                                                             \
			     "QuickAdapt, the first of a connection, unless between a third of qa_gate_pct and "       \
			     "all of it got through: new window in percent of the bytes acknowledged in a target "     \
			     "RTT; 0: like any other",                                                                 \
			     first, 0, 1000),                                                                          \
			TUNE(md_gain_pct, "multiplicative decrease, percent of the excess delay", 80, 0, 100),         \
			TUNE(md_max_cut_pct, "multiplicative decrease, largest cut in percent of the window", 50, 0,   \
			     100),                                                                                     \
			TUNE(ewma_shift, "average RTT, a sample weighs 1/2^n", ewma, 1, 16),                           \
			SWITCH(quick_adapt, "QuickAdapt", 1),                                                          \
			TUNE(ignore_phase,                                                                             \
			     "ACKs ignored for data in flight when QuickAdapt acted; 0: none, 1: all, 2: marked ones", \
			     ignore, SMARTT_IGNORE_NONE, SMARTT_IGNORE_MARKED),                                        \
			SWITCH(fast_increase, "fast increase", 1),                                                     \
			SWITCH(fair_increase,                                                                          \
			       "scale the fair increase with the connection's BDP; off: the same for all connections", \
			       1),                                                                                     \
			TUNE(signals, "0: ECN and delay, 1: delay alone, 2: ECN alone", SMARTT_BOTH, SMARTT_BOTH,      \
			     SMARTT_ECN),                                                                              \
			SWITCH(ecn_decrease, "a marked ACK below the target RTT costs half a packet", 0),              \
			TUNE(sample_acks, "adjust the window at every n-th ACK", 1, 1, 256),                           \
			SWITCH(sample_rtt, "adjust the window once per average RTT", 0),                               \
			SWITCH(pace_below, "windows below a packet, paced", 0),                                        \
			SWITCH(burst_target, "add the time of a coalesced ACK's packets but one to the target RTT",    \
			       burst),                                                                                 \
			SWITCH(longest_target,                                                                         \
			       "the target RTT adds a percentage of the longest path's base RTT, not of the "          \
			       "connection's",                                                                         \
			       0),                                                                                     \
			SWITCH(common_rtt, "react to queues as a connection of the longest path would", ours),         \
			SWITCH(from_flight, "a loss lowers the window to what was in flight first", ours),             \
			TUNE(share_pct,                                                                                \
			     "windows of many that share the receiver's full link, together, percent of the BDP; 0: "  \
			     "any",                                                                                    \
			     shared, 0, 1000),                                                                         \
			SWITCH(share_start,                                                                            \
			       "divide the initial window by the host's connections that have something to send",      \
			       ours),                                                                                  \
			{NULL},                                                                                        \
	}

const struct weft_param smartt_tunes[] = TUNES(150, 150, 0, 100, 100, 100, 6, SMARTT_IGNORE_ALL, 0, 0, 0, 0, 0);
const struct weft_param smartt2_tunes[] = TUNES(150, 150, 115, 250, 300, 125, 6, SMARTT_IGNORE_NONE, 1, 0, 0, 0, 0);
const struct weft_param smartt3_tunes[] =
	TUNES(175, 160, 140, 350, 1000, 125, 6, SMARTT_IGNORE_MARKED, 1, 20, 75, 1, 220);
