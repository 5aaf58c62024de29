/* SPDX-License-Identifier: BSD-3-Clause */
/* What every congestion control of the table must keep to. */
#include <stdbool.h>

#include "cc_box.h"
#include "cmocka_all.h"
#include "rng.h"

enum { EVENTS = 20000 };

/* From a tiny link to one faster than any NIC, with base RTTs to match and some that do not. */
static const struct {
	uint64_t link_bps;
	weft_ns brtt_ns;
	uint32_t mtu_bytes;
} places[] = {
	{10000000, 1000000, 1538},        {10000000, WEFT_S(1), 9038}, {50000000000, 8000, 4198},
	{100000000000, 12000, 4198},      {800000000000, 11450, 4198}, {800000000000, WEFT_MS(1), 9038},
	{1600000000000, WEFT_S(5), 9038}, {400000000000, 1, 84},       {8000, 1000, 84},
};

enum { PLACES = sizeof places / sizeof places[0] };

/* Names go where cmocka writes failures, so that the last name before a failure is the algorithm that failed. */
static void for_each(void (*test)(const struct weft_cc_ops *ops))
{
	for (const struct weft_cc_ops *const *ops = weft_cc_table; *ops; ops++) {
		print_error("    %s\n", (*ops)->name);
		test(*ops);
	}
}

static void start(struct cc_box *box, const struct weft_cc_ops *ops, int place, weft_ns now)
{
	cc_box_init(box, ops, places[place].link_bps, places[place].brtt_ns);
	box->params.mtu_bytes = places[place].mtu_bytes;
	box->now = now;
	cc_box_start(box);
}

/* The largest window. Most algorithms start with it, the rest are led there by ACKs from an idle network. */
static uint32_t grow(struct cc_box *box)
{
	for (int i = 0; i < 1000; i++) {
		box->now++;
		cc_box_ack(box, box->cc.cwnd_bytes, box->params.brtt_ns, false);
	}
	return box->cc.cwnd_bytes;
}

static uint32_t cap_of(const struct weft_cc_ops *ops, int place)
{
	struct cc_box box;

	start(&box, ops, place, 0);
	uint32_t first = box.cc.cwnd_bytes, grown = grow(&box);
	return grown > first ? grown : first;
}

static void assert_sane(const struct cc_box *box, uint32_t cap)
{
	assert_true(box->cc.cwnd_bytes >= box->params.mtu_bytes);
	assert_true(box->cc.cwnd_bytes <= cap);
}

static void check_description(const struct weft_cc_ops *ops)
{
	assert_true(ops->name[0] && ops->help[0]);
	assert_ptr_equal(weft_cc_find(ops->name), ops);
	assert_true(ops->init && ops->on_ack && ops->on_loss);
	assert_true(ops->state_size <= WEFT_CC_STATE_MAX);
	assert_true((ops->tunes != NULL) == (ops->tune_size > 0));
	for (const struct weft_param *p = ops->tunes; p && p->key; p++) {
		assert_true(p->help[0] && p->min <= p->def && p->def <= p->max);
		assert_true(p->offset < ops->tune_size);
	}
}

static void cc__description_is_complete(void **state)
{
	for_each(check_description);
}

static weft_ns draw_rtt(struct rng *rng, weft_ns brtt_ns)
{
	switch (rng_below(rng, 8)) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return rng_next(rng);
	default:
		return brtt_ns + rng_next(rng) % (3 * brtt_ns);
	}
}

static void random_event(struct cc_box *box, struct rng *rng)
{
	uint32_t bytes = rng_below(rng, 3 * (uint64_t)box->params.mtu_bytes);
	uint64_t inflight_bytes = rng_below(rng, 4) ? rng_below(rng, 1 << 24) : rng_next(rng);

	box->now += rng_below(rng, 1000) ? rng_next(rng) % (box->params.brtt_ns / 10 + 1) : rng_below(rng, UINT32_MAX);
	switch (rng_below(rng, 8)) {
	case 0:
		cc_box_lose(box, (enum weft_cc_loss_kind)rng_below(rng, WEFT_CC_LOSS_KINDS), 1, inflight_bytes);
		break;
	case 1:
		cc_box_sent(box, bytes, inflight_bytes);
		break;
	default:
		cc_box_ack(box, bytes, draw_rtt(rng, box->params.brtt_ns), rng_below(rng, 3) == 0);
	}
}

static void check_bounds(const struct weft_cc_ops *ops)
{
	for (int place = 0; place < PLACES; place++) {
		for (uint64_t seed = 0; seed < 4; seed++) {
			struct cc_box box;
			struct rng rng = {seed};
			start(&box, ops, place, 0);
			uint32_t cap = cap_of(ops, place);
			for (int i = 0; i < EVENTS; i++) {
				box.params.trimming = (i / 1000 + seed) & 1;
				random_event(&box, &rng);
				assert_sane(&box, cap);
			}
		}
	}
}

