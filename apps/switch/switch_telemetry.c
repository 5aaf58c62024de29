/* SPDX-License-Identifier: BSD-3-Clause */
#include "switch_telemetry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_S = 1 /* a switch is polled every 20 ms at least */ };

/* What leads to the port: the fabric's last link, and what the port itself counts. */
static struct weft_port_row row_of(const struct switch_telemetry *t, uint32_t i)
{
	struct weft_port *port = t->ports->port[i];
	struct weft_port_row row = {.up = weft_ethdev_has_link(port)};
	struct weft_ethdev_stats e;
	struct weft_port_info info;
	struct rtnet_stats s;
	weft_net_port_info(rtnet_net(t->rtnet), rtnet_link(t->rtnet, i).index, &info);
	rtnet_get_stats(t->rtnet, i, &s);
	weft_ethdev_stats(port, &e);
	row.bps = info.bps;
	snprintf(row.name, sizeof row.name, "%u:%s", i, info.name);
	snprintf(row.device, sizeof row.device, "%.*s", (int)strcspn(t->ports->devargs[i], ","), t->ports->devargs[i]);
	const struct weft_port_value values[] = {
		{"rx_pkts", s.rx_pkts},
		{"rx_bytes", e.rx_bytes},
		{"tx_pkts", s.tx_pkts},
		{"tx_bytes", e.tx_bytes},
		{"queue_bytes", info.counts.queue_bytes},
		{"marked", info.counts.marked},
		{"trimmed", info.counts.trimmed},
		{"uplink_busy", s.uplink_full},
		{"drop_queue_full", info.counts.dropped},
		{"drop_not_taken", s.downlink_full},
		{"drop_port", s.port_dropped},
		{"drop_missed", e.rx_missed},
		{"drop_no_buffer", e.rx_nombuf},
		{"drop_bad_checksum", e.rx_bad_checksum},
		{"drop_bad_vlan", e.rx_bad_vlan},
		{"drop_unknown", s.unknown_dst},
		{"drop_foreign", s.rx_foreign + e.rx_foreign},
		{"drop_source", s.src_refused},
		{"stuck", s.stuck},
	};
	memcpy(row.values, values, sizeof values);
	row.count = sizeof values / sizeof *values;
	if (t->more != NULL)
		t->more(t->more_arg, i, &row);
	return row;
}

static void copy_rows(struct switch_telemetry *t)
{
	uint32_t i = *t->cursor;
	for (; i < t->ports->count && t->count < t->room; i++)
		t->rows[t->count++] = row_of(t, i);
	*t->cursor = i < t->ports->count ? i : 0;
}

void switch_telemetry_answer(struct switch_telemetry *t)
{
	if (!atomic_load_explicit(&t->asked, memory_order_relaxed))
		return;
	pthread_mutex_lock(&t->lock);
	if (atomic_load(&t->asked)) /* who asked has not given up meanwhile */
		copy_rows(t);
	atomic_store(&t->asked, false);
	pthread_cond_signal(&t->answered);
	pthread_mutex_unlock(&t->lock);
}

/* On a thread of DPDK's, one at a time. */
static unsigned ask(void *arg, uint32_t *cursor, struct weft_port_row *rows, unsigned n)
{
	struct switch_telemetry *t = arg;
	struct timespec until;
	int rc = 0;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&t->lock);
	t->cursor = cursor;
	t->rows = rows;
	t->room = n;
	t->count = 0;
	atomic_store(&t->asked, true);
	while (rc == 0 && atomic_load(&t->asked))
		rc = pthread_cond_timedwait(&t->answered, &t->lock, &until);
	if (atomic_exchange(&t->asked, false))
		*cursor = 0; /* it hangs, or ends */
	unsigned count = t->count;
	pthread_mutex_unlock(&t->lock);
	return count;
}

void switch_telemetry_start(struct switch_telemetry *t)
{
	struct weft_err err;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->answered, NULL);
	t->device = (struct weft_telemetry){.name = t->name, .arg = t, .ports = ask};
	t->is_there = weft_telemetry_add(&t->device, &err) == 0;
}

void switch_telemetry_stop(struct switch_telemetry *t)
{
	if (t->is_there)
		weft_telemetry_remove(&t->device);
	pthread_cond_destroy(&t->answered);
	pthread_mutex_destroy(&t->lock);
}
