/* SPDX-License-Identifier: BSD-3-Clause */
/* To be preloaded (LD_PRELOAD): allocations fail by number. Counted are the calls that come from objects whose path
 * contains one of the words in ALLOC_FAIL_IN, separated by commas; DPDK's and other libraries' calls that allocate
 * count as one, unless those libraries are named as well. ALLOC_FAIL_AT is the number of the first that fails, from 1
 * on; 0: none. ALLOC_FAIL_COUNT is how many fail in a row, 0: all from there on. ALLOC_FAIL_UNTIL names a file that
 * says, once it exists, that memory is back. ALLOC_FAIL_LOG names a file that gets a line for each refusal, at most
 * LOGGED_MAX of them, and at the end how many calls were counted. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <rdma/fabric.h>
#include <rte_cryptodev.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memzone.h>
#include <rte_rib6.h>
#include <rte_ring.h>
#include <rte_telemetry.h>

#include "alloc_fail.h"

enum { WORDS_MAX = 8, LOGGED_MAX = 20 };

static const char *words[WORDS_MAX];
static unsigned word_count;
static atomic_ulong counted, refused;
static unsigned long first, last; /* numbers of the calls that fail; first 0: none */
static atomic_bool stopped;
static int log_fd = -1;
static const char *until; /* NULL: memory does not come back by itself */

static unsigned long number(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);
	return text ? strtoul(text, NULL, 10) : otherwise;
}

static void words_split(const char *text)
{
	static char copy[256];
	snprintf(copy, sizeof copy, "%s", text);
	for (char *rest = copy, *word; word_count < WORDS_MAX && (word = strsep(&rest, ","));)
		words[word_count++] = word;
}

/* Loaders and sanitizers allocate before; that is nobody's who is counted. */
static __attribute__((constructor)) void start(void)
{
	const char *in = getenv("ALLOC_FAIL_IN"), *log = getenv("ALLOC_FAIL_LOG");
	unsigned long count = number("ALLOC_FAIL_COUNT", 1);
	first = number("ALLOC_FAIL_AT", 0);
	last = count ? first + count - 1 : (unsigned long)-1;
	log_fd = log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
	until = getenv("ALLOC_FAIL_UNTIL");
	words_split(in ? in : "");
}

static __attribute__((destructor)) void end(void)
{
	if (log_fd >= 0)
		dprintf(log_fd, "counted %lu\n", counted);
}

void alloc_fail_stop(void)
{
	stopped = true;
}

void alloc_fail_resume(void)
{
	stopped = false;
}

unsigned long alloc_fail_refused(void)
{
	return refused;
}

static bool is_counted(const char *path)
{
	for (unsigned i = 0; i < word_count; i++)
		if (strstr(path, words[i]))
			return true;
	return false;
}

static void tell(const char *what, const void *caller, const Dl_info *info)
{
	if (log_fd >= 0 && refused <= LOGGED_MAX)
		dprintf(log_fd, "refused %s at %s+%#lx\n", what, info->dli_fname,
			(unsigned long)((const char *)caller - (const char *)info->dli_fbase));
}

/* Counts a call. True: it is to fail. */
static bool refuse(const char *what, const void *caller)
{
	Dl_info info;
	if (!word_count || stopped || !dladdr(caller, &info) || !info.dli_fname || !is_counted(info.dli_fname))
		return false;
	unsigned long n = ++counted;
	if (!first || n < first || n > last)
		return false;
	if (until && access(until, F_OK) == 0) {
		stopped = true;
		return false;
	}
	refused++;
	tell(what, caller, &info);
	return true;
}

/* The function that the caller would have called: in the order of loading, or in what the caller's library, which was
 * loaded later, depends on. */
static void *next_named(const char *name, const void *caller)
{
	Dl_info info;
	void *f = dlsym(RTLD_NEXT, name);
	void *library = f || !dladdr(caller, &info) ? NULL : dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (library)
		f = dlsym(library, name);
	if (!f)
		abort();
	return f;
}

