/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

enum { SNAP_BYTES = 256 };

struct capture {
	pcap_t *pcap;
	pcap_dumper_t *dumper;
};

int capture_open(const char *path, struct capture **out, struct weft_err *err)
{
	struct capture *c = calloc(1, sizeof *c);
	if (!c)
		return weft_err_set(err, -ENOMEM, "no memory");
	c->pcap = pcap_open_dead_with_tstamp_precision(DLT_RAW, SNAP_BYTES, PCAP_TSTAMP_PRECISION_NANO);
	c->dumper = c->pcap ? pcap_dump_open(c->pcap, path) : NULL;
	if (!c->dumper) {
		int rc = weft_err_set(err, -EIO, "%s", c->pcap ? pcap_geterr(c->pcap) : "no memory");
		capture_close(c, NULL);
		return rc;
	}
	*out = c;
	return 0;
}

void capture_pkt(struct capture *c, const struct weft_pkt *pkt, weft_ns now)
{
	uint8_t snap[SNAP_BYTES];
	uint32_t head = pkt->head_len < SNAP_BYTES ? pkt->head_len : SNAP_BYTES;
	uint32_t rest = SNAP_BYTES - head < pkt->payload_len ? SNAP_BYTES - head : pkt->payload_len;
	memcpy(snap, pkt->head, head);
	if (pkt->payload)
		memcpy(snap + head, pkt->payload, rest);
	else
		rest = 0;
	uint32_t trailer = pkt->flags & WEFT_PKT_TRAILER ? 4 : 0;
	struct pcap_pkthdr header = {
		.ts = {.tv_sec = (time_t)(now / WEFT_S(1)), .tv_usec = (suseconds_t)(now % WEFT_S(1))},
		.caplen = head + rest,
		.len = (uint32_t)pkt->head_len + pkt->payload_len + trailer,
	};
	pcap_dump((u_char *)c->dumper, &header, snap);
}

int capture_close(struct capture *c, struct weft_err *err)
{
	if (!c)
		return 0;
	int rc = 0;
	if (c->dumper && pcap_dump_flush(c->dumper))
		rc = weft_err_set(err, -EIO, "the capture could not be written whole");
	if (c->dumper)
		pcap_dump_close(c->dumper);
	if (c->pcap)
		pcap_close(c->pcap);
	free(c);
	return rc;
}
