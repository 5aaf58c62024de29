/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "lab_args.h"

struct extra {
	uint32_t ranks;
	bool local;
};

static const struct opt_desc extra_table[] = {
	{"ranks", "N", "ranks", opt_u32, offsetof(struct extra, ranks)},
	{"local", NULL, "local", opt_flag, offsetof(struct extra, local)},
	{NULL, NULL, NULL, NULL, 0},
};

struct fixture {
	struct options o;
	struct extra extra;
	struct weft_err err;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	options_free(&((struct fixture *)*state)->o);
	free(*state);
	return 0;
}

/* Parses the arguments, which NULL ends. */
static int parse(struct fixture *f, const char *const *args)
{
	options_free(&f->o);
	return args_parse(&f->o, args, extra_table, &f->extra, &f->err);
}
#define PARSE(f, ...) parse(f, (const char *const[]){__VA_ARGS__, NULL})

/* The arguments are refused with `code` and a message that contains `word`. */
#define REFUSED(f, code, word, ...)                                                                                    \
	do {                                                                                                           \
		assert_int_equal(PARSE(f, __VA_ARGS__), code);                                                         \
		if (!strstr((f)->err.msg, word))                                                                       \
			fail_msg("'%s' does not say '%s'", (f)->err.msg, word);                                        \
	} while (0)

/* A parameter of an algorithm that the run does not use: the message says of which, and lists nothing else. */
static void parse__parameter_of_another_algorithm(void **state)
{
	struct fixture *f = *state;
	REFUSED(f, -ENOENT, "'drill_choices' is a parameter of --route drill, --route drill_flow, not of this run",
		"--set", "drill_choices=2");
	assert_false(f->o.unknown_param);
	REFUSED(f, -ENOENT, "'freeze_ns' is a parameter of --lb reps", "--lb", "ops", "--set", "freeze_ns=1");
	REFUSED(f, -ENOENT, "'w_init_permille' is a parameter of --cc", "--set", "w_init_permille=1");
	REFUSED(f, -ENOENT, "unknown parameter 'drill_chioces'; was 'drill_choices' meant?", "--route", "drill",
		"--set", "drill_chioces=2");
	assert_false(f->o.unknown_param);
	REFUSED(f, -ENOENT, "unknown parameter 'colour'", "--route", "drill", "--set", "colour=2");
	assert_true(f->o.unknown_param);
	assert_int_equal(PARSE(f, "--route", "drill", "--set", "drill_choices=2"), 0);
}

static void parse__defaults_describe_a_run(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f, (const char *const[]){NULL}), 0);
	assert_ptr_equal(f->o.lab.cc, weft_cc_auto());
	assert_string_equal(f->o.lab.cc_name, weft_cc_auto()->name);
	assert_string_equal(f->o.lab.lb->name, "reps2");
	assert_non_null(f->o.lab.cc_reason);
	assert_non_null(f->o.lab.lb_reason);
	assert_true(f->o.lab.engine.acks_per_window > 0 && f->o.lab.engine.timeout_probes > 0);
	assert_int_equal(f->o.lab.topo.hosts, 16);
	assert_int_equal(f->o.lab.workload.flow_count, 16);
	assert_int_equal(f->o.lab.topo.tier[0].down_bps, UINT64_C(50000000000));
	assert_true(f->o.lab.engine.trimming);
	assert_false(f->o.lab.faulty);
}

static void parse__values(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(PARSE(f, "--seed", "9", "--link-gbps=12.5", "--mtu", "2048", "--end", "2.5ms", "--no-trim",
			       "--ranks", "4", "--local", "--json", "-"),
			 0);
	assert_int_equal(f->o.lab.seed, 9);
	assert_int_equal(f->o.lab.topo.tier[1].down_bps, UINT64_C(12500000000));
	assert_int_equal(f->o.lab.engine.payload_bytes, 2048);
	assert_int_equal(f->o.lab.end_ns, 2500000);
	assert_int_equal(f->o.lab.fabric.trim, WEFT_TRIM_OFF);
	assert_false(f->o.lab.engine.trimming);
	assert_int_equal(f->extra.ranks, 4);
	assert_true(f->extra.local);
	assert_string_equal(f->o.json, "-");
}

