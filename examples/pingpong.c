/* SPDX-License-Identifier: BSD-3-Clause */
/* Two engines in one process, joined by packet rings, send a message to and fro and print the mean round trip. A
 * program with a NIC opens its device (weft_ethdev_conf.dev) instead of a ring and polls its one engine. */
#include <err.h>
#include <errno.h>
#include <stdio.h>

#include <weft/engine.h>
#include <weft/ethdev.h>

enum { ROUNDS = 10000, BYTES = 64, PORT = 1, BURST = 32 };
#define CHECK(rc) ((rc) ? errx(1, #rc ": %s", err.msg) : (void)0)

static struct host {
	struct weft_port *port, *wire; /* the engine's end of its ring, and the switch's */
	struct weft_engine *engine;
	struct weft_ep *ep;
	uint32_t peer;
	char buf[BYTES];
} hosts[2];

static void open_host(struct host *h, const char *name, struct weft_ip ip, struct weft_ip peer)
{
	struct weft_err err = {""};
	struct weft_ethdev_conf dev = {.dev = name, .ip = ip, .no_arp = 1};
	struct weft_engine_conf conf = {.ip = ip, .cc = weft_cc_auto(), .lb = weft_lb_find("reps")};
	weft_param_defaults(weft_engine_tunes, &conf.tune);
	weft_engine_tune_auto(&conf.tune);
	CHECK(weft_ethdev_ring_pair(name, 1024, &h->wire, &err));
	CHECK(weft_ethdev_open(&dev, &h->port, &err));
	CHECK(weft_engine_create(&conf, h->port, weft_clock_ns(), &h->engine, &err));
	CHECK(weft_ep_open(h->engine, PORT, 64, 64, &h->ep, &err));
	CHECK(weft_peer_add(h->engine, &(struct weft_addr){peer, PORT}, &h->peer));
}

/* Polls the engine and gives what it sent to the other host. Returns how many operations are complete, 0 or 1. */
static unsigned poll_host(const struct host *h, const struct host *other)
{
	struct weft_pkt *pkts[BURST];
	struct weft_cqe cqe = {.err = 0};
	weft_engine_poll(h->engine, weft_clock_ns());
	uint16_t n = h->wire->ops->rx(h->wire, pkts, BURST), taken = other->wire->ops->tx(other->wire, pkts, n);
	h->wire->ops->free(h->wire, pkts + taken, (uint16_t)(n - taken));
	unsigned complete = weft_cq_take(h->ep, &cqe, 1);
	if (cqe.err)
		errx(1, "an operation failed");
	return complete;
}

/* A full ring takes the operation once the engine has been polled. Two operations always fit here, but more may not. */
static void submit(const struct host *h, const struct weft_op *op)
{
	while (weft_submit(h->ep, op) == -EAGAIN)
		weft_engine_poll(h->engine, weft_clock_ns());
}

/* Polls until the message is sent and received. */
static void send_message(struct host *from, struct host *to)
{
	submit(to, &(struct weft_op){WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = to->buf, .len = BYTES});
	submit(from, &(struct weft_op){WEFT_OP_SEND, .peer = from->peer, .buf = from->buf, .len = BYTES});
	for (unsigned complete = 0; complete < 2;)
		complete += poll_host(from, to) + poll_host(to, from);
}

/* Both close their connections, which takes packets of the other one, too. The engine gives its packets back to its
 * port, so it goes first; the ring's device is closed before the switch's end. */
static void close_hosts(void)
{
	for (unsigned i = 0; i < 2; i++)
		weft_engine_shutdown(hosts[i].engine, weft_clock_ns());
	while (!weft_engine_idle(hosts[0].engine) || !weft_engine_idle(hosts[1].engine)) {
		poll_host(&hosts[0], &hosts[1]);
		poll_host(&hosts[1], &hosts[0]);
	}
	for (unsigned i = 0; i < 2; i++) {
		weft_engine_destroy(hosts[i].engine);
		hosts[i].port->ops->close(hosts[i].port);
		hosts[i].wire->ops->close(hosts[i].wire);
	}
}

int main(void)
{
	open_host(&hosts[0], "a", weft_ip_v4(0x0a000001), weft_ip_v4(0x0a000002));
	open_host(&hosts[1], "b", weft_ip_v4(0x0a000002), weft_ip_v4(0x0a000001));
	weft_ns start = weft_clock_ns();
	for (unsigned i = 0; i < 2 * ROUNDS; i++)
		send_message(&hosts[i % 2], &hosts[1 - i % 2]);
	printf("%d round trips of %d bytes, %.0f ns each\n", ROUNDS, BYTES, (double)(weft_clock_ns() - start) / ROUNDS);
	close_hosts();
}
