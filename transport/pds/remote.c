/* SPDX-License-Identifier: BSD-3-Clause */
#include "ip_key.h"
#include "path_search.h"

struct remote *pds_remote(struct pds *pds, const struct weft_ip *ip)
{
	uint64_t key = ip_key(ip, 0);
	struct remote *r = u64map_get(&pds->remotes, key);
	if (r)
		return weft_ip_eq(&r->ip, ip) ? r : NULL;
	r = weft_mem_alloc(&pds->mem, sizeof *r);
	if (!r)
		return NULL;
	r->ip = *ip;
	path_init(r);
	if (u64map_put(&pds->remotes, key, r))
		return r;
	weft_mem_free(&pds->mem, r);
	return NULL;
}
