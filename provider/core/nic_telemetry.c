/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device tells over DPDK's telemetry. Its lock is held while rows are copied. */
#include "nic_telemetry.h"

#include <stdio.h>
#include <string.h>

#include "prov_log.h"
#include "weft/ethdev.h"

static void telemetry_read(void *arg, struct weft_stats *stats, struct weft_ethdev_stats *port)
{
	struct prov_nic *nic = arg;
	prov_nic_lock(nic);
	*stats = *weft_engine_stats(nic->engine);
	weft_ethdev_stats(nic->port, port);
	prov_nic_unlock(nic);
}

/* Those of encryption, of connections, and of local channels; every device has the second. */
static const struct weft_counter_desc more_descs[] = {
#define COUNTER_DESC(name, help) {#name, help, 0},
	WEFT_TSS_COUNTERS(COUNTER_DESC) WEFT_CM_COUNTERS(COUNTER_DESC) WEFT_LOCAL_COUNTERS(COUNTER_DESC)
#undef COUNTER_DESC
};

static void telemetry_read_more(void *arg, uint64_t *values)
{
	struct prov_nic *nic = arg;
	struct weft_tss_stats tss;
	struct weft_cm_stats cm;
	struct weft_local_stats local;
	prov_nic_lock(nic);
	cm = nic->cm_stats;
	if (nic->keys.port)
		weft_tss_stats(nic->keys.port, &tss);
	if (nic->local_port)
		weft_local_stats(nic->local_port, &local);
	prov_nic_unlock(nic);
	for (int i = 0; nic->keys.port && i < WEFT_TSS_COUNTER_COUNT; i++)
		*values++ = weft_tss_stats_value(&tss, i);
#define COPY(name, help) *values++ = cm.name;
	WEFT_CM_COUNTERS(COPY)
#undef COPY
	for (int i = 0; nic->local_port && i < WEFT_LOCAL_COUNTER_COUNT; i++)
		*values++ = weft_local_stats_value(&local, i);
}

static unsigned telemetry_conns(void *arg, uint32_t *cursor, struct weft_conn_row *rows, unsigned n)
{
	struct prov_nic *nic = arg;
	prov_nic_lock(nic);
	unsigned count = weft_engine_conns(nic->engine, weft_clock_ns(), cursor, rows, n);
	prov_nic_unlock(nic);
	return count;
}

static unsigned telemetry_ops(void *arg, uint32_t *cursor, struct weft_op_row *rows, unsigned n)
{
	struct prov_nic *nic = arg;
	prov_nic_lock(nic);
	unsigned count = weft_engine_ops(nic->engine, weft_clock_ns(), cursor, rows, n);
	prov_nic_unlock(nic);
	return count;
}

static unsigned telemetry_neighs(void *arg, uint32_t *cursor, struct weft_neigh_row *rows, unsigned n)
{
	struct prov_nic *nic = arg;
	prov_nic_lock(nic);
	unsigned count = weft_ethdev_neighs(nic->port, weft_clock_ns(), cursor, rows, n);
	prov_nic_unlock(nic);
	return count;
}

static void port_copy(struct prov_nic *nic, struct weft_port_row *row, struct weft_ethdev_stats *port)
{
	prov_nic_lock(nic);
	row->up = weft_ethdev_has_link(nic->port);
	row->bps = nic->port->link_bps;
	weft_ethdev_stats(nic->port, port);
	prov_nic_unlock(nic);
}

/* A device has one port. What it drops and loses is named as in the rows of switches. */
static unsigned telemetry_ports(void *arg, uint32_t *cursor, struct weft_port_row *rows, unsigned n)
{
	struct prov_nic *nic = arg;
	struct weft_ethdev_stats s;
	bool is_there = *cursor == 0;
	*cursor = 0;
	if (!is_there)
		return 0;
	port_copy(nic, rows, &s);
	snprintf(rows->name, sizeof rows->name, "%s", nic->name);
	snprintf(rows->device, sizeof rows->device, "%s", nic->name);
	const struct weft_port_value values[] = {
		{"rx_pkts", s.rx_pkts},
		{"rx_bytes", s.rx_bytes},
		{"tx_pkts", s.tx_pkts},
		{"tx_bytes", s.tx_bytes},
		{"drop_missed", s.rx_missed},
		{"drop_no_buffer", s.rx_nombuf},
		{"drop_foreign", s.rx_foreign},
		{"drop_handover_full", s.rx_handover_full},
		{"drop_bad_vlan", s.rx_bad_vlan},
		{"drop_bad_checksum", s.rx_bad_checksum},
		{"drop_link_down", s.tx_link_down},
		{"drop_oversize", s.tx_oversize},
		{"drop_no_address", s.arp_pending_dropped},
		{"drop_no_route", s.tx_no_route},
	};
	memcpy(rows->values, values, sizeof values);
	rows->count = sizeof values / sizeof *values;
	return 1;
}

void prov_telemetry_add(struct prov_nic *nic)
{
	struct weft_err err;
	nic->telemetry = (struct weft_telemetry){.name = nic->name,
						 .read = telemetry_read,
						 .arg = nic,
						 .conns = telemetry_conns,
						 .ops = telemetry_ops,
						 .neighs = telemetry_neighs,
						 .ports = telemetry_ports};
	nic->telemetry.more_count = (nic->keys.port ? WEFT_TSS_COUNTER_COUNT : 0) + WEFT_CM_COUNTER_COUNT +
				    (nic->local_port ? WEFT_LOCAL_COUNTER_COUNT : 0);
	nic->telemetry.more = nic->keys.port ? more_descs : more_descs + WEFT_TSS_COUNTER_COUNT;
	nic->telemetry.read_more = telemetry_read_more;
	nic->has_telemetry = weft_telemetry_add(&nic->telemetry, &err) == 0;
	if (!nic->has_telemetry)
		FI_WARN(&prov_weft, FI_LOG_DOMAIN, "%s\n", err.msg);
}

void prov_telemetry_remove(struct prov_nic *nic)
{
	if (nic->has_telemetry)
		weft_telemetry_remove(&nic->telemetry);
}
