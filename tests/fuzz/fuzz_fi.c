/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider by libfabric's calls, in one process: two devices that rings join. The input is a program of calls,
 * which may make no sense: what is bound to the wrong kind, closed too early, used before it is enabled, of lengths,
 * keys and addresses that are none. What must hold: nobody crashes or reads what is not his (sanitizers); a call is
 * refused, or its operation ends exactly once, as soon as the other side takes part; bytes are right; in the end
 * everything can be closed. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include <string.h>

#include "fi_world.h"

static size_t draw_len(struct fi_world *w)
{
	static const uint16_t lens[] = {0, 1, 64, 192, 1024, 4096, 5000, FI_BYTES};
	return lens[program_u8(&w->in) % 8];
}

static fi_addr_t draw_addr(struct fi_world *w, int side)
{
	uint8_t which = program_u8(&w->in);
	if (which < 160)
		return w->side[side].peer;
	return which < 240 ? w->side[side].self : which < 248 ? FI_ADDR_UNSPEC : 1000u + which;
}

/* One flag that may fit, or several that do not. */
static uint64_t draw_flags(struct fi_world *w)
{
	static const uint64_t flags[] = {FI_COMPLETION,
					 FI_INJECT,
					 FI_DELIVERY_COMPLETE,
					 FI_TRANSMIT_COMPLETE,
					 FI_INJECT_COMPLETE,
					 FI_MORE,
					 FI_FENCE,
					 FI_REMOTE_CQ_DATA,
					 FI_PEEK,
					 FI_CLAIM,
					 FI_DISCARD,
					 FI_MULTI_RECV,
					 FI_TRIGGER,
					 FI_MULTICAST,
					 FI_SYNC_ERR,
					 0};
	uint8_t which = program_u8(&w->in);
	return flags[which & 15] | (which & 64 ? FI_COMPLETION : 0) | (which > 200 ? flags[which >> 4] : 0);
}

/* Which side's endpoint, and -1 while that is closed. */
static int draw_side(struct fi_world *w)
{
	int side = program_u8(&w->in) & 1;
	return w->side[side].ep ? side : -1;
}

/* ---- messages ---- */

static void send_one(struct fi_world *w, int side)
{
	uint8_t how = program_u8(&w->in);
	fi_addr_t to = draw_addr(w, side);
	uint64_t tag = how >> 6;
	struct fid_ep *ep = w->side[side].ep;
	struct fi_world_op *op = fi_world_op(w, FI_WORLD_SEND, side, draw_len(w));
	if (!op)
		return;
	size_t cut = op->len / 3;
	const struct iovec iov[2] = {{op->buf, cut}, {op->buf + cut, op->len - cut}};
	switch (how & 7) {
	case 0:
		fi_world_posted(op, fi_send(ep, op->buf, op->len, NULL, to, op));
		break;
	case 1:
		fi_world_posted(op, fi_tsend(ep, op->buf, op->len, NULL, to, tag, op));
		break;
	case 2:
		fi_world_posted(op, fi_sendv(ep, iov, NULL, 2, to, op));
		break;
	case 3:
		fi_world_posted(op, fi_tsendv(ep, iov, NULL, 2, to, tag, op));
		break;
	case 4:
		fi_world_posted(op, fi_senddata(ep, op->buf, op->len, NULL, how, to, op));
		break;
	case 5: /* ends without a word */
		assert_true(fi_inject(ep, op->buf, op->len, to) <= 0);
		break;
	case 6:
		assert_true(fi_tinjectdata(ep, op->buf, op->len, how, to, tag) <= 0);
		break;
	default:
		fi_world_posted(op, fi_tsenddata(ep, op->buf, op->len, NULL, how, to, tag, op));
	}
}

static void sendmsg_one(struct fi_world *w, int side)
{
	uint8_t how = program_u8(&w->in);
	uint64_t flags = draw_flags(w) & ~FI_TRIGGER; /* whose context is another one */
	struct fi_world_op *op = fi_world_op(w, FI_WORLD_SEND, side, draw_len(w));
	if (!op)
		return;
	const struct iovec iov = {op->buf, op->len};
	const struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = draw_addr(w, side), .context = op};
	const struct fi_msg_tagged tagged = {
		.msg_iov = &iov, .iov_count = 1, .addr = msg.addr, .tag = how >> 6, .context = op};
	struct fid_ep *ep = w->side[side].ep;
	fi_world_posted(op, how & 1 ? fi_sendmsg(ep, &msg, flags) : fi_tsendmsg(ep, &tagged, flags));
}

