/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at an engine changes nothing, ends, and shows what is possible; so does reading its recorder. */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "weft/recorder.h"
#include "weft/view.h"
#include "world.h"

enum { PAGES = 2000, ROWS = WEFT_OP_ROWS_MIN + 3, EVENTS = WEFT_RECORDER_EVENTS_MIN };

static size_t recorder_bytes(void)
{
	return weft_recorder_bytes(EVENTS);
}

static void look_at_conns(const struct world *w, int side, unsigned rows_max)
{
	struct weft_conn_row rows[ROWS];
	uint32_t cursor = 0, pages = 0;
	do {
		unsigned n = weft_engine_conns(w->d.e[side], w->d.now, &cursor, rows, rows_max);
		assert_true(n <= rows_max && ++pages < PAGES);
		for (unsigned i = 0; i < n; i++)
			assert_true(rows[i].state <= WEFT_CONN_CLOSING);
	} while (cursor);
}

static void look_at_ops(const struct world *w, int side)
{
	struct weft_op_row rows[ROWS];
	uint32_t cursor = 0, pages = 0;
	do {
		unsigned n = weft_engine_ops(w->d.e[side], w->d.now, &cursor, rows, ROWS);
		assert_true(n <= ROWS && ++pages < PAGES);
		for (unsigned i = 0; i < n; i++) {
			assert_non_null(weft_op_kind_name(rows[i].kind));
			assert_non_null(weft_op_wait_name(rows[i].wait));
			assert_true(w->hostile || rows[i].done_bytes <= rows[i].bytes);
		}
	} while (cursor);
}

static void see_conn(void *arg, const struct weft_conn_view *view)
{
	assert_true(view->ip && view->cwnd_bytes && view->brtt_ns && view->payload_bytes && view->ev >= -1);
}

static void see_credit(void *arg, const struct weft_ip *ip, const struct weft_rcc_view *view)
{
	assert_true(ip && view);
}

static void see_event(void *arg, const struct weft_event *event, const struct weft_ip *peer)
{
	uint64_t *newest_ns = arg;
	assert_non_null(weft_event_name(event->kind));
	assert_true(event->time_ns >= *newest_ns);
	*newest_ns = event->time_ns;
}

static void read_recorder(const struct world *w, int side)
{
	struct weft_recording recording;
	uint64_t newest_ns = 0;
	const uint8_t *buffer = w->recorder[side];
	assert_int_equal(weft_recorder_read(buffer, recorder_bytes(), buffer, &recording, see_event, &newest_ns), 0);
	assert_true(recording.lost_events <= recording.events && newest_ns <= w->d.now);
}

/* What others have scribbled over is no recording, or one of something else. */
static void read_spoilt(struct world *w, int side)
{
	struct weft_recording recording;
	uint8_t *copy = aligned_alloc(64, recorder_bytes());
	assert_non_null(copy);
	memcpy(copy, w->recorder[side], recorder_bytes());
	for (int i = program_u8(&w->in) & 15; i >= 0; i--) {
		uint16_t at = program_u16(&w->in);
		copy[at % (i & 1 ? WEFT_RECORDER_HEAD_BYTES : recorder_bytes())] = program_u8(&w->in);
	}
	size_t bytes = recorder_bytes() - (program_u8(&w->in) & 1 ? program_u16(&w->in) % recorder_bytes() : 0);
	weft_recorder_read(copy, bytes, copy, &recording, NULL, NULL);
	free(copy);
}

void world_recorder_open(struct world *w)
{
	for (int i = 0; i < 2; i++) {
		w->recorder[i] = aligned_alloc(64, recorder_bytes());
		assert_non_null(w->recorder[i]);
		assert_int_equal(weft_engine_record(w->d.e[i], w->recorder[i], recorder_bytes()), 0);
	}
}

void world_recorder_close(struct world *w)
{
	free(w->recorder[0]);
	free(w->recorder[1]);
}

void world_look(struct world *w)
{
	enum { SIDE = 1, FEW = 2, SPOILT = 4 };
	uint8_t what = program_u8(&w->in);
	int side = what & SIDE;
	look_at_conns(w, side, what & FEW ? 1 : ROWS);
	look_at_ops(w, side);
	weft_engine_view(w->d.e[side], see_conn, NULL);
	weft_engine_credit_view(w->d.e[side], see_credit, NULL);
	if (!w->recorder[side])
		return;
	read_recorder(w, side);
	if (what & SPOILT)
		read_spoilt(w, side);
	if (what >> 4 == 15) /* a new recording, while connections are open */
		assert_int_equal(weft_engine_record(w->d.e[side], w->recorder[side], recorder_bytes()), 0);
}
