/* SPDX-License-Identifier: BSD-3-Clause */
/* What every header of this folder needs of the compiler: linkage for C and C++, and words C++ spells otherwise. */
#ifndef WEFT_DECL_H
#define WEFT_DECL_H

/* Around the declarations of a public header: names as in C, and seen by users of the shared library, whose other
 * functions are hidden. */
#ifdef __cplusplus
#define WEFT_BEGIN_DECLS                                                                                               \
	_Pragma("GCC visibility push(default)") extern "C"                                                             \
	{
#define WEFT_END_DECLS                                                                                                 \
	}                                                                                                              \
	_Pragma("GCC visibility pop")
#define WEFT_STATIC_ASSERT(condition, text) static_assert(condition, text)
#define WEFT_ALIGNAS(bytes)                 alignas(bytes)
#else
#define WEFT_BEGIN_DECLS                    _Pragma("GCC visibility push(default)")
#define WEFT_END_DECLS                      _Pragma("GCC visibility pop")
#define WEFT_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#define WEFT_ALIGNAS(bytes)                 _Alignas(bytes)
#endif

#endif
