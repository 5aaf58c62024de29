/* SPDX-License-Identifier: BSD-3-Clause */
/* What the calls of passive and of connected endpoints share. */
#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "cm.h"
#include "prov_addr.h"

static void arrived(struct prov_cm *cm, const struct weft_ip *from, const struct cm_msg *msg)
{
	if (msg->kind == CM_REQUEST)
		cm_request_arrived(cm, from, msg);
	else
		cm_conn_arrived(cm, from, msg);
}

const struct cm_events cm_events = {
	.arrived = arrived,
	.lost = cm_conn_lost,
	.tick = cm_conn_tick,
};

int cm_addr_of(const struct prov_nic *nic, const void *sock, struct weft_addr *addr)
{
	sa_family_t family;
	if (!sock)
		return -FI_EINVAL;
	memcpy(&family, sock, sizeof family);
	size_t len = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	return prov_addr_from_sock(sock, len, &nic->ip, addr) || !addr->port ? -FI_EINVAL : 0;
}

int cm_name_of(const struct prov_nic *nic, const void *sock, size_t len, struct weft_addr *name)
{
	struct weft_addr parsed;
	if (prov_addr_from_sock(sock, len, &nic->ip, &parsed) ||
	    (!weft_ip_is_any(&parsed.ip) && !weft_ip_eq(&parsed.ip, &nic->ip)))
		return -FI_EADDRNOTAVAIL;
	*name = (struct weft_addr){nic->ip, parsed.port};
	return 0;
}

int cm_name_copy_out(const struct weft_addr *name, void *sock, size_t *len)
{
	struct sockaddr_storage ss;
	prov_addr_to_sock(name, &ss);
	return prov_addr_copy_out(&ss, sock, len);
}
