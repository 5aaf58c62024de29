/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_build.h"

#include "wire_fmt.h"

/* Addresses stay in network order; so do the words around them, for one sum over all. */
static inline void put_ip4(uint8_t *ip, const struct wire_net *net, uint8_t proto, uint32_t total)
{
	enum { DF = 0x40 << 16 };
	uint32_t src = raw32(net->src.b + 12), dst = raw32(net->dst.b + 12);
	uint32_t first =
		0x45 | (uint32_t)(net->dscp << 2 | net->ecn) << 8 | (uint32_t)__builtin_bswap16((uint16_t)total) << 16;
	uint32_t ttl_proto = SENT_TTL | (uint32_t)proto << 8;
	uint16_t sum = fold16((uint64_t)first + DF + ttl_proto + src + dst);

	assert(total <= UINT16_MAX);
	put_raw64(ip, (uint64_t)DF << 32 | first);
	put_raw64(ip + 8, (uint64_t)src << 32 | (uint32_t)(uint16_t)~sum << 16 | ttl_proto);
	put_raw32(ip + 16, dst);
}

static inline void put_ip6(uint8_t *ip, const struct wire_net *net, uint8_t proto, uint32_t bytes)
{
	assert(bytes <= UINT16_MAX);
	store64(ip, UINT64_C(6) << 60 | (uint64_t)(net->dscp << 2 | net->ecn) << 52 | (uint64_t)bytes << 16 |
			    (uint64_t)proto << 8 | SENT_TTL);
	memcpy(ip + IP6_SRC_AT, net->src.b, sizeof net->src.b);
	memcpy(ip + IP6_SRC_AT + sizeof net->src.b, net->dst.b, sizeof net->dst.b);
}

void wire_build_net(uint8_t *ip, const struct wire_net *net, uint32_t bytes)
{
	bool v4 = weft_ip_is_v4(&net->src);
	uint8_t proto = net->native ? IP_PROTO_NATIVE : IP_PROTO_UDP, *l4 = ip + (v4 ? IP4_BYTES : IP6_BYTES);
	uint32_t l4_bytes = bytes + (net->native ? ENTROPY_BYTES : UDP_BYTES) + CRC_BYTES * net->crc;

	assert(v4 == weft_ip_is_v4(&net->dst) && net->dscp < 64 && net->ecn < 4 && net->crc < 2 &&
	       (!net->native || !net->dst_port));
	if (v4)
		put_ip4(ip, net, proto, l4_bytes + IP4_BYTES);
	else
		put_ip6(ip, net, proto, l4_bytes);
	if (net->native)
		store32(l4, (uint32_t)net->entropy << 16);
	else
		store64(l4, (uint64_t)net->entropy << 48 | (uint64_t)net->dst_port << 32 | (uint64_t)l4_bytes << 16);
}

uint8_t *wire_build_control(uint8_t *pds, const struct wire_control *c)
{
	struct wire_cp *cp = (struct wire_cp *)pds;
	uint8_t *end = wire_build_pds(pds, WIRE_PDS_CP, c->ctl, c->flags);

	assert(!(c->flags & WIRE_F_SYN) || !c->dpdcid);
	wire_hdr_set_opaque(&cp->hdr, c->opaque);
	wire_hdr_set_psn(&cp->hdr, c->psn);
	wire_hdr_set_spdcid(&cp->hdr, c->spdcid);
	wire_hdr_set_dpdcid(&cp->hdr, c->dpdcid);
	wire_cp_set_payload(cp, c->payload);
	return end;
}

void wire_aim_ack(uint8_t *template, const struct weft_ip *dst)
{
	assert(weft_ip_is_v4(dst));
	put_raw32(template + IP4_DST_AT, raw32(dst->b + 12));
	store16(template + IP4_SUM_AT, 0);
	store16(template + IP4_SUM_AT, __builtin_bswap16((uint16_t)~ip4_sum(template)));
}
