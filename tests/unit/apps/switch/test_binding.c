/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "binding.h"
#include "cmocka_all.h"
#include "net.h"
#include "weft/ethdev.h"

enum { PORTS = 3, OTHER = 0x0c000005, MANY = 1024 };

static struct weft_port *ports[PORTS];

static int setup(void **state)
{
	struct weft_err err;
	for (unsigned i = 0; i < PORTS; i++) {
		char name[8];
		snprintf(name, sizeof name, "b%u", i);
		if (weft_ethdev_ring_pair(name, 64, &ports[i], &err) != 0)
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	for (unsigned i = 0; i < PORTS; i++)
		ports[i]->ops->close(ports[i]);
	return 0;
}

static void claim__first_port_keeps_an_address(void **state)
{
	struct bindings *b = bindings_create(ports, PORTS);
	assert_true(bindings_claim(b, 2, OTHER));
	assert_false(bindings_claim(b, 1, OTHER));
	assert_true(bindings_claim(b, 2, OTHER + 1));
	assert_false(bindings_claim(b, 1, OTHER));
	assert_true(bindings_claim(b, 2, OTHER));
	assert_int_equal(bindings_find(b, OTHER), 2);
	bindings_destroy(b);
}

static void claim__planned_address_is_its_ports(void **state)
{
	struct bindings *b = bindings_create(ports, PORTS);
	assert_false(bindings_claim(b, 1, weft_net_host_ip(0)));
	assert_int_equal(bindings_find(b, weft_net_host_ip(0)), 0);
	assert_true(bindings_claim(b, 0, weft_net_host_ip(0)));
	assert_false(bindings_claim(b, 1, weft_net_host_ip(0)));
	assert_true(bindings_claim(b, 1, weft_net_host_ip(PORTS)));
	assert_int_equal(bindings_find(b, weft_net_host_ip(PORTS)), 1);
	bindings_destroy(b);
}

/* Two hosts with each other's planned address announce themselves again and again. */
static void claim__hosts_may_number_themselves(void **state)
{
	struct bindings *b = bindings_create(ports, PORTS);
	for (unsigned i = 0; i < 2; i++) {
		bindings_claim(b, 0, weft_net_host_ip(1));
		bindings_claim(b, 1, weft_net_host_ip(0));
	}
	assert_int_equal(bindings_find(b, weft_net_host_ip(0)), 1);
	assert_int_equal(bindings_find(b, weft_net_host_ip(1)), 0);
	bindings_destroy(b);
}

/* A port that claims any number of addresses leaves room for the others. */
static void claim__flood_of_addresses_is_bounded(void **state)
{
	struct bindings *b = bindings_create(ports, PORTS);
	for (uint32_t i = 0; i < 2 * MANY; i++)
		assert_true(bindings_claim(b, 0, OTHER + i));
	assert_int_equal(bindings_find(b, OTHER + MANY - 1), 0);
	assert_true(bindings_find(b, OTHER + MANY) >= PORTS);
	assert_true(bindings_claim(b, 1, OTHER + MANY));
	assert_int_equal(bindings_find(b, OTHER + MANY), 1);
	bindings_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claim__first_port_keeps_an_address),
		cmocka_unit_test(claim__planned_address_is_its_ports),
		cmocka_unit_test(claim__hosts_may_number_themselves),
		cmocka_unit_test(claim__flood_of_addresses_is_bounded),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
