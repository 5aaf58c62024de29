/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets are opened where they lie, those of one sender that come one after the other in one run. Nothing is kept for
 * a sender before a packet of it was authentic. */
#include <assert.h>
#include <string.h>

#include "tss_priv.h"
#include "wire.h"

enum { REQUEST_BYTES = 12 }; /* of the PDS header of a request, what a trimmed packet needs to be of use */

/* Packets of one source that wait for their run, and what is done. */
struct run {
	struct weft_pkt **out; /* the caller's array, filled from the front */
	uint16_t out_n;
	struct tss_source *source;
	uint16_t n;
	struct weft_pkt *pkts[TSS_BURST];
	struct tss_frame frames[TSS_BURST];
	struct tss_job jobs[TSS_BURST];
};

static void pkt_drop(struct tss_port *t, struct weft_pkt *pkt, uint64_t *counter)
{
	++*counter;
	t->inner->ops->free(t->inner, &pkt, 1);
}

/* The packet as it was before it was sealed: what was before the TSS header moves behind it. `cut`: bytes that went. */
static void pkt_strip(struct weft_pkt *pkt, struct tss_frame *f, int cut, int udp_cut)
{
	memmove(f->ip + TSS_HDR_BYTES, f->ip, f->clear_bytes);
	f->ip += TSS_HDR_BYTES;
	tss_frame_resize(f, -cut, -udp_cut);
	uint32_t wire = f->total_bytes + WEFT_L1_OVERHEAD_BYTES;
	pkt->head = f->ip;
	pkt->head_len = (uint16_t)f->total_bytes;
	pkt->wire_bytes = (uint16_t)(wire > WEFT_WIRE_MIN_BYTES ? wire : WEFT_WIRE_MIN_BYTES);
}

static void pkt_pass(struct tss_port *t, struct run *r, struct weft_pkt *pkt, uint64_t *counter)
{
	++*counter;
	r->out[r->out_n++] = pkt;
}

/* An authentic packet. */
static void pkt_opened(struct tss_port *t, struct run *r, struct weft_pkt *pkt, struct tss_frame *f)
{
	enum tss_fresh fresh = tss_replay_take(&r->source->replay, tss_frame_number(f));

	if (fresh != TSS_FRESH) {
		pkt_drop(t, pkt, fresh == TSS_SEEN ? &t->stats.tss_replayed : &t->stats.tss_late);
		return;
	}
	pkt_strip(pkt, f, TSS_OVERHEAD_BYTES, TSS_OVERHEAD_BYTES);
	pkt_pass(t, r, pkt, &t->stats.tss_opened);
}

static void run_end(struct tss_port *t, struct run *r)
{
	if (r->n)
		t->cipher->ops->run(t->cipher, r->source->opener.session, r->jobs, r->n);
	for (uint16_t i = 0; i < r->n; i++) {
		if (r->jobs[i].ok)
			pkt_opened(t, r, r->pkts[i], &r->frames[i]);
		else
			pkt_drop(t, r->pkts[i], &t->stats.tss_bad_tag);
	}
	r->n = 0;
}

static void job_set(const struct tss_frame *f, const struct tss_material *m, struct tss_job *job)
{
	uint8_t *text = f->ip + f->clear_bytes + TSS_HDR_BYTES;
	uint32_t bytes = f->total_bytes - f->clear_bytes - TSS_OVERHEAD_BYTES;

	*job = (struct tss_job){.text = text, .text_bytes = bytes, .tag = text + bytes};
	tss_frame_job(f, m->mask, job);
}

static void run_add(struct run *r, struct weft_pkt *pkt, const struct tss_frame *f)
{
	assert(r->n < TSS_BURST);
	job_set(f, &r->source->opener.material, &r->jobs[r->n]);
	r->pkts[r->n] = pkt;
	r->frames[r->n++] = *f;
}

/* A later epoch's opener takes the place of the source's; that of an earlier one was needed once. */
static void opener_settle(struct tss_port *t, struct tss_source *source, struct tss_opener *opener)
{
	bool is_newer = opener->epoch > source->opener.epoch;
	struct tss_opener old = is_newer ? source->opener : *opener;

	if (is_newer)
		source->opener = *opener;
	tss_opener_drop(&t->sources, &old);
}

