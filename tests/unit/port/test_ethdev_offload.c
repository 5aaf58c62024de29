/* SPDX-License-Identifier: BSD-3-Clause */
/* Each offload on and off: what arrives is the same. Files of packets stand for the wire, interfaces of the kernel
 * for NICs. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_mempool.h>

#include "ethdev_fixture.h"
#include "netns.h"

enum {
	US = 0x0a000001,
	PEER = 0x0a000002,
	FRAMES = 40,
	JUMBO = 8900, /* payload */
	PATIENCE_MS = 20000,
	FILE_HEAD = 24,   /* of a pcap file */
	RECORD_HEAD = 16, /* of a packet in it: seconds, microseconds, bytes there, bytes sent */
};

static uint8_t pattern[16384];
static bool has_netns;
static char dir[] = "/tmp/weft-offload-XXXXXX";

/* A file of packets without any, to receive from. */
static bool empty_file(const char *path)
{
	static const uint32_t head[FILE_HEAD / 4] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, 1};
	FILE *f = fopen(path, "w");
	bool written = f != NULL && fwrite(head, sizeof head, 1, f) == 1;
	return f != NULL && fclose(f) == 0 && written;
}

static int setup(void **state)
{
	char path[64];
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (uint8_t)(i * 7 + (i >> 8));
	if (mkdtemp(dir) == NULL)
		return -1;
	has_netns = netns_enter(); /* before there are threads, which would hinder users */
	snprintf(path, sizeof path, "%s/none.pcap", dir);
	return empty_file(path) ? fixture_eal(state) : -1;
}

static int teardown(void **state)
{
	static const char *const files[] = {"none.pcap", "0.pcap", "1.pcap"};
	char path[64];
	for (size_t i = 0; i < RTE_DIM(files); i++) {
		snprintf(path, sizeof path, "%s/%s", dir, files[i]);
		unlink(path);
	}
	return rmdir(dir);
}

static struct weft_port *open_conf(const struct weft_ethdev_conf *conf)
{
	struct weft_port *port = NULL;
	struct weft_err err;
	if (weft_ethdev_open(conf, &port, &err) != 0)
		fail_msg("%s", err.msg);
	return port;
}

static struct weft_ethdev_stats stats_of(const struct weft_port *port)
{
	struct weft_ethdev_stats stats;
	weft_ethdev_stats(port, &stats);
	return stats;
}

/* Lengths from small to jumbo, those around the border of copying among them. */
static uint16_t length(unsigned i)
{
	static const uint16_t around[] = {1, 512, 511, 513, JUMBO, 1500};
	return i < RTE_DIM(around) ? around[i] : (uint16_t)(i * 211 % JUMBO);
}

/* Sends FRAMES packets to PEER into the file. */
static struct weft_ethdev_stats file_write(unsigned file, uint32_t offloads_off, uint32_t offloads)
{
	char dev[128];
	snprintf(dev, sizeof dev, "net_pcap_tx%u,rx_pcap=%s/none.pcap,tx_pcap=%s/%u.pcap", file, dir, dir, file);
	struct weft_ethdev_conf conf = {
		.dev = dev, .ip = weft_ip_v4(US), .no_arp = 1, .pool_pkts = 255, .offloads_off = offloads_off};
	struct weft_port *port = open_conf(&conf);
	assert_int_equal(weft_ethdev_offloads(port), offloads);
	for (unsigned i = 0; i < FRAMES; i++) {
		struct weft_pkt *pkt = fixture_pkt(port, PEER, pattern + i, length(i));
		assert_int_equal(port->ops->tx(port, &pkt, 1), 1);
	}
	assert_int_equal(rte_mempool_in_use_count(to_ethdev(port)->pool), 0);
	struct weft_ethdev_stats stats = stats_of(port);
	port->ops->close(port);
	return stats;
}

static uint8_t *file_read(unsigned file, size_t *bytes)
{
	char path[64];
	snprintf(path, sizeof path, "%s/%u.pcap", dir, file);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	uint8_t *content = malloc(1 << 20);
	*bytes = fread(content, 1, 1 << 20, f);
	fclose(f);
	/* All but the times. */
	for (size_t at = FILE_HEAD; at + RECORD_HEAD <= *bytes;) {
		uint32_t caplen;
		memset(content + at, 0, 8);
		memcpy(&caplen, content + at + 8, sizeof caplen);
		at += RECORD_HEAD + caplen;
	}
	return content;
}

static void tx_segments__the_wire_sees_no_difference(void **state)
{
	size_t bytes, bytes_off;
	struct weft_ethdev_stats on = file_write(0, 0, WEFT_OFFLOAD_TX_SEGMENTS);
	struct weft_ethdev_stats off = file_write(1, WEFT_OFFLOAD_TX_SEGMENTS, 0);
	uint8_t *with = file_read(0, &bytes), *without = file_read(1, &bytes_off);
	assert_int_equal(bytes, bytes_off);
	assert_true(bytes > (size_t)FRAMES * (RECORD_HEAD + 42));
	assert_memory_equal(with, without, bytes);
	unsigned large = 0;
	for (unsigned i = 0; i < FRAMES; i++)
		large += length(i) >= 512;
	assert_int_equal(on.tx_segments, large);
	assert_int_equal(off.tx_segments, 0);
	assert_int_equal(on.tx_pkts, FRAMES);
	assert_int_equal(on.tx_bytes, off.tx_bytes);
	free(with);
	free(without);
}

