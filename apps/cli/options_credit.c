/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithms that schedule credits need a fabric that limits them, and data that walks their paths backwards: they get
 * it unless the user says otherwise. */
#include <errno.h>
#include <string.h>

#include "options_int.h"

enum { CREDIT_QUEUE_DEFAULT = 8 }; /* credits, as many as ExpressPass' switches keep (its sec. 3.2) */

bool options_credits_scheduled(const struct options *o)
{
	return o->lab.rcc && o->lab.rcc->schedule;
}

bool options_is_set(const struct options *o, const char *prefix)
{
	for (uint32_t i = 0; i < o->setting_count; i++)
		if (!strncmp(o->settings[i].text, prefix, strlen(prefix)))
			return true;
	return false;
}

const char *options_credit_route(const struct options *o)
{
	return options_credits_scheduled(o) && !options_is_given(o, "route") ? "symmetric" : o->route_name;
}

/* Of the algorithm's parameters. */
static bool is_strict(const struct options *o)
{
	const struct weft_param *p = o->lab.rcc->tunes;

	while (p && p->key && strcmp(p->key, "strict") != 0)
		p++;
	return p && p->key && ((const uint8_t *)o->lab.rcc_tune)[p->offset];
}

/* What keeps the fabric from doing its part; NULL: nothing. */
static const char *lack(const struct options *o)
{
	if (!o->lab.fabric.credit_queue)
		return "without credit queues (credit_queue=0) nothing limits credits, and data will queue";
	if (!o->lab.route->both_ways)
		return "switches that do not route both directions alike (--route symmetric) send data where its "
		       "credits have not been";
	return NULL;
}

int options_credit_fabric(struct options *o, struct weft_err *err)
{
	if (!options_credits_scheduled(o))
		return 0;
	if (!options_is_set(o, "credit_queue="))
		o->lab.fabric.credit_queue = CREDIT_QUEUE_DEFAULT;
	o->lab.warning = lack(o);
	if (o->lab.warning && is_strict(o))
		return weft_err_set(err, -EINVAL, "%s: %s; strict=1 refuses that", o->lab.cc_name, o->lab.warning);
	/* Marks tell receivers of waiting credits only: data queues are short, and a receiver cannot shorten them.
	 */
	if (!o->lab.warning && !options_is_set(o, "ecn_"))
		o->lab.fabric.ecn_min_pct = o->lab.fabric.ecn_max_pct = 0;
	return 0;
}
