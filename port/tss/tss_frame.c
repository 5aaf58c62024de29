/* SPDX-License-Identifier: BSD-3-Clause */
#include "tss_frame.h"

#include <assert.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "wire.h"

enum {
	PROTO_NATIVE = 253, /* UET without UDP */
	ENTROPY_BYTES = 4,
	PORTS_BYTES = 4, /* of the UDP header, or the entropy header */
	PDS_MIN_BYTES = 4,
	V4_PLAIN = 0x45, /* version and length without options */
	V4_SRC_AT = 12,
	V6_SRC_AT = 8,
	SP = 4,
	AN = 1,
};

static bool set_outer(struct tss_frame *f, uint8_t proto, uint32_t ip_bytes, uint32_t total_bytes)
{
	f->native = proto == PROTO_NATIVE;
	f->ip_bytes = (uint16_t)ip_bytes;
	f->clear_bytes = (uint16_t)(ip_bytes + (f->native ? ENTROPY_BYTES : sizeof(struct rte_udp_hdr)));
	f->total_bytes = total_bytes;
	return (proto == IPPROTO_UDP || f->native) && total_bytes > f->clear_bytes;
}

static bool read_v4(struct tss_frame *f)
{
	const struct rte_ipv4_hdr *h = (const struct rte_ipv4_hdr *)f->ip;
	const uint16_t fragment = RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK);

	return h->version_ihl == V4_PLAIN && !(h->fragment_offset & fragment) &&
	       set_outer(f, h->next_proto_id, sizeof *h, rte_be_to_cpu_16(h->total_length));
}

static bool read_v6(struct tss_frame *f)
{
	const struct rte_ipv6_hdr *h = (const struct rte_ipv6_hdr *)f->ip;

	return set_outer(f, h->proto, sizeof *h, (uint32_t)sizeof *h + rte_be_to_cpu_16(h->payload_len));
}

bool tss_frame_read(uint8_t *ip, uint32_t bytes, struct tss_frame *f)
{
	*f = (struct tss_frame){.ip = ip, .v4 = bytes > 0 && ip[0] >> 4 == 4};
	if (f->v4)
		return bytes >= sizeof(struct rte_ipv4_hdr) && read_v4(f) && bytes > f->clear_bytes;
	return bytes >= sizeof(struct rte_ipv6_hdr) && ip[0] >> 4 == 6 && read_v6(f) && bytes > f->clear_bytes;
}

static const struct rte_udp_hdr *udp_of(const struct tss_frame *f)
{
	assert(!f->native);
	return (const struct rte_udp_hdr *)(f->ip + f->ip_bytes);
}

static uint8_t dscp_of(const struct tss_frame *f)
{
	uint8_t tos = f->v4 ? f->ip[1] : (uint8_t)(f->ip[0] << 4 | f->ip[1] >> 4);

	return tos >> 2;
}

static bool says_trimmed(const struct tss_frame *f)
{
	return dscp_of(f) == WIRE_DSCP_TRIMMED || dscp_of(f) == WIRE_DSCP_TRIMMED_LASTHOP;
}

/* What the tag does not cover and no switch changes. A UDP checksum is 0 as UET wants it. */
static bool rest_is_right(const struct tss_frame *f)
{
	if (f->v4 && rte_raw_cksum(f->ip, sizeof(struct rte_ipv4_hdr)) != 0xffff)
		return false;
	return f->native || udp_of(f)->dgram_cksum == 0;
}

/* What is there is `*there` bytes, from the UDP header on; the UDP header's length, or as many where there is none. */
static uint32_t sent_bytes(const struct tss_frame *f, uint32_t *there)
{
	*there = f->total_bytes - f->ip_bytes;
	return f->native ? *there : rte_be_to_cpu_16(udp_of(f)->dgram_len);
}

enum tss_form tss_frame_form(const struct tss_frame *f, uint32_t bytes)
{
	const uint8_t *hdr = f->ip + f->clear_bytes;

