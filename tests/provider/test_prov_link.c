/* SPDX-License-Identifier: BSD-3-Clause */
/* What a port tells of its link reaches the engine, the listeners and operations: a device over a port of this test. */
#include <string.h>

#include "cmocka_all.h"
#include "engine_state.h"
#include "prov_link.h"
#include "prov_log.h"
#include "prov_progress.h"
#include "weft/algos.h"

#define GBPS UINT64_C(1000000000)

/* The port has nothing to give but news of its link. */
struct fake {
	struct weft_port port;
	struct prov_nic nic;
	struct weft_ep *ep;
	struct prov_link_listener listener;
	bool has_news;
	enum weft_link_state state;
	unsigned heard;
	int heard_err;
};

static uint16_t fake_rx(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	struct fake *f = (struct fake *)port;
	if (f->has_news)
		prov_link_heard(&f->nic, f->state);
	f->has_news = false;
	return 0;
}

static uint16_t fake_none(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
	return 0;
}

static void fake_free(struct weft_port *port, struct weft_pkt **pkts, uint16_t n)
{
}

static const struct weft_port_ops fake_ops = {.rx = fake_rx, .tx = fake_none, .alloc = fake_none, .free = fake_free};

static void fake_heard(struct prov_link_listener *listener, int err)
{
	struct fake *f = (struct fake *)((char *)listener - offsetof(struct fake, listener));
	f->heard++;
	f->heard_err = err;
}

static void engine_open(struct fake *f)
{
	struct weft_engine_conf conf = {.ip = weft_ip_v4(0x0a000001)};
	struct weft_cc_choice choice = {NULL};
	struct weft_algos algos;
	struct weft_err err = {""};
	weft_algos_init(&algos);
	assert_int_equal(
		weft_cc_select_from(&(struct weft_cc_tables){algos.cc, algos.rcc, NULL}, "smartt", &choice, &err), 0);
	assert_int_equal(weft_lb_choose_from(algos.lb, NULL, "reps", &conf.lb, &err), 0);
	conf.cc = choice.cc;
	weft_param_defaults(weft_engine_tunes, &conf.tune);
	conf.tune.probe_rate = RATE_BOUND;
	f->port.link_bps = 100 * GBPS;
	if (weft_engine_create(&conf, &f->port, weft_clock_ns(), &f->nic.engine, &err) ||
	    weft_ep_open(f->nic.engine, 1, 16, 16, &f->ep, &err))
		fail_msg("%s", err.msg);
}

static void fake_open(struct fake *f)
{
	*f = (struct fake){.port = {.ops = &fake_ops, .max_ip_bytes = 9000}, .listener = {.heard = fake_heard}};
	struct prov_nic *nic = &f->nic;
	nic->name = "fake0";
	nic->port = nic->engine_port = &f->port;
	pthread_mutex_init(&nic->lock, NULL);
	TAILQ_INIT(&nic->to_notify);
	TAILQ_INIT(&nic->pollers);
	TAILQ_INIT(&nic->link_listeners);
	TAILQ_INSERT_TAIL(&nic->link_listeners, &f->listener, link);
	prov_deferred_init(&nic->deferred);
	engine_open(f);
	prov_nic_lock(nic);
}

static void fake_close(struct fake *f)
{
	prov_nic_release(&f->nic);
	weft_engine_destroy(f->nic.engine);
	pthread_mutex_destroy(&f->nic.lock);
}

static void news(struct fake *f, enum weft_link_state state, uint64_t link_bps)
{
	f->state = state;
	f->port.link_bps = link_bps;
	f->has_news = true;
	prov_progress(&f->nic);
	assert_false(f->has_news);
}

static void rate__follows_the_link(void **state)
{
	struct fake f;
	fake_open(&f);
	const struct pds *pds = &f.nic.engine->pds;
	uint64_t pace = pds->out.link_pace;
	assert_int_equal(pds->rate.params.link_bps, 100 * GBPS);
	news(&f, WEFT_LINK_UP, 25 * GBPS); /* no news for the application */
	assert_int_equal(f.heard, 0);
	assert_int_equal(pds->rate.params.link_bps, 25 * GBPS);
	assert_int_equal(pds->out.link_pace / pace, 4);
	news(&f, WEFT_LINK_DOWN, 0);
	assert_int_equal(f.heard, 1);
	assert_int_equal(f.heard_err, FI_ENETDOWN);
	assert_int_equal(pds->rate.params.link_bps, 25 * GBPS);
	news(&f, WEFT_LINK_UP, 200 * GBPS);
	assert_int_equal(f.heard, 2);
	assert_int_equal(f.heard_err, 0);
	assert_int_equal(pds->rate.params.link_bps, 200 * GBPS);
	fake_close(&f);
}

/* What waits ends, and what comes is refused, in the poll that heard of it. */
static void removal__ends_operations(void **state)
{
	const struct weft_op recv = {.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .context = (void *)1};
	struct weft_cqe cqe;
	struct fake f;
	fake_open(&f);
	assert_int_equal(weft_submit(f.ep, &recv), 0);
	prov_progress(&f.nic);
	assert_int_equal(weft_cq_take(f.ep, &cqe, 1), 0);
	assert_false(prov_link_is_gone(&f.nic));
	news(&f, WEFT_LINK_REMOVED, 0);
	assert_true(prov_link_is_gone(&f.nic));
	assert_int_equal(f.heard_err, FI_ENODEV);
	assert_int_equal(weft_cq_take(f.ep, &cqe, 1), 1);
	assert_int_equal(cqe.err, FI_ENODEV);
	assert_ptr_equal(cqe.context, recv.context);
	fake_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate__follows_the_link),
		cmocka_unit_test(removal__ends_operations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
