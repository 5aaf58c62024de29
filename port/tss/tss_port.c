/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "counter.h"
#include "tss_priv.h"

enum {
	SESSIONS_MORE = 8,   /* beside those of sources: our own, a new one of it, a packet's that is not known yet */
	IP_BYTES_MIN = 1280, /* that a port below must carry */
};

const struct weft_counter_desc weft_tss_counter_descs[] = {
#define COUNTER_DESC(name, help) {#name, help, offsetof(struct weft_tss_stats, name)},
	WEFT_TSS_COUNTERS(COUNTER_DESC)
#undef COUNTER_DESC
};

_Static_assert(sizeof weft_tss_counter_descs / sizeof weft_tss_counter_descs[0] == WEFT_TSS_COUNTER_COUNT,
	       "one description per counter");

uint64_t weft_tss_stats_value(const struct weft_tss_stats *stats, int i)
{
	assert(i >= 0 && i < WEFT_TSS_COUNTER_COUNT);
	return counter_value(stats, &weft_tss_counter_descs[i]);
}

static uint16_t tss_alloc(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct weft_port *inner = ((struct tss_port *)port)->inner;

	return inner->ops->alloc(inner, pkts, n);
}

static void tss_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct weft_port *inner = ((struct tss_port *)port)->inner;

	inner->ops->free(inner, pkts, n);
}

static int tss_reach(const struct weft_port *port, const struct weft_ip *ip, struct weft_ip *next_hop)
{
	const struct weft_port *inner = ((const struct tss_port *)port)->inner;

	return inner->ops->reach ? inner->ops->reach(inner, ip, next_hop) : 0;
}

static void tss_doubt(struct weft_port *port, const struct weft_ip *ip)
{
	struct weft_port *inner = ((struct tss_port *)port)->inner;

	if (inner->ops->doubt)
		inner->ops->doubt(inner, ip);
}

/* All but the port below. */
static void tss_release(struct tss_port *t)
{
	tss_sealer_drop(t, &t->sealer);
	tss_retired_fini(&t->retired, &t->sources.mem);
	tss_sources_fini(&t->sources);
	t->cipher->ops->close(t->cipher);
	OPENSSL_cleanse(t, sizeof *t);
	free(t);
}

static void tss_close(struct weft_port *port)
{
	struct tss_port *t = (struct tss_port *)port;
	struct weft_port *inner = t->inner;

	inner->ops->free(inner, t->held, t->held_n);
	tss_release(t);
	inner->ops->close(inner);
}

static const struct weft_port_ops tss_ops = {
	.rx = tss_rx,
	.tx = tss_tx,
	.alloc = tss_alloc,
	.free = tss_free,
	.close = tss_close,
	.reach = tss_reach,
	.doubt = tss_doubt,
};

static struct tss_port *tss_of(struct weft_port *port)
{
	assert(port->ops == &tss_ops);
	return (struct tss_port *)port;
}

static int keys_check(const struct weft_tss_keys *keys, struct weft_err *err)
{
	if (!keys->count || keys->count > WEFT_TSS_KEYS_MAX || keys->current >= keys->count)
		return weft_err_set(err, -EINVAL, "encryption: %u keys, of which number %u seals", keys->count,
				    keys->current);
	for (uint32_t i = 0; i < keys->count; i++)
		if (keys->key[i].id > WEFT_TSS_ID_MAX || tss_key_of(keys, keys->key[i].id) != &keys->key[i])
			return weft_err_set(err, -EINVAL, "encryption: key id %u is too large, or there twice",
					    keys->key[i].id);
	return 0;
}

static bool key_eq(const struct weft_tss_key *a, const struct weft_tss_key *b)
{
	return a && b && a->id == b->id && CRYPTO_memcmp(a->secret, b->secret, sizeof a->secret) == 0;
}

static const struct weft_tss_key *current_of(const struct weft_tss_keys *keys)
{
	return &keys->key[keys->current];
}

/* Keys that will not be the same any more and of which packets came. */
struct leaving {
	struct tss_print prints[WEFT_TSS_KEYS_MAX];
	uint32_t count;
};

static int leaving_find(struct tss_port *t, const struct weft_tss_keys *keys, struct leaving *l, struct weft_err *err)
{
	bool has_memory = true;

	l->count = 0;
	for (uint32_t i = 0; i < t->keys.count; i++) {
		const struct weft_tss_key *key = &t->keys.key[i];
		if (!key_eq(key, tss_key_of(keys, key->id)) && tss_sources_use(&t->sources, key->id))
			has_memory &= tss_print_make(key, &l->prints[l->count++]);
	}
	if (has_memory && tss_retired_reserve(&t->retired, &t->sources.mem, l->count))
		return 0;
	return weft_err_set(err, -ENOMEM, "encryption: no memory to remember keys that go");
}

/* Their sources are forgotten, and with them which packets came. */
static void leaving_retire(struct tss_port *t, const struct leaving *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		tss_retired_add(&t->retired, &l->prints[i]);
		tss_sources_forget(&t->sources, l->prints[i].id);
	}
}

