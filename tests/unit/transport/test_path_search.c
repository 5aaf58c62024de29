/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

enum { JUMBO = 9000, ETHERNET = 1500, RTO_NS = 70000, LONG_BYTES = 4 << 20 };

/* A path: packets above `mtu` are lost, or come late, from some time on. */
struct path {
	const struct duo *d;
	uint32_t mtu; /* IP bytes; 0: nothing gets through */
	weft_ns from_ns;
	bool late;                    /* they come late */
	uint32_t lost;                /* packets that were too large */
	uint32_t biggest_first_bytes; /* largest payload while the target was not known */
	uint32_t biggest_bytes;       /* of a data packet that got through */
};

static enum duo_fate carry(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	struct path *path = arg;
	uint32_t bytes = (uint32_t)w->header_bytes + w->payload_bytes;
	if (is_data(w) && w->pds.flags & WIRE_F_SYN && w->payload_bytes > path->biggest_first_bytes)
		path->biggest_first_bytes = w->payload_bytes;
	if (path->d->now >= path->from_ns && bytes > path->mtu) {
		path->lost++;
		return path->late ? DUO_LATE : DUO_DROP;
	}
	if (is_data(w) && w->payload_bytes > path->biggest_bytes)
		path->biggest_bytes = w->payload_bytes;
	return DUO_PASS;
}

/* Two sides with the path between them, and one message. */
struct trip {
	struct duo_conf conf;
	struct path path;
	struct duo d;
	uint8_t *out, *in;
	uint64_t bytes;
};

static void trip_init(struct trip *t)
{
	*t = (struct trip){.path = {.d = &t->d}};
	duo_conf_init(&t->conf);
	t->conf.tune.payload_bytes = 8192;
	t->conf.tune.pmtu_discovery = 1;
}

static void trip_open(struct trip *t, uint32_t mtu)
{
	duo_open(&t->d, &t->conf);
	t->path.mtu = mtu;
	t->d.fate = carry;
	t->d.fate_arg = &t->path;
}

/* With `flags` of its operation. */
static void message_begin(struct trip *t, uint64_t bytes, uint16_t flags)
{
	t->bytes = bytes;
	t->out = duo_pattern(bytes, 5);
	t->in = calloc(1, bytes);
	duo_recv(&t->d, 1, t->in, bytes, 7, 0, t->in);
	struct weft_op op = {.kind = WEFT_OP_TSEND,
			     .flags = flags,
			     .peer = t->d.peer[0],
			     .buf = t->out,
			     .len = bytes,
			     .tag = 7,
			     .context = t->out};
	assert_int_equal(weft_submit(t->d.ep[0], &op), 0);
}

/* All bytes are there. */
static void message_check(struct trip *t)
{
	assert_memory_equal(t->in, t->out, t->bytes);
	free(t->out);
	free(t->in);
}

static void message_end(struct trip *t)
{
	duo_expect(&t->d, 0, t->out, 0);
	duo_expect(&t->d, 1, t->in, 0);
	message_check(t);
}

static void view(void *arg, const struct weft_conn_view *v)
{
	*(uint32_t *)arg = v->payload_bytes;
}

static uint32_t payload_of(const struct duo *d)
{
	uint32_t bytes = 0;
	weft_engine_view(d->e[0], view, &bytes);
	return bytes;
}

