/* SPDX-License-Identifier: BSD-3-Clause */
/* What a scenario stands for: its runs, and the options of each. */
#include "scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *scenario_keep(struct scenario *s, const char *text)
{
	return options_keep(&s->checks, text);
}

int scenario_add(struct scenario_list *list, struct scenario_item item, struct weft_err *err)
{
	struct scenario_item *grown = realloc(list->items, (list->count + 1) * sizeof *grown);
	if (!grown)
		return weft_err_set(err, -ENOMEM, "no memory");
	list->items = grown;
	grown[list->count++] = item;
	return 0;
}

void scenario_free(struct scenario *s)
{
	for (uint32_t i = 0; i < s->case_count; i++)
		free(s->cases[i].list.items);
	for (uint32_t i = 0; i < s->axis_count; i++)
		free(s->axes[i].values);
	free(s->cases);
	free(s->seeds);
	free(s->base.items);
	free(s->overrides.items);
	options_free(&s->checks);
	*s = (struct scenario){0};
}

/* Length of KEY in KEY=VALUE. */
static size_t key_len(const char *text)
{
	return strcspn(text, "=");
}

/* What an option or parameter sets: its name or key (no option has a parameter's), and its length. */
static const char *target_of(const char *option, const char *value, size_t *len)
{
	const char *name = !strcmp(option, "set") ? value : option;
	if (!strcmp(name, "mtu"))
		name = "payload_bytes";
	*len = key_len(name);
	return name;
}

/* Whether two items set the same thing, so that only the later counts. */
static bool same_target(const struct scenario_item *a, const struct scenario_item *b)
{
	size_t a_len, b_len;
	const char *x = target_of(a->name, a->value, &a_len), *y = target_of(b->name, b->value, &b_len);
	return a_len == b_len && !strncmp(x, y, a_len) && strcmp(a->name, "fault") != 0;
}

/* The axis an option of the command line speaks of; NULL: none. */
static struct scenario_axis *axis_of(struct scenario *s, const char *option, const char *value)
{
	size_t len, axis_len;
	const char *name = target_of(option, value, &len);
	for (uint32_t i = 0; i < s->axis_count; i++) {
		struct scenario_axis *a = &s->axes[i];
		const char *axis = target_of(a->name, "", &axis_len);
		if (axis_len == len && !strncmp(axis, name, len))
			return a;
	}
	return NULL;
}

bool scenario_takes(const char *name)
{
	static const char *const names[] = {"out", "json", "help", "help-params"};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(name, names[i]))
			return false;
	}
	return true;
}

static int override(struct scenario *s, const struct run_option *given, struct weft_err *err)
{
	const char *value = scenario_keep(s, given->value ? given->value : "true");
	if (!value)
		return weft_err_set(err, -ENOMEM, "no memory");
	struct scenario_axis *axis = axis_of(s, given->name, value);
	if (axis) {
		axis->values[0] = !strcmp(given->name, "set") ? value + key_len(value) + 1 : value;
		axis->count = 1;
		return 0;
	}
	if (!strcmp(given->name, "seed"))
		s->seed_count = 0;
	return scenario_add(&s->overrides, (struct scenario_item){given->name, value, 0}, err);
}

int scenario_override(struct scenario *s, const struct options *o, struct weft_err *err)
{
	int rc = 0;
	for (uint32_t i = 0; i < o->given_count && !rc; i++) {
		if (scenario_takes(o->given[i].name))
			rc = override(s, &o->given[i], err);
	}
	if (o->files.dir)
		s->out = scenario_keep(s, o->files.dir);
	return rc ? rc : s->out ? 0 : weft_err_set(err, -ENOMEM, "no memory");
}

uint32_t scenario_runs(const struct scenario *s)
{
	uint64_t n = (uint64_t)s->case_count * (s->seed_count ? s->seed_count : 1);
	for (uint32_t i = 0; i < s->axis_count && n <= SCENARIO_RUNS_MAX; i++)
		n *= s->axes[i].count;
	return n <= SCENARIO_RUNS_MAX ? (uint32_t)n : 0;
}

