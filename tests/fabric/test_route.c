/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"
#include "net_impl.h"
#include "route_box.h"
#include "wire.h"

enum { WAYS = 8, SAMPLES = 80000 };

/* A leaf with the hosts 8..11, four ports down from 100 on, WAYS ports up from 104 on. */
static struct net_switch leaf(uint64_t salt)
{
	return (struct net_switch){.salt = salt,
				   .child_recip = (UINT64_C(1) << 32) + 1,
				   .low = 8,
				   .span = 4,
				   .first_down = 100,
				   .first_up = 104,
				   .bundle = 1,
				   .up_cables = WAYS};
}

static struct weft_pkt flow(uint32_t src, uint32_t dst, uint16_t entropy)
{
	return (struct weft_pkt){.src = weft_net_host_ip(src), .dst = weft_net_host_ip(dst), .entropy = entropy};
}

static void route_port__down(void **state)
{
	struct net_switch sw = leaf(1);
	struct weft_pkt pkt = flow(0, 10, 5);

	for (uint32_t h = 8; h < 12; h++)
		assert_int_equal(route_port(&sw, h, &pkt), 100 + h - 8);
}

static void route_port__entropies_are_uniform(void **state)
{
	struct net_switch sw = leaf(1);
	uint32_t count[WAYS] = {0};

	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct weft_pkt pkt = flow(9, 50, (uint16_t)i);
		count[route_port(&sw, 50, &pkt) - 104]++;
	}
	check_uniform(count, WAYS, SAMPLES, 29.9);
}

/* A small entropy set of any flow at any switch; 64 is six standard deviations above the mean. */
static void route_port__consecutive_entropies_of_a_flow_spread(void **state)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < 4000; i++) {
		struct net_switch sw = leaf(1 + i);
		uint32_t count[WAYS] = {0};
		for (uint32_t ev = 0; ev < 256; ev++) {
			struct weft_pkt pkt = flow(8 + i % 4, 12 + i, (uint16_t)ev);
			uint32_t *n = &count[route_port(&sw, 12 + i, &pkt) - 104];
			most = ++*n > most ? *n : most;
		}
	}
	assert_in_range(most, 40, 64);
}

/* Neighbouring hosts with one entropy. */
static void route_port__flows_are_uniform(void **state)
{
	struct net_switch sw = leaf(2);
	uint32_t count[WAYS] = {0};

	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct weft_pkt pkt = flow(8 + i % 4, 12 + i / 4, 7);
		count[route_port(&sw, 12 + i / 4, &pkt) - 104]++;
	}
	check_uniform(count, WAYS, SAMPLES, 29.9);
}

static void route_port__keeps_a_path(void **state)
{
	struct net_switch sw = leaf(3);

	for (uint32_t i = 0; i < 100; i++) {
		struct weft_pkt pkt = flow(8, 20, (uint16_t)i), again = flow(8, 20, (uint16_t)i);
		again.wire_bytes = 100;
		again.flags = WEFT_PKT_CONTROL;
		assert_int_equal(route_port(&sw, 20, &pkt), route_port(&sw, 20, &again));
	}
}

/* What one switch chooses says nothing about what another does: all pairs of choices are equally frequent. */
static void route_port__salts_are_independent(void **state)
{
	struct net_switch a = leaf(1), b = leaf(2);
	uint32_t count[WAYS * WAYS] = {0};

	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct weft_pkt pkt = flow(9, 50 + i / 65536, (uint16_t)i);
		uint32_t first = route_port(&a, 50, &pkt) - 104, second = route_port(&b, 50, &pkt) - 104;
		count[WAYS * first + second]++;
	}
	check_uniform(count, WAYS * WAYS, SAMPLES, 113.5);
}

/* Every field of the tuple matters. */
static void route_port__uses_the_tuple(void **state)
{
	struct net_switch sw = leaf(4);
	uint32_t same_src = 0, same_dst = 0, same_entropy = 0;

	for (uint32_t i = 0; i < 8000; i++) {
		struct weft_pkt p = flow(i, 100, 1), src = flow(i + 1, 100, 1), dst = flow(i, 101, 1),
				ev = flow(i, 100, 2);
		uint32_t port = route_port(&sw, 100, &p);
		same_src += port == route_port(&sw, 100, &src);
		same_dst += port == route_port(&sw, 100, &dst);
		same_entropy += port == route_port(&sw, 100, &ev);
	}
	assert_in_range(same_src, 850, 1150);
	assert_in_range(same_dst, 850, 1150);
	assert_in_range(same_entropy, 850, 1150);
}

/* Three hosts per child, two cables to each. */
static void route_port__bundles(void **state)
{
	struct net_switch sw = leaf(5);
	uint32_t count[8] = {0};

	sw.bundle = 2;
	sw.span = 12;
	sw.child_recip = (UINT64_C(1) << 32) / 3 + 1;
	for (uint32_t i = 0; i < 12000; i++) {
		struct weft_pkt pkt = flow(100, 8 + i % 12, (uint16_t)i);
		uint32_t down = route_port(&sw, 8 + i % 12, &pkt) - 100;
		assert_int_equal(down / 2, i % 12 / 3);
		count[down]++;
	}
	check_uniform(count, 8, 12000, 29.9);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(route_port__down),
		cmocka_unit_test(route_port__entropies_are_uniform),
		cmocka_unit_test(route_port__consecutive_entropies_of_a_flow_spread),
		cmocka_unit_test(route_port__flows_are_uniform),
		cmocka_unit_test(route_port__keeps_a_path),
		cmocka_unit_test(route_port__salts_are_independent),
		cmocka_unit_test(route_port__uses_the_tuple),
		cmocka_unit_test(route_port__bundles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
