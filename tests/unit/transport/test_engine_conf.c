/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inside.h"
#include "ip_key.h"
#include "pdc_tx.h"

static void create__packet_must_fit_the_port(void **state)
{
	struct weft_port port = {.max_ip_bytes = 1500};
	struct weft_engine_conf conf = {.ip = weft_ip_v4(1), .cc = weft_cc_find("fixed"), .lb = weft_lb_find("ops")};
	struct weft_engine *e;
	struct weft_err err = {""};
	weft_param_defaults(weft_engine_tunes, &conf.tune);
	assert_int_equal(weft_engine_create(&conf, &port, 0, &e, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "4096"));
	assert_non_null(strstr(err.msg, "1500"));
	conf.tune.payload_bytes = 1024;
	assert_int_equal(weft_engine_create(&conf, &port, 0, &e, &err), 0);
	weft_engine_destroy(e);
}

static void tune_auto__leaves_all_else_alone(void **state)
{
	struct weft_engine_tune tune, before;
	weft_param_defaults(weft_engine_tunes, &tune);
	before = tune;
	weft_engine_tune_auto(&tune);
	assert_int_equal(tune.acks_per_window, 8);
	assert_int_equal(tune.lb_all_acked, 1);
	assert_int_equal(tune.timeout_probes, 32);
	tune.acks_per_window = before.acks_per_window;
	tune.lb_all_acked = before.lb_all_acked;
	tune.timeout_probes = before.timeout_probes;
	assert_memory_equal(&tune, &before, sizeof tune);
}

static void create__every_number_within_its_range_works(void **state)
{
	for (const struct weft_param *p = weft_engine_tunes; p->key; p++)
		for (int top = 0; top < 2; top++) {
			struct weft_port port = {.max_ip_bytes = 9000};
			struct weft_engine_conf conf = {
				.ip = weft_ip_v4(1), .cc = weft_cc_find("smartt"), .lb = weft_lb_find("reps")};
			struct weft_err err = {""};
			struct weft_engine *e;
			char value[32];
			weft_param_defaults(weft_engine_tunes, &conf.tune);
			snprintf(value, sizeof value, "%llu", (unsigned long long)(top ? p->max : p->min));
			assert_int_equal(weft_param_set(weft_engine_tunes, &conf.tune, p->key, value, &err), 0);
			assert_int_equal(weft_engine_create(&conf, &port, 5, &e, &err), 0);
			assert_true(e->pds.conf.rto_ns > 0 && e->pds.conf.reorder_ns > 0 &&
				    e->pds.conf.cc_params.link_bps > 0);
			assert_true(e->pds.conf.cc_params.brtt_ns > 0 && e->pds.conf.lb_params.bdp_pkts > 0);
			assert_true(e->pds.win.mask + 1 >= e->pds.conf.tune.window_pkts);
			weft_engine_destroy(e);
		}
}

static struct weft_engine *create(uint64_t seed, bool ids_by_seed)
{
	static struct weft_port port = {.max_ip_bytes = 9000};
	struct weft_engine_conf conf = {.ip = weft_ip_v4(1),
					.cc = weft_cc_find("fixed"),
					.lb = weft_lb_find("ops"),
					.seed = seed,
					.ids_by_seed = ids_by_seed};
	struct weft_err err = {""};
	struct weft_engine *e;
	weft_param_defaults(weft_engine_tunes, &conf.tune);
	assert_int_equal(weft_engine_create(&conf, &port, 0, &e, &err), 0);
	return e;
}

static void create__ids_begin_where_the_seed_says(void **state)
{
	uint16_t first[4];
	for (int i = 0; i < 4; i++) {
		struct weft_engine *e = create(i == 1 ? 7 : 8, i != 0);
		struct pdc pdc = {.id = 0};
		assert_true(pdc_id_take(&e->pds.ids, &pdc));
		first[i] = pdc.id;
		pdc_id_put(&e->pds.ids, &pdc);
		assert_true(i ? e->ses.asks.salt : !e->ses.asks.salt);
		weft_engine_destroy(e);
	}
	assert_int_equal(first[0], 1);
	assert_int_not_equal(first[1], first[2]);
	assert_int_not_equal(first[2], 1);
	assert_int_equal(first[2], first[3]);
}