static void cwnd__within_a_packet_and_the_cap(void **state)
{
	for_each(check_bounds);
}

/* The 64-bit time is far along and its lower half about to wrap; the same events give the same windows. */
static void check_origin(const struct weft_cc_ops *ops)
{
	const weft_ns origins[] = {UINT32_MAX - 100000, (UINT64_C(1) << 32) * 77 + UINT32_MAX - 5000, UINT64_C(1) << 62,
				   (UINT64_C(1) << 63) - 5000};
	struct cc_box ref, box;

	for (size_t o = 0; o < sizeof origins / sizeof origins[0]; o++) {
		struct rng a = {9}, b = {9};
		start(&ref, ops, 3, 0);
		start(&box, ops, 3, origins[o]);
		for (int i = 0; i < EVENTS; i++) {
			random_event(&ref, &a);
			random_event(&box, &b);
			assert_int_equal(box.cc.cwnd_bytes, ref.cc.cwnd_bytes);
		}
	}
}

static void time__origin_does_not_matter(void **state)
{
	for_each(check_origin);
}

static void assert_loss(bool good, const struct cc_box *box, int kind, const char *what)
{
	static const char *const names[WEFT_CC_LOSS_KINDS] = {"trim", "gap", "timeout"};

	if (!good)
		fail_msg("%s, loss by %s: %s, window %u, pace %u", box->cc.ops->name, names[kind], what,
			 box->cc.cwnd_bytes, box->cc.pace);
}

static void check_loss(const struct weft_cc_ops *ops)
{
	for (int kind = 0; kind < WEFT_CC_LOSS_KINDS; kind++) {
		for (int place = 0; place < PLACES; place++) {
			struct cc_box box;
			start(&box, ops, place, WEFT_S(1));
			for (int i = 0; i < 1000; i++) {
				uint32_t before = box.cc.cwnd_bytes;
				cc_box_lose(&box, (enum weft_cc_loss_kind)kind, 1, 0);
				assert_loss(box.cc.cwnd_bytes <= before, &box, kind, "the window grew");
				assert_sane(&box, before);
			}
		}
	}
}

static void on_loss__never_grows_the_window(void **state)
{
	for_each(check_loss);
}

/* Losses of one kind, an RTT apart, leave less to send: a smaller window or a slower pace. */
static void check_reaction(const struct weft_cc_ops *ops)
{
	if (ops == weft_cc_find("fixed"))
		return; /* a yardstick that reacts to nothing */
	for (int kind = 0; kind < WEFT_CC_LOSS_KINDS; kind++) {
		struct cc_box box;
		start(&box, ops, 3, WEFT_S(1));
		uint32_t cwnd_bytes = box.cc.cwnd_bytes, pace = box.cc.pace;
		for (int i = 0; i < 10; i++, box.now += box.params.brtt_ns)
			cc_box_lose(&box, (enum weft_cc_loss_kind)kind, 1, cwnd_bytes / 2);
		assert_loss(box.cc.cwnd_bytes < cwnd_bytes || box.cc.pace > pace, &box, kind, "no effect");
	}
}

static void on_loss__every_kind_has_an_effect(void **state)
{
	for_each(check_reaction);
}

/* An ACK that reports nothing new may tell of congestion, never of room. */
static void check_zero_bytes(const struct weft_cc_ops *ops)
{
	for (int place = 0; place < PLACES; place++) {
		struct cc_box box;
		start(&box, ops, place, WEFT_S(1));
		for (int i = 0; i < 20; i++, box.now += box.params.brtt_ns)
			cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 3, 0);
		uint32_t before = box.cc.cwnd_bytes;
		for (int i = 0; i < 2000; i++) {
			cc_box_ack(&box, 0, box.params.brtt_ns + (i % 3) * box.params.brtt_ns / 2, false);
			assert_true(box.cc.cwnd_bytes <= before);
		}
		assert_true(box.cc.cwnd_bytes >= box.params.mtu_bytes);
	}
}

static void on_ack__zero_bytes_never_grow_the_window(void **state)
{
	for_each(check_zero_bytes);
}

/* More than 2^32 bytes sent and acknowledged while the time stands still: whatever counts them wraps. */
static void check_counters(const struct weft_cc_ops *ops)
{
	for (int ce = 0; ce < 2; ce++) {
		struct cc_box box;
		start(&box, ops, 5, WEFT_S(1));
		uint32_t cap = cap_of(ops, 5);
		cc_box_lose(&box, WEFT_CC_LOSS_TRIM, 1000, 0);
		for (int i = 0; i < 6000; i++) {
			cc_box_sent(&box, 1 << 20, (uint64_t)i << 20);
			cc_box_ack(&box, 1 << 20, 2 * box.params.brtt_ns, ce);
			assert_sane(&box, cap);
		}
		box.now += 3 * box.params.brtt_ns;
		cc_box_acks(&box, 1000, 100, box.params.brtt_ns, ce);
		assert_sane(&box, cap);
	}
}

