/* SPDX-License-Identifier: BSD-3-Clause */
#include "netlink.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <linux/rtnetlink.h>
#include <sys/socket.h>

enum { ANSWER_BYTES = 32768 /* what the kernel fills at most per message of a dump */ };

void *netlink_request_init(struct netlink_request *q, uint16_t type, size_t body_bytes, bool dump)
{
	memset(q->bytes, 0, sizeof q->bytes);
	q->head = mnl_nlmsg_put_header(q->bytes);
	q->head->nlmsg_type = type;
	q->head->nlmsg_flags = dump ? NLM_F_REQUEST | NLM_F_DUMP : NLM_F_REQUEST;
	q->head->nlmsg_seq = 1;
	assert(MNL_NLMSG_HDRLEN + body_bytes <= sizeof q->bytes);
	return mnl_nlmsg_put_extra_header(q->head, body_bytes);
}

/* -EINTR: something changed during a dump (NLM_F_DUMP_INTR), which is to be asked for again. */
static int answers_read(struct mnl_socket *nl, const struct netlink_request *q, mnl_cb_t on_answer, void *arg)
{
	uint8_t buf[ANSWER_BYTES];
	bool all = q->head->nlmsg_flags & NLM_F_DUMP;
	int more = MNL_CB_OK;
	while (more == MNL_CB_OK) {
		ssize_t n = mnl_socket_recvfrom(nl, buf, sizeof buf);
		if (n < 0)
			return -errno;
		more = mnl_cb_run(buf, (size_t)n, 0, mnl_socket_get_portid(nl), on_answer, arg);
		if (!all)
			break;
	}
	return more < 0 ? -errno : 0;
}

int netlink_ask(struct netlink_request *q, mnl_cb_t on_answer, void *arg, const char *what, struct weft_err *err)
{
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (nl == NULL)
		return weft_err_set(err, -errno, "%s: no netlink socket: %s", what, strerror(errno));
	assert(q->head->nlmsg_len <= sizeof q->bytes);
	int rc = 0;
	if (mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0 || mnl_socket_sendto(nl, q->head, q->head->nlmsg_len) < 0)
		rc = -errno;
	if (rc == 0)
		rc = answers_read(nl, q, on_answer, arg);
	mnl_socket_close(nl);
	if (rc != 0)
		return weft_err_set(err, rc, "%s: the kernel says: %s", what, strerror(-rc));
	return 0;
}

bool netlink_has_bytes(const struct nlattr *attr, size_t bytes)
{
	return mnl_attr_get_payload_len(attr) >= bytes;
}

struct mnl_socket *netlink_watch(void)
{
	static const int groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
				     RTNLGRP_IPV6_ROUTE};
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	bool good = nl != NULL && mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) == 0;
	for (size_t i = 0; good && i < sizeof groups / sizeof *groups; i++) {
		int group = groups[i];
		good = mnl_socket_setsockopt(nl, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) == 0;
	}
	if (!good && nl != NULL) {
		int why = errno;
		mnl_socket_close(nl);
		errno = why;
		return NULL;
	}
	return nl;
}

bool netlink_watch_changed(struct mnl_socket *watch)
{
	uint8_t buf[ANSWER_BYTES];
	bool changed = false;
	for (;;) {
		ssize_t n = mnl_socket_recvfrom(watch, buf, sizeof buf);
		if (n <= 0 && errno != ENOBUFS)
			return changed;
		changed = true;
	}
}
