/* SPDX-License-Identifier: BSD-3-Clause */
#include "rtnet_lab.h"

#include <stdio.h>

#include "cmocka_all.h"

static uint8_t payload[PAYLOAD];
static unsigned serial;

void lab_open(struct lab *l, uint32_t base, const struct rtnet_conf *overrides)
{
	lab_open_at(l, base, overrides, 0);
}

void lab_open_at(struct lab *l, uint32_t base, const struct rtnet_conf *overrides, weft_ns now)
{
	struct rtnet_conf conf = *overrides;
	*l = (struct lab){0};
	for (unsigned h = 0; h < HOSTS; h++) {
		char name[16];
		snprintf(name, sizeof name, "r%u", serial++);
		struct weft_ethdev_conf port = {.dev = name,
						.ip = weft_ip_v4(base + h),
						.max_ip_bytes = PAYLOAD + 200,
						.pool_pkts = 2047,
						.no_arp = 1};
		if (weft_ethdev_ring_pair(name, RING, &l->sw[h], &l->err) != 0 ||
		    weft_ethdev_open(&port, &l->host[h], &l->err) != 0)
			fail_msg("%s", l->err.msg);
	}
	conf.topo = &l->topo;
	conf.ports = l->sw;
	conf.port_count = HOSTS;
	conf.net.seed = 1;
	conf.net.mtu_bytes = PAYLOAD + 200;
	if (weft_topo_preset(conf.part != NULL ? "leafspine:2:2:2" : "star:4", 10000000000, &l->topo, &l->err) != 0 ||
	    rtnet_create(&conf, now, &l->rtnet, &l->err) != 0)
		fail_msg("%s", l->err.msg);
}

void lab_close(struct lab *l)
{
	rtnet_destroy(l->rtnet);
	for (unsigned h = 0; h < HOSTS; h++)
		l->host[h]->ops->close(l->host[h]);
	for (unsigned h = 0; h < HOSTS; h++)
		l->sw[h]->ops->close(l->sw[h]);
}

bool send_data(struct weft_port *port, uint32_t src, uint32_t dst, uint32_t psn)
{
	struct plain_pkt w = port_data_pkt(src, dst, (uint16_t)(49152 + psn % 1000), psn, PAYLOAD);
	return port_send(port, &w, payload);
}

void drain(struct weft_port *port, unsigned *full, unsigned *trimmed)
{
	struct weft_pkt *pkts[32];
	uint16_t n;
	while ((n = port->ops->rx(port, pkts, 32)) > 0) {
		for (uint16_t i = 0; i < n; i++) {
			assert_true(wire_peek(pkts[i]));
			*trimmed += (pkts[i]->flags & WEFT_PKT_TRIMMED) != 0;
			*full += pkts[i]->head_len > PAYLOAD;
			if (pkts[i]->head_len > PAYLOAD)
				assert_memory_equal(pkts[i]->head + pkts[i]->head_len - PAYLOAD, payload, PAYLOAD);
		}
		port->ops->free(port, pkts, n);
	}
}

int lab_setup(void **state)
{
	struct weft_err err;
	for (unsigned i = 0; i < PAYLOAD; i++)
		payload[i] = (uint8_t)(i * 31 + (i >> 8));
	return weft_eal_start(NULL, &err);
}
