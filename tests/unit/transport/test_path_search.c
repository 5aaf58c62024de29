/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

enum { JUMBO = 9000, ETHERNET = 1500, RTO_NS = 70000 };

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

static void conf_init(struct duo_conf *conf)
{
	duo_conf_init(conf);
	conf->tune.payload_bytes = 8192;
	conf->tune.pmtu_discovery = 1;
}

static void open_path(struct duo *d, const struct duo_conf *conf, struct path *path, uint32_t mtu)
{
	duo_open(d, conf);
	*path = (struct path){.d = d, .mtu = mtu};
	d->fate = carry;
	d->fate_arg = path;
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
		struct duo_conf conf;
		struct path path;
		struct duo d;
		conf_init(&conf);
		conf.ipv6 = cases[i].ipv6;
		conf.tune.crc = cases[i].crc;
		open_path(&d, &conf, &path, cases[i].mtu);
		if (conf.tune.crc) /* the wire's decoder knows no trailers */
			d.fate = NULL;
		duo_transfer(&d, 0, 1 << 20);
		const struct weft_stats *s = duo_stats(&d, 0);
		if (!conf.tune.crc) {
			assert_int_equal(path.biggest_first_bytes, 1024);
			assert_int_equal(path.biggest_bytes, cases[i].payload_bytes);
			assert_int_equal(payload_of(&d), cases[i].payload_bytes);
		}
		assert_int_equal(s->tx_retx, 0);
		assert_int_equal(s->tx_withdrawn, 0);
		assert_int_equal(s->pmtu_holes, 0);
		assert_true(s->pmtu_probes >= s->pmtu_answers && s->pmtu_answers > 0);
		assert_int_equal(path.lost, s->pmtu_lost);
		duo_close(&d);
	}
}

/* On slow links full packets of another size take another time: the base RTT is that of today's, and no sample of
 * yesterday's stays. */
static void resize__measures_the_base_rtt_anew(void **state)
{
	struct duo_conf conf;
	struct path path;
	struct duo d;
	conf_init(&conf);
	conf.tune.brtt_ns = 0;
	conf.tune.idle_close_ns = 0;
	conf.tune.pmtu_raise_ns = WEFT_MS(10);
	open_path(&d, &conf, &path, ETHERNET);
	duo_transfer(&d, 0, 1 << 20);
	assert_int_equal(payload_of(&d), 1024);
	assert_true(first_tx(d.e[0])->brtt_ns < 3 * d.latency_ns);
	path.mtu = JUMBO;
	d.latency_ns *= 8;
	for (int i = 0; i < 4; i++) {
		duo_run(&d, d.now + conf.tune.pmtu_raise_ns);
		duo_transfer(&d, 0, 1 << 20);
	}
	assert_int_equal(payload_of(&d), 8192);
	assert_true(first_tx(d.e[0])->brtt_ns >= 2 * d.latency_ns);
	duo_close(&d);
}

static void search__needs_no_probes_when_there_is_one_size(void **state)
{
	struct duo_conf conf;
	struct path path;
	struct duo d;
	conf_init(&conf);
	conf.tune.payload_bytes = 1024;
	open_path(&d, &conf, &path, ETHERNET);
	duo_transfer(&d, 0, 1 << 20);
	assert_int_equal(duo_stats(&d, 0)->pmtu_probes, 0);
	assert_int_equal(payload_of(&d), 1024);
	duo_close(&d);
}

static void search__ends_at_a_size_that_is_none_of_the_standard(void **state)
{
	struct duo_conf conf;
	struct path path;
	struct duo d;
	conf_init(&conf);
	conf.tune.payload_bytes = 1392;
	open_path(&d, &conf, &path, ETHERNET);
	duo_transfer(&d, 0, 1 << 20);
	assert_int_equal(payload_of(&d), 1392);
	assert_int_equal(path.lost, 0);
	duo_close(&d);
}