/* Start PSNs and PDCIDs of connections to 8 hosts, and a token's salt. */
struct numbers {
	uint32_t psns[8];
	uint16_t ids[8], salt;
};

static struct numbers numbers_of(const uint8_t *secret)
{
	static struct weft_port port = {.max_ip_bytes = 9000};
	struct weft_engine_conf conf = {.ip = weft_ip_v4(1),
					.cc = weft_cc_find("fixed"),
					.lb = weft_lb_find("ops"),
					.secret = secret,
					.seed = 8,
					.ids_by_seed = true};
	struct weft_err err = {""};
	struct weft_engine *e;
	struct numbers n = {.salt = 0};
	weft_param_defaults(weft_engine_tunes, &conf.tune);
	assert_int_equal(weft_engine_create(&conf, &port, 0, &e, &err), 0);
	n.salt = e->ses.asks.salt;
	for (uint32_t i = 0; i < 8; i++) {
		const struct weft_ip ip = weft_ip_v4(10 + i);
		const struct pdc_tx *p = pdc_tx_get(&e->pds, pds_remote(&e->pds, &ip), false, 0);
		n.psns[i] = p->start_psn;
		n.ids[i] = p->pdc.id;
	}
	weft_engine_destroy(e);
	return n;
}

static void secret__decides_all_numbers(void **state)
{
	const uint8_t a[WEFT_SECRET_BYTES] = {1}, b[WEFT_SECRET_BYTES] = {2};
	const struct numbers of_a = numbers_of(a), again = numbers_of(a), of_b = numbers_of(b),
			     of_seed = numbers_of(NULL);
	assert_memory_equal(&of_a, &again, sizeof of_a);
	int in_turn = 0;
	for (int i = 0; i < 8; i++) {
		assert_int_not_equal(of_a.psns[i], of_b.psns[i]);
		assert_int_not_equal(of_a.psns[i], of_seed.psns[i]);
		in_turn += i && of_a.ids[i] == of_a.ids[i - 1] + 1;
		assert_true(!i || of_seed.ids[i] == of_seed.ids[i - 1] + 1);
	}
	assert_true(in_turn < 2);
}

/* Most ids are handed out before one returns: all but those whose place in the table was taken. */
static void shuffle__ids_rest(void **state)
{
	enum { TAKEN = PDC_IDS / 5 * 4 };
	static struct pdc pdcs[TAKEN];
	static uint8_t seen[PDC_IDS];
	struct duo d;
	open_default(&d);
	struct pdc_ids ids;
	memset(&ids, 0, sizeof ids);
	pdc_ids_init(&ids, &d.e[0]->pds.mem);
	ids.shuffle = 0x1234567;
	for (uint32_t i = 1; i < TAKEN; i++) {
		assert_true(pdc_id_take(&ids, &pdcs[i]));
		uint16_t id = pdcs[i].id;
		assert_true(id && !seen[id]++);
		if (i > 3) /* a few at a time are in use */
			pdc_id_put(&ids, &pdcs[i - 3]);
	}
	for (uint32_t i = TAKEN - 3; i < TAKEN; i++)
		pdc_id_put(&ids, &pdcs[i]);
	pdc_ids_fini(&ids);
	duo_close(&d);
}

/* An address that collides with another by arithmetic that anybody can do. */
static struct weft_ip colliding(const struct weft_ip *with)
{
	uint64_t w[2];
	struct weft_ip ip;
	memcpy(w, with->b, sizeof w);
	uint64_t sum = w[0] + rng_mix(w[1] + rng_mix(1));
	w[1]++;
	w[0] = sum - rng_mix(w[1] + rng_mix(1));
	memcpy(ip.b, w, sizeof w);
	return ip;
}