static void recv_one(struct fi_world *w, int side)
{
	uint8_t how = program_u8(&w->in);
	fi_addr_t from = how & 32 ? draw_addr(w, side) : FI_ADDR_UNSPEC;
	uint64_t tag = how >> 6, ignore = how & 16 ? UINT64_MAX : 0;
	struct fid_ep *ep = w->side[side].ep;
	struct fi_world_op *op = fi_world_op(w, FI_WORLD_RECV, side, draw_len(w));
	if (!op)
		return;
	size_t cut = op->len / 2;
	const struct iovec iov[2] = {{op->buf, cut}, {op->buf + cut, op->len - cut}};
	switch (how & 3) {
	case 0:
		fi_world_posted(op, fi_recv(ep, op->buf, op->len, NULL, from, op));
		break;
	case 1:
		fi_world_posted(op, fi_trecv(ep, op->buf, op->len, NULL, from, tag, ignore, op));
		break;
	case 2:
		fi_world_posted(op, fi_recvv(ep, iov, NULL, 2, from, op));
		break;
	default:
		fi_world_posted(op, fi_trecvv(ep, iov, NULL, 2, from, tag, ignore, op));
	}
}

static void recvmsg_one(struct fi_world *w, int side)
{
	uint8_t how = program_u8(&w->in);
	uint64_t flags = draw_flags(w) & ~FI_TRIGGER;
	struct fi_world_op *op = fi_world_op(w, FI_WORLD_RECV, side, draw_len(w));
	if (!op)
		return;
	const struct iovec iov = {op->buf, op->len};
	const struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = how & 1 ? FI_ADDR_UNSPEC : draw_addr(w, side), .context = op};
	const struct fi_msg_tagged tagged = {.msg_iov = &iov,
					     .iov_count = 1,
					     .addr = msg.addr,
					     .tag = how >> 6,
					     .ignore = how & 16 ? UINT64_MAX : 0,
					     .context = op};
	op->keeps_buf = flags & (FI_PEEK | FI_DISCARD | FI_CLAIM);
	op->is_many = flags & FI_MULTI_RECV;
	struct fid_ep *ep = w->side[side].ep;
	fi_world_posted(op, how & 2 ? fi_recvmsg(ep, &msg, flags) : fi_trecvmsg(ep, &tagged, flags));
}

/* ---- accesses ---- */

static void access_one(struct fi_world *w, int side)
{
	uint8_t how = program_u8(&w->in), wrong = program_u8(&w->in);
	bool reads = how & 1;
	size_t at = program_u16(&w->in) % FI_REGION_BYTES;
	struct fi_world_op *op = fi_world_op(w, reads ? FI_WORLD_READ : FI_WORLD_WRITE, side, draw_len(w));
	if (!op)
		return;
	for (size_t i = 0; !reads && i < op->len; i++)
		op->buf[i] = fi_world_region_byte(at + i);
	op->at = at;
	uint64_t key = wrong < 8 ? wrong * UINT64_C(0x1111111111111111) : FI_KEY;
	uint64_t addr = wrong >= 8 && wrong < 12 ? UINT64_MAX - wrong : at;
	const struct iovec iov = {op->buf, op->len};
	const struct fi_rma_iov remote = {addr, op->len, key};
	const struct fi_msg_rma msg = {.msg_iov = &iov,
				       .iov_count = 1,
				       .addr = w->side[side].peer,
				       .rma_iov = &remote,
				       .rma_iov_count = 1,
				       .context = op};
	uint64_t flags = how & 2 ? draw_flags(w) & ~(FI_TRIGGER | FI_REMOTE_CQ_DATA) : FI_COMPLETION;
	struct fid_ep *ep = w->side[side].ep;
	fi_world_posted(op, reads ? fi_readmsg(ep, &msg, flags) : fi_writemsg(ep, &msg, flags));
}

/* Adds one. */
static void add_one(struct fi_world *w, int side)
{
	static const uint64_t one = 1;
	uint8_t how = program_u8(&w->in);
	struct fid_ep *ep = w->side[side].ep;
	struct fi_world_op *op = fi_world_op(w, FI_WORLD_ADD, side, 8);
	if (!op)
		return;
	op->at = how % FI_COUNTERS;
	op->keeps_buf = how & 64;
	uint64_t addr = op->at * 8, key = how < 8 ? FI_KEY + 2 : FI_KEY + 1;
	fi_addr_t to = w->side[side].peer;
	ssize_t ret = how & 64
			      ? fi_atomic(ep, &one, 1, NULL, to, addr, key, FI_UINT64, FI_SUM, op)
			      : fi_fetch_atomic(ep, &one, 1, NULL, op->buf, NULL, to, addr, key, FI_UINT64, FI_SUM, op);
	fi_world_posted(op, ret);
	w->side[!side].tried[op->at] += ret == 0;
}

