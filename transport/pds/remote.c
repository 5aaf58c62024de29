/* SPDX-License-Identifier: BSD-3-Clause */
#include "ip_key.h"
#include "path_search.h"

struct remote *pds_remote(struct pds *pds, const struct weft_ip *ip)
{
	uint64_t key = ip_key(&pds->hash_key, ip, 0);
	struct remote *r = u64map_get(&pds->remotes, key);
	if (r)
		return weft_ip_eq(&r->ip, ip) ? r : NULL;
	r = weft_mem_alloc(&pds->mem, sizeof *r);
	if (!r)
		return NULL;
	r->ip = *ip;
	r->encap = pds->conf.encap;
	path_init(r);
	if (u64map_put(&pds->remotes, key, r))
		return r;
	weft_mem_free(&pds->mem, r);
	return NULL;
}

void remote_heard(struct remote *r, uint8_t encap)
{
	r->encap = encap;
	for (struct pdc_tx *p = r->conns; p; p = p->next_conn)
		if (p->state == PDC_TX_SYN)
			p->pdc.encap = encap;
}

void pds_heard(struct pds *pds, const struct weft_ip *ip, uint8_t encap)
{
	struct remote *r = u64map_get(&pds->remotes, ip_key(&pds->hash_key, ip, 0));
	if (!r && encap == pds->conf.encap)
		return; /* nothing that we would not do anyway */
	r = pds_remote(pds, ip);
	if (r && r->encap != encap)
		remote_heard(r, encap);
}