static void parse__set_reaches_every_group(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(PARSE(f, "--set", "ack_every=4", "--set=queue_bytes=100k", "--set", "fault_loss_ppm=7"), 0);
	assert_int_equal(f->o.lab.engine.ack_every, 4);
	assert_int_equal(f->o.lab.fabric.queue_bytes, 100000);
	assert_int_equal(f->o.lab.fault.loss_ppm, 7);
	assert_true(f->o.lab.faulty);
	const struct weft_param *tunes = f->o.lab.cc->tunes;
	if (tunes) {
		char text[64];
		snprintf(text, sizeof text, "%s=%llu", tunes->key, (unsigned long long)tunes->max);
		assert_int_equal(PARSE(f, "--set", text), 0);
	}
}

static void parse__later_wins(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(PARSE(f, "--seed", "1", "--seed", "2", "--set", "ack_every=4", "--set", "ack_every=8"), 0);
	assert_int_equal(f->o.lab.seed, 2);
	assert_int_equal(f->o.lab.engine.ack_every, 8);
}

static void parse__unknown_names_list_the_valid_ones(void **state)
{
	struct fixture *f = *state;
	REFUSED(f, -ENOENT, "smartt", "--cc", "cubic");
	REFUSED(f, -ENOENT, "reps", "--lb", "magic");
	REFUSED(f, -ENOENT, "leafspine", "--topology", "torus:3");
	REFUSED(f, -ENOENT, "permutation", "--matrix", "gossip:4:1MiB");
	REFUSED(f, -ENOENT, "queue_byte", "--set", "queue_byte=1");
	REFUSED(f, -ENOENT, "--colour", "--colour", "red");
}

static void parse__bad_values_are_refused(void **state)
{
	struct fixture *f = *state;
	REFUSED(f, -EINVAL, "seed", "--seed", "x");
	REFUSED(f, -EINVAL, "seed", "--seed", "-1");
	REFUSED(f, -ERANGE, "seed", "--seed", "0x8000000000000000");
	assert_int_equal(PARSE(f, "--seed", "010"), 0);
	assert_int_equal(f->o.lab.seed, 10);
	assert_int_equal(PARSE(f, "--seed", "0x7fffffffffffffff"), 0);
	assert_int_equal(f->o.lab.seed, INT64_MAX);
	REFUSED(f, -EINVAL, "needs a value", "--seed");
	REFUSED(f, -ERANGE, "--mtu", "--mtu", "0");
	REFUSED(f, -ERANGE, "--mtu", "--mtu", "100000");
	REFUSED(f, -EINVAL, "--mtu", "--mtu", "big");
	REFUSED(f, -EINVAL, "link-gbps", "--link-gbps", "0");
	REFUSED(f, -EINVAL, "link-gbps", "--link-gbps", "nan");
	REFUSED(f, -EINVAL, "end", "--end", "5");
	REFUSED(f, -EINVAL, "end", "--end", "0s");
	REFUSED(f, -EINVAL, "4294967294", "--matrix", "permutation:2:4GiB");
	REFUSED(f, -EINVAL, "KEY=VALUE", "--set", "ack_every");
	REFUSED(f, -ERANGE, "ack_every", "--set", "ack_every=0");
	REFUSED(f, -EINVAL, "ecn_min_pct", "--set", "ecn_min_pct=90");
	REFUSED(f, -EINVAL, "unexpected", "perm");
	REFUSED(f, -EINVAL, "local", "--local=maybe");
	REFUSED(f, -EINVAL, "", "--topology", "leafspine:0:1:1");
	REFUSED(f, -EINVAL, "", "--matrix", "permutation:16:0");
	REFUSED(f, -ENOENT, "nobody", "--background-lb", "nobody");
	REFUSED(f, -EINVAL, "--no-trim forbids", "--no-trim", "--set", "trim=2");
	assert_int_equal(PARSE(f, "--no-trim", "--set", "trim=3"), 0);
	REFUSED(f, -EINVAL, "16", "--topology", "star:8", "--matrix", "permutation:16:1MiB");
}

static void parse__bad_files_are_named(void **state)
{
	struct fixture *f = *state;
	REFUSED(f, -ENOENT, "/nonexistent.topo", "--topology", "/nonexistent.topo");
	REFUSED(f, -ENOENT, "/nonexistent.cm", "--matrix", "/nonexistent.cm");
	REFUSED(f, -EINVAL, ".cm:2: ", "--topology", WEFT_CONFIGS "/matrices/perm_16n_1M.cm");
	REFUSED(f, -EINVAL, ".topo:3: ", "--matrix", WEFT_CONFIGS "/topologies/ls16_50g.topo");
}

