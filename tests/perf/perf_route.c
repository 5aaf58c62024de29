/* SPDX-License-Identifier: BSD-3-Clause */
/* Time until every switch has its next hops after a failure: perf_route TOPOLOGY fails a cable of leaf 0 and computes
 * routes anew for ways of choosing that weigh paths, beside ecmp, which does not. With digits senders weigh them: until
 * each leaf knows its turns to all others. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "net.h"

static void free_pkt(void *arg, struct weft_pkt *pkt)
{
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + 1e-6 * (double)t.tv_nsec;
}

static int fail_and_reroute(struct weft_net *net)
{
	struct weft_link_id id;

	for (int down = 0; down < 2; down++) {
		if (weft_net_link_find(net, 0, 0, 0, down, &id))
			return -1;
		weft_net_avoid_link(net, id, true);
	}
	return weft_net_reroute(net);
}

static int ask_turns(struct weft_net *net, const struct weft_topo *topo)
{
	const struct weft_lb_turns *turns;
	uint32_t per_leaf = topo->tier[0].radix_down;
	int rc = 0;

	for (uint32_t src = 0; src < topo->hosts && !rc; src += per_leaf)
		for (uint32_t dst = 0; dst < topo->hosts && !rc; dst += per_leaf)
			rc = weft_net_turns(net, src, dst, &turns);
	return rc;
}

static int measure(const struct weft_topo *topo, const char *route)
{
	struct weft_net_conf conf = {.seed = 1, .mtu_bytes = 4260, .free_pkt = free_pkt};
	struct weft_err err = {""};
	struct weft_net *net;

	if (weft_route_find(route, &conf.route, &err) || weft_net_create(&conf, topo, 0, &net, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	double start = cpu_ms();
	int rc = fail_and_reroute(net);
	if (!rc && conf.route->reads_digits)
		rc = ask_turns(net, topo);
	printf("%u hosts, %-10s %8.1f ms\n", topo->hosts, route, cpu_ms() - start);
	weft_net_destroy(net);
	return rc != 0;
}

int main(int argc, char **argv)
{
	struct weft_topo topo;
	struct weft_err err = {""};

	if (argc < 2 || weft_topo_preset(argv[1], UINT64_C(100000000000), &topo, &err)) {
		fprintf(stderr, "perf_route PRESET: %s\n", err.msg);
		return 1;
	}
	return measure(&topo, "ecmp") | measure(&topo, "drill") | measure(&topo, "wcmp") | measure(&topo, "digits");
}
