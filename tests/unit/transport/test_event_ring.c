/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "event_ring.h"
#include "inside.h"

enum { EVENTS = 1024, SEEN_MAX = 4096 };

struct seen {
	struct weft_event events[SEEN_MAX];
	bool named[SEEN_MAX];
	uint32_t count;
	struct weft_recording about;
};

static void see(void *arg, const struct weft_event *e, const struct weft_ip *peer)
{
	struct seen *s = arg;
	assert_in_range(s->count, 0, SEEN_MAX - 1);
	assert_non_null(weft_event_name(e->kind));
	s->named[s->count] = peer != NULL;
	s->events[s->count++] = *e;
}

static void read_all(const void *buffer, size_t bytes, struct seen *s)
{
	*s = (struct seen){0};
	assert_int_equal(weft_recorder_read(buffer, bytes, buffer, &s->about, see, s), 0);
}

static uint32_t count_kind(const struct seen *s, uint8_t kind)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->count; i++)
		n += s->events[i].kind == kind;
	return n;
}

static const struct weft_event *nth_of(const struct seen *s, uint8_t kind, uint32_t n)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->events[i].kind == kind && !n--)
			return &s->events[i];
	fail_msg("no such event");
	return NULL;
}

/* A buffer for an engine, which records into it from now on. */
static void *start(struct duo *d, int side, uint32_t events)
{
	size_t bytes = weft_recorder_bytes(events);
	void *buffer = aligned_alloc(64, bytes);
	assert_non_null(buffer);
	memset(buffer, 0xa5, bytes);
	assert_int_equal(weft_engine_record(d->e[side], buffer, bytes), 0);
	return buffer;
}

static void record__tells_what_both_ends_did(void **state)
{
	static struct seen a, b;
	struct duo d;
	open_default(&d);
	void *buffers[2] = {start(&d, 0, EVENTS), start(&d, 1, EVENTS)};
	duo_transfer(&d, 0, 20 * 4096);
	read_all(buffers[0], weft_recorder_bytes(EVENTS), &a);
	read_all(buffers[1], weft_recorder_bytes(EVENTS), &b);
	assert_int_equal(count_kind(&a, WEFT_EVENT_SENT), duo_stats(&d, 0)->tx_data);
	assert_int_equal(count_kind(&a, WEFT_EVENT_ACK_RECEIVED), 20);
	assert_int_equal(count_kind(&b, WEFT_EVENT_RECEIVED), 20);
	assert_int_equal(a.events[0].kind, WEFT_EVENT_OPENED);
	assert_int_equal(nth_of(&b, WEFT_EVENT_OPENED, 0)->detail, 1);
	for (uint32_t i = 0; i < 20; i++) {
		const struct weft_event *sent = nth_of(&a, WEFT_EVENT_SENT, i);
		assert_int_equal(nth_of(&b, WEFT_EVENT_RECEIVED, i)->psn, sent->psn);
		assert_int_equal(nth_of(&b, WEFT_EVENT_RECEIVED, i)->ev, sent->ev);
		assert_in_range(sent->inflight_bytes, 4096, sent->cwnd_bytes);
		assert_int_equal(sent->bytes, nth_of(&a, WEFT_EVENT_SENT, 0)->bytes);
		assert_in_range(nth_of(&a, WEFT_EVENT_ACK_RECEIVED, i)->rtt_ns, d.latency_ns, 20 * d.latency_ns);
	}
	for (uint32_t i = 0; i < a.count; i++)
		assert_true(a.named[i]);
	assert_int_equal(a.about.lost_events, 0);
	duo_close(&d);
	free(buffers[0]);
	free(buffers[1]);
}

/* Before the packet that was the reason; not where every packet has one at once. */
static void record__tells_of_acks(void **state)
{
	static struct seen b;
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.ack_every = *state ? 4 : 1;
	duo_open(&d, &conf);
	void *buffer = start(&d, 1, EVENTS);
	duo_transfer(&d, 0, 20 * 4096);
	duo_transfer(&d, 0, 20 * 4096); /* packets of an established connection take another way */
	read_all(buffer, weft_recorder_bytes(EVENTS), &b);
	assert_int_equal(count_kind(&b, WEFT_EVENT_RECEIVED), 40);
	assert_in_range(duo_stats(&d, 1)->tx_ack, 10, 40);
	assert_int_equal(count_kind(&b, WEFT_EVENT_ACK_SENT), *state ? duo_stats(&d, 1)->tx_ack : 0);
	if (*state) /* the first packet has an ACK at once */
		assert_int_equal(nth_of(&b, WEFT_EVENT_ACK_SENT, 0) + 1, nth_of(&b, WEFT_EVENT_RECEIVED, 0));
	duo_close(&d);
	free(buffer);
}

