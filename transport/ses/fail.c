/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of operations while the engine lives on: all, because its port is gone, or the receives of an endpoint. */
#include <errno.h>

#include "endpoint.h"
#include "recv.h"
#include "rudi.h"
#include "rx_turn.h"

static void receives_end(struct ses *ses, struct list *posted, int err)
{
	list_for_each_safe (l, posted) {
		struct rx_req *req = list_entry(l, struct rx_req, link);
		recv_end(ses, req->home, req, err);
	}
}

/* Nobody will ask for them; a sender on this engine may wait for that. */
static void msgs_end(struct ses *ses, struct list *msgs, int err)
{
	list_for_each_safe (l, msgs) {
		struct rx_msg *m = list_entry(l, struct rx_msg, link);
		if (m->sent) {
			m->sent->cqe.err = err;
			m->sent->cqe.len = 0;
			ses->stats->msg_failed++;
		}
		rx_turn_discard(ses, m);
	}
}

void weft_ep_end(struct weft_ep *ep)
{
	weft_ep_only_from(ep, NULL);
	ep->ended = true;
	for (int i = 0; i < 2; i++)
		receives_end(ep->ses, &ep->own.posted[i], ECANCELED);
}

void ses_fail(struct ses *ses, int err)
{
	assert(err > 0);
	if (ses->failed)
		return;
	ses->failed = err;
	pds_fail(ses->pds, err, ses->polled_ns);
	rudi_fail(ses, err);
	list_for_each (l, &ses->eps) {
		struct rx_side *side = &list_entry(l, struct weft_ep, link)->own;
		for (int i = 0; i < 2; i++) {
			receives_end(ses, &side->posted[i], err);
			msgs_end(ses, &side->unexpected[i], err);
		}
		msgs_end(ses, &side->claimed, err);
	}
}
