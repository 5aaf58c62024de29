/* SPDX-License-Identifier: BSD-3-Clause */
/* Where TSS has its place in a packet. The header, 12 bytes, is between the UDP or entropy header and PDS:
 * type 1 in 5 bits, SP (a source id follows; never here), reserved, AN; SDI in 24; the packet's number in 64, of which
 * UET calls the upper 16 the epoch. All is big endian. The tag ends the packet. */
#ifndef TSS_FRAME_H
#define TSS_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "tss_cipher.h"

enum { TSS_HDR_BYTES = 12, TSS_OVERHEAD_BYTES = TSS_HDR_BYTES + TSS_TAG_BYTES, TSS_EPOCH_SHIFT = 48 };

/* A packet whose IP header and UDP or entropy header are there. */
struct tss_frame {
	uint8_t *ip;
	uint16_t ip_bytes;    /* of the IP header */
	uint16_t clear_bytes; /* of the UDP or entropy header, too: what is before the TSS header */
	uint32_t total_bytes; /* of the packet, as the IP header says */
	bool v4, native;
};

/* False: neither UDP nor UET's own IP protocol, options, a fragment, or shorter than its headers. `bytes`: there are at
 * `ip`. */
bool tss_frame_read(uint8_t *ip, uint32_t bytes, struct tss_frame *f);

enum tss_form {
	TSS_FORM_SEALED,
	TSS_FORM_TRIMMED, /* sealed, and what follows the TSS header is cut */
	TSS_FORM_CLEAR,
	TSS_FORM_WRONG,
};

enum tss_form tss_frame_form(const struct tss_frame *f, uint32_t bytes);

/* Of the TSS header. */
uint32_t tss_frame_key_id(const struct tss_frame *f);
uint64_t tss_frame_number(const struct tss_frame *f);
void tss_frame_write(const struct tss_frame *f, uint32_t key_id, uint64_t number);

void tss_frame_src(const struct tss_frame *f, struct weft_ip *src);

/* Bytes of AAD of packets between such addresses. */
uint32_t tss_aad_bytes(const struct weft_ip *src);

/* Fills AAD and IV from the packet, whose TSS header is written. */
void tss_frame_job(const struct tss_frame *f, const uint8_t *mask, struct tss_job *job);

/* Adds to the lengths in the headers, and mends the checksum. */
void tss_frame_resize(struct tss_frame *f, int ip_by, int udp_by);

#endif
