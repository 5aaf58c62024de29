/* SPDX-License-Identifier: BSD-3-Clause */
/* An answer is an object: "next", and one object for each row, named by its number in the page. */
#include "telemetry_pages.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/ep.h"

enum { ADDR_TEXT = INET6_ADDRSTRLEN + 8 };

uint32_t telemetry_cursor(char *params)
{
	char *comma = strrchr(params, ',');
	if (comma == NULL || comma[1] == '\0' || comma[1 + strspn(comma + 1, "0123456789")] != '\0')
		return 0;
	*comma = '\0';
	unsigned long long cursor = strtoull(comma + 1, NULL, 10);
	return cursor <= UINT32_MAX ? (uint32_t)cursor : UINT32_MAX;
}

/* False: the device has nothing of the kind. */
static bool rows_copy(struct weft_telemetry *device, struct telemetry_page *page)
{
	if (page->kind == PAGE_CONNS && device->conns != NULL)
		page->count = device->conns(device->arg, &page->next, page->conns, PAGE_CONN_ROWS);
	else if (page->kind == PAGE_OPS && device->ops != NULL)
		page->count = device->ops(device->arg, &page->next, page->ops, PAGE_OP_ROWS);
	else if (page->kind == PAGE_NEIGHS && device->neighs != NULL)
		page->count = device->neighs(device->arg, &page->next, page->neighs, PAGE_NEIGH_ROWS);
	else if (page->kind == PAGE_PORTS && device->ports != NULL)
		page->count = device->ports(device->arg, &page->next, page->ports, PAGE_PORT_ROWS);
	else
		return false;
	return true;
}

bool telemetry_page_copy(struct weft_telemetry *device, uint32_t cursor, struct telemetry_page *page)
{
	page->next = cursor;
	page->count = 0;
	return rows_copy(device, page);
}

static const char *ip_text(const struct weft_ip *ip, char *text)
{
	const bool v4 = weft_ip_is_v4(ip);
	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? ip->b + 12 : ip->b, text, ADDR_TEXT);
	return text;
}

static const char *addr_text(const struct weft_addr *addr, char *text)
{
	char ip[ADDR_TEXT];
	ip_text(&addr->ip, ip);
	snprintf(text, ADDR_TEXT + 3, weft_ip_is_v4(&addr->ip) ? "%s:%u" : "[%s]:%u", ip, addr->port);
	return text;
}

/* Many readers of JSON have no integers above INT64_MAX and refuse the whole answer for one: no number is larger. */
static void number_add(struct rte_tel_data *d, const char *name, uint64_t value)
{
	rte_tel_data_add_dict_u64(d, name, value <= INT64_MAX ? value : INT64_MAX);
}

/* All 64 bits mean something, so it is no number. */
static void tag_add(struct rte_tel_data *d, uint64_t tag)
{
	char text[sizeof "0x0123456789abcdef"];
	snprintf(text, sizeof text, "0x%" PRIx64, tag);
	rte_tel_data_add_dict_string(d, "tag", text);
}

static void conn_answer(const struct weft_conn_row *r, struct rte_tel_data *d)
{
	static const char *const states[] = {"unanswered", "open", "closing"};
	char text[ADDR_TEXT];
	rte_tel_data_add_dict_string(d, "peer", ip_text(&r->ip, text));
	rte_tel_data_add_dict_string(d, "state", states[r->state]);
	const struct weft_port_value values[] = {
		{"id", r->id},
		{"by_peer", r->by_peer},
		{"background", r->background},
		{"sends", r->sends},
		{"receives", r->receives},
		{"has_ops", r->has_ops},
		{"cwnd_bytes", r->cwnd_bytes},
		{"inflight_bytes", r->inflight_bytes},
		{"inflight_pkts", r->inflight_pkts},
		{"lost_pkts", r->lost_pkts},
		{"payload_bytes", r->payload_bytes},
		{"brtt_ns", r->brtt_ns},
		{"srtt_ns", r->srtt_ns},
		{"timeouts", r->timeouts},
		{"marked_acks", r->marked_acks},
		{"trimmed_pkts", r->trimmed_pkts},
		{"retx_pkts", r->retx_pkts},
		{"cached_evs", r->cached_evs},
		{"received_bytes", r->received_bytes},
		{"unfinished", r->unfinished},
		{"silent_ns", r->silent_ns},
	};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		number_add(d, values[i].name, values[i].value);
}

