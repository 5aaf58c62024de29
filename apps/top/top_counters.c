/* SPDX-License-Identifier: BSD-3-Clause */
#include "top_counters.h"

#include "weft/cm_stats.h"
#include "weft/ethdev_stats.h"
#include "weft/local_stats.h"
#include "weft/stats.h"
#include "weft/tss_stats.h"

/* A row without a name begins a table. */
static const struct {
	const char *name, *help;
} rows[] = {
#define ROW(name, help)        {#name, help},
#define TABLE(title, counters) {NULL, title}, counters(ROW)
	TABLE("the engine", WEFT_COUNTERS) TABLE("the port", WEFT_PORT_COUNTERS) TABLE("encryption", WEFT_TSS_COUNTERS)
		TABLE("connected endpoints", WEFT_CM_COUNTERS) TABLE("channels within the host", WEFT_LOCAL_COUNTERS)
#undef TABLE
#undef ROW
};

#define HAS_HELP(name, help) _Static_assert(sizeof(help) > 1, #name " has no description");
WEFT_COUNTERS(HAS_HELP)
WEFT_PORT_COUNTERS(HAS_HELP)
WEFT_TSS_COUNTERS(HAS_HELP)
WEFT_CM_COUNTERS(HAS_HELP)
WEFT_LOCAL_COUNTERS(HAS_HELP)

void top_print_counters(FILE *out)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (rows[i].name)
			fprintf(out, "| `%s` | %s |\n", rows[i].name, rows[i].help);
		else
			fprintf(out, "\n### Counters of %s\n\n| counter | meaning |\n|---|---|\n", rows[i].help);
	}
}
