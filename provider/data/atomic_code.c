/* SPDX-License-Identifier: BSD-3-Clause */
/* Which atomic operations exist: libfabric's operations and types as the engine's. */
#include <assert.h>
#include <rdma/fi_errno.h>

#include "member.h"
#include "prov_amo.h"
#include "prov_atomic.h"

/* The engine's number of each of libfabric's, plus 1; 0: the engine has no such operation. */
static const uint8_t op_codes[FI_ATOMIC_OP_LAST] = {
	[FI_MIN] = WEFT_AMO_MIN + 1,           [FI_MAX] = WEFT_AMO_MAX + 1,
	[FI_SUM] = WEFT_AMO_SUM + 1,           [FI_PROD] = WEFT_AMO_PROD + 1,
	[FI_LOR] = WEFT_AMO_LOR + 1,           [FI_LAND] = WEFT_AMO_LAND + 1,
	[FI_BOR] = WEFT_AMO_BOR + 1,           [FI_BAND] = WEFT_AMO_BAND + 1,
	[FI_LXOR] = WEFT_AMO_LXOR + 1,         [FI_BXOR] = WEFT_AMO_BXOR + 1,
	[FI_ATOMIC_READ] = WEFT_AMO_READ + 1,  [FI_ATOMIC_WRITE] = WEFT_AMO_WRITE + 1,
	[FI_CSWAP] = WEFT_AMO_CSWAP + 1,       [FI_CSWAP_NE] = WEFT_AMO_CSWAP_NE + 1,
	[FI_CSWAP_LE] = WEFT_AMO_CSWAP_LE + 1, [FI_CSWAP_LT] = WEFT_AMO_CSWAP_LT + 1,
	[FI_CSWAP_GE] = WEFT_AMO_CSWAP_GE + 1, [FI_CSWAP_GT] = WEFT_AMO_CSWAP_GT + 1,
	[FI_MSWAP] = WEFT_AMO_MSWAP + 1,
};

static const uint8_t type_codes[] = {
	[FI_INT8] = WEFT_AMO_INT8 + 1,
	[FI_UINT8] = WEFT_AMO_UINT8 + 1,
	[FI_INT16] = WEFT_AMO_INT16 + 1,
	[FI_UINT16] = WEFT_AMO_UINT16 + 1,
	[FI_INT32] = WEFT_AMO_INT32 + 1,
	[FI_UINT32] = WEFT_AMO_UINT32 + 1,
	[FI_INT64] = WEFT_AMO_INT64 + 1,
	[FI_UINT64] = WEFT_AMO_UINT64 + 1,
	[FI_FLOAT] = WEFT_AMO_FLOAT + 1,
	[FI_DOUBLE] = WEFT_AMO_DOUBLE + 1,
	[FI_FLOAT_COMPLEX] = WEFT_AMO_FLOAT_COMPLEX + 1,
	[FI_DOUBLE_COMPLEX] = WEFT_AMO_DOUBLE_COMPLEX + 1,
	[FI_LONG_DOUBLE] = WEFT_AMO_LONG_DOUBLE + 1,
	[FI_LONG_DOUBLE_COMPLEX] = WEFT_AMO_LONG_DOUBLE_COMPLEX + 1,
	[FI_INT128] = WEFT_AMO_INT128 + 1,
	[FI_UINT128] = WEFT_AMO_UINT128 + 1,
};

static bool fits_family(enum prov_amo_family family, uint8_t op)
{
	if (weft_amo_compares(op) || family == PROV_AMO_COMPARE)
		return weft_amo_compares(op) && family == PROV_AMO_COMPARE;
	return op != WEFT_AMO_READ || family == PROV_AMO_FETCH;
}

int prov_amo_code(enum prov_amo_family family, enum fi_datatype datatype, enum fi_op op, struct weft_op_atomic *atomic)
{
	if ((unsigned)datatype >= count_of(type_codes) || (unsigned)op >= count_of(op_codes))
		return -FI_EOPNOTSUPP;
	if (!type_codes[datatype] || !op_codes[op])
		return -FI_EOPNOTSUPP;
	atomic->type = type_codes[datatype] - 1;
	atomic->op = op_codes[op] - 1;
	return weft_amo_valid(atomic->op, atomic->type) && fits_family(family, atomic->op) ? 0 : -FI_EOPNOTSUPP;
}

int prov_atomic_code(enum fi_datatype datatype, enum fi_op op, struct weft_op_atomic *atomic)
{
	return prov_amo_code(PROV_AMO_BASE, datatype, op, atomic);
}

static size_t count_max(const struct prov_domain *domain, const struct weft_op_atomic *atomic)
{
	return weft_atomic_bytes(domain->nic->engine, atomic->op) / weft_amo_bytes(atomic->type);
}

int prov_amo_query(const struct prov_domain *domain, enum prov_amo_family family, enum fi_datatype datatype,
		   enum fi_op op, struct fi_atomic_attr *attr)
{
	struct weft_op_atomic atomic;
	int ret = prov_amo_code(family, datatype, op, &atomic);
	if (ret)
		return ret;
	attr->size = weft_amo_bytes(atomic.type);
	attr->count = count_max(domain, &atomic);
	return attr->count ? 0 : -FI_EOPNOTSUPP;
}

int prov_atomic_query(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op, struct fi_atomic_attr *attr,
		      uint64_t flags)
{
	if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED))
		return -FI_EBADFLAGS;
	if (!attr || (flags & FI_FETCH_ATOMIC && flags & FI_COMPARE_ATOMIC))
		return -FI_EINVAL;
	if (flags & FI_TAGGED)
		return -FI_EOPNOTSUPP;
	enum prov_amo_family family = flags & FI_FETCH_ATOMIC     ? PROV_AMO_FETCH
				      : flags & FI_COMPARE_ATOMIC ? PROV_AMO_COMPARE
								  : PROV_AMO_BASE;
	return prov_amo_query(prov_domain_of(domain), family, datatype, op, attr);
}
