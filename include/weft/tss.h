/* SPDX-License-Identifier: BSD-3-Clause */
/* Encryption: a port that seals and opens the packets of another port as UET's transport security sublayer (TSS) does,
 * with AES-256-GCM (doc/reference/protocol.md). What is not sealed is refused. */
#ifndef WEFT_TSS_H
#define WEFT_TSS_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/decl.h"
#include "weft/err.h"
#include "weft/spi/port.h"
#include "weft/tss_stats.h"

WEFT_BEGIN_DECLS

enum {
	WEFT_TSS_KEYS_MAX = 8,               /* keys at one time */
	WEFT_TSS_SECRET_BYTES = 32,          /* of a key */
	WEFT_TSS_ID_MAX = (1 << 25) - 1,     /* largest key id */
	WEFT_TSS_SOURCES_DEFAULT = 4096,     /* see weft_tss_conf.sources_max */
	WEFT_TSS_REPLAY_WINDOW = 32768 - 64, /* packets of a source, to anybody, that one may come late by */
};

/* A key of all that talk to each other, from which each sender's own is derived. */
struct weft_tss_key {
	uint32_t id; /* 0..WEFT_TSS_ID_MAX. On the wire: SDI id >> 1, AN id & 1 */
	uint8_t secret[WEFT_TSS_SECRET_BYTES];
};

/* Packets of all of these keys are opened, and sealed with the current one. */
struct weft_tss_keys {
	struct weft_tss_key key[WEFT_TSS_KEYS_MAX]; /* ids are distinct */
	uint32_t count;                             /* 1..WEFT_TSS_KEYS_MAX */
	uint32_t current;                           /* index of the key that seals, below `count` */
};

/* Reads the key file `path` (doc/guide/encryption.md). -EACCES: others than its owner may read or write it, or its
 * owner is neither the caller nor root; -EINVAL: its text is wrong; or the error of opening it. The message never shows
 * a key. */
int weft_tss_keys_read(const char *path, struct weft_tss_keys *keys, struct weft_err *err);

struct weft_tss_conf {
	struct weft_ip ip; /* the address that all packets sent come from */
	/* Number of the first packet sent. Under one key and address no number may come twice in all runs ever: the
	 * nanoseconds of the wall clock are a number that every earlier run is behind. */
	uint64_t first_number;
	const struct weft_tss_keys *keys; /* the caller's; copied */
	uint32_t sources_max; /* senders, once per key, whose packets are remembered against replays, 4 KiB each; 0:
				 WEFT_TSS_SOURCES_DEFAULT */
	uint8_t no_cryptodev; /* AES by libcrypto even where DPDK has a driver for it */
};

/* Wraps `inner`, which becomes the new port's and is closed with it. Packets of `inner`, allocated and received, have
 * room for its max_ip_bytes behind `head`. -ENOMEM, -EINVAL, -ENOTSUP: `inner` is still the caller's. */
int weft_tss_open(const struct weft_tss_conf *conf, struct weft_port *inner, struct weft_port **out,
		  struct weft_err *err);

/* Other keys from now on; packets of keys that stay are not affected. By the thread that polls the port. -EINVAL,
 * -ENOMEM, or -EKEYREVOKED, when one of them was removed after packets of it had come: the keys are as before. */
int weft_tss_set_keys(struct weft_port *port, const struct weft_tss_keys *keys, struct weft_err *err);

/* True while the port holds packets that the one below did not take: receive or send soon, it tries again then. */
bool weft_tss_is_pending(const struct weft_port *port);

/* Whether an authentic packet from `ip` has come, with one of the keys there are. */
bool weft_tss_has_heard(const struct weft_port *port, const struct weft_ip *ip);

/* What does the work, for logs: a driver of DPDK's or "libcrypto". */
const char *weft_tss_cipher(const struct weft_port *port);

/* Copies the counters of a port of weft_tss_open. Called by the thread that polls the port. */
void weft_tss_stats(const struct weft_port *port, struct weft_tss_stats *stats);

WEFT_END_DECLS

#endif
