/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cc_ops.h"
#include "cmocka_all.h"

static void select__sender_receiver_or_both(void **state)
{
	const struct {
		const char *name;
		const struct weft_cc_ops *cc;
		const struct weft_rcc_ops *rcc;
	} rows[] = {
		{"smartt", &weft_cc_smartt, NULL},
		{"eqds", &weft_cc_fixed, &weft_rcc_eqds},
		{"eqds+smartt", &weft_cc_smartt, &weft_rcc_eqds},
		{"eqds+mprdma", weft_cc_find("mprdma"), &weft_rcc_eqds},
		{"eqds+fixed", &weft_cc_fixed, &weft_rcc_eqds},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct weft_cc_choice choice;
		assert_int_equal(weft_cc_select(rows[i].name, &choice, NULL), 0);
		assert_ptr_equal(choice.cc, rows[i].cc);
		assert_ptr_equal(choice.rcc, rows[i].rcc);
	}
}

static void select__unknown_names_are_refused(void **state)
{
	static const char *const names[] = {"",       "eqd",         "eqds+",        "+smartt",
					    "eqds+x", "smartt+eqds", "smartt+fixed", "eqds+smartt+fixed"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct weft_cc_choice choice;
		struct weft_err err = {""};
		assert_int_equal(weft_cc_select(names[i], &choice, &err), -ENOENT);
		assert_null(choice.cc);
		assert_null(choice.rcc);
		assert_non_null(strstr(err.msg, "smartt"));
		assert_non_null(strstr(err.msg, "receiver-driven: eqds"));
	}
}

static void select_defaults__window_of_eqds_alone(void **state)
{
	static const struct {
		const char *name;
		uint32_t cwnd_pct;
	} rows[] = {{"fixed", 100}, {"eqds", 150}, {"eqds+fixed", 100}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct weft_cc_choice choice;
		struct fixed_tune tune = {0};
		assert_int_equal(weft_cc_select(rows[i].name, &choice, NULL), 0);
		weft_cc_select_defaults(rows[i].name, &choice, &tune);
		assert_int_equal(tune.cwnd_pct, rows[i].cwnd_pct);
	}
}

/* What a receiver's algorithm changes at its own choice of sender must exist there. */
static void select_defaults__settings_are_valid(void **state)
{
	for (unsigned i = 0; weft_rcc_table[i]; i++) {
		const struct weft_rcc_ops *ops = weft_rcc_table[i];
		const struct weft_cc_ops *cc = weft_cc_find(ops->sender);
		char key[64], tune[256];
		if (!ops->sender_set)
			continue;
		const char *eq = strchr(ops->sender_set, '=');
		assert_non_null(eq);
		snprintf(key, sizeof key, "%.*s", (int)(eq - ops->sender_set), ops->sender_set);
		assert_int_equal(weft_param_set(cc->tunes, tune, key, eq + 1, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(select__sender_receiver_or_both),
		cmocka_unit_test(select__unknown_names_are_refused),
		cmocka_unit_test(select_defaults__window_of_eqds_alone),
		cmocka_unit_test(select_defaults__settings_are_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
