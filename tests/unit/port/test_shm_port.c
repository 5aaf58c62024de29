/* SPDX-License-Identifier: BSD-3-Clause */
/* A switch's ports with shared buffers and the processes at them, all in this one. */
#include "shm_port.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ethdev_fixture.h"

enum { PORTS = 2, PKTS = 128, OURS = PKTS / 8, THEIRS = PKTS - OURS, IP = 0x0a000001, PATIENCE_S = 20 };

static char dir[32], paths[PORTS][48], devs[PORTS][64];
static struct weft_port *sw[PORTS];

/* ---- the switch ---- */

static void switch_open(void)
{
	const char *const at[PORTS] = {paths[0], paths[1]};
	const struct weft_ethdev_shm_conf conf = {.paths = at, .count = PORTS, .pool_pkts = PKTS};
	struct weft_err err;
	if (weft_ethdev_shm_serve(&conf, sw, &err) != 0)
		fail_msg("%s", err.msg);
}

static void switch_close(void)
{
	for (unsigned i = 0; i < PORTS; i++) {
		sw[i]->ops->close(sw[i]);
		unlink(paths[i]);
	}
}

static int setup(void **state)
{
	snprintf(dir, sizeof dir, "/tmp/weft-shm-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	for (unsigned i = 0; i < PORTS; i++) {
		snprintf(paths[i], sizeof paths[i], "%s/s%u", dir, i);
		snprintf(devs[i], sizeof devs[i], "shm:%s", paths[i]);
	}
	switch_open();
	return 0;
}

static int teardown(void **state)
{
	switch_close();
	return rmdir(dir);
}

/* Packets go to the port whose address they have. */
static void switch_poll(void)
{
	struct weft_pkt *pkts[ETHDEV_BURST];
	for (unsigned i = 0; i < PORTS; i++) {
		uint16_t n = sw[i]->ops->rx(sw[i], pkts, ETHDEV_BURST);
		for (uint16_t k = 0; k < n; k++) {
			struct weft_port *to = sw[(pkts[k]->head[19] - 1) % PORTS];
			if (to->ops->tx(to, &pkts[k], 1) == 0)
				to->ops->free(to, &pkts[k], 1);
		}
	}
}

static struct shm_link *link_of(struct weft_port *port)
{
	return &to_ethdev(port)->shm->link;
}

/* ---- processes ---- */

struct opening {
	struct weft_ethdev_conf conf;
	struct weft_port *port;
	struct weft_err err;
	int rc;
	_Atomic bool done;
};

static void *open_run(void *arg)
{
	struct opening *o = arg;
	o->rc = weft_ethdev_open(&o->conf, &o->port, &o->err);
	o->done = true;
	return NULL;
}

/* While the switch goes on. */
static int try_open(struct opening *o)
{
	pthread_t thread;
	o->done = false;
	assert_int_equal(pthread_create(&thread, NULL, open_run, o), 0);
	while (!o->done)
		switch_poll();
	pthread_join(thread, NULL);
	return o->rc;
}

static struct weft_port *open_at(unsigned i)
{
	struct opening o = {.conf = {.dev = devs[i], .ip = weft_ip_v4(IP + i), .no_arp = true}};
	if (try_open(&o) != 0)
		fail_msg("%s", o.err.msg);
	assert_int_equal(o.port->max_ip_bytes, 9000);
	return o.port;
}

static void send_to(struct weft_port *port, uint32_t dst, const void *payload, uint16_t bytes)
{
	struct weft_pkt *pkt = fixture_pkt(port, dst, payload, bytes);
	assert_int_equal(port->ops->tx(port, &pkt, 1), 1);
}

/* NULL: nothing came, although the switch had time. */
static struct weft_pkt *receive(struct weft_port *port)
{
	struct weft_pkt *pkt;
	for (int i = 0; i < 20; i++) {
		switch_poll();
		if (port->ops->rx(port, &pkt, 1) == 1)
			return pkt;
	}
	return NULL;
}

static void give_back(struct weft_port *port, struct weft_pkt *pkt)
{
	port->ops->free(port, &pkt, 1);
}

/* The switch knows where a port is once something came from there. */
static void introduce(struct weft_port *port, uint32_t nobody)
{
	send_to(port, nobody, NULL, 100);
	switch_poll();
}

static void pair_open(struct weft_port **a, struct weft_port **b)
{
	*a = open_at(0);
	*b = open_at(1);
	send_to(*a, IP, NULL, 100);
	send_to(*b, IP, NULL, 100);
	for (struct weft_pkt *pkt; (pkt = receive(*a)) != NULL;)
		give_back(*a, pkt);
}