static void parse__receiver_and_sender_algorithms(void **state)
{
	struct fixture *f = *state;
	struct weft_net_conf net;
	assert_int_equal(parse(f, (const char *const[]){NULL}), 0);
	assert_null(f->o.lab.rcc);
	uint32_t bytes = lab_data_wire_bytes(&f->o.lab, 4096);
	assert_int_equal(PARSE(f, "--cc", "eqds+smartt", "--set", "pull_pkts=2", "--set", "fi_pct=50"), 0);
	assert_string_equal(f->o.lab.rcc->name, "eqds");
	assert_string_equal(f->o.lab.cc->name, "smartt");
	assert_string_equal(f->o.lab.cc_name, "eqds+smartt");
	lab_net_conf(&f->o.lab, &net);
	assert_int_equal(net.mtu_bytes, bytes + 4); /* demand in every packet */
	REFUSED(f, -ENOENT, "pull_pkts", "--set", "pull_pkts=2");
	REFUSED(f, -ERANGE, "pull_pkts", "--cc", "eqds", "--set", "pull_pkts=0");
	REFUSED(f, -ENOENT, "eqds+x", "--cc", "eqds+x");
}

static void parse__what_makes_rocev2(void **state)
{
	struct fixture *f = *state;
	struct weft_net_conf net;
	assert_int_equal(PARSE(f, "--config", WEFT_CONFIGS "/roce.yaml"), 0);
	assert_string_equal(f->o.lab.cc_name, "dcqcn");
	assert_string_equal(f->o.lab.lb->name, "ecmp");
	assert_true(f->o.lab.engine.go_back_n);
	assert_false(f->o.lab.engine.trimming);
	lab_net_conf(&f->o.lab, &net);
	assert_true(net.tune.pfc);
	assert_int_equal(net.tune.pfc_xoff_pct, 100);
	assert_int_equal(net.tune.pfc_xon_pct, 80);
	assert_int_equal(net.tune.ecn_min_pct, 12);
	assert_int_equal(net.tune.ecn_max_pct, 500);
	assert_int_equal(net.tune.ecn_prob_pct, 1);
	assert_int_equal(net.tune.trim, WEFT_TRIM_OFF);
	assert_int_equal(PARSE(f, "--set", "pfc_xoff_pct=400"), 0);
	lab_net_conf(&f->o.lab, &net);
	assert_false(net.tune.pfc);
	assert_int_equal(net.tune.pfc_xoff_pct, 400);
	assert_int_equal(net.tune.ecn_prob_pct, 100);
}

static void parse__switches_choice(void **state)
{
	struct fixture *f = *state;
	struct weft_net_conf net;
	assert_int_equal(parse(f, (const char *const[]){NULL}), 0);
	assert_string_equal(f->o.lab.route->name, "ecmp");
	assert_int_equal(PARSE(f, "--route", "rr", "--set", "rr_rounds=7"), 0);
	lab_net_conf(&f->o.lab, &net);
	assert_string_equal(net.route->name, "rr");
	assert_int_equal(*(const uint32_t *)net.route_tune, 7);
	REFUSED(f, -ENOENT, "valid: ecmp", "--route", "magic");
	REFUSED(f, -ENOENT, "rr_rounds", "--set", "rr_rounds=7");
	REFUSED(f, -ERANGE, "rr_rounds", "--route", "rr", "--set", "rr_rounds=1000001");
}

static void parse__credit_queues(void **state)
{
	struct fixture *f = *state;
	struct weft_net_conf net;
	assert_int_equal(PARSE(f, "--set", "credit_queue=16", "--set", "credit_refresh=2", "--set", "ack_every=8"), 0);
	lab_net_conf(&f->o.lab, &net);
	assert_int_equal(net.tune.credit_queue, 16);
	assert_int_equal(net.tune.credit_refresh, 2);
	assert_int_equal(net.tune.credit_data_bytes, 0);
	assert_int_equal(net.tune.credit_ack_bytes, (lab_ack_wire_bytes(&f->o.lab) + 7) / 8);
	assert_int_equal(net.tune.ecn_max_pct, 80);
	assert_int_equal(PARSE(f, "--set", "credit_data_bytes=1538", "--set", "credit_ack_bytes=9"), 0);
	lab_net_conf(&f->o.lab, &net);
	assert_int_equal(net.tune.credit_queue, 0);
	assert_int_equal(net.tune.credit_data_bytes, 1538);
	assert_int_equal(net.tune.credit_ack_bytes, 9);
}

