/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cmocka_all.h"
#include "lb_ops.h"

static void weft_lb_auto__chooses_and_says_why(void **state)
{
	static const struct {
		struct weft_lb_offer offer;
		const struct weft_lb_ops *ops;
		const char *word; /* in the reason */
	} cases[] = {
		{{.switches_choose = 1, .ecn = 1, .ack_every = 1}, &weft_lb_spray, "switches choose"},
		{{.digits = 1, .ecn = 1, .ack_every = 4}, &weft_lb_prime2, "digits"},
		{{.ecn = 1, .trimming = 1, .ack_every = 1}, &weft_lb_reps2, "unmarked"},
		{{.ecn = 1, .ack_every = 1}, &weft_lb_reps2, "without trimming"},
		{{.trimming = 1, .ack_every = 1}, &weft_lb_reps2, "mark nothing"},
		{{.ecn = 1, .trimming = 1, .ack_every = 4}, &weft_lb_reps2, "without lb_all_acked"},
		{{.ecn = 1, .trimming = 1, .ack_every = 4, .all_acked = 1}, &weft_lb_reps2, "all their packets"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *reason = NULL;
		assert_ptr_equal(weft_lb_auto(&cases[i].offer, &reason), cases[i].ops);
		assert_non_null(strstr(reason, cases[i].word));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weft_lb_auto__chooses_and_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
