/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_table.h"

#include <stdlib.h>

#include "cmocka_all.h"

static struct flow_table *table(uint32_t flows)
{
	struct flow_table *t = calloc(1, flow_table_bytes(flows));

	flow_table_init(t, flows);
	return t;
}

static void find__remembers(void **state)
{
	struct flow_table *t = table(1000);

	assert_int_equal(flow_table_bytes(1000) % 64, 0);
	for (uint32_t i = 0; i < 200; i++) {
		struct flow_entry *e = flow_table_find(t, i * UINT64_C(0x9e3779b97f4a7c15));
		assert_int_equal(e->port, PORT_NONE);
		e->port = i;
		e->seen = 1;
	}
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(flow_table_find(t, i * UINT64_C(0x9e3779b97f4a7c15))->port, i);
	free(t);
}

/* One set of four: a fifth flow takes the place of the one that was silent for longest. */
static void find__makes_room(void **state)
{
	struct flow_table *t = table(4);

	for (uint32_t i = 1; i <= 4; i++) {
		struct flow_entry *e = flow_table_find(t, i);
		e->port = i;
		e->seen = i == 2 ? 5 : 10 + i;
	}
	assert_int_equal(flow_table_find(t, 9)->port, PORT_NONE);
	flow_table_find(t, 9)->port = 9;
	flow_table_find(t, 9)->seen = 20;
	assert_int_equal(flow_table_find(t, 1)->port, 1);
	assert_int_equal(flow_table_find(t, 3)->port, 3);
	assert_int_equal(flow_table_find(t, 4)->port, 4);
	assert_int_equal(flow_table_find(t, 2)->port, PORT_NONE);
	free(t);
}

static void flow_key__tells_flows_apart(void **state)
{
	const struct weft_pkt a = {.src = 1, .dst = 2, .entropy = 3}, b = {.src = 2, .dst = 1, .entropy = 3},
			      c = {.src = 1, .dst = 2, .entropy = 4}, d = {.src = 1, .dst = 2, .entropy = 3, .ecn = 3};

	assert_int_not_equal(flow_key(&a), flow_key(&b));
	assert_int_not_equal(flow_key(&a), flow_key(&c));
	assert_int_equal(flow_key(&a), flow_key(&d));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(find__remembers),
		cmocka_unit_test(find__makes_room),
		cmocka_unit_test(flow_key__tells_flows_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
