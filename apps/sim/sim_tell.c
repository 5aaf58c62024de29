/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_tell.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "file.h"
#include "lab.h"
#include "metric.h"

/* Prints and frees it; NULL: it could not be made. */
static int print(json_t *json, struct weft_err *err)
{
	if (!json)
		return weft_err_set(err, -EINVAL, "no memory, or a name is not UTF-8");
	int rc = json_dumpf(json, stdout, JSON_INDENT(2));
	json_decref(json);
	putchar('\n');
	int written = file_finish(stdout, "standard output", err);
	return rc && !written ? weft_err_set(err, -ENOMEM, "no memory") : written;
}

static void add_param(void *arg, const char *key, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRIu64, value);
	json_object_set_new(arg, key, value <= INT64_MAX ? json_integer((json_int_t)value) : json_string(text));
}

static uint64_t bytes_of(const struct weft_workload *w)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < w->flow_count; i++)
		bytes += w->flows[i].bytes;
	return bytes;
}

int sim_tell_config(const struct options *o, struct weft_err *err)
{
	const struct lab_config *lab = &o->lab;
	int rc = lab_check_net(lab, err);
	if (rc)
		return rc;
	json_t *set = json_object();
	if (set)
		options_each_param(o, add_param, set);
	json_t *json = json_pack(
		"{s:s, s:s, s:I, s:s?, s:I, s:I, s:s, s:s, s:s, s:s?, s:s?, s:s, s:s?, s:I, s:f, s:i, s:o}", "schema",
		"weft.config/1", "topology", o->topology, "hosts", (json_int_t)lab->topo.hosts, "matrix", o->matrix,
		"flows", (json_int_t)lab->workload.flow_count, "bytes", (json_int_t)bytes_of(&lab->workload), "cc",
		lab->cc_name, "lb", lab->lb->name, "background_lb", lab->background_lb->name, "cc_reason",
		lab->cc_reason, "lb_reason", lab->lb_reason, "route", lab->route->name, "warning", lab->warning, "seed",
		(json_int_t)lab->seed, "end_us", (double)lab->end_ns / 1e3, "faults", (int)lab->faults.fault_count,
		"set", set);
	return print(json, err);
}

int sim_tell_metrics(struct weft_err *err)
{
	const struct metric *m;
	json_t *list = json_array();
	for (uint32_t i = 0; list && (m = metric_at(i)) != NULL; i++) {
		if (json_array_append_new(list, json_pack("{s:s?, s:s?, s:s?, s:s}", "name", m->name, "json", m->json,
							  "unit", m->unit, "help", m->help))) {
			json_decref(list);
			list = NULL;
		}
	}
	return print(list, err);
}
