/* SPDX-License-Identifier: BSD-3-Clause */
#include "binding.h"

#include <stdlib.h>

#include "net.h"
#include "u64map.h"
#include "weft/ethdev.h"

enum { ADDRESSES_MAX = 1024 }; /* of a port; forged sources must not fill the memory */

struct bound {
	const struct weft_port *port;
	uint32_t index;
	uint32_t last;     /* address claimed last; most hosts have one. 0: none */
	uint32_t count;    /* addresses it has */
	bool has_own_plan; /* its host uses addresses that are not those of our fabrics */
	uint8_t reserved[3];
};

struct bindings {
	struct u64map by_addr; /* low 32 bits of an address -> struct bound */
	uint32_t count;
	struct bound ports[];
};

struct bindings *bindings_create(struct weft_port *const *ports, uint32_t count)
{
	static const struct weft_mem heap;
	struct bindings *b = calloc(1, sizeof *b + count * sizeof b->ports[0]);
	if (b == NULL)
		return NULL;
	b->count = count;
	u64map_init(&b->by_addr, &heap);
	for (uint32_t i = 0; i < count; i++)
		b->ports[i] = (struct bound){.port = ports[i], .index = i};
	return b;
}

void bindings_destroy(struct bindings *b)
{
	if (b == NULL)
		return;
	u64map_fini(&b->by_addr);
	free(b);
}

/* Who keeps others from `addr`; NULL: nobody. */
static struct bound *holder_of(struct bindings *b, uint32_t addr)
{
	struct bound *p = u64map_get(&b->by_addr, addr);
	uint32_t planned = addr - weft_net_host_ip(0);
	if (p == NULL && planned < b->count && !b->ports[planned].has_own_plan)
		p = &b->ports[planned];
	return p != NULL && weft_ethdev_has_link(p->port) ? p : NULL;
}

/* Without memory, and beyond what a port may have, nothing is remembered. */
static void bind_to(struct bindings *b, struct bound *p, uint32_t addr)
{
	struct bound *old = u64map_get(&b->by_addr, addr);
	if (old == p || p->count == ADDRESSES_MAX || !u64map_put(&b->by_addr, addr, p))
		return;
	p->count++;
	if (old == NULL)
		return;
	old->count--;
	if (old->last == addr)
		old->last = 0;
}

bool bindings_claim(struct bindings *b, uint32_t port, uint32_t addr)
{
	struct bound *p = &b->ports[port];
	if (addr == p->last && addr != 0)
		return true;
	if (addr - weft_net_host_ip(0) != port)
		p->has_own_plan = true;
	const struct bound *holder = holder_of(b, addr);
	if (holder != NULL && holder != p)
		return false;
	bind_to(b, p, addr);
	if (u64map_get(&b->by_addr, addr) == p)
		p->last = addr;
	return true;
}

uint32_t bindings_find(const struct bindings *b, uint32_t addr)
{
	const struct bound *p = u64map_get(&b->by_addr, addr);
	return p != NULL ? p->index : addr - weft_net_host_ip(0);
}