/* When the completion of a message of so many bytes appears. */
static weft_ns time_of(bool discovery, uint64_t bytes)
{
	uint8_t *out = duo_pattern(bytes, 3), *in = calloc(1, bytes);
	struct weft_cqe cqe;
	struct duo_conf conf;
	struct duo d;
	conf_init(&conf);
	conf.tune.pmtu_discovery = discovery;
	duo_open(&d, &conf);
	weft_ns begin = d.now;
	duo_recv(&d, 1, in, bytes, 7, 0, in);
	duo_send(&d, 0, out, bytes, 7, out);
	while (!duo_cqe(&d, 1, &cqe))
		duo_run(&d, d.now + 100);
	weft_ns took = d.now - begin;
	assert_memory_equal(in, out, bytes);
	duo_close(&d);
	free(out);
	free(in);
	return took;
}

static void search__delays_no_small_message(void **state)
{
	assert_int_equal(time_of(true, 1000), time_of(false, 1000));
	assert_int_equal(time_of(true, 8000), time_of(false, 8000));
}

static void search__the_result_outlives_the_connection(void **state)
{
	struct duo_conf conf;
	struct path path;
	struct duo d;
	conf_init(&conf);
	conf.tune.idle_close_ns = WEFT_MS(1);
	open_path(&d, &conf, &path, 4300);
	duo_transfer(&d, 0, 1 << 20);
	uint64_t probes = duo_stats(&d, 0)->pmtu_probes;
	assert_int_equal(duo_stats(&d, 0)->pdc_closed, 1);
	path.biggest_bytes = path.biggest_first_bytes = 0;
	duo_transfer(&d, 0, 1 << 20);
	assert_int_equal(duo_stats(&d, 0)->pdc_opened, 2);
	assert_int_equal(duo_stats(&d, 0)->pmtu_probes, probes);
	assert_int_equal(path.biggest_bytes, 4096);
	assert_int_equal(path.biggest_first_bytes, 1024); /* the peer may be another one */
	duo_close(&d);
}

static void search__larger_sizes_are_tried_again(void **state)
{
	struct duo_conf conf;
	struct path path;
	struct duo d;
	conf_init(&conf);
	conf.tune.pmtu_raise_ns = WEFT_S(2);
	conf.tune.idle_close_ns = 0;
	open_path(&d, &conf, &path, ETHERNET);
	duo_transfer(&d, 0, 1 << 20);
	assert_int_equal(payload_of(&d), 1024);
	path.mtu = JUMBO;
	duo_run(&d, d.now + WEFT_S(1));
	assert_int_equal(payload_of(&d), 1024);
	duo_run(&d, d.now + WEFT_S(1));
	assert_int_equal(payload_of(&d), 8192);
	uint64_t probes = duo_stats(&d, 0)->pmtu_probes;
	duo_run(&d, d.now + WEFT_S(10));
	assert_int_equal(duo_stats(&d, 0)->pmtu_probes, probes);
	duo_close(&d);
}

static enum duo_fate deaf_for_a_while(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	struct path *path = arg;
	return w->pds.type == WIRE_PDS_CP && path->d->now < path->from_ns ? DUO_DROP : DUO_PASS;
}

/* A peer that does not run answers nothing: that says nothing about sizes. */
static void search__silence_is_no_answer(void **state)
{
	struct duo_conf conf;
	struct path path;
	struct duo d;
	conf_init(&conf);
	conf.tune.idle_close_ns = 0;
	open_path(&d, &conf, &path, JUMBO);
	d.fate = deaf_for_a_while;
	path.from_ns = d.now + WEFT_MS(300);
	duo_transfer(&d, 0, 1000);
	assert_int_equal(payload_of(&d), 1024);
	duo_run(&d, d.now + WEFT_S(2));
	assert_int_equal(payload_of(&d), 8192);
	duo_close(&d);
}

