/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenario files: options of `weft sim`, named alternatives (cases), axes to sweep, and seeds. doc/guide/scenarios.md
 * has the format. A file of options alone is a scenario of one run. */
#ifndef WEFT_SCENARIO_H
#define WEFT_SCENARIO_H

#include <stdint.h>

#include "options.h"

enum {
	SCENARIO_SEEDS_MAX = 10000,
	SCENARIO_RUNS_MAX = 20000, /* cases x axis values x seeds */
	SCENARIO_AXES_MAX = 16,
	SCENARIO_TEXT_MAX = 160, /* of a label, and of the value of an axis */
	SCENARIO_PATH_MAX = 1024
};

/* One option as a scenario gives it. */
struct scenario_item {
	const char *name;  /* without dashes; parameters are option "set" with KEY=VALUE */
	const char *value; /* as on the command line */
	uint32_t line;     /* in the file; 0: from the command line */
};

/* Later items win, except that faults add up. */
struct scenario_list {
	struct scenario_item *items;
	uint32_t count;
};

/* A named alternative. */
struct scenario_case {
	const char *name;
	struct scenario_list list;
	uint32_t line;
};

/* One axis of the sweep. */
struct scenario_axis {
	const char *name;    /* in labels and results: the option's name or the parameter's key */
	bool param;          /* a parameter: items are option "set" */
	const char **values; /* as on the command line */
	uint32_t count;      /* >= 1 */
	uint32_t line;
};

struct scenario {
	const char *path;                     /* of the file */
	const char *title;                    /* never NULL: the file's stem when not given */
	const char *about;                    /* never NULL */
	const char *out;                      /* directory of the results; never NULL */
	struct scenario_list base, overrides; /* for every run; overrides win over everything */
	struct scenario_case *cases;
	uint32_t case_count; /* >= 1; one without a name when the file has none */
	struct scenario_axis axes[SCENARIO_AXES_MAX];
	uint32_t axis_count;
	uint64_t *seeds;
	uint32_t seed_count;   /* 0: what option `seed` says */
	uint32_t claim_count;  /* entries of `claims`, which are not looked into */
	struct options checks; /* owns every string above; each option was tried on it alone */
};

/* One of a scenario's runs. */
struct scenario_pick {
	uint32_t case_index;
	uint32_t values[SCENARIO_AXES_MAX]; /* index into each axis */
	uint32_t seed_index;                /* not used without seeds */
};

/* Reads and checks a file: names, types, and each value as far as it can be judged alone. Messages as file:line: key:
 * reason. An errno of reading, -EINVAL, -ENOMEM. Files that options name are looked for from the working directory,
 * then from the scenario's. Takes scenario_free also after an error. */
int scenario_load(struct scenario *s, const char *path, struct weft_err *err);
void scenario_free(struct scenario *s);

/* What the command line gave (o->given) wins over the file in every run: a seed replaces the seeds, an option that is
 * an axis replaces its values. -ENOMEM. */
int scenario_override(struct scenario *s, const struct options *o, struct weft_err *err);

/* Whether a common option is part of a run; the others say where one command's results go. */
bool scenario_takes(const char *name);

/* Number of runs; 0: more than SCENARIO_RUNS_MAX. */
uint32_t scenario_runs(const struct scenario *s);

/* Run `index`: cases change slowest, then the axes in order, seeds fastest. */
struct scenario_pick scenario_pick(const struct scenario *s, uint32_t index);

/* Case and axis values of a run in a few words, without the seed. */
void scenario_label(const struct scenario *s, const struct scenario_pick *pick, char text[SCENARIO_TEXT_MAX]);

/* The options of one run, each once, those that count last. The caller frees list->items. -ENOMEM. */
int scenario_combine(const struct scenario *s, const struct scenario_pick *pick, struct scenario_list *list,
		     struct weft_err *err);

/* The value of an item with the paths of files that are only found beside the scenario as they are from here: the
 * item's own text or `text`. */
const char *scenario_locate(const struct scenario *s, const struct scenario_item *item, char text[SCENARIO_PATH_MAX]);

/* Options of one run, resolved. Messages as file:line: option: reason, with the run's label. Errors of options_parse.
 * Takes options_free also after an error. */
int scenario_options(const struct scenario *s, const struct scenario_pick *pick, struct options *o,
		     struct weft_err *err);

/* ---- for the reader ---- */

/* A copy that lives as long as the scenario; NULL: no memory. */
const char *scenario_keep(struct scenario *s, const char *text);

/* -ENOMEM. */
int scenario_add(struct scenario_list *list, struct scenario_item item, struct weft_err *err);

#endif
