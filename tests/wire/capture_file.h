/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures and vectors, as IP packets. */
#ifndef WEFT_TEST_CAPTURE_FILE_H
#define WEFT_TEST_CAPTURE_FILE_H

#include "uet.h"

enum { CAPTURE_MAX = 128 };

struct capture_packet {
	uint8_t *ip;
	size_t len;
	bool uet;               /* between two hosts, native or over UDP; the fields below are valid */
	bool from_first;        /* from 10.99.0.1, in captures/ */
	struct uet_frame frame; /* points into `ip` */
};

struct capture {
	uint32_t count;
	struct capture_packet packets[CAPTURE_MAX];
};

/* Reads a pcap file of Ethernet frames; those of vectors/ begin with "vectors/". Packets are read as if they had a
 * trailer. Fails the test when there is none. */
void capture_load(struct capture *c, const char *name);
void capture_free(struct capture *c);

#endif
