/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc_app rings|device: a program of libfabric calls between two devices of this process, or of what opens and closes
 * one device, for runs where allocations fail (alloc_fail.c). Whatever is refused ends the program, in good order; then
 * memory is back and everything is done once more, which must work. Data that comes is right, every operation ends,
 * every close succeeds. Writes what was refused, and which resources of DPDK and the kernel are left each time. */
#include "alloc_app.h"

#include <dirent.h>
#include <rte_malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_fail.h"

enum { STALLED_S = 40 }; /* a run that takes longer hangs; sanitizers on a busy machine are slow */

struct side sides[2];
int refusals;

bool refused(const char *what, ssize_t ret)
{
	printf("refused %s: %s\n", what, fi_strerror((int)-ret));
	refusals++;
	return false;
}

void broken(const char *what, const char *why)
{
	printf("BROKEN %s: %s\n", what, why);
	fflush(stdout);
	_exit(1);
}

/* ---- opening and closing ---- */

bool opened(struct side *s, const char *what, ssize_t ret, struct fid *fid)
{
	if (ret)
		return refused(what, ret);
	assert_true(s->count < FIDS_MAX);
	s->fids[s->count++] = fid;
	return true;
}

bool done(const char *what, ssize_t ret)
{
	return ret < 0 ? refused(what, ret) : true;
}

static void side_close(struct side *s)
{
	while (s->count > 0) {
		int ret = fi_close(s->fids[--s->count]);
		if (ret)
			broken("fi_close", fi_strerror(-ret));
	}
	if (s->h.info)
		fi_freeinfo(s->h.info);
	s->h.info = NULL;
}

static bool domain_open(struct side *s, struct fi_info *hints)
{
	struct host *h = &s->h;
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	int ret = fi_getinfo(FIXTURE_VERSION, NULL, NULL, 0, hints, &h->info);
	fi_freeinfo(hints);
	if (ret) {
		h->info = NULL;
		return refused("fi_getinfo", ret);
	}
	return OPEN(s, fi_fabric(h->info->fabric_attr, &h->fabric, NULL), h->fabric) &&
	       OPEN(s, fi_eq_open(h->fabric, &eq_attr, &s->eq, NULL), s->eq) &&
	       OPEN(s, fi_domain(h->fabric, h->info, &h->domain, NULL), h->domain);
}

static bool queues_open(struct side *s)
{
	struct host *h = &s->h;
	struct fi_wait_attr wait_attr = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .count = 1};
	struct fi_cntr_attr cntr_attr = {.events = FI_CNTR_EVENTS_COMP};
	struct fi_poll_attr poll_attr = {.flags = 0};
	if (!OPEN(s, fi_wait_open(h->fabric, &wait_attr, &s->wait), s->wait))
		return false;
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_SET, .wait_set = s->wait};
	return OPEN(s, fi_av_open(h->domain, &av_attr, &h->av, NULL), h->av) &&
	       OPEN(s, fi_cq_open(h->domain, &cq_attr, &h->cq, NULL), h->cq) &&
	       OPEN(s, fi_cntr_open(h->domain, &cntr_attr, &s->trigger, NULL), s->trigger) &&
	       OPEN(s, fi_poll_open(h->domain, &poll_attr, &s->poll), s->poll) &&
	       DO(fi_poll_add(s->poll, &s->trigger->fid, 0)) && DO(fi_poll_del(s->poll, &s->trigger->fid, 0));
}

static bool ep_open(struct side *s)
{
	struct host *h = &s->h;
	return OPEN(s, fi_mr_reg(h->domain, s->mem, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &s->mr, NULL),
		    s->mr) &&
	       OPEN(s, fi_endpoint(h->domain, h->info, &h->ep, NULL), h->ep) && DO(fi_ep_bind(h->ep, &h->av->fid, 0)) &&
	       DO(fi_ep_bind(h->ep, &h->cq->fid, FI_TRANSMIT | FI_RECV)) && DO(fi_ep_bind(h->ep, &s->eq->fid, 0)) &&
	       DO(fi_enable(h->ep)) && OPEN(s, fi_ep_alias(h->ep, &s->alias, FI_TRANSMIT), s->alias);
}

static bool shared_open(struct side *s)
{
	struct host *h = &s->h;
	struct fid_stx *stx;
	struct fid_ep *srx, *ep;
	return OPEN(s, fi_stx_context(h->domain, h->info->tx_attr, &stx, NULL), stx) &&
	       OPEN(s, fi_srx_context(h->domain, h->info->rx_attr, &srx, NULL), srx) &&
	       OPEN(s, fi_endpoint(h->domain, h->info, &ep, NULL), ep) && DO(fi_ep_bind(ep, &h->av->fid, 0)) &&
	       DO(fi_ep_bind(ep, &h->cq->fid, FI_TRANSMIT | FI_RECV)) && DO(fi_ep_bind(ep, &stx->fid, 0)) &&
	       DO(fi_ep_bind(ep, &srx->fid, 0)) && DO(fi_enable(ep));
}

static bool sep_open(struct side *s)
{
	struct host *h = &s->h;
	struct fid_ep *sep, *tx, *rx;
	return OPEN(s, fi_scalable_ep(h->domain, h->info, &sep, NULL), sep) &&
	       OPEN(s, fi_tx_context(sep, 0, NULL, &tx, NULL), tx) &&
	       OPEN(s, fi_rx_context(sep, 0, NULL, &rx, NULL), rx) && DO(fi_scalable_ep_bind(sep, &h->av->fid, 0)) &&
	       DO(fi_ep_bind(tx, &h->cq->fid, FI_TRANSMIT)) && DO(fi_ep_bind(rx, &h->cq->fid, FI_RECV)) &&
	       DO(fi_enable(tx)) && DO(fi_enable(rx)) && DO(fi_enable(sep));
}

