/* SPDX-License-Identifier: BSD-3-Clause */
/* responder - a program with one endpoint and one region, written for libfabric, that answers until its standard input
 * ends: says "number N" when it is ready, and takes every message. */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { REGION_BYTES = 65536, KEY = 0x77, RECEIVES = 32 };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep;
static struct fid_mr *mr;
static uint8_t region[REGION_BYTES], messages[RECEIVES][REGION_BYTES];

static void must(int ret, const char *what)
{
	if (ret) {
		fprintf(stderr, "responder: %s: %s\n", what, fi_strerror(-ret));
		exit(1);
	}
}

static void open_all(void)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_av_attr av_attr = {.type = FI_AV_MAP};

	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	hints->ep_attr->type = FI_EP_RDM;
	must(fi_getinfo(FI_VERSION(1, 17), NULL, "15", FI_SOURCE, hints, &info), "fi_getinfo");
	fi_freeinfo(hints);
	must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	must(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	must(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_enable(ep), "fi_enable");
	must(fi_mr_reg(domain, region, sizeof region, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL),
	     "fi_mr_reg");
}

/* Every other one is for tagged messages, whatever their tag. */
static void receive(uint8_t *buffer)
{
	bool tagged = ((size_t)(buffer - messages[0]) / REGION_BYTES) & 1;
	ssize_t ret = tagged ? fi_trecv(ep, buffer, REGION_BYTES, NULL, FI_ADDR_UNSPEC, 0, UINT64_MAX, buffer)
			     : fi_recv(ep, buffer, REGION_BYTES, NULL, FI_ADDR_UNSPEC, buffer);
	must((int)ret, "fi_recv");
}

static void answer(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN | POLLHUP};
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error;

	while (poll(&input, 1, 0) == 0) {
		ssize_t n = fi_cq_read(cq, &entry, 1);
		if (n == 1 && entry.op_context)
			receive(entry.op_context);
		else if (n == -FI_EAVAIL && fi_cq_readerr(cq, &error, 0) == 1 && error.op_context)
			receive(error.op_context);
	}
}

int main(void)
{
	struct sockaddr_in6 name; /* of either family: the port is at the same place */
	size_t bytes = sizeof name;

	open_all();
	for (int i = 0; i < RECEIVES; i++)
		receive(messages[i]);
	must(fi_getname(&ep->fid, &name, &bytes), "fi_getname");
	printf("number %u\n", ntohs(name.sin6_port));
	fflush(stdout);
	answer();
	return 0;
}
