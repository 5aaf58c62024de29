/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"

static void capture__writes_what_pcap_reads(void **state)
{
	char name[] = "/tmp/weft-pcap-XXXXXX", why[PCAP_ERRBUF_SIZE];
	close(mkstemp(name));
	uint8_t head[40], payload[4096];
	memset(head, 0x45, sizeof head);
	memset(payload, 0xab, sizeof payload);
	struct weft_pkt pkts[] = {
		{.head = head, .head_len = 40, .payload = payload, .payload_len = 4096, .flags = WEFT_PKT_TRAILER},
		{.head = head, .head_len = 40, .payload_len = 100},
	};
	struct capture *c;
	assert_int_equal(capture_open(name, &c, NULL), 0);
	assert_int_equal(capture_port(c, "host0", 0), 0);
	assert_int_equal(capture_port(c, "leaf0:up1", UINT64_C(800000000000)), 1);
	capture_pkt(c, 0, CAPTURE_OUT, &pkts[0], WEFT_S(2) + 123456789, "marked");
	capture_pkt(c, 1, CAPTURE_IN, &pkts[1], WEFT_S(3), NULL);
	assert_int_equal(capture_close(c, NULL), 0);

	pcap_t *in = pcap_open_offline_with_tstamp_precision(name, PCAP_TSTAMP_PRECISION_NANO, why);
	assert_non_null(in);
	assert_int_equal(pcap_datalink(in), DLT_IPV4);
	struct pcap_pkthdr *h;
	const u_char *bytes;
	assert_int_equal(pcap_next_ex(in, &h, &bytes), 1);
	assert_int_equal(h->ts.tv_sec, 2);
	assert_int_equal(h->ts.tv_usec, 123456789);
	assert_int_equal(h->len, 4140);
	assert_int_equal(h->caplen, 256);
	assert_memory_equal(bytes, head, 40);
	assert_int_equal(bytes[255], 0xab);
	assert_int_equal(pcap_next_ex(in, &h, &bytes), 1);
	assert_int_equal(h->len, 140);
	assert_int_equal(h->caplen, 40);
	assert_int_equal(pcap_next_ex(in, &h, &bytes), -2);
	pcap_close(in);
	unlink(name);
}

/* The trailer is the last that goes over the wire; a packet that fits is recorded with it. */
static void capture_pkt__keeps_a_short_packet_whole(void **state)
{
	char name[] = "/tmp/weft-pcap-XXXXXX", why[PCAP_ERRBUF_SIZE];
	close(mkstemp(name));
	uint8_t head[41] = {0x45}, payload[13];
	memset(payload, 0xcd, sizeof payload);
	struct weft_pkt pkt = {.head = head,
			       .head_len = 41,
			       .payload = payload,
			       .payload_len = 13,
			       .flags = WEFT_PKT_TRAILER,
			       .trailer = 0x04030201};
	struct capture *c;
	assert_int_equal(capture_open(name, &c, NULL), 0);
	capture_port(c, "host0", 0);
	capture_pkt(c, 0, CAPTURE_IN, &pkt, 7, NULL);
	assert_int_equal(capture_close(c, NULL), 0);

	pcap_t *in = pcap_open_offline(name, why);
	struct pcap_pkthdr *h;
	const u_char *bytes;
	assert_non_null(in);
	assert_int_equal(pcap_next_ex(in, &h, &bytes), 1);
	assert_int_equal(h->caplen, 58);
	assert_int_equal(h->len, 58);
	assert_int_equal(bytes[53], 0xcd);
	assert_memory_equal(bytes + 54, ((uint8_t[]){1, 2, 3, 4}), 4);
	pcap_close(in);
	unlink(name);
}

static void capture_open__names_the_file(void **state)
{
	struct capture *c = NULL;
	struct weft_err err = {""};
	assert_int_equal(capture_open("/nonexistent/x.pcap", &c, &err), -EIO);
	assert_non_null(strstr(err.msg, "/nonexistent/x.pcap"));
}

static void capture_close__notices_a_full_disk(void **state)
{
	struct capture *c = NULL;
	struct weft_err err = {""};
	uint8_t head[40] = {0x45};
	struct weft_pkt pkt = {.head = head, .head_len = 40};
	assert_int_equal(capture_open("/dev/full", &c, &err), 0);
	capture_port(c, "host0", 0);
	capture_pkt(c, 0, CAPTURE_OUT, &pkt, 0, NULL);
	assert_int_equal(capture_close(c, &err), -EIO);
	assert_int_equal(capture_close(NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capture__writes_what_pcap_reads),
		cmocka_unit_test(capture_pkt__keeps_a_short_packet_whole),
		cmocka_unit_test(capture_open__names_the_file),
		cmocka_unit_test(capture_close__notices_a_full_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
