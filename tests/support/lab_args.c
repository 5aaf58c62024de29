/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_args.h"

#include "cmocka_all.h"

enum { ARGS_MAX = 48 };

int args_parse(struct options *o, const char *const *args, const struct opt_desc *extra, void *extra_base,
	       struct weft_err *err)
{
	char *argv[ARGS_MAX] = {(char *)"test"};
	int argc = 1;
	for (; args[argc - 1]; argc++) {
		assert_true(argc + 1 < ARGS_MAX);
		argv[argc] = (char *)args[argc - 1];
	}
	return options_parse(o, argc, argv, extra, extra_base, err);
}

int args_lab(struct options *o, const char *const *args, struct lab **lab, struct weft_err *err)
{
	int rc = args_parse(o, args, NULL, NULL, err);
	return rc ? rc : lab_create(&o->lab, lab, err);
}

void args_lab_made(struct options *o, const char *const *args, struct lab **lab, struct weft_err *err)
{
	if (args_lab(o, args, lab, err))
		fail_msg("%s", err->msg);
}

int args_outputs(struct options *o, const char *const *args, struct lab **lab, struct outputs **outputs,
		 struct weft_err *err)
{
	int rc = args_lab(o, args, lab, err);
	if (rc)
		return rc;
	rc = outputs_open(*lab, &o->files, outputs, err);
	if (rc) {
		lab_destroy(*lab);
		*lab = NULL;
	}
	return rc;
}
