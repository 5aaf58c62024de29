/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithms by name, and what a plug-in exports: congestion controls and load balancers of one's own in a shared
 * object, which `weft sim --plugin FILE`, FI_WEFT_PLUGIN and weft_plugin_load (weft/algos.h) read. */
#ifndef WEFT_PLUGIN_H
#define WEFT_PLUGIN_H

#include <stdint.h>

#include "weft/decl.h"
#include "weft/spi/cc.h"
#include "weft/spi/lb.h"
#include "weft/spi/rcc.h"

WEFT_BEGIN_DECLS

/* Counts up when a struct of cc.h, rcc.h, lb.h, param.h or of this page changes: a plug-in fits one number only. */
enum { WEFT_PLUGIN_ABI = 5 };

/* What a plug-in has to offer. Constant, and stays where it is while the process lives. */
struct weft_plugin {
	uint32_t abi;                          /* WEFT_PLUGIN_ABI */
	const struct weft_cc_ops *const *cc;   /* senders' congestion controls, NULL-terminated; or NULL */
	const struct weft_rcc_ops *const *rcc; /* receivers'; the same */
	const struct weft_lb_ops *const *lb;   /* load balancers; the same */
};

/* Defines the one symbol a plug-in exports: WEFT_PLUGIN = {.abi = WEFT_PLUGIN_ABI, .cc = my_ccs}; */
#define WEFT_PLUGIN                                                                                                    \
	__attribute__((visibility("default"))) extern const struct weft_plugin weft_plugin;                            \
	const struct weft_plugin weft_plugin

WEFT_END_DECLS

#endif