static void colliding_addresses__both_served(void **state)
{
	struct duo d;
	open_default(&d);
	const struct weft_ip ip = {{0x20, 1, 0xd, 0xb8, [15] = 7}}, other = colliding(&ip);
	assert_int_equal(ip_mix(&ip, 0), ip_mix(&other, 0));
	struct remote *r = pds_remote(&d.e[0]->pds, &ip), *o = pds_remote(&d.e[0]->pds, &other);
	assert_true(r && o && r != o);
	duo_close(&d);
}

static void create__without_memory(void **state)
{
	for (uint64_t n = 1;; n++) {
		struct duo d = {.now = 1};
		struct weft_port port = {.max_ip_bytes = 9000};
		struct duo_conf dc;
		struct duo base;
		struct weft_err err = {""};
		struct weft_engine *e = NULL;
		duo_conf_init(&dc);
		duo_open(&base, &dc);
		struct weft_engine_conf conf = {.ip = weft_ip_v4(1),
						.cc = weft_cc_find("smartt"),
						.lb = weft_lb_find("reps"),
						.tune = dc.tune,
						.mem = base.e[0]->pds.mem};
		int64_t live = base.mem[0].live;
		base.mem[0].fail_at = base.mem[0].calls + n;
		int rc = weft_engine_create(&conf, &port, d.now, &e, &err);
		if (rc)
			assert_int_equal(base.mem[0].live, live);
		else
			weft_engine_destroy(e);
		duo_close(&base);
		if (!rc)
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_true(err.msg[0] != 0);
		assert_true(n < 20);
	}
}

static void derive__from_base_rtt_and_link(void **state)
{
	struct duo d;
	open_default(&d);
	assert_int_equal(d.e[0]->pds.conf.rto_ns, WEFT_US(70));
	assert_int_equal(d.e[0]->pds.conf.reorder_ns, WEFT_US(30));
	assert_int_equal(d.e[0]->pds.conf.ack_delay_ns, WEFT_US(5));
	assert_int_equal(d.e[0]->pds.conf.full_wire_bytes, 4096 + 44 + 12 + 8 + 20 + 38);
	assert_int_equal(d.e[0]->pds.conf.lb_params.bdp_pkts, 125000 / 4218);
	duo_close(&d);
}

static void destroy__with_everything_under_way(void **state)
{
	static uint8_t out[200000];
	for (weft_ns after = 0; after < WEFT_US(40); after += 2000) {
		struct duo d;
		open_default(&d);
		duo_recv(&d, 1, NULL, sizeof out, 7, 0, NULL);
		duo_recv(&d, 1, NULL, sizeof out, 8, 0, NULL);
		duo_send(&d, 0, out, sizeof out, 7, NULL);
		duo_send(&d, 0, out, sizeof out, 9, NULL);
		duo_send(&d, 1, out, sizeof out, 9, NULL);
		duo_run(&d, d.now + after);
		d.port[0].tx_room = 0;
		duo_poll(&d, 0);
		duo_close(&d);
	}
}

/* An endpoint that closes copies what is not sent; an engine that goes has no use for it. */
static void destroy__copies_nothing(void **state)
{
	static uint8_t out[200000];
	struct duo d;
	open_default(&d);
	for (uint64_t tag = 0; tag < 8; tag++)
		duo_send(&d, 0, out, sizeof out, tag, NULL);
	duo_run(&d, d.now + WEFT_US(5));
	uint64_t calls = d.mem[0].calls;
	duo_close(&d);
	assert_int_equal(d.mem[0].calls, calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tune_auto__leaves_all_else_alone),
		cmocka_unit_test(create__packet_must_fit_the_port),
		cmocka_unit_test(create__every_number_within_its_range_works),
		cmocka_unit_test(create__ids_begin_where_the_seed_says),
		cmocka_unit_test(secret__decides_all_numbers),
		cmocka_unit_test(shuffle__ids_rest),
		cmocka_unit_test(colliding_addresses__both_served),
		cmocka_unit_test(create__without_memory),
		cmocka_unit_test(derive__from_base_rtt_and_link),
		cmocka_unit_test(destroy__with_everything_under_way),
		cmocka_unit_test(destroy__copies_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
