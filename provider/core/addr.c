/* SPDX-License-Identifier: BSD-3-Clause */
/* Socket addresses as libfabric knows them, and the engine's: IP of the engine, port = endpoint number. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "member.h"
#include "prov_addr.h"
#include "weft/err.h"

socklen_t prov_addr_len(const struct weft_ip *ip)
{
	return weft_ip_is_v4(ip) ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

void prov_addr_to_sock(const struct weft_addr *addr, struct sockaddr_storage *ss)
{
	memset(ss, 0, sizeof *ss);
	if (weft_ip_is_v4(&addr->ip)) {
		struct sockaddr_in *in = (struct sockaddr_in *)ss;
		in->sin_family = AF_INET;
		in->sin_port = htons(addr->port);
		in->sin_addr.s_addr = htonl(weft_ip_low32(&addr->ip));
	} else {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(addr->port);
		memcpy(&in6->sin6_addr, addr->ip.b, sizeof addr->ip.b);
	}
}

int prov_addr_copy_out(const struct sockaddr_storage *ss, void *buf, size_t *len)
{
	size_t need = ss->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	size_t room = *len;
	*len = need;
	if (room)
		memcpy(buf, ss, room < need ? room : need);
	return room < need ? -FI_ETOOSMALL : 0;
}

int prov_addr_from_sock(const void *sock, size_t len, const struct weft_ip *like, struct weft_addr *addr)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	sa_family_t family;
	if (!sock || len < sizeof in)
		return -EINVAL;
	memcpy(&in, sock, sizeof in); /* the application's buffer may be unaligned */
	family = in.sin_family;
	if (family == AF_INET) {
		*addr = (struct weft_addr){.ip = weft_ip_v4(ntohl(in.sin_addr.s_addr)), .port = ntohs(in.sin_port)};
	} else if (family == AF_INET6 && len >= sizeof in6) {
		memcpy(&in6, sock, sizeof in6);
		memcpy(addr->ip.b, &in6.sin6_addr, sizeof addr->ip.b);
		addr->port = ntohs(in6.sin6_port);
	} else {
		return -EINVAL;
	}
	return like && weft_ip_is_v4(like) != weft_ip_is_v4(&addr->ip) ? -EINVAL : 0;
}

const struct weft_addr *prov_addr_pick(const struct prov_addrs *addrs, const struct weft_ip *like)
{
	for (unsigned i = 0; i < addrs->count; i++)
		if (weft_ip_is_v4(&addrs->addr[i].ip) == weft_ip_is_v4(like))
			return &addrs->addr[i];
	return NULL;
}

static void addrs_fill(const struct addrinfo *list, struct prov_addrs *addrs)
{
	for (; list && addrs->count < count_of(addrs->addr); list = list->ai_next)
		if (!prov_addr_from_sock(list->ai_addr, list->ai_addrlen, NULL, &addrs->addr[addrs->count]))
			addrs->count++;
}

/* "fi_sockaddr_in://HOST:SERVICE" or "fi_sockaddr_in6://[HOST]:SERVICE", as prov_addr_print writes it. False: it is not
 * of this form. `text` is cut up. */
static bool addr_str_split(char *text, char **host, char **service)
{
	char *p = strstr(text, "://"), *colon = strrchr(text, ':');
	if (!p || strncmp(text, "fi_sockaddr", 11) != 0 || colon < p + 3)
		return false;
	*host = p + 3;
	*service = colon + 1;
	if (**host == '[' && colon[-1] == ']') {
		++*host;
		colon--;
	}
	*colon = 0;
	return true;
}

static int resolve(const char *node, const char *service, int flags, struct prov_addrs *addrs)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_PASSIVE | flags};
	struct addrinfo *list = NULL;
	int ret = getaddrinfo(node, service, &hints, &list);
	if (ret)
		return ret == EAI_MEMORY ? -FI_ENOMEM : -FI_ENODATA;
	addrs_fill(list, addrs);
	freeaddrinfo(list);
	return addrs->count ? 0 : -FI_ENODATA;
}

int prov_addr_resolve(const char *node, const char *service, uint64_t flags, struct prov_addrs *addrs)
{
	int numeric = flags & FI_NUMERICHOST ? AI_NUMERICHOST : 0;
	char *host, *port;
	addrs->count = 0;
	if (!node && !service)
		return 0;
	if (node && !service) {
		char text[INET6_ADDRSTRLEN + 64];
		snprintf(text, sizeof text, "%s", node);
		if (addr_str_split(text, &host, &port))
			return resolve(host, port, AI_NUMERICHOST, addrs);
	}
	int ret = resolve(node, service, numeric, addrs);
	if (!node && !ret) {
		addrs->addr[0].ip = (struct weft_ip){0};
		addrs->count = 1;
	}
	return ret;
}

const char *prov_ip_print(const struct weft_ip *ip, char *buf, size_t len)
{
	bool is_v4 = weft_ip_is_v4(ip);
	return inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? ip->b + 12 : ip->b, buf, (socklen_t)len);
}

const char *prov_addr_print(const struct weft_addr *addr, char *buf, size_t len)
{
	char host[INET6_ADDRSTRLEN];
	const char *format = weft_ip_is_v4(&addr->ip) ? "fi_sockaddr_in://%s:%u" : "fi_sockaddr_in6://[%s]:%u";
	snprintf(buf, len, format, prov_ip_print(&addr->ip, host, sizeof host), addr->port);
	return buf;
}
