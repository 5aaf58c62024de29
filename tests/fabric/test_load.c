/* SPDX-License-Identifier: BSD-3-Clause */
/* A port under Poisson load against queueing theory. */
#include <math.h>

#include "cmocka_all.h"
#include "lan.h"
#include "rng.h"

#define NIC_BPS  UINT64_C(800000000000)
#define PORT_BPS UINT64_C(100000000000)

enum { SOURCES = 32, BATCHES = 20, BATCH_PKTS = 5000, SINK = SOURCES };

static const double service_ps = LAN_MTU * 80.0; /* at PORT_BPS */

struct sums {
	double sent, delivered; /* of times, ps */
	uint64_t count;
};

static struct sums sums;

static void add_delivery(struct lan_host *host, const struct weft_pkt *pkt, weft_ps now)
{
	sums.delivered += (double)now;
	sums.count++;
}

/* Exponential with the given mean. */
static double gap(struct rng *rng, double mean)
{
	return -log(((double)(rng_next(rng) >> 11) + 0.5) / 9007199254740992.0) * mean;
}

/* Sends a batch as a Poisson stream of many sources, each far below its NIC's rate, lets it drain and returns the mean
 * time from sending to delivery. */
static double mean_delay(struct lan *lan, struct rng *rng, double load, double *clock)
{
	double start = *clock;

	sums = (struct sums){0};
	for (uint32_t i = 0; i < BATCH_PKTS; i++) {
		*clock += gap(rng, service_ps / load);
		weft_ps now = (weft_ps)*clock;
		weft_net_run(lan->net, now);
		sums.sent += (double)now - start;
		lan_send(lan, now, (struct lan_send){.src = rng_below(rng, SOURCES), .dst = SINK});
	}
	weft_net_run(lan->net, WEFT_NEVER - 1);
	assert_int_equal(sums.count, BATCH_PKTS);
	*clock = (double)lan->hosts[SINK].last_at;
	return (sums.delivered - start * BATCH_PKTS - sums.sent) / BATCH_PKTS;
}

/* Mean wait in M/D/1 is rho S / (2 (1 - rho)); Pollaczek-Khinchine without variance of service. The mean over batches
 * lies within its 99 % confidence interval (t with 19 degrees of freedom: 2.86), widened by what the NICs shape and by
 * the empty queue every batch begins with. */
static void check_load(double load)
{
	struct weft_net_conf conf = lan_conf();
	struct rng rng = {11};
	struct weft_link_id down;
	struct lan lan;
	double clock = 0, sum = 0, squares = 0;

	conf.tune.queue_bytes = 1 << 30;
	lan_open(&lan, "star:33", NIC_BPS, conf);
	lan.on_deliver = add_delivery;
	assert_int_equal(weft_net_host_link(lan.net, SINK, true, &down), 0);
	weft_net_link_set_bps(lan.net, down, PORT_BPS);
	/* NIC, port, two wires and the switch. */
	double idle = LAN_MTU * 10 + service_ps + 2 * 600000 + 400000;
	for (int i = 0; i < BATCHES; i++) {
		double wait = mean_delay(&lan, &rng, load, &clock) - idle;
		sum += wait / service_ps;
		squares += wait / service_ps * (wait / service_ps);
	}
	double mean = sum / BATCHES, theory = load / (2 * (1 - load));
	double error = 2.86 * sqrt((squares / BATCHES - mean * mean) / (BATCHES - 1));
	if (fabs(mean - theory) > error + 0.01 * theory)
		fail_msg("load %g: a mean wait of %g +- %g packets, not %g", load, mean, error, theory);
	/* The interval means something. */
	assert_true(error < 0.1 * theory);
	lan_close(&lan);
}

static void queue_service__waits_as_in_md1(void **state)
{
	check_load(0.3);
	check_load(0.5);
	check_load(0.7);
	check_load(0.85);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_service__waits_as_in_md1),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
