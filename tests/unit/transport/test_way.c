/* SPDX-License-Identifier: BSD-3-Clause */
/* Timeouts while the port still looks for the way, and where there is none. */
#include <errno.h>

#include "cmocka_all.h"
#include "inside.h"
#include "rto.h"
#include "way.h"

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

/* Packets that were just given to a paced port leave later than the timeout of those before them. */
static void check__put_off_leaves_later_departures(void **state)
{
	enum { LONG = 150000 };
	static uint8_t out[LONG];
	struct duo d;
	open_asking(&d, -EINPROGRESS);
	duo_send(&d, 0, out, 100, 1, out);
	duo_poll(&d, 0);
	weft_ns deadline = rto_deadline(&d.e[0]->pds, first_tx(d.e[0]));
	duo_run(&d, deadline - 1);
	duo_send(&d, 0, out, LONG, 1, out);
	duo_poll(&d, 0);
	const struct sendq *q = &first_tx(d.e[0])->q;
	weft_ns last_ns = sendq_at(q, q->nxt - 1)->sent_at;
	assert_true(last_ns > ++d.now);
	assert_int_equal(way_check(&d.e[0]->pds, first_tx(d.e[0]), d.now), 0);
	assert_int_equal(sendq_at(q, q->una)->sent_at, d.now);
	assert_int_equal(sendq_at(q, q->nxt - 1)->sent_at, last_ns);
	duo_close(&d);
}

/* Who could not be fetched from for want of a route may reach us all the same: it does not wait for ever. */
static void check__sender_of_what_cannot_be_fetched_fails(void **state)
{
	enum { LONG = 10000 };
	static uint8_t out[LONG], in[LONG];
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = LONG - 1;
	duo_open(&d, &conf);
	ops = *d.port[0].port.ops;
	ops.reach = mock_reach;
	d.port[0].port.ops = &ops;
	way = -ENETUNREACH;
	duo_send(&d, 1, out, LONG, 1, out);
	duo_run(&d, d.now + WEFT_MS(1));
	d.fate = fate_of;
	keep_nothing = true; /* the request of side 0 gets lost */
	duo_recv(&d, 0, in, LONG, 1, 0, in);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 0, in, ENETUNREACH);
	keep_nothing = false;
	duo_run(&d, d.now + WEFT_S(10));
	duo_expect(&d, 1, out, ECONNRESET);
	duo_close(&d);
}

/* What side 0 says after it has asked for a message gets lost. */
static enum duo_fate only_the_request(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	bool *asked = arg;
	bool pass = from || !*asked;
	*asked |= !from && w->has_ses && w->ses.opcode == WIRE_OP_READ && w->pds.next_hdr == WIRE_NH_STD;
	return pass ? DUO_PASS : DUO_DROP;
}

/* A receiver that has all of a message never asks for it again, so its sender must not wait for that. */
static void check__sender_whose_answer_fails_does_not_wait(void **state)
{
	enum { LONG = 10000 };
	static uint8_t out[LONG], in[LONG];
	bool asked = false;
	struct duo_conf conf;
	struct duo d;
	duo_conf_init(&conf);
	conf.tune.rndv_bytes = LONG - 1;
	duo_open(&d, &conf);
	ops = *d.port[1].port.ops;
	ops.reach = mock_reach;
	d.port[1].port.ops = &ops;
	way = 0;
	d.fate = only_the_request;
	d.fate_arg = &asked;
	duo_send(&d, 1, out, LONG, 1, out);
	duo_run(&d, d.now + WEFT_US(20));
	way = -ENETUNREACH;
	duo_recv(&d, 0, in, LONG, 1, 0, in);
	duo_run(&d, d.now + WEFT_MS(1));
	duo_expect(&d, 0, in, 0);
	way = 0;
	d.fate = NULL;
	duo_run(&d, d.now + WEFT_S(10));
	duo_expect(&d, 1, out, ENETUNREACH);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check__no_timeout_while_a_neighbour_is_asked_for),
		cmocka_unit_test(check__silence_ends_even_so),
		cmocka_unit_test(check__no_route_fails_at_the_first_timeout),
		cmocka_unit_test(check__timeouts_are_doubts),
		cmocka_unit_test(check__put_off_leaves_later_departures),
		cmocka_unit_test(check__sender_of_what_cannot_be_fetched_fails),
		cmocka_unit_test(check__sender_whose_answer_fails_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
