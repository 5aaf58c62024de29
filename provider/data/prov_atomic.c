/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomic operations: what is possible, and the calls of fi_ops_atomic as operations of the engine. */
#include "prov_atomic.h"

#include <stdlib.h>
#include <string.h>

#include "prov_rma.h"
#include "trigger.h"

/* The three families of calls. */
enum family { BASE, FETCH, COMPARE };

/* libfabric's numbers as the engine's, one more than they are; 0: there is none. */
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

static bool fits_family(enum family family, uint8_t op)
{
	if (weft_amo_compares(op) || family == COMPARE)
		return weft_amo_compares(op) && family == COMPARE;
	return op != WEFT_AMO_READ || family == FETCH;
}

/* The engine's numbers; -FI_EOPNOTSUPP when this family has no such operation on this type. */
static int translate(enum family family, enum fi_datatype datatype, enum fi_op op, struct weft_op_atomic *atomic)
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
	return translate(BASE, datatype, op, atomic);
}

static size_t count_max(const struct prov_domain *domain, const struct weft_op_atomic *atomic)
{
	return weft_atomic_bytes(domain->nic->engine, atomic->op) / weft_amo_bytes(atomic->type);
}

/* ---- what is possible ---- */

static int query(const struct prov_domain *domain, enum family family, enum fi_datatype datatype, enum fi_op op,
		 struct fi_atomic_attr *attr)
{
	struct weft_op_atomic atomic;
	int ret = translate(family, datatype, op, &atomic);
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
	enum family family = flags & FI_FETCH_ATOMIC ? FETCH : flags & FI_COMPARE_ATOMIC ? COMPARE : BASE;
	return query(container_of(domain, struct prov_domain, fid), family, datatype, op, attr);
}

static int valid(struct fid_ep *fid, enum family family, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	struct fi_atomic_attr attr;
	int ret = count ? query(prov_ep_of(fid)->domain, family, datatype, op, &attr) : -FI_EINVAL;
	if (!ret)
		*count = attr.count;
	return ret;
}

static int base_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return valid(ep, BASE, datatype, op, count);
}

static int fetch_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return valid(ep, FETCH, datatype, op, count);
}

static int compare_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return valid(ep, COMPARE, datatype, op, count);
}

/* ---- calls ---- */

/* Vectors of elements as the application gave them. */
struct ioc {
	const struct fi_ioc *at;
	size_t count;
};

/* Bytes of a vector's elements, which become `iov`; -1: impossible. */
static int64_t to_iov(const struct ioc *ioc, uint32_t element_bytes, struct iovec *iov)
{
	uint64_t total = 0;
	if (ioc->count > PROV_IOV_MAX || (ioc->count && !ioc->at))
		return -1;
	for (size_t i = 0; i < ioc->count; i++) {
		if (ioc->at[i].count > UINT32_MAX || (ioc->at[i].count && !ioc->at[i].addr))
			return -1;
		iov[i] = (struct iovec){.iov_base = ioc->at[i].addr, .iov_len = ioc->at[i].count * element_bytes};
		total += iov[i].iov_len;
	}
	return (int64_t)total;
}

/* One call of any family. */
struct call {
	enum family family;
	struct ioc operands, comparands, results;
	const struct fi_msg_atomic *msg; /* for all the rest */
	uint64_t flags;
};

/* What a call comes to: operands and comparands in a row, results, and how many bytes each of them has. */
struct plan {
	struct weft_op_atomic atomic;
	struct iovec in[2 * PROV_IOV_MAX], out[PROV_IOV_MAX];
	size_t operand_count, in_count, out_count; /* pieces: of the operands, of all that goes in, of the results */
	uint64_t in_bytes, bytes;                  /* all that goes in; the target's elements */
	struct fi_rma_ioc remote[PROV_IOV_MAX];
	size_t parts; /* of `remote` */
};

/* Elements of all remote segments, which are kept; 0: impossible. */
static uint64_t keep_remote(struct plan *plan, const struct fi_msg_atomic *msg)
{
	uint64_t total = 0;
	if (msg->rma_iov_count > PROV_IOV_MAX || !msg->rma_iov)
		return 0;
	for (size_t i = 0; i < msg->rma_iov_count; i++) {
		if (!msg->rma_iov[i].count || msg->rma_iov[i].count > UINT32_MAX)
			return 0;
		plan->remote[plan->parts++] = msg->rma_iov[i];
		total += msg->rma_iov[i].count;
	}
	return total;
}

/* Every vector has as many elements as the target. */
static bool counts_agree(const struct call *c, const int64_t totals[3], int64_t bytes)
{
	return (c->family == BASE || totals[2] == bytes) && (c->family != COMPARE || totals[1] == bytes);
}