#define WRAP(type, name, params, args, failed)                                                                         \
	type name params;                                                                                              \
	type name params                                                                                               \
	{                                                                                                              \
		static type(*next) params;                                                                             \
		if (!next)                                                                                             \
			next = (type(*) params)next_named(#name, __builtin_return_address(0));                         \
		if (refuse(#name, __builtin_return_address(0)))                                                        \
			return failed;                                                                                 \
		return next args;                                                                                      \
	}

#define NO_MEMORY     (errno = ENOMEM, NULL)
#define NO_RTE_MEMORY (rte_errno = ENOMEM, NULL)

/* ---- the C library ---- */

WRAP(void *, malloc, (size_t bytes), (bytes), NO_MEMORY)
WRAP(void *, calloc, (size_t n, size_t bytes), (n, bytes), NO_MEMORY)
WRAP(void *, realloc, (void *p, size_t bytes), (p, bytes), NO_MEMORY)
WRAP(void *, reallocarray, (void *p, size_t n, size_t bytes), (p, n, bytes), NO_MEMORY)
WRAP(void *, aligned_alloc, (size_t align, size_t bytes), (align, bytes), NO_MEMORY)
WRAP(int, posix_memalign, (void **p, size_t align, size_t bytes), (p, align, bytes), ENOMEM)
WRAP(char *, strdup, (const char *text), (text), NO_MEMORY)
WRAP(char *, strndup, (const char *text, size_t n), (text, n), NO_MEMORY)
WRAP(char *, realpath, (const char *path, char *to), (path, to), NO_MEMORY)
WRAP(FILE *, fopen64, (const char *path, const char *mode), (path, mode), NO_MEMORY)
WRAP(DIR *, opendir, (const char *path), (path), NO_MEMORY)
WRAP(int, getaddrinfo, (const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **out),
     (node, service, hints, out), EAI_MEMORY)
WRAP(int, pthread_create, (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg),
     (thread, attr, run, arg), EAGAIN)
WRAP(int, memfd_create, (const char *name, unsigned flags), (name, flags), (errno = ENOMEM, -1))
WRAP(void *, mmap64, (void *at, size_t bytes, int prot, int flags, int fd, off_t from),
     (at, bytes, prot, flags, fd, from), (errno = ENOMEM, MAP_FAILED))

int asprintf(char **text, const char *format, ...)
{
	va_list args;
	if (refuse("asprintf", __builtin_return_address(0))) {
		errno = ENOMEM;
		return -1;
	}
	va_start(args, format);
	int n = vasprintf(text, format, args);
	va_end(args);
	return n;
}

/* ---- libfabric, OpenSSL ---- */

WRAP(struct fi_info *, fi_dupinfo, (const struct fi_info *info), (info), NO_MEMORY)
WRAP(EVP_CIPHER_CTX *, EVP_CIPHER_CTX_new, (void), (), NULL)
WRAP(EVP_MAC_CTX *, EVP_MAC_CTX_new, (EVP_MAC * mac), (mac), NULL)
WRAP(EVP_MAC *, EVP_MAC_fetch, (OSSL_LIB_CTX * lib, const char *name, const char *properties), (lib, name, properties),
     NULL)

/* ---- DPDK ---- */

WRAP(void *, rte_malloc, (const char *type, size_t bytes, unsigned align), (type, bytes, align), NO_RTE_MEMORY)
WRAP(void *, rte_zmalloc, (const char *type, size_t bytes, unsigned align), (type, bytes, align), NO_RTE_MEMORY)
WRAP(void *, rte_malloc_socket, (const char *type, size_t bytes, unsigned align, int node), (type, bytes, align, node),
     NO_RTE_MEMORY)
WRAP(void *, rte_zmalloc_socket, (const char *type, size_t bytes, unsigned align, int node), (type, bytes, align, node),
     NO_RTE_MEMORY)
WRAP(void *, rte_calloc, (const char *type, size_t n, size_t bytes, unsigned align), (type, n, bytes, align),
     NO_RTE_MEMORY)
WRAP(const struct rte_memzone *, rte_memzone_reserve_aligned,
     (const char *name, size_t bytes, int node, unsigned flags, unsigned align), (name, bytes, node, flags, align),
     NO_RTE_MEMORY)
WRAP(struct rte_ring *, rte_ring_create, (const char *name, unsigned count, int node, unsigned flags),
     (name, count, node, flags), NO_RTE_MEMORY)
WRAP(struct rte_mempool *, rte_pktmbuf_pool_create_by_ops,
     (const char *name, unsigned n, unsigned cache, uint16_t priv, uint16_t room, int node, const char *ops),
     (name, n, cache, priv, room, node, ops), NO_RTE_MEMORY)
WRAP(struct rte_mempool *, rte_mempool_create_empty,
     (const char *name, unsigned n, unsigned bytes, unsigned cache, unsigned priv, int node, unsigned flags),
     (name, n, bytes, cache, priv, node, flags), NO_RTE_MEMORY)
WRAP(struct rte_hash *, rte_hash_create, (const struct rte_hash_parameters *params), (params), NO_RTE_MEMORY)
WRAP(struct rte_rib6 *, rte_rib6_create, (const char *name, int node, const struct rte_rib6_conf *conf),
     (name, node, conf), NO_RTE_MEMORY)
WRAP(struct rte_rib6_node *, rte_rib6_insert,
     (struct rte_rib6 * rib, const uint8_t ip[RTE_RIB6_IPV6_ADDR_SIZE], uint8_t depth), (rib, ip, depth), NO_RTE_MEMORY)
WRAP(int, rte_hash_add_key, (const struct rte_hash *hash, const void *key), (hash, key), -ENOSPC)
WRAP(struct rte_tel_data *, rte_tel_data_alloc, (void), (), NULL)
WRAP(int, rte_telemetry_register_cmd, (const char *cmd, telemetry_cb run, const char *help), (cmd, run, help), -ENOMEM)
