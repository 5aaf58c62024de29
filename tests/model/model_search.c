/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs small programs of two hosts in every order that differs from the usual one at a few places, and prints what does
 * not hold: model_search [--break RULE] OPS UNUSUAL        all programs of so many operations
 *           model_search [--break RULE] A B UNUSUAL        one program: the operations of either host
 *           model_search [--break RULE] A B at POSITION=CHOICE...   one run of it */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model_rules.h"
#include "model_world.h"

static struct model_program program;
static struct choices choices;
static uint64_t runs, programs;
static bool expects_failure; /* a rule is broken */

static void print_run(void)
{
	printf("program %s %s at", program.ops[0][0] ? program.ops[0] : "-", program.ops[1][0] ? program.ops[1] : "-");
	choices_print(&choices);
	printf("\n");
}

/* An assertion of the transport. */
static void aborted(int signal)
{
	printf("an assertion failed:\n");
	print_run();
	fflush(stdout);
	_exit(expects_failure ? 0 : 1);
}

static bool run_holds(void)
{
	const char *broken = model_run(&program, &choices);
	runs++;
	if (!broken)
		return true;
	printf("%s:\n", broken);
	print_run();
	return false;
}

static bool program_holds(uint32_t unusual_max)
{
	programs++;
	choices_first(&choices, unusual_max);
	do {
		if (!run_holds())
			return false;
	} while (choices_next(&choices));
	return true;
}

/* ---- all programs ---- */

static const char letters[] = "sSaAwWrR";

/* The next list of operations of the same length; false: that was the last. */
static bool ops_next(char *ops)
{
	for (size_t i = strlen(ops); i-- > 0;) {
		const char *next = strchr(letters, ops[i]) + 1;
		ops[i] = *next ? *next : letters[0];
		if (*next)
			return true;
	}
	return false;
}

static void ops_first(char *ops, unsigned count)
{
	memset(ops, 0, MODEL_OPS + 2);
	memset(ops, letters[0], count);
}

/* Neither endpoint closes, or the one, or the other. */
static bool closes_hold(uint32_t unusual_max)
{
	const struct model_program open = program;
	bool holds = program_holds(unusual_max);
	for (int side = 0; side < 2 && holds; side++) {
		program = open;
		strcat(program.ops[side], "c");
		holds = program_holds(unusual_max);
	}
	program = open;
	return holds;
}

static bool lengths_hold(unsigned a, unsigned b, uint32_t unusual_max)
{
	ops_first(program.ops[0], a);
	do {
		ops_first(program.ops[1], b);
		do {
			if (!closes_hold(unusual_max))
				return false;
		} while (ops_next(program.ops[1]));
	} while (ops_next(program.ops[0]));
	return true;
}

/* The hosts are alike, so the first has no fewer operations. */
static bool all_hold(unsigned ops, uint32_t unusual_max)
{
	for (unsigned b = 0; b <= ops / 2; b++)
		if (ops - b <= MODEL_OPS && !lengths_hold(ops - b, b, unusual_max))
			return false;
	return true;
}

/* ---- what to run ---- */

static void ops_read(char *ops, const char *text)
{
	size_t len = strcmp(text, "-") ? strlen(text) : 0;
	if (len > MODEL_OPS + 1 || strspn(text, "sSaAwWrRc") < len) {
		fprintf(stderr, "%s: no program\n", text);
		exit(2);
	}
	memset(ops, 0, MODEL_OPS + 2);
	memcpy(ops, text, len);
}

static bool replay(int count, char **texts)
{
	choices_first(&choices, CHOICES_MAX);
	for (int i = 0; i < count; i++)
		if (!choices_read(&choices, texts[i]))
			exit(2);
	return run_holds();
}

static enum model_rule rule_read(const char *name)
{
	for (int i = 0; i < MODEL_RULES; i++)
		if (!strcmp(name, model_rule_names[i]))
			return (enum model_rule)i;
	fprintf(stderr, "%s: no rule\n", name);
	exit(2);
}

static bool search(int argc, char **argv)
{
	if (argc == 2)
		return all_hold((unsigned)atoi(argv[0]), (uint32_t)atoi(argv[1]));
	ops_read(program.ops[0], argv[0]);
	ops_read(program.ops[1], argv[1]);
	if (argc == 3 && strcmp(argv[2], "at"))
		return program_holds((uint32_t)atoi(argv[2]));
	return replay(argc - 3, argv + 3);
}

int main(int argc, char **argv)
{
	expects_failure = argc > 2 && !strcmp(argv[1], "--break");
	int skip = expects_failure ? 3 : 1;
	if (argc - skip < 2) {
		fprintf(stderr, "usage: %s [--break RULE] OPS UNUSUAL | A B UNUSUAL | A B at POSITION=CHOICE...\n",
			argv[0]);
		return 2;
	}
	setenv("CMOCKA_TEST_ABORT", "1", 0); /* outside a test of cmocka's it would end without its message */
	signal(SIGABRT, aborted);
	model_broken = expects_failure ? rule_read(argv[2]) : MODEL_ALL_RULES;
	bool holds = search(argc - skip, argv + skip);
	printf("%" PRIu64 " runs of %" PRIu64 " programs: %s\n", runs, programs, holds ? "all holds" : "broken");
	return holds != expects_failure ? 0 : 1;
}
