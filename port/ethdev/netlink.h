/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to the kernel over rtnetlink, and news from it. */
#ifndef WEFT_NETLINK_H
#define WEFT_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include "weft/err.h"

enum { NETLINK_TRIES = 8 /* of questions that changes interrupt */ };

/* A question: filled in by the caller behind netlink_ask. */
struct netlink_request {
	uint8_t bytes[256];
	struct nlmsghdr *head;
};

/* Begins a question of `type` (RTM_GET...); what follows the header, and is returned, has `body_bytes`, zeroed. `dump`:
 * for all objects, else for one. */
void *netlink_request_init(struct netlink_request *q, uint16_t type, size_t body_bytes, bool dump);
/* Asks, and hands each answer to `on_answer` (MNL_CB_OK: go on). Blocks until the kernel has answered. 0, or a negative
 * errno value with a message that names `what`; -EINTR: something changed meanwhile, ask again. */
int netlink_ask(struct netlink_request *q, mnl_cb_t on_answer, void *arg, const char *what, struct weft_err *err);

/* Whether the attribute holds at least `bytes`. */
bool netlink_has_bytes(const struct nlattr *attr, size_t bytes);

/* News of links, addresses and routes. NULL: errno says why. */
struct mnl_socket *netlink_watch(void);
/* Reads what news there are without blocking. True: something changed, or news were lost. */
bool netlink_watch_changed(struct mnl_socket *watch);

#endif