/* Algorithms that schedule credits get what they need, unless the user has other wishes. */
static void parse__what_credits_need(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(PARSE(f, "--cc", "eqds"), 0);
	assert_string_equal(f->o.lab.route->name, "ecmp");
	assert_int_equal(f->o.lab.fabric.credit_queue, 0);
	assert_int_equal(PARSE(f, "--cc", "spraypass"), 0);
	assert_string_equal(f->o.lab.route->name, "symmetric");
	assert_int_equal(f->o.lab.fabric.credit_queue, 8);
	assert_int_equal(f->o.lab.fabric.ecn_max_pct, 0);
	assert_null(f->o.lab.warning);
	assert_int_equal(PARSE(f, "--cc", "expresspass", "--set", "credit_queue=4", "--set", "ecn_max_pct=50"), 0);
	assert_int_equal(f->o.lab.fabric.credit_queue, 4);
	assert_int_equal(f->o.lab.fabric.ecn_max_pct, 50);
	assert_int_equal(f->o.lab.fabric.ecn_min_pct, 20);
	assert_int_equal(PARSE(f, "--cc", "spraypass", "--set", "credit_queue=0"), 0);
	assert_non_null(strstr(f->o.lab.warning, "credit_queue=0"));
	assert_int_equal(f->o.lab.fabric.ecn_max_pct, 80);
	assert_int_equal(PARSE(f, "--cc", "spraypass", "--route", "ecmp"), 0);
	assert_string_equal(f->o.lab.route->name, "ecmp");
	assert_non_null(strstr(f->o.lab.warning, "--route symmetric"));
	REFUSED(f, -EINVAL, "strict=1", "--cc", "spraypass", "--route", "ecmp", "--set", "strict=1");
	REFUSED(f, -EINVAL, "strict=1", "--cc", "spraypass", "--set", "credit_queue=0", "--set", "strict=1");
	assert_int_equal(PARSE(f, "--cc", "spraypass", "--set", "strict=1"), 0);
}

static void parse__lb_without_meaning(void **state)
{
	struct fixture *f = *state;
	for (unsigned i = 0; weft_route_table[i]; i++) {
		const struct weft_route_ops *r = weft_route_table[i];
		if (r->by_entropy || r->reads_digits)
			assert_int_equal(PARSE(f, "--lb", "prime", "--route", r->name), 0);
		else
			REFUSED(f, -EINVAL, "counts through paths by entropies", "--lb", "prime", "--route", r->name);
	}
	assert_int_equal(PARSE(f, "--topology", "tree:2:2:2:64:64", "--lb", "prime", "--route", "digits"), 0);
	REFUSED(f, -EINVAL, "digits of this tree's uplinks have more", "--topology", "tree:2:2:2:65:64", "--lb",
		"prime", "--route", "digits");
	assert_int_equal(PARSE(f, "--topology", "tree:2:2:2:65:64", "--lb", "auto", "--route", "digits"), 0);
	assert_string_equal(f->o.lab.lb->name, "reps2");
	REFUSED(f, -EINVAL, "lb co-prime with route drill", "--lb", "co-prime", "--route", "drill");
	assert_int_equal(PARSE(f, "--lb", "auto", "--route", "conga"), 0);
	assert_string_equal(f->o.lab.lb->name, "ecmp");
	assert_int_equal(PARSE(f, "--lb", "auto", "--route", "drill"), 0);
	assert_string_not_equal(f->o.lab.lb->name, "ecmp");
}

