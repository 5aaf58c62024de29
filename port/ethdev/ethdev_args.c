/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_args.h"

#include <assert.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>

#include "weft/ethdev.h"

#define HUGEPAGES_DIR "/sys/kernel/mm/hugepages"

enum { HUGEPAGES_MIN_KIB = 128 << 10 };

static pthread_once_t prefix_once = PTHREAD_ONCE_INIT;
static pid_t prefix_owner;
static char prefix_name[32];

static bool args_add(struct eal_args *a, char *arg)
{
	if (a->argc == EAL_ARGS_MAX - EAL_ARGS_OURS)
		return false;
	a->argv[a->argc++] = arg;
	return true;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void note_choice(struct eal_args *a, const char *arg)
{
	a->cores |= begins(arg, "-l") || begins(arg, "-c") || begins(arg, "--lcores") || begins(arg, "--main-lcore");
	a->log |= begins(arg, "--log-level");
	a->prefix |= begins(arg, "--file-prefix") || begins(arg, "--proc-type");
	a->no_huge |= begins(arg, "--no-huge");
	a->silent |= begins(arg, "--no-telemetry");
	a->alone |= begins(arg, "--in-memory") || begins(arg, "--no-shconf") || begins(arg, "--huge-") ||
		    begins(arg, "--legacy-mem");
}

bool eal_args_split(struct eal_args *a, char *text)
{
	static char name[] = "weft";
	char *save = NULL;
	*a = (struct eal_args){.argc = 0};
	bool fits = args_add(a, name);
	for (char *tok = strtok_r(text, " \t\n", &save); tok != NULL && fits; tok = strtok_r(NULL, " \t\n", &save)) {
		note_choice(a, tok);
		fits = args_add(a, tok);
	}
	return fits;
}

/* "(0)@(1,3)": one lcore that may run on every CPU this thread may use, so that EAL neither pins the application nor
 * starts idle threads for the other CPUs. */
static void lcores_format(const cpu_set_t *cpus, char *buf, size_t size)
{
	int len = snprintf(buf, size, "(0)@(");
	const char *comma = "";
	for (int cpu = 0; cpu < CPU_SETSIZE && (size_t)len < size - 8; cpu++) {
		if (!CPU_ISSET(cpu, cpus))
			continue;
		len += snprintf(buf + len, size - (size_t)len, "%s%d", comma, cpu);
		comma = ",";
	}
	snprintf(buf + len, size - (size_t)len, ")");
}

/* Of the process that made it; a forked child has its pages, and its exit handlers. */
static void dir_remove(void)
{
	const char *dir = rte_eal_get_runtime_dir();
	const char *name = dir != NULL ? strrchr(dir, '/') : NULL;
	if (getpid() == prefix_owner && name != NULL && strcmp(name + 1, prefix_name) == 0)
		rmdir(dir);
}

/* Before EAL starts: its handler, which removes the telemetry socket, then runs before ours. */
static void prefix_prepare(void)
{
	prefix_owner = getpid();
	snprintf(prefix_name, sizeof prefix_name, "weft-%d", (int)prefix_owner);
	atexit(dir_remove);
}

/* "weft-PID": the directory below DPDK's that this process alone uses. */
static const char *own_prefix(void)
{
	pthread_once(&prefix_once, prefix_prepare);
	return prefix_name;
}

/* Processes with the same files take each other for primary and secondary. A killed process cannot clean up, so none
 * are made: neither of hugepages nor of tables. Only the telemetry socket needs a directory of its own. */
static void add_own_files(struct eal_args *a)
{
	static char prefix[64], in_memory[] = "--in-memory", no_shconf[] = "--no-shconf";
	if (!a->alone)
		a->argv[a->argc++] = a->no_huge ? no_shconf : in_memory;
	if (a->silent)
		return;
	snprintf(prefix, sizeof prefix, "--file-prefix=%s", own_prefix());
	a->argv[a->argc++] = prefix;
}

void eal_args_complete(struct eal_args *a)
{
	static char lcores[] = "--lcores", quiet[] = "--log-level=*:error", set[4096];
	cpu_set_t cpus;
	if (!a->log)
		a->argv[a->argc++] = quiet;
	if (!a->cores && sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
		lcores_format(&cpus, set, sizeof set);
		a->argv[a->argc++] = lcores;
		a->argv[a->argc++] = set;
	}
	if (!a->prefix)
		add_own_files(a);
	assert(a->argc < EAL_ARGS_MAX && a->argv[a->argc] == NULL);
}

bool eal_is_pci(const char *dev)
{
	unsigned domain, bus, slot, function;
	int end = 0;
	if (sscanf(dev, "%4x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) != 4 &&
	    sscanf(dev, "%2x:%2x.%1x%n", &bus, &slot, &function, &end) != 3)
		return false;
	return dev[end] == '\0' || dev[end] == ',';
}

/* A number in a file of sysfs; 0: none. */
static uint64_t sysfs_number(const char *dir, const char *name)
{
	char path[512];
	unsigned long long value = 0;
	snprintf(path, sizeof path, HUGEPAGES_DIR "/%s/%s", dir, name);
	FILE *f = fopen(path, "r");
	if (f == NULL || fscanf(f, "%llu", &value) != 1)
		value = 0;
	if (f != NULL)
		fclose(f);
	return value;
}

bool eal_has_hugepages(void)
{
	DIR *dir = opendir(HUGEPAGES_DIR);
	uint64_t kib = 0;
	unsigned page_kib;
	for (const struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir))
		if (sscanf(e->d_name, "hugepages-%ukB", &page_kib) == 1)
			kib += page_kib * sysfs_number(e->d_name, "free_hugepages");
	if (dir != NULL)
		closedir(dir);
	return kib >= HUGEPAGES_MIN_KIB;
}
