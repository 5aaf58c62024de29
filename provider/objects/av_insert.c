/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls on an address vector: insertion in all its forms, removal, look-up. Nothing takes time, so asynchronous
 * insertions are done when the call returns and only tell their result elsewhere. */
#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "av_table.h"
#include "avshare.h"
#include "member.h"
#include "prov_addr.h"
#include "prov_eq.h"

/* Largest number of addresses one fi_av_insertsym may create. */
enum { SYMMETRIC_MAX = 1 << 20 };

static struct prov_av *av_of(struct fid_av *fid)
{
	return container_of(fid, struct prov_av, fid);
}

/* Lock held. `user_id` may be NULL. */
static int insert_one(struct prov_av *av, const void *sock, const fi_addr_t *user_id, fi_addr_t *out)
{
	struct prov_nic *nic = av->domain->nic;
	assert_locked(nic);
	struct weft_addr addr;
	uint32_t index = UINT32_MAX;
	if (prov_addr_from_sock(sock, prov_addr_len(&nic->ip), &nic->ip, &addr) || !addr.port ||
	    weft_ip_is_any(&addr.ip))
		return -FI_EINVAL;
	int ret = av->share ? prov_avshare_insert(av->share, &addr, &index) : 0;
	if (ret)
		return ret;
	if (av->share) {
		prov_av_follow(av);
		*out = index;
		ret = index < av->count && av->entries[index].uses ? 0 : -FI_ENOMEM;
	} else {
		ret = prov_av_entry_add(av, &addr, index, out);
	}
	if (!ret && user_id)
		av->entries[*out].alias = *user_id;
	return ret;
}

/* Inserts all addresses; `errs` receives one error number per address. Returns how many were inserted. */
static size_t insert_all(struct prov_av *av, const void *addrs, size_t count, fi_addr_t *fi_addr, uint64_t flags,
			 int *errs)
{
	size_t inserted = 0, stride = prov_addr_len(&av->domain->nic->ip);
	prov_nic_lock(av->domain->nic);
	for (size_t i = 0; i < count; i++) {
		fi_addr_t index = FI_ADDR_NOTAVAIL;
		int ret = insert_one(av, (const char *)addrs + i * stride, flags & FI_AV_USER_ID ? &fi_addr[i] : NULL,
				     &index);
		inserted += !ret;
		if (fi_addr)
			fi_addr[i] = ret ? FI_ADDR_NOTAVAIL : index;
		if (errs)
			errs[i] = -ret;
	}
	prov_nic_unlock(av->domain->nic);
	return inserted;
}

static struct prov_eq *eq_of(const struct prov_av *av)
{
	return av->eq ? av->eq : av->domain->eq;
}

/* What insert_events needs, before anything is inserted. */
struct insert_report {
	int *errs;                  /* of each address, positive */
	struct prov_event **events; /* one for each address, and one for all */
	size_t count;
};

static void report_free(struct insert_report *r)
{
	for (size_t i = 0; r->events && i <= r->count; i++)
		free(r->events[i]);
	free(r->events);
	free(r->errs);
}

static int report_reserve(struct insert_report *r, size_t count)
{
	*r = (struct insert_report){calloc(count + 1, sizeof *r->errs), calloc(count + 1, sizeof *r->events), count};
	bool has_all = r->errs && r->events;
	for (size_t i = 0; has_all && i <= count; i++)
		has_all = (r->events[i] = prov_eq_reserve());
	if (has_all)
		return 0;
	report_free(r);
	return -FI_ENOMEM;
}

static void report_post(struct prov_av *av, struct insert_report *r, size_t i, const struct fi_eq_err_entry *entry)
{
	prov_eq_post_reserved(eq_of(av), NULL, r->events[i], FI_AV_COMPLETE, entry);
	r->events[i] = NULL;
}

/* One event for each failure, then one that says how many were inserted. */
static int insert_events(struct prov_av *av, const void *addrs, size_t count, fi_addr_t *fi_addr, uint64_t flags,
			 void *context)
{
	struct fi_eq_err_entry entry = {.fid = &av->fid.fid, .context = context};
	struct insert_report report;
	int ret = report_reserve(&report, count);
	if (ret)
		return ret;
	size_t inserted = insert_all(av, addrs, count, fi_addr, flags, report.errs);
	for (size_t i = 0; i < count; i++) {
		entry.data = i;
		entry.err = entry.prov_errno = report.errs[i];
		if (report.errs[i])
			report_post(av, &report, i, &entry);
	}
	entry.data = inserted;
	entry.err = entry.prov_errno = 0;
	report_post(av, &report, count, &entry);
	report_free(&report);
	return 0;
}

static int av_insert(struct fid_av *fid, const void *addrs, size_t count, fi_addr_t *fi_addr, uint64_t flags,
		     void *context)
{
	struct prov_av *av = av_of(fid);
	bool wants_errs = flags & FI_SYNC_ERR;
	if (flags & ~(FI_MORE | FI_SYNC_ERR | FI_AV_USER_ID))
		return -FI_EBADFLAGS;
	if ((count && !addrs) || (wants_errs && (!context || av->has_events)) || (flags & FI_AV_USER_ID && !fi_addr))
		return -FI_EINVAL;
	if (av->read_only)
		return -FI_EPERM;
	if (!av->has_events)
		return (int)insert_all(av, addrs, count, fi_addr, flags, wants_errs ? context : NULL);
	if (!eq_of(av))
		return -FI_ENOEQ;
	return insert_events(av, addrs, count, fi_addr, flags, context);
}

