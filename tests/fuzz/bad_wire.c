/* SPDX-License-Identifier: BSD-3-Clause */
#include "bad_wire.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"

enum { PKT_MAX = 10000, IP4_BYTES = 20, IP6_BYTES = 40, UDP = 17, LATE_STEP_NS = 400 };

/* Only data is trimmed or marked, as switches do. */
static enum duo_fate fate_of(void *arg, int from, const struct plain_pkt *p, uint64_t nth)
{
	struct bad_wire *w = arg;
	enum duo_fate fate = w->from[from].fate;
	if (w->cut || (w->narrow_bytes && p->payload_bytes > w->narrow_bytes))
		return DUO_DROP;
	if (!(w->from[from].mask >> (nth & 15) & 1))
		return DUO_PASS;
	bool may_trim = w->trims && p->net.dscp == WIRE_DSCP_TRIMMABLE;
	if ((fate == DUO_TRIM || fate == DUO_TRIM_LASTHOP) && !may_trim)
		return DUO_DROP;
	return fate == DUO_MARK && p->net.dscp != WIRE_DSCP_TRIMMABLE ? DUO_LATE : fate;
}

static void keep(void *arg, int from, const uint8_t *bytes, uint16_t len)
{
	struct bad_wire *w = arg;
	struct kept *k = &w->kept[w->count++ % BAD_WIRE_KEPT];
	free(k->bytes);
	*k = (struct kept){w->d->now, from, len, malloc(len)};
	assert_non_null(k->bytes);
	memcpy(k->bytes, bytes, len);
}

void bad_wire_open(struct bad_wire *w, struct duo *d, bool trims)
{
	*w = (struct bad_wire){.d = d, .trims = trims};
	d->fate = fate_of;
	d->fate_arg = w;
	d->tap = keep;
	d->tap_arg = w;
}

void bad_wire_close(struct bad_wire *w)
{
	for (int i = 0; i < BAD_WIRE_KEPT; i++)
		free(w->kept[i].bytes);
}

void bad_wire_set(struct bad_wire *w, struct program *in)
{
	static const enum duo_fate fates[] = {DUO_DROP,         DUO_DUP,  DUO_LATE, DUO_TRIM,
					      DUO_TRIM_LASTHOP, DUO_MARK, DUO_DROP, DUO_LATE};
	uint8_t what = program_u8(in);
	w->from[what & 1].fate = fates[what >> 1 & 7];
	w->from[what & 1].mask = program_u16(in);
	weft_ns steps = what >> 4;
	w->d->late_ns = LATE_STEP_NS * steps * steps;
}

void bad_wire_heal(struct bad_wire *w)
{
	w->from[0].mask = w->from[1].mask = 0;
	w->narrow_bytes = 0;
}

static const struct kept *choose(const struct bad_wire *w, struct program *in)
{
	const struct kept *k = &w->kept[(w->count + program_u8(in)) % BAD_WIRE_KEPT];
	return k->bytes ? k : NULL;
}

void bad_wire_replay(struct bad_wire *w, struct program *in, weft_ns max_age_ns)
{
	const struct kept *k = choose(w, in);
	if (k && w->d->now - k->sent_ns <= max_age_ns)
		duo_inject(w->d, !k->from, k->bytes, k->len);
}

static void put(uint8_t *at, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static uint64_t get(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

/* One number in the packet: another one, a bit more or less, or with another bit. */
static void edit(uint8_t *bytes, size_t len, struct program *in)
{
	static const unsigned widths[] = {1, 2, 4, 8};
	uint8_t where = program_u8(in), how = program_u8(in), by = program_u8(in);
	unsigned width = widths[how & 3];
	if (where + width > len)
		return;
	uint64_t value = get(bytes + where, width);
	switch (how >> 2 & 3) {
	case 0:
		value = by;
		break;
	case 1:
		value += (uint64_t)(int64_t)(int8_t)by;
		break;
	case 2:
		value ^= UINT64_C(1) << (by & 63);
		break;
	default:
		value = 0 - (uint64_t)by;
	}
	put(bytes + where, width, value);
}

static uint16_t ip4_checksum(const uint8_t *ip)
{
	uint32_t sum = 0;
	for (int i = 0; i < IP4_BYTES; i += 2)
		sum += (uint32_t)get(ip + i, 2);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

/* Lengths and checksums are right, so that what was altered gets beyond them. */
static void repair(uint8_t *bytes, size_t len)
{
	bool is_v4 = bytes[0] >> 4 == 4;
	size_t ip_bytes = is_v4 ? IP4_BYTES : IP6_BYTES;
	if (len < ip_bytes + 8)
		return;
	uint8_t protocol = bytes[is_v4 ? 9 : 6];
	if (is_v4) {
		put(bytes + 2, 2, len);
		put(bytes + 10, 2, 0);
		put(bytes + 10, 2, ip4_checksum(bytes));
	} else {
		put(bytes + 4, 2, len - IP6_BYTES);
	}
	if (protocol == UDP) {
		put(bytes + ip_bytes + 4, 2, len - ip_bytes);
		put(bytes + ip_bytes + 6, 2, 0);
	}
}

/* Shorter, or longer by zeros. */
static uint16_t resize(uint16_t len, uint8_t *bytes, struct program *in)
{
	enum { MORE = 20 };
	uint8_t left = program_u8(in);
	if (left >= 240) {
		memset(bytes + len, 0, MORE);
		return len + MORE;
	}
	return left < len ? left : len;
}

void bad_wire_alter(struct bad_wire *w, struct program *in)
{
	enum { EDITS = 3, RESIZE = 4, REFLECT = 8, BROKEN = 16 };
	uint8_t bytes[PKT_MAX], how = program_u8(in);
	const struct kept *k = choose(w, in);
	if (!k)
		return;
	uint16_t len = k->len;
	memcpy(bytes, k->bytes, len);
	for (int i = 0; i < (how & EDITS); i++)
		edit(bytes, len, in);
	if (how & RESIZE)
		len = resize(len, bytes, in);
	if (!(how & BROKEN) && len)
		repair(bytes, len);
	duo_inject(w->d, how & REFLECT ? k->from : !k->from, bytes, len);
}
