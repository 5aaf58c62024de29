/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_port.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"

static struct sim_slab *slab;

static int setup(void **state)
{
	slab = sim_slab_create(100);
	return slab ? 0 : -1;
}

static int teardown(void **state)
{
	int used = (int)sim_slab_used(slab);

	sim_slab_destroy(slab);
	return used;
}

static struct weft_port *open_port(void)
{
	struct sim_port_conf conf = {
		.slab = slab, .link_bps = 5000, .max_ip_bytes = 4200, .tx_entries = 4, .rx_entries = 3};
	struct weft_port *port;

	assert_int_equal(sim_port_create(&conf, &port, NULL), 0);
	return port;
}

static struct weft_pkt *alloc_one(struct weft_port *port, uint8_t flags)
{
	struct weft_pkt *pkt;

	assert_int_equal(port->ops->alloc(port, &pkt, 1), 1);
	pkt->flags = flags;
	return pkt;
}

static void sim_slab_get__up_to_the_limit(void **state)
{
	struct weft_pkt *pkts[100];

	for (uint32_t i = 0; i < 100; i++) {
		pkts[i] = sim_slab_get(slab);
		assert_non_null(pkts[i]);
		assert_int_equal((uintptr_t)pkts[i] % 64, 0);
		assert_null(pkts[i]->payload);
		memset(pkts[i]->head, (int)i, WEFT_PKT_HEAD_MAX);
	}
	assert_null(sim_slab_get(slab));
	assert_int_equal(sim_slab_used(slab), 100);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(pkts[i]->head[0], i);
		assert_int_equal(pkts[i]->head[WEFT_PKT_HEAD_MAX - 1], i);
		sim_slab_put(slab, pkts[i]);
	}
}

static void sim_port_create__refuses(void **state)
{
	struct sim_port_conf good = {.slab = slab, .max_ip_bytes = 4200, .tx_entries = 4, .rx_entries = 3}, c;
	struct weft_port *port;
	struct weft_err err;

	c = good;
	c.slab = NULL;
	assert_int_equal(sim_port_create(&c, &port, &err), -EINVAL);
	c = good;
	c.tx_entries = 0;
	assert_int_equal(sim_port_create(&c, &port, &err), -EINVAL);
	c = good;
	c.rx_entries = 0;
	assert_int_equal(sim_port_create(&c, &port, &err), -EINVAL);
	assert_string_equal(err.msg, "sim port: it needs a slab, rings with entries and a packet size");
}

static void sim_port_create__fields(void **state)
{
	struct weft_port *port = open_port();

	assert_int_equal(port->link_bps, 5000);
	assert_int_equal(port->max_ip_bytes, 4200);
	port->ops->close(port);
}

/* A few at a time, until the slab's 100 are out. */
static void sim_alloc__partial(void **state)
{
	struct weft_port *port = open_port();
	struct weft_pkt *pkts[120];
	uint16_t n = 0, got;

	while ((got = port->ops->alloc(port, pkts + n, (uint16_t)(120 - n))) > 0)
		n += got;
	assert_int_equal(n, 100);
	port->ops->free(port, pkts, 100);
	port->ops->close(port);
}

/* Control first, each class in order; a full ring keeps the rest with the caller. */
static void sim_tx__classes(void **state)
{
	struct weft_port *port = open_port();
	struct weft_pkt *pkts[8];

	for (int i = 0; i < 8; i++)
		pkts[i] = alloc_one(port, i == 2 || i == 4 ? WEFT_PKT_CONTROL : 0);
	assert_false(sim_port_tx_pending(port));
	assert_int_equal(port->ops->tx(port, pkts, 8), 6); /* the fifth of class data does not fit */
	assert_true(sim_port_tx_pending(port));
	assert_ptr_equal(sim_port_pull(port), pkts[2]);
	assert_ptr_equal(sim_port_pull(port), pkts[4]);
	assert_ptr_equal(sim_port_pull(port), pkts[0]);
	assert_int_equal(port->ops->tx(port, pkts + 6, 2), 1);
	assert_ptr_equal(sim_port_pull(port), pkts[1]);
	assert_ptr_equal(sim_port_pull(port), pkts[3]);
	assert_ptr_equal(sim_port_pull(port), pkts[5]);
	assert_ptr_equal(sim_port_pull(port), pkts[6]);
	assert_null(sim_port_pull(port));
	assert_false(sim_port_tx_pending(port));
	port->ops->free(port, pkts, 8);
	port->ops->close(port);
}

