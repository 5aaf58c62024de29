/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_run.h"

#include "cmocka_all.h"

#define GBPS50 UINT64_C(50000000000)

void lab_run_configure(struct lab_config *c, const char *pattern)
{
	struct weft_err err = {""};
	lab_config_begin(c);
	struct weft_workload_site site = {.topo = &c->topo, .seed = c->seed};
	if (weft_topo_preset("leafspine:4:4:4", GBPS50, &c->topo, &err) ||
	    weft_workload_pattern(pattern, &site, &c->workload, &err))
		fail_msg("%s", err.msg);
}

struct lab *lab_run_make(const struct lab_config *c)
{
	struct lab *lab = NULL;
	struct weft_err err = {""};
	if (lab_create(c, &lab, &err))
		fail_msg("%s", err.msg);
	return lab;
}

void lab_run_finish(struct lab *lab)
{
	struct weft_err err = {""};
	if (lab_run(lab, &err))
		fail_msg("%s", err.msg);
}

static uint64_t digest_of(struct lab *lab)
{
	struct weft_net_stats stats;
	weft_net_get_stats(lab_net(lab), &stats);
	return stats.digest;
}

void lab_run_assert_same(struct lab *a, struct lab *b)
{
	assert_int_equal(lab_flow_count(a), lab_flow_count(b));
	for (uint32_t i = 0; i < lab_flow_count(a); i++) {
		const struct run_flow *x = &lab_flows(a)[i], *y = &lab_flows(b)[i];
		assert_int_equal(x->bytes, y->bytes);
		assert_int_equal(x->start, y->start);
		assert_int_equal(x->acked, y->acked);
		assert_int_equal(x->delivered, y->delivered);
		assert_true(x->verified && y->verified);
	}
	assert_int_equal(lab_now(a), lab_now(b));
	assert_int_not_equal(digest_of(a), 0);
	assert_int_equal(digest_of(a), digest_of(b));
}
