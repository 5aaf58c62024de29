/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows, by what they are about. */
#ifndef WEFT_CONFORM_ROWS_H
#define WEFT_CONFORM_ROWS_H

#include "conform.h"

/* A connection of its own for one judgement: `result`, or what closing it found when that was in order. */
enum conform_result conform_done(struct conform_peer *p, struct conform_pdc *pdc, enum conform_result result);

/* Asks, and judges an answer of return code `rc` to the newest packet. Refusals are cleared. */
enum conform_result conform_asked(struct conform_peer *p, struct conform_pdc *pdc, struct uet_pkt *pkt, uint32_t rc);

/* what all answers have in common */
enum conform_result row_encapsulation(struct conform_peer *p);
enum conform_result row_entropy(struct conform_peer *p);
enum conform_result row_reserved(struct conform_peer *p);
enum conform_result row_job(struct conform_peer *p);
enum conform_result row_length(struct conform_peer *p);

/* connections and packets */
enum conform_result row_syn(struct conform_peer *p);
enum conform_result row_syn_join(struct conform_peer *p);
enum conform_result row_syn_late(struct conform_peer *p);
enum conform_result row_duplicate(struct conform_peer *p);
enum conform_result row_ecn(struct conform_peer *p);
enum conform_result row_rod(struct conform_peer *p);
enum conform_result row_rod_gap(struct conform_peer *p);
enum conform_result row_window(struct conform_peer *p);
enum conform_result row_unknown_pdc(struct conform_peer *p);
enum conform_result row_other_syn(struct conform_peer *p);
enum conform_result row_other_mode(struct conform_peer *p);
enum conform_result row_close(struct conform_peer *p);
enum conform_result row_probe(struct conform_peer *p);
enum conform_result row_ack_req(struct conform_peer *p);
enum conform_result row_noop(struct conform_peer *p);
enum conform_result row_negotiation(struct conform_peer *p);
enum conform_result row_clear(struct conform_peer *p);
enum conform_result row_short_packets(struct conform_peer *p);
enum conform_result row_rudi(struct conform_peer *p);

/* messages */
enum conform_result row_no_op(struct conform_peer *p);
enum conform_result row_send(struct conform_peer *p);
enum conform_result row_send_empty(struct conform_peer *p);
enum conform_result row_send_parts(struct conform_peer *p);
enum conform_result row_send_data(struct conform_peer *p);
enum conform_result row_tagged(struct conform_peer *p);
enum conform_result row_deferrable(struct conform_peer *p);
enum conform_result row_deferrable_tagged(struct conform_peer *p);
enum conform_result row_id_gaps(struct conform_peer *p);
enum conform_result row_id_order(struct conform_peer *p);
enum conform_result row_id_zero(struct conform_peer *p);
enum conform_result row_bad_job(struct conform_peer *p);
enum conform_result row_bad_pid(struct conform_peer *p);
enum conform_result row_bad_index(struct conform_peer *p);
enum conform_result row_index_high(struct conform_peer *p);
enum conform_result row_reserved_op(struct conform_peer *p);
enum conform_result row_version(struct conform_peer *p);
enum conform_result row_initiator_error(struct conform_peer *p);
enum conform_result row_msg_error(struct conform_peer *p);
enum conform_result row_rendezvous(struct conform_peer *p);

/* memory */
enum conform_result row_bad_key_write(struct conform_peer *p);
enum conform_result row_bad_key_read(struct conform_peer *p);
enum conform_result row_write(struct conform_peer *p);
enum conform_result row_write_parts(struct conform_peer *p);
enum conform_result row_write_data(struct conform_peer *p);
enum conform_result row_read_ack(struct conform_peer *p);
enum conform_result row_read(struct conform_peer *p);
enum conform_result row_read_parts(struct conform_peer *p);
enum conform_result row_read_empty(struct conform_peer *p);
enum conform_result row_atomic(struct conform_peer *p);
enum conform_result row_fetch(struct conform_peer *p);
enum conform_result row_cswap(struct conform_peer *p);
enum conform_result row_small_read(struct conform_peer *p);

#endif
