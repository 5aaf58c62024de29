/* SPDX-License-Identifier: BSD-3-Clause */
#include "spray.h"

enum {
	TRY_WAIT_SHIFT = 6,  /* doublings of the time between trials at most */
	TRIAL_PKTS = 8,      /* credits of a trial, in a row: a single packet passes a slow link in no time */
	TRIAL_BACK = 6,      /* so many answers will do, credits are lost on busy paths, too */
	TRIAL_RTTS = 2,      /* a path that takes longer than so many usual times is no better yet */
	TRIAL_LOST_RTTS = 8, /* no answer: what was sent there is lost */
};

static uint16_t *board(struct spray *s)
{
	return s->table + s->paths;
}

static uint16_t paths_of(const struct schedule_tune *tune)
{
	return tune->paths ? (uint16_t)tune->paths : 1;
}

size_t spray_bytes(const struct schedule_tune *tune)
{
	return sizeof(struct spray) + 2 * sizeof(uint16_t) * paths_of(tune);
}

void spray_init(struct spray *s, const struct schedule_tune *tune)
{
	uint16_t paths = paths_of(tune);

	*s = (struct spray){.tried_ns = WEFT_NEVER,
			    .try_wait_ns = WEFT_US(tune->reprobe_us),
			    .slowest = 1000,
			    .least = 1000,
			    .paths = paths,
			    .valid = paths,
			    .left = paths};
	for (uint16_t i = 0; i < paths; i++) {
		s->table[i] = i;
		board(s)[i] = 0;
	}
}

static void swap(struct spray *s, uint32_t a, uint32_t b)
{
	uint16_t path = s->table[a];

	s->table[a] = s->table[b];
	s->table[b] = path;
}

static uint32_t below(uint64_t draw, uint32_t n)
{
	return (uint32_t)((draw >> 32) * n >> 32);
}

/* One excluded path at a time gets a few credits in a row, and is judged by the time their data takes: at a fraction of
 * the usual rate they queue. */
static bool trial_due(struct spray *s, const struct schedule_tune *tune, weft_ns now)
{
	if (!tune->probing || s->valid == s->paths || now < s->try_at_ns)
		return false;
	if (s->tried_ns == WEFT_NEVER)
		return true;
	if (now - s->tried_ns < TRIAL_LOST_RTTS * s->rtt_ns)
		return false;
	return true;
}

static void wait_longer(struct spray *s, const struct schedule_tune *tune)
{
	weft_ns most = WEFT_US(tune->reprobe_us) << TRY_WAIT_SHIFT;

	s->try_wait_ns = 2 * s->try_wait_ns < most ? 2 * s->try_wait_ns : most;
}

static void begin_trial(struct spray *s, const struct schedule_tune *tune, uint64_t draw, weft_ns now)
{
	if (s->tried_ns != WEFT_NEVER)
		wait_longer(s, tune); /* the last one was never answered */
	s->trial = s->table[s->valid + below(draw, (uint32_t)s->paths - s->valid)];
	s->trial_left = TRIAL_PKTS;
	s->trial_back = 0;
	s->try_at_ns = now + s->try_wait_ns;
}

uint32_t spray_next(struct spray *s, const struct schedule_tune *tune, uint64_t draw, weft_ns now)
{
	if (!s->trial_left && trial_due(s, tune, now))
		begin_trial(s, tune, draw, now);
	if (s->trial_left) {
		s->trial_left--;
		s->tried_ns = now;
		return s->trial;
	}
	if (!tune->uniform)
		return s->table[below(draw, s->valid)];
	if (!s->left)
		s->left = s->valid;
	uint32_t at = below(draw, s->left--);

	swap(s, at, s->left);
	return s->table[s->left];
}

/* All that is known of the others is as old as this one's absence. */
static void clear_board(struct spray *s)
{
	for (uint16_t i = 0; i < s->paths; i++)
		board(s)[i] = 0;
	s->bytes = 0;
}

