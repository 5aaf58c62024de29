/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_cuda.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Error numbers of CUresult. */
enum { OK, INVALID_VALUE = 1, INVALID_CONTEXT = 201, LAUNCH_FAILED = 719 };

enum { DEPTH = 8 };

static uint8_t *device, *alias; /* the same memory: untouchable, and for us */
static _Thread_local void *contexts[DEPTH];
static _Thread_local int depth;
static atomic_int retained;
static atomic_bool failing;
static atomic_size_t copied_bytes;

static __attribute__((constructor)) void map(void)
{
	int fd = memfd_create("fake_cuda", 0);
	if (fd < 0 || ftruncate(fd, FAKE_CUDA_BYTES))
		abort();
	device = mmap(NULL, FAKE_CUDA_BYTES, PROT_NONE, MAP_SHARED, fd, 0);
	alias = mmap(NULL, FAKE_CUDA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (device == MAP_FAILED || alias == MAP_FAILED)
		abort();
	close(fd);
}

static bool is_ours(CUdeviceptr at, size_t bytes)
{
	CUdeviceptr offset = at - (uintptr_t)device;
	return offset < FAKE_CUDA_BYTES && bytes <= FAKE_CUDA_BYTES - offset;
}

int cuInit(unsigned flags)
{
	return flags ? INVALID_VALUE : OK;
}

int cuDevicePrimaryCtxRetain(void **context, int dev)
{
	if (dev < 0 || dev >= FAKE_CUDA_DEVICES)
		return INVALID_VALUE;
	*context = device + dev;
	retained++;
	return OK;
}

int cuDevicePrimaryCtxRelease_v2(int dev)
{
	retained--;
	return OK;
}

int cuCtxPushCurrent_v2(void *context)
{
	if (depth == DEPTH || retained <= 0)
		return INVALID_CONTEXT;
	contexts[depth++] = context;
	return OK;
}

int cuCtxPopCurrent_v2(void **context)
{
	if (!depth)
		return INVALID_CONTEXT;
	*context = contexts[--depth];
	return OK;
}

int cuPointerGetAttribute(void *value, int attribute, CUdeviceptr at)
{
	enum { MEMORY_TYPE = 2, IS_DEVICE = 2 };
	if (attribute != MEMORY_TYPE || !is_ours(at, 1))
		return INVALID_VALUE;
	*(unsigned *)value = IS_DEVICE;
	return OK;
}

int cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr at)
{
	enum { SYNC_MEMOPS = 6 };
	return attribute == SYNC_MEMOPS && is_ours(at, 1) ? OK : INVALID_VALUE;
}

static int copy_check(CUdeviceptr at, size_t bytes)
{
	if (!depth)
		return INVALID_CONTEXT;
	if (!is_ours(at, bytes))
		return INVALID_VALUE;
	if (failing)
		return LAUNCH_FAILED;
	copied_bytes += bytes;
	return OK;
}

int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	int err = copy_check(from, bytes);
	if (!err)
		memcpy(to, alias + (from - (uintptr_t)device), bytes);
	return err;
}

int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	int err = copy_check(to, bytes);
	if (!err)
		memcpy(alias + (to - (uintptr_t)device), from, bytes);
	return err;
}

void *fake_cuda_memory(void)
{
	return device;
}

void fake_cuda_fail(bool fail)
{
	failing = fail;
}

int fake_cuda_retained(void)
{
	return retained;
}

size_t fake_cuda_copied_bytes(void)
{
	return copied_bytes;
}
