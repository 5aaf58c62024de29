/* SPDX-License-Identifier: BSD-3-Clause */
/* A directory of its own with scenario files in it. */
#ifndef WEFT_TEST_SCENARIO_FIXTURE_H
#define WEFT_TEST_SCENARIO_FIXTURE_H

#include "cmocka_all.h"
#include "file.h"
#include "sweep.h"

struct scenario_fixture {
	char dir[32];
	char path[48]; /* of the scenario */
	char out[48];  /* for results */
	struct scenario s;
	struct sweep w;
	struct weft_err err;
};

int scenario_setup(void **state);
int scenario_teardown(void **state);

/* Writes a file into the directory. */
void scenario_write(struct scenario_fixture *f, const char *name, const char *text);

/* Writes and loads a scenario whose results go to f->out; forgets the one before. */
int scenario_try(struct scenario_fixture *f, const char *text);

/* The same, and lists its runs. Fails the test when refused. */
void scenario_plan(struct scenario_fixture *f, const char *text);

/* Loading or planning fails, and the message says "path:line: " and `word`. */
void scenario_refused(struct scenario_fixture *f, const char *text, unsigned line, const char *word);

/* Fails unless the text of dir/name contains the word. */
void scenario_file_says(const char *dir, const char *name, const char *word);

#define SCENARIO_TEST(name) cmocka_unit_test_setup_teardown(name, scenario_setup, scenario_teardown)

#endif