static int make_plan(const struct prov_domain *domain, const struct call *c, struct plan *plan)
{
	*plan = (struct plan){.out_count = c->results.count};
	int ret = translate(c->family, c->msg->datatype, c->msg->op, &plan->atomic);
	if (ret)
		return ret;
	uint32_t element_bytes = weft_amo_bytes(plan->atomic.type);
	bool reads = plan->atomic.op == WEFT_AMO_READ; /* operands mean nothing then */
	const struct ioc none = {NULL, 0}, *operands = reads ? &none : &c->operands;
	int64_t totals[3] = {to_iov(operands, element_bytes, plan->in)};
	totals[1] = totals[0] < 0 ? -1 : to_iov(&c->comparands, element_bytes, plan->in + operands->count);
	totals[2] = to_iov(&c->results, element_bytes, plan->out);
	int64_t bytes = totals[reads ? 2 : 0];
	if (totals[0] < 0 || totals[1] < 0 || bytes <= 0 || !counts_agree(c, totals, bytes) ||
	    keep_remote(plan, c->msg) != (uint64_t)bytes / element_bytes)
		return -FI_EINVAL;
	plan->operand_count = operands->count;
	plan->in_count = operands->count + c->comparands.count;
	plan->in_bytes = (uint64_t)(totals[0] + totals[1]);
	plan->bytes = (uint64_t)bytes;
	return plan->bytes > weft_atomic_bytes(domain->nic->engine, plan->atomic.op) ? -FI_EMSGSIZE : 0;
}

/* One operation of the engine for each remote segment, the first fenced if any is. */
static void fill_parts(struct prov_req *req, const struct plan *plan, const struct weft_op *whole,
		       struct weft_op *parts)
{
	for (size_t i = 0; i < plan->parts; i++) {
		parts[i] = *whole;
		parts[i].flags &= (uint16_t) ~(i ? WEFT_OP_FENCE : 0);
		parts[i].len = plan->remote[i].count * weft_amo_bytes(plan->atomic.type);
		parts[i].raddr = plan->remote[i].addr;
		parts[i].rkey = plan->remote[i].key;
		parts[i].atomic = &req->atomics[i];
		req->atomics[i] = plan->atomic;
	}
}

/* Copies `len` bytes of the pieces, from `offset` on; returns the end of the copy. */
static uint8_t *copy_from(uint8_t *to, const struct iovec *iov, uint64_t offset, uint64_t len)
{
	for (; len; iov++) {
		if (offset >= iov->iov_len) {
			offset -= iov->iov_len;
			continue;
		}
		uint64_t n = len < iov->iov_len - offset ? len : iov->iov_len - offset;
		memcpy(to, (const uint8_t *)iov->iov_base + offset, n);
		to += n;
		len -= n;
		offset = 0;
	}
	return to;
}

/* A copy in which each part has its operands and comparands in a row, behind room for `kept` bytes of results. */
static int stage(struct prov_req *req, const struct plan *plan, uint64_t kept, struct weft_op *parts)
{
	uint64_t at = 0;
	uint8_t *p = req->bounce = malloc(kept + plan->in_bytes);
	if (!p)
		return -FI_EAGAIN;
	p += kept;
	for (size_t i = 0; i < plan->parts && plan->in_bytes; i++) {
		parts[i].buf = p;
		p = copy_from(p, plan->in, at, parts[i].len);
		if (plan->in_count > plan->operand_count)
			p = copy_from(p, plan->in + plan->operand_count, at, parts[i].len);
		at += parts[i].len;
	}
	return 0;
}

static void place_results(struct prov_req *req, const struct plan *plan, struct weft_op *parts)
{
	uint8_t *to = req->gathered ? req->bounce : plan->out_count == 1 ? plan->out[0].iov_base : NULL;
	for (size_t i = 0; to && i < plan->parts; i++) {
		req->atomics[i].result = to;
		to += parts[i].len;
	}
	if (plan->out_count < 2)
		return;
	memcpy(req->iov, plan->out, plan->out_count * sizeof *plan->out);
	req->iov_count = (uint32_t)plan->out_count;
	if (req->gathered)
		return; /* scattered at the end */
	parts[0].sink = prov_req_scatter;
	parts[0].sink_arg = req;
}

/* Where the engine finds operands and leaves results. */
static int buffers(struct prov_req *req, const struct plan *plan, uint64_t flags, struct weft_op *parts)
{
	bool copied = plan->in_bytes && (flags & FI_INJECT || plan->in_count > 1 || plan->parts > 1);
	req->gathered = plan->out_count > 1 && plan->parts > 1;
	parts[0].buf = req->entry.buf;
	if ((copied || req->gathered) && stage(req, plan, req->gathered ? plan->bytes : 0, parts))
		return -FI_EAGAIN;
	place_results(req, plan, parts);
	return 0;
}

