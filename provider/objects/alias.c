/* SPDX-License-Identifier: BSD-3-Clause */
/* Alias of an endpoint: the same endpoint with operation flags of its own. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "member.h"
#include "prov_ep_parts.h"
#include "prov_fi_ops.h"
#include "prov_ref.h"

int prov_ep_op_flags(struct prov_ep *ep, bool set, uint64_t *flags)
{
	uint64_t sides = *flags & (FI_TRANSMIT | FI_RECV);
	if (sides != FI_TRANSMIT && sides != FI_RECV)
		return -FI_EINVAL;
	uint64_t *mine = sides == FI_TRANSMIT ? &ep->tx_flags : &ep->rx_flags;
	if (set)
		*mine = *flags & ~sides & ~PROV_NO_COMPLETION;
	else
		*flags = *mine;
	return 0;
}

static struct prov_ep *alias_of(struct fid *fid)
{
	return container_of(fid, struct prov_ep, fid.fid);
}

static int alias_close(struct fid *fid)
{
	struct prov_ep *alias = alias_of(fid);
	assert(alias->root != alias);
	prov_unref(&alias->root->refs);
	free(alias);
	return 0;
}

static int alias_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct fid *root = &alias_of(fid)->root->fid.fid;
	return root->ops->bind(root, bfid, flags);
}

/* Everything but the flags applies to the endpoint itself. */
static int alias_control(struct fid *fid, int command, void *arg)
{
	struct prov_ep *alias = alias_of(fid);
	struct fid *root = &alias->root->fid.fid;
	if (command == FI_GETOPSFLAG || command == FI_SETOPSFLAG)
		return prov_ep_op_flags(alias, command == FI_SETOPSFLAG, arg);
	return root->ops->control(root, command, arg);
}

static struct fi_ops alias_ops = {
	.size = sizeof(struct fi_ops),
	.close = alias_close,
	.bind = alias_bind,
	.control = alias_control,
	.ops_open = prov_ops_open,
};

int prov_ep_alias(struct prov_ep *ep, const struct fi_alias *arg)
{
	uint64_t flags = arg->flags;
	struct prov_ep *alias = calloc(1, sizeof *alias);
	if (!alias)
		return -FI_ENOMEM;
	*alias = (struct prov_ep){.fid = ep->fid, .root = ep, .tx_flags = ep->tx_flags, .rx_flags = ep->rx_flags};
	alias->fid.fid.ops = &alias_ops;
	int ret = prov_ep_op_flags(alias, true, &flags);
	if (ret) {
		free(alias);
		return ret;
	}
	prov_ref(&ep->refs);
	*arg->fid = &alias->fid.fid;
	return 0;
}