/* They are one packet always, and datagrams have no connection that could split them. */
static void sizes__of_what_cannot_be_split(void **state)
{
	struct duo_conf conf;
	struct path path;
	struct duo d;
	conf_init(&conf);
	open_path(&d, &conf, &path, ETHERNET);
	assert_int_equal(weft_atomic_bytes(d.e[0], WEFT_AMO_SUM), 992);
	struct weft_ep *ep;
	struct weft_cqe cqe;
	assert_int_equal(weft_ep_open_dgram(d.e[0], 7, 8, 8, &ep, NULL), 0);
	uint8_t buf[2048] = {0};
	struct weft_op op = {.kind = WEFT_OP_DGRAM, .peer = d.peer[0], .buf = buf, .len = sizeof buf};
	assert_int_equal(weft_submit(ep, &op), 0);
	duo_run(&d, d.now + 1000);
	assert_int_equal(weft_cq_take(ep, &cqe, 1), 1);
	assert_int_equal(cqe.err, 0);
	duo_transfer(&d, 0, 1000);
	assert_int_equal(weft_submit(ep, &op), 0);
	op.len = 1024;
	assert_int_equal(weft_submit(ep, &op), 0);
	duo_poll(&d, 0);
	assert_int_equal(weft_cq_take(ep, &cqe, 1), 1);
	assert_int_equal(cqe.err, EMSGSIZE);
	assert_int_equal(weft_cq_take(ep, &cqe, 1), 1);
	assert_int_equal(cqe.err, 0);
	weft_ep_close(ep);
	duo_close(&d);
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
	enum { BYTES = 4 << 20 };
	const struct hole_case *c = *state;
	print_message("%s, window %u, MTU %u\n", c->cc, c->window_pkts, c->mtu);
	uint8_t *out = duo_pattern(BYTES, 5), *in = calloc(1, BYTES);
	struct duo_conf conf;
	struct path path;
	struct duo d;
	conf_init(&conf);
	conf.cc = c->cc;
	conf.ipv6 = c->ipv6;
	conf.tune.go_back_n = c->go_back_n;
	conf.tune.window_pkts = c->window_pkts;
	open_path(&d, &conf, &path, c->mtu);
	path.late = c->late;
	d.late_ns = WEFT_MS(2);
	path.from_ns = d.now + WEFT_US(200);
	duo_recv(&d, 1, in, BYTES, 7, 0, in);
	struct weft_op op = {.kind = WEFT_OP_TSEND,
			     .flags = c->background ? WEFT_OP_BACKGROUND : 0,
			     .peer = d.peer[0],
			     .buf = out,
			     .len = BYTES,
			     .tag = 7,
			     .context = out};
	assert_int_equal(weft_submit(d.ep[0], &op), 0);
	duo_run(&d, path.from_ns);
	assert_int_equal(payload_of(&d), 8192);
	assert_in_range(time_to_find(&d, path.from_ns), RTO_NS, 20 * RTO_NS);
	assert_int_equal(payload_of(&d), c->payload_bytes);
	duo_run(&d, d.now + WEFT_S(1));
	duo_expect(&d, 0, out, 0);
	duo_expect(&d, 1, in, 0);
	assert_memory_equal(in, out, BYTES);
	const struct weft_stats *s = duo_stats(&d, 0), *t = duo_stats(&d, 1);
	assert_int_equal(s->pmtu_holes, 1);
	assert_true(s->tx_withdrawn > 0 && s->tx_withdrawn >= t->rx_withdrawn);
	assert_int_equal(s->tx_data + s->tx_retx_path, t->rx_data);
	assert_int_equal(s->pdc_failed + t->pdc_failed + t->rx_bad_ses, 0);
	duo_close(&d);
	free(out);
	free(in);
}

