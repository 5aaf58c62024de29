/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of a DPDK port. One list makes the struct, the names and the help. */
#ifndef WEFT_ETHDEV_STATS_H
#define WEFT_ETHDEV_STATS_H

#include <stdint.h>

#include "weft/decl.h"
#include "weft/stats.h"

WEFT_BEGIN_DECLS

/* Names differ from those of WEFT_COUNTERS, so that both fit one table. Bytes are those of Ethernet frames without FCS;
 * "arp" is IPv4's ARP and IPv6's neighbour discovery together. */
#define WEFT_PORT_COUNTERS(X)                                                                                          \
	X(rx_pkts, "packets given to the engine")                                                                      \
	X(rx_bytes, "their bytes")                                                                                     \
	X(tx_pkts, "packets the device took; not those sent after their neighbour answered")                           \
	X(tx_bytes, "their bytes")                                                                                     \
	X(tx_ring_full, "packets the device did not take at once")                                                     \
	X(tx_link_down, "dropped: packets sent while the link was down")                                               \
	X(link_downs, "times the link went down")                                                                      \
	X(link_resets, "times the device was set up anew: its driver asked, or a socket was lost")                     \
	X(link_reset_failed, "attempts at that which failed; each is repeated")                                        \
	X(tx_oversize, "dropped: packets larger than the port carries")                                                \
	X(rx_foreign, "dropped: frames that are neither ours nor ARP or neighbour discovery")                          \
	X(rx_nombuf, "lost: frames without a free buffer for a copy, or in the device, whichever engine's")            \
	X(rx_missed, "lost: frames that found a receive ring of the device full, whichever engine's")                  \
	X(rx_handed_over, "frames found, or sent, for other engines of the device and given to them")                  \
	X(rx_taken_over, "frames that other engines of the device gave to this one")                                   \
	X(rx_handover_full, "dropped: frames for another engine of the device that has too many waiting")              \
	X(arp_sent, "requests for neighbours' MAC addresses sent, repetitions included")                               \
	X(arp_answered, "requests of others for our MAC address answered")                                             \
	X(arp_unsent, "requests and answers that found no buffer or no room in the device")                            \
	X(arp_pending_dropped, "dropped: packets for neighbours that did not answer, or too many waiting for one")     \
	X(arp_failed, "neighbours that stopped answering, or never did")                                               \
	X(arp_moved, "neighbours that have another MAC address now")                                                   \
	X(arp_conflicts, "claims to a neighbour's address that the neighbour denied by answering itself")              \
	X(arp_evicted, "unused neighbours forgotten to make room for others")                                          \
	X(arp_table_full, "neighbours that found no room")                                                             \
	X(tx_no_route, "dropped: packets to where no route leads")                                                     \
	X(route_changes, "times the routes were set up anew")                                                          \
	X(rx_bad_vlan, "dropped: frames of another VLAN than ours, or of none")                                        \
	X(tx_no_headroom, "not sent: frames without room for a VLAN tag")                                              \
	X(tx_segments, "payloads that the driver copied from where the sender has them")                               \
	X(rx_joined, "frames that came in several buffers and were copied into one")                                   \
	X(rx_bad_checksum, "dropped: IPv4 headers that the device found to be wrong")                                  \
	X(shm_copied, "packets copied into shared buffers, as they came from a port without")                          \
	X(shm_wakes, "times the other side of shared buffers was woken")                                               \
	X(shm_refused, "times the other side of shared buffers named one that it did not have: it was disconnected")   \
	X(shm_reclaimed, "shared buffers taken back from who was connected no longer")

/* Since the port was opened; they never fall. What the device itself lost (rx_nombuf, rx_missed) is counted since its
 * first port was opened, and is in those of all its ports. */
struct weft_ethdev_stats {
#define WEFT_COUNTER_FIELD(name, help) uint64_t name;
	WEFT_PORT_COUNTERS(WEFT_COUNTER_FIELD)
#undef WEFT_COUNTER_FIELD
};

enum { WEFT_PORT_COUNTER_COUNT = sizeof(struct weft_ethdev_stats) / sizeof(uint64_t) };

/* In struct order; WEFT_PORT_COUNTER_COUNT entries, whose offsets are those in struct weft_ethdev_stats. */
extern const struct weft_counter_desc weft_port_counter_descs[];

/* The counter that weft_port_counter_descs[i] describes; `i` is below WEFT_PORT_COUNTER_COUNT. */
uint64_t weft_ethdev_stats_value(const struct weft_ethdev_stats *stats, int i);

WEFT_END_DECLS

#endif
