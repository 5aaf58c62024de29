/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch side of PRIME (section III-C): the part of a packet's entropy that belongs to the switch's tier names its
 * uplink. CO-PRIME has the same switches. Downward a part says nothing, the cables of a bundle are hashed. So are
 * ordered packets everywhere: their senders know nothing of digits, and ECMP is what such traffic has (section IV-A2).
 */
#include <errno.h>

#include "route_impl.h"
#include "weft/spi/lb.h"
#include "wire_peek.h"

_Static_assert((int)WEFT_LB_PARTS >= (int)WEFT_TOPO_TIERS_MAX - 1, "a part for every tier with uplinks");

struct digits_state {
	struct weft_lb_digits digits;
	uint32_t tier; /* of the switch */
	uint32_t next; /* packets whose port is left out */
};

static size_t digits_state(const struct net_tree *tree, uint32_t sw)
{
	return sizeof(struct digits_state);
}

static int digits_init(const struct net_tree *tree, uint32_t sw, void *state, uint64_t seed, struct weft_err *err)
{
	struct digits_state *st = state;

	weft_topo_digits(&tree->topo, &st->digits);
	for (uint32_t i = 0; i + 1 < tree->topo.tiers; i++) {
		uint32_t uplinks = weft_topo_uplinks(&tree->topo, i);
		if (st->digits.values[i] < uplinks)
			return weft_err_set(
				err, -EINVAL,
				"fabric: the 16 bits of an entropy do not hold digits for %u uplinks of a %s "
				"and those of the tiers below",
				uplinks, weft_topo_tier_name(i));
	}
	st->tier = switch_tier(tree, sw);
	return 0;
}

/* Digits keep their ports when others fail, so that what a sender knows of them stays true. The packets of a
 * port that is left out take turns over the rest: by hash a connection's share of them, one of few digits, would lie on
 * one other port for good, and the load of some ports would be a third higher than of others. */
static uint32_t digits_choose(const struct net_tree *tree, const struct route_ways *ways, const struct weft_pkt *pkt)
{
	struct digits_state *st = ways->state;
	const struct net_switch *s = &tree->switches[ways->sw];

	if (ways->group || pkt->dscp == WIRE_DSCP_ORDERED)
		return route_hash(s, pkt, ways->count);
	assert(st->tier < WEFT_LB_PARTS && s->up_cables > 0);
	uint32_t up = weft_lb_digit(&st->digits, pkt->entropy, st->tier) % s->up_cables;
	uint32_t way = ways_find(ways, s->first_up + up);
	return way < ways->count ? way : st->next++ % ways->count;
}

const struct weft_route_ops route_digits = {
	.name = "digits",
	.help = "uplinks by the part of the entropy that belongs to the switch's tier, for prime, prime2 and co-prime",
	.reads_digits = true,
	.state_bytes = digits_state,
	.init = digits_init,
	.choose = digits_choose,
};
