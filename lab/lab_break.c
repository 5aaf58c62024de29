/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "lab_int.h"

void lab_break(struct lab *lab, int rc, const char *fmt, ...)
{
	va_list args;
	assert(rc < 0);
	if (lab->broken_rc)
		return;
	lab->broken_rc = rc;
	va_start(args, fmt);
	vsnprintf(lab->broken.msg, sizeof lab->broken.msg, fmt, args);
	va_end(args);
}
