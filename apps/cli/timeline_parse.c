/* SPDX-License-Identifier: BSD-3-Clause */
/* TIME fail|degrade|renegotiate|ber|restore TARGET [VALUE] [until TIME] */
#include "timeline_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "opt_table.h"

enum { WORDS_MAX = 6, WORD_MAX = 48, FIELDS_MAX = 4, PPM = 1000000, DRAW_MAX = 1000000 };

/* The words of a spec, copied. */
struct words {
	char word[WORDS_MAX][WORD_MAX];
	uint32_t count;
};

static const char *const action_names[TIMELINE_ACTIONS] = {"fail", "degrade", "renegotiate", "ber", "restore"};

struct target_desc {
	const char *name, *form;
	uint32_t fields_min, fields_max; /* behind the name */
};

static const struct target_desc target_descs[TIMELINE_KINDS] = {
	[TIMELINE_CABLE] = {"cable", "cable:TIER:SWITCH:UPLINK", 3, 3},
	[TIMELINE_UPLINK] = {"uplink", "uplink:TIER:SWITCH:UPLINK", 3, 3},
	[TIMELINE_DOWNLINK] = {"downlink", "downlink:TIER:SWITCH:UPLINK", 3, 3},
	[TIMELINE_HOST] = {"host", "host:HOST", 1, 1},
	[TIMELINE_SWITCH] = {"switch", "switch:TIER:SWITCH", 2, 2},
	[TIMELINE_RANDOM] = {"random", "random:TIER:PERCENT%[:DRAW]", 2, 3},
};

static int split_words(const struct timeline_fault *f, struct words *w, struct weft_err *err)
{
	const char *s = f->spec + strspn(f->spec, " \t");
	for (w->count = 0; *s; w->count++) {
		size_t len = strcspn(s, " \t");
		if (w->count == WORDS_MAX)
			return timeline_refuse(f, -EINVAL, err, "'%.40s' is one word too many", s);
		if (len >= WORD_MAX)
			return timeline_refuse(f, -EINVAL, err, "'%.40s...' is too long", s);
		memcpy(w->word[w->count], s, len);
		w->word[w->count][len] = 0;
		s += len + strspn(s + len, " \t");
	}
	if (w->count < 3)
		return timeline_refuse(f, -EINVAL, err, "the form is TIME %s TARGET [VALUE] [until TIME]",
				       "fail|degrade|renegotiate|ber|restore");
	return 0;
}

static int parse_action(struct timeline_fault *f, const char *word, struct weft_err *err)
{
	for (int i = 0; i < TIMELINE_ACTIONS; i++) {
		if (strcmp(word, action_names[i]) != 0)
			continue;
		f->action = (enum timeline_action)i;
		return 0;
	}
	return timeline_refuse(f, -EINVAL, err, "'%s' is none of fail, degrade, renegotiate, ber, restore", word);
}

static int parse_time(const struct timeline_fault *f, const char *word, weft_ns *at, struct weft_err *err)
{
	struct weft_err why;
	int rc = opt_time(at, word, &why);
	return rc ? timeline_refuse(f, rc, err, "%.150s", why.msg) : 0;
}

/* A share such as 12.5%, above 0 and up to 100%, in parts per million. */
static bool parse_percent(const char *text, size_t len, uint32_t *ppm)
{
	char *end;
	double percent = strtod(text, &end);
	if (end == text || end + 1 != text + len || *end != '%' || !(percent > 0 && percent <= 100))
		return false;
	*ppm = (uint32_t)(percent * PPM / 100 + 0.5);
	return *ppm > 0;
}

static int parse_tier(const struct timeline_fault *f, struct token word, uint32_t *tier, struct weft_err *err)
{
	uint64_t n;
	for (*tier = 0; *tier < WEFT_TOPO_TIERS_MAX; ++*tier) {
		if (token_is(word, weft_topo_tier_name(*tier)) || (token_u64(word, &n, NULL) && n == *tier))
			return 0;
	}
	return timeline_refuse(f, -EINVAL, err, "'%.*s' is no tier: leaf (0), spine (1) or core (2)", (int)word.len,
			       word.s);
}

static int parse_number(const struct timeline_fault *f, struct token word, const char *what, uint32_t max,
			uint32_t *out, struct weft_err *err)
{
	uint64_t n;
	if (!token_u64(word, &n, NULL) || n > max)
		return timeline_refuse(f, -EINVAL, err, "'%.*s' is no number of a %s", (int)word.len, word.s, what);
	*out = (uint32_t)n;
	return 0;
}

