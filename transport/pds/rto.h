/* SPDX-License-Identifier: BSD-3-Clause */
/* Round trip times and the retransmission timeout they lead to. */
#ifndef WEFT_RTO_H
#define WEFT_RTO_H

#include "pds.h"

void rto_sample(const struct pds_conf *conf, struct pdc_tx *p, weft_ns rtt_ns, weft_ns now);
/* Largest sample of this and the previous period; 0: none. */
weft_ns rto_max_rtt(const struct pdc_tx *p);
/* How long this transmission may go unacknowledged. */
weft_ns rto_of(const struct pds_conf *conf, const struct pdc_tx *p, const struct sent *s);
/* When the oldest transmission has been in flight for so long; WEFT_NEVER: nothing is. */
weft_ns rto_deadline(const struct pds *pds, const struct pdc_tx *p);
/* A transmission before the last one arrived after all: the RTT is longer than the timeout was. */
void rto_raise(const struct pds_conf *conf, struct pdc_tx *p, const struct sent *s, weft_ns now);
/* The smallest sample of a full packet so far. */
void rto_lower_brtt(const struct pds_conf *conf, struct pdc_tx *p, weft_ns rtt_ns);
/* From now on the smallest sample is looked for anew. */
void rto_brtt_window_start(struct pdc_tx *p, weft_ns now);
/* Full packets had `before_bytes` of payload until now: the base RTT is that of one, and measured anew. */
void rto_resized(const struct pds_conf *conf, struct pdc_tx *p, uint32_t before_bytes, weft_ns now);
/* A timeout has expired. */
void rto_back_off(struct pdc_tx *p, weft_ns now);

#endif