static void poll_all(struct weft_port *a, struct weft_port *b)
{
	for (int i = 0; i < 20; i++) {
		switch_poll();
		if (a != NULL)
			port_poll(a);
		if (b != NULL)
			port_poll(b);
	}
}

/* All buffers that belong to the process are in its pool. */
static void assert_full_share(struct weft_port *port)
{
	assert_int_equal(rte_mempool_avail_count(link_of(port)->own), THEIRS);
	assert_int_equal(rte_mempool_avail_count(link_of(port)->returns), 0);
}

/* And the switch has none but its own. */
static void assert_all_home(struct weft_port *a, struct weft_port *b)
{
	poll_all(a, b);
	assert_full_share(a);
	assert_full_share(b);
	for (unsigned i = 0; i < PORTS; i++) {
		assert_int_equal(rte_mempool_avail_count(link_of(sw[i])->own), OURS);
		assert_int_equal(rte_mempool_avail_count(link_of(sw[i])->returns), 0);
	}
}

/* ---- packets ---- */

static void exchange__contents_arrive_without_a_copy(void **state)
{
	enum { BYTES = 8192, ROUNDS = 3 * SHM_SLOTS };
	static uint8_t payload[BYTES];
	struct weft_port *a, *b;
	pair_open(&a, &b);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		memset(payload, (int)i, sizeof payload);
		send_to(a, IP + 1, payload, BYTES);
		struct weft_pkt *pkt = receive(b);
		assert_non_null(pkt);
		assert_int_equal(pkt->head_len, 28 + BYTES);
		assert_memory_equal(pkt->head + 28, payload, BYTES);
		give_back(b, pkt);
		port_poll(a);
	}
	for (unsigned i = 0; i < PORTS; i++)
		assert_int_equal(port_stats(sw[i]).shm_copied + port_stats(sw[i]).shm_refused, 0);
	assert_int_equal(port_stats(a).shm_copied, 0);
	assert_all_home(a, b);
	a->ops->close(a);
	b->ops->close(b);
}

/* What was received can be sent on. */
static void exchange__a_received_packet_is_sent_back(void **state)
{
	struct weft_port *a, *b;
	pair_open(&a, &b);
	send_to(a, IP + 1, "there", 5);
	struct weft_pkt *pkt = receive(b);
	assert_non_null(pkt);
	pkt->head[19] = 1; /* to the other one */
	assert_int_equal(b->ops->tx(b, &pkt, 1), 1);
	pkt = receive(a);
	assert_non_null(pkt);
	assert_memory_equal(pkt->head + 28, "there", 5);
	give_back(a, pkt);
	assert_all_home(a, b);
	a->ops->close(a);
	b->ops->close(b);
}

static void exchange__too_large_packets_are_refused(void **state)
{
	static uint8_t payload[9001 - 28];
	struct weft_port *a, *b;
	pair_open(&a, &b);
	send_to(a, IP + 1, payload, sizeof payload);
	assert_int_equal(port_stats(a).tx_oversize, 1);
	send_to(a, IP + 1, payload, sizeof payload - 1);
	struct weft_pkt *pkt = receive(b);
	assert_non_null(pkt);
	assert_int_equal(pkt->head_len, 9000);
	give_back(b, pkt);
	assert_all_home(a, b);
	a->ops->close(a);
	b->ops->close(b);
}

/* The other side keeps all packets: nothing is left to send, until it gives them back. */
static void pool__empty_until_buffers_come_home(void **state)
{
	struct weft_port *a, *b;
	struct weft_pkt *held[THEIRS], *pkt;
	uint32_t count = 0;
	pair_open(&a, &b);
	while (a->ops->alloc(a, &pkt, 1) == 1) {
		give_back(a, pkt);
		send_to(a, IP + 1, "x", 1);
		held[count] = receive(b);
		assert_non_null(held[count++]);
	}
	assert_int_equal(count, THEIRS);
	poll_all(a, NULL);
	assert_int_equal(a->ops->alloc(a, &pkt, 1), 0);
	give_back(b, held[--count]);
	poll_all(a, b);
	assert_int_equal(a->ops->alloc(a, &pkt, 1), 1);
	assert_int_equal(a->ops->alloc(a, &pkt, 1), 0);
	give_back(a, pkt);
	while (count > 0)
		give_back(b, held[--count]);
	assert_all_home(a, b);
	a->ops->close(a);
	b->ops->close(b);
}

