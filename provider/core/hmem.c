/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_hmem.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "member.h"
#include "prov_log.h"

/* ---- CUDA's driver interface, as far as it is needed ---- */

enum {
	CUDA_MEMORY_TYPE = 2, /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
	CUDA_SYNC_MEMOPS = 6, /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
};

/* Results are 0 or an error number; addresses of devices are `unsigned long long`. */
static struct {
	void *library;
	int (*init)(unsigned flags);
	int (*retain)(void **context, int device);
	int (*release)(int device);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*get)(void *value, int attribute, unsigned long long at);
	int (*set)(const void *value, int attribute, unsigned long long at);
	int (*from_device)(void *to, unsigned long long from, size_t bytes);
	int (*to_device)(unsigned long long to, const void *from, size_t bytes);
} cuda;

static pthread_once_t cuda_once = PTHREAD_ONCE_INIT;

static bool symbols_find(void)
{
	const struct {
		const char *name;
		void *place;
	} rows[] = {
		{"cuInit", &cuda.init},
		{"cuDevicePrimaryCtxRetain", &cuda.retain},
		{"cuDevicePrimaryCtxRelease_v2", &cuda.release},
		{"cuCtxPushCurrent_v2", &cuda.push},
		{"cuCtxPopCurrent_v2", &cuda.pop},
		{"cuPointerGetAttribute", &cuda.get},
		{"cuPointerSetAttribute", &cuda.set},
		{"cuMemcpyDtoH_v2", &cuda.from_device},
		{"cuMemcpyHtoD_v2", &cuda.to_device},
	};
	for (size_t i = 0; i < count_of(rows); i++) {
		*(void **)rows[i].place = dlsym(cuda.library, rows[i].name);
		if (!*(void **)rows[i].place)
			return false;
	}
	return true;
}

/* Stays loaded: contexts and copies may outlive any object of ours. */
static void cuda_load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	cuda.library = library;
	if (!library) {
		FI_WARN(&prov_weft, FI_LOG_MR, "FI_HMEM_CUDA: %s\n", dlerror());
	} else if (!symbols_find() || cuda.init(0)) {
		FI_WARN(&prov_weft, FI_LOG_MR, "FI_HMEM_CUDA: libcuda.so.1 is too old or finds no device\n");
		cuda.library = NULL;
		dlclose(library);
	}
}

/* A piece of a region must be CUDA's. Copies of such memory are to have ended when they return, whatever their size;
 * not every kind of allocation knows that attribute. */
static bool cuda_owns(const struct iovec *piece)
{
	unsigned long long at = (uintptr_t)piece->iov_base;
	unsigned type, yes = 1;
	if (cuda.get(&type, CUDA_MEMORY_TYPE, at))
		return false;
	if (cuda.set(&yes, CUDA_SYNC_MEMOPS, at))
		FI_INFO(&prov_weft, FI_LOG_MR, "FI_HMEM_CUDA: %p has no SYNC_MEMOPS\n", piece->iov_base);
	return true;
}

static int cuda_open(const struct fi_mr_attr *attr, struct prov_hmem *mem)
{
	pthread_once(&cuda_once, cuda_load);
	if (!cuda.library)
		return -FI_ENOSYS;
	mem->device = attr->device.cuda;
	if (cuda.retain(&mem->cuda, mem->device) || !mem->cuda) {
		FI_WARN(&prov_weft, FI_LOG_MR, "FI_HMEM_CUDA: no device %d\n", mem->device);
		mem->cuda = NULL;
		return -FI_EINVAL;
	}
	for (size_t i = 0; i < attr->iov_count; i++)
		if (attr->mr_iov[i].iov_len && !cuda_owns(&attr->mr_iov[i])) {
			FI_WARN(&prov_weft, FI_LOG_MR, "FI_HMEM_CUDA: %p is no memory of CUDA's\n",
				attr->mr_iov[i].iov_base);
			prov_hmem_close(mem);
			return -FI_EINVAL;
		}
	return 0;
}

/* ---- any interface ---- */

int prov_hmem_open(const struct fi_mr_attr *attr, uint64_t flags, struct prov_hmem *mem)
{
	*mem = (struct prov_hmem){.cuda = NULL};
	if (attr->iface > FI_HMEM_SYNAPSEAI)
		return -FI_EINVAL;
	if (attr->iface == FI_HMEM_SYSTEM || flags & FI_HMEM_HOST_ALLOC) /* the host's, by whatever call */
		return 0;
	if (attr->iface == FI_HMEM_CUDA)
		return cuda_open(attr, mem);
	FI_WARN(&prov_weft, FI_LOG_MR, "memory of interface %d (enum fi_hmem_iface) can't be registered\n",
		(int)attr->iface);
	return -FI_ENOSYS;
}

void prov_hmem_close(struct prov_hmem *mem)
{
	if (mem->cuda)
		cuda.release(mem->device);
	mem->cuda = NULL;
}

bool prov_hmem_copy(const struct prov_hmem *mem, void *at, void *other, uint64_t bytes, bool to_device)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	void *mine;
	assert(mem->cuda && cuda.library);
	int err = bytes ? cuda.push(mem->cuda) : 0;
	if (!err && bytes) {
		err = to_device ? cuda.to_device((uintptr_t)at, other, bytes)
				: cuda.from_device(other, (uintptr_t)at, bytes);
		cuda.pop(&mine);
	}
	if (err && !atomic_flag_test_and_set(&told))
		FI_WARN(&prov_weft, FI_LOG_MR, "FI_HMEM_CUDA: copy of %llu bytes at %p failed: error %d\n",
			(unsigned long long)bytes, at, err);
	return !err;
}
