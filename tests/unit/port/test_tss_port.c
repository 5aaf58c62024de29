/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port that encrypts does with packets to send, and how its keys change. */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "tss_kdf.h"
#include "tss_pair.h"
#include "weft/ethdev.h"

static struct tss_pair pair;
static bool no_cryptodev, derive_fails;

bool __real_tss_derive(const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *src,
		       struct tss_material *out);
bool __wrap_tss_derive(const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *src,
		       struct tss_material *out);

bool __wrap_tss_derive(const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *src,
		       struct tss_material *out)
{
	return !derive_fails && __real_tss_derive(key, epoch, src, out);
}

static void open_from(uint64_t first_number)
{
	derive_fails = false;
	pair_open(&pair, false, no_cryptodev, first_number);
}

static int setup(void **state)
{
	open_from(PAIR_FIRST);
	return 0;
}

static int teardown(void **state)
{
	pair_close(&pair);
	return 0;
}

static uint16_t send_marks(uint8_t first, uint16_t n, struct weft_pkt **pkts)
{
	for (uint16_t i = 0; i < n; i++)
		pkts[i] = pair_pkt(&pair, 0, false, (uint8_t)(first + i));
	return pair.ports[0]->ops->tx(pair.ports[0], pkts, n);
}

static void expect_marks(uint8_t first, uint32_t n)
{
	uint8_t marks[PAIR_PKTS];
	for (uint32_t i = 0; i < n; i++)
		marks[i] = (uint8_t)(first + i);
	pair_expect(&pair, 1, false, marks, n);
}

static void tx__long_burst(void **state)
{
	struct weft_pkt *pkts[100];
	assert_int_equal(send_marks(0, 100, pkts), 100);
	assert_int_equal(pair.ends[0].sent_n, 100);
	pair_carry(&pair, 0);
	expect_marks(0, 100);
	assert_int_equal(pair_stats(&pair, 0).tss_sealed, 100);
}

/* No two packets have the same text, or number. */
static void tx__same_packet_twice(void **state)
{
	pair_send(&pair, 0, false, 1);
	pair_send(&pair, 0, false, 1);
	const uint8_t *one = pair_sent(&pair, 0, 0)->head, *other = pair_sent(&pair, 0, 1)->head;
	assert_memory_not_equal(one + 32, other + 32, 8);
	assert_memory_not_equal(one + 40, other + 40, 60);
	assert_memory_not_equal(one + 100, other + 100, 16);
}

/* What is sealed is kept and goes first; what is not stays the caller's as it was. */
static void tx__full_ring(void **state)
{
	struct weft_pkt *pkts[40];
	uint8_t plain[256];
	pair.ends[0].room = 5;
	uint16_t took = send_marks(0, 40, pkts);
	assert_int_equal(took, 32);
	assert_true(weft_tss_is_pending(pair.ports[0]));
	assert_int_equal(pair_stats(&pair, 0).tss_tx_held, 27);
	pair_plain(false, 32, plain);
	assert_memory_equal(pkts[32]->head, plain, pkts[32]->head_len);
	assert_int_equal(pair.ports[0]->ops->tx(pair.ports[0], pkts + took, 8), 0);
	pair.ends[0].room = 20;
	pair_expect_none(&pair, 0);
	assert_true(weft_tss_is_pending(pair.ports[0]));
	pair.ends[0].room = 1000;
	assert_int_equal(pair.ports[0]->ops->tx(pair.ports[0], pkts + took, 8), 8);
	assert_false(weft_tss_is_pending(pair.ports[0]));
	pair_carry(&pair, 0);
	expect_marks(0, 40);
	assert_int_equal(pair_stats(&pair, 0).tss_sealed, 40);
}

/* Closing gives back what is held: teardown counts. */
static void close__with_held_packets(void **state)
{
	struct weft_pkt *pkts[10];
	pair.ends[0].room = 0;
	assert_int_equal(send_marks(0, 10, pkts), 10);
	assert_true(weft_tss_is_pending(pair.ports[0]));
}

