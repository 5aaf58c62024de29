/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of a device's link: the port tells while it is polled, the engine is told once that poll is over. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "prov_link.h"
#include "prov_log.h"

static int link_err(enum weft_link_state state)
{
	if (state == WEFT_LINK_UP)
		return 0;
	return state == WEFT_LINK_DOWN ? FI_ENETDOWN : FI_ENODEV;
}

static const char *down_text(const struct prov_nic *nic)
{
	return strncmp(nic->name, "net_virtio_user", strlen("net_virtio_user")) == 0
		       ? "the link is down, nobody is at the other end of its socket (weft switch, weft host); "
			 "operations wait"
		       : "the link is down; operations wait";
}

/* Nobody should have to guess why everything stands still: without a log it goes to standard error. */
static void link_log(const struct prov_nic *nic)
{
	const char *what = "the link is up again";
	if (nic->port_link.err)
		what = nic->port_link.err == FI_ENODEV ? "the device is gone; operations fail" : down_text(nic);
	if (fi_log_enabled(&prov_weft, FI_LOG_WARN, FI_LOG_DOMAIN))
		FI_WARN(&prov_weft, FI_LOG_DOMAIN, "%s: %s\n", nic->name, what);
	else
		fprintf(stderr, "weft: %s: %s\n", nic->name, what);
}

void prov_link_heard(void *arg, enum weft_link_state state)
{
	struct prov_nic *nic = arg;
	struct prov_link_listener *listener;
	int err = link_err(state);
	assert_locked(nic);
	assert(nic->port_link.err != FI_ENODEV || err == FI_ENODEV);
	prov_nic_no_cancel(nic);
	nic->port_link.is_news = true;
	if (err == nic->port_link.err) {
		FI_INFO(&prov_weft, FI_LOG_DOMAIN, "%s: the link's rate is %llu Mb/s\n", nic->name,
			(unsigned long long)(nic->port->link_bps / 1000000));
		return;
	}
	nic->port_link.err = err;
	link_log(nic);
	TAILQ_FOREACH(listener, &nic->link_listeners, link)
	listener->heard(listener, err);
}

/* A link that is down has no rate; the engine keeps what it knew. */
void prov_link_tell(struct prov_nic *nic, weft_ns now)
{
	assert_locked(nic);
	nic->port_link.is_news = false;
	if (!nic->port_link.err)
		weft_engine_link(nic->engine, nic->port->link_bps, now);
	else if (prov_link_is_gone(nic))
		weft_engine_fail(nic->engine, FI_ENODEV);
	nic->poll.next_ns = 0; /* there are completions to hand out, or packets to send */
}
