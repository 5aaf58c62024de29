/* SPDX-License-Identifier: BSD-3-Clause */
#include "validate.h"

#include "ack_tx.h"

enum { EPOCH_SHIFT = 33 /* 8.6 s: a Start_PSN is good for as long, and twice that at most */, QUIET_RTOS = 8 };
/* For each packet of an address that has shown nothing: with the answer to that no more than three. */
enum { UNPROVEN_CREDITS = 2 };

static uint32_t start_psn_at(const struct pds *pds, const struct wire_view *v, uint64_t epoch)
{
	uint64_t words[4] = {0, 0, UINT64_C(3) << 32 | wire_hdr_spdcid(v->hdr), epoch};
	memcpy(words, wire_view_src(v)->b, 16);
	return (uint32_t)siphash(&pds->hash_key, words, 4);
}

bool validate_is_due(const struct pds *pds, weft_ns now)
{
	switch (pds->conf.tune.validate) {
	case WEFT_VALIDATE_NEVER:
		return false;
	case WEFT_VALIDATE_ALWAYS:
		return true;
	default:
		return pds->half_open >= pds->conf.tune.half_open || now < pds->asking_until_ns;
	}
}

bool validate_is_answered(const struct pds *pds, const struct wire_view *v, weft_ns now)
{
	uint32_t psn = wire_hdr_psn(v->hdr) - wire_hdr_psn_offset(v->hdr);
	uint64_t epoch = now >> EPOCH_SHIFT;
	return psn == start_psn_at(pds, v, epoch) || (epoch && psn == start_psn_at(pds, v, epoch - 1));
}

void validate_ask(struct pds *pds, const struct wire_view *v, weft_ns now)
{
	pds->asking_until_ns = now + QUIET_RTOS * pds->conf.rto_ns;
	pds->stats.syn_asked++;
	nack_send_payload(pds, v, 0, WIRE_NACK_NEW_START_PSN, start_psn_at(pds, v, now >> EPOCH_SHIFT), now);
}

void validate_begin(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	assert(!(p->pdc.marks & PDC_UNPROVEN) && !p->pdc.is_return);
	if (pds->conf.tune.validate == WEFT_VALIDATE_NEVER)
		return;
	p->pdc.marks |= PDC_UNPROVEN;
	pds->half_open++;
}

void validate_end(struct pds *pds, struct pdc_rx *p)
{
	if (!(p->pdc.marks & PDC_UNPROVEN))
		return;
	assert(pds->half_open > 0);
	p->pdc.marks &= (uint8_t)~PDC_UNPROVEN;
	pds->half_open--;
}

/* READs are answered with data; announcements with READs of ours, again and again. */
bool validate_must_wait(const struct pdc_rx *p, const struct wire_view *v)
{
	if (!(p->pdc.marks & PDC_UNPROVEN) || v->next_hdr != WIRE_NH_STD)
		return false;
	switch (wire_req_opcode(v->req)) {
	case WIRE_OP_READ:
	case WIRE_OP_FETCHING_ATOMIC:
		return wire_std_request_length(v->std) > RXWIN_DATA_MAX;
	case WIRE_OP_RENDEZVOUS_SEND:
	case WIRE_OP_RENDEZVOUS_TSEND:
		return true;
	default:
		return false;
	}
}

bool validate_holds_credit(const struct pdc_rx *p)
{
	return p->pdc.marks & PDC_UNPROVEN && p->credit.unproven >= UNPROVEN_CREDITS;
}

void validate_note_credit(struct pds *pds, struct pdc_rx *p)
{
	pds->stats.tx_credit++;
	if (p->pdc.marks & PDC_UNPROVEN && p->credit.unproven < UINT8_MAX)
		p->credit.unproven++;
}
