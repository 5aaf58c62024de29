/* SPDX-License-Identifier: BSD-3-Clause */
#include "outputs.h"

#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "lab_args.h"

struct fixture {
	struct options o;
	struct lab *lab;
	struct outputs *outputs;
	struct weft_err err;
};

#define MAKE(f, ...)                                                                                                   \
	args_outputs(&(f)->o, (const char *const[]){__VA_ARGS__, NULL}, &(f)->lab, &(f)->outputs, &(f)->err)

static void finish(struct fixture *f)
{
	outputs_close(f->outputs, false, NULL);
	assert_int_equal(lab_destroy(f->lab), 0);
	options_free(&f->o);
}

static void outputs_open__names_the_file_it_cannot_make(void **state)
{
	struct fixture f = {0};
	assert_int_equal(MAKE(&f, "--topology", "star:4", "--pcap", "/nonexistent/x.pcap"), -EIO);
	assert_non_null(strstr(f.err.msg, "/nonexistent/x.pcap"));
	assert_null(f.lab);
	assert_null(f.outputs);
	finish(&f);
}

static void outputs_open__ports_without_a_file(void **state)
{
	struct fixture f = {0};
	assert_int_equal(MAKE(&f, "--topology", "star:4", "--pcap-port", "leaf0:*"), -EINVAL);
	assert_string_equal(f.err.msg, "pcap-port: needs a file to write to, --pcap FILE");
	options_free(&f.o);
	assert_int_equal(MAKE(&f, "--topology", "star:4", "--pcap", "/dev/null", "--pcap-port", "leaf9:*"), -EINVAL);
	assert_string_equal(f.err.msg, "pcap-port: no port is called 'leaf9:*'");
	finish(&f);
}

static void outputs_run__stops_when_the_capture_cannot_grow(void **state)
{
	struct fixture f = {0};
	assert_int_equal(MAKE(&f, "--topology", "star:4", "--matrix", "permutation:4:1MiB", "--pcap", "/dev/full"), 0);
	assert_int_equal(outputs_run(f.outputs, f.lab, &f.err), -EIO);
	f.outputs = NULL;
	assert_non_null(strstr(f.err.msg, "/dev/full"));
	assert_true(lab_now(f.lab) < 1000 * WEFT_US(100));
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outputs_open__names_the_file_it_cannot_make),
		cmocka_unit_test(outputs_open__ports_without_a_file),
		cmocka_unit_test(outputs_run__stops_when_the_capture_cannot_grow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