/* Kinds and numbers that do not go together are refused by the call. */
static void odd_atomic(struct fi_world *w, int side)
{
	uint8_t type = program_u8(&w->in), code = program_u8(&w->in);
	uint8_t operand[64] = {0};
	size_t count;
	enum fi_datatype datatype = type % (FI_DATATYPE_LAST + 2);
	enum fi_op op = code % (FI_ATOMIC_OP_LAST + 2);
	fi_atomicvalid(w->side[side].ep, datatype, op, &count);
	fi_fetch_atomicvalid(w->side[side].ep, datatype, op, &count);
	fi_compare_atomicvalid(w->side[side].ep, datatype, op, &count);
	/* No such key: whatever is carried out is refused there, and told by an error without a context. */
	fi_inject_atomic(w->side[side].ep, operand, 1, w->side[side].peer, 0, FI_KEY + 9, datatype, op);
}

/* ---- all else ---- */

static void cancel_one(struct fi_world *w, int side)
{
	struct fi_world_op *op = &w->ops[program_u8(&w->in) % FI_OPS];
	fi_cancel(&w->side[side].ep->fid, op);
}

static void count_things(struct fi_world *w, int side)
{
	uint8_t how = program_u8(&w->in);
	struct fid_cntr *cntr = w->side[side].cntr;
	uint64_t value = fi_cntr_read(cntr);
	if (how & 1)
		ok(fi_cntr_add(cntr, how));
	if (how & 2)
		ok(fi_cntr_set(cntr, how));
	if (how & 4)
		ok(fi_cntr_adderr(cntr, 1));
	if (how & 8)
		ok(fi_cntr_seterr(cntr, how));
	if (how & 16)
		fi_cntr_wait(cntr, value, 0);
	fi_cntr_readerr(cntr);
}

/* Addresses that nobody has, and those that are there already; both go. */
static void change_vector(struct fi_world *w, int side)
{
	uint8_t name[FI_NAME_MAX] = {0}, how = program_u8(&w->in);
	struct fid_av *av = w->side[side].av;
	size_t len = sizeof name;
	char text[8];
	fi_addr_t addr = FI_ADDR_NOTAVAIL;
	if (w->side[side].ep && how & 1)
		fi_getname(&w->side[side].ep->fid, name, &len);
	for (int i = 0; i < (how >> 1 & 3); i++)
		name[program_u8(&w->in) % 16] = program_u8(&w->in);
	int n = fi_av_insert(av, name, 1, &addr, how & 64 ? draw_flags(w) & ~FI_SYNC_ERR : 0, NULL);
	assert_true(n <= 1);
	len = how >> 4;
	fi_av_lookup(av, addr, name, &len);
	len = sizeof text;
	fi_av_straddr(av, name, text, &len);
	bool is_used = addr == w->side[side].peer || addr == w->side[side].self;
	if (!is_used && how & 8)
		fi_av_remove(av, &addr, 1, 0);
}

static struct fid **draw_extra(struct fi_world *w, int side)
{
	return &w->side[side].extra[program_u8(&w->in) % FI_EXTRA];
}

static void extra_open(struct fi_world *w, int side)
{
	struct fid **slot = draw_extra(w, side);
	uint8_t how = program_u8(&w->in);
	struct fid_domain *domain = w->side[side].domain;
	struct fi_av_attr av_attr = {
		.type = how >> 3 & 3, .count = how, .rx_ctx_bits = how >> 5, .flags = how > 250 ? 1 : 0};
	struct fi_cq_attr cq_attr = {.format = how >> 3 & 7, .size = how, .wait_obj = how >> 4 & 7};
	struct fi_cntr_attr cntr_attr = {.events = how >> 3 & 1, .wait_obj = how >> 4 & 7};
	struct fi_eq_attr eq_attr = {.size = how, .wait_obj = how >> 4 & 7, .flags = how & 8 ? FI_WRITE : 0};
	struct fid *fid = NULL;
	if (*slot)
		return;
	if (cq_attr.wait_obj == FI_WAIT_SET)
		cq_attr.wait_obj = cntr_attr.wait_obj = eq_attr.wait_obj = FI_WAIT_NONE; /* names an object */
	int ret = (how & 7) == 0   ? fi_av_open(domain, &av_attr, (struct fid_av **)&fid, NULL)
		  : (how & 7) == 1 ? fi_cq_open(domain, &cq_attr, (struct fid_cq **)&fid, NULL)
		  : (how & 7) == 2 ? fi_cntr_open(domain, &cntr_attr, (struct fid_cntr **)&fid, NULL)
		  : (how & 7) == 3 ? fi_eq_open(w->side[side].fabric, &eq_attr, (struct fid_eq **)&fid, NULL)
		  : (how & 7) == 4 ? fi_stx_context(domain, NULL, (struct fid_stx **)&fid, NULL)
		  : (how & 7) == 5 ? fi_srx_context(domain, NULL, (struct fid_ep **)&fid, NULL)
				   : fi_endpoint(domain, w->side[side].info, (struct fid_ep **)&fid, NULL);
	*slot = ret == 0 ? fid : NULL;
}