/* Nothing gets through at all: no reason to believe in a hole. */
static void hole__a_dead_path_is_none(void **state)
{
	enum { BYTES = 4 << 20 };
	uint8_t *out = duo_pattern(BYTES, 5), *in = calloc(1, BYTES);
	struct duo_conf conf;
	struct path path;
	struct duo d;
	conf_init(&conf);
	conf.tune.idle_close_ns = 0;
	open_path(&d, &conf, &path, 0);
	path.from_ns = d.now + WEFT_US(200);
	duo_recv(&d, 1, in, BYTES, 7, 0, in);
	duo_send(&d, 0, out, BYTES, 7, out);
	duo_run(&d, d.now + WEFT_MS(50));
	assert_true(duo_stats(&d, 0)->pmtu_lost > 0);
	path.mtu = JUMBO;
	duo_run(&d, d.now + WEFT_S(2));
	duo_expect(&d, 0, out, 0);
	duo_expect(&d, 1, in, 0);
	assert_int_equal(duo_stats(&d, 0)->pmtu_holes, 0);
	assert_int_equal(duo_stats(&d, 0)->tx_withdrawn, 0);
	assert_int_equal(payload_of(&d), 8192);
	duo_close(&d);
	free(out);
	free(in);
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
	enum { BYTES = 1 << 20 };
	uint8_t *out = duo_pattern(BYTES, 5), *in = calloc(1, BYTES);
	struct duo_conf conf;
	struct path path;
	struct duo d;
	conf_init(&conf);
	open_path(&d, &conf, &path, ETHERNET);
	d.fate = lose_acks;
	path.from_ns = d.now + WEFT_US(40);
	duo_recv(&d, 1, in, BYTES, 7, 0, in);
	duo_send(&d, 0, out, BYTES, 7, out);
	duo_run(&d, d.now + WEFT_S(1));
	duo_expect(&d, 0, out, 0);
	duo_expect(&d, 1, in, 0);
	assert_memory_equal(in, out, BYTES);
	assert_int_equal(duo_stats(&d, 0)->pmtu_holes, 1);
	assert_true(duo_stats(&d, 1)->rx_withdrawn < duo_stats(&d, 0)->tx_withdrawn);
	duo_close(&d);
	free(out);
	free(in);
}

/* Without memory to number the pieces the withdrawal is repeated. */
static void hole__shortage_of_memory_is_survived(void **state)
{
	enum { BYTES = 4 << 20 };
	for (uint64_t fail = 1; fail <= 3; fail++) {
		uint8_t *out = duo_pattern(BYTES, 5), *in = calloc(1, BYTES);
		struct duo_conf conf;
		struct path path;
		struct duo d;
		conf_init(&conf);
		open_path(&d, &conf, &path, ETHERNET);
		path.from_ns = d.now + WEFT_US(200);
		duo_recv(&d, 1, in, BYTES, 7, 0, in);
		duo_send(&d, 0, out, BYTES, 7, out);
		time_to_find(&d, path.from_ns);
		d.mem[0].fail_at = d.mem[0].calls + fail;
		duo_run(&d, d.now + WEFT_S(1));
		duo_expect(&d, 0, out, 0);
		duo_expect(&d, 1, in, 0);
		assert_memory_equal(in, out, BYTES);
		duo_close(&d);
		free(out);
		free(in);
	}
}

int main(void)
{
	static struct hole_case cases[] = {
		{"fixed", 1024, 1500, 1024},
		{"smartt", 1024, 1500, 1024},
		{"fixed", 128, 1500, 1024},
		{"smartt", 1024, 4300, 4096},
		{"fixed", 1024, 2200, 2048, .ipv6 = true},
		{"fixed", 1024, 1500, 1024, .go_back_n = true},
		{"fixed", 1024, 1500, 1024, .late = true},
		{"smartt", 1024, 1500, 1024, .background = true},
		{"eqds", 1024, 1500, 1024},
		{"spraypass", 1024, 1500, 1024},
	};
	enum { CASES = sizeof cases / sizeof *cases, PLAIN = 11 };
	struct CMUnitTest tests[PLAIN + CASES] = {
		cmocka_unit_test(resize__measures_the_base_rtt_anew),
		cmocka_unit_test(search__packets_become_as_large_as_the_path_carries),
		cmocka_unit_test(search__needs_no_probes_when_there_is_one_size),
		cmocka_unit_test(search__ends_at_a_size_that_is_none_of_the_standard),
		cmocka_unit_test(search__delays_no_small_message),
		cmocka_unit_test(search__the_result_outlives_the_connection),
		cmocka_unit_test(search__larger_sizes_are_tried_again),
		cmocka_unit_test(search__silence_is_no_answer),
		cmocka_unit_test(sizes__of_what_cannot_be_split),
		cmocka_unit_test(hole__a_dead_path_is_none),
		cmocka_unit_test(hole__what_arrived_is_not_sent_in_pieces),
		cmocka_unit_test(hole__shortage_of_memory_is_survived),
	};
	for (int i = 0; i < CASES; i++)
		tests[PLAIN + i] = (struct CMUnitTest){"hole__is_found_and_the_message_arrives",
						       hole__is_found_and_the_message_arrives, NULL, NULL, &cases[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
