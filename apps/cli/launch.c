/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Says what is missing, even where the package is not there to say it. The package names its own needs. Python looks
 * for modules in the working directory first, which may be anybody's: that place is taken away. */
static const char bootstrap[] =
	"import sys\n"
	"if sys.path and not sys.path[0]:\n"
	"    del sys.path[0]\n"
	"import importlib.util\n"
	"if importlib.util.find_spec('weftlab') is None:\n"
	"    sys.exit(print(f'weft {sys.argv[1]}: Python has no package weftlab: pip install apps/weftlab, or put the "
	"directory it is in into PYTHONPATH', file=sys.stderr) or 3)\n"
	"from weftlab.__main__ import main\n"
	"sys.exit(main(prog='weft'))\n";

/* The directory of this program, without a slash at its end; empty: unknown. */
static void own_dir(char dir[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	dir[len > 0 ? len : 0] = '\0';
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
}

/* Whether there is a file `name` in the directory `format` makes of our own one. */
static bool is_there(const char *format, const char *own, const char *name, char dir[PATH_MAX])
{
	char path[2 * PATH_MAX];
	int len = snprintf(dir, PATH_MAX, format, own);
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return len < PATH_MAX && !access(path, R_OK);
}

/* The first of the directories that has the file: beside what was built or installed, wherever that was moved, then
 * where it was meant to be. */
static bool find_dir(const char *const *formats, const char *name, char dir[PATH_MAX])
{
	char own[PATH_MAX];
	own_dir(own);
	while (*formats && !is_there(*formats, own, name, dir))
		formats++;
	return *formats != NULL;
}

/* Programs that run weft shall run this build, not another one that may be in PATH. */
static void name_this_program(void)
{
	char own[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
	own[len > 0 ? len : 0] = '\0';
	if (*own)
		setenv("WEFT", own, 1);
}

int launch_program(int argc, char **argv)
{
	static const char *const formats[] = {"%s", "%s/" WEFT_LIBEXEC_FROM_BIN, "%.0s" WEFT_LIBEXEC, NULL};
	char dir[PATH_MAX], path[2 * PATH_MAX] = "", name[32];
	struct stat st;
	snprintf(name, sizeof name, "weft-%s", argv[0]);
	if (find_dir(formats, name, dir)) {
		snprintf(path, sizeof path, "%s/%s", dir, name);
		name_this_program();
		execv(path, argv);
		/* The kernel says so of the script when it means the interpreter in its first line. */
		if (errno == ENOENT && !stat(path, &st)) {
			fprintf(stderr, "weft %s: %s: its interpreter is not installed: apt install python3\n", argv[0],
				path);
			return LAUNCH_MISSING;
		}
	}
	fprintf(stderr, "weft %s: %s: %s; it belongs beside weft or into %s\n", argv[0], *path ? path : name,
		strerror(*path ? errno : ENOENT), WEFT_LIBEXEC);
	return LAUNCH_MISSING;
}

/* The package beside this program comes behind what the user names, and before what is installed in Python. */
static void add_python_path(void)
{
	static const char *const formats[] = {"%s/../apps/weftlab", "%s/../" WEFT_DATA_FROM_BIN "/python",
					      "%.0s" WEFT_DATA "/python", NULL};
	const char *before = getenv("PYTHONPATH");
	char dir[PATH_MAX], *path = NULL;
	if (!find_dir(formats, "weftlab/__main__.py", dir))
		return;
	if (asprintf(&path, "%s%s%s", before ? before : "", before && *before ? ":" : "", dir) < 0)
		return;
	setenv("PYTHONPATH", path, 1);
	free(path);
}

int launch_weftlab(int argc, char **argv)
{
	const char *python = getenv("WEFT_PYTHON");
	const char **args = calloc((size_t)argc + 4, sizeof *args);
	if (!args) {
		fprintf(stderr, "weft %s: no memory\n", argv[0]);
		return 1;
	}
	args[0] = python && *python ? python : "python3";
	args[1] = "-c";
	args[2] = bootstrap;
	memcpy(args + 3, argv, (size_t)argc * sizeof *argv);
	add_python_path();
	name_this_program();
	execvp(args[0], (char *const *)args);
	fprintf(stderr,
		"weft %s: %s: %s; this command is written in Python: apt install python3, or set WEFT_PYTHON to an "
		"interpreter\n",
		argv[0], args[0], strerror(errno));
	free(args);
	return LAUNCH_MISSING;
}