/* A vector that the processes of a job share. */
static bool av_share(struct side *s)
{
	char name[32];
	struct fid_av *av;
	snprintf(name, sizeof name, "alloc-%d", getpid());
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .count = 8, .name = name};
	return OPEN(s, fi_av_open(s->h.domain, &attr, &av, NULL), av);
}

/* Both know both, by the numbers 0 and 1. */
static bool meet(struct side *s)
{
	for (int i = 0; i < 2; i++) {
		char name[FI_NAME_MAX];
		size_t len = sizeof name;
		fi_addr_t addr;
		if (!DO(fi_getname(&sides[i].h.ep->fid, name, &len)))
			return false;
		ssize_t n = fi_av_insert(s->h.av, name, 1, &addr, 0, NULL);
		if (n != 1)
			return refused("fi_av_insert", n < 0 ? n : -FI_ENOMEM);
		if (addr != (fi_addr_t)i)
			broken("fi_av_insert", "another number");
	}
	return true;
}

/* Queues that tell of regions and of addresses. */
static bool events(struct side *s)
{
	struct host *h = &s->h;
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .flags = FI_EVENT};
	struct fi_eq_entry entry;
	struct fi_eq_err_entry err = {0};
	struct fid_eq *eq;
	struct fid_domain *domain;
	struct fid_mr *mr;
	struct fid_av *av;
	uint32_t event;
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	fi_addr_t addr;
	if (!OPEN(s, fi_eq_open(h->fabric, &eq_attr, &eq, NULL), eq) ||
	    !OPEN(s, fi_domain(h->fabric, h->info, &domain, NULL), domain) ||
	    !DO(fi_domain_bind(domain, &eq->fid, FI_REG_MR)) ||
	    !OPEN(s, fi_mr_reg(domain, s->mem, 10, FI_REMOTE_READ, 0, KEY, 0, &mr, NULL), mr) ||
	    !OPEN(s, fi_av_open(domain, &av_attr, &av, NULL), av) || !DO(fi_getname(&h->ep->fid, name, &len)) ||
	    !DO(fi_av_insert(av, name, 1, &addr, 0, NULL)))
		return false;
	ssize_t n = fi_eq_read(eq, &event, &entry, sizeof entry, 0);
	if (n != sizeof entry || event != FI_MR_COMPLETE)
		broken("fi_mr_reg", "its event is missing");
	n = fi_eq_read(eq, &event, &entry, sizeof entry, 0);
	if (n == -FI_EAVAIL && fi_eq_readerr(eq, &err, 0) == sizeof err)
		return refused("fi_av_insert's event", -err.err);
	if (n != sizeof entry || event != FI_AV_COMPLETE || entry.data != 1)
		broken("fi_av_insert", "its event is missing");
	return true;
}

static struct fi_info *hints_of(int i)
{
	struct fi_info *hints = fixture_hints(i);
	hints->caps |= FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_COLLECTIVE | FI_NAMED_RX_CTX | FI_MULTI_RECV;
	hints->ep_attr->tx_ctx_cnt = hints->ep_attr->rx_ctx_cnt = 1;
	hints->domain_attr->data_progress = i ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
	return hints;
}

static bool open_all(void)
{
	for (int i = 0; i < 2; i++)
		if (!domain_open(&sides[i], hints_of(i)) || !queues_open(&sides[i]) || !ep_open(&sides[i]) ||
		    !shared_open(&sides[i]) || !sep_open(&sides[i]) || !av_share(&sides[i]) || !events(&sides[i]))
			return false;
	return meet(&sides[0]) && meet(&sides[1]);
}

/* ---- runs ---- */

/* The first device that there is. */
static bool device_alone(struct side *s)
{
	struct fi_info *hints = fixture_hints(0);
	free(hints->domain_attr->name);
	hints->domain_attr->name = NULL;
	return domain_open(s, hints) && queues_open(s) && ep_open(s);
}

static bool run(bool has_peer)
{
	refusals = 0;
	bool fine = has_peer ? open_all() && use_all() : device_alone(&sides[0]);
	side_close(&sides[1]);
	side_close(&sides[0]);
	return fine && !refusals;
}

static unsigned fds_open(void)
{
	unsigned count = 0;
	DIR *dir = opendir("/proc/self/fd");
	if (!dir)
		broken("/proc/self/fd", "it cannot be read");
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void tell_left(void)
{
	struct rte_malloc_socket_stats heap = {0};
	rte_malloc_get_socket_stats(0, &heap);
	printf("left %zu bytes in %u pieces, %u descriptors\n", heap.heap_allocsz_bytes, heap.alloc_count, fds_open());
}

int main(int argc, char **argv)
{
	bool has_peer = argc == 2 && strcmp(argv[1], "rings") == 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(STALLED_S);
	if (alloc_fail_stop)
		alloc_fail_stop();
	if (has_peer && rings_setup(NULL))
		return 2;
	if (alloc_fail_resume)
		alloc_fail_resume();
	bool fine = run(has_peer);
	if (alloc_fail_refused && fine)
		printf("survived %lu\n", alloc_fail_refused());
	if (!fine && !(alloc_fail_refused && alloc_fail_refused()))
		broken("the first run", "nothing was refused to it");
	if (alloc_fail_stop)
		alloc_fail_stop();
	tell_left();
	if (!run(has_peer))
		broken("the second run", "memory was back");
	tell_left();
	return 0;
}
