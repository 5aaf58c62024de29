/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets are sealed where they lie, behind their headers, and belong to this port from then on: nobody else could send
 * them again, for each number seals once. */
#include <assert.h>
#include <string.h>

#include <openssl/crypto.h>

#include "tss_priv.h"

enum { TRAILER_BYTES = 4 };

static struct tss_port *tss_of(struct weft_port *port)
{
	return (struct tss_port *)port;
}

static void pkt_drop(struct tss_port *t, struct weft_pkt *pkt)
{
	t->stats.tss_tx_dropped++;
	t->inner->ops->free(t->inner, &pkt, 1);
}

bool tss_tx_held(struct tss_port *t)
{
	if (!t->held_n)
		return true;
	uint16_t sent = t->inner->ops->tx(t->inner, t->held, t->held_n);
	assert(sent <= t->held_n);
	t->stats.tss_sealed += sent;
	t->held_n = (uint16_t)(t->held_n - sent);
	memmove(t->held, t->held + sent, t->held_n * sizeof t->held[0]);
	return t->held_n == 0;
}

bool tss_sealer_make(struct tss_port *t, const struct weft_tss_key *key, uint16_t epoch, struct tss_sealer *out)
{
	*out = (struct tss_sealer){.epoch = epoch};
	if (tss_derive(key, epoch, &t->ip, &out->material))
		out->session =
			t->cipher->ops->session_new(t->cipher, out->material.key, TSS_SEAL, tss_aad_bytes(&t->ip));
	return out->session != NULL;
}

void tss_sealer_drop(struct tss_port *t, struct tss_sealer *sealer)
{
	if (sealer->session)
		t->cipher->ops->session_free(t->cipher, sealer->session);
	OPENSSL_cleanse(sealer, sizeof *sealer);
}

/* Once per epoch, see weft_tss_conf.first_number. */
static bool sealer_renew(struct tss_port *t, uint16_t epoch)
{
	struct tss_sealer fresh;

	if (t->sealer.session && t->sealer.epoch == epoch)
		return true;
	if (!tss_sealer_make(t, &t->keys.key[t->keys.current], epoch, &fresh)) {
		t->stats.tss_tx_no_key++;
		return false;
	}
	tss_sealer_drop(t, &t->sealer);
	t->sealer = fresh;
	return true;
}

/* The payload first: the headers move into its place. */
static void text_gather(const struct weft_pkt *pkt)
{
	uint8_t *p = pkt->head + pkt->head_len + TSS_HDR_BYTES;

	if (pkt->payload)
		memmove(p, pkt->payload, pkt->payload_len);
	else
		memset(p, 0, pkt->payload_len);
	if (pkt->flags & WEFT_PKT_TRAILER)
		memcpy(p + pkt->payload_len, &pkt->trailer, TRAILER_BYTES);
}

static void pkt_begin(struct tss_port *t, struct weft_pkt *pkt, struct tss_frame *f, struct tss_job *job)
{
	uint8_t *hdr = f->ip + f->clear_bytes;

	text_gather(pkt);
	memmove(hdr + TSS_HDR_BYTES, hdr, (size_t)(pkt->head_len - f->clear_bytes));
	tss_frame_write(f, t->keys.key[t->keys.current].id, t->number++);
	*job = (struct tss_job){.text = hdr + TSS_HDR_BYTES, .text_bytes = f->total_bytes - f->clear_bytes};
	job->tag = job->text + job->text_bytes;
	tss_frame_job(f, t->sealer.material.mask, job);
	tss_frame_resize(f, TSS_OVERHEAD_BYTES, TSS_OVERHEAD_BYTES);
	pkt->head_len = (uint16_t)f->total_bytes;
	pkt->payload = NULL;
	pkt->payload_len = 0;
	pkt->flags &= (uint8_t)~WEFT_PKT_TRAILER;
	pkt->wire_bytes = (uint16_t)(pkt->wire_bytes + TSS_OVERHEAD_BYTES);
}

static uint32_t bytes_of(const struct weft_pkt *pkt)
{
	return (uint32_t)pkt->head_len + pkt->payload_len + (pkt->flags & WEFT_PKT_TRAILER ? TRAILER_BYTES : 0);
}

static bool pkt_fits(const struct tss_port *t, struct weft_pkt *pkt, struct tss_frame *f)
{
	return tss_frame_read(pkt->head, pkt->head_len, f) && f->total_bytes == bytes_of(pkt) &&
	       f->total_bytes + TSS_OVERHEAD_BYTES <= t->inner->max_ip_bytes;
}

/* Packets that can go with this epoch's key, of `n`. */
static uint16_t run_length(const struct tss_port *t, uint16_t n)
{
	const uint64_t in_epoch = UINT64_C(1) << TSS_EPOCH_SHIFT;
	uint64_t left = in_epoch - t->number % in_epoch, ever = UINT64_MAX - t->number;

	left = ever < left ? ever : left;
	return n < left ? n : (uint16_t)left;
}

/* Seals up to a burst; returns how many packets it took. What is sealed is held. */
static uint16_t burst_seal(struct tss_port *t, struct weft_pkt **pkts, uint16_t n)
{
	struct tss_job jobs[TSS_BURST];
	struct tss_frame f;
	uint16_t sealed = 0;

	assert(t->held_n == 0 && n <= TSS_BURST);
	for (uint16_t i = 0; i < n; i++) {
		if (pkt_fits(t, pkts[i], &f)) {
			pkt_begin(t, pkts[i], &f, &jobs[sealed]);
			t->held[sealed++] = pkts[i];
		} else {
			pkt_drop(t, pkts[i]);
		}
	}
	t->cipher->ops->run(t->cipher, t->sealer.session, jobs, sealed);
	for (uint16_t i = 0; i < sealed; i++) {
		if (jobs[i].ok)
			t->held[t->held_n++] = t->held[i];
		else
			pkt_drop(t, t->held[i]);
	}
	return n;
}

static uint16_t all_drop(struct tss_port *t, struct weft_pkt **pkts, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		pkt_drop(t, pkts[i]);
	return n;
}

uint16_t tss_tx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct tss_port *t = tss_of(port);
	uint16_t done = 0;

	while (done < n && tss_tx_held(t)) {
		uint16_t left = (uint16_t)(n - done), run = run_length(t, left < TSS_BURST ? left : TSS_BURST);
		if (run == 0)
			return (uint16_t)(done + all_drop(t, pkts + done, left));
		if (!sealer_renew(t, (uint16_t)(t->number >> TSS_EPOCH_SHIFT)))
			break;
		done = (uint16_t)(done + burst_seal(t, pkts + done, run));
		if (!tss_tx_held(t))
			t->stats.tss_tx_held += t->held_n;
	}
	return done;
}
