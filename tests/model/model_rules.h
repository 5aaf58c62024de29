/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of the transport that can be switched off, to see that the search finds what they are for. The linker puts
 * these functions in place of the transport's (-Wl,--wrap). */
#ifndef WEFT_MODEL_RULES_H
#define WEFT_MODEL_RULES_H

enum model_rule {
	MODEL_ALL_RULES,
	MODEL_NO_AHEAD,  /* the fetch of an announced message waits behind the operations of its host */
	MODEL_NO_FENCE,  /* fenced operations do not wait */
	MODEL_NO_ACK,    /* packets that come a second time are not acknowledged */
	MODEL_NO_RECORD, /* what arrives behind a gap is not remembered */
	MODEL_NO_TURN,   /* requests are executed as they arrive, not in the order of their connection */
	MODEL_RULES,
};

extern enum model_rule model_broken;
extern const char *const model_rule_names[MODEL_RULES];

#endif
