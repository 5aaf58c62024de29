/* SPDX-License-Identifier: BSD-3-Clause */
#include "list.h"

#include "cmocka_all.h"

struct item {
	int value;
	struct list link;
};

static void list_add_tail__keeps_order(void **state)
{
	struct item items[3] = {{.value = 0}, {.value = 1}, {.value = 2}};
	struct list head;
	int expected = 0;

	list_init(&head);
	assert_true(list_empty(&head));
	for (int i = 0; i < 3; i++)
		list_add_tail(&head, &items[i].link);
	list_for_each (pos, &head)
		assert_int_equal(list_entry(pos, struct item, link)->value, expected++);
	assert_int_equal(expected, 3);
}

static void list_del__twice_is_harmless(void **state)
{
	struct item a, b;
	struct list head;

	list_init(&head);
	list_add_tail(&head, &a.link);
	list_add_tail(&head, &b.link);
	list_del(&a.link);
	list_del(&a.link);
	assert_ptr_equal(head.next, &b.link);
	assert_ptr_equal(head.prev, &b.link);
	assert_true(list_empty(&a.link));
}

static void list_for_each_safe__may_remove(void **state)
{
	struct item items[4];
	struct list head;
	int seen = 0;

	list_init(&head);
	for (int i = 0; i < 4; i++)
		list_add_tail(&head, &items[i].link);
	list_for_each_safe (pos, &head) {
		list_del(pos);
		seen++;
	}
	assert_int_equal(seen, 4);
	assert_true(list_empty(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_add_tail__keeps_order),
		cmocka_unit_test(list_del__twice_is_harmless),
		cmocka_unit_test(list_for_each_safe__may_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
