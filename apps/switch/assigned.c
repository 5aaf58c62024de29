/* SPDX-License-Identifier: BSD-3-Clause */
#include "assigned.h"

#include <stdlib.h>
#include <string.h>

#include "u64map.h"

struct entry {
	struct weft_ip ip;
	uint32_t port;
	const struct entry *next; /* another one with the same low 32 bits */
};

struct assigned {
	struct u64map by_low; /* low 32 bits of an address -> struct entry */
	uint32_t uplink;
	uint32_t ports;
	struct entry entries[];
};

static bool entry_add(struct assigned *a, struct entry *e, const struct rtnet_addr *addr)
{
	uint32_t low = weft_ip_low32(&addr->ip);
	*e = (struct entry){addr->ip, addr->port, u64map_get(&a->by_low, low)};
	return u64map_put(&a->by_low, low, e);
}

struct assigned *assigned_create(const struct rtnet_assigned *conf, uint32_t ports)
{
	static const struct weft_mem heap;
	struct assigned *a = calloc(1, sizeof *a + conf->count * sizeof a->entries[0]);
	if (a == NULL)
		return NULL;
	a->uplink = conf->uplink;
	a->ports = ports;
	u64map_init(&a->by_low, &heap);
	for (uint32_t i = 0; i < conf->count; i++) {
		if (entry_add(a, &a->entries[i], &conf->addrs[i]))
			continue;
		assigned_destroy(a);
		return NULL;
	}
	return a;
}

void assigned_destroy(struct assigned *a)
{
	if (a == NULL)
		return;
	u64map_fini(&a->by_low);
	free(a);
}

uint32_t assigned_uplink(const struct assigned *a)
{
	return a->uplink;
}

/* NULL: nobody's. */
static const struct entry *find(const struct assigned *a, const struct weft_ip *ip)
{
	const struct entry *e = u64map_get(&a->by_low, weft_ip_low32(ip));
	while (e != NULL && !weft_ip_eq(&e->ip, ip))
		e = e->next;
	return e;
}

/* `low`: its last four bytes, as wire_peek has them. */
static struct weft_ip address_at(const uint8_t *head, unsigned v6_at, uint32_t low)
{
	struct weft_ip ip;
	if (head[0] >> 4 != 6)
		return weft_ip_v4(low);
	memcpy(ip.b, head + v6_at, sizeof ip.b);
	return ip;
}

bool assigned_may_send(const struct assigned *a, uint32_t port, const struct weft_ip *ip)
{
	const struct entry *e = find(a, ip);
	return port == a->uplink ? e == NULL || e->port == a->uplink : e != NULL && e->port == port;
}

bool assigned_may_send_pkt(const struct assigned *a, uint32_t port, const struct weft_pkt *pkt)
{
	enum { IP6_SRC_AT = 8 };
	struct weft_ip ip = address_at(pkt->head, IP6_SRC_AT, pkt->src);
	return assigned_may_send(a, port, &ip);
}

uint32_t assigned_target(const struct assigned *a, uint32_t from, const struct weft_pkt *pkt)
{
	enum { IP6_DST_AT = 24 };
	struct weft_ip ip = address_at(pkt->head, IP6_DST_AT, pkt->dst);
	const struct entry *e = find(a, &ip);
	if (e != NULL)
		return e->port < a->ports ? e->port : UINT32_MAX;
	return from == a->uplink ? UINT32_MAX : a->uplink;
}