static void op_answer(const struct weft_op_row *r, struct rte_tel_data *d)
{
	char text[ADDR_TEXT + 3];
	rte_tel_data_add_dict_string(d, "kind", weft_op_kind_name(r->kind));
	rte_tel_data_add_dict_string(d, "wait", weft_op_wait_name(r->wait));
	rte_tel_data_add_dict_string(d, "peer", r->any_peer ? "any" : addr_text(&r->peer, text));
	if (r->kind == WEFT_OP_TSEND || r->kind == WEFT_OP_TRECV)
		tag_add(d, r->tag);
	const struct weft_port_value values[] = {
		{"more", r->more},
		{"ep", r->ep},
		{"conn", r->conn},
		{"bytes", r->bytes},
		{"done_bytes", r->done_bytes},
		{"age_ns", r->age_ns},
		{"silent_ns", r->silent_ns},
	};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		number_add(d, values[i].name, values[i].value);
}

static void neigh_answer(const struct weft_neigh_row *r, struct rte_tel_data *d)
{
	static const char *const states[] = {"asked", "learned", "told", "confirmed", "lost"};
	char text[ADDR_TEXT], mac[18];
	snprintf(mac, sizeof mac, "%02x:%02x:%02x:%02x:%02x:%02x", r->mac[0], r->mac[1], r->mac[2], r->mac[3],
		 r->mac[4], r->mac[5]);
	rte_tel_data_add_dict_string(d, "ip", ip_text(&r->ip, text));
	rte_tel_data_add_dict_string(d, "mac", mac);
	rte_tel_data_add_dict_string(d, "state", states[r->state]);
	number_add(d, "in_use", r->in_use);
	number_add(d, "waiting_pkts", r->waiting_pkts);
	if (r->age_ns != WEFT_NEVER)
		number_add(d, "age_ns", r->age_ns);
}

static void port_answer(const struct weft_port_row *r, struct rte_tel_data *d)
{
	rte_tel_data_add_dict_string(d, "name", r->name);
	rte_tel_data_add_dict_string(d, "device", r->device);
	number_add(d, "up", r->up);
	number_add(d, "bps", r->bps);
	for (unsigned i = 0; i < r->count; i++)
		number_add(d, r->values[i].name, r->values[i].value);
}

static void row_answer(const struct telemetry_page *page, unsigned i, struct rte_tel_data *d)
{
	if (page->kind == PAGE_CONNS)
		conn_answer(&page->conns[i], d);
	else if (page->kind == PAGE_OPS)
		op_answer(&page->ops[i], d);
	else if (page->kind == PAGE_NEIGHS)
		neigh_answer(&page->neighs[i], d);
	else
		port_answer(&page->ports[i], d);
}

int telemetry_page_answer(const struct telemetry_page *page, struct rte_tel_data *data)
{
	char name[16];
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_u64(data, "next", page->next);
	for (unsigned i = 0; i < page->count; i++) {
		struct rte_tel_data *row = rte_tel_data_alloc();
		if (row == NULL)
			return -ENOMEM;
		rte_tel_data_start_dict(row);
		row_answer(page, i, row);
		snprintf(name, sizeof name, "%u", i);
		if (rte_tel_data_add_dict_container(data, name, row, 0) != 0) {
			rte_tel_data_free(row);
			return -ENOMEM;
		}
	}
	return 0;
}