static void search__packets_become_as_large_as_the_path_carries(void **state)
{
	static const struct {
		uint32_t mtu, payload_bytes;
		bool ipv6, crc;
	} cases[] = {
		{9000, 8192},       {8295, 4096, true}, {8296, 8192, true}, {4300, 4096},
		{2200, 2048, true}, {1500, 1024},       {1500, 1024, true}, {4300, 4096, .crc = true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct trip t;
		trip_init(&t);
		t.conf.ipv6 = cases[i].ipv6;
		t.conf.tune.crc = cases[i].crc;
		trip_open(&t, cases[i].mtu);
		if (t.conf.tune.crc) /* the wire's decoder knows no trailers */
			t.d.fate = NULL;
		duo_transfer(&t.d, 0, 1 << 20);
		const struct weft_stats *s = duo_stats(&t.d, 0);
		if (!t.conf.tune.crc) {
			assert_int_equal(t.path.biggest_first_bytes, 1024);
			assert_int_equal(t.path.biggest_bytes, cases[i].payload_bytes);
			assert_int_equal(payload_of(&t.d), cases[i].payload_bytes);
		}
		assert_int_equal(s->tx_retx, 0);
		assert_int_equal(s->tx_withdrawn, 0);
		assert_int_equal(s->pmtu_holes, 0);
		assert_true(s->pmtu_probes >= s->pmtu_answers && s->pmtu_answers > 0);
		assert_int_equal(t.path.lost, s->pmtu_lost);
		duo_close(&t.d);
	}
}

/* On slow links full packets of another size take another time: the base RTT is that of today's, and no sample of
 * yesterday's stays. */
static void resize__measures_the_base_rtt_anew(void **state)
{
	struct trip t;
	trip_init(&t);
	t.conf.tune.brtt_ns = 0;
	t.conf.tune.idle_close_ns = 0;
	t.conf.tune.pmtu_raise_ns = WEFT_MS(10);
	trip_open(&t, ETHERNET);
	duo_transfer(&t.d, 0, 1 << 20);
	assert_int_equal(payload_of(&t.d), 1024);
	assert_true(first_tx(t.d.e[0])->brtt_ns < 3 * t.d.latency_ns);
	t.path.mtu = JUMBO;
	t.d.latency_ns *= 8;
	for (int i = 0; i < 4; i++) {
		duo_run(&t.d, t.d.now + t.conf.tune.pmtu_raise_ns);
		duo_transfer(&t.d, 0, 1 << 20);
	}
	assert_int_equal(payload_of(&t.d), 8192);
	assert_true(first_tx(t.d.e[0])->brtt_ns >= 2 * t.d.latency_ns);
	duo_close(&t.d);
}

static void search__needs_no_probes_when_there_is_one_size(void **state)
{
	struct trip t;
	trip_init(&t);
	t.conf.tune.payload_bytes = 1024;
	trip_open(&t, ETHERNET);
	duo_transfer(&t.d, 0, 1 << 20);
	assert_int_equal(duo_stats(&t.d, 0)->pmtu_probes, 0);
	assert_int_equal(payload_of(&t.d), 1024);
	duo_close(&t.d);
}

static void search__ends_at_a_size_that_is_none_of_the_standard(void **state)
{
	struct trip t;
	trip_init(&t);
	t.conf.tune.payload_bytes = 1392;
	trip_open(&t, ETHERNET);
	duo_transfer(&t.d, 0, 1 << 20);
	assert_int_equal(payload_of(&t.d), 1392);
	assert_int_equal(t.path.lost, 0);
	duo_close(&t.d);
}

/* When the completion of a message of so many bytes appears. */
static weft_ns time_of(bool discovery, uint64_t bytes)
{
	struct weft_cqe cqe;
	struct trip t;
	trip_init(&t);
	t.conf.tune.pmtu_discovery = discovery;
	trip_open(&t, JUMBO);
	weft_ns begin = t.d.now;
	message_begin(&t, bytes, 0);
	while (!duo_cqe(&t.d, 1, &cqe))
		duo_run(&t.d, t.d.now + 100);
	weft_ns took = t.d.now - begin;
	message_check(&t);
	duo_close(&t.d);
	return took;
}

static void search__delays_no_small_message(void **state)
{
	assert_int_equal(time_of(true, 1000), time_of(false, 1000));
	assert_int_equal(time_of(true, 8000), time_of(false, 8000));
}

static void search__the_result_outlives_the_connection(void **state)
{
	struct trip t;
	trip_init(&t);
	t.conf.tune.idle_close_ns = WEFT_MS(1);
	trip_open(&t, 4300);
	duo_transfer(&t.d, 0, 1 << 20);
	uint64_t probes = duo_stats(&t.d, 0)->pmtu_probes;
	assert_int_equal(duo_stats(&t.d, 0)->pdc_closed, 1);
	t.path.biggest_bytes = t.path.biggest_first_bytes = 0;
	duo_transfer(&t.d, 0, 1 << 20);
	assert_int_equal(duo_stats(&t.d, 0)->pdc_opened, 2);
	assert_int_equal(duo_stats(&t.d, 0)->pmtu_probes, probes);
	assert_int_equal(t.path.biggest_bytes, 4096);
	assert_int_equal(t.path.biggest_first_bytes, 1024); /* the peer may be another one */
	duo_close(&t.d);
}

static void search__larger_sizes_are_tried_again(void **state)
{
	struct trip t;
	trip_init(&t);
	t.conf.tune.pmtu_raise_ns = WEFT_S(2);
	t.conf.tune.idle_close_ns = 0;
	trip_open(&t, ETHERNET);
	duo_transfer(&t.d, 0, 1 << 20);
	assert_int_equal(payload_of(&t.d), 1024);
	t.path.mtu = JUMBO;
	duo_run(&t.d, t.d.now + WEFT_S(1));
	assert_int_equal(payload_of(&t.d), 1024);
	duo_run(&t.d, t.d.now + WEFT_S(1));
	assert_int_equal(payload_of(&t.d), 8192);
	uint64_t probes = duo_stats(&t.d, 0)->pmtu_probes;
	duo_run(&t.d, t.d.now + WEFT_S(10));
	assert_int_equal(duo_stats(&t.d, 0)->pmtu_probes, probes);
	duo_close(&t.d);
}

static enum duo_fate deaf_for_a_while(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	struct path *path = arg;
	return w->pds.type == WIRE_PDS_CP && path->d->now < path->from_ns ? DUO_DROP : DUO_PASS;
}

/* A peer that does not run answers nothing: that says nothing about sizes. */
static void search__silence_is_no_answer(void **state)
{
	struct trip t;
	trip_init(&t);
	t.conf.tune.idle_close_ns = 0;
	trip_open(&t, JUMBO);
	t.d.fate = deaf_for_a_while;
	t.path.from_ns = t.d.now + WEFT_MS(300);
	duo_transfer(&t.d, 0, 1000);
	assert_int_equal(payload_of(&t.d), 1024);
	duo_run(&t.d, t.d.now + WEFT_S(2));
	assert_int_equal(payload_of(&t.d), 8192);
	duo_close(&t.d);
}

/* An RTO far below the RTT: rounds would be over before the first answer comes, and each answer one of a former round.
 */
static void search__waits_for_a_round_trip_at_least(void **state)
{
	struct trip t;
	trip_init(&t);
	t.conf.tune.rto_ns = 22;
	t.conf.tune.pmtu_raise_ns = 1000;
	t.conf.tune.idle_close_ns = 0;
	trip_open(&t, JUMBO);
	duo_transfer(&t.d, 0, 1000);
	duo_run(&t.d, t.d.now + 10 * t.conf.tune.brtt_ns);
	assert_int_equal(payload_of(&t.d), 8192);
	assert_int_equal(duo_stats(&t.d, 0)->pmtu_probes, 1);
	duo_close(&t.d);
}

/* They are one packet always, and datagrams have no connection that could split them. */
static void sizes__of_what_cannot_be_split(void **state)
{
	struct trip t;
	trip_init(&t);
	trip_open(&t, ETHERNET);
	assert_int_equal(weft_atomic_bytes(t.d.e[0], WEFT_AMO_SUM), 992);
	struct weft_ep *ep;
	struct weft_cqe cqe;
	assert_int_equal(weft_ep_open_dgram(t.d.e[0], 7, 8, 8, &ep, NULL), 0);
	uint8_t buf[2048] = {0};
	struct weft_op op = {.kind = WEFT_OP_DGRAM, .peer = t.d.peer[0], .buf = buf, .len = sizeof buf};
	assert_int_equal(weft_submit(ep, &op), 0);
	duo_run(&t.d, t.d.now + 1000);
	assert_int_equal(weft_cq_take(ep, &cqe, 1), 1);
	assert_int_equal(cqe.err, 0);
	duo_transfer(&t.d, 0, 1000);
	assert_int_equal(weft_submit(ep, &op), 0);
	op.len = 1024;
	assert_int_equal(weft_submit(ep, &op), 0);
	duo_poll(&t.d, 0);
	assert_int_equal(weft_cq_take(ep, &cqe, 1), 1);
	assert_int_equal(cqe.err, EMSGSIZE);
	assert_int_equal(weft_cq_take(ep, &cqe, 1), 1);
	assert_int_equal(cqe.err, 0);
	weft_ep_close(ep);
	duo_close(&t.d);
}

/* How long after the hole opened the size was reduced. */
static weft_ns time_to_find(struct duo *d, weft_ns from_ns)
{
	while (!duo_stats(d, 0)->pmtu_holes && d->now < from_ns + WEFT_S(2))
		duo_run(d, d->now + RTO_NS / 4);
	return d->now - from_ns;
}

struct hole_case {
	const char *cc;
	uint32_t window_pkts, mtu, payload_bytes;
	bool go_back_n, late, background, ipv6;
};

/* A message is under way when the path's MTU falls. */
static void hole__is_found_and_the_message_arrives(void **state)
{
	const struct hole_case *c = *state;
	print_message("%s, window %u, MTU %u\n", c->cc, c->window_pkts, c->mtu);
	struct trip t;
	trip_init(&t);
	t.conf.cc = c->cc;
	t.conf.ipv6 = c->ipv6;
	t.conf.tune.go_back_n = c->go_back_n;
	t.conf.tune.window_pkts = c->window_pkts;
	trip_open(&t, c->mtu);
	t.path.late = c->late;
	t.d.late_ns = WEFT_MS(2);
	t.path.from_ns = t.d.now + WEFT_US(200);
	message_begin(&t, LONG_BYTES, c->background ? WEFT_OP_BACKGROUND : 0);
	duo_run(&t.d, t.path.from_ns);
	assert_int_equal(payload_of(&t.d), 8192);
	assert_in_range(time_to_find(&t.d, t.path.from_ns), RTO_NS, 20 * RTO_NS);
	assert_int_equal(payload_of(&t.d), c->payload_bytes);
	duo_run(&t.d, t.d.now + WEFT_S(1));
	message_end(&t);
	const struct weft_stats *from = duo_stats(&t.d, 0), *to = duo_stats(&t.d, 1);
	assert_int_equal(from->pmtu_holes, 1);
	assert_true(from->tx_withdrawn > 0 && from->tx_withdrawn >= to->rx_withdrawn);
	assert_int_equal(from->tx_data + from->tx_retx_path, to->rx_data);
	assert_int_equal(from->pdc_failed + to->pdc_failed + to->rx_bad_ses, 0);
	duo_close(&t.d);
}

/* Nothing gets through at all: no reason to believe in a hole. */
static void hole__a_dead_path_is_none(void **state)
{
	struct trip t;
	trip_init(&t);
	t.conf.tune.idle_close_ns = 0;
	trip_open(&t, 0);
	t.path.from_ns = t.d.now + WEFT_US(200);
	message_begin(&t, LONG_BYTES, 0);
	duo_run(&t.d, t.d.now + WEFT_MS(50));
	assert_true(duo_stats(&t.d, 0)->pmtu_lost > 0);
	t.path.mtu = JUMBO;
	duo_run(&t.d, t.d.now + WEFT_S(2));
	message_end(&t);
	assert_int_equal(duo_stats(&t.d, 0)->pmtu_holes, 0);
	assert_int_equal(duo_stats(&t.d, 0)->tx_withdrawn, 0);
	assert_int_equal(payload_of(&t.d), 8192);
	duo_close(&t.d);
}

/* One packet with a PSN that did arrive, though nobody knows: its withdrawal is acknowledged. */
static enum duo_fate lose_acks(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	struct path *path = arg;
	if (path->d->now < path->from_ns)
		return DUO_PASS;
	if (from == 1 && w->pds.type == WIRE_PDS_ACK_CC && path->d->now < path->from_ns + RTO_NS / 2)
		return DUO_DROP;
	return path->d->now > path->from_ns + RTO_NS / 2 ? carry(arg, from, w, nth) : DUO_PASS;
}

static void hole__what_arrived_is_not_sent_in_pieces(void **state)
{
	struct trip t;
	trip_init(&t);
	trip_open(&t, ETHERNET);
	t.d.fate = lose_acks;
	t.path.from_ns = t.d.now + WEFT_US(40);
	message_begin(&t, 1 << 20, 0);
	duo_run(&t.d, t.d.now + WEFT_S(1));
	message_end(&t);
	assert_int_equal(duo_stats(&t.d, 0)->pmtu_holes, 1);
	assert_true(duo_stats(&t.d, 1)->rx_withdrawn < duo_stats(&t.d, 0)->tx_withdrawn);
	duo_close(&t.d);
}

/* Without memory to number the pieces the withdrawal is repeated. */
static void hole__shortage_of_memory_is_survived(void **state)
{
	for (uint64_t fail = 1; fail <= 3; fail++) {
		struct trip t;
		trip_init(&t);
		trip_open(&t, ETHERNET);
		t.path.from_ns = t.d.now + WEFT_US(200);
		message_begin(&t, LONG_BYTES, 0);
		time_to_find(&t.d, t.path.from_ns);
		t.d.mem[0].fail_at = t.d.mem[0].calls + fail;
		duo_run(&t.d, t.d.now + WEFT_S(1));
		message_end(&t);
		duo_close(&t.d);
	}
}

#define HOLE(...) cmocka_unit_test_prestate(hole__is_found_and_the_message_arrives, (&(struct hole_case){__VA_ARGS__}))

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resize__measures_the_base_rtt_anew),
		cmocka_unit_test(search__packets_become_as_large_as_the_path_carries),
		cmocka_unit_test(search__needs_no_probes_when_there_is_one_size),
		cmocka_unit_test(search__ends_at_a_size_that_is_none_of_the_standard),
		cmocka_unit_test(search__delays_no_small_message),
		cmocka_unit_test(search__the_result_outlives_the_connection),
		cmocka_unit_test(search__larger_sizes_are_tried_again),
		cmocka_unit_test(search__silence_is_no_answer),
		cmocka_unit_test(search__waits_for_a_round_trip_at_least),
		cmocka_unit_test(sizes__of_what_cannot_be_split),
		cmocka_unit_test(hole__a_dead_path_is_none),
		cmocka_unit_test(hole__what_arrived_is_not_sent_in_pieces),
		cmocka_unit_test(hole__shortage_of_memory_is_survived),
		HOLE("fixed", 1024, 1500, 1024),
		HOLE("smartt", 1024, 1500, 1024),
		HOLE("fixed", 128, 1500, 1024),
		HOLE("smartt", 1024, 4300, 4096),
		HOLE("fixed", 1024, 2200, 2048, .ipv6 = true),
		HOLE("fixed", 1024, 1500, 1024, .go_back_n = true),
		HOLE("fixed", 1024, 1500, 1024, .late = true),
		HOLE("smartt", 1024, 1500, 1024, .background = true),
		HOLE("eqds", 1024, 1500, 1024),
		HOLE("spraypass", 1024, 1500, 1024),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
