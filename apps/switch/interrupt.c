/* SPDX-License-Identifier: BSD-3-Clause */
#include "interrupt.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 16 }; /* of a thread, with its end (pthread_setname_np) */

static void on_signal(int sig)
{
	(void)sig;
}

static bool has_name(const char *task, const char *name)
{
	char path[64], found[NAME_MAX_BYTES + 1] = "";

	snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", task);
	FILE *f = fopen(path, "r");
	if (f == NULL)
		return false;
	if (fgets(found, sizeof found, f) == NULL)
		found[0] = '\0';
	fclose(f);
	found[strcspn(found, "\n")] = '\0';
	return strcmp(found, name) == 0;
}

uint32_t interrupt_threads(const char *name)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	uint32_t count = 0;
	DIR *tasks = opendir("/proc/self/task");

	if (tasks == NULL)
		return 0;
	sigaction(SIGURG, &action, NULL);
	for (struct dirent *e = readdir(tasks); e != NULL; e = readdir(tasks)) {
		if (e->d_name[0] == '.' || !has_name(e->d_name, name))
			continue;
		count += syscall(SYS_tgkill, getpid(), (pid_t)strtol(e->d_name, NULL, 10), SIGURG) == 0;
	}
	closedir(tasks);
	return count;
}