static ssize_t post_planned(struct prov_ep *ep, const struct call *c, const struct plan *plan, struct weft_op *wop)
{
	bool fetches = c->family != BASE;
	const struct prov_op op = {.kind = wop->kind,
				   .iov = plan->in,
				   .iov_count = plan->in_count,
				   .flags = c->flags,
				   .context = c->msg->context};
	struct weft_op parts[PROV_IOV_MAX];
	struct prov_req *req = prov_tx_req(ep, &op, FI_ATOMIC | (fetches ? FI_READ : FI_WRITE));
	if (!req)
		return -FI_EAGAIN;
	req->counter = fetches ? PROV_CNTR_READ : PROV_CNTR_WRITE;
	wop->context = req;
	fill_parts(req, plan, wop, parts);
	if (buffers(req, plan, c->flags, parts)) {
		prov_req_put(ep->domain->nic, req);
		return -FI_EAGAIN;
	}
	return prov_tx_post(ep, req, parts, (unsigned)plan->parts);
}

static ssize_t post_locked(struct prov_ep *ep, const struct call *c)
{
	struct plan plan;
	int ret = make_plan(ep->domain, c, &plan);
	if (ret)
		return ret;
	struct weft_op wop = {.kind = c->family == BASE ? WEFT_OP_ATOMIC : WEFT_OP_FETCH_ATOMIC};
	if (prov_av_peer(ep->av, c->msg->addr, &wop.peer))
		return -FI_EINVAL;
	if (c->flags & FI_INJECT && plan.in_bytes > PROV_INJECT_BYTES)
		return -FI_EMSGSIZE;
	ret = prov_tx_level(c->flags, &wop);
	if (!ret)
		ret = prov_tx_room(ep, (unsigned)plan.parts);
	wop.flags &= (uint16_t)~WEFT_OP_MATCHED;
	return ret ? ret : post_planned(ep, c, &plan, &wop);
}

static ssize_t post_triggered(struct prov_ep *ep, const struct call *c)
{
	const struct fi_msg_fetch fetch = {.msg_iov = (struct fi_ioc *)c->results.at, .iov_count = c->results.count};
	const struct fi_msg_compare compare = {.msg_iov = c->comparands.at, .iov_count = c->comparands.count};
	return prov_trigger_atomic(ep, c->msg, c->family == BASE ? NULL : &fetch,
				   c->family == COMPARE ? &compare : NULL, c->flags);
}

static ssize_t post(struct fid_ep *fid, const struct call *c)
{
	struct prov_ep *ep = prov_ep_of(fid);
	struct prov_nic *nic = ep->domain->nic;
	if (!ep->enabled || ep->no_tx)
		return -FI_EOPBADSTATE;
	if (c->flags & (FI_TAGGED | FI_REMOTE_CQ_DATA))
		return -FI_EBADFLAGS;
	if (c->flags & FI_TRIGGER)
		return post_triggered(ep, c);
	prov_nic_lock(nic);
	return prov_tx_leave(nic, post_locked(ep, c), c->flags, false);
}

static ssize_t base_post(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return post(
		ep,
		&(struct call){.family = BASE, .operands = {msg->msg_iov, msg->iov_count}, .msg = msg, .flags = flags});
}

static ssize_t fetch_post(struct fid_ep *ep, const struct fi_msg_atomic *msg, const struct fi_ioc *results,
			  size_t result_count, uint64_t flags)
{
	return post(ep, &(struct call){.family = FETCH,
				       .operands = {msg->msg_iov, msg->iov_count},
				       .results = {results, result_count},
				       .msg = msg,
				       .flags = flags});
}

static ssize_t compare_post(struct fid_ep *ep, const struct fi_msg_atomic *msg, struct ioc comparands,
			    struct ioc results, uint64_t flags)
{
	return post(ep, &(struct call){.family = COMPARE,
				       .operands = {msg->msg_iov, msg->iov_count},
				       .comparands = comparands,
				       .results = results,
				       .msg = msg,
				       .flags = flags});
}

static ssize_t base_msg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return base_post(ep, msg, flags & ~PROV_NO_COMPLETION);
}

static ssize_t fetch_msg(struct fid_ep *ep, const struct fi_msg_atomic *msg, struct fi_ioc *results, void **desc,
			 size_t result_count, uint64_t flags)
{
	return fetch_post(ep, msg, results, result_count, flags & ~PROV_NO_COMPLETION);
}

