/* SPDX-License-Identifier: BSD-3-Clause */
/* Senders from whom an authentic packet has come, once for each key they use: what opens their packets, and which of
 * them have come. Who has no key cannot add any. */
#ifndef TSS_SOURCES_H
#define TSS_SOURCES_H

#include "list.h"
#include "siphash.h"
#include "tss_frame.h"
#include "tss_replay.h"
#include "u64map.h"
#include "weft/mem.h"

/* What opens the packets of a sender in an epoch. */
struct tss_opener {
	void *session;
	struct tss_material material;
	uint16_t epoch;
};

struct tss_source {
	struct list link; /* of all */
	struct weft_ip ip;
	uint32_t key_id;
	struct tss_opener opener; /* of the newest epoch */
	struct tss_replay replay; /* of all epochs */
};

struct tss_sources {
	struct tss_cipher *cipher; /* the port's */
	struct weft_mem mem;
	struct list all;
	struct u64map by_hash;
	struct siphash_key hash_key;
	uint32_t max; /* sources */
};

/* False: no randomness for the hash. */
bool tss_sources_init(struct tss_sources *s, struct tss_cipher *cipher, uint32_t max);
void tss_sources_fini(struct tss_sources *s);

struct tss_source *tss_source_find(const struct tss_sources *s, const struct weft_ip *ip, uint32_t key_id);

/* False: no memory. */
bool tss_opener_make(struct tss_sources *s, const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *ip,
		     struct tss_opener *out);
void tss_opener_drop(struct tss_sources *s, struct tss_opener *opener);

/* A source that was not there, with `opener`, which becomes its own. NULL: no room. */
struct tss_source *tss_source_add(struct tss_sources *s, const struct weft_ip *ip, uint32_t key_id,
				  const struct tss_opener *opener);

/* Whether a packet of the key has come. */
bool tss_sources_use(const struct tss_sources *s, uint32_t key_id);

/* Forgets all sources of the key. */
void tss_sources_forget(struct tss_sources *s, uint32_t key_id);

#endif