/* By what the fabric will be, whatever the order of the options. */
static void parse__lb_auto(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(PARSE(f, "--lb", "auto"), 0);
	assert_string_equal(f->o.lab.lb->name, "reps2");
	assert_non_null(strstr(f->o.lab.lb_reason, "unmarked"));
	assert_int_equal(PARSE(f, "--lb", "auto", "--route", "digits", "--set", "prime_ce_pct=30"), 0);
	assert_string_equal(f->o.lab.lb->name, "prime2");
	assert_int_equal(PARSE(f, "--lb", "auto", "--route", "rr"), 0);
	assert_string_equal(f->o.lab.lb->name, "ops");
	assert_int_equal(PARSE(f, "--cc", "spraypass"), 0);
	assert_non_null(strstr(f->o.lab.lb_reason, "paths of its credits"));
	assert_int_equal(PARSE(f, "--lb", "ops", "--background", "10%", "--background-lb", "auto"), 0);
	assert_string_equal(f->o.lab.background_lb->name, "reps2");
	assert_null(f->o.lab.lb_reason);
	assert_int_equal(PARSE(f, "--lb", "auto", "--no-trim", "--set", "ecn_min_pct=0", "--set", "ecn_max_pct=0"), 0);
	assert_non_null(strstr(f->o.lab.lb_reason, "mark nothing"));
	assert_int_equal(PARSE(f, "--cc", "smartt", "--lb", "auto", "--set", "ack_every=4"), 0);
	assert_non_null(strstr(f->o.lab.lb_reason, "(lb_all_acked)"));
	assert_true(f->o.lab.engine.lb_all_acked);
	assert_int_equal(
		PARSE(f, "--cc", "smartt", "--lb", "auto", "--set", "lb_all_acked=off", "--set", "ack_every=4"), 0);
	assert_non_null(strstr(f->o.lab.lb_reason, "without lb_all_acked"));
	assert_false(f->o.lab.engine.lb_all_acked);
	assert_int_equal(PARSE(f, "--cc", "smartt", "--lb", "auto", "--set", "ack_every=1"), 0);
	assert_false(f->o.lab.engine.lb_all_acked);
	assert_int_equal(PARSE(f, "--cc", "smartt", "--lb", "reps", "--set", "ack_every=4"), 0);
	assert_false(f->o.lab.engine.lb_all_acked);
	REFUSED(f, -ERANGE, "ack_every", "--lb", "auto", "--set", "ack_every=1000");
	REFUSED(f, -ENOENT, "prime_ce_pct", "--lb", "auto", "--set", "prime_ce_pct=30");
	assert_int_equal(PARSE(f, "--lb", "reps"), 0);
	assert_null(f->o.lab.lb_reason);
	assert_non_null(f->o.lab.cc_reason);
}

/* An algorithm of the table by its own name, and ACKs for it unless one says otherwise. */
static void parse__cc_auto(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(PARSE(f, "--cc", "auto"), 0);
	assert_string_equal(f->o.lab.cc_name, "smartt3");
	assert_string_equal(f->o.lab.cc->name, "smartt3");
	assert_true(f->o.lab.engine.acks_per_window > 0 && f->o.lab.engine.lb_all_acked);
	assert_true(f->o.lab.engine.timeout_probes > 0);
	assert_int_equal(PARSE(f, "--cc", "auto", "--set", "acks_per_window=0", "--set", "fi_pct=9"), 0);
	assert_int_equal(f->o.lab.engine.acks_per_window, 0);
	assert_int_equal(PARSE(f, "--cc", "smartt3"), 0);
	assert_int_equal(f->o.lab.engine.acks_per_window, 0);
}

static void parse__help_resolves_nothing(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(PARSE(f, "--topology", "/nonexistent.topo", "--help"), 0);
	assert_true(f->o.help);
	assert_null(f->o.lab.cc);
}

static void wire_bytes__grow_with_the_payload(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f, (const char *const[]){NULL}), 0);
	uint32_t full = lab_data_wire_bytes(&f->o.lab, 4096);
	/* Ethernet 38, IPv4 20, UDP 8, PDS 12, SES 44 */
	assert_int_equal(full, 4096 + 38 + 20 + 8 + 12 + 44);
	assert_int_equal(lab_data_wire_bytes(&f->o.lab, 4095), full - 1);
	f->o.lab.engine.crc = 1;
	assert_int_equal(lab_data_wire_bytes(&f->o.lab, 4096), full + 4);
	assert_true(lab_ack_wire_bytes(&f->o.lab) >= WEFT_WIRE_MIN_BYTES);
}

static void print_params__shows_every_key(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct options o;
	options_begin(&o);
	options_print_params(&o, out);
	options_free(&o);
	fclose(out);
	for (const struct weft_param *p = weft_engine_tunes; p->key; p++)
		assert_non_null(strstr(text, p->key));
	assert_non_null(strstr(text, "| `queue_bytes` |"));
	free(text);
}

static void parse__notes_what_was_given(void **state)
{
	struct options o;
	char *argv[] = {(char *)"test",        (char *)"--seed=4", (char *)"--no-trim", (char *)"--set",
			(char *)"ack_every=2", (char *)"--seed",   (char *)"5"};
	assert_int_equal(options_parse(&o, 7, argv, NULL, NULL, NULL), 0);
	assert_int_equal(o.given_count, 4);
	assert_string_equal(o.given[0].name, "seed");
	assert_string_equal(o.given[0].value, "4");
	assert_string_equal(o.given[1].name, "no-trim");
	assert_null(o.given[1].value);
	assert_string_equal(o.given[2].value, "ack_every=2");
	assert_string_equal(o.given[3].value, "5");
	options_free(&o);
}