static void counters__may_wrap(void **state)
{
	for_each(check_counters);
}

/* The same events lead to the same state, to the last bit. */
static void check_determinism(const struct weft_cc_ops *ops)
{
	struct cc_box a, b;
	struct rng rng_a = {5}, rng_b = {5};

	start(&a, ops, 4, WEFT_S(1));
	start(&b, ops, 4, WEFT_S(1));
	for (int i = 0; i < EVENTS; i++) {
		random_event(&a, &rng_a);
		random_event(&b, &rng_b);
		assert_int_equal(a.cc.cwnd_bytes, b.cc.cwnd_bytes);
		assert_int_equal(a.cc.pace, b.cc.pace);
	}
	assert_memory_equal(a.cc.state, b.cc.state, sizeof a.cc.state);
}

static void state__follows_from_the_events(void **state)
{
	for_each(check_determinism);
}

static void check_idle(const struct weft_cc_ops *ops)
{
	struct cc_box box;

	start(&box, ops, 3, WEFT_S(1));
	uint32_t cap = cap_of(ops, 3);
	cc_box_acks(&box, 200, 100, box.params.brtt_ns, false);
	uint32_t before = box.cc.cwnd_bytes;
	box.now += WEFT_S(3600);
	cc_box_sent(&box, box.params.mtu_bytes, box.params.mtu_bytes);
	cc_box_acks(&box, 1, box.params.brtt_ns, box.params.brtt_ns, false);
	assert_true(box.cc.cwnd_bytes >= before);
	assert_sane(&box, cap);
}

static void idle__an_hour_later_the_window_is_still_there(void **state)
{
	for_each(check_idle);
}

/* The base RTT falls and the window's cap with it; a rise back restores the cap. */
static void check_brtt(const struct weft_cc_ops *ops)
{
	struct cc_box box;

	start(&box, ops, 4, 0);
	uint32_t cap = grow(&box);
	box.params.brtt_ns /= 4;
	cc_box_acks(&box, 1, 100, box.params.brtt_ns, false);
	assert_in_range(box.cc.cwnd_bytes, cap / 4 - cap / 1000, cap / 4 + cap / 1000); /* the BDP is rounded down */
	box.params.brtt_ns = 0;
	cc_box_acks(&box, 5, 100, 5, true);
	assert_sane(&box, cap);
	box.params.brtt_ns = WEFT_NEVER;
	cc_box_acks(&box, 5, 100, 5, true);
	assert_true(box.cc.cwnd_bytes >= box.params.mtu_bytes);
}

static void brtt__may_change(void **state)
{
	for_each(check_brtt);
}

/* Most ACKs are lost; the rest tell of many packets each. The window must not fall to the bottom for that alone. */
static void check_ack_loss(const struct weft_cc_ops *ops)
{
	struct cc_box box;

	start(&box, ops, 4, 0);
	uint32_t before = grow(&box);
	for (int i = 0; i < 100; i++) {
		box.now += box.params.brtt_ns;
		cc_box_ack(&box, before, box.params.brtt_ns, false);
		cc_box_ack(&box, 0, box.params.brtt_ns, false);
	}
	assert_int_equal(box.cc.cwnd_bytes, before);
}

static void on_ack__few_large_acks(void **state)
{
	for_each(check_ack_loss);
}

static void check_state(const struct weft_cc_ops *ops)
{
	struct cc_box box;
	struct rng rng = {3};

	start(&box, ops, 3, 0);
	for (int i = 0; i < EVENTS; i++)
		random_event(&box, &rng);
	for (size_t i = ops->state_size; i < WEFT_CC_STATE_MAX; i++)
		assert_int_equal(box.cc.state[i], 0xa5);
	struct weft_cc_view view = cc_box_view(&box);
	assert_true(view.target_rtt_ns == 0 || view.target_rtt_ns > box.params.brtt_ns);
}

static void state__stays_within_its_size(void **state)
{
	for_each(check_state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cc__description_is_complete),
		cmocka_unit_test(cwnd__within_a_packet_and_the_cap),
		cmocka_unit_test(time__origin_does_not_matter),
		cmocka_unit_test(on_loss__never_grows_the_window),
		cmocka_unit_test(on_loss__every_kind_has_an_effect),
		cmocka_unit_test(on_ack__zero_bytes_never_grow_the_window),
		cmocka_unit_test(counters__may_wrap),
		cmocka_unit_test(state__follows_from_the_events),
		cmocka_unit_test(idle__an_hour_later_the_window_is_still_there),
		cmocka_unit_test(brtt__may_change),
		cmocka_unit_test(on_ack__few_large_acks),
		cmocka_unit_test(state__stays_within_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