struct scenario_pick scenario_pick(const struct scenario *s, uint32_t index)
{
	struct scenario_pick pick = {0};
	uint32_t seeds = s->seed_count ? s->seed_count : 1;
	pick.seed_index = index % seeds;
	index /= seeds;
	for (uint32_t i = s->axis_count; i-- > 0; index /= s->axes[i].count)
		pick.values[i] = index % s->axes[i].count;
	pick.case_index = index;
	return pick;
}

/* Appends as snprintf; what does not fit is cut, without leaving a part of a UTF-8 character. */
static void append(char text[SCENARIO_TEXT_MAX], const char *between, const char *a, const char *b, const char *c)
{
	size_t used = strlen(text), room = SCENARIO_TEXT_MAX - used, end = SCENARIO_TEXT_MAX - 1;
	if ((size_t)snprintf(text + used, room, "%s%s%s%s", used ? between : "", a, b, c) < room)
		return;
	while (end > used && ((unsigned char)text[end - 1] & 0xc0) == 0x80)
		end--;
	text[end > used && (unsigned char)text[end - 1] >= 0xc0 ? end - 1 : end] = '\0';
}

void scenario_label(const struct scenario *s, const struct scenario_pick *pick, char text[SCENARIO_TEXT_MAX])
{
	text[0] = '\0';
	append(text, "", s->cases[pick->case_index].name, "", "");
	for (uint32_t i = 0; i < s->axis_count; i++)
		append(text, " ", s->axes[i].name, "=", s->axes[i].values[pick->values[i]]);
	if (!text[0])
		append(text, "", s->title, "", "");
}

/* Adds an item and takes out the earlier one it replaces. */
static int put(struct scenario_list *list, struct scenario_item item, struct weft_err *err)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (!same_target(&list->items[i], &item))
			continue;
		memmove(&list->items[i], &list->items[i + 1], (list->count - i - 1) * sizeof item);
		list->count--;
		break;
	}
	return scenario_add(list, item, err);
}

static int put_all(struct scenario_list *list, const struct scenario_list *from, struct weft_err *err)
{
	int rc = 0;
	for (uint32_t i = 0; i < from->count && !rc; i++)
		rc = put(list, from->items[i], err);
	return rc;
}

/* An item whose value is made here; `s` keeps it although its runs are not part of what it says. */
static int put_made(const struct scenario *s, struct scenario_list *list, const char *name, const char *value,
		    uint32_t line, struct weft_err *err)
{
	const char *kept = scenario_keep((struct scenario *)s, value);
	return kept ? put(list, (struct scenario_item){name, kept, line}, err)
		    : weft_err_set(err, -ENOMEM, "no memory");
}

static int put_axis(const struct scenario *s, struct scenario_list *list, const struct scenario_axis *a, uint32_t value,
		    struct weft_err *err)
{
	char text[2 * SCENARIO_TEXT_MAX];
	if (!a->param)
		return put(list, (struct scenario_item){a->name, a->values[value], a->line}, err);
	snprintf(text, sizeof text, "%s=%s", a->name, a->values[value]);
	return put_made(s, list, "set", text, a->line, err);
}

int scenario_combine(const struct scenario *s, const struct scenario_pick *pick, struct scenario_list *list,
		     struct weft_err *err)
{
	*list = (struct scenario_list){0};
	int rc = put_all(list, &s->base, err);
	if (!rc)
		rc = put_all(list, &s->cases[pick->case_index].list, err);
	for (uint32_t i = 0; i < s->axis_count && !rc; i++)
		rc = put_axis(s, list, &s->axes[i], pick->values[i], err);
	if (!rc)
		rc = put_all(list, &s->overrides, err);
	if (!rc && s->seed_count) {
		char seed[24];
		snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seeds[pick->seed_index]);
		rc = put_made(s, list, "seed", seed, 0, err);
	}
	return rc;
}

