/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of DPDK's telemetry. They cannot be taken back, so they know devices by a list that outlives each. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry_pages.h"

enum { DEVICES_LISTED = 256 }; /* DPDK's arrays end at 512 */

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before any lock of a device */
static LIST_HEAD(, weft_telemetry) devices = LIST_HEAD_INITIALIZER(devices);
static bool commands_there; /* under devices_lock */

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

/* All counters of a device. */
struct counters {
	struct weft_stats stats;
	struct weft_ethdev_stats port;
	unsigned more_count;
	const struct weft_counter_desc *more;
	uint64_t more_values[WEFT_TELEMETRY_MORE_MAX];
};

static void counters_copy(struct weft_telemetry *device, struct counters *c)
{
	device->read(device->arg, &c->stats, &c->port);
	c->more_count = device->more_count;
	c->more = device->more;
	if (c->more_count)
		device->read_more(device->arg, c->more_values);
}

/* NULL: there is none. Lock held. */
static struct weft_telemetry *device_find(const char *name)
{
	struct weft_telemetry *device;
	LIST_FOREACH(device, &devices, link)
	if (strcmp(device->name, name) == 0)
		break;
	return device;
}

static bool device_read(const char *name, struct counters *c)
{
	pthread_mutex_lock(&devices_lock);
	struct weft_telemetry *device = device_find(name);
	bool reads = device != NULL && device->read != NULL;
	if (reads)
		counters_copy(device, c);
	pthread_mutex_unlock(&devices_lock);
	return reads;
}

static int device_stats(const char *cmd, const char *params, struct rte_tel_data *data)
{
	struct counters c;
	if (params == NULL || !device_read(params, &c))
		return -ENODEV;
	rte_tel_data_start_dict(data);
	for (int i = 0; i < WEFT_COUNTER_COUNT; i++)
		rte_tel_data_add_dict_u64(data, weft_counter_descs[i].name, weft_stats_value(&c.stats, i));
	for (int i = 0; i < WEFT_PORT_COUNTER_COUNT; i++)
		rte_tel_data_add_dict_u64(data, weft_port_counter_descs[i].name, weft_ethdev_stats_value(&c.port, i));
	for (unsigned i = 0; i < c.more_count; i++)
		rte_tel_data_add_dict_u64(data, c.more[i].name, c.more_values[i]);
	return 0;
}

/* Too large for the stacks of DPDK's threads. */
static int page_answer(enum page_kind kind, const char *params, struct rte_tel_data *data)
{
	char *name = params != NULL ? strdup(params) : NULL;
	struct telemetry_page *page = malloc(sizeof *page);
	int rc = -ENODEV;
	if (name != NULL && page != NULL) {
		uint32_t cursor = telemetry_cursor(name);
		page->kind = kind;
		pthread_mutex_lock(&devices_lock);
		struct weft_telemetry *device = device_find(name);
		bool has_rows = device != NULL && telemetry_page_copy(device, cursor, page);
		pthread_mutex_unlock(&devices_lock);
		rc = has_rows ? telemetry_page_answer(page, data) : -ENODEV;
	}
	free(page);
	free(name);
	return rc;
}

static int conns_answer(const char *cmd, const char *params, struct rte_tel_data *data)
{
	return page_answer(PAGE_CONNS, params, data);
}

static int ops_answer(const char *cmd, const char *params, struct rte_tel_data *data)
{
	return page_answer(PAGE_OPS, params, data);
}

static int neighs_answer(const char *cmd, const char *params, struct rte_tel_data *data)
{
	return page_answer(PAGE_NEIGHS, params, data);
}

static int ports_answer(const char *cmd, const char *params, struct rte_tel_data *data)
{
	return page_answer(PAGE_PORTS, params, data);
}

/* DPDK takes help of at most 63 characters. */
static const struct command {
	const char *name;
	telemetry_cb answer;
	const char *help;
} commands[] = {
	{"/weft/devices", devices_list, "Devices with an engine, and switches. No parameters"},
	{"/weft/stats", device_stats, "Counters of an engine and its port. Parameter: device"},
	{"/weft/conns", conns_answer, "Connections of an engine. Parameters: device, next"},
	{"/weft/ops", ops_answer, "Operations and what they wait for. Parameters: device, next"},
	{"/weft/neigh", neighs_answer, "Neighbours of a port. Parameters: device, next"},
	{"/weft/ports", ports_answer, "Ports and their counters. Parameters: device, next"},
};

static int commands_register(void)
{
	int rc = 0;
	for (size_t i = 0; !commands_there && rc == 0 && i < sizeof commands / sizeof *commands; i++)
		rc = rte_telemetry_register_cmd(commands[i].name, commands[i].answer, commands[i].help);
	commands_there |= rc == 0;
	return rc;
}

int weft_telemetry_add(struct weft_telemetry *device, struct weft_err *err)
{
	assert(device->name && device->more_count <= WEFT_TELEMETRY_MORE_MAX);
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
