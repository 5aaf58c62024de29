/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_paths.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "ethdev_nd.h"
#include "ethdev_route.h"
#include "ethdev_solicit.h"
#include "netlink.h"

#define ASK_ROUTERS_NS WEFT_S(4)

enum { ASK_ROUTERS_TIMES = 3 }; /* RFC 4861 sec. 10 */

struct paths {
	struct route_table *table; /* NULL: everybody is on the link */
	struct weft_route *fixed;  /* what the port was opened with */
	uint32_t fixed_count;
	char iface[WEFT_IF_NAME_BYTES]; /* the kernel's interface that is followed; empty: none */
	struct mnl_socket *watch;       /* news of it */
	bool listens;                   /* to routers that advertise themselves */
	uint8_t asked;                  /* times routers were asked */
	weft_ns ask_at;
	struct nd_router router; /* the default router heard of last; `lifetime_s` 0: none */
	weft_ns router_until;
};

/* The routes of a configuration: the link's own prefix, then what the caller gave. */
static int fixed_take(struct paths *p, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	const struct weft_ethdev_net *net = &conf->net;
	p->fixed = calloc(net->route_count + 1, sizeof *p->fixed);
	if (p->fixed == NULL)
		return weft_err_set(err, -ENOMEM, "%s: no memory for routes", conf->dev);
	if (net->prefix_len != 0)
		p->fixed[p->fixed_count++] = (struct weft_route){.prefix = route_prefix(&conf->ip, net->prefix_len),
								 .prefix_len = net->prefix_len};
	for (uint32_t i = 0; i < net->route_count; i++)
		p->fixed[p->fixed_count++] = net->routes[i];
	return 0;
}

/* A new table from `more` routes behind the fixed ones; the old one stays when there is no memory. */
static bool table_renew(struct ethdev *d, const struct weft_route *more, uint32_t more_count)
{
	struct paths *p = d->paths;
	uint32_t count = p->fixed_count + more_count;
	struct weft_route *all = malloc((count + 1) * sizeof *all);
	if (all == NULL)
		return false;
	if (more_count > 0)
		memcpy(all, more, more_count * sizeof *more);
	memcpy(all + more_count, p->fixed, p->fixed_count * sizeof *all); /* the user's word counts most */
	struct route_table *table = route_table_create(all, count, d->node);
	free(all);
	if (table == NULL)
		return false;
	route_table_destroy(p->table);
	p->table = table;
	d->stats.route_changes++;
	return true;
}

static int kernel_read(struct ethdev *d, struct weft_err *err)
{
	struct weft_if iface;
	struct weft_route *routes = NULL;
	uint32_t count = 0;
	int rc = weft_if_read(d->paths->iface, &iface, err);
	if (rc == 0)
		rc = weft_if_routes(iface.index, &routes, &count, err);
	if (rc == 0 && !table_renew(d, routes, count))
		rc = weft_err_set(err, -ENOMEM, "%s: no memory for routes", d->paths->iface);
	free(routes);
	return rc;
}

/* News first, so that none is missed between the tables and them. */
static int kernel_follow(struct ethdev *d, const char *iface, struct weft_err *err)
{
	strncpy(d->paths->iface, iface, sizeof d->paths->iface - 1);
	d->paths->watch = netlink_watch();
	if (d->paths->watch == NULL)
		return weft_err_set(err, -errno, "%s: no news of routes from the kernel: %s", iface, strerror(errno));
	return kernel_read(d, err);
}

int paths_open(struct ethdev *d, const struct weft_ethdev_conf *conf, struct weft_err *err)
{
	const struct weft_ethdev_net *net = &conf->net;
	d->paths = calloc(1, sizeof *d->paths);
	if (d->paths == NULL)
		return weft_err_set(err, -ENOMEM, "%s: no memory for routes", conf->dev);
	int rc = fixed_take(d->paths, conf, err);
	if (rc != 0)
		return rc;
	if (net->kernel_if != NULL)
		return kernel_follow(d, net->kernel_if, err);
	if (d->paths->fixed_count == 0)
		return 0;
	d->paths->listens = !weft_ip_is_v4(&d->ip) && net->route_count == 0;
	return table_renew(d, NULL, 0) ? 0 : weft_err_set(err, -ENOMEM, "%s: no memory for routes", conf->dev);
}

void paths_close(struct ethdev *d)
{
	if (d->paths == NULL)
		return;
	if (d->paths->watch != NULL)
		mnl_socket_close(d->paths->watch);
	route_table_destroy(d->paths->table);
	free(d->paths->fixed);
	free(d->paths);
	d->paths = NULL;
}

bool paths_next_hop(const struct ethdev *d, const struct weft_ip *dst, struct weft_ip *next_hop)
{
	if (d->paths != NULL && d->paths->table != NULL)
		return route_find(d->paths->table, dst, next_hop);
	*next_hop = *dst;
	return true;
}

/* ---- routers that advertise themselves ---- */

static bool router_renew(struct ethdev *d)
{
	const struct nd_router *r = &d->paths->router;
	struct weft_route routes[ND_PREFIXES + 1];
	uint32_t count = 0;
	if (r->lifetime_s != 0)
		routes[count++] = (struct weft_route){.gateway = r->ip};
	for (uint32_t i = 0; i < r->prefix_count; i++)
		if (r->prefixes[i].lifetime_s != 0)
			routes[count++] =
				(struct weft_route){.prefix = r->prefixes[i].prefix, .prefix_len = r->prefixes[i].len};
	return table_renew(d, routes, count);
}

static bool router_eq(const struct nd_router *a, const struct nd_router *b)
{
	bool same = weft_ip_eq(&a->ip, &b->ip) && a->lifetime_s == b->lifetime_s && a->prefix_count == b->prefix_count;
	for (uint32_t i = 0; same && i < a->prefix_count; i++)
		same = weft_ip_eq(&a->prefixes[i].prefix, &b->prefixes[i].prefix) &&
		       a->prefixes[i].len == b->prefixes[i].len &&
		       a->prefixes[i].lifetime_s == b->prefixes[i].lifetime_s;
	return same;
}

/* Of several routers the first one stays until it resigns or is no longer heard of. */
bool paths_router_heard(struct ethdev *d, const struct nd_router *router, weft_ns now)
{
	struct paths *p = d->paths;
	if (p == NULL || !p->listens || (router->lifetime_s == 0 && p->router.lifetime_s == 0))
		return false;
	if (p->router.lifetime_s != 0 && !weft_ip_eq(&p->router.ip, &router->ip))
		return false;
	bool changed = !router_eq(&p->router, router);
	p->router = *router;
	p->router_until = now + WEFT_S(router->lifetime_s);
	p->asked = ASK_ROUTERS_TIMES;
	return changed && router_renew(d);
}

static bool routers_periodic(struct ethdev *d, weft_ns now)
{
	struct paths *p = d->paths;
	if (p->asked < ASK_ROUTERS_TIMES && now >= p->ask_at && solicit_routers(d)) {
		p->asked++;
		p->ask_at = now + ASK_ROUTERS_NS;
	}
	if (p->router.lifetime_s == 0 || now < p->router_until)
		return false;
	p->router = (struct nd_router){0};
	p->asked = 0;
	return router_renew(d);
}

bool paths_periodic(struct ethdev *d, weft_ns now)
{
	struct weft_err err;
	struct paths *p = d->paths;
	if (p == NULL)
		return false;
	if (p->listens)
		return routers_periodic(d, now);
	/* An interface that is gone for now keeps the routes it had. */
	return p->watch != NULL && netlink_watch_changed(p->watch) && kernel_read(d, &err) == 0;
}