/* Receives what file_write sent. */
static void file_receive(uint32_t rx_buffer_bytes, bool expect_joined)
{
	static unsigned serial;
	char dev[128];
	unsigned got = 0, joined = 0;
	struct weft_pkt *pkts[8];
	snprintf(dev, sizeof dev, "net_pcap_rx%u,rx_pcap=%s/0.pcap", serial++, dir);
	struct weft_ethdev_conf conf = {
		.dev = dev, .ip = weft_ip_v4(PEER), .no_arp = 1, .pool_pkts = 255, .rx_buffer_bytes = rx_buffer_bytes};
	struct weft_port *port = open_conf(&conf);
	assert_int_equal((weft_ethdev_offloads(port) & WEFT_OFFLOAD_RX_SEGMENTS) != 0, rx_buffer_bytes != 0);
	while (got < FRAMES) {
		uint16_t n = port->ops->rx(port, pkts, 8);
		assert_true(n > 0);
		for (uint16_t i = 0; i < n; i++, got++) {
			assert_int_equal(pkts[i]->head_len, 28 + length(got));
			assert_int_equal(pkts[i]->payload_len, 0);
			assert_memory_equal(pkts[i]->head + 28, pattern + got, length(got));
			joined += 42u + length(got) > rx_buffer_bytes;
		}
		port->ops->free(port, pkts, n);
	}
	struct weft_ethdev_stats stats = stats_of(port);
	assert_int_equal(stats.rx_joined, expect_joined ? joined : 0);
	assert_int_equal(stats.rx_pkts, FRAMES);
	assert_int_equal(stats.rx_nombuf, 0);
	assert_int_equal(rte_mempool_in_use_count(to_ethdev(port)->pool), 0);
	port->ops->close(port);
}

static void rx_segments__frames_are_whole(void **state)
{
	file_write(0, 0, WEFT_OFFLOAD_TX_SEGMENTS);
	file_receive(0, false);
	file_receive(2048, true);
	file_receive(256, true);
}

/* A vhost-user server cannot receive in pieces; a ring could, but shall not. */
static void rx_segments__refused_by_name(void **state)
{
	char dev[128];
	snprintf(dev, sizeof dev, "net_vhost_seg,iface=%s/s", dir);
	struct weft_ethdev_conf conf = {.dev = dev, .ip = weft_ip_v4(US), .rx_buffer_bytes = 2048};
	struct weft_port *sw, *port;
	struct weft_err err = {""};
	assert_int_equal(weft_ethdev_open(&conf, &port, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "net_vhost_seg"));
	assert_non_null(strstr(err.msg, "receive buffers of 2048 bytes"));
	conf.dev = "seg";
	conf.offloads_off = WEFT_OFFLOAD_RX_SEGMENTS;
	assert_int_equal(weft_ethdev_ring_pair("seg", 64, &sw, &err), 0);
	assert_int_equal(weft_ethdev_open(&conf, &port, &err), -EINVAL);
	conf.offloads_off = 0;
	conf.rx_buffer_bytes = 100;
	assert_int_equal(weft_ethdev_open(&conf, &port, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "256"));
	sw->ops->close(sw);
}

static void offload_names__in_words(void **state)
{
	char text[64];
	weft_ethdev_offload_names(0, text, sizeof text);
	assert_string_equal(text, "");
	weft_ethdev_offload_names(WEFT_OFFLOAD_TX_SEGMENTS | WEFT_OFFLOAD_RX_INTERRUPT, text, sizeof text);
	assert_string_equal(text, "tx_segments rx_interrupt");
	weft_ethdev_offload_names(~0u, text, sizeof text);
	assert_string_equal(text, "tx_segments rx_segments rx_checksum rx_interrupt");
	weft_ethdev_offload_names(~0u, text, 8);
	assert_string_equal(text, "tx_segm");
}

/* A packet socket: what it sends, the port on `iface` receives. */
static int wire_open(const char *iface)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
	to.sll_ifindex = (int)if_nametoindex(iface);
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof to) == 0);
	return fd;
}

/* An IPv4 header, and UDP to UET's port; `sum` is the former's checksum. */
static void wire_send(int fd, const struct rte_ether_addr *dst, uint16_t sum)
{
	uint8_t frame[60] = {[12] = 8, [14] = 0x45, [17] = 46, [22] = 64,   [23] = 17,  [26] = 10,
			     [29] = 2, [30] = 10,   [33] = 1,  [36] = 0x12, [37] = 0xb9};
	memcpy(frame, dst, sizeof *dst);
	frame[6] = 2;
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
	assert_int_equal(write(fd, frame, sizeof frame), sizeof frame);
}

enum { HEADER_SUM = 0x66bd }; /* of the header above */

