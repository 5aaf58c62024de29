/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ends over memory of the test, which also plays an end that writes anything. */
#include "local_ring.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "rng.h"

enum { MTU = 300, HEAD = 40 };

static uint8_t *memory;
static struct local_end tx, rx;
static uint8_t head[HEAD], out[MTU];

static int setup(void **state)
{
	uint64_t bytes = local_shm_bytes(MTU);
	memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	if (!memory)
		return -1;
	memset(memory, 0, bytes);
	tx = (struct local_end){.shared = &((struct local_shm *)memory)->rings[1],
				.slots = memory + local_slots_at(1, MTU),
				.stride = local_slot_stride(MTU),
				.mtu_bytes = MTU};
	rx = tx;
	return 0;
}

static int teardown(void **state)
{
	free(memory);
	return 0;
}

/* An IPv4 header, and a number behind it. */
static struct weft_pkt pkt_of(uint32_t number, uint8_t ecn)
{
	memset(head, 0, sizeof head);
	head[0] = 0x45;
	head[1] = ecn;
	head[3] = HEAD;
	memcpy(head + 24, &number, sizeof number);
	return (struct weft_pkt){.head = head, .head_len = HEAD, .ecn = ecn};
}

static enum local_put put(uint32_t number)
{
	struct weft_pkt pkt = pkt_of(number, WEFT_ECN_NOT);
	return local_ring_put(&tx, &pkt);
}

static uint32_t get(void)
{
	uint32_t number;
	assert_true(local_ring_has(&rx));
	assert_int_equal(local_ring_get(&rx, out, sizeof out), HEAD);
	memcpy(&number, out + 24, sizeof number);
	return number;
}

static void fill(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(put(i), LOCAL_PUT);
}

static struct local_slot *slot(uint32_t i)
{
	return (struct local_slot *)(tx.slots + (uint64_t)i % LOCAL_SLOTS * tx.stride);
}

static void ring__gathers_header_payload_and_trailer(void **state)
{
	const uint8_t payload[5] = {1, 2, 3, 4, 5};
	struct weft_pkt pkt = pkt_of(7, WEFT_ECN_NOT);
	pkt.payload = payload;
	pkt.payload_len = 5;
	pkt.trailer = 0x44332211;
	pkt.flags = WEFT_PKT_TRAILER;
	assert_false(local_ring_has(&rx));
	assert_int_equal(local_ring_put(&tx, &pkt), LOCAL_PUT);
	pkt.payload = NULL; /* length only */
	assert_int_equal(local_ring_put(&tx, &pkt), LOCAL_PUT);
	assert_int_equal(local_ring_get(&rx, out, sizeof out), HEAD + 9);
	assert_memory_equal(out, head, HEAD);
	assert_memory_equal(out + HEAD, payload, 5);
	assert_memory_equal(out + HEAD + 5, "\x11\x22\x33\x44", 4);
	assert_int_equal(local_ring_get(&rx, out, sizeof out), HEAD + 9);
	assert_memory_equal(out + HEAD, "\0\0\0\0\0\x11\x22\x33\x44", 9);
	assert_false(local_ring_has(&rx));
}

/* Also where the numbers of packets wrap. */
static void ring__keeps_the_order_and_is_full_at_its_size(void **state)
{
	tx.next = tx.emptied = rx.next = rx.emptied = UINT32_MAX - LOCAL_SLOTS / 2;
	local_ring_release(&rx);
	for (uint32_t round = 0; round < 5; round++) {
		fill(LOCAL_SLOTS);
		assert_int_equal(put(0), LOCAL_FULL);
		for (uint32_t i = 0; i < LOCAL_SLOTS; i++)
			assert_int_equal(get(), i);
		assert_false(local_ring_has(&rx));
		assert_int_equal(put(0), LOCAL_FULL); /* nothing was released yet */
		local_ring_release(&rx);
	}
}

static void ring__takes_no_packet_beyond_its_mtu(void **state)
{
	struct weft_pkt pkt = pkt_of(0, WEFT_ECN_NOT);
	pkt.payload_len = MTU - HEAD;
	assert_int_equal(local_ring_put(&tx, &pkt), LOCAL_PUT);
	pkt.payload_len++;
	assert_int_equal(local_ring_put(&tx, &pkt), LOCAL_FULL);
	assert_int_equal(tx.next, 1);
}

static void ring__marks_what_can_be_marked_when_it_is_half_full(void **state)
{
	fill(LOCAL_SLOTS / 2 + 1);
	assert_int_equal(put(0), LOCAL_PUT);
	struct weft_pkt pkt = pkt_of(1, WEFT_ECN_ECT0);
	assert_int_equal(local_ring_put(&tx, &pkt), LOCAL_PUT_MARKED);
	assert_int_equal(slot(tx.next - 1)->packet[1] & 3, WEFT_ECN_CE);
	for (uint32_t i = 0; i < 4; i++)
		get();
	local_ring_release(&rx);
	pkt = pkt_of(2, WEFT_ECN_ECT0);
	assert_int_equal(local_ring_put(&tx, &pkt), LOCAL_PUT);
	assert_int_equal(pkt.ecn, WEFT_ECN_ECT0);
}

