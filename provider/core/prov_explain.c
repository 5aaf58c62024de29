/* SPDX-License-Identifier: BSD-3-Clause */
/* Why an operation to a peer failed, as far as the port knows: text for applications and the log. */
#include "prov_explain.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prov_addr.h"
#include "prov_keys.h"
#include "prov_log.h"

/* EADDRNOTAVAIL comes with an address (FI_SOURCE_ERR); what the application cancels itself needs no reason. */
bool prov_explains(int err)
{
	return err && err != EADDRNOTAVAIL && err != ECANCELED;
}

/* The way to the peer may be at fault. */
static bool is_of_way(int err)
{
	return err == ETIMEDOUT || err == ENETUNREACH;
}

static const char *reason_of(int err)
{
	switch (err) {
	case ECONNRESET:
		return "it does not know the connection any more: it was started anew, or gave it up";
	case EHOSTUNREACH:
		return "it has no endpoint of this number";
	case EACCES:
		return "it has no such key, or does not allow this";
	case EMSGSIZE:
		return "its receive is shorter";
	case ERANGE:
		return "outside of the region that it has registered";
	case EOPNOTSUPP:
		return "it does not carry out such operations";
	case ESHUTDOWN:
		return "this end is closing";
	case ENOMEM:
		return "no memory for the operation";
	default:
		return strerror(err);
	}
}

/* What the port says of the way to the peer. */
static void way_print(const struct prov_nic *nic, const struct weft_ip *peer, int err, char *buf, size_t len)
{
	const struct weft_port *port = nic->engine_port;
	char to[INET6_ADDRSTRLEN], by[INET6_ADDRSTRLEN + 16] = "it";
	struct weft_ip hop = {{0}};
	int way = port->ops->reach ? port->ops->reach(port, peer, &hop) : 0;
	prov_ip_print(peer, to, sizeof to);
	if (!weft_ip_is_any(&hop) && !weft_ip_eq(&hop, peer)) {
		snprintf(by, sizeof by, "its next hop ");
		prov_ip_print(&hop, by + strlen(by), INET6_ADDRSTRLEN);
	}
	if (err == ENETUNREACH || way == -ENETUNREACH)
		snprintf(buf, len, "peer %s: no route leads there from %s", to, nic->name);
	else if (way)
		snprintf(buf, len, "peer %s: %s does not answer %s on %s", to, by,
			 weft_ip_is_v4(peer) ? "ARP requests" : "neighbour solicitations", nic->name);
	else
		snprintf(buf, len, "peer %s: silent, although packets for it leave %s towards %s", to, nic->name,
			 by[0] == 'i' && by[1] == 't' && !by[2] ? to : by);
	if (err == ETIMEDOUT && !way)
		prov_keys_doubt(nic, peer, buf + strlen(buf), len - strlen(buf));
}

char *prov_explain(struct prov_nic *nic, uint32_t peer, int err)
{
	char text[PROV_EXPLAIN_BYTES];
	assert_locked(nic);
	if (!prov_explains(err))
		return NULL;
	if (err == ENODEV) {
		snprintf(text, sizeof text, "device %s is gone", nic->name);
		return strdup(text);
	}
	prov_nic_no_cancel(nic);
	if (!is_of_way(err)) {
		char to[INET6_ADDRSTRLEN];
		snprintf(text, sizeof text, "peer %s: %s",
			 prov_ip_print(&weft_peer_addr(nic->engine, peer)->ip, to, sizeof to), reason_of(err));
		return strdup(text);
	}
	way_print(nic, &weft_peer_addr(nic->engine, peer)->ip, err, text, sizeof text);
	if (nic->explained_peer != peer + UINT64_C(1)) /* many operations of a peer fail at once */
		FI_WARN(&prov_weft, FI_LOG_EP_DATA, "%s\n", text);
	nic->explained_peer = peer + UINT64_C(1);
	return strdup(text);
}
