/* SPDX-License-Identifier: BSD-3-Clause */
#include "route_box.h"

enum { SAMPLES = 8000 };

static const struct route_adaptive_tune exact = {.sample_ns = 0, .bands = 0};
static const struct route_adaptive_tune bands = {.sample_ns = 0, .bands = 1};

/* Uplink `up` of leaf 0. */
static struct net_port *uplink(const struct lan *lan, uint32_t up)
{
	return &lan->net->tree.ports[lan->net->tree.switches[0].first_up + up];
}

static void fill_all(const struct lan *lan, uint32_t bytes)
{
	for (uint32_t i = 0; i < 8; i++)
		uplink(lan, i)->data_bytes = bytes;
}

static void adaptive__takes_the_emptiest(void **state)
{
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", "adaptive", &exact, 1);
	for (uint32_t i = 0; i < 8; i++) {
		fill_all(&lan, 10001);
		uplink(&lan, i)->data_bytes = 10000;
		for (uint32_t n = 0; n < 100; n++)
			assert_int_equal(box_choose_up(&lan, 0, 0, 9, (uint16_t)n), i);
	}
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* Control that waits and data in service count like data that waits. */
static void adaptive__counts_all_bytes(void **state)
{
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", "adaptive", &exact, 1);
	fill_all(&lan, 5000);
	uplink(&lan, 2)->data_bytes = 1000;
	uplink(&lan, 3)->data_bytes = 500;
	uplink(&lan, 3)->ctl_bytes = 600;
	assert_int_equal(box_choose_up(&lan, 0, 0, 9, 0), 2);
	uplink(&lan, 2)->service_data_bytes = 4000;
	assert_int_equal(box_choose_up(&lan, 0, 0, 9, 0), 2); /* it has left */
	uplink(&lan, 2)->busy_until = 1;
	assert_int_equal(box_choose_up(&lan, 0, 0, 9, 0), 3);
	uplink(&lan, 3)->ctl_bytes = 0;
	uplink(&lan, 2)->busy_until = 0;
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* PFC: what is told to pause is the last choice, by bytes and by bands. */
static void adaptive__paused_ports_come_last(void **state)
{
	const struct route_adaptive_tune *const tunes[] = {&exact, &bands};
	for (int i = 0; i < 2; i++) {
		struct lan lan;
		box_open(&lan, "leafspine:4:8:8", "adaptive", tunes[i], 1);
		fill_all(&lan, 1000000);
		uplink(&lan, 4)->data_bytes = 0;
		for (uint32_t up = 0; up < 8; up++)
			uplink(&lan, up)->flags |= up == 6 ? 0 : PORT_PAUSED;
		assert_int_equal(box_choose_up(&lan, 0, 0, 9, 0), 6);
		uplink(&lan, 6)->flags |= PORT_PAUSED;
		if (!tunes[i]->bands)
			assert_int_equal(box_choose_up(&lan, 0, 0, 9, 0), 4);
		fill_all(&lan, 0);
		lan_close(&lan);
	}
}

static void adaptive__ties_are_uniform(void **state)
{
	struct lan lan;
	uint32_t count[8] = {0}, ties[3] = {0};

	box_open(&lan, "leafspine:4:8:8", "adaptive", NULL, 1);
	for (uint32_t i = 0; i < SAMPLES; i++)
		count[box_choose_up(&lan, 0, 0, 9, 0)]++;
	check_uniform(count, 8, SAMPLES, 29.9);
	lan_close(&lan);
	box_open(&lan, "leafspine:4:8:8", "adaptive", &exact, 1);
	fill_all(&lan, 4260);
	uplink(&lan, 1)->data_bytes = uplink(&lan, 2)->data_bytes = uplink(&lan, 7)->data_bytes = 0;
	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint32_t up = box_choose_up(&lan, 0, 0, 9, 0);
		assert_true(up == 1 || up == 2 || up == 7);
		ties[up < 7 ? up - 1 : 2]++;
	}
	check_uniform(ties, 3, SAMPLES, 18.4);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* Uplink 0 at `low` and the others at `high` thousandths of a queue: whether 0 is told from them. */
static bool tells_apart(const struct lan *lan, uint32_t low, uint32_t high)
{
	uint64_t limit = uplink(lan, 0)->limit_bytes;
	uint32_t zeros = 0;

	fill_all(lan, (uint32_t)(limit * high / 1000));
	uplink(lan, 0)->data_bytes = (uint32_t)(limit * low / 1000);
	for (uint32_t i = 0; i < 800; i++)
		zeros += box_choose_up(lan, 0, 0, 9, 0) == 0;
	fill_all(lan, 0);
	assert_true(zeros == 800 || (zeros > 50 && zeros < 150));
	return zeros == 800;
}

static void adaptive__bands(void **state)
{
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", "adaptive", &bands, 1);
	assert_false(tells_apart(&lan, 0, 49));
	assert_true(tells_apart(&lan, 49, 51));
	assert_false(tells_apart(&lan, 51, 99));
	assert_true(tells_apart(&lan, 99, 101));
	assert_false(tells_apart(&lan, 101, 199));
	assert_true(tells_apart(&lan, 199, 201));
	assert_false(tells_apart(&lan, 201, 1000));
	lan_close(&lan);
}

/* What happens between two samples is not seen. */
static void adaptive__samples(void **state)
{
	const struct route_adaptive_tune tune = {.sample_ns = 100, .bands = 0};
	struct lan lan;

	box_open(&lan, "leafspine:4:8:8", "adaptive", &tune, 1);
	weft_net_wake(lan.net, 0, 1000000);
	weft_net_wake(lan.net, 1, 1099999);
	weft_net_wake(lan.net, 2, 1100000);
	weft_net_run(lan.net, 1000000);
	fill_all(&lan, 2000);
	uplink(&lan, 5)->data_bytes = 1000;
	assert_int_equal(box_choose_up(&lan, 0, 0, 9, 0), 5);
	uplink(&lan, 5)->data_bytes = 3000;
	uplink(&lan, 6)->data_bytes = 500;
	weft_net_run(lan.net, 1099999);
	assert_int_equal(box_choose_up(&lan, 0, 0, 9, 0), 5);
	weft_net_run(lan.net, 1100000);
	assert_int_equal(box_choose_up(&lan, 0, 0, 9, 0), 6);
	fill_all(&lan, 0);
	lan_close(&lan);
}

/* Four hosts at line rate over four uplinks, all packets at once: no two wait behind each other at the leaf. */
static void adaptive__matches_hosts_to_ports(void **state)
{
	struct weft_net_conf conf = lan_conf();
	struct lan lan;

	conf.route = &route_adaptive;
	conf.route_tune = &exact;
	lan_open(&lan, "leafspine:2:4:4", UINT64_C(100000000000), conf);
	for (uint32_t h = 0; h < 4; h++)
		lan_send(&lan, 0, (struct lan_send){.src = h, .dst = 4 + h, .count = 100});
	weft_net_run(lan.net, WEFT_NEVER - 1);
	assert_int_equal(lan_data(&lan), 400);
	for (uint32_t up = 0; up < 4; up++)
		assert_int_equal(uplink(&lan, up)->sent_pkts, 100);
	assert_true(lan_stats(&lan).max_queue_bytes <= 4 * LAN_MTU);
	lan_close(&lan);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(adaptive__takes_the_emptiest),
		cmocka_unit_test(adaptive__counts_all_bytes),
		cmocka_unit_test(adaptive__paused_ports_come_last),
		cmocka_unit_test(adaptive__ties_are_uniform),
		cmocka_unit_test(adaptive__bands),
		cmocka_unit_test(adaptive__samples),
		cmocka_unit_test(adaptive__matches_hosts_to_ports),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