static void parse__an_argument_without_dashes_leaves_all_unresolved(void **state)
{
	struct own {
		bool other;
		struct options o;
	} own;
	const struct opt_desc table[] = {{"", "FILE", "", opt_string, offsetof(struct own, o.scenario)},
					 {NULL, NULL, NULL, NULL, 0}};
	char *argv[] = {(char *)"test", (char *)"--set", (char *)"colour=1", (char *)"x.yaml", (char *)"y.yaml"};
	struct weft_err err = {""};
	assert_int_equal(options_parse(&own.o, 4, argv, table, &own, &err), 0);
	assert_string_equal(own.o.scenario, "x.yaml");
	assert_null(own.o.lab.cc);
	options_free(&own.o);
	assert_int_equal(options_parse(&own.o, 5, argv, table, &own, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "y.yaml"));
	options_free(&own.o);
	assert_int_equal(options_parse(&own.o, 4, argv, NULL, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "x.yaml"));
	options_free(&own.o);
}

static void resolve__says_which_option_it_is_about(void **state)
{
	static const char *const bad[] = {"cc", "lb", "route", "topology", "matrix"};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct options o;
		options_begin(&o);
		assert_int_equal(options_set(&o, NULL, NULL, bad[i], "nonsense", NULL), 0);
		assert_true(options_resolve(&o, NULL) < 0);
		assert_string_equal(o.step, bad[i]);
		options_free(&o);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void parse__combinations_without_meaning(void **state)
{
	struct fixture *f = *state;
	REFUSED(f, -EINVAL, "keeps the packets of a burst together", "--lb", "presto", "--route", "drill");
	REFUSED(f, -EINVAL, "keeps the packets of a burst together", "--lb", "flowlet", "--route", "random");
	REFUSED(f, -EINVAL, "every packet is one", "--lb", "ops", "--route", "conga");
	REFUSED(f, -EINVAL, "every packet is one", "--lb", "reps", "--route", "drill_flow");
	REFUSED(f, -EINVAL, "an entropy for each packet", "--lb", "ops", "--set", "go_back_n=on");
	REFUSED(f, -EINVAL, "choose for each packet make", "--lb", "ecmp", "--route", "rr", "--set", "go_back_n=on");
	REFUSED(f, -EINVAL, "dup_ack_threshold", "--lb", "ecmp", "--set", "go_back_n=on", "--set",
		"dup_ack_threshold=3");
	REFUSED(f, -EINVAL, "reorder_shim_ns", "--lb", "ecmp", "--set", "go_back_n=on", "--set", "reorder_shim_ns=9");
	assert_int_equal(
		PARSE(f, "--lb", "presto", "--route", "digits", "--topology", "star:2", "--matrix", "incast:1:4KiB"),
		0);
	for (const struct option_refusal *r = options_refusals(); r->applies; r++)
		assert_true(strlen(r->why) > 20);
}

static void parse__auto_keeps_flows_together(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(PARSE(f, "--route", "conga", "--lb", "auto", "--topology", "leafspine:2:2:2", "--matrix",
			       "permutation:4:4KiB"),
			 0);
	assert_string_equal(f->o.lab.lb->name, "ecmp");
	assert_non_null(strstr(f->o.lab.lb_reason, "a flow keeps one entropy"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parse__combinations_without_meaning),
		TEST(parse__auto_keeps_flows_together),
		TEST(parse__defaults_describe_a_run),
		TEST(parse__values),
		TEST(parse__set_reaches_every_group),
		TEST(parse__later_wins),
		TEST(parse__unknown_names_list_the_valid_ones),
		TEST(parse__parameter_of_another_algorithm),
		TEST(parse__receiver_and_sender_algorithms),
		TEST(parse__switches_choice),
		TEST(parse__credit_queues),
		TEST(parse__what_credits_need),
		TEST(parse__lb_without_meaning),
		TEST(parse__lb_auto),
		TEST(parse__cc_auto),
		TEST(parse__bad_values_are_refused),
		TEST(parse__bad_files_are_named),
		TEST(parse__what_makes_rocev2),
		TEST(parse__help_resolves_nothing),
		TEST(parse__notes_what_was_given),
		TEST(parse__an_argument_without_dashes_leaves_all_unresolved),
		TEST(resolve__says_which_option_it_is_about),
		TEST(wire_bytes__grow_with_the_payload),
		TEST(print_params__shows_every_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
