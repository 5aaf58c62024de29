/* SPDX-License-Identifier: BSD-3-Clause */
/* What a flight recorder's buffer says. Its bytes may come from anywhere: nothing in it is believed. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "event_ring.h"

/* Slots behind the writer's that may be half written as well: stores of one core may be seen in another order. */
enum { IN_DOUBT = 8 };

size_t weft_recorder_bytes(uint32_t events)
{
	uint64_t capacity = WEFT_RECORDER_EVENTS_MIN;
	while (capacity < events && capacity < WEFT_RECORDER_EVENTS_MAX)
		capacity *= 2;
	return sizeof(struct event_ring) + capacity * sizeof(struct event);
}

void weft_recorder_sign(void *buffer, const struct weft_recorder_owner *owner)
{
	struct event_ring *ring = buffer;
	ring->owner = *owner;
}

const char *weft_event_name(uint8_t kind)
{
	static const char *const names[WEFT_EVENT_KINDS] = {
		[WEFT_EVENT_SENT] = "sent",
		[WEFT_EVENT_SENT_AGAIN] = "sent_again",
		[WEFT_EVENT_RECEIVED] = "received",
		[WEFT_EVENT_DUPLICATE] = "duplicate",
		[WEFT_EVENT_TRIMMED] = "trimmed",
		[WEFT_EVENT_ACK_SENT] = "ack_sent",
		[WEFT_EVENT_ACK_RECEIVED] = "ack_received",
		[WEFT_EVENT_ACK_MARKED] = "ack_marked",
		[WEFT_EVENT_NACK_SENT] = "nack_sent",
		[WEFT_EVENT_NACK_RECEIVED] = "nack_received",
		[WEFT_EVENT_LOST] = "lost",
		[WEFT_EVENT_OPENED] = "opened",
		[WEFT_EVENT_CLOSED] = "closed",
		[WEFT_EVENT_CONTROL] = "control",
	};
	return kind < WEFT_EVENT_KINDS ? names[kind] : NULL;
}

static uint64_t written_of(const void *head)
{
	uint64_t written;
	memcpy(&written, (const uint8_t *)head + offsetof(struct event_ring, written), sizeof written);
	return written / sizeof(struct event);
}

/* Names are shown to people: anything that is not printable ends them, and what formats quote by. */
static void copy_name(char *to, const char *from)
{
	size_t n = 0;
	while (n < WEFT_RECORDER_NAME_BYTES - 1 && from[n] > ' ' && from[n] < 0x7f && from[n] != '"' &&
	       from[n] != '\\') {
		to[n] = from[n];
		n++;
	}
	to[n] = 0;
}

/* Bytes of the part before the events, which is copied, for buffers may be anywhere in memory. */
static bool read_head(const void *copy, size_t bytes, struct event_ring *head)
{
	uint64_t capacity;
	if (bytes < sizeof *head)
		return false;
	memcpy(head, copy, offsetof(struct event_ring, peer));
	capacity = head->capacity;
	return head->magic == EVENT_RING_MAGIC && head->peers == EVENT_RING_PEERS &&
	       capacity >= WEFT_RECORDER_EVENTS_MIN && capacity <= WEFT_RECORDER_EVENTS_MAX &&
	       !(capacity & (capacity - 1)) && bytes - sizeof *head >= capacity * sizeof(struct event);
}

static bool find_peer(const void *copy, uint16_t conn, struct weft_ip *ip)
{
	struct event_peer p;
	memcpy(&p, (const uint8_t *)copy + offsetof(struct event_ring, peer) + conn % EVENT_RING_PEERS * sizeof p,
	       sizeof p);
	*ip = p.ip;
	return conn && p.conn == conn && p.sum == event_peer_sum(&p);
}

static bool is_of_receiver(uint8_t kind)
{
	return kind == WEFT_EVENT_RECEIVED || kind == WEFT_EVENT_DUPLICATE || kind == WEFT_EVENT_TRIMMED ||
	       kind == WEFT_EVENT_ACK_SENT || kind == WEFT_EVENT_CONTROL;
}

/* What a kind does not store was left by the event before it in its place. */
static struct weft_event told(const struct event *s, uint8_t kind)
{
	bool is_ack = kind == WEFT_EVENT_ACK_RECEIVED || kind == WEFT_EVENT_ACK_MARKED, rx = is_of_receiver(kind);
	struct weft_event e = {.time_ns = s->time_ns,
			       .kind = kind,
			       .detail = (uint8_t)(s->conn >> 16),
			       .conn = (uint16_t)s->conn,
			       .psn = s->psn};
	e.cwnd_bytes = rx ? 0 : s->cwnd_bytes;
	e.inflight_bytes = rx || is_ack ? 0 : s->inflight_bytes;
	e.rtt_ns = is_ack ? s->ev_and_bytes : 0;
	e.ev = is_ack ? 0 : (uint16_t)s->ev_and_bytes;
	e.bytes = is_ack ? 0 : (uint16_t)(s->ev_and_bytes >> 16);
	return e;
}

/* Reads the event with this number; false: its place has another, or half of it. */
static bool read_event(const void *copy, uint64_t capacity, uint64_t at, struct weft_event *e)
{
	struct event s;
	memcpy(&s, (const uint8_t *)copy + sizeof(struct event_ring) + at % capacity * sizeof s, sizeof s);
	uint32_t kind = s.place - (uint32_t)(at * sizeof s);
	if (!kind || kind >= WEFT_EVENT_KINDS || s.conn >> 24)
		return false;
	*e = told(&s, (uint8_t)kind);
	return true;
}

int weft_recorder_read(const void *copy, size_t bytes, const void *later, struct weft_recording *out,
		       void (*fn)(void *arg, const struct weft_event *event, const struct weft_ip *peer), void *arg)
{
	struct event_ring head;
	if (!read_head(copy, bytes, &head))
		return -EINVAL;
	*out = (struct weft_recording){.ip = head.ip, .capacity = head.capacity};
	out->owner.pid = head.owner.pid;
	out->owner.utc_ns = head.owner.utc_ns;
	copy_name(out->owner.program, head.owner.program);
	copy_name(out->owner.device, head.owner.device);
	uint64_t end = written_of(copy), last = written_of(later), kept = 0;
	last = last > end ? last : end;
	uint64_t span = last - end < head.capacity ? head.capacity - (last - end) : 0;
	uint64_t first = last < head.capacity ? 0 : end - (span > IN_DOUBT ? span - IN_DOUBT : 0);
	for (uint64_t at = first; at < end; at++) {
		struct weft_event e;
		struct weft_ip peer;
		if (!read_event(copy, head.capacity, at, &e))
			continue;
		kept++;
		if (fn)
			fn(arg, &e, find_peer(copy, e.conn, &peer) ? &peer : NULL);
	}
	out->events = end;
	out->lost_events = end - kept;
	return 0;
}
