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
		cmocka_unit_test(run__naps_are_short_when_a_port_has_lost_its_interrupts),
	};
	return cmocka_run_group_tests(tests, lab_setup, NULL);
}
