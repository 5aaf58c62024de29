/* SPDX-License-Identifier: BSD-3-Clause */
#include "tss_sources.h"

#include <assert.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

static uint64_t hash_of(const struct tss_sources *s, const struct weft_ip *ip, uint32_t key_id)
{
	uint64_t words[3] = {[2] = key_id};

	memcpy(words, ip->b, sizeof ip->b);
	return siphash(&s->hash_key, words, 3);
}

bool tss_sources_init(struct tss_sources *s, struct tss_cipher *cipher, uint32_t max)
{
	*s = (struct tss_sources){.cipher = cipher, .max = max};
	list_init(&s->all);
	u64map_init(&s->by_hash, &s->mem);
	return RAND_bytes((unsigned char *)&s->hash_key, sizeof s->hash_key) == 1;
}

static void source_free(struct tss_sources *s, struct tss_source *source)
{
	assert(u64map_get(&s->by_hash, hash_of(s, &source->ip, source->key_id)) == source);
	u64map_del(&s->by_hash, hash_of(s, &source->ip, source->key_id));
	list_del(&source->link);
	tss_opener_drop(s, &source->opener);
	weft_mem_free(&s->mem, source);
}

void tss_sources_fini(struct tss_sources *s)
{
	list_for_each_safe (pos, &s->all)
		source_free(s, list_entry(pos, struct tss_source, link));
	u64map_fini(&s->by_hash);
}

struct tss_source *tss_source_find(const struct tss_sources *s, const struct weft_ip *ip, uint32_t key_id)
{
	struct tss_source *source = u64map_get(&s->by_hash, hash_of(s, ip, key_id));

	return source && source->key_id == key_id && weft_ip_eq(&source->ip, ip) ? source : NULL;
}

bool tss_opener_make(struct tss_sources *s, const struct weft_tss_key *key, uint16_t epoch, const struct weft_ip *ip,
		     struct tss_opener *out)
{
	*out = (struct tss_opener){.epoch = epoch};
	if (tss_derive(key, epoch, ip, &out->material))
		out->session = s->cipher->ops->session_new(s->cipher, out->material.key, TSS_OPEN, tss_aad_bytes(ip));
	return out->session != NULL;
}

void tss_opener_drop(struct tss_sources *s, struct tss_opener *opener)
{
	if (opener->session)
		s->cipher->ops->session_free(s->cipher, opener->session);
	OPENSSL_cleanse(opener, sizeof *opener);
}

struct tss_source *tss_source_add(struct tss_sources *s, const struct weft_ip *ip, uint32_t key_id,
				  const struct tss_opener *opener)
{
	uint64_t hash = hash_of(s, ip, key_id);
	bool has_room = s->by_hash.count < s->max && !u64map_get(&s->by_hash, hash);
	struct tss_source *source = has_room ? weft_mem_alloc(&s->mem, sizeof *source) : NULL;

	if (!source)
		return NULL;
	if (!u64map_put(&s->by_hash, hash, source)) {
		weft_mem_free(&s->mem, source);
		return NULL;
	}
	source->ip = *ip;
	source->key_id = key_id;
	source->opener = *opener;
	list_add_tail(&s->all, &source->link);
	return source;
}

bool tss_sources_use(const struct tss_sources *s, uint32_t key_id)
{
	list_for_each (pos, &s->all)
		if (list_entry(pos, struct tss_source, link)->key_id == key_id)
			return true;
	return false;
}

void tss_sources_forget(struct tss_sources *s, uint32_t key_id)
{
	list_for_each_safe (pos, &s->all) {
		struct tss_source *source = list_entry(pos, struct tss_source, link);
		if (source->key_id == key_id)
			source_free(s, source);
	}
}
