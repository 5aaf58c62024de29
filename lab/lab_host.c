/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds one engine to the fabric: packets and time in, packets and the next deadline out. */
#include <errno.h>
#include <stdio.h>

#include "lab_int.h"
#include "rng.h"

/* The NIC has room again: an engine whose packets it refused is due. */
static struct weft_pkt *note_pull(struct lab_host *h, struct weft_pkt *pkt)
{
	if (pkt && h->tx_blocked) {
		h->tx_blocked = false;
		lab_host_due(h);
	}
	return pkt;
}

static struct weft_pkt *host_pull(void *arg)
{
	struct lab_host *h = arg;
	return note_pull(h, sim_port_pull(h->nic));
}

static struct weft_pkt *host_pull_control(void *arg)
{
	struct lab_host *h = arg;
	return note_pull(h, sim_port_pull_control(h->nic));
}

static struct weft_pkt *host_pull_credit(void *arg)
{
	struct lab_host *h = arg;
	return note_pull(h, sim_port_pull_credit(h->nic));
}

/* The deadline in the fabric's unit, which is exact: both count from the same origin. */
static weft_ps deadline_ps(const struct lab_host *h)
{
	return h->deadline > WEFT_NEVER / 1000 ? WEFT_NEVER : h->deadline * 1000;
}

/* Asks for a wake-up at the deadline. An earlier request stays: it wakes the host too early once and is renewed then,
 * which costs less than a new request with every packet. */
static void arm(struct lab_host *h)
{
	weft_ps at = deadline_ps(h);
	if (at < h->wake_at) {
		h->wake_at = at;
		weft_net_wake(h->lab->net, h->index, at);
	}
	assert(h->wake_at <= at);
}

static void host_deliver(void *arg, struct weft_pkt *pkt, weft_ps now)
{
	struct lab_host *h = arg;
	if (!sim_port_deliver(h->nic, pkt, now / 1000))
		return;
	uint32_t delay = h->lab->conf->tune.poll_delay_ns;
	if (!delay) {
		lab_host_due(h);
		return;
	}
	weft_ns then = (now + 999) / 1000 + delay;
	if (then < h->deadline)
		h->deadline = then;
	arm(h);
}

static void host_wake(void *arg, weft_ps now)
{
	struct lab_host *h = arg;
	assert(h->wake_at <= now);
	h->wake_at = WEFT_NEVER;
	if (deadline_ps(h) <= now)
		lab_host_due(h);
	else
		arm(h);
}

/* With a thousand hosts, a host's data has left the near caches before its next turn. */
static void host_prefetch(void *arg, enum weft_nic_call call, const struct weft_pkt *pkt, uint32_t stage)
{
	const struct lab_host *h = arg;
	if (stage == 0)
		sim_port_prefetch(h->nic);
	if (call != WEFT_NIC_PULL)
		weft_engine_prefetch(h->engine, pkt, stage);
}

static const struct weft_nic_ops nic_ops = {
	.pull = host_pull,
	.deliver = host_deliver,
	.wake = host_wake,
	.prefetch = host_prefetch,
	.pull_control = host_pull_control,
	.pull_credit = host_pull_credit,
};

static int create_port(struct lab_host *h, struct weft_err *err)
{
	const struct lab_config *c = h->lab->conf;
	struct sim_port_conf conf = {
		.slab = h->lab->slab,
		.link_bps = c->topo.tier[0].down_bps,
		.max_ip_bytes = 65535,
		.tx_entries = (uint16_t)c->tune.nic_tx_entries,
		.rx_entries = (uint16_t)c->tune.nic_rx_entries,
		.by_reference = !c->faulty, /* the pattern; a fault port sends copies of its own */
	};
	int rc = sim_port_create(&conf, &h->nic, err);
	h->port = h->nic;
	if (rc || !c->faulty)
		return rc;
	struct weft_fault_conf fault = c->fault;
	fault.seed = rng_mix(rng_mix(c->seed) + fault.seed + h->index + 1);
	rc = weft_fault_open(&fault, h->nic, &h->port, err);
	h->faulty = !rc;
	return rc;
}

