/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>

#include "prov_late.h"
#include "prov_log.h"

struct prov_late_error {
	TAILQ_ENTRY(prov_late_error) link;
	uint32_t peer;
	int err; /* positive */
};

void prov_late_init(struct prov_late_errors *all)
{
	TAILQ_INIT(all);
}

static struct prov_late_error *find(const struct prov_late_errors *all, uint32_t peer)
{
	struct prov_late_error *e;
	TAILQ_FOREACH(e, all, link)
	if (e->peer == peer)
		break;
	return e;
}

void prov_late_add(struct prov_late_errors *all, uint32_t peer, int err)
{
	assert(err > 0);
	if (find(all, peer))
		return;
	FI_WARN(&prov_weft, FI_LOG_EP_DATA, "an operation failed after it completed, or without a completion: %s\n",
		fi_strerror(err));
	struct prov_late_error *e = malloc(sizeof *e);
	if (!e)
		return;
	*e = (struct prov_late_error){.peer = peer, .err = err};
	TAILQ_INSERT_TAIL(all, e, link);
}

int prov_late_take(struct prov_late_errors *all, uint32_t peer)
{
	struct prov_late_error *e = TAILQ_EMPTY(all) ? NULL : find(all, peer);
	if (!e)
		return 0;
	int err = -e->err;
	TAILQ_REMOVE(all, e, link);
	free(e);
	return err;
}

void prov_late_free(struct prov_late_errors *all)
{
	struct prov_late_error *e;
	while ((e = TAILQ_FIRST(all))) {
		TAILQ_REMOVE(all, e, link);
		free(e);
	}
}
