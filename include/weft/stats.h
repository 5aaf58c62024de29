/* SPDX-License-Identifier: BSD-3-Clause */
/* Every drop, retransmission and refusal has a counter. One list makes the struct, the names and the help. */
#ifndef WEFT_STATS_H
#define WEFT_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "weft/decl.h"

WEFT_BEGIN_DECLS

#define WEFT_COUNTERS(X)                                                                                               \
	X(tx_data, "data packets sent for the first time")                                                             \
	X(tx_retx, "data packets sent again: the sum of the next six")                                                 \
	X(tx_retx_trim, "... because a trim NACK asked for it")                                                        \
	X(tx_retx_gap, "... because later packets were acknowledged")                                                  \
	X(tx_retx_rto, "... because the retransmission timer expired")                                                 \
	X(tx_retx_path, "... because it was too large for the path: in smaller packets")                               \
	X(tx_retx_rewind, "... because one before it was lost (go_back_n)")                                            \
	X(tx_retx_nack, "... because a NACK for lack of resources asked for it")                                       \
	X(tx_withdrawn, "requests to withdraw a data packet that is too large for the path")                           \
	X(tx_ack, "ACKs sent")                                                                                         \
	X(tx_nack, "NACKs sent")                                                                                       \
	X(tx_ctrl, "control packets sent")                                                                             \
	X(tx_dgram, "datagrams sent")                                                                                  \
	X(tx_rudi, "packets of idempotent operations sent")                                                            \
	X(tx_rudi_retx, "of these, sent again")                                                                        \
	X(rx_rudi, "packets of peers' idempotent operations carried out or refused")                                   \
	X(rx_dgram, "datagrams received")                                                                              \
	X(rx_dgram_drop, "datagrams dropped: no endpoint, or too many senders or without a receive")                   \
	X(syn_asked, "first packets of connections answered with the Start_PSN to begin with")                         \
	X(rx_unproven, "requests refused until their initiator shows that its address is its own")                     \
	X(tx_full, "bursts the port took only in part")                                                                \
	X(rx_data, "data packets received, each counted once")                                                         \
	X(rx_dup, "data packets received again")                                                                       \
	X(rx_withdrawn, "data packets that were withdrawn before they arrived")                                        \
	X(rx_held, "data packets beyond a gap that were not reported at once (reorder_shim_ns)")                       \
	X(rx_ce, "data packets received with a congestion mark")                                                       \
	X(rx_trimmed, "trimmed data packets received")                                                                 \
	X(rx_ack, "ACKs received")                                                                                     \
	X(rx_ack_ce, "ACKs received that report a congestion mark")                                                    \
	X(rx_nack, "NACKs received")                                                                                   \
	X(rx_ctrl, "control packets received")                                                                         \
	X(tx_credit, "credits granted to senders")                                                                     \
	X(tx_credit_req, "requests for credit sent besides those in data packets")                                     \
	X(tx_credit_req_again, "of these, repeated because no credit came")                                            \
	X(rx_credit, "credits received")                                                                               \
	X(rx_credit_req, "requests for credit received besides those in data packets")                                 \
	X(rx_credit_stale, "ignored: credit or demand out of date, absurd, or of no connection")                       \
	X(rx_credit_unpaced, "ignored: credits that call for more than the link carries")                              \
	X(tx_credit_drop, "credits dropped in the host's own credit queue")                                            \
	X(tx_unscheduled, "data packets sent without a credit that called for them")                                   \
	X(credit_unused, "credits that came when there was nothing to send")                                           \
	X(credit_unlimited, "signs that the fabric does not limit credits: unpaced ones, marked or trimmed data")      \
	X(rx_bad_short, "dropped: shorter than its headers")                                                           \
	X(rx_bad_ip, "dropped: no valid IPv4 or IPv6 header")                                                          \
	X(rx_bad_udp, "dropped: not UDP to our port")                                                                  \
	X(rx_bad_pds, "dropped: PDS header unknown or impossible")                                                     \
	X(rx_bad_ses, "refused: SES header unknown or impossible")                                                     \
	X(rx_bad_crc, "dropped: CRC32C wrong or missing")                                                              \
	X(rx_not_ours, "dropped: addressed to another host")                                                           \
	X(rx_no_pdc, "dropped: unknown PDC, answered with a NACK where the protocol asks for it")                      \
	X(rx_stale, "ignored: ACK or NACK outside the window")                                                         \
	X(rx_window, "refused: PSN outside the receive window")                                                        \
	X(rx_ooo, "refused: not the next packet of a connection that delivers in order")                               \
	X(rx_mode, "refused: ordered packet of a connection whose first was not, or the reverse")                      \
	X(rx_no_ep, "refused: no such endpoint here")                                                                  \
	X(rx_no_gtd, "refused: too many error responses wait to be confirmed")                                         \
	X(rx_no_mem, "refused: no memory for an unexpected message")                                                   \
	X(alloc_fail, "packets or memory that could not be had; tried again later")                                    \
	X(timeouts, "retransmission timer expiries")                                                                   \
	X(late_polls, "timer expiries put off because the engine itself was polled late")                              \
	X(lost_gap, "packets declared lost because later ones were acknowledged")                                      \
	X(spurious, "packets acknowledged after they had been declared lost")                                          \
	X(probes, "probes sent for the base RTT")                                                                      \
	X(ev_probes, "probes of further entropies after timeouts in a row")                                            \
	X(ev_answers, "... that were answered")                                                                        \
	X(pmtu_probes, "padded probes sent for the path MTU")                                                          \
	X(pmtu_answers, "of these, answered")                                                                          \
	X(pmtu_lost, "of these, not answered in time")                                                                 \
	X(pmtu_holes, "black holes found: paths on which only large packets were lost")                                \
	X(msg_sent, "messages sent and acknowledged")                                                                  \
	X(msg_received, "messages received and delivered")                                                             \
	X(msg_unexpected, "messages that arrived before their receive")                                                \
	X(msg_truncated, "messages larger than their receive buffer")                                                  \
	X(msg_repeated, "messages sent once more because the target was not ready for them")                           \
	X(msg_failed, "operations ended with an error")                                                                \
	X(rma_written, "writes of peers to our memory that have ended")                                                \
	X(rma_read, "reads of peers from our memory that were begun")                                                  \
	X(rma_atomics, "atomic requests of peers carried out")                                                         \
	X(rma_refused, "refused: packets for memory without a valid key, permission or bounds")                        \
	X(rma_broken, "regions refused from then on: their memory, a device's, could not be copied")                   \
	X(rma_stale, "ignored: answers nobody waits for, or that do not fit the request")                              \
	X(rndv_fetched, "announced messages fetched from their senders")                                               \
	X(cq_overflow, "completions that waited because the completion ring was full")                                 \
	X(pdc_opened, "connections opened by us")                                                                      \
	X(pdc_accepted, "connections opened by peers")                                                                 \
	X(pdc_closed, "connections closed in order")                                                                   \
	X(pdc_failed, "connections given up: peer silent or reset")

struct weft_stats {
#define WEFT_COUNTER_FIELD(name, help) uint64_t name;
	WEFT_COUNTERS(WEFT_COUNTER_FIELD)
#undef WEFT_COUNTER_FIELD
};

/* What a counter is called and counts. */
struct weft_counter_desc {
	const char *name;
	const char *help;
	size_t offset; /* of the counter in struct weft_stats, bytes */
};

enum { WEFT_COUNTER_COUNT = sizeof(struct weft_stats) / sizeof(uint64_t) };

/* In struct order; WEFT_COUNTER_COUNT entries. */
extern const struct weft_counter_desc weft_counter_descs[];

/* The counter that weft_counter_descs[i] describes; `i` is below WEFT_COUNTER_COUNT. */
uint64_t weft_stats_value(const struct weft_stats *stats, int i);

/* Adds the counters of `more` to those of `sum`. */
void weft_stats_add(struct weft_stats *sum, const struct weft_stats *more);

WEFT_END_DECLS

#endif