/* The turns that routing currently knows of the paths to `dst`. */
static const struct weft_lb_turns *host_turns(void *arg, uint32_t dst)
{
	const struct lab_host *h = arg;
	struct lab *lab = h->lab;
	const struct weft_lb_turns *turns;
	if (weft_net_turns(lab->net, h->index, dst - weft_net_host_ip(0), &turns))
		lab_break(lab, -ENOMEM, "no memory for the paths that are left");
	return turns;
}

/* Whether switches have to tell background data from other: for its own queue, or to hash it where the entropies of
 * other data are digits. */
static bool background_is_ordered(const struct lab_config *c)
{
	return c->fabric.ordered_pct > 0 || (c->route->reads_digits && c->background_lb == weft_lb_find("ecmp"));
}

static int create_engine(struct lab_host *h, struct weft_err *err)
{
	const struct lab_config *c = h->lab->conf;
	struct weft_engine_conf conf = {
		.ip = weft_ip_v4(weft_net_host_ip(h->index)),
		.cc = c->cc,
		.lb = c->lb,
		.lb_background = c->background_lb,
		.rcc = c->rcc,
		.tune = c->engine,
		.cc_tune = c->cc_tune,
		.lb_tune = c->lb_tune,
		.rcc_tune = c->rcc_tune,
		.seed = rng_mix(c->seed + ((uint64_t)(h->index + 1) << 32)),
	};
	if (c->cc_odd && h->index % 2) {
		conf.cc = c->cc_odd;
		conf.cc_tune = c->cc_odd_tune;
	}
	conf.background_ordered = background_is_ordered(c);
	weft_topo_digits(&c->topo, &conf.digits);
	conf.digits_read = c->route->reads_digits;
	conf.oversubscribed = weft_topo_leaf_oversubscribed(&c->topo);
	conf.lb_routes = &h->lb_routes;
	if (!conf.tune.brtt_ns && conf.tune.probe_rate != 2)
		conf.tune.brtt_ns = weft_net_brtt_ns(h->lab->net);
	int rc = weft_engine_create(&conf, h->port, 0, &h->engine, err);
	if (rc)
		return rc;
	uint32_t entries = lab_host_operations(h->lab, h->index) + 1;
	return weft_ep_open(h->engine, LAB_PORT, entries, entries, &h->ep, err);
}

int lab_host_create(struct lab *lab, uint32_t index, struct weft_err *err)
{
	struct lab_host *h = &lab->hosts[index];
	*h = (struct lab_host){.lab = lab, .index = index, .deadline = WEFT_NEVER, .wake_at = WEFT_NEVER};
	h->lb_routes = (struct weft_lb_routes){h, host_turns};
	int rc = create_port(h, err);
	if (!rc)
		rc = create_engine(h, err);
	if (!rc)
		weft_net_attach(lab->net, index, &nic_ops, h);
	return rc;
}

void lab_host_destroy(struct lab_host *h)
{
	if (h->engine)
		weft_engine_destroy(h->engine);
	if (h->port)
		h->port->ops->close(h->port);
}

/* Polls once. True: the engine has more work at this instant. */
static bool poll_once(struct lab_host *h, weft_ns now)
{
	const struct weft_stats *stats = weft_engine_stats(h->engine);
	uint64_t full = stats->tx_full;
	h->deadline = weft_engine_poll(h->engine, now);
	if (h->deadline <= now) {
		h->tx_blocked = stats->tx_full != full;
		h->deadline = WEFT_NEVER;
		return !h->tx_blocked;
	}
	return false;
}

static void host_poll(struct lab_host *h)
{
	struct lab *lab = h->lab;
	uint32_t polls = 0;
	bool more = true;
	while (more && polls++ < LAB_POLLS_MAX) {
		more = poll_once(h, lab->now / 1000);
		if (sim_port_tx_pending(h->nic))
			weft_net_kick(lab->net, h->index, lab->now);
		lab_take_completions(h);
	}
	if (more)
		lab_break(lab, -EPROTO, "host %u: the engine asks to be polled again and again at %.3f us", h->index,
			  (double)lab->now / 1e6);
	arm(h);
}

void lab_poll_due(struct lab *lab)
{
	struct lab_host *h;
	while ((h = lab_take_due(lab)) != NULL)
		host_poll(h);
}