static void sim_port_pull_control__leaves_data(void **state)
{
	struct weft_port *port = open_port();
	struct weft_pkt *pkts[3] = {alloc_one(port, 0), alloc_one(port, WEFT_PKT_CONTROL), alloc_one(port, 0)};

	assert_int_equal(port->ops->tx(port, pkts, 3), 3);
	assert_ptr_equal(sim_port_pull_control(port), pkts[1]);
	assert_null(sim_port_pull_control(port));
	assert_true(sim_port_tx_pending(port));
	assert_ptr_equal(sim_port_pull(port), pkts[0]);
	assert_ptr_equal(sim_port_pull(port), pkts[2]);
	port->ops->free(port, pkts, 3);
	port->ops->close(port);
}

/* Credits alone, or before all else. */
static void sim_port_pull_credit__apart(void **state)
{
	const uint8_t credit = WEFT_PKT_CONTROL | WEFT_PKT_CREDIT;
	struct weft_port *port = open_port();
	struct weft_pkt *pkts[5] = {alloc_one(port, 0), alloc_one(port, WEFT_PKT_CONTROL), alloc_one(port, credit),
				    alloc_one(port, credit), alloc_one(port, credit)};

	assert_int_equal(port->ops->tx(port, pkts, 5), 5);
	assert_ptr_equal(sim_port_pull_credit(port), pkts[2]);
	assert_ptr_equal(sim_port_pull(port), pkts[3]);
	assert_ptr_equal(sim_port_pull_control(port), pkts[4]);
	assert_null(sim_port_pull_credit(port));
	assert_ptr_equal(sim_port_pull(port), pkts[1]);
	assert_true(sim_port_tx_pending(port));
	assert_ptr_equal(sim_port_pull(port), pkts[0]);
	assert_int_equal(port->ops->tx(port, &pkts[2], 1), 1);
	assert_true(sim_port_tx_pending(port));
	assert_ptr_equal(sim_port_pull_credit(port), pkts[2]);
	port->ops->free(port, pkts, 5);
	port->ops->close(port);
}

static void sim_tx__copies_payload(void **state)
{
	struct weft_port *port = open_port();
	struct weft_pkt *pkt = alloc_one(port, 0);
	char memory[] = "payload";

	pkt->payload = (const uint8_t *)memory;
	pkt->payload_len = sizeof memory;
	assert_int_equal(port->ops->tx(port, &pkt, 1), 1);
	memset(memory, 'x', sizeof memory);
	pkt = sim_port_pull(port);
	assert_string_equal((const char *)pkt->payload, "payload");
	sim_slab_put(slab, pkt);
	port->ops->close(port);
}

static void sim_rx__in_order_with_time(void **state)
{
	struct weft_port *port = open_port();
	struct weft_pkt *in[4], *out[4];

	for (int i = 0; i < 4; i++)
		in[i] = alloc_one(port, 0);
	for (int i = 0; i < 3; i++)
		assert_true(sim_port_deliver(port, in[i], 10 + (weft_ns)i));
	assert_false(sim_port_deliver(port, in[3], 20));
	assert_int_equal(sim_port_rx_dropped(port), 1);
	assert_int_equal(sim_slab_used(slab), 3);
	assert_int_equal(port->ops->rx(port, out, 2), 2);
	assert_ptr_equal(out[0], in[0]);
	assert_int_equal(out[1]->arrived_ns, 11);
	assert_int_equal(port->ops->rx(port, out + 2, 2), 1);
	assert_int_equal(port->ops->rx(port, out + 3, 1), 0);
	port->ops->free(port, out, 3);
	port->ops->close(port);
}

static void sim_close__frees_rings(void **state)
{
	struct weft_port *port = open_port();
	struct weft_pkt *data = alloc_one(port, 0), *control = alloc_one(port, WEFT_PKT_CONTROL);

	assert_int_equal(port->ops->tx(port, &data, 1), 1);
	assert_int_equal(port->ops->tx(port, &control, 1), 1);
	assert_true(sim_port_deliver(port, alloc_one(port, 0), 0));
	assert_int_equal(sim_slab_used(slab), 3);
	port->ops->close(port);
	assert_int_equal(sim_slab_used(slab), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sim_slab_get__up_to_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(sim_port_create__refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(sim_port_create__fields, setup, teardown),
		cmocka_unit_test_setup_teardown(sim_alloc__partial, setup, teardown),
		cmocka_unit_test_setup_teardown(sim_tx__classes, setup, teardown),
		cmocka_unit_test_setup_teardown(sim_port_pull_control__leaves_data, setup, teardown),
		cmocka_unit_test_setup_teardown(sim_port_pull_credit__apart, setup, teardown),
		cmocka_unit_test_setup_teardown(sim_tx__copies_payload, setup, teardown),
		cmocka_unit_test_setup_teardown(sim_rx__in_order_with_time, setup, teardown),
		cmocka_unit_test_setup_teardown(sim_close__frees_rings, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
