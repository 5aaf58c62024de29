/* SPDX-License-Identifier: BSD-3-Clause */
#include "top_snapshot.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "top_link.h"

static const struct list {
	const char *name, *command;
} lists[] = {
	{"conns", "/weft/conns"},
	{"ops", "/weft/ops"},
	{"neigh", "/weft/neigh"},
	{"ports", "/weft/ports"},
};

static json_int_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (json_int_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The name of a process's program; "?": it is gone. */
static json_t *program_of(uint32_t pid)
{
	char path[64], name[64] = "?";
	snprintf(path, sizeof path, "/proc/%u/comm", pid);
	FILE *f = fopen(path, "r");
	if (f != NULL) {
		if (fgets(name, sizeof name, f) != NULL)
			name[strcspn(name, "\n")] = '\0';
		fclose(f);
	}
	json_t *text = json_string(name);
	return text != NULL ? text : json_string("?"); /* the name is no UTF-8 */
}

static void add_row(json_t *shot, const char *list, json_t *row, uint32_t pid, const char *device)
{
	json_object_set_new(row, "pid", json_integer(pid));
	json_object_set_new(row, "on", json_string(device));
	json_array_append(json_object_get(shot, list), row);
}

/* Those of a device's counters that are of local channels; a device without channels has none. */
static void add_local(json_t *shot, const json_t *counters, uint32_t pid, const char *device)
{
	json_t *row = json_object(), *value;
	const char *key;
	json_object_foreach((json_t *)counters, key, value) if (strncmp(key, "local_", strlen("local_")) == 0)
		json_object_set(row, key, value);
	if (json_object_size(row) != 0)
		add_row(shot, "local", row, pid, device);
	json_decref(row);
}

static void add_device(json_t *shot, struct top_link *link, const char *device)
{
	char text[256];
	bool more = false;
	snprintf(text, sizeof text, "/weft/stats,%s", device);
	json_t *counters = top_link_ask(link, text);
	if (json_is_object(counters)) {
		add_row(shot, "counters", counters, link->pid, device);
		add_local(shot, counters, link->pid, device);
	}
	json_decref(counters);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		json_t *rows = top_link_pages(link, lists[i].command, device, &more), *row;
		size_t n;
		json_array_foreach(rows, n, row) add_row(shot, lists[i].name, row, link->pid, device);
		json_decref(rows);
	}
	if (more)
		json_object_set_new(shot, "more", json_true());
}

static bool is_known(const json_t *shot, uint32_t pid)
{
	const json_t *process;
	size_t n;
	json_array_foreach(json_object_get(shot, "processes"), n,
			   process) if (json_integer_value(json_object_get(process, "pid")) == pid) return true;
	return false;
}

/* A process of DPDK's that has nothing of ours is left out. */
static void add_process(json_t *shot, struct top_link *link)
{
	json_t *devices = top_link_ask(link, "/weft/devices"), *device;
	size_t n;
	if (json_is_array(devices)) {
		json_array_append_new(json_object_get(shot, "processes"),
				      json_pack("{s:i, s:o, s:O}", "pid", (int)link->pid, "program",
						program_of(link->pid), "devices", devices));
		json_array_foreach(devices, n, device) add_device(shot, link, json_string_value(device));
	}
	json_decref(devices);
}

static void add_socket(json_t *shot, const char *path, uint32_t pid)
{
	struct top_link link;
	if (top_link_open(&link, path) != 0)
		return;
	if ((pid == 0 || pid == link.pid) && !is_known(shot, link.pid))
		add_process(shot, &link);
	top_link_close(&link);
}

/* Sockets of processes below `base`; "%s" in it is `dir`. */
static void add_sockets(json_t *shot, const char *base, const char *dir, uint32_t pid)
{
	char pattern[512];
	glob_t found;
	int len = snprintf(pattern, sizeof pattern, base, dir);
	snprintf(pattern + len, sizeof pattern - (size_t)len, "/dpdk/*/dpdk_telemetry.v2*");
	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		add_socket(shot, found.gl_pathv[i], pid);
	globfree(&found);
}

json_t *top_snapshot_take(uint32_t pid)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	json_t *shot = json_pack("{s:s, s:I, s:b, s:[], s:[], s:[]}", "schema", "weft.top/1", "time_ns", now_ns(),
				 "more", 0, "processes", "counters", "local");
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		json_object_set_new(shot, lists[i].name, json_array());
	if (runtime != NULL && strlen(runtime) < 256)
		add_sockets(shot, "%s", runtime, pid);
	add_sockets(shot, "/var/run%s", "", pid);
	add_sockets(shot, "/tmp%s", "", pid);
	add_sockets(shot, "/run/user/*%s", "", pid);
	add_sockets(shot, "/run/weft/*%s", "", pid);
	add_sockets(shot, "/run/weft-host%s", "", pid);
	return shot;
}

/* ---- rates ---- */

/* Neither has it, or both have the same. */
static bool same(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);
	return x == y || json_equal(x, y);
}

/* What a row of `list` was in the snapshot before; NULL: it was not there. */
static const json_t *row_before(const json_t *before, const char *list, const json_t *row)
{
	const json_t *other;
	size_t n;
	json_array_foreach(json_object_get(before, list), n, other) if (same(row, other, "pid") &&
									same(row, other, "on") &&
									same(row, other, "name")) return other;
	return NULL;
}

static void add_rate(json_t *row, const json_t *old, const char *counter, const char *name, double per_count)
{
	const json_t *value = json_object_get(row, counter), *was = json_object_get(old, counter);
	if (!json_is_integer(value) || !json_is_integer(was) || json_integer_value(value) < json_integer_value(was))
		return;
	double counts = (double)(json_integer_value(value) - json_integer_value(was));
	json_object_set_new(row, name, json_integer((json_int_t)(counts * per_count)));
}

void top_snapshot_rates(json_t *now, const json_t *before)
{
	double ns = (double)(json_integer_value(json_object_get(now, "time_ns")) -
			     json_integer_value(json_object_get(before, "time_ns")));
	json_t *row;
	size_t n;
	if (ns <= 0)
		return;
	json_array_foreach(json_object_get(now, "ports"), n, row)
	{
		const json_t *old = row_before(before, "ports", row);
		add_rate(row, old, "rx_bytes", "rx_bps", 8e9 / ns);
		add_rate(row, old, "tx_bytes", "tx_bps", 8e9 / ns);
		add_rate(row, old, "rx_pkts", "rx_pps", 1e9 / ns);
		add_rate(row, old, "tx_pkts", "tx_pps", 1e9 / ns);
	}
	json_array_foreach(json_object_get(now, "local"), n, row)
	{
		const json_t *old = row_before(before, "local", row);
		add_rate(row, old, "local_rx_pkts", "local_rx_pps", 1e9 / ns);
		add_rate(row, old, "local_tx_pkts", "local_tx_pps", 1e9 / ns);
	}
}
