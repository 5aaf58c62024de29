/* SPDX-License-Identifier: BSD-3-Clause */
#include "pattern.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rng.h"

enum {
	PERIOD_PAGES = 257, /* prime, a little over 1 MiB with 4 KiB pages */
	STARTS = 4096,      /* different places where flows begin */
	START_STEP = 64,
};

static void fill(uint8_t *bytes, size_t len)
{
	struct rng rng = {.state = 0x77656674};
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t word = rng_next(&rng);
		memcpy(bytes + i, &word, 8);
	}
}

/* Maps `fd`'s `period` bytes over the whole region. */
static int map_repeated(struct pattern *p, int fd, size_t period)
{
	p->base = mmap(NULL, p->mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->base == MAP_FAILED) {
		p->base = NULL;
		return -errno;
	}
	for (size_t at = 0; at < p->mapped_bytes; at += period) {
		int prot = at ? PROT_READ : PROT_READ | PROT_WRITE;
		if (mmap(p->base + at, period, prot, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED)
			return -errno;
	}
	fill(p->base, period);
	return mprotect(p->base, period, PROT_READ) ? -errno : 0;
}

int pattern_create(struct pattern *p, uint64_t max_bytes, struct weft_err *err)
{
	size_t period = (size_t)PERIOD_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	uint64_t wanted = max_bytes + STARTS * START_STEP;
	p->base = NULL;
	p->mapped_bytes = (size_t)((wanted + period - 1) / period * period);
	int fd = memfd_create("weft-pattern", MFD_CLOEXEC);
	int rc = fd < 0 || ftruncate(fd, (off_t)period) ? -errno : map_repeated(p, fd, period);
	if (fd >= 0)
		close(fd);
	if (rc) {
		pattern_destroy(p);
		return weft_err_set(err, rc, "payload pattern: %s", strerror(-rc));
	}
	return 0;
}

void pattern_destroy(struct pattern *p)
{
	if (p->base)
		munmap(p->base, p->mapped_bytes);
	p->base = NULL;
}

const uint8_t *pattern_of(const struct pattern *p, uint32_t index)
{
	assert(p->base);
	return p->base + (rng_mix(index + 1) % STARTS) * START_STEP;
}

void pattern_check_init(struct pattern_check *c, const struct pattern *p, uint32_t index, uint64_t bytes)
{
	*c = (struct pattern_check){.expect = pattern_of(p, index), .bytes = bytes, .salt = rng_mix(~(uint64_t)index)};
}

static uint64_t hash_of(const struct pattern_check *c, uint64_t offset)
{
	return rng_mix(offset ^ c->salt);
}

void pattern_check_sink(void *arg, uint64_t offset, const uint8_t *data, uint32_t len)
{
	struct pattern_check *c = arg;
	c->arrived += len;
	c->chain += hash_of(c, offset + len) - hash_of(c, offset);
	const uint8_t *expected = c->expect + offset;
	if (!data || offset + len > c->bytes)
		c->wrong = true;
	else if (data != expected && memcmp(data, expected, len) != 0) /* by reference it may be the very same memory */
		c->wrong = true;
}

bool pattern_check_ok(const struct pattern_check *c)
{
	return !c->wrong && c->chain == hash_of(c, c->bytes) - hash_of(c, 0);
}