static void ring__a_receiver_that_took_what_was_not_there_is_noticed(void **state)
{
	static const uint32_t wild[] = {LOCAL_SLOTS + 1, 1000, 1U << 31, UINT32_MAX, UINT32_MAX - LOCAL_SLOTS};
	for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
		tx.next = tx.emptied = 0;
		fill(LOCAL_SLOTS / 2);
		atomic_store(&tx.shared->taken, wild[i]);
		assert_int_equal(put(0), LOCAL_BROKEN);
		atomic_store(&tx.shared->taken, 0);
	}
}

static void ring__lengths_that_no_packet_has_are_refused(void **state)
{
	static const uint32_t wild[] = {0, 1, 19, MTU + 1, 9000, 65536, 1U << 31, UINT32_MAX};
	for (uint32_t i = 0; i < sizeof wild / sizeof *wild; i++) {
		put(i);
		atomic_store(&slot(i)->bytes, wild[i]);
		assert_true(local_ring_has(&rx));
		assert_int_equal(local_ring_get(&rx, out, sizeof out), 0);
	}
	put(5);
	assert_int_equal(local_ring_get(&rx, out, HEAD - 1), 0); /* no room */
	put(6);
	assert_int_equal(get(), 6);
}

/* The receiver has room for packets of a larger MTU than the channel's. What lies behind a slot is another packet, and
 * what lies behind the last one is not in the channel. */
static void ring__no_more_than_the_mtu_is_read_into_a_larger_room(void **state)
{
	enum { ROOM = 2 * MTU };
	static const uint32_t wild[] = {MTU + 1, ROOM - 1, ROOM};
	static const uint32_t firsts[] = {0, LOCAL_SLOTS - 1};
	uint8_t larger[ROOM], untouched[ROOM];
	memset(larger, 0x5a, sizeof larger);
	memset(untouched, 0x5a, sizeof untouched);
	for (uint32_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
		for (uint32_t k = 0; k < sizeof wild / sizeof *wild; k++) {
			tx.next = tx.emptied = rx.next = rx.emptied = firsts[i];
			assert_int_equal(put(7), LOCAL_PUT);
			atomic_store(&slot(firsts[i])->bytes, wild[k]);
			assert_true(local_ring_has(&rx));
			assert_int_equal(local_ring_get(&rx, larger, ROOM), 0);
			assert_memory_equal(larger, untouched, ROOM);
		}
		rx.next = firsts[i];
		atomic_store(&slot(firsts[i])->bytes, MTU);
		assert_int_equal(local_ring_get(&rx, larger, ROOM), MTU);
		assert_memory_equal(larger, slot(firsts[i])->packet, MTU);
		assert_memory_equal(larger + MTU, untouched, ROOM - MTU);
		memset(larger, 0x5a, sizeof larger);
	}
}

/* Numbers of other packets than the next one: nothing is there. */
static void ring__wild_numbers_are_no_packets(void **state)
{
	static const uint32_t wild[] = {0, 2, LOCAL_SLOTS + 1, UINT32_MAX};
	for (uint32_t i = 0; i < sizeof wild / sizeof *wild; i++) {
		atomic_store(&slot(0)->number, wild[i]);
		assert_false(local_ring_has(&rx));
	}
}

static void ring__who_sleeps_is_woken_once(void **state)
{
	assert_false(local_ring_wants_wake(&tx));
	atomic_store(&tx.shared->sleeps, 1);
	assert_true(local_ring_wants_wake(&tx));
	assert_false(local_ring_wants_wake(&tx));
}

/* The other side writes anything anywhere meanwhile: what comes out is as long as it may be, and no more is read than a
 * ring holds. */
static void ring__random_memory_harms_nobody(void **state)
{
	struct rng rng = {20};
	uint64_t bytes = local_shm_bytes(MTU);
	for (uint32_t i = 0; i < 300000; i++) {
		uint32_t word = (uint32_t)rng_below(&rng, UINT64_C(1) << 32);
		uint64_t at = rng_below(&rng, 2) ? (uint64_t)((uint8_t *)slot(rx.next) - memory)
						 : rng_below(&rng, bytes / 4) * 4;
		if (rng_below(&rng, 4) == 0)
			word = rx.next + 1;
		memcpy(memory + at, &word, sizeof word);
		if (local_ring_has(&rx))
			assert_true(local_ring_get(&rx, out, sizeof out) <= MTU);
		if (put(i) == LOCAL_BROKEN)
			atomic_store(&tx.shared->taken, tx.emptied = tx.next);
		if (rng_below(&rng, 8) == 0)
			rx.emptied = rx.next - LOCAL_SLOTS, local_ring_release(&rx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ring__gathers_header_payload_and_trailer, setup, teardown),
		cmocka_unit_test_setup_teardown(ring__keeps_the_order_and_is_full_at_its_size, setup, teardown),
		cmocka_unit_test_setup_teardown(ring__takes_no_packet_beyond_its_mtu, setup, teardown),
		cmocka_unit_test_setup_teardown(ring__marks_what_can_be_marked_when_it_is_half_full, setup, teardown),
		cmocka_unit_test_setup_teardown(ring__a_receiver_that_took_what_was_not_there_is_noticed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(ring__lengths_that_no_packet_has_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(ring__no_more_than_the_mtu_is_read_into_a_larger_room, setup, teardown),
		cmocka_unit_test_setup_teardown(ring__wild_numbers_are_no_packets, setup, teardown),
		cmocka_unit_test_setup_teardown(ring__who_sleeps_is_woken_once, setup, teardown),
		cmocka_unit_test_setup_teardown(ring__random_memory_harms_nobody, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
