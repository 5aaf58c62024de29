/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of DPDK's telemetry. They cannot be taken back, so they know devices by a list that outlives each. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_telemetry.h>

#include "weft/ethdev.h"
#include "weft/telemetry.h"

enum { DEVICES_LISTED = 256 }; /* DPDK's arrays end at 512 */

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before any lock of a device */
static LIST_HEAD(, weft_telemetry) devices = LIST_HEAD_INITIALIZER(devices);
static bool commands_there; /* under devices_lock */

static pthread_once_t dir_once = PTHREAD_ONCE_INIT;
static pid_t dir_owner;
static char dir_name[32]; /* of our runtime directory, without its parents */

static int devices_list(const char *cmd, const char *params, struct rte_tel_data *data)
{
	const struct weft_telemetry *device;
	int count = 0;
	rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
	pthread_mutex_lock(&devices_lock);
	LIST_FOREACH(device, &devices, link)
	if (count++ < DEVICES_LISTED)
		rte_tel_data_add_array_string(data, device->name);
	pthread_mutex_unlock(&devices_lock);
	return 0;
}

static bool device_read(const char *name, struct weft_stats *stats)
{
	struct weft_telemetry *device;
	pthread_mutex_lock(&devices_lock);
	LIST_FOREACH(device, &devices, link)
	if (strcmp(device->name, name) == 0)
		break;
	if (device != NULL)
		device->read(device->arg, stats);
	pthread_mutex_unlock(&devices_lock);
	return device != NULL;
}

static int device_stats(const char *cmd, const char *params, struct rte_tel_data *data)
{
	struct weft_stats stats;
	if (params == NULL || !device_read(params, &stats))
		return -ENODEV;
	rte_tel_data_start_dict(data);
	for (int i = 0; i < WEFT_COUNTER_COUNT; i++)
		rte_tel_data_add_dict_u64(data, weft_counter_descs[i].name, weft_stats_value(&stats, i));
	return 0;
}

static int commands_register(void)
{
	if (commands_there)
		return 0;
	int rc = rte_telemetry_register_cmd("/weft/devices", devices_list, "Devices with an engine. No parameters");
	if (rc == 0)
		rc = rte_telemetry_register_cmd("/weft/stats", device_stats,
						"Counters of an engine. Parameter: name of its device");
	commands_there = rc == 0;
	return rc;
}

int weft_telemetry_add(struct weft_telemetry *device, struct weft_err *err)
{
	assert(device->name && device->read);
	pthread_mutex_lock(&devices_lock);
	int rc = commands_register();
	if (rc == 0)
		LIST_INSERT_HEAD(&devices, device, link);
	pthread_mutex_unlock(&devices_lock);
	if (rc != 0)
		return weft_err_set(err, rc, "%s: no telemetry: %s", device->name, strerror(-rc));
	return 0;
}

void weft_telemetry_remove(struct weft_telemetry *device)
{
	pthread_mutex_lock(&devices_lock);
	LIST_REMOVE(device, link);
	pthread_mutex_unlock(&devices_lock);
}

/* Of the process that made it; a forked child has its pages, and its exit handlers. */
static void dir_remove(void)
{
	const char *dir = rte_eal_get_runtime_dir();
	const char *name = dir != NULL ? strrchr(dir, '/') : NULL;
	if (getpid() == dir_owner && name != NULL && strcmp(name + 1, dir_name) == 0)
		rmdir(dir);
}

/* Before EAL starts: its handler, which removes the socket, then runs before ours. */
static void dir_prepare(void)
{
	dir_owner = getpid();
	snprintf(dir_name, sizeof dir_name, "weft-%d", (int)dir_owner);
	atexit(dir_remove);
}

int weft_telemetry_start(struct weft_err *err)
{
	char args[sizeof WEFT_EAL_DEFAULTS + sizeof " --file-prefix=" + sizeof dir_name];
	if (getenv("WEFT_EAL_ARGS") != NULL)
		return weft_eal_start(NULL, err);
	pthread_once(&dir_once, dir_prepare);
	snprintf(args, sizeof args, WEFT_EAL_ALONE " --file-prefix=%s", dir_name);
	return weft_eal_start(args, err);
}
