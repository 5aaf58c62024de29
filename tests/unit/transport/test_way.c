/* SPDX-License-Identifier: BSD-3-Clause */
/* Timeouts while the port still looks for the way, and where there is none. */
#include <errno.h>

#include "cmocka_all.h"
#include "duo.h"

static int way;           /* what the port of side 0 says */
static unsigned doubts;   /* how often it was told */
static bool keep_nothing; /* packets of side 0 go nowhere */
static struct weft_port_ops ops;

static int mock_reach(const struct weft_port *port, const struct weft_ip *ip, struct weft_ip *next_hop)
{
	*next_hop = *ip;
	return way;
}

static void mock_doubt(struct weft_port *port, const struct weft_ip *ip)
{
	doubts++;
}

static enum duo_fate fate_of(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return keep_nothing && from == 0 ? DUO_DROP : DUO_PASS;
}

static void open_asking(struct duo *d, int first_way)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.peer_timeout_ns = WEFT_MS(300);
	duo_open(d, &conf);
	ops = *d->port[0].port.ops;
	ops.reach = mock_reach;
	ops.doubt = mock_doubt;
	d->port[0].port.ops = &ops;
	d->fate = fate_of;
	way = first_way;
	doubts = 0;
	keep_nothing = true;
}

static void check__no_timeout_while_a_neighbour_is_asked_for(void **state)
{
	struct duo d;
	uint8_t out[100] = {1};
	open_asking(&d, -EINPROGRESS);
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_run(&d, d.now + WEFT_MS(200));
	assert_int_equal(duo_stats(&d, 0)->timeouts, 0);
	assert_int_equal(duo_stats(&d, 0)->tx_retx, 0);
	assert_int_equal(doubts, 0);
	way = 0;
	keep_nothing = false;
	duo_recv(&d, 1, out, sizeof out, 1, 0, out);
	duo_run(&d, d.now + WEFT_MS(100));
	duo_expect(&d, 0, out, 0);
	duo_close(&d);
}

static void check__silence_ends_even_so(void **state)
{
	struct duo d;
	uint8_t out[100] = {1};
	open_asking(&d, -EINPROGRESS);
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_run(&d, d.now + WEFT_MS(400));
	duo_expect(&d, 0, out, ETIMEDOUT);
	duo_close(&d);
}

static void check__no_route_fails_at_the_first_timeout(void **state)
{
	struct duo d;
	uint8_t out[100] = {1};
	open_asking(&d, -ENETUNREACH);
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_run(&d, d.now + WEFT_MS(100));
	struct weft_cqe cqe = duo_expect(&d, 0, out, ENETUNREACH);
	assert_ptr_equal(duo_stats(&d, 0), weft_engine_stats(d.e[0]));
	assert_int_equal(cqe.err, ENETUNREACH);
	duo_close(&d);
}

static void check__timeouts_are_doubts(void **state)
{
	struct duo d;
	uint8_t out[100] = {1};
	open_asking(&d, 0);
	duo_send(&d, 0, out, sizeof out, 1, out);
	duo_run(&d, d.now + WEFT_MS(400));
	duo_expect(&d, 0, out, ETIMEDOUT);
	assert_true(doubts >= 1 && doubts <= duo_stats(&d, 0)->timeouts + 1);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check__no_timeout_while_a_neighbour_is_asked_for),
		cmocka_unit_test(check__silence_ends_even_so),
		cmocka_unit_test(check__no_route_fails_at_the_first_timeout),
		cmocka_unit_test(check__timeouts_are_doubts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