/* From a port of another kind: copied, into buffers of the switch's own as long as there are any. */
static void copies__packets_of_other_ports(void **state)
{
	static uint8_t payload[1000];
	struct weft_port *a, *b;
	struct weft_pkt *pkt, *held[OURS];
	struct fixture f;
	fixture_open(&f, weft_ip_v4(IP + 5), true);
	pair_open(&a, &b);
	memset(payload, 0x5a, sizeof payload);
	for (unsigned i = 0; i < OURS; i++) {
		pkt = fixture_pkt(f.host, IP, payload, sizeof payload);
		assert_int_equal(sw[0]->ops->tx(sw[0], &pkt, 1), 1);
		held[i] = receive(a);
		assert_non_null(held[i]);
		assert_memory_equal(held[i]->head + 28, payload, sizeof payload);
	}
	pkt = fixture_pkt(f.host, IP, payload, sizeof payload);
	assert_int_equal(sw[0]->ops->tx(sw[0], &pkt, 1), 0);
	assert_int_equal(port_stats(sw[0]).tx_ring_full, 1);
	give_back(f.host, pkt);
	assert_int_equal(port_stats(sw[0]).shm_copied, OURS);
	for (unsigned i = 0; i < OURS; i++)
		give_back(a, held[i]);
	assert_all_home(a, b);
	assert_int_equal(rte_mempool_in_use_count(to_ethdev(f.host)->pool), 0);
	a->ops->close(a);
	b->ops->close(b);
	fixture_close(&f);
}

/* ---- coming and going ---- */

static void wait_until_left(unsigned i)
{
	while (weft_ethdev_has_link(sw[i]) || link_of(sw[i])->rings != NULL)
		switch_poll();
}

/* Of packets of a process that leaves, some are on their way to the switch, some in it, some with another process. None
 * of these buffers is given to the next process before it is free. */
static void leave__packets_are_everywhere(void **state)
{
	struct weft_port *a, *b;
	struct weft_pkt *in_switch, *at_b, *from_b;
	pair_open(&a, &b);
	send_to(a, IP + 1, "held", 4);
	at_b = receive(b);
	assert_non_null(at_b);
	send_to(a, IP + 1, "passing", 7);
	assert_int_equal(sw[0]->ops->rx(sw[0], &in_switch, 1), 1);
	send_to(b, IP, "for nobody", 10);
	switch_poll();
	assert_int_equal(a->ops->rx(a, &from_b, 1), 1); /* its buffer is another process's, and never given back */
	send_to(a, IP + 1, "last", 4);
	shutdown(link_of(a)->fd, SHUT_RDWR); /* as a killed process ends: nothing is tidied up */
	wait_until_left(0);
	assert_int_equal(port_stats(sw[0]).shm_reclaimed, THEIRS - 3 + 1);
	struct weft_port *next = open_at(0);
	assert_int_equal(rte_mempool_avail_count(link_of(next)->own), THEIRS - 3);
	assert_memory_equal(at_b->head + 28, "held", 4);
	assert_memory_equal(in_switch->head + 28, "passing", 7);
	give_back(sw[0], in_switch);
	give_back(b, at_b);
	assert_all_home(next, b); /* takes the last one, too */
	give_back(a, from_b);
	a->ops->close(a);
	next->ops->close(next);
	b->ops->close(b);
}

static void leave__what_was_sent_before_arrives(void **state)
{
	enum { SENT = 3 * ETHDEV_BURST };
	struct weft_port *a, *b;
	pair_open(&a, &b);
	for (unsigned i = 0; i < SENT; i++)
		send_to(a, IP + 1, "bye", 3);
	a->ops->close(a);
	usleep(20000); /* the switch hears of the end at once, and of the packets one burst after the other */
	for (unsigned i = 0; i < SENT; i++) {
		struct weft_pkt *pkt = receive(b);
		assert_non_null(pkt);
		assert_memory_equal(pkt->head + 28, "bye", 3);
		give_back(b, pkt);
	}
	wait_until_left(0);
	a = open_at(0);
	assert_all_home(a, b);
	a->ops->close(a);
	b->ops->close(b);
}

static void join__one_process_at_a_time(void **state)
{
	struct weft_port *a = open_at(0);
	struct opening second = {.conf = {.dev = devs[0], .ip = weft_ip_v4(IP + 5), .no_arp = true}};
	assert_int_equal(try_open(&second), -EBUSY);
	assert_non_null(strstr(second.err.msg, devs[0]));
	a->ops->close(a);
	a = open_at(0);
	a->ops->close(a);
}