/* A packet that needs a key of its own: the first of a sender, or of another epoch. */
static void single_open(struct tss_port *t, struct run *r, struct weft_pkt *pkt, struct tss_frame *f,
			const struct weft_ip *src)
{
	uint32_t id = tss_frame_key_id(f);
	uint16_t epoch = (uint16_t)(tss_frame_number(f) >> TSS_EPOCH_SHIFT);
	struct tss_source *source = tss_source_find(&t->sources, src, id);
	struct tss_opener opener;
	struct tss_job job;

	assert(r->n == 0);
	if (!tss_opener_make(&t->sources, tss_key_of(&t->keys, id), epoch, src, &opener)) {
		pkt_drop(t, pkt, &t->stats.tss_no_room);
		return;
	}
	job_set(f, &opener.material, &job);
	t->cipher->ops->run(t->cipher, opener.session, &job, 1);
	if (job.ok && source)
		opener_settle(t, source, &opener);
	else if (job.ok)
		source = tss_source_add(&t->sources, src, id, &opener);
	r->source = source;
	if (job.ok && source) {
		pkt_opened(t, r, pkt, f);
		return;
	}
	pkt_drop(t, pkt, job.ok ? &t->stats.tss_no_room : &t->stats.tss_bad_tag);
	tss_opener_drop(&t->sources, &opener);
}

static bool source_is(const struct tss_source *source, const struct weft_ip *src, uint32_t key_id)
{
	return source && source->key_id == key_id && weft_ip_eq(&source->ip, src);
}

static void sealed_take(struct tss_port *t, struct run *r, struct weft_pkt *pkt, struct tss_frame *f)
{
	uint32_t id = tss_frame_key_id(f);
	struct weft_ip src;

	if (!tss_key_of(&t->keys, id)) {
		pkt_drop(t, pkt, &t->stats.tss_unknown_key);
		return;
	}
	tss_frame_src(f, &src);
	if (!source_is(r->source, &src, id)) {
		run_end(t, r);
		r->source = tss_source_find(&t->sources, &src, id);
	}
	if (r->source && r->source->opener.epoch == tss_frame_number(f) >> TSS_EPOCH_SHIFT) {
		run_add(r, pkt, f);
	} else {
		run_end(t, r);
		single_open(t, r, pkt, f, &src);
	}
}

/* Only requests, which ask for a repetition when they are trimmed, and do nothing else. The first packet of a
 * connection might open one. */
static bool hint_is_harmless(const uint8_t *pds)
{
	uint8_t type = pds[0] >> 3;
	bool is_request = type == WIRE_PDS_RUD_REQ || type == WIRE_PDS_ROD_REQ || type == WIRE_PDS_RUD_CC_REQ ||
			  type == WIRE_PDS_ROD_CC_REQ;

	return is_request && !(pds[1] & WIRE_F_SYN);
}

static bool hint_open(const struct tss_port *t, const struct tss_frame *f)
{
	uint8_t *text = f->ip + f->clear_bytes + TSS_HDR_BYTES;
	uint32_t bytes = f->total_bytes - f->clear_bytes - TSS_HDR_BYTES;
	struct tss_job job;
	struct weft_ip src;

	tss_frame_src(f, &src);
	const struct tss_source *source = tss_source_find(&t->sources, &src, tss_frame_key_id(f));
	if (!source || source->opener.epoch != tss_frame_number(f) >> TSS_EPOCH_SHIFT || bytes < REQUEST_BYTES)
		return false;
	tss_frame_job(f, source->opener.material.mask, &job);
	return tss_decrypt_unchecked(source->opener.material.key, job.iv, text, bytes) && hint_is_harmless(text);
}

static void trimmed_take(struct tss_port *t, struct run *r, struct weft_pkt *pkt, struct tss_frame *f)
{
	if (!hint_open(t, f)) {
		pkt_drop(t, pkt, &t->stats.tss_trimmed_refused);
		return;
	}
	run_end(t, r); /* packets keep their order */
	pkt_strip(pkt, f, TSS_HDR_BYTES, TSS_OVERHEAD_BYTES);
	pkt_pass(t, r, pkt, &t->stats.tss_trimmed);
}

static void pkt_take(struct tss_port *t, struct run *r, struct weft_pkt *pkt)
{
	struct tss_frame f;
	bool is_frame = tss_frame_read(pkt->head, pkt->head_len, &f);

	switch (is_frame ? tss_frame_form(&f, pkt->head_len) : TSS_FORM_CLEAR) {
	case TSS_FORM_SEALED:
		sealed_take(t, r, pkt, &f);
		break;
	case TSS_FORM_TRIMMED:
		trimmed_take(t, r, pkt, &f);
		break;
	case TSS_FORM_CLEAR:
		pkt_drop(t, pkt, &t->stats.tss_clear);
		break;
	default:
		pkt_drop(t, pkt, &t->stats.tss_malformed);
	}
}

uint16_t tss_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct tss_port *t = (struct tss_port *)port;
	struct run r = {.out = pkts};

	tss_tx_held(t);
	uint16_t got = t->inner->ops->rx(t->inner, pkts, n < TSS_BURST ? n : TSS_BURST);
	port->link_bps = t->inner->link_bps;
	for (uint16_t i = 0; i < got; i++)
		pkt_take(t, &r, pkts[i]);
	run_end(t, &r);
	assert(r.out_n <= got);
	return r.out_n;
}
