/* SPDX-License-Identifier: BSD-3-Clause */
/* Links that fail, in a fabric whose queues have room for all. */
#ifndef WEFT_TEST_FAULT_LAN_H
#define WEFT_TEST_FAULT_LAN_H

#include "cmocka_all.h"
#include "lan.h"

#define GBPS800 UINT64_C(800000000000)
#define PLENTY  100000000

static inline void open_with_room(struct lan *lan, const char *topology)
{
	struct weft_net_conf conf = lan_conf();

	conf.tune.queue_bytes = PLENTY;
	lan_open(lan, topology, GBPS800, conf);
}

static inline struct weft_link_id find(const struct lan *lan, uint32_t tier, uint32_t sw, uint32_t up, bool down)
{
	struct weft_link_id id;

	assert_int_equal(weft_net_link_find(lan->net, tier, sw, up, down, &id), 0);
	return id;
}

static inline void run(struct lan *lan)
{
	assert_true(weft_net_run(lan->net, WEFT_NEVER - 1) == WEFT_NEVER);
}

static inline uint64_t dropped(const struct lan *lan)
{
	struct weft_net_stats s = lan_stats(lan);

	return s.dropped_data + s.dropped_control + s.dropped_down + s.dropped_error + s.dropped_route;
}

/* Nothing is lost without being counted, nor counted twice. */
static inline void check_conserved(const struct lan *lan, uint64_t sent)
{
	assert_int_equal(lan->freed, dropped(lan));
	assert_int_equal(lan_data(lan) + lan->freed, sent);
}

static inline uint64_t spray_all_pairs(struct lan *lan, uint32_t count)
{
	uint32_t hosts = weft_net_hosts(lan->net);
	uint64_t sent = 0;

	for (uint32_t src = 0; src < hosts; src++)
		for (uint32_t dst = 0; dst < hosts; dst++)
			if (src != dst) {
				lan_send(lan, 0,
					 (struct lan_send){.src = src, .dst = dst, .count = count, .spray = true});
				sent += count;
			}
	return sent;
}

static inline void set_cable(struct lan *lan, uint32_t tier, uint32_t sw, uint32_t up, bool works)
{
	for (int down = 0; down < 2; down++) {
		weft_net_link_set_up(lan->net, find(lan, tier, sw, up, down), works);
		weft_net_avoid_link(lan->net, find(lan, tier, sw, up, down), !works);
	}
}

#endif