static void record__tells_of_losses_and_refusals(void **state)
{
	static struct seen a, b;
	struct hit trim = {3, 3, DUO_TRIM};
	struct hit drop = {27, 27, DUO_DROP};
	struct duo d;
	open_default(&d);
	void *buffers[2] = {start(&d, 0, EVENTS), start(&d, 1, EVENTS)};
	d.fate = hit_data;
	d.fate_arg = &trim;
	duo_transfer(&d, 0, 20 * 4096);
	d.fate_arg = &drop;
	duo_transfer(&d, 0, 20 * 4096);
	read_all(buffers[0], weft_recorder_bytes(EVENTS), &a);
	read_all(buffers[1], weft_recorder_bytes(EVENTS), &b);
	assert_int_equal(count_kind(&a, WEFT_EVENT_NACK_RECEIVED), 1);
	assert_int_equal(count_kind(&b, WEFT_EVENT_NACK_SENT), 1);
	assert_int_equal(count_kind(&b, WEFT_EVENT_TRIMMED), 1);
	assert_int_equal(count_kind(&a, WEFT_EVENT_LOST), 2);
	assert_int_equal(nth_of(&a, WEFT_EVENT_LOST, 0)->detail, WEFT_CC_LOSS_TRIM);
	assert_int_equal(count_kind(&a, WEFT_EVENT_SENT_AGAIN), 2);
	assert_int_equal(nth_of(&a, WEFT_EVENT_SENT_AGAIN, 0)->psn, nth_of(&b, WEFT_EVENT_TRIMMED, 0)->psn);
	assert_int_equal(nth_of(&a, WEFT_EVENT_SENT_AGAIN, 0)->detail & 0x7f, 1);
	duo_close(&d);
	free(buffers[0]);
	free(buffers[1]);
}

static void record__tells_why_a_connection_failed(void **state)
{
	static struct seen a;
	static uint8_t byte;
	struct hit all = {0, UINT64_MAX, DUO_DROP};
	struct duo d;
	open_default(&d);
	void *buffer = start(&d, 0, EVENTS);
	d.fate = hit_data;
	d.fate_arg = &all;
	duo_send(&d, 0, &byte, 1, 1, &byte);
	duo_run(&d, d.now + WEFT_S(20));
	read_all(buffer, weft_recorder_bytes(EVENTS), &a);
	assert_int_equal(nth_of(&a, WEFT_EVENT_CLOSED, 0)->detail, ETIMEDOUT);
	assert_true(nth_of(&a, WEFT_EVENT_CLOSED, 0)->time_ns > 0);
	duo_close(&d);
	free(buffer);
}

static void record__names_connections_that_were_open(void **state)
{
	static struct seen a;
	struct duo d;
	open_default(&d);
	duo_transfer(&d, 0, 4096);
	void *buffer = start(&d, 0, EVENTS);
	duo_transfer(&d, 0, 4096);
	read_all(buffer, weft_recorder_bytes(EVENTS), &a);
	assert_true(a.count > 0 && a.named[0]);
	assert_int_equal(weft_engine_record(d.e[0], NULL, 0), 0);
	duo_transfer(&d, 0, 4096);
	uint64_t before = a.about.events;
	read_all(buffer, weft_recorder_bytes(EVENTS), &a);
	assert_int_equal(a.about.events, before);
	duo_close(&d);
	free(buffer);
}

static void record__refuses_what_is_no_buffer(void **state)
{
	struct duo d;
	open_default(&d);
	size_t bytes = weft_recorder_bytes(0);
	uint8_t *buffer = aligned_alloc(64, bytes + 64);
	assert_int_equal(weft_engine_record(d.e[0], buffer, bytes - 1), -EINVAL);
	assert_int_equal(weft_engine_record(d.e[0], buffer + 8, bytes), -EINVAL);
	assert_int_equal(weft_engine_record(d.e[0], buffer, bytes), 0);
	duo_transfer(&d, 0, 4096);
	duo_close(&d);
	free(buffer);
}

static void read__newest_events_over_the_oldest(void **state)
{
	static struct seen a;
	struct duo d;
	open_default(&d);
	void *buffer = start(&d, 0, 64);
	duo_transfer(&d, 0, 400 * 4096);
	read_all(buffer, weft_recorder_bytes(64), &a);
	assert_int_equal(a.about.capacity, 64);
	assert_in_range(a.count, 50, 64);
	assert_true(a.about.events > 800);
	assert_int_equal(a.about.lost_events, a.about.events - a.count);
	for (uint32_t i = 1; i < a.count; i++)
		assert_true(a.events[i].time_ns >= a.events[i - 1].time_ns);
	assert_int_equal(a.events[a.count - 1].psn, first_tx(d.e[0])->q.una - 1);
	duo_close(&d);
	free(buffer);
}

