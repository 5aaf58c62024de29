/* SPDX-License-Identifier: BSD-3-Clause */
/* One virtual crypto device serves all ports of the process: its sessions are the ports', and it works on the CPU that
 * calls. */
#define ALLOW_EXPERIMENTAL_API /* crypto on the calling CPU */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cryptodev.h>
#include <rte_dev.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "tss_cipher.h"

#define DEVICE "crypto_aesni_gcm_weft"

struct dpdk_cipher {
	struct tss_cipher cipher; /* first: ops get a pointer to it */
	struct rte_mempool *pool; /* of sessions */
	int id;                   /* of the device */
};

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static int device_id = -1;  /* under device_lock */
static bool device_is_none; /* under device_lock: it was tried */

static bool device_fits(int id)
{
	struct rte_cryptodev_info info;
	struct rte_cryptodev_config conf = {.socket_id = SOCKET_ID_ANY, .nb_queue_pairs = 1};

	rte_cryptodev_info_get((uint8_t)id, &info);
	conf.socket_id = rte_cryptodev_socket_id((uint8_t)id);
	return (info.feature_flags & RTE_CRYPTODEV_FF_SYM_CPU_CRYPTO) != 0 &&
	       rte_cryptodev_configure((uint8_t)id, &conf) == 0;
}

static int device_make(void)
{
	if (rte_eal_hotplug_add("vdev", DEVICE, "") != 0)
		return -1;
	int id = rte_cryptodev_get_dev_id(DEVICE);
	if (id >= 0 && device_fits(id))
		return id;
	rte_eal_hotplug_remove("vdev", DEVICE);
	return -1;
}

/* -1: there is none. It stays for the life of the process. */
static int device_get(void)
{
	pthread_mutex_lock(&device_lock);
	if (device_id < 0 && !device_is_none && rte_lcore_count() > 0) {
		device_id = device_make();
		device_is_none = device_id < 0;
	}
	int id = device_id;
	pthread_mutex_unlock(&device_lock);
	return id;
}

static struct dpdk_cipher *dpdk_of(struct tss_cipher *c)
{
	return (struct dpdk_cipher *)c;
}

static void *session_new(struct tss_cipher *c, const uint8_t *key, enum tss_way way, uint32_t aad_bytes)
{
	struct rte_crypto_sym_xform xform = {
		.type = RTE_CRYPTO_SYM_XFORM_AEAD,
		.aead = {.op = way == TSS_SEAL ? RTE_CRYPTO_AEAD_OP_ENCRYPT : RTE_CRYPTO_AEAD_OP_DECRYPT,
			 .algo = RTE_CRYPTO_AEAD_AES_GCM,
			 .key = {.data = key, .length = TSS_KEY_BYTES},
			 .iv = {.length = TSS_IV_BYTES},
			 .digest_length = TSS_TAG_BYTES,
			 .aad_length = (uint16_t)aad_bytes},
	};

	assert(aad_bytes <= TSS_AAD_MAX);
	return rte_cryptodev_sym_session_create((uint8_t)dpdk_of(c)->id, &xform, dpdk_of(c)->pool);
}

static void session_free(struct tss_cipher *c, void *session)
{
	rte_cryptodev_sym_session_free((uint8_t)dpdk_of(c)->id, session);
}

static void run(struct tss_cipher *c, void *session, struct tss_job *jobs, uint32_t n)
{
	struct rte_crypto_vec text[TSS_BURST];
	struct rte_crypto_sgl sgl[TSS_BURST];
	struct rte_crypto_va_iova_ptr iv[TSS_BURST], tag[TSS_BURST], aad[TSS_BURST];
	int32_t status[TSS_BURST];
	struct rte_crypto_sym_vec vec = {
		.num = n, .src_sgl = sgl, .iv = iv, .digest = tag, .aad = aad, .status = status};
	const union rte_crypto_sym_ofs whole = {.raw = 0};

	assert(n <= TSS_BURST);
	for (uint32_t i = 0; i < n; i++) {
		text[i] = (struct rte_crypto_vec){.base = jobs[i].text, .len = jobs[i].text_bytes};
		sgl[i] = (struct rte_crypto_sgl){.vec = &text[i], .num = 1};
		iv[i].va = jobs[i].iv;
		tag[i].va = jobs[i].tag;
		aad[i].va = jobs[i].aad;
		status[i] = -1; /* of a driver that does not say */
	}
	rte_cryptodev_sym_cpu_crypto_process((uint8_t)dpdk_of(c)->id, session, whole, &vec);
	for (uint32_t i = 0; i < n; i++)
		jobs[i].ok = status[i] == 0;
}

static void cipher_close(struct tss_cipher *c)
{
	rte_mempool_free(dpdk_of(c)->pool);
	free(c);
}

static const struct tss_cipher_ops ops = {
	.name = "crypto_aesni_gcm",
	.session_new = session_new,
	.session_free = session_free,
	.run = run,
	.close = cipher_close,
};

static struct rte_mempool *pool_create(int id, uint32_t sessions)
{
	static _Atomic uint32_t serial;
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof name, "weft_tss_%x_%u", (unsigned)(uintptr_t)&serial, atomic_fetch_add(&serial, 1));
	return rte_cryptodev_sym_session_pool_create(
		name, sessions, rte_cryptodev_sym_get_private_session_size((uint8_t)id), 0, 0, SOCKET_ID_ANY);
}

struct tss_cipher *tss_cipher_dpdk(uint32_t sessions)
{
	int id = device_get();
	struct dpdk_cipher *d = id >= 0 ? malloc(sizeof *d) : NULL;

	if (!d)
		return NULL;
	*d = (struct dpdk_cipher){.cipher.ops = &ops, .pool = pool_create(id, sessions), .id = id};
	if (d->pool)
		return &d->cipher;
	free(d);
	return NULL;
}