static bool is_ep(const struct fid *fid)
{
	return fid && fid->fclass == FI_CLASS_EP;
}

/* Binds anything to an endpoint, of the other side's too. */
static void extra_bind(struct fi_world *w, int side)
{
	struct fid *ep = *draw_extra(w, side);
	uint8_t how = program_u8(&w->in);
	struct fi_world_side *s = &w->side[how & 1 ? side : !side];
	struct fid *others[] = {&s->av->fid,    &s->cq->fid,     &s->cntr->fid,
				&s->mr[0]->fid, &s->domain->fid, *draw_extra(w, how & 1)};
	static const uint64_t flags[] = {0,
					 FI_TRANSMIT,
					 FI_RECV,
					 FI_TRANSMIT | FI_RECV,
					 FI_SEND,
					 FI_READ | FI_WRITE,
					 FI_SELECTIVE_COMPLETION | FI_RECV,
					 FI_REMOTE_WRITE};
	struct fid *other = others[(how >> 1) % 6];
	if (!is_ep(ep) || !other)
		return;
	fi_ep_bind((struct fid_ep *)ep, other, flags[how >> 5]);
}

/* Enables it, uses it whether or not that works, and asks it. */
static void extra_use(struct fi_world *w, int side)
{
	struct fid *fid = *draw_extra(w, side);
	uint8_t how = program_u8(&w->in), byte = 0, name[FI_NAME_MAX];
	size_t len = how, left = sizeof left;
	if (!is_ep(fid))
		return;
	struct fid_ep *ep = (struct fid_ep *)fid;
	if (how & 1)
		fi_enable(ep);
	fi_getname(fid, name, &len);
	fi_getopt(fid, FI_OPT_ENDPOINT, how >> 4, &left, &left);
	fi_setopt(fid, FI_OPT_ENDPOINT, how >> 4, &left, how & 8);
	if (how & 2)
		assert_true(fi_inject(ep, &byte, 0, w->side[side].peer) <= 0);
	if (how & 4)
		assert_true(fi_recv(ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL) <= 0);
}

static void extra_close(struct fi_world *w, int side)
{
	struct fid **slot = draw_extra(w, side);
	int ret = *slot ? fi_close(*slot) : 0;
	assert_true(ret == 0 || ret == -FI_EBUSY);
	if (!ret)
		*slot = NULL;
}

/* What others use stays. */
static void close_too_early(struct fi_world *w, int side)
{
	struct fi_world_side *s = &w->side[side];
	if (!s->ep)
		return;
	struct fid *fids[] = {&s->av->fid, &s->cq->fid, &s->cntr->fid, &s->domain->fid, &s->fabric->fid};
	assert_int_equal(fi_close(fids[program_u8(&w->in) % 5]), -FI_EBUSY);
}

static void ep_change(struct fi_world *w, int side)
{
	if (w->side[side].ep && program_u8(&w->in) < 32)
		fi_world_ep_close(w, side);
	else if (!w->side[side].ep)
		fi_world_ep_open(w, side);
}

static void read_some(struct fi_world *w)
{
	uint8_t how = program_u8(&w->in);
	for (int turn = 0; turn < 1 + (how >> 4); turn++)
		fi_world_read(w, turn & 1 ? how & 1 : !(how & 1), how >> 1 & 7);
}

static void step(struct fi_world *w)
{
	static void (*const with_ep[])(struct fi_world *, int) = {send_one,   sendmsg_one, recv_one,   recvmsg_one,
								  access_one, add_one,     odd_atomic, cancel_one,
								  send_one,   recv_one};
	static void (*const without[])(struct fi_world *, int) = {count_things,    change_vector, extra_open,
								  extra_bind,      extra_use,     extra_close,
								  close_too_early, ep_change};
	uint8_t what = program_u8(&w->in);
	int side = draw_side(w);
	if (what < 120 && side >= 0)
		with_ep[what % 10](w, side);
	else if (what >= 120 && what < 190)
		without[what % 8](w, program_u8(&w->in) & 1);
	else
		read_some(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fi_world w;
	fi_world_start();
	fi_world_open(&w, data, size);
	while (w.in.left)
		step(&w);
	fi_world_settle(&w);
	fi_world_close(&w);
	return 0;
}