static void tx__too_large(void **state)
{
	static uint8_t payload[PAIR_IP_BYTES];
	for (uint32_t more = 0; more < 2; more++) {
		struct weft_pkt *pkt = pair_pkt(&pair, 0, false, 1);
		uint32_t total = pair.ports[0]->max_ip_bytes + more;
		pkt->payload = payload;
		pkt->payload_len = (uint16_t)(total - pkt->head_len);
		pkt->head[2] = (uint8_t)(total >> 8);
		pkt->head[3] = (uint8_t)total;
		assert_int_equal(pair.ports[0]->ops->tx(pair.ports[0], &pkt, 1), 1);
		assert_int_equal(pair.ends[0].sent_n, 1);
		assert_int_equal(pair_stats(&pair, 0).tss_tx_dropped, more);
	}
	assert_int_equal(pair_sent(&pair, 0, 0)->head_len, PAIR_IP_BYTES);
}

/* As the lab's, and with a CRC behind it. */
static void tx__no_payload_and_trailer(void **state)
{
	struct weft_pkt *pkt = pair_pkt(&pair, 0, false, 1), *got;
	pkt->payload = NULL;
	pkt->payload_len -= 4;
	pkt->flags = WEFT_PKT_TRAILER;
	pkt->trailer = 0x44332211;
	assert_int_equal(pair.ports[0]->ops->tx(pair.ports[0], &pkt, 1), 1);
	pair_carry(&pair, 0);
	assert_int_equal(pair.ports[1]->ops->rx(pair.ports[1], &got, 1), 1);
	assert_int_equal(got->head_len, 88);
	for (int i = 48; i < 84; i++)
		assert_int_equal(got->head[i], 0);
	assert_memory_equal(got->head + 84, "\x11\x22\x33\x44", 4);
	pair.ports[1]->ops->free(pair.ports[1], &got, 1);
}

/* The counter's lower part runs over within a burst: the epoch behind it has a key of its own. */
static void tx__epoch_ends(void **state)
{
	struct weft_pkt *pkts[20];
	pair_close(&pair);
	open_from(UINT64_C(0x1234ffffffffffff) - 7);
	assert_int_equal(send_marks(0, 20, pkts), 20);
	assert_memory_equal(pair_sent(&pair, 0, 7)->head + 32, "\x12\x34\xff\xff\xff\xff\xff\xff", 8);
	assert_memory_equal(pair_sent(&pair, 0, 8)->head + 32, "\x12\x35\0\0\0\0\0\0", 8);
	for (uint32_t i = 0; i < 20; i++)
		pair_bring(&pair, 1, pair_sent(&pair, 0, (i + 4) % 20)); /* 4 of the old epoch come last */
	static const uint8_t marks[] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0, 1, 2, 3};
	pair_expect(&pair, 1, false, marks, 20);
	for (uint32_t i = 0; i < 20; i++)
		pair_bring(&pair, 1, pair_sent(&pair, 0, i));
	pair_expect_none(&pair, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_replayed, 20);
}

static void tx__no_memory_for_the_next_epoch(void **state)
{
	struct weft_pkt *pkts[4];
	pair_close(&pair);
	open_from(UINT64_C(0x1234ffffffffffff) - 1);
	derive_fails = true;
	assert_int_equal(send_marks(0, 4, pkts), 2);
	assert_int_equal(pair.ports[0]->ops->tx(pair.ports[0], pkts + 2, 2), 0);
	assert_int_equal(pair_stats(&pair, 0).tss_tx_no_key, 2);
	derive_fails = false;
	assert_int_equal(pair.ports[0]->ops->tx(pair.ports[0], pkts + 2, 2), 2);
	pair_carry(&pair, 0);
	expect_marks(0, 4);
}

/* A number seals once, whatever happens. */
static void tx__numbers_end(void **state)
{
	struct weft_pkt *pkts[4];
	pair_close(&pair);
	open_from(UINT64_MAX - 2);
	assert_int_equal(send_marks(0, 4, pkts), 4);
	assert_int_equal(pair_stats(&pair, 0).tss_tx_dropped, 2);
	pair_carry(&pair, 0);
	expect_marks(0, 2);
}

