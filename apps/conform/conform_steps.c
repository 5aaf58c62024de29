/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps that ask and judge. */
#include "conform_rows.h"

struct uet_pkt conform_part(const struct uet_pkt *whole, uint32_t i, uint32_t mtu)
{
	struct uet_pkt pkt = *whole;
	uint32_t len = (uint32_t)whole->f[UET_REQUEST_LENGTH], at = i * mtu;
	bool last = len - at <= mtu;

	pkt.f[UET_SES_FLAGS] = UET_REL | (i ? 0 : UET_SOM) | (last ? UET_EOM : 0);
	pkt.payload_bytes = last ? len - at : mtu;
	if (i) {
		pkt.f[UET_PAYLOAD_LENGTH] = pkt.payload_bytes;
		pkt.f[UET_MESSAGE_OFFSET] = at;
		pkt.f[UET_PSN] += i;
		if (pkt.f[UET_FLAGS] & UET_SYN)
			pkt.f[UET_DPDCID] += i;
	}
	return pkt;
}

enum conform_result conform_message(struct conform_peer *p, struct conform_pdc *pdc, enum uet_op op, uint32_t id,
				    uint32_t len)
{
	struct uet_pkt whole = conform_request(p, pdc, op, len), last;
	uint32_t mtu = p->target.mtu, packets = len > mtu ? (len + mtu - 1) / mtu : 1;

	whole.f[UET_MESSAGE] = id;
	if (op == UET_WRITE)
		whole.f[UET_MATCH] = p->target.key;
	for (uint32_t i = 0; i + 1 < packets; i++) {
		struct uet_pkt pkt = conform_part(&whole, i, mtu);
		conform_send(p, pdc, &pkt);
	}
	pdc->psn += packets - 1;
	last = conform_part(&whole, packets - 1, mtu);
	if (!conform_ask(p, pdc, &last))
		return CONFORM_SILENT;
	return conform_judge_ack(p, pdc, &last, UET_RC_OK, pdc->psn - 1);
}

enum conform_result conform_close(struct conform_peer *p, struct conform_pdc *pdc)
{
	struct uet_pkt pkt;

	if (!pdc->dpdcid)
		return CONFORM_SILENT;
	pkt = conform_control(p, pdc, UET_CLOSE_CMD);
	if (!conform_ask(p, pdc, &pkt))
		return CONFORM_SILENT;
	return conform_judge_ack(p, pdc, &pkt, UET_RC_OK, (uint32_t)pkt.f[UET_PSN]);
}

enum conform_result conform_done(struct conform_peer *p, struct conform_pdc *pdc, enum conform_result result)
{
	enum conform_result closed = conform_close(p, pdc);
	return result == CONFORM_PASS && closed != CONFORM_PASS ? closed : result;
}

enum conform_result conform_asked(struct conform_peer *p, struct conform_pdc *pdc, struct uet_pkt *pkt, uint32_t rc)
{
	uint32_t psn = (uint32_t)pkt->f[UET_PSN];
	enum conform_result result;

	if (!conform_ask(p, pdc, pkt))
		return CONFORM_SILENT;
	result = conform_judge_ack(p, pdc, pkt, rc, rc == UET_RC_OK ? psn : psn - 1);
	if (p->got.pkt.f[UET_FLAGS] & UET_CLEAR)
		conform_clear(p, pdc);
	return result;
}
