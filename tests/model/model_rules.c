/* SPDX-License-Identifier: BSD-3-Clause */
#include "model_rules.h"

#include "ack_tx.h"
#include "run_queue.h"
#include "rx_turn.h"

enum model_rule model_broken;

const char *const model_rule_names[MODEL_RULES] = {
	[MODEL_ALL_RULES] = "none", [MODEL_NO_AHEAD] = "ahead",   [MODEL_NO_FENCE] = "fence",
	[MODEL_NO_ACK] = "ack",     [MODEL_NO_RECORD] = "record", [MODEL_NO_TURN] = "turn",
};

/* The linker's names for the transport's functions, and for what is called in their place. */
void __real_run_queue_add(struct pdc_tx *p, struct tx_run *run);
void __wrap_run_queue_add(struct pdc_tx *p, struct tx_run *run);
void __real_ack_at_once(struct pds *pds, struct pdc_rx *p, weft_ns now);
void __wrap_ack_at_once(struct pds *pds, struct pdc_rx *p, weft_ns now);
void __real_rxwin_mark_ooo(struct rxwin *w, const struct rxwin_mem *m, uint32_t psn);
void __wrap_rxwin_mark_ooo(struct rxwin *w, const struct rxwin_mem *m, uint32_t psn);
bool __real_rx_turn_has_come(const struct pdc_rx *p, const struct rx_msg *m);
bool __wrap_rx_turn_has_come(const struct pdc_rx *p, const struct rx_msg *m);

void __wrap_run_queue_add(struct pdc_tx *p, struct tx_run *run)
{
	run->ahead &= model_broken != MODEL_NO_AHEAD;
	run->fenced &= model_broken != MODEL_NO_FENCE;
	__real_run_queue_add(p, run);
}

void __wrap_ack_at_once(struct pds *pds, struct pdc_rx *p, weft_ns now)
{
	if (model_broken != MODEL_NO_ACK || !pds->stats.rx_dup)
		__real_ack_at_once(pds, p, now);
}

void __wrap_rxwin_mark_ooo(struct rxwin *w, const struct rxwin_mem *m, uint32_t psn)
{
	if (model_broken != MODEL_NO_RECORD)
		__real_rxwin_mark_ooo(w, m, psn);
}

bool __wrap_rx_turn_has_come(const struct pdc_rx *p, const struct rx_msg *m)
{
	return model_broken == MODEL_NO_TURN || __real_rx_turn_has_come(p, m);
}
