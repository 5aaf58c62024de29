/* SPDX-License-Identifier: BSD-3-Clause */
/* What the counters of devices are called and count. */
#ifndef WEFT_TOP_COUNTERS_H
#define WEFT_TOP_COUNTERS_H

#include <stdio.h>

/* All that `/weft/stats` may tell, as tables in Markdown. */
void top_print_counters(FILE *out);

#endif
