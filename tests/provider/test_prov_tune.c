/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithms FI_WEFT_CC and FI_WEFT_LB choose, and what the engine gets with them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "prov_conf.h"
#include "prov_tune.h"

static void load(struct prov_tune *tune, const char *cc, const char *lb)
{
	struct weft_err err = {""};
	assert_int_equal(cc ? setenv("FI_WEFT_CC", cc, 1) : unsetenv("FI_WEFT_CC"), 0);
	assert_int_equal(lb ? setenv("FI_WEFT_LB", lb, 1) : unsetenv("FI_WEFT_LB"), 0);
	if (prov_tune_load(tune, &err))
		fail_msg("%s", err.msg);
}

static void load__auto_where_nothing_is_named(void **state)
{
	struct weft_engine_tune with = {0};
	weft_engine_tune_auto(&with);
	for (unsigned i = 0; i < 2; i++) {
		struct prov_tune tune;
		load(&tune, i ? "auto" : NULL, i ? "auto" : NULL);
		assert_ptr_equal(tune.engine.cc, weft_cc_auto());
		assert_string_equal(tune.engine.lb->name, "reps2");
		assert_int_equal(tune.engine.tune.acks_per_window, with.acks_per_window);
		assert_int_equal(tune.engine.tune.lb_all_acked, with.lb_all_acked);
		assert_int_equal(tune.engine.tune.timeout_probes, with.timeout_probes);
		assert_int_equal(tune.engine.tune.short_acks, 0); /* strangers need responses */
		prov_tune_free(&tune);
	}
}

static void load__names_win(void **state)
{
	struct prov_tune tune;
	load(&tune, "smartt", "ecmp");
	assert_string_equal(tune.engine.cc->name, "smartt");
	assert_string_equal(tune.engine.lb->name, "ecmp");
	assert_int_equal(tune.engine.tune.timeout_probes, 0);
	prov_tune_free(&tune);
	load(&tune, "eqds+smartt2", NULL);
	assert_string_equal(tune.engine.cc->name, "smartt2");
	assert_string_equal(tune.engine.rcc->name, "eqds");
	prov_tune_free(&tune);
}

static void load__unknown_names_tell_the_valid_ones(void **state)
{
	static const struct {
		const char *cc, *lb, *message;
	} rows[] = {{"smart", NULL, "FI_WEFT_CC: unknown cc 'smart'; valid: auto, smartt, "},
		    {NULL, "rep", "FI_WEFT_LB: unknown lb 'rep'; valid: auto, reps, "}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct prov_tune tune;
		struct weft_err err = {""};
		assert_int_equal(rows[i].cc ? setenv("FI_WEFT_CC", rows[i].cc, 1) : unsetenv("FI_WEFT_CC"), 0);
		assert_int_equal(rows[i].lb ? setenv("FI_WEFT_LB", rows[i].lb, 1) : unsetenv("FI_WEFT_LB"), 0);
		assert_int_not_equal(prov_tune_load(&tune, &err), 0);
		prov_tune_free(&tune);
		assert_non_null(strstr(err.msg, rows[i].message));
	}
}

static void load__parameters_are_those_of_the_default(void **state)
{
	struct prov_tune tune;
	setenv("FI_WEFT_TUNE", "timeout_probes=5,fi_pct=9", 1);
	load(&tune, NULL, NULL);
	unsetenv("FI_WEFT_TUNE");
	assert_ptr_equal(tune.engine.cc, weft_cc_auto());
	assert_int_equal(tune.engine.tune.timeout_probes, 5);
	prov_tune_free(&tune);
}

static void load__misspelt_parameter_tells_the_one_meant(void **state)
{
	static const struct {
		const char *tune, *message;
	} rows[] = {{"ack_evry=4", "FI_WEFT_TUNE: unknown parameter 'ack_evry'; was 'ack_every' meant?"},
		    {"fault_los_ppm=4", "FI_WEFT_TUNE: unknown parameter 'fault_los_ppm'; was 'fault_loss_ppm' meant?"},
		    {"colour=4", "FI_WEFT_TUNE: neither the engine nor "}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct prov_tune tune;
		struct weft_err err = {""};
		unsetenv("FI_WEFT_CC");
		unsetenv("FI_WEFT_LB");
		setenv("FI_WEFT_TUNE", rows[i].tune, 1);
		assert_int_equal(prov_tune_load(&tune, &err), -EINVAL);
		prov_tune_free(&tune);
		assert_ptr_equal(strstr(err.msg, rows[i].message), err.msg);
	}
	unsetenv("FI_WEFT_TUNE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(load__auto_where_nothing_is_named),
		cmocka_unit_test(load__names_win),
		cmocka_unit_test(load__unknown_names_tell_the_valid_ones),
		cmocka_unit_test(load__parameters_are_those_of_the_default),
		cmocka_unit_test(load__misspelt_parameter_tells_the_one_meant),
	};
	prov_conf_define();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
