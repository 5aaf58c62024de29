/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that is not linked with libfabric loads it as MPI and NCCL do, with symbols for nobody else, sends itself a
 * message through the plugin, and ends while a thread of ours runs. */
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"

#define ok(call) assert_int_equal(call, 0)

static __typeof__(&fi_getinfo) getinfo;
static __typeof__(&fi_fabric) open_fabric;
static __typeof__(&fi_freeinfo) freeinfo;
static __typeof__(&fi_dupinfo) dupinfo;

static void *symbol(void *lib, const char *name)
{
	void *address = dlsym(lib, name);
	assert_non_null(address);
	return address;
}

static void load(void)
{
	void *lib = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	assert_non_null(lib);
	assert_null(dlsym(RTLD_DEFAULT, "fi_getinfo")); /* nobody else has it either */
	getinfo = symbol(lib, "fi_getinfo");
	open_fabric = symbol(lib, "fi_fabric");
	freeinfo = symbol(lib, "fi_freeinfo");
	dupinfo = symbol(lib, "fi_dupinfo");
}

static struct fi_info *weft_info(void)
{
	struct fi_info *hints = dupinfo(NULL), *info;
	assert_non_null(hints);
	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->fabric_attr->prov_name = strdup("weft");
	ok(getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	freeinfo(hints);
	return info;
}

static void dlopen__self_send_and_exit(void **state)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_CONTEXT};
	struct fi_av_attr av_attr = {.type = FI_AV_MAP};
	struct fi_cq_entry e;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	char name[FI_NAME_MAX], in[8] = "";
	size_t len = sizeof name;
	fi_addr_t self;
	load();
	struct fi_info *info = weft_info();
	ok(open_fabric(info->fabric_attr, &fabric, NULL));
	ok(fi_domain(fabric, info, &domain, NULL));
	ok(fi_av_open(domain, &av_attr, &av, NULL));
	ok(fi_cq_open(domain, &cq_attr, &cq, NULL));
	ok(fi_endpoint(domain, info, &ep, NULL));
	ok(fi_ep_bind(ep, &av->fid, 0));
	ok(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_enable(ep));
	ok(fi_getname(&ep->fid, name, &len));
	assert_int_equal(fi_av_insert(av, name, 1, &self, 0, NULL), 1);
	ok(fi_recv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_inject(ep, "local", 6, self));
	ssize_t n;
	while ((n = fi_cq_read(cq, &e, 1)) == -FI_EAGAIN)
		;
	assert_int_equal(n, 1);
	assert_ptr_equal(e.op_context, in);
	assert_string_equal(in, "local");
	freeinfo(info); /* the rest stays open */
}

int main(void)
{
	setenv("FI_WEFT_DEVICE", "net_null0", 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dlopen__self_send_and_exit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
