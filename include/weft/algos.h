/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms a program can choose by name: those of the library, and those of plug-ins it loaded. */
#ifndef WEFT_ALGOS_H
#define WEFT_ALGOS_H

#include "weft/decl.h"
#include "weft/err.h"
#include "weft/spi/cc.h"
#include "weft/spi/lb.h"
#include "weft/spi/rcc.h"

WEFT_BEGIN_DECLS

enum { WEFT_ALGOS_MAX = 63 }; /* of each kind, those of the library included */

/* Tables as weft_cc_table and its like are: in order of their registration, NULL-terminated. The caller's. */
struct weft_algos {
	const struct weft_cc_ops *cc[WEFT_ALGOS_MAX + 1];
	const struct weft_rcc_ops *rcc[WEFT_ALGOS_MAX + 1];
	const struct weft_lb_ops *lb[WEFT_ALGOS_MAX + 1];
};

/* The library's own algorithms. */
void weft_algos_init(struct weft_algos *algos);

/* Loads a plug-in (weft/spi/plugin.h) and adds its algorithms; its code stays in the process. Loading it again changes
 * nothing. `file`: a path; a name without a slash is looked for as dlopen does. The message names file and reason.
 * -ENOENT: it cannot be loaded, -EINVAL: it exports no plug-in, one of another ABI, or an algorithm that is not
 * complete, -EEXIST: an algorithm of that kind has that name (a congestion control's name is one for sender and
 * receiver), -ENOSPC: WEFT_ALGOS_MAX. After an error `algos` is unchanged. */
int weft_plugin_load(struct weft_algos *algos, const char *file, struct weft_err *err);

WEFT_END_DECLS

#endif