/* Packets that come until `want` are there or dropped. */
static unsigned receive(struct weft_port *port, unsigned want)
{
	unsigned got = 0;
	struct weft_pkt *pkt;
	weft_ns end = weft_clock_ns() + WEFT_MS(PATIENCE_MS);
	while (got + stats_of(port).rx_bad_checksum < want && weft_clock_ns() < end)
		if (port->ops->rx(port, &pkt, 1) == 1) {
			port->ops->free(port, &pkt, 1);
			got++;
		}
	return got;
}

/* What is wrong is dropped by the port, or given to the engine, which checks it anyway. */
static void checksum_case(uint32_t offloads_off, bool checks)
{
	struct weft_ethdev_conf conf = {
		.dev = "net_tap0,iface=offtap", .ip = weft_ip_v4(US), .no_arp = 1, .pool_pkts = 255};
	conf.offloads_off = offloads_off;
	struct weft_port *port = open_conf(&conf);
	assert_int_equal((weft_ethdev_offloads(port) & WEFT_OFFLOAD_RX_CHECKSUM) != 0, checks);
	int fd = wire_open("offtap");
	struct rte_ether_addr mac = to_ethdev(port)->mac;
	for (int i = 0; i < 3; i++)
		wire_send(fd, &mac, HEADER_SUM);
	wire_send(fd, &mac, HEADER_SUM ^ 1);
	assert_int_equal(receive(port, 4), checks ? 3 : 4);
	assert_int_equal(stats_of(port).rx_bad_checksum, checks);
	close(fd);
	port->ops->close(port);
}

static void rx_checksum__wrong_headers_are_dropped(void **state)
{
	if (access("/dev/net/tun", R_OK | W_OK) != 0 || !has_netns) {
		skip();
		return;
	}
	checksum_case(0, true);
	checksum_case(WEFT_OFFLOAD_RX_CHECKSUM, false);
}

/* A packet makes the descriptor readable, and receiving it makes it quiet again. */
static void interrupt_case(const char *dev, const char *iface)
{
	struct weft_ethdev_conf conf = {.dev = dev, .ip = weft_ip_v4(US), .no_arp = 1, .pool_pkts = 255};
	struct weft_port *port = open_conf(&conf);
	assert_true(weft_ethdev_offloads(port) & WEFT_OFFLOAD_RX_INTERRUPT);
	int wire = wire_open(iface), fd = weft_ethdev_rx_fd(port);
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	assert_true(fd >= 0);
	struct rte_ether_addr mac = to_ethdev(port)->mac;
	for (int i = 0; i < 3; i++) {
		struct weft_pkt *pkt;
		while (port->ops->rx(port, &pkt, 1) == 1) /* what the kernel says by itself */
			port->ops->free(port, &pkt, 1);
		weft_ethdev_sleep(&port, 1, 0);
		weft_ethdev_arm(&port, 1);
		wire_send(wire, &mac, HEADER_SUM);
		assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
		assert_int_equal(receive(port, 1), 1);
	}
	close(wire);
	port->ops->close(port);
	conf.offloads_off = WEFT_OFFLOAD_RX_INTERRUPT;
	port = open_conf(&conf);
	assert_int_equal(weft_ethdev_rx_fd(port), -1);
	assert_false(weft_ethdev_offloads(port) & WEFT_OFFLOAD_RX_INTERRUPT);
	port->ops->close(port);
}

static void rx_interrupt__interfaces_of_the_kernel(void **state)
{
	if (!has_netns || !ip_run("link add off0 type veth peer name off1") || !ip_run("link set off0 up") ||
	    !ip_run("link set off1 up")) {
		skip();
		return;
	}
	interrupt_case("off0", "off1");
	interrupt_case("net_pcap_if,iface=off0", "off1");
}

static void rx_interrupt__tap(void **state)
{
	if (access("/dev/net/tun", R_OK | W_OK) != 0 || !has_netns) {
		skip();
		return;
	}
	interrupt_case("net_tap1,iface=offtap", "offtap");
}

/* A ring has none: asking for it does no harm. */
static void rx_interrupt__asked_for_in_vain(void **state)
{
	struct weft_ethdev_conf conf = {.dev = "intr", .ip = weft_ip_v4(US), .rx_interrupt = 1};
	struct weft_port *sw, *port;
	struct weft_err err;
	assert_int_equal(weft_ethdev_ring_pair("intr", 64, &sw, &err), 0);
	port = open_conf(&conf);
	assert_int_equal(weft_ethdev_offloads(port), 0);
	assert_int_equal(weft_ethdev_rx_fd(port), -1);
	port->ops->close(port);
	sw->ops->close(sw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tx_segments__the_wire_sees_no_difference),
		cmocka_unit_test(rx_segments__frames_are_whole),
		cmocka_unit_test(rx_segments__refused_by_name),
		cmocka_unit_test(offload_names__in_words),
		cmocka_unit_test(rx_checksum__wrong_headers_are_dropped),
		cmocka_unit_test(rx_interrupt__interfaces_of_the_kernel),
		cmocka_unit_test(rx_interrupt__tap),
		cmocka_unit_test(rx_interrupt__asked_for_in_vain),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
