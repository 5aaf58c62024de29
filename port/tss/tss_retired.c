/* SPDX-License-Identifier: BSD-3-Clause */
#include "tss_retired.h"

#include <assert.h>
#include <string.h>

#include <openssl/crypto.h>

bool tss_print_make(const struct weft_tss_key *key, struct tss_print *out)
{
	static const struct weft_ip nobody;

	*out = (struct tss_print){.id = key->id};
	return tss_derive(key, 0, &nobody, &out->derived);
}

bool tss_retired_has(const struct tss_retired *r, const struct tss_print *print)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->prints[i].id == print->id &&
		    CRYPTO_memcmp(&r->prints[i].derived, &print->derived, sizeof print->derived) == 0)
			return true;
	return false;
}

bool tss_retired_reserve(struct tss_retired *r, const struct weft_mem *mem, uint32_t more)
{
	uint32_t room = 2 * (r->count + more);

	if (r->room - r->count >= more)
		return true;
	struct tss_print *grown = weft_mem_alloc(mem, room * sizeof *grown);
	if (!grown)
		return false;
	if (r->count)
		memcpy(grown, r->prints, r->count * sizeof *grown);
	weft_mem_free(mem, r->prints);
	r->prints = grown;
	r->room = room;
	return true;
}

void tss_retired_add(struct tss_retired *r, const struct tss_print *print)
{
	assert(r->count < r->room);
	r->prints[r->count++] = *print;
}

void tss_retired_fini(struct tss_retired *r, const struct weft_mem *mem)
{
	weft_mem_free(mem, r->prints);
	*r = (struct tss_retired){0};
}
