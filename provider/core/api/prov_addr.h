/* SPDX-License-Identifier: BSD-3-Clause */
/* Socket addresses as libfabric knows them, and the engine's: IP of the engine, port = endpoint number. */
#ifndef PROV_ADDR_H
#define PROV_ADDR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "weft/addr.h"

/* Length of the socket address that `ip` needs. */
socklen_t prov_addr_len(const struct weft_ip *ip);
/* Writes a sockaddr_in or sockaddr_in6 of prov_addr_len() bytes. */
void prov_addr_to_sock(const struct weft_addr *addr, struct sockaddr_storage *ss);
/* -EINVAL: another address family than `like` has (NULL: any), or too short. */
int prov_addr_from_sock(const void *sock, size_t len, const struct weft_ip *like, struct weft_addr *addr);

/* The addresses of a name. */
struct prov_addrs {
	struct weft_addr addr[16];
	unsigned count;
};

/* Resolves host and service names, or FI_ADDR_STR as the host alone. Either may be NULL: no IP address, or port 0.
 * -FI_ENODATA: unknown. */
int prov_addr_resolve(const char *node, const char *service, uint64_t flags, struct prov_addrs *addrs);
/* The first one of the same address family as `like`, or NULL. */
const struct weft_addr *prov_addr_pick(const struct prov_addrs *addrs, const struct weft_ip *like);
/* Copies a socket address as fi_getname and fi_av_lookup do: `*len` becomes its length; -FI_ETOOSMALL when cut. */
int prov_addr_copy_out(const struct sockaddr_storage *ss, void *buf, size_t *len);
/* "10.0.0.1"; returns buf. */
const char *prov_ip_print(const struct weft_ip *ip, char *buf, size_t len);
/* "fi_sockaddr_in://10.0.0.1:49152"; returns buf. */
const char *prov_addr_print(const struct weft_addr *addr, char *buf, size_t len);

#endif