/* None may be one that went. */
static int retired_check(const struct tss_port *t, const struct weft_tss_keys *keys, struct weft_err *err)
{
	struct tss_print print;

	for (uint32_t i = 0; i < keys->count; i++) {
		if (key_eq(&keys->key[i], tss_key_of(&t->keys, keys->key[i].id)))
			continue;
		if (!tss_print_make(&keys->key[i], &print))
			return weft_err_set(err, -ENOMEM, "encryption: no memory for a key");
		if (tss_retired_has(&t->retired, &print))
			return weft_err_set(
				err, -EKEYREVOKED,
				"encryption: key %u was removed and may not come back, as packets of it that came "
				"could come again: make a new one",
				keys->key[i].id);
	}
	return 0;
}

static int sealer_replace(struct tss_port *t, const struct weft_tss_keys *keys, struct weft_err *err)
{
	struct tss_sealer fresh;

	if (t->sealer.session && key_eq(current_of(&t->keys), current_of(keys)))
		return 0;
	if (!tss_sealer_make(t, current_of(keys), (uint16_t)(t->number >> TSS_EPOCH_SHIFT), &fresh))
		return weft_err_set(err, -ENOMEM, "encryption: no memory for a key");
	tss_sealer_drop(t, &t->sealer);
	t->sealer = fresh;
	return 0;
}

int weft_tss_set_keys(struct weft_port *port, const struct weft_tss_keys *keys, struct weft_err *err)
{
	struct tss_port *t = tss_of(port);
	struct leaving leaving;
	int rc = keys_check(keys, err);

	if (!rc)
		rc = retired_check(t, keys, err);
	if (!rc)
		rc = leaving_find(t, keys, &leaving, err);
	if (!rc)
		rc = sealer_replace(t, keys, err);
	if (rc)
		return rc;
	leaving_retire(t, &leaving);
	t->keys = *keys;
	t->stats.tss_key_changes++;
	return 0;
}

static struct tss_cipher *cipher_open(const struct weft_tss_conf *conf, uint32_t sources)
{
	struct tss_cipher *c = conf->no_cryptodev ? NULL : tss_cipher_dpdk(sources + SESSIONS_MORE);

	return c ? c : tss_cipher_libcrypto();
}

static int tss_start(struct tss_port *t, const struct weft_tss_conf *conf, uint32_t sources, struct weft_err *err)
{
	struct tss_sealer fresh;

	if (!tss_sources_init(&t->sources, t->cipher, sources))
		return weft_err_set(err, -ENOTSUP, "encryption: no random numbers");
	if (!tss_sealer_make(t, current_of(&t->keys), (uint16_t)(t->number >> TSS_EPOCH_SHIFT), &fresh))
		return weft_err_set(err, -ENOMEM, "encryption: no memory for a key");
	t->sealer = fresh;
	return 0;
}

static int conf_check(const struct weft_tss_conf *conf, const struct weft_port *inner, struct weft_err *err)
{
	if (weft_ip_is_any(&conf->ip))
		return weft_err_set(err, -EINVAL, "encryption: a port without an address of its own");
	if (inner->max_ip_bytes < IP_BYTES_MIN)
		return weft_err_set(err, -EINVAL, "encryption: the port carries IP packets of %u bytes only",
				    inner->max_ip_bytes);
	return keys_check(conf->keys, err);
}

int weft_tss_open(const struct weft_tss_conf *conf, struct weft_port *inner, struct weft_port **out,
		  struct weft_err *err)
{
	uint32_t sources = conf->sources_max ? conf->sources_max : WEFT_TSS_SOURCES_DEFAULT;
	int rc = conf_check(conf, inner, err);

	if (rc)
		return rc;
	struct tss_port *t = malloc(sizeof *t);
	struct tss_cipher *cipher = t ? cipher_open(conf, sources) : NULL;
	if (!cipher) {
		free(t);
		return weft_err_set(err, -ENOMEM, "encryption: out of memory");
	}
	*t = (struct tss_port){.port = *inner,
			       .inner = inner,
			       .cipher = cipher,
			       .keys = *conf->keys,
			       .ip = conf->ip,
			       .number = conf->first_number};
	t->port.ops = &tss_ops;
	t->port.max_ip_bytes -= TSS_OVERHEAD_BYTES;
	rc = tss_start(t, conf, sources, err);
	if (rc)
		tss_release(t);
	else
		*out = &t->port;
	return rc;
}

bool weft_tss_is_pending(const struct weft_port *port)
{
	return ((const struct tss_port *)port)->held_n > 0;
}

bool weft_tss_has_heard(const struct weft_port *port, const struct weft_ip *ip)
{
	const struct tss_port *t = (const struct tss_port *)port;

	for (uint32_t i = 0; i < t->keys.count; i++)
		if (tss_source_find(&t->sources, ip, t->keys.key[i].id))
			return true;
	return false;
}

const char *weft_tss_cipher(const struct weft_port *port)
{
	return ((const struct tss_port *)port)->cipher->ops->name;
}

void weft_tss_stats(const struct weft_port *port, struct weft_tss_stats *stats)
{
	*stats = ((const struct tss_port *)port)->stats;
}