/* Each end changes keys on its own while packets are on their way: nothing is lost. */
static void set_keys__rotation_under_load(void **state)
{
	struct weft_tss_keys one = pair.keys, both = pair.keys, other = pair.keys;
	uint8_t mark = 0;
	one.count = 1;
	one.current = 0;
	both.current = 0;
	other.key[0] = other.key[1];
	other.count = 1;
	other.current = 0;
	both.key[1].secret[0] ^= 1;
	other.key[0].secret[0] ^= 1;
	const struct {
		int end;
		const struct weft_tss_keys *keys;
		uint32_t current;
	} steps[] = {{0, &one, 0},  {1, &one, 0},  {1, &both, 0},  {0, &both, 0},
		     {0, &both, 1}, {1, &both, 1}, {1, &other, 0}, {0, &other, 0}};
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		struct weft_tss_keys keys = *steps[i].keys;
		keys.current = steps[i].current;
		for (int k = 0; k < 10; k++)
			pair_send(&pair, 0, false, mark++);
		if (steps[i].keys == &other && steps[i].end == 1)
			pair_carry(&pair, 0), expect_marks((uint8_t)(mark - 10), 10); /* all keys of it are in use */
		assert_int_equal(weft_tss_set_keys(pair.ports[steps[i].end], &keys, NULL), 0);
		if (pair.ends[0].sent_n)
			pair_carry(&pair, 0), expect_marks((uint8_t)(mark - 10), 10);
	}
	assert_int_equal(pair_stats(&pair, 1).tss_opened, 80);
	assert_int_equal(pair_stats(&pair, 1).tss_key_changes, 4);
}

/* What has come stays known for keys that stay; a key that comes back under its id is another one. */
static void set_keys__replays(void **state)
{
	struct weft_tss_keys keys = pair.keys;
	pair_send(&pair, 0, false, 1);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	expect_marks(1, 1);
	keys.key[0].secret[3] ^= 1;
	assert_int_equal(weft_tss_set_keys(pair.ports[1], &keys, NULL), 0);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	pair_expect_none(&pair, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_replayed, 1);
	keys.key[1].secret[3] ^= 1;
	assert_int_equal(weft_tss_set_keys(pair.ports[1], &keys, NULL), 0);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	pair_expect_none(&pair, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_bad_tag, 1);
}

/* A packet that came would come again with it: the key stays away, also as one of several, and after others went. */
static void set_keys__removed_key_stays_away(void **state)
{
	struct weft_tss_keys keys = pair.keys, one = pair.keys;
	struct weft_err err;
	pair_send(&pair, 0, false, 1);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	expect_marks(1, 1);
	one.count = 1;
	one.current = 0;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(weft_tss_set_keys(pair.ports[1], &one, &err), 0);
		assert_int_equal(weft_tss_set_keys(pair.ports[1], &keys, &err), -EKEYREVOKED);
		assert_non_null(strstr(err.msg, "key "));
		pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
		pair_expect_none(&pair, 1);
		one.key[1].secret[9]++;
		one.count = 2;
		assert_int_equal(weft_tss_set_keys(pair.ports[1], &one, &err), 0);
		one.count = 1;
	}
	assert_int_equal(pair_stats(&pair, 1).tss_unknown_key, 10);
}

/* Nothing of it can come again: a key nobody used may. */
static void set_keys__removed_key_that_nobody_used(void **state)
{
	struct weft_tss_keys one = pair.keys;
	one.count = 1;
	one.current = 0;
	pair_send(&pair, 0, false, 1);
	assert_int_equal(weft_tss_set_keys(pair.ports[1], &one, NULL), 0);
	assert_int_equal(weft_tss_set_keys(pair.ports[1], &pair.keys, NULL), 0);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	expect_marks(1, 1);
}

static void set_keys__no_memory_to_remember(void **state)
{
	struct weft_tss_keys one = pair.keys;
	one.count = 1;
	one.current = 0;
	pair_send(&pair, 0, false, 1);
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	expect_marks(1, 1);
	derive_fails = true;
	assert_int_equal(weft_tss_set_keys(pair.ports[1], &one, NULL), -ENOMEM);
	derive_fails = false;
	pair_bring(&pair, 1, pair_sent(&pair, 0, 0));
	pair_expect_none(&pair, 1);
	assert_int_equal(pair_stats(&pair, 1).tss_replayed, 1);
}

