/* SPDX-License-Identifier: BSD-3-Clause */
/* Which paths of an asymmetric tree are alike: DRILL section 3.4.1. The Quiver is a multidigraph of the switches, whose
 * edges carry the (source leaf, destination leaf) pairs that a link serves; paths whose links serve the same pairs see
 * the same queues, and only among them load may be balanced packet by packet. Pure arithmetic on a graph: it knows
 * nothing of fabrics. */
#ifndef WEFT_QUIVER_H
#define WEFT_QUIVER_H

#include <stdbool.h>
#include <stdint.h>

/* A switch and the leaves below it, low..low+span-1; of a leaf itself alone. */
struct quiver_node {
	uint32_t low, span;
};

/* All usable cables between two switches, one direction. */
struct quiver_link {
	uint32_t from, to; /* nodes; to > from: up */
	uint64_t bps;      /* of all cables together, > 0 */
};

/* What a link's label says besides the pair of leaves (section 3.4.3): the capacity factor, the rate the pair's packets
 * can come in with over the link's own. */
enum quiver_factor {
	QUIVER_PAIRS, /* nothing: for homogeneous links */
	QUIVER_OWN, /* paths are told apart by their own factors, links by pairs: as in the paper's example, where paths
		       are alike whose links have other factors for other pairs' traffic */
	QUIVER_ALL  /* links are told apart by all pairs' factors: by the letter of the paper */
};

struct quiver_conf {
	uint32_t nodes, leaves; /* the leaves are the first nodes; a node above another has the larger number */
	const struct quiver_node *node;
	uint32_t links;
	const struct quiver_link *link; /* by `from`, each pair of nodes once per direction */
	enum quiver_factor factor;
};

struct quiver;

/* Labels and scores of all links; the conf's arrays must stay. Paths are those of the routing: up while the destination
 * is not below, then down. -ENOMEM. */
int quiver_create(const struct quiver_conf *conf, struct quiver **out);
void quiver_destroy(struct quiver *q);

/* A hash over the set of labels of link `link`: two links are symmetric when theirs are equal. */
uint64_t quiver_score(const struct quiver *q, uint32_t link);

/* A set of paths from one switch to one leaf. */
struct quiver_part {
	uint64_t score; /* of its paths; the first link when grouped by it */
	uint64_t bps;   /* its weight: the slowest links of its paths, summed up */
	uint32_t paths;
	uint32_t last_hop; /* the link in `hop` that was added last */
};

/* That a path of part `part` begins with the link `link`. */
struct quiver_hop {
	uint32_t part, link;
};

/* The parts of the paths from one switch to one leaf, in the order of their first links. Zeroed before the first use;
 * the arrays grow as needed and are used again. */
struct quiver_parts {
	uint32_t parts, hops;
	struct quiver_part *part;
	struct quiver_hop *hop; /* each pair once, by link */
	uint32_t part_room, hop_room;
};

enum quiver_grouping { QUIVER_BY_SCORE, QUIVER_BY_HOP }; /* components; or next hops with the capacity behind each */

/* Decomposes the paths from `node` to `leaf` into its largest sets of symmetric paths, or by first link. No path: no
 * parts. -ENOMEM. */
int quiver_decompose(const struct quiver *q, uint32_t node, uint32_t leaf, enum quiver_grouping by,
		     struct quiver_parts *parts);
void quiver_parts_free(struct quiver_parts *parts);

#endif
