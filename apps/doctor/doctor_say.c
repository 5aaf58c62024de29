/* SPDX-License-Identifier: BSD-3-Clause */
/* What a check says. */
#include <stdarg.h>
#include <stdio.h>

#include "doctor.h"

void doctor_say(struct doctor_finding *f, enum doctor_level level, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	f->level = level;
	vsnprintf(f->text, sizeof f->text, format, args);
	va_end(args);
}

void doctor_mend(struct doctor_finding *f, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(f->fix, sizeof f->fix, format, args);
	va_end(args);
}