static void set_keys__wrong_or_no_memory(void **state)
{
	struct weft_tss_keys keys = pair.keys;
	struct weft_err err;
	keys.current = 2;
	assert_int_equal(weft_tss_set_keys(pair.ports[0], &keys, &err), -EINVAL);
	keys = pair.keys;
	keys.key[0].id = keys.key[1].id;
	assert_int_equal(weft_tss_set_keys(pair.ports[0], &keys, &err), -EINVAL);
	keys.key[0].id = WEFT_TSS_ID_MAX + 1;
	assert_int_equal(weft_tss_set_keys(pair.ports[0], &keys, &err), -EINVAL);
	keys.count = 0;
	assert_int_equal(weft_tss_set_keys(pair.ports[0], &keys, &err), -EINVAL);
	keys = pair.keys;
	keys.current = 0;
	derive_fails = true;
	assert_int_equal(weft_tss_set_keys(pair.ports[0], &keys, &err), -ENOMEM);
	pair_send(&pair, 0, false, 1);
	derive_fails = false;
	pair_carry(&pair, 0);
	expect_marks(1, 1);
	assert_int_equal(pair_stats(&pair, 0).tss_key_changes, 0);
}

static void open__refusals(void **state)
{
	struct weft_tss_conf conf = {.ip = weft_ip_v4(0x0a000001), .keys = &pair.keys, .no_cryptodev = no_cryptodev};
	struct weft_port inner = pair.ends[0].port, *out = NULL;
	struct weft_err err;
	derive_fails = true;
	assert_int_equal(weft_tss_open(&conf, &inner, &out, &err), -ENOMEM);
	derive_fails = false;
	inner.max_ip_bytes = 576;
	assert_int_equal(weft_tss_open(&conf, &inner, &out, &err), -EINVAL);
	inner.max_ip_bytes = 1500;
	conf.ip = weft_ip_v4(0);
	assert_int_equal(weft_tss_open(&conf, &inner, &out, &err), -EINVAL);
	assert_null(out);
}

static void alloc__is_that_of_the_port_below(void **state)
{
	struct weft_pkt *pkts[PAIR_PKTS + 1];
	struct weft_port *port = pair.ports[0];
	assert_int_equal(port->ops->alloc(port, pkts, PAIR_PKTS + 1), PAIR_PKTS);
	assert_int_equal(port->ops->alloc(port, pkts, 1), 0);
	port->ops->free(port, pkts, PAIR_PKTS);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tx__long_burst, setup, teardown),
		cmocka_unit_test_setup_teardown(tx__same_packet_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(tx__full_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(close__with_held_packets, setup, teardown),
		cmocka_unit_test_setup_teardown(tx__too_large, setup, teardown),
		cmocka_unit_test_setup_teardown(tx__no_payload_and_trailer, setup, teardown),
		cmocka_unit_test_setup_teardown(tx__epoch_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(tx__no_memory_for_the_next_epoch, setup, teardown),
		cmocka_unit_test_setup_teardown(tx__numbers_end, setup, teardown),
		cmocka_unit_test_setup_teardown(set_keys__rotation_under_load, setup, teardown),
		cmocka_unit_test_setup_teardown(set_keys__replays, setup, teardown),
		cmocka_unit_test_setup_teardown(set_keys__removed_key_stays_away, setup, teardown),
		cmocka_unit_test_setup_teardown(set_keys__removed_key_that_nobody_used, setup, teardown),
		cmocka_unit_test_setup_teardown(set_keys__no_memory_to_remember, setup, teardown),
		cmocka_unit_test_setup_teardown(set_keys__wrong_or_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(open__refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(alloc__is_that_of_the_port_below, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	struct weft_err err;
	if (weft_eal_start(NULL, &err))
		return 1;
	int failed = run();
	no_cryptodev = true;
	return failed + run();
}
