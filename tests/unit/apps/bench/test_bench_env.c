/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"

/* Options as a command line gives them. */
static void parse(struct options *o, int argc, char **argv)
{
	struct weft_err err = {""};
	int rc = options_parse(o, argc, argv, NULL, NULL, &err);
	if (rc)
		fail_msg("%s", err.msg);
}

static void bench_rank_host__counts_from_one(void **state)
{
	char host[BENCH_NAME_MAX];
	bench_rank_host(0, host);
	assert_string_equal(host, "10.0.0.1");
	bench_rank_host(300, host);
	assert_string_equal(host, "10.0.1.45");
}

static void bench_env_set__names_everything(void **state)
{
	char *argv[] = {"bench", "--cc", "smartt", "--lb", "ecmp", "--topology", "star:2", "--seed", "77"};
	struct options o;
	parse(&o, 9, argv);
	setenv("FI_PROVIDER_PATH", "/elsewhere", 1);
	assert_int_equal(bench_env_set(&o, "dev0;dev1", "10.0.0.1;10.0.0.2", NULL), 0);
	assert_string_equal(getenv("FI_WEFT_CC"), "smartt");
	assert_string_equal(getenv("FI_WEFT_LB"), "ecmp");
	assert_string_equal(getenv("FI_WEFT_DEVICE"), "dev0;dev1");
	assert_string_equal(getenv("FI_WEFT_ADDR"), "10.0.0.1;10.0.0.2");
	assert_string_equal(getenv("FI_WEFT_SEED"), "77");
	assert_string_equal(getenv("FI_PROVIDER_PATH"), "/elsewhere");
	options_free(&o);
}

static void bench_env_set__nics_ask_for_addresses(void **state)
{
	static const struct {
		const char *devices, *no_arp;
	} cases[] = {{"0000:03:00.0;0000:04:00.0", "0"},
		     {"03:00.0", "0"},
		     {"dev0;dev1", "1"},
		     {"net_virtio_user0,path=/tmp/a:b", "1"}};
	char *argv[] = {"bench", "--topology", "star:2"};
	struct options o;
	parse(&o, 3, argv);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(bench_env_set(&o, cases[i].devices, "10.0.0.1", NULL), 0);
		assert_string_equal(getenv("FI_WEFT_NO_ARP"), cases[i].no_arp);
	}
	options_free(&o);
}

/* What the provider is told of the engine by these options. */
static const char *tune_of(struct options *o, int argc, char **argv)
{
	parse(o, argc, argv);
	assert_int_equal(bench_env_set(o, "dev", "10.0.0.1", NULL), 0);
	return getenv("FI_WEFT_TUNE");
}

static void bench_env_set__tunes_that_differ(void **state)
{
	char *argv[] = {"bench", "--topology", "star:2", "--mtu", "1000", "--set", "ack_every=4"};
	struct options o;
	const char *tune = tune_of(&o, 7, argv);
	assert_non_null(strstr(tune, "payload_bytes=1000"));
	assert_non_null(strstr(tune, "peer_timeout_ns=5000000000"));
	assert_non_null(strstr(tune, "ack_every=4"));
	assert_null(strstr(tune, "window_pkts"));
	assert_int_not_equal(tune[strlen(tune) - 1], ',');
	options_free(&o);
}

/* The provider's defaults differ from the engine's, so what is set to the latter has to be said. */
static void bench_env_set__what_was_set(void **state)
{
	char *argv[] = {"bench", "--topology", "star:2", "--set", "ack_burst=off", "--set", "rndv_bytes=0"};
	struct options o;
	const char *tune = tune_of(&o, 7, argv);
	assert_non_null(strstr(tune, "ack_burst=0"));
	assert_non_null(strstr(tune, "rndv_bytes=0"));
	assert_null(strstr(tune, "ack_every"));
	options_free(&o);
}

/* What switches read is told as parts; without digits, or to others than PRIME, nothing is. */
static void bench_env_set__tells_digits(void **state)
{
	static const char *const args[][9] = {
		{"bench", "--topology", "fattree:4", "--route", "digits", "--lb", "prime"},
		{"bench", "--topology", "fattree:4", "--route", "ecmp", "--lb", "prime"},
		{"bench", "--topology", "fattree:4", "--route", "digits", "--lb", "reps"},
	};
	for (int i = 0; i < 3; i++) {
		struct options o;
		struct weft_err err = {""};
		assert_int_equal(options_parse(&o, 7, (char **)args[i], NULL, NULL, &err), 0);
		assert_int_equal(bench_env_set(&o, "dev", "10.0.0.1", NULL), 0);
		bool told = strstr(getenv("FI_WEFT_TUNE"), "prime_part0=2,prime_part1=2,prime_recycle=0");
		assert_int_equal(told, i == 0);
		options_free(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bench_rank_host__counts_from_one),
		cmocka_unit_test(bench_env_set__names_everything),
		cmocka_unit_test(bench_env_set__nics_ask_for_addresses),
		cmocka_unit_test(bench_env_set__tunes_that_differ),
		cmocka_unit_test(bench_env_set__what_was_set),
		cmocka_unit_test(bench_env_set__tells_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
