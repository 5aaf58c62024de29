/* SPDX-License-Identifier: BSD-3-Clause */
#include "switch_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "weft/ethdev.h"

static uint64_t lost(const struct rtnet_stats *s, const struct weft_ethdev_stats *e)
{
	return s->downlink_full + s->port_dropped + e->rx_missed + e->rx_nombuf + e->rx_bad_checksum;
}

static void print_ports(struct rtnet *rtnet, const struct switch_ports *ports)
{
	printf("%-5s %12s %12s %10s %10s %10s %10s %10s  %-14s %s\n", "port", "received", "sent", "busy", "lost",
	       "unknown", "foreign", "refused", "link", "device");
	for (uint32_t i = 0; i < ports->count; i++) {
		struct rtnet_stats s;
		struct weft_ethdev_stats e;
		struct weft_port_info info;
		weft_net_port_info(rtnet_net(rtnet), rtnet_link(rtnet, i).index, &info);
		rtnet_get_stats(rtnet, i, &s);
		weft_ethdev_stats(ports->port[i], &e);
		printf("%-5u %12" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64
		       " %10" PRIu64 "  %-14s %.*s\n",
		       i, s.rx_pkts, s.tx_pkts, s.uplink_full, lost(&s, &e), s.unknown_dst,
		       s.rx_foreign + e.rx_foreign + e.rx_bad_vlan, s.src_refused, info.name,
		       (int)strcspn(ports->devargs[i], ","), ports->devargs[i]);
	}
}

/* How the packets spread over the cables between switches, and with --as over all of this switch's. */
static void print_cables(const struct weft_net *net, bool as)
{
	for (uint32_t i = 0; i < weft_net_port_count(net); i++) {
		struct weft_port_info info;
		weft_net_port_info(net, i, &info);
		bool between = info.dir == WEFT_PORT_UP || info.dir == WEFT_PORT_DOWN;
		if ((between || (as && info.dir == WEFT_PORT_HOST)) && info.counts.sent_pkts != 0)
			printf("%-14s %12" PRIu64 " packets %14" PRIu64 " bytes %10" PRIu64 " marked %10" PRIu64
			       " trimmed %10" PRIu64 " dropped\n",
			       info.name, info.counts.sent_pkts, info.counts.sent_bytes, info.counts.marked,
			       info.counts.trimmed, info.counts.dropped);
	}
}

void switch_report(struct rtnet *rtnet, const struct switch_ports *ports, bool as, bool credits)
{
	struct weft_net_stats n;
	print_ports(rtnet, ports);
	print_cables(rtnet_net(rtnet), as);
	weft_net_get_stats(rtnet_net(rtnet), &n);
	printf("fabric: %" PRIu64 " hops, %" PRIu64 " marked, %" PRIu64 " trimmed, %" PRIu64 " data and %" PRIu64
	       " control packets dropped, %" PRIu64 " lost on dead links, deepest queue %" PRIu64 " bytes\n",
	       n.hops, n.marked, n.trimmed, n.dropped_data, n.dropped_control, n.dropped_down, n.max_queue_bytes);
	if (credits)
		printf("credit queues: %" PRIu64 " credits, %" PRIu64 " sent, %" PRIu64 " dropped, %" PRIu64
		       " marked\n",
		       n.credits.injected, n.credits.sent, n.credits.dropped, n.credits.marked);
	fflush(stdout);
}
