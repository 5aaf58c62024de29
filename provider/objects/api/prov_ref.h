/* SPDX-License-Identifier: BSD-3-Clause */
/* Reference counts: an object cannot be closed while others refer to it. */
#ifndef PROV_REF_H
#define PROV_REF_H

#include <assert.h>
#include <stdatomic.h>

static inline void prov_ref(atomic_uint *refs)
{
	(void)atomic_fetch_add(refs, 1);
}

static inline void prov_unref(atomic_uint *refs)
{
	unsigned before = atomic_fetch_sub(refs, 1);
	assert(before > 0);
	(void)before;
}

#endif