/* The fields behind the target's name. */
static int parse_fields(struct timeline_fault *f, const struct token *field, uint32_t count, struct weft_err *err)
{
	struct timeline_target *t = &f->target;
	if (t->kind == TIMELINE_HOST)
		return parse_number(f, field[0], "host", UINT32_MAX, &t->host, err);
	int rc = parse_tier(f, field[0], &t->tier, err);
	if (rc)
		return rc;
	if (t->kind == TIMELINE_RANDOM) {
		if (!parse_percent(field[1].s, field[1].len, &t->share_ppm))
			return timeline_refuse(f, -EINVAL, err, "'%.*s' is no share such as 10%%", (int)field[1].len,
					       field[1].s);
		return count < 3 ? 0 : parse_number(f, field[2], "draw", DRAW_MAX, &t->draw, err);
	}
	rc = parse_number(f, field[1], "switch", UINT32_MAX, &t->sw, err);
	return rc || count < 3 ? rc : parse_number(f, field[2], "uplink", UINT32_MAX, &t->up, err);
}

static int parse_target(struct timeline_fault *f, const char *word, struct weft_err *err)
{
	struct token tok[FIELDS_MAX];
	uint32_t count = spec_split(word, tok, FIELDS_MAX);
	for (int k = 0; k < TIMELINE_KINDS; k++) {
		const struct target_desc *d = &target_descs[k];
		if (!token_is(tok[0], d->name))
			continue;
		if (count - 1 < d->fields_min || count - 1 > d->fields_max)
			return timeline_refuse(f, -EINVAL, err, "'%s' has not the form %s", word, d->form);
		f->target.kind = (enum timeline_kind)k;
		return parse_fields(f, tok + 1, count - 1, err);
	}
	return timeline_refuse(f, -EINVAL, err,
			       "'%s' is none of cable:, uplink:, downlink:, host:, switch:, random:", word);
}

static int parse_rate(struct timeline_fault *f, const char *word, struct weft_err *err)
{
	if (parse_percent(word, strlen(word), &f->rate_ppm) || !opt_gbps(&f->bps, word, NULL))
		return 0;
	return timeline_refuse(f, -EINVAL, err, "'%s' is neither a rate in Gb/s nor a share such as 25%%", word);
}

static int parse_ber(struct timeline_fault *f, const char *word, struct weft_err *err)
{
	char *end;
	double rate = strtod(word, &end);
	if (*end || end == word || !(rate >= 1e-18 && rate <= 1))
		return timeline_refuse(f, -EINVAL, err, "'%s' is no bit error rate such as 1e-6 (1e-18 to 1)", word);
	f->ber_e18 = (uint64_t)(rate * 1e18 + 0.5);
	return 0;
}

/* The value an action takes; *used becomes how many words that were. */
static int parse_value(struct timeline_fault *f, const char *word, uint32_t *used, struct weft_err *err)
{
	bool rate = f->action == TIMELINE_DEGRADE || f->action == TIMELINE_RENEGOTIATE;
	bool wanted = rate || f->action == TIMELINE_BER;
	*used = wanted;
	if (!wanted)
		return 0;
	if (!word)
		return timeline_refuse(f, -EINVAL, err, "'%s' needs a value", action_names[f->action]);
	return rate ? parse_rate(f, word, err) : parse_ber(f, word, err);
}

static int parse_until(struct timeline_fault *f, const struct words *w, uint32_t at, struct weft_err *err)
{
	f->until_ns = WEFT_NEVER;
	if (at == w->count)
		return 0;
	if (strcmp(w->word[at], "until") != 0 || f->action == TIMELINE_RESTORE)
		return timeline_refuse(f, -EINVAL, err, "'%s' has no place there", w->word[at]);
	if (at + 2 != w->count)
		return timeline_refuse(f, -EINVAL, err, "one time is expected after 'until'");
	int rc = parse_time(f, w->word[at + 1], &f->until_ns, err);
	if (!rc && f->until_ns <= f->at_ns)
		rc = timeline_refuse(f, -EINVAL, err, "it ends at %s, no later than it begins", w->word[at + 1]);
	return rc;
}

static int parse(struct timeline_fault *f, struct weft_err *err)
{
	struct words w;
	uint32_t used = 0;
	int rc = split_words(f, &w, err);
	if (!rc)
		rc = parse_time(f, w.word[0], &f->at_ns, err);
	if (!rc)
		rc = parse_action(f, w.word[1], err);
	if (!rc)
		rc = parse_target(f, w.word[2], err);
	if (!rc)
		rc = parse_value(f, w.count > 3 ? w.word[3] : NULL, &used, err);
	return rc ? rc : parse_until(f, &w, 3 + used, err);
}

int timeline_parse(struct timeline *t, const char *spec, struct weft_err *err)
{
	struct timeline_fault f = {.spec = spec};
	int rc = parse(&f, err);
	return rc ? rc : timeline_add(t, &f, err);
}
