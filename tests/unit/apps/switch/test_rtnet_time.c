/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of a fabric in real time, and how long a switch without packets sleeps. */
#include "cmocka_all.h"
#include "rtnet_lab.h"

static const struct rtnet_conf TRIMMING = {
	.net = {.tune.trim = WEFT_TRIM_ARRIVING, .tune.ecn_min_pct = 20, .tune.ecn_max_pct = 80}};

static int rx_fd; /* of all ports */

int __wrap_weft_ethdev_rx_fd(const struct weft_port *port);
int __wrap_weft_ethdev_rx_fd(const struct weft_port *port)
{
	return rx_fd;
}

/* Where counting nanoseconds in picoseconds ends, and half of that. */
#define WRAP_NS      (UINT64_MAX / 1000)
#define HALF_WRAP_NS (WRAP_NS / 2)

struct flood {
	struct lab lab;
	weft_ns now;
	unsigned sent, full, trimmed;
};

/* Three hosts at full rate towards one, for a millisecond; the queues do not run empty. */
static void flood(struct flood *f)
{
	f->sent = f->full = f->trimmed = 0;
	for (weft_ns end = f->now + WEFT_MS(1); f->now < end; f->now += 1000) {
		for (uint32_t h = 1; h < HOSTS; h++)
			f->sent += send_data(f->lab.host[h], weft_net_host_ip(h), weft_net_host_ip(0), f->sent);
		assert_true(rtnet_poll(f->lab.rtnet, f->now) >= f->now);
		drain(f->lab.host[0], &f->full, &f->trimmed);
	}
}

/* Begins at `begin`, and is flooded from 3 ms before `at` on. */
static void flood_across(weft_ns begin, weft_ns at)
{
	struct flood f = {.now = begin};
	lab_open_at(&f.lab, weft_net_host_ip(0), &TRIMMING, begin);
	rtnet_poll(f.lab.rtnet, begin);
	f.now = at - WEFT_MS(3);
	flood(&f);
	unsigned full = f.full, trimmed = f.trimmed;
	assert_true(full > 200 && trimmed > 50);
	for (int i = 0; i < 6; i++) {
		flood(&f);
		assert_in_range(f.full, full - 20, full + 20); /* what 10 Gb/s carry, and no more */
		assert_in_range(f.trimmed, trimmed / 2, 2 * trimmed + 20);
	}
	lab_close(&f.lab);
}

static void poll__overloaded_while_picoseconds_end(void **state)
{
	flood_across(WRAP_NS - WEFT_MS(4), WRAP_NS); /* on a host that was started long ago */
	flood_across(0, HALF_WRAP_NS);
	flood_across(WEFT_S(100), WEFT_S(100) + HALF_WRAP_NS);
}

/* Years, with a poll a month. */
static void poll__goes_on_for_ever(void **state)
{
	struct flood f = {.now = 0};
	lab_open_at(&f.lab, weft_net_host_ip(0), &TRIMMING, 0);
	for (int month = 0; month < 40; month++) {
		f.now = month * WEFT_S(30 * 86400);
		assert_true(send_data(f.lab.host[1], weft_net_host_ip(1), weft_net_host_ip(0), 0));
		unsigned full = 0, trimmed = 0;
		for (weft_ns end = f.now + WEFT_US(5); f.now < end; f.now += 100)
			rtnet_poll(f.lab.rtnet, f.now);
		drain(f.lab.host[0], &full, &trimmed);
		assert_int_equal(full, 0); /* two links, 3.4 us each */
		for (weft_ns end = f.now + WEFT_US(15); f.now < end; f.now += 100)
			rtnet_poll(f.lab.rtnet, f.now);
		drain(f.lab.host[0], &full, &trimmed);
		assert_int_equal(full, 1);
		assert_int_equal(rtnet_poll(f.lab.rtnet, f.now), WEFT_NEVER);
	}
	lab_close(&f.lab);
}

/* Rounds of a switch in the second tenth of a second without packets. */
struct idle {
	atomic_bool stop;
	weft_ns from;
	unsigned rounds;
};

static void idle_tick(void *arg)
{
	struct idle *idle = arg;
	weft_ns now = weft_clock_ns();
	idle->rounds += now >= idle->from;
	if (now >= idle->from + WEFT_MS(100))
		atomic_store(&idle->stop, true);
}

static unsigned idle_rounds(struct lab *l)
{
	struct idle idle = {.from = weft_clock_ns() + WEFT_MS(100)};
	rtnet_run(l->rtnet, &idle.stop, 0, idle_tick, &idle);
	return idle.rounds;
}

/* Naps are a millisecond at most while there is a port that wakes nobody, be it only from now on. */
static void run__naps_are_short_when_a_port_has_lost_its_interrupts(void **state)
{
	struct lab l;
	rx_fd = 1000;
	lab_open(&l, weft_net_host_ip(0), &TRIMMING);
	assert_in_range(idle_rounds(&l), 1, 8);
	rx_fd = -1;
	assert_in_range(idle_rounds(&l), 12, 1000);
	lab_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll__overloaded_while_picoseconds_end),
		cmocka_unit_test(poll__goes_on_for_ever),
		cmocka_unit_test(run__naps_are_short_when_a_port_has_lost_its_interrupts),
	};
	return cmocka_run_group_tests(tests, lab_setup, NULL);
}
