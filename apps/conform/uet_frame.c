/* SPDX-License-Identifier: BSD-3-Clause */
/* IP, UDP or the entropy header, and the trailer. */
#include "uet.h"

#include <string.h>

enum {
	IP4_BYTES = 20,
	IP6_BYTES = 40,
	IP4_ADDRESSES = 12,
	IP6_ADDRESSES = 8,
	UDP_BYTES = 8,
	ENTROPY_BYTES = 4,
	CRC_BYTES = 4,
	IP_UDP = 17,
	TTL = 64,
};

static void put16(uint8_t *out, uint32_t value)
{
	out[0] = (uint8_t)(value >> 8);
	out[1] = (uint8_t)value;
}

static uint16_t get16(const uint8_t *in)
{
	return (uint16_t)(in[0] << 8 | in[1]);
}

uint32_t uet_crc(const uint8_t *bytes, size_t len)
{
	uint32_t crc = UINT32_MAX;
	for (size_t i = 0; i < len; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
	}
	return ~crc;
}

static void put_crc(uint8_t *ip, size_t from, size_t end)
{
	uint32_t crc = uet_crc(ip + from, end - from);
	put16(ip + end, crc >> 16);
	put16(ip + end + 2, crc & 0xffff);
}

static void put_ip4(const struct uet_link *link, uint8_t protocol, uint8_t tos, size_t len, uint8_t *ip)
{
	uint32_t sum = 0;

	memset(ip, 0, IP4_BYTES);
	ip[0] = 0x45;
	ip[1] = tos;
	put16(ip + 2, (uint32_t)len);
	ip[6] = 0x40; /* do not fragment */
	ip[8] = TTL;
	ip[9] = protocol;
	memcpy(ip + IP4_ADDRESSES, link->local, 4);
	memcpy(ip + IP4_ADDRESSES + 4, link->remote, 4);
	for (int i = 0; i < IP4_BYTES; i += 2)
		sum += get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~(sum + (sum >> 16)) & 0xffff);
}

static void put_ip6(const struct uet_link *link, uint8_t protocol, uint8_t tos, size_t len, uint8_t *ip)
{
	memset(ip, 0, IP6_BYTES);
	put16(ip, 0x6000u | (uint32_t)tos << 4);
	put16(ip + 4, (uint32_t)len - IP6_BYTES);
	ip[6] = protocol;
	ip[7] = TTL;
	memcpy(ip + IP6_ADDRESSES, link->local, 16);
	memcpy(ip + IP6_ADDRESSES + 16, link->remote, 16);
}

size_t uet_wrap(const struct uet_link *link, uint16_t entropy, uint8_t tos, const struct uet_pkt *pkt, uint8_t *ip)
{
	size_t ip_bytes = link->v6 ? IP6_BYTES : IP4_BYTES, l4 = link->encap == UET_UDP ? UDP_BYTES : ENTROPY_BYTES;
	uint8_t protocol = link->encap == UET_UDP ? IP_UDP : UET_PROTOCOL, *at = ip + ip_bytes;
	size_t uet = uet_write(pkt, at + l4);
	uet -= link->cut < uet ? link->cut : 0;
	size_t end = ip_bytes + l4 + uet, all = end + (link->crc ? CRC_BYTES : 0);

	if (!uet)
		return 0;
	memset(at, 0, l4);
	put16(at, entropy);
	if (link->encap == UET_UDP) {
		put16(at + 2, link->udp_port);
		put16(at + 4, (uint32_t)(all - ip_bytes));
	}
	if (link->v6)
		put_ip6(link, protocol, tos, all, ip);
	else
		put_ip4(link, protocol, tos, all, ip);
	if (link->crc)
		put_crc(ip, link->v6 ? IP6_ADDRESSES : IP4_ADDRESSES, end);
	return all;
}

/* Bytes of the IP packet if it goes from remote to local and all is there, else 0. */
static size_t ip_length(const struct uet_link *link, const uint8_t *ip, size_t len)
{
	size_t header = link->v6 ? IP6_BYTES : IP4_BYTES, address = link->v6 ? 16 : 4;

	if (len < header || ip[0] >> 4 != (link->v6 ? 6 : 4) || (!link->v6 && (ip[0] & 15) != 5))
		return 0;
	const uint8_t *from = ip + (link->v6 ? IP6_ADDRESSES : IP4_ADDRESSES);
	if (memcmp(from, link->remote, address) != 0 || memcmp(from + address, link->local, address) != 0)
		return 0;
	size_t all = link->v6 ? IP6_BYTES + (size_t)get16(ip + 4) : get16(ip + 2);
	return all <= len && all >= header ? all : 0;
}

/* An answer to a known port is read, too, though another one was chosen: who judges it says so. */
static bool is_ours(const struct uet_link *link, uint16_t udp_port)
{
	return udp_port == link->udp_port || udp_port == UET_PORT || udp_port == UET_PORT_OLD;
}

static bool read_l4(const struct uet_link *link, uint8_t protocol, const uint8_t *l4, size_t len,
		    struct uet_frame *frame)
{
	frame->encap = protocol == IP_UDP ? UET_UDP : UET_NATIVE;
	if (protocol != IP_UDP && protocol != UET_PROTOCOL)
		return false;
	if (len < (frame->encap == UET_UDP ? UDP_BYTES : ENTROPY_BYTES))
		return false;
	frame->entropy = get16(l4);
	if (frame->encap == UET_NATIVE)
		return get16(l4 + 2) == 0;
	frame->udp_port = get16(l4 + 2);
	frame->udp_checksum = get16(l4 + 6);
	return get16(l4 + 4) == len && is_ours(link, frame->udp_port);
}

bool uet_unwrap(const struct uet_link *link, const uint8_t *ip, size_t len, struct uet_frame *frame)
{
	size_t all = ip_length(link, ip, len), header = link->v6 ? IP6_BYTES : IP4_BYTES;

	*frame = (struct uet_frame){.crc_ok = true};
	if (!all || !read_l4(link, ip[link->v6 ? 6 : 9], ip + header, all - header, frame))
		return false;
	frame->tos = link->v6 ? (uint8_t)(get16(ip) >> 4) : ip[1];
	size_t at = header + (frame->encap == UET_UDP ? UDP_BYTES : ENTROPY_BYTES);
	size_t from = link->v6 ? IP6_ADDRESSES : IP4_ADDRESSES, trailer = link->crc ? CRC_BYTES : 0;
	if (all < at + trailer)
		return false;
	size_t end = all - trailer;
	if (trailer) {
		uint32_t crc = uet_crc(ip + from, end - from);
		frame->crc_ok = get16(ip + end) == crc >> 16 && get16(ip + end + 2) == (crc & 0xffff);
	}
	if (!uet_read(ip + at, end - at, &frame->pkt))
		return false;
	frame->reserved_clear = uet_reserved_clear(&frame->pkt, ip + at);
	return true;
}
