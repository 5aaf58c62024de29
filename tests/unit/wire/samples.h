/* SPDX-License-Identifier: BSD-3-Clause */
/* Sample packets for the wire tests: files in vectors/, and packets around given UET bytes. */
#ifndef WEFT_TEST_WIRE_SAMPLES_H
#define WEFT_TEST_WIRE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

enum { SAMPLES_MAX = 64, PACKET_MAX = 2048 };

/* IP packets without their Ethernet headers, each in its own exactly sized allocation, so that sanitizers see reads
 * beyond it. */
struct samples {
	size_t count;
	struct {
		uint8_t *data;
		size_t len;
	} packets[SAMPLES_MAX];
};

/* Opens a file of vectors/; fails the test when it can't. */
struct _IO_FILE *samples_open(const char *name);

void samples_load(struct samples *s, const char *name);
void samples_free(struct samples *s);

/* Copies to an exactly sized allocation. */
uint8_t *exact_copy(const uint8_t *data, size_t len);

/* Writes an IPv4 (or IPv6) and UDP packet with the given bytes behind UDP to `buf` (PACKET_MAX bytes); its length. */
size_t wrap_uet(bool v4, const uint8_t *uet, size_t len, uint8_t *buf);

/* Where the UET bytes of a packet of ours start. */
size_t uet_offset(const struct wire_net *net);

/* New IP length; the IPv4 checksum follows it. */
void set_ip_length(uint8_t *packet, size_t len);

/* New type of service byte (IPv4 with checksum) or traffic class (IPv6). */
void set_ip_tos(uint8_t *packet, uint8_t tos);

/* The checksum of an IPv4 header, bit by the book: 16-bit words, end-around carry, complement. */
uint16_t ip4_checksum(const uint8_t *packet);

#endif
