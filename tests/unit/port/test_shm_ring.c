/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ends over memory of the test, which also plays an end that writes anything. */
#include "shm_ring.h"

#include <string.h>

#include "cmocka_all.h"
#include "rng.h"

static struct shm_ring ring;
static struct shm_end tx, rx;

static int setup(void **state)
{
	memset(&ring, 0, sizeof ring);
	tx = rx = (struct shm_end){.shared = &ring};
	return 0;
}

static struct shm_desc desc_of(uint32_t number)
{
	return (struct shm_desc){.buf = number * 7919 % SHM_BUFS_MAX,
				 .offset = (uint16_t)(number * 31),
				 .bytes = (uint16_t)(number * 17)};
}

static bool is_next(uint32_t number)
{
	struct shm_desc d, want = desc_of(number);
	return shm_ring_has(&rx) && shm_ring_get(&rx, &d) && d.buf == want.buf && d.offset == want.offset &&
	       d.bytes == want.bytes;
}

static void assert_empty(void)
{
	struct shm_desc d;
	assert_false(shm_ring_has(&rx));
	assert_false(shm_ring_get(&rx, &d));
}

static void ring__largest_fields_arrive(void **state)
{
	const struct shm_desc all = {.buf = SHM_BUFS_MAX - 1, .offset = UINT16_MAX, .bytes = UINT16_MAX};
	struct shm_desc d;
	shm_ring_put(&tx, all);
	assert_true(shm_ring_get(&rx, &d));
	assert_int_equal(d.buf, all.buf);
	assert_int_equal(d.offset, all.offset);
	assert_int_equal(d.bytes, all.bytes);
	assert_empty();
}

/* So many times around that the number of times in a slot begins anew. */
static void ring__random_steps_keep_the_order(void **state)
{
	struct rng rng;
	uint32_t put = 0, got = 0, total = SHM_SLOTS * 5000U;
	rng.state = 1;
	while (got < total) {
		uint32_t n = rng_below(&rng, SHM_SLOTS + 1), room = shm_ring_room(&tx, n);
		if (room > SHM_SLOTS - (put - got) || (room < n && room != SHM_SLOTS - (put - got)))
			fail_msg("room for %u, although %u of %u were put", room, put, got);
		for (n = n < room ? n : room; n > 0; n--)
			shm_ring_put(&tx, desc_of(put++));
		for (n = rng_below(&rng, SHM_SLOTS + 1); n > 0 && got < put; n--)
			if (!is_next(got++))
				fail_msg("descriptor %u is not the next one", got - 1);
		shm_ring_release(&rx);
		if (got == put)
			assert_empty();
	}
}

static void ring__full_until_the_receiver_releases(void **state)
{
	for (uint32_t i = 0; i < SHM_SLOTS; i++)
		shm_ring_put(&tx, desc_of(i));
	assert_int_equal(shm_ring_room(&tx, 1), 0);
	assert_true(is_next(0));
	assert_true(is_next(1));
	assert_int_equal(shm_ring_room(&tx, 1), 0);
	shm_ring_release(&rx);
	assert_int_equal(shm_ring_room(&tx, 1), 2);
}

static void ring__receiver_that_took_what_was_not_there(void **state)
{
	for (uint32_t i = 0; i < SHM_SLOTS; i++)
		shm_ring_put(&tx, desc_of(i));
	ring.taken = SHM_SLOTS + 1;
	assert_true(shm_ring_room(&tx, 1) > SHM_SLOTS);
	ring.taken = UINT32_MAX;
	assert_true(shm_ring_room(&tx, 1) > SHM_SLOTS);
	ring.taken = SHM_SLOTS;
	assert_int_equal(shm_ring_room(&tx, 1), SHM_SLOTS);
}

/* Going back in what was taken gives less room, never more than there is. */
static void ring__receiver_that_takes_back(void **state)
{
	ring.taken = 0;
	for (uint32_t i = 0; i < SHM_SLOTS; i++)
		shm_ring_put(&tx, desc_of(i));
	ring.taken = 100;
	assert_int_equal(shm_ring_room(&tx, 1), 100);
	for (uint32_t i = 0; i < 100; i++)
		shm_ring_put(&tx, desc_of(i));
	ring.taken = 50;
	assert_true(shm_ring_room(&tx, 1) > SHM_SLOTS);
}

static void ring__any_slots_are_read_one_by_one(void **state)
{
	struct rng rng;
	struct shm_desc d;
	rng.state = 2;
	for (uint32_t i = 0; i < SHM_SLOTS; i++)
		ring.slots[i] = rng_next(&rng);
	for (uint32_t i = 0; i < 10 * SHM_SLOTS && shm_ring_get(&rx, &d); i++)
		assert_true(d.buf < SHM_BUFS_MAX);
	assert_true(rx.next <= SHM_SLOTS);
}

static void wants_wake__once_for_each_sleep(void **state)
{
	assert_false(shm_ring_wants_wake(&tx));
	ring.sleeps = 1;
	assert_true(shm_ring_wants_wake(&tx));
	assert_false(shm_ring_wants_wake(&tx));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ring__largest_fields_arrive, setup),
		cmocka_unit_test_setup(ring__random_steps_keep_the_order, setup),
		cmocka_unit_test_setup(ring__full_until_the_receiver_releases, setup),
		cmocka_unit_test_setup(ring__receiver_that_took_what_was_not_there, setup),
		cmocka_unit_test_setup(ring__receiver_that_takes_back, setup),
		cmocka_unit_test_setup(ring__any_slots_are_read_one_by_one, setup),
		cmocka_unit_test_setup(wants_wake__once_for_each_sleep, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
