/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <stdlib.h>

#include "inside.h"

static void take__all_then_none(void **state)
{
	struct duo d;
	struct pdc *all = calloc(65536, sizeof *all);
	bool *seen = calloc(65536, sizeof *seen);
	open_default(&d);
	struct pdc_ids *ids = &d.e[0]->pds.ids;
	for (uint32_t i = 1; i < 65536; i++) {
		assert_true(pdc_id_take(ids, &all[i]));
		assert_in_range(all[i].id, 1, 65535);
		assert_false(seen[all[i].id]);
		seen[all[i].id] = true;
		assert_ptr_equal(pdc_by_id(ids, all[i].id), &all[i]);
	}
	assert_false(pdc_id_take(ids, &all[0]));
	assert_int_equal(all[0].id, 0);
	uint16_t freed = all[777].id;
	pdc_id_put(ids, &all[777]);
	assert_null(pdc_by_id(ids, freed));
	assert_true(pdc_id_take(ids, &all[0]));
	assert_int_equal(all[0].id, freed);
	for (uint32_t i = 0; i < 65536; i++)
		pdc_id_put(ids, &all[i]);
	assert_int_equal(ids->count, 0);
	duo_close(&d);
	free(all);
	free(seen);
}

static void take__ids_rest_before_they_return(void **state)
{
	struct duo d;
	struct pdc pdc = {.id = 0};
	open_default(&d);
	for (int i = 1; i < 65536; i++) {
		assert_true(pdc_id_take(&d.e[0]->pds.ids, &pdc));
		assert_int_equal(pdc.id, i);
		assert_ptr_equal(pdc_by_id(&d.e[0]->pds.ids, pdc.id), &pdc);
		assert_null(pdc_by_id(&d.e[0]->pds.ids, (uint16_t)(i + d.e[0]->pds.ids.mask + 1))); /* the same place */
		pdc_id_put(&d.e[0]->pds.ids, &pdc);
	}
	assert_int_equal(d.e[0]->pds.ids.mask + 1, 16);
	assert_true(pdc_id_take(&d.e[0]->pds.ids, &pdc));
	assert_int_equal(pdc.id, 1);
	pdc_id_put(&d.e[0]->pds.ids, &pdc);
	pdc_id_put(&d.e[0]->pds.ids, &pdc); /* of none: nothing */
	assert_int_equal(d.e[0]->pds.ids.count, 0);
	duo_close(&d);
}

static void take__without_memory(void **state)
{
	struct duo d;
	struct pdc pdc[64] = {{.id = 0}};
	open_default(&d);
	d.mem[0].fail_at = d.mem[0].calls + 1;
	assert_false(pdc_id_take(&d.e[0]->pds.ids, &pdc[0]));
	for (int i = 0; i < 64; i++) {
		d.mem[0].fail_at = d.mem[0].calls + 1 + (i < 10); /* growing fails at first, there is room still */
		while (!pdc_id_take(&d.e[0]->pds.ids, &pdc[i]))
			;
	}
	for (int i = 0; i < 64; i++)
		pdc_id_put(&d.e[0]->pds.ids, &pdc[i]);
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take__all_then_none),
		cmocka_unit_test(take__ids_rest_before_they_return),
		cmocka_unit_test(take__without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