/* One part of a value: where it is a file that is only found beside the scenario, the path from here. */
static void locate_part(const struct scenario *s, const char *part, size_t len, char path[SCENARIO_PATH_MAX])
{
	const char *slash = strrchr(s->path, '/');
	char beside[SCENARIO_PATH_MAX];
	snprintf(path, SCENARIO_PATH_MAX, "%.*s", (int)len, part);
	if (!slash || path[0] == '/' || !strpbrk(path, "./") || !access(path, F_OK))
		return;
	int used = snprintf(beside, sizeof beside, "%.*s/%.*s", (int)(slash - s->path), s->path, (int)len, part);
	if (used < SCENARIO_PATH_MAX && !access(beside, F_OK))
		memcpy(path, beside, (size_t)used + 1);
}

const char *scenario_locate(const struct scenario *s, const struct scenario_item *item, char text[SCENARIO_PATH_MAX])
{
	const struct opt_desc *d = options_find(item->name);
	char part[SCENARIO_PATH_MAX];
	size_t used = 0;
	if (!item->line || !d || !d->arg || strncmp(d->arg, "FILE|", 5) != 0)
		return item->value;
	for (const char *p = item->value; used < SCENARIO_PATH_MAX;) {
		size_t len = strcspn(p, ":");
		locate_part(s, p, len, part);
		used += (size_t)snprintf(text + used, SCENARIO_PATH_MAX - used, "%s%s", part, p[len] ? ":" : "");
		if (!p[len])
			return used < SCENARIO_PATH_MAX ? text : item->value;
		p += len + 1;
	}
	return item->value;
}

/* Sets one option, with the place it comes from. */
static int apply(const struct scenario *s, struct options *o, const struct scenario_item *item, struct weft_err *err)
{
	char where[SCENARIO_TEXT_MAX], located[SCENARIO_PATH_MAX];
	const char *value = options_keep(o, scenario_locate(s, item, located));
	if (!value)
		return weft_err_set(err, -ENOMEM, "no memory");
	snprintf(where, sizeof where, "%s:%u", s->path, item->line);
	o->where = item->line ? where : NULL;
	int rc = options_set(o, NULL, NULL, item->name, value, err);
	o->where = NULL;
	return rc;
}

/* Says where the option stands that could not be resolved, and in which run. Parameters carry their place. */
static int refuse(const struct scenario *s, const struct scenario_pick *pick, const struct scenario_list *list,
		  const char *step, int rc, struct weft_err *err)
{
	char label[SCENARIO_TEXT_MAX], reason[sizeof err->msg], place[SCENARIO_TEXT_MAX];
	const struct scenario_item *at = NULL;
	if (!err)
		return rc;
	scenario_label(s, pick, label);
	memcpy(reason, err->msg, sizeof reason);
	for (uint32_t i = 0; i < list->count && step; i++) {
		const struct scenario_item *item = &list->items[i];
		bool named = !strcmp(item->name, step) && strstr(reason, item->value);
		if (named || (!strcmp(item->name, step) && !at))
			at = item;
	}
	if (step && !strcmp(step, "set"))
		return weft_err_set(err, rc, "%.170s (in %.80s)", reason, label);
	if (at && at->line)
		snprintf(place, sizeof place, "%.140s:%u", s->path, at->line);
	else
		snprintf(place, sizeof place, "%.140s", at ? "command line" : s->path);
	return weft_err_set(err, rc, "%.100s: %.20s: %.170s (in %.80s)", place, step ? step : "options", reason, label);
}

int scenario_options(const struct scenario *s, const struct scenario_pick *pick, struct options *o,
		     struct weft_err *err)
{
	struct scenario_list list;
	options_begin(o);
	int rc = scenario_combine(s, pick, &list, err);
	for (uint32_t i = 0; i < list.count && !rc; i++)
		rc = apply(s, o, &list.items[i], err);
	if (!rc)
		rc = options_resolve(o, err);
	if (rc)
		rc = refuse(s, pick, &list, o->step, rc, err);
	free(list.items);
	return rc;
}