static void join__refusals(void **state)
{
	struct opening large = {.conf = {.dev = devs[0], .ip = weft_ip_v4(IP), .max_ip_bytes = 9001}};
	struct opening none = {.conf = {.dev = "shm:/tmp/weft-no-such", .ip = weft_ip_v4(IP)}};
	struct opening queue = {.conf = {.dev = devs[0], .ip = weft_ip_v4(IP), .queues = 2}};
	struct opening nobody = {.conf = {.dev = devs[0]}};
	assert_int_equal(try_open(&large), -EINVAL);
	assert_int_equal(try_open(&none), -ENOENT);
	assert_int_equal(try_open(&queue), -EINVAL);
	assert_int_equal(try_open(&nobody), -EINVAL);
	assert_non_null(strstr(large.err.msg, devs[0]));
	assert_non_null(strstr(none.err.msg, "shm:/tmp/weft-no-such"));
}

/* The switch is started anew: the process joins it again, and what it held stays readable. */
static void join__again_after_the_switch_ended(void **state)
{
	struct link_heard heard = {0};
	struct weft_port *a, *b;
	pair_open(&a, &b);
	weft_ethdev_on_link(b, link_note, &heard);
	send_to(a, IP + 1, "before", 6);
	struct weft_pkt *old = receive(b), *pkt;
	assert_non_null(old);
	switch_close();
	expect_link(b, &heard, WEFT_LINK_DOWN, 1);
	assert_memory_equal(old->head + 28, "before", 6);
	switch_open();
	while (heard.count < 2 || !weft_ethdev_has_link(a))
		poll_all(a, b);
	assert_int_equal(heard.state, WEFT_LINK_UP);
	assert_memory_equal(old->head + 28, "before", 6);
	introduce(a, IP + 7);
	/* In memory that the new switch does not know. */
	old->head[19] = 1;
	assert_int_equal(b->ops->tx(b, &old, 1), 1);
	assert_int_equal(port_stats(b).shm_copied, 1);
	pkt = receive(a);
	assert_non_null(pkt);
	assert_memory_equal(pkt->head + 28, "before", 6);
	give_back(a, pkt);
	assert_all_home(a, b);
	a->ops->close(a);
	b->ops->close(b);
}

/* ---- sleeping ---- */

static void *late_sender(void *arg)
{
	usleep(50000);
	send_to(arg, IP + 1, "x", 1);
	return NULL;
}

static void sleep__packets_wake_both_sides(void **state)
{
	struct weft_port *a, *b;
	struct weft_pkt *pkt;
	pthread_t thread;
	pair_open(&a, &b);
	assert_true(weft_ethdev_rx_fd(a) >= 0 && weft_ethdev_rx_fd(sw[0]) >= 0);
	poll_all(a, b);
	assert_int_equal(pthread_create(&thread, NULL, late_sender, a), 0);
	weft_ns start = weft_clock_ns();
	do
		weft_ethdev_sleep(&sw[0], 1, WEFT_S(2 * PATIENCE_S));
	while (sw[0]->ops->rx(sw[0], &pkt, 1) == 0);
	pthread_join(thread, NULL);
	assert_true(port_stats(a).shm_wakes > 0);
	/* What is there already ends the sleep, too. */
	assert_int_equal(sw[1]->ops->tx(sw[1], &pkt, 1), 1);
	weft_ethdev_sleep(&b, 1, WEFT_S(2 * PATIENCE_S));
	assert_int_equal(b->ops->rx(b, &pkt, 1), 1);
	give_back(b, pkt);
	assert_true(weft_clock_ns() - start < WEFT_S(PATIENCE_S));
	a->ops->close(a);
	b->ops->close(b);
}

/* Nobody is woken who polls. */
static void sleep__no_call_for_who_is_awake(void **state)
{
	struct weft_port *a, *b;
	pair_open(&a, &b);
	uint64_t before = port_stats(a).shm_wakes + port_stats(sw[1]).shm_wakes;
	for (int i = 0; i < 1000; i++) {
		send_to(a, IP + 1, "x", 1);
		struct weft_pkt *pkt = receive(b);
		assert_non_null(pkt);
		give_back(b, pkt);
		port_poll(a);
	}
	assert_int_equal(port_stats(a).shm_wakes + port_stats(sw[1]).shm_wakes, before);
	a->ops->close(a);
	b->ops->close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(exchange__contents_arrive_without_a_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(exchange__a_received_packet_is_sent_back, setup, teardown),
		cmocka_unit_test_setup_teardown(exchange__too_large_packets_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(pool__empty_until_buffers_come_home, setup, teardown),
		cmocka_unit_test_setup_teardown(copies__packets_of_other_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(leave__packets_are_everywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(leave__what_was_sent_before_arrives, setup, teardown),
		cmocka_unit_test_setup_teardown(join__one_process_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(join__refusals, setup, teardown),
		cmocka_unit_test_setup_teardown(join__again_after_the_switch_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(sleep__packets_wake_both_sides, setup, teardown),
		cmocka_unit_test_setup_teardown(sleep__no_call_for_who_is_awake, setup, teardown),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
