/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of DPDK's telemetry that answer page by page. */
#ifndef WEFT_TELEMETRY_PAGES_H
#define WEFT_TELEMETRY_PAGES_H

#include <rte_telemetry.h>

#include "weft/telemetry.h"

enum page_kind { PAGE_CONNS, PAGE_OPS, PAGE_NEIGHS, PAGE_PORTS };

enum {
	/* Rows of a page: as many as fit into DPDK's 16 KiB for an answer, whatever their numbers. */
	PAGE_CONN_ROWS = 24,
	PAGE_OP_ROWS = 40,
	PAGE_NEIGH_ROWS = 64,
	PAGE_PORT_ROWS = 12,
};

/* One page, copied: what goes into an answer once no lock is held any more. */
struct telemetry_page {
	enum page_kind kind;
	unsigned count;
	uint32_t next; /* the cursor of the next page; 0: there is none */
	union {
		struct weft_conn_row conns[PAGE_CONN_ROWS];
		struct weft_op_row ops[PAGE_OP_ROWS];
		struct weft_neigh_row neighs[PAGE_NEIGH_ROWS];
		struct weft_port_row ports[PAGE_PORT_ROWS];
	};
};

/* Splits "DEVICE,CURSOR", which is changed: the comma becomes the end. Returns the cursor; 0: there is none. */
uint32_t telemetry_cursor(char *params);

/* Fills `page`, whose kind is set, from `cursor`. False: the device has nothing of the kind. */
bool telemetry_page_copy(struct weft_telemetry *device, uint32_t cursor, struct telemetry_page *page);

/* 0, or a negative errno. */
int telemetry_page_answer(const struct telemetry_page *page, struct rte_tel_data *data);

#endif
