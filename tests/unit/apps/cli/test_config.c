/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "options.h"

struct fixture {
	char path[32];
	struct options o;
	struct weft_err err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	*state = f;
	if (!f)
		return -1;
	strcpy(f->path, "/tmp/weft-yaml-XXXXXX");
	int fd = mkstemp(f->path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	options_free(&f->o);
	unlink(f->path);
	free(f);
	return 0;
}

/* Parses --config with this text, then the arguments behind it. */
static int parse(struct fixture *f, const char *text, const char *arg, const char *value)
{
	FILE *out = fopen(f->path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
	char *argv[] = {(char *)"test", (char *)"--config", f->path, (char *)arg, (char *)value};
	options_free(&f->o);
	return options_parse(&f->o, arg ? 5 : 3, argv, NULL, NULL, &f->err);
}

static void refused(struct fixture *f, const char *text, int code, const char *line, const char *word)
{
	char where[48];
	snprintf(where, sizeof where, "%s:%s: ", f->path, line);
	assert_int_equal(parse(f, text, NULL, NULL), code);
	if (!strstr(f->err.msg, where) || !strstr(f->err.msg, word))
		fail_msg("'%s' does not say '%s' and '%s'", f->err.msg, where, word);
}

static void config__is_the_command_line_in_yaml(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f,
			       "# a comment\n"
			       "topology: star:4\n"
			       "matrix: permutation:4:64KiB\n"
			       "link-gbps: 100\n"
			       "no-trim: true\n"
			       "set:\n"
			       "  ack_every: 4\n"
			       "  queue_bytes: 1M\n"
			       "seed: 5\n",
			       NULL, NULL),
			 0);
	assert_int_equal(f->o.lab.topo.hosts, 4);
	assert_int_equal(f->o.lab.workload.flows[0].bytes, 65536);
	assert_int_equal(f->o.lab.topo.tier[0].down_bps, UINT64_C(100000000000));
	assert_int_equal(f->o.lab.fabric.trim, WEFT_TRIM_OFF);
	assert_int_equal(f->o.lab.engine.ack_every, 4);
	assert_int_equal(f->o.lab.fabric.queue_bytes, 1000000);
	assert_int_equal(f->o.lab.seed, 5);
}

static void config__command_line_overrides(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f, "seed: 5\nset: {ack_every: 4}\n", "--seed", "6"), 0);
	assert_int_equal(f->o.lab.seed, 6);
	assert_int_equal(parse(f, "seed: 5\nset: {ack_every: 4}\n", "--set", "ack_every=2"), 0);
	assert_int_equal(f->o.lab.engine.ack_every, 2);
}

static void config__empty_file_changes_nothing(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(parse(f, "", NULL, NULL), 0);
	assert_int_equal(parse(f, "# nothing\n---\n{}\n", NULL, NULL), 0);
	assert_int_equal(f->o.lab.seed, 1);
}

static void config__errors_have_file_and_line(void **state)
{
	struct fixture *f = *state;
	refused(f, "seed: 1\ncolour: red\n", -EINVAL, "2", "colour");
	refused(f, "seed: 1\n\nend: x\n", -EINVAL, "3", "end");
	refused(f, "seed: [1, 2]\n", -EINVAL, "1", "single value");
	refused(f, "- seed\n", -EINVAL, "1", "mapping");
	refused(f, "seed: 1\ncases: [{lb: ops}]\n", -EINVAL, "2", "cases: is for a scenario");
	refused(f, "seed: 1\nset:\n  ack_every: {a: 1}\n", -EINVAL, "3", "single value");
	refused(f, "seed: \"1\nmtu: 2\n", -EINVAL, "3", "");
	refused(f, "[a]: 1\n", -EINVAL, "1", "name");
}

static void config__settings_keep_their_line(void **state)
{
	struct fixture *f = *state;
	refused(f, "set:\n  ack_every: 4\n  colour: 1\n", -ENOENT, "3", "colour");
	refused(f, "set:\n  ack_every: 99999\n", -ERANGE, "2", "ack_every");
	char text[300];
	snprintf(text, sizeof text, "set:\n  ack_every: %0200d\n", 4);
	refused(f, text, -EINVAL, "2", "longer");
}

static void config__missing_file_is_named(void **state)
{
	struct fixture *f = *state;
	char *argv[] = {(char *)"test", (char *)"--config", (char *)"/nonexistent.yaml"};
	assert_int_equal(options_parse(&f->o, 3, argv, NULL, NULL, &f->err), -ENOENT);
	assert_non_null(strstr(f->err.msg, "/nonexistent.yaml"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(config__is_the_command_line_in_yaml), TEST(config__command_line_overrides),
		TEST(config__empty_file_changes_nothing),  TEST(config__errors_have_file_and_line),
		TEST(config__settings_keep_their_line),    TEST(config__missing_file_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