static ssize_t compare_msg(struct fid_ep *ep, const struct fi_msg_atomic *msg, const struct fi_ioc *comparands,
			   void **compare_desc, size_t compare_count, struct fi_ioc *results, void **result_desc,
			   size_t result_count, uint64_t flags)
{
	return compare_post(ep, msg, (struct ioc){comparands, compare_count}, (struct ioc){results, result_count},
			    flags & ~PROV_NO_COMPLETION);
}

static size_t elements(const struct fi_ioc *iov, size_t count)
{
	size_t total = 0;
	for (size_t i = 0; iov && i < count; i++)
		total += iov[i].count;
	return total;
}

/* What the calls without a struct fi_msg_atomic have in common. */
#define MSG(IOV, COUNT, DEST, ADDR, KEY, TYPE, OP, CONTEXT, ELEMENTS)                                                  \
	(&(const struct fi_msg_atomic){                                                                                \
		.msg_iov = (IOV),                                                                                      \
		.iov_count = (COUNT),                                                                                  \
		.addr = (DEST),                                                                                        \
		.rma_iov = &(const struct fi_rma_ioc){.addr = (ADDR), .count = (ELEMENTS), .key = (KEY)},              \
		.rma_iov_count = 1,                                                                                    \
		.datatype = (TYPE),                                                                                    \
		.op = (OP),                                                                                            \
		.context = (CONTEXT)})

static ssize_t base_v(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count, fi_addr_t dest,
		      uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	return base_post(ep, MSG(iov, count, dest, addr, key, type, op, context, elements(iov, count)),
			 prov_tx_flags(ep));
}

static ssize_t base(struct fid_ep *ep, const void *buf, size_t count, void *desc, fi_addr_t dest, uint64_t addr,
		    uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	const struct fi_ioc iov = {.addr = (void *)buf, .count = count};
	return base_v(ep, &iov, NULL, 1, dest, addr, key, type, op, context);
}

static ssize_t base_inject(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t dest, uint64_t addr,
			   uint64_t key, enum fi_datatype type, enum fi_op op)
{
	const struct fi_ioc iov = {.addr = (void *)buf, .count = count};
	return base_post(ep, MSG(&iov, 1, dest, addr, key, type, op, NULL, count), FI_INJECT | PROV_NO_COMPLETION);
}

static ssize_t fetch_v(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count, struct fi_ioc *results,
		       void **result_desc, size_t result_count, fi_addr_t dest, uint64_t addr, uint64_t key,
		       enum fi_datatype type, enum fi_op op, void *context)
{
	return fetch_post(ep, MSG(iov, count, dest, addr, key, type, op, context, elements(results, result_count)),
			  results, result_count, prov_tx_flags(ep));
}

static ssize_t fetch(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result, void *result_desc,
		     fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	const struct fi_ioc iov = {.addr = (void *)buf, .count = count};
	struct fi_ioc results = {.addr = result, .count = count};
	return fetch_v(ep, &iov, NULL, 1, &results, NULL, 1, dest, addr, key, type, op, context);
}

static ssize_t compare_v(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			 const struct fi_ioc *comparands, void **compare_desc, size_t compare_count,
			 struct fi_ioc *results, void **result_desc, size_t result_count, fi_addr_t dest, uint64_t addr,
			 uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	return compare_post(ep, MSG(iov, count, dest, addr, key, type, op, context, elements(iov, count)),
			    (struct ioc){comparands, compare_count}, (struct ioc){results, result_count},
			    prov_tx_flags(ep));
}

static ssize_t compare(struct fid_ep *ep, const void *buf, size_t count, void *desc, const void *comparand,
		       void *compare_desc, void *result, void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key,
		       enum fi_datatype type, enum fi_op op, void *context)
{
	const struct fi_ioc iov = {.addr = (void *)buf, .count = count};
	const struct fi_ioc comparands = {.addr = (void *)comparand, .count = count};
	struct fi_ioc results = {.addr = result, .count = count};
	return compare_v(ep, &iov, NULL, 1, &comparands, NULL, 1, &results, NULL, 1, dest, addr, key, type, op,
			 context);
}

struct fi_ops_atomic prov_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = base,
	.writev = base_v,
	.writemsg = base_msg,
	.inject = base_inject,
	.readwrite = fetch,
	.readwritev = fetch_v,
	.readwritemsg = fetch_msg,
	.compwrite = compare,
	.compwritev = compare_v,
	.compwritemsg = compare_msg,
	.writevalid = base_valid,
	.readwritevalid = fetch_valid,
	.compwritevalid = compare_valid,
};