/* What was overwritten while it was copied, and a half-written event, are left out. */
static void read__leaves_out_what_is_not_whole(void **state)
{
	static struct seen a;
	struct duo d;
	open_default(&d);
	struct event_ring *ring = start(&d, 0, 64);
	size_t bytes = weft_recorder_bytes(64);
	duo_transfer(&d, 0, 100 * 4096);
	read_all(ring, bytes, &a);
	uint32_t whole = a.count;
	struct event_ring *later = malloc(bytes);
	memcpy(later, ring, bytes);
	later->written += 20 * sizeof(struct event);
	a.count = 0;
	assert_int_equal(weft_recorder_read(ring, bytes, later, &a.about, see, &a), 0);
	assert_int_equal(a.count, whole - 20);
	later->written += 1000 * sizeof(struct event);
	a.count = 0;
	assert_int_equal(weft_recorder_read(ring, bytes, later, &a.about, see, &a), 0);
	assert_int_equal(a.count, 0);
	ring->events[(ring->written / sizeof(struct event) - 3) % 64].place += sizeof(struct event);
	read_all(ring, bytes, &a);
	assert_int_equal(a.count, whole - 1);
	ring->peer[a.events[0].conn % EVENT_RING_PEERS].ip.b[3] ^= 1;
	read_all(ring, bytes, &a);
	assert_false(a.named[0]);
	free(later);
	duo_close(&d);
	free(ring);
}

static void ignore(void *arg, const struct weft_event *e, const struct weft_ip *peer)
{
	assert_non_null(weft_event_name(e->kind));
	(*(uint32_t *)arg)++;
}

/* Any bytes may come from a file. */
static void read__believes_nothing(void **state)
{
	struct duo d;
	open_default(&d);
	void *buffer = start(&d, 0, 64);
	size_t bytes = weft_recorder_bytes(64);
	duo_transfer(&d, 0, 100 * 4096);
	uint64_t random = 1;
	uint32_t refused = 0, taken = 0;
	for (int round = 0; round < 4000; round++) {
		size_t size = round % 3 ? bytes : (random >> 20) % (bytes + 1);
		uint8_t *copy = malloc(size + 1);
		struct weft_recording about;
		uint32_t events = 0;
		memcpy(copy, buffer, size);
		for (int i = 0; i < 1 + round % 16 && size; i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			/* Every other time in the head. */
			copy[(random >> 33) % (round % 2 && size > 256 ? 256 : size)] = (uint8_t)(random >> 25);
		}
		/* The part that a reader copies once more is as bad. */
		int rc = weft_recorder_read(copy, size, size > 256 ? copy : buffer, &about, ignore, &events);
		assert_true(rc == 0 || rc == -EINVAL);
		assert_true(events <= 64);
		refused += rc != 0;
		taken += rc == 0;
		free(copy);
	}
	assert_true(refused > 100 && taken > 1000);
	duo_close(&d);
	free(buffer);
}

static void name__of_every_kind(void **state)
{
	assert_null(weft_event_name(WEFT_EVENT_NONE));
	for (uint8_t kind = 1; kind < WEFT_EVENT_KINDS; kind++)
		assert_non_null(weft_event_name(kind));
	assert_null(weft_event_name(WEFT_EVENT_KINDS));
	assert_null(weft_event_name(255));
}

static void sign__names_are_printable(void **state)
{
	static struct seen a;
	struct weft_recorder_owner owner = {.pid = 7, .utc_ns = -3, .program = "a.out", .device = "eth0\033[2J"};
	struct duo d;
	open_default(&d);
	void *buffer = start(&d, 0, 64);
	weft_recorder_sign(buffer, &owner);
	read_all(buffer, weft_recorder_bytes(64), &a);
	assert_int_equal(a.about.owner.pid, 7);
	assert_int_equal(a.about.owner.utc_ns, -3);
	assert_string_equal(a.about.owner.program, "a.out");
	assert_string_equal(a.about.owner.device, "eth0");
	duo_close(&d);
	free(buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record__tells_what_both_ends_did),
		cmocka_unit_test(record__tells_of_acks),
		cmocka_unit_test_prestate(record__tells_of_acks, "coalesced"),
		cmocka_unit_test(record__tells_of_losses_and_refusals),
		cmocka_unit_test(record__tells_why_a_connection_failed),
		cmocka_unit_test(record__names_connections_that_were_open),
		cmocka_unit_test(record__refuses_what_is_no_buffer),
		cmocka_unit_test(read__newest_events_over_the_oldest),
		cmocka_unit_test(read__leaves_out_what_is_not_whole),
		cmocka_unit_test(read__believes_nothing),
		cmocka_unit_test(name__of_every_kind),
		cmocka_unit_test(sign__names_are_printable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
