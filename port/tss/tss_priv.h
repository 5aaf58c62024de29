/* SPDX-License-Identifier: BSD-3-Clause */
/* The port that seals and opens. */
#ifndef TSS_PRIV_H
#define TSS_PRIV_H

#include "tss_retired.h"
#include "tss_sources.h"
#include "weft/tss.h"

/* What seals our packets in an epoch. */
struct tss_sealer {
	void *session; /* NULL: none yet */
	struct tss_material material;
	uint16_t epoch;
};

struct tss_port {
	struct weft_port port; /* first: ops get a pointer to it */
	struct weft_port *inner;
	struct tss_cipher *cipher;
	struct weft_tss_keys keys;
	struct weft_ip ip; /* that packets are sent from */
	struct tss_sealer sealer;
	uint64_t number; /* of the next packet sent; UINT64_MAX is never used */
	struct tss_sources sources;
	struct tss_retired retired;
	struct weft_tss_stats stats;
	struct weft_pkt *held[TSS_BURST]; /* sealed, not taken by the port below */
	uint16_t held_n;
};

/* The key with this id, or NULL. */
static inline const struct weft_tss_key *tss_key_of(const struct weft_tss_keys *keys, uint32_t id)
{
	for (uint32_t i = 0; i < keys->count; i++)
		if (keys->key[i].id == id)
			return &keys->key[i];
	return NULL;
}

uint16_t tss_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);
/* Gives held packets to the port below. True: none is left. */
bool tss_tx_held(struct tss_port *t);
/* What seals with `key` in `epoch`; false: no memory. */
bool tss_sealer_make(struct tss_port *t, const struct weft_tss_key *key, uint16_t epoch, struct tss_sealer *out);
void tss_sealer_drop(struct tss_port *t, struct tss_sealer *sealer);

uint16_t tss_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n);

#endif
