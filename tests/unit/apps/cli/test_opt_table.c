/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "opt_table.h"

struct wishes {
	const char *out, *only, *title;
	uint32_t jobs;
	bool fresh;
};

static const struct opt_desc table[] = {
	{"out", "DIR", "", opt_string, offsetof(struct wishes, out)},
	{"only", "NAME", "", opt_string, offsetof(struct wishes, only)},
	{"title", "TEXT", "", opt_string, offsetof(struct wishes, title)},
	{"jobs", "N", "", opt_u32, offsetof(struct wishes, jobs)},
	{"fresh", NULL, "", opt_flag, offsetof(struct wishes, fresh)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command command = {
	.name = "try", .args = " PATH...", .about = "", .table = table, .positional_min = 1, .positional_max = 2};

/* Parses a line of words; true, or false with what the command would leave with. */
static bool parsed(struct wishes *w, const char *line, char *argv[16], uint32_t *positionals, int *status)
{
	static char words[256];
	int argc = 0;
	snprintf(words, sizeof words, "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	*w = (struct wishes){0};
	return opt_main(&command, w, argc, argv, positionals, status);
}

static void opt_main__values_and_arguments_in_any_order(void **state)
{
	struct wishes w;
	char *argv[16];
	uint32_t positionals;
	int status;

	assert_true(parsed(&w, "try one --out=a --jobs 3 - --fresh --only x=y", argv, &positionals, &status));
	assert_string_equal(w.out, "a");
	assert_string_equal(w.only, "x=y");
	assert_int_equal(w.jobs, 3);
	assert_true(w.fresh);
	assert_int_equal(positionals, 2);
	assert_string_equal(argv[1], "one");
	assert_string_equal(argv[2], "-");
}

static void opt_main__letters_that_are_unambiguous(void **state)
{
	struct wishes w;
	char *argv[16];
	uint32_t positionals;
	int status;

	assert_true(parsed(&w, "try -t hello one -f", argv, &positionals, &status));
	assert_string_equal(w.title, "hello");
	assert_true(w.fresh);
	assert_false(parsed(&w, "try -o a one", argv, &positionals, &status));
	assert_int_equal(status, 2);
}

static void opt_main__leaves_with_the_exit_code(void **state)
{
	static const struct {
		const char *line;
		int status;
	} cases[] = {{"try --help", 0},
		     {"try -h", 0},
		     {"try", 2},
		     {"try one two three", 2},
		     {"try one --jobs", 2},
		     {"try one --jobs x", 2},
		     {"try one --nothing", 2},
		     {"try one --fresh=perhaps", 2},
		     {"try one --ou dir", 2},
		     {"try one --output a", 2},
		     {"try one --jobs=-1", 2},
		     {"try one -x", 2}};
	struct wishes w;
	char *argv[16];
	uint32_t positionals;

	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		int status = -1;
		assert_false(parsed(&w, cases[i].line, argv, &positionals, &status));
		assert_int_equal(status, cases[i].status);
	}
}

static void opt_value__with_it_or_behind_it(void **state)
{
	char *joined[] = {(char *)"--out=a=b", (char *)"next", NULL}, *apart[] = {(char *)"--out", (char *)"a", NULL};
	char *alone[] = {(char *)"--out", NULL};
	const char *value;
	struct weft_err err = {""};

	assert_int_equal(opt_value(&table[0], joined, &value, &err), 1);
	assert_string_equal(value, "a=b");
	assert_int_equal(opt_value(&table[0], apart, &value, &err), 2);
	assert_string_equal(value, "a");
	assert_int_equal(opt_value(&table[0], alone, &value, &err), -EINVAL);
	assert_string_equal(err.msg, "option '--out' needs a value: DIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opt_main__values_and_arguments_in_any_order),
		cmocka_unit_test(opt_main__letters_that_are_unambiguous),
		cmocka_unit_test(opt_main__leaves_with_the_exit_code),
		cmocka_unit_test(opt_value__with_it_or_behind_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