static void admit(struct spray *s, uint16_t path)
{
	for (uint32_t i = s->valid; i < s->paths; i++) {
		if (s->table[i] != path)
			continue;
		swap(s, i, s->valid++);
		s->admitted = true;
		s->left = s->valid;
		clear_board(s);
		return;
	}
}

static bool is_excluded(const struct spray *s, uint16_t path)
{
	for (uint32_t i = s->valid; i < s->paths; i++) {
		if (s->table[i] == path)
			return true;
	}
	return false;
}

/* Data of the path on trial. As fast as the others: the next one is tried at once, for what failed together comes back
 * together. The first that is late ends it. */
static void judge_trial(struct spray *s, const struct schedule_tune *tune, uint16_t path, weft_ns now)
{
	if (s->tried_ns == WEFT_NEVER || path != s->trial)
		return;
	bool late = now - s->tried_ns > TRIAL_RTTS * s->rtt_ns;

	if (!late && ++s->trial_back < TRIAL_BACK)
		return;
	if (late) {
		wait_longer(s, tune);
		s->try_at_ns = now + s->try_wait_ns;
	} else {
		admit(s, path);
		s->try_at_ns = now;
	}
	s->trial_left = 0;
	s->tried_ns = WEFT_NEVER;
}

/* v_min / v_max of what is on the board (fig. 6). */
static void note_speeds(struct spray *s, uint32_t most)
{
	uint32_t least = most;

	for (uint32_t i = 0; i < s->valid; i++)
		least = board(s)[s->table[i]] < least ? board(s)[s->table[i]] : least;
	s->looks++;
	s->slowest = most ? (uint16_t)(least * 1000u / most) : 1000;
	s->least = s->slowest < s->least ? s->slowest : s->least;
}

/* Equation 2. The fastest is never excluded, so one is always left. */
static void judge(struct spray *s, const struct schedule_tune *tune, weft_ns now)
{
	uint32_t most = 0, before = s->valid;

	for (uint32_t i = 0; i < s->valid; i++)
		most = board(s)[s->table[i]] > most ? board(s)[s->table[i]] : most;
	note_speeds(s, most);
	for (uint32_t i = 0; i < s->valid;) {
		if (board(s)[s->table[i]] * 1000u < tune->theta_permille * most)
			swap(s, i, --s->valid);
		else
			i++;
	}
	clear_board(s);
	if (s->valid == s->paths && !s->admitted) {
		s->try_wait_ns = WEFT_US(tune->reprobe_us); /* all is well again */
	} else if (s->valid < before) {
		s->left = s->valid;
		if (before < s->paths || s->admitted)
			wait_longer(s, tune);
		s->try_at_ns = now + s->try_wait_ns;
	}
	s->admitted = false;
}

static bool board_full(const struct spray *s, const struct schedule_tune *tune, uint32_t mtu_bytes)
{
	uint64_t least = (uint64_t)tune->board_pkts * s->valid * mtu_bytes;

	return s->bytes >= tune->board_bits / 8 && s->bytes >= least;
}

void spray_data(struct spray *s, const struct schedule_tune *tune, const struct weft_rcc_data *ev, uint32_t mtu_bytes,
		weft_ns now)
{
	if (ev->rtt_ns)
		s->rtt_ns = s->rtt_ns ? s->rtt_ns - s->rtt_ns / 8 + ev->rtt_ns / 8 : ev->rtt_ns;
	if (!tune->probing || !ev->scheduled || ev->path >= s->paths)
		return;
	if (s->valid < s->paths && is_excluded(s, ev->path)) {
		judge_trial(s, tune, ev->path, now);
		return;
	}
	board(s)[ev->path] += board(s)[ev->path] < UINT16_MAX;
	s->bytes += ev->bytes;
	if (board_full(s, tune, mtu_bytes))
		judge(s, tune, now);
}
