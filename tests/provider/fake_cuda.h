/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in for libcuda.so.1: the driver's calls that the provider uses, over memory whose addresses nobody may touch,
 * so that a copy by the CPU ends the test with SIGSEGV. Two devices. A program linked to it has loaded libcuda.so.1. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

typedef unsigned long long CUdeviceptr;

enum { FAKE_CUDA_DEVICES = 2, FAKE_CUDA_BYTES = 8 << 20 /* memory of them all */ };

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuPointerGetAttribute(void *value, int attribute, CUdeviceptr at);
int cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr at);
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);

/* First address of the devices' memory, FAKE_CUDA_BYTES long. */
void *fake_cuda_memory(void);
/* From now on copies fail, or no longer. */
void fake_cuda_fail(bool fail);
/* Contexts that are retained and not released; bytes copied in either direction. */
int fake_cuda_retained(void);
size_t fake_cuda_copied_bytes(void);

#endif