static int av_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *fi_addr, uint64_t flags,
			void *context)
{
	struct prov_addrs addrs;
	struct sockaddr_storage ss;
	if (!node || prov_addr_resolve(node, service, 0, &addrs))
		return -FI_EINVAL;
	const struct weft_addr *addr = prov_addr_pick(&addrs, &av_of(fid)->domain->nic->ip);
	if (!addr)
		return -FI_EINVAL;
	prov_addr_to_sock(addr, &ss);
	return av_insert(fid, &ss, 1, fi_addr, flags, context);
}

/* The n-th name after `node`: numbers at its end count up, and IP addresses as a whole. False: it does not end in a
 * number. */
static bool node_name(const char *node, size_t n, char *buf, size_t size)
{
	uint8_t ip[16];
	int family = inet_pton(AF_INET, node, ip) == 1 ? AF_INET : inet_pton(AF_INET6, node, ip) == 1 ? AF_INET6 : 0;
	size_t len = strlen(node), digits = 0;
	if (family) {
		for (int i = family == AF_INET ? 3 : 15; i >= 0; i--, n >>= 8) {
			n += ip[i];
			ip[i] = (uint8_t)n;
		}
		return inet_ntop(family, ip, buf, (socklen_t)size) != NULL;
	}
	while (digits < len && digits < 9 && isdigit((unsigned char)node[len - digits - 1]))
		digits++;
	if (!n)
		return (size_t)snprintf(buf, size, "%s", node) < size;
	return digits && (size_t)snprintf(buf, size, "%.*s%0*lu", (int)(len - digits), node, (int)digits,
					  strtoul(node + len - digits, NULL, 10) + n) < size;
}

/* Fills in the addresses of one node. An address that cannot be resolved stays zero, which av_insert refuses. */
static void node_fill(const struct weft_ip *like, const char *node, size_t n, unsigned long service, size_t svccnt,
		      char *out)
{
	struct prov_addrs addrs = {.count = 0};
	char name[256];
	if (!node_name(node, n, name, sizeof name) || prov_addr_resolve(name, "0", 0, &addrs))
		return;
	const struct weft_addr *first = prov_addr_pick(&addrs, like);
	for (size_t i = 0; first && i < svccnt && service + i <= UINT16_MAX; i++) {
		struct weft_addr addr = {.ip = first->ip, .port = (uint16_t)(service + i)};
		struct sockaddr_storage ss;
		prov_addr_to_sock(&addr, &ss);
		memcpy(out + i * prov_addr_len(like), &ss, prov_addr_len(like));
	}
}

static int av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service, size_t svccnt,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	const struct weft_ip *like = &av_of(fid)->domain->nic->ip;
	size_t stride = svccnt * prov_addr_len(like);
	char *end = NULL;
	unsigned long first = service ? strtoul(service, &end, 10) : 0;
	if (!node || !service || end == service || *end || nodecnt > SYMMETRIC_MAX || svccnt > UINT16_MAX ||
	    nodecnt * svccnt > SYMMETRIC_MAX)
		return -FI_EINVAL;
	char *addrs = calloc(nodecnt ? nodecnt : 1, stride ? stride : 1);
	if (!addrs)
		return -FI_ENOMEM;
	for (size_t i = 0; i < nodecnt; i++)
		node_fill(like, node, i, first, svccnt, addrs + i * stride);
	int ret = av_insert(fid, addrs, nodecnt * svccnt, fi_addr, flags, context);
	free(addrs);
	return ret;
}

/* Lock held. */
static int remove_one(struct prov_av *av, fi_addr_t addr)
{
	assert_locked(av->domain->nic);
	assert(!av->read_only);
	const struct prov_av_entry *entry = prov_av_resolve_entry(av, addr);
	if (!entry)
		return -FI_EINVAL;
	uint32_t index = (uint32_t)(entry - av->entries);
	if (!av->share) {
		prov_av_entry_del(av, index);
		return 0;
	}
	int ret = prov_avshare_remove(av->share, index);
	prov_av_follow(av);
	return ret;
}

static int av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct prov_av *av = av_of(fid);
	int ret = flags ? -FI_EBADFLAGS : av->read_only ? -FI_EPERM : 0;
	prov_nic_lock(av->domain->nic);
	for (size_t i = 0; i < count && !ret; i++)
		ret = remove_one(av, fi_addr[i]);
	prov_nic_unlock(av->domain->nic);
	return ret;
}

static int av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct prov_av *av = av_of(fid);
	struct sockaddr_storage ss;
	uint32_t peer;
	prov_nic_lock(av->domain->nic);
	int ret = prov_av_resolve_source(av, fi_addr, &peer);
	if (!ret)
		prov_addr_to_sock(weft_peer_addr(av->domain->nic->engine, peer), &ss);
	prov_nic_unlock(av->domain->nic);
	return ret ? ret : prov_addr_copy_out(&ss, addr, addrlen);
}

static const char *av_straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	struct prov_av *av = av_of(fid);
	struct weft_addr parsed;
	char text[80];
	if (prov_addr_from_sock(addr, prov_addr_len(&av->domain->nic->ip), NULL, &parsed))
		return NULL;
	size_t need = strlen(prov_addr_print(&parsed, text, sizeof text)) + 1;
	if (*len)
		snprintf(buf, *len, "%s", text);
	*len = need;
	return buf;
}

struct fi_ops_av prov_av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = av_insert,
	.insertsvc = av_insertsvc,
	.insertsym = av_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
	.av_set = prov_av_set_open,
};
