/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "proc_number.h"

enum { TEXT_MAX = 1024 };

static const char *const local_rank_names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", NULL};

/* First of these variables that is set; process managers disagree on the name. */
static const char *env_first(const char *const *names)
{
	for (; *names; names++)
		if (getenv(*names))
			return getenv(*names);
	return NULL;
}

/* NULL: not set, or empty. */
static const char *raw_value(const char *name)
{
	char variable[64] = "FI_WEFT_";
	for (size_t n = strlen(variable); *name && n < sizeof variable - 1; name++)
		variable[n++] = (char)toupper((unsigned char)*name);
	const char *value = getenv(variable);
	return value && *value ? value : NULL;
}

/* %n is the same in all variables; what they have in common is the device. */
static int number_text(char text[static 16], struct weft_err *err)
{
	const char *device = raw_value("device");
	unsigned number = 0;
	int ret = prov_proc_number_take(device ? device : "", &number, err);
	snprintf(text, 16, "%u", number);
	return ret;
}

/* What %`which` stands for; in `buf`, or the environment's. */
static int piece_of(char which, char buf[static 16], const char **piece, struct weft_err *err)
{
	static const char *const global[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
	int ret = 0;
	*piece = buf;
	if (which == 'r')
		*piece = env_first(global);
	else if (which == 'l')
		*piece = env_first(local_rank_names);
	else if (which == 'n')
		ret = number_text(buf, err);
	else
		snprintf(buf, 16, "%d", (int)getpid());
	return !ret && !*piece ? -EINVAL : ret;
}

static int expand(const char *name, const char *text, char **out, struct weft_err *err)
{
	char buf[TEXT_MAX], value[16];
	size_t n = 0;
	for (const char *p = text; *p; p++) {
		const char *piece = p;
		bool special = p[0] == '%' && p[1] && strchr("rlpn", p[1]);
		int ret = special ? piece_of(*++p, value, &piece, err) : 0;
		if (ret == -EINVAL)
			return weft_err_set(err, -EINVAL,
					    "FI_WEFT parameter '%s': %%%c in '%s', but no process manager "
					    "set a rank",
					    name, *p, text);
		if (ret)
			return ret;
		size_t len = special ? strlen(piece) : 1;
		if (n + len >= sizeof buf)
			return weft_err_set(err, -EINVAL, "%.64s...: longer than %zu characters", text, sizeof buf);
		for (size_t i = 0; i < len; i++)
			buf[n++] = piece[i];
	}
	*out = strndup(buf, n);
	return *out ? 0 : weft_err_set(err, -ENOMEM, "out of memory");
}

int prov_param_text(const char *name, char **out, struct weft_err *err)
{
	const char *raw = raw_value(name);
	*out = NULL;
	return raw ? expand(name, raw, out, err) : 0;
}

int prov_param_int(const char *name, int min, int *value, struct weft_err *err)
{
	char *text = NULL, *end = NULL;
	int ret = prov_param_text(name, &text, err);
	if (ret || !text)
		return ret;
	errno = 0;
	long n = strtol(text, &end, 0);
	if (errno || end == text || *end || n < min || n > INT_MAX)
		ret = weft_err_set(err, -EINVAL, "FI_WEFT parameter '%s': '%.40s' is not a number of at least %d", name,
				   text, min);
	else
		*value = (int)n;
	free(text);
	return ret;
}

int prov_param_bool(const char *name, bool *value, struct weft_err *err)
{
	static const char *const words[] = {"0", "1", "no", "yes", "off", "on", "false", "true", NULL};
	char *text = NULL;
	int ret = prov_param_text(name, &text, err);
	if (ret || !text)
		return ret;
	unsigned i = 0;
	while (words[i] && strcasecmp(words[i], text) != 0)
		i++;
	if (words[i])
		*value = i % 2;
	else
		ret = weft_err_set(err, -EINVAL, "FI_WEFT parameter '%s': '%.40s' is neither yes nor no", name, text);
	free(text);
	return ret;
}

unsigned prov_local_rank(void)
{
	const char *text = env_first(local_rank_names);
	return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}