	if (hdr[0] >> 3 != WIRE_PDS_TSS)
		return TSS_FORM_CLEAR;
	if (f->total_bytes > bytes || f->total_bytes < (uint32_t)f->clear_bytes + TSS_HDR_BYTES + PDS_MIN_BYTES ||
	    hdr[0] & SP || !rest_is_right(f))
		return TSS_FORM_WRONG;
	/* A switch that trims keeps the length in the UDP header. */
	uint32_t there, sent = sent_bytes(f, &there);
	if (says_trimmed(f) && (f->native || sent > there))
		return TSS_FORM_TRIMMED;
	bool has_room = f->total_bytes >= (uint32_t)f->clear_bytes + TSS_OVERHEAD_BYTES + PDS_MIN_BYTES;
	return sent == there && has_room ? TSS_FORM_SEALED : TSS_FORM_WRONG;
}

uint32_t tss_frame_key_id(const struct tss_frame *f)
{
	const uint8_t *hdr = f->ip + f->clear_bytes;

	return ((uint32_t)hdr[1] << 16 | (uint32_t)hdr[2] << 8 | hdr[3]) << 1 | (hdr[0] & AN);
}

uint64_t tss_frame_number(const struct tss_frame *f)
{
	uint64_t number;

	memcpy(&number, f->ip + f->clear_bytes + 4, sizeof number);
	return rte_be_to_cpu_64(number);
}

void tss_frame_write(const struct tss_frame *f, uint32_t key_id, uint64_t number)
{
	uint8_t *hdr = f->ip + f->clear_bytes;
	uint32_t first = rte_cpu_to_be_32((uint32_t)WIRE_PDS_TSS << 27 | (key_id & AN) << 24 | key_id >> 1);
	uint64_t second = rte_cpu_to_be_64(number);

	memcpy(hdr, &first, sizeof first);
	memcpy(hdr + sizeof first, &second, sizeof second);
}

void tss_frame_src(const struct tss_frame *f, struct weft_ip *src)
{
	*src = weft_ip_v4(0);
	if (f->v4)
		memcpy(src->b + 12, f->ip + V4_SRC_AT, 4);
	else
		memcpy(src->b, f->ip + V6_SRC_AT, sizeof src->b);
}

static uint32_t addresses_bytes(bool v4)
{
	return v4 ? 2 * 4 : 2 * 16;
}

uint32_t tss_aad_bytes(const struct weft_ip *src)
{
	return addresses_bytes(weft_ip_is_v4(src)) + PORTS_BYTES + TSS_HDR_BYTES;
}

void tss_frame_job(const struct tss_frame *f, const uint8_t *mask, struct tss_job *job)
{
	const uint8_t *hdr = f->ip + f->clear_bytes, *src = f->ip + (f->v4 ? V4_SRC_AT : V6_SRC_AT);
	uint32_t n = addresses_bytes(f->v4);

	memcpy(job->aad, src, n);
	memcpy(job->aad + n, f->ip + f->ip_bytes, PORTS_BYTES);
	memcpy(job->aad + n + PORTS_BYTES, hdr, TSS_HDR_BYTES);
	if (f->v4)
		memcpy(job->iv, src, 4);
	else
		memcpy(job->iv, (const uint8_t[]){0, hdr[1], hdr[2], hdr[3]}, 4); /* SDI */
	memcpy(job->iv + 4, hdr + 4, 8);
	for (uint32_t i = 0; i < TSS_IV_BYTES; i++)
		job->iv[i] ^= mask[i];
}

static void length_add(uint8_t *field, int by)
{
	uint16_t length;

	memcpy(&length, field, sizeof length);
	length = rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(length) + by));
	memcpy(field, &length, sizeof length);
}

void tss_frame_resize(struct tss_frame *f, int ip_by, int udp_by)
{
	struct rte_ipv4_hdr *v4 = (struct rte_ipv4_hdr *)f->ip;

	f->total_bytes = (uint32_t)((int)f->total_bytes + ip_by);
	if (!f->native)
		length_add(f->ip + f->ip_bytes + offsetof(struct rte_udp_hdr, dgram_len), udp_by);
	if (f->v4) {
		length_add(f->ip + offsetof(struct rte_ipv4_hdr, total_length), ip_by);
		v4->hdr_checksum = 0;
		v4->hdr_checksum = rte_ipv4_cksum(v4);
	} else {
		length_add(f->ip + offsetof(struct rte_ipv6_hdr, payload_len), ip_by);
	}
}
