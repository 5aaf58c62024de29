/* SPDX-License-Identifier: BSD-3-Clause */
/* Two engines in one process, joined by packet rings, send a message to and fro and print the mean round trip. A
 *program with one engine and a NIC differs in main() alone: it opens its device (weft_ethdev_conf.dev) and polls its
 *engine.
 *
 *	cc -O2 pingpong.c $(pkg-config --cflags --libs weft) -o pingpong */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/engine.h>
#include <weft/ethdev.h>

enum { HOSTS = 2, ROUNDS = 10000, BYTES = 64, PORT = 1, BURST = 32 };

struct host {
	struct weft_port *port, *wire; /* the engine's end of its ring, and the switch's */
	struct weft_engine *engine;
	struct weft_ep *ep;
	uint32_t peer;
	char buf[BYTES];
};

static struct host hosts[HOSTS];

static struct weft_ip address(unsigned i)
{
	return weft_ip_v4(0x0a000001 + i);
}

static void check(int rc, const struct weft_err *err)
{
	if (!rc)
		return;
	fprintf(stderr, "pingpong: %s (%d)\n", err->msg, rc);
	exit(1);
}

static void open_host(unsigned i)
{
	struct host *h = &hosts[i];
	struct weft_err err = {""};
	char name[] = {'h', (char)('0' + i), 0};
	struct weft_ethdev_conf dev = {.dev = name, .ip = address(i), .no_arp = 1};
	struct weft_engine_conf conf = {.ip = address(i), .cc = weft_cc_find("smartt"), .lb = weft_lb_find("reps")};

	check(weft_ethdev_ring_pair(name, 1024, &h->wire, &err), &err);
	check(weft_ethdev_open(&dev, &h->port, &err), &err);
	weft_param_defaults(weft_engine_tunes, &conf.tune);
	check(weft_engine_create(&conf, h->port, weft_clock_ns(), &h->engine, &err), &err);
	check(weft_ep_open(h->engine, PORT, 64, 64, &h->ep, &err), &err);
	check(weft_peer_add(h->engine, &(struct weft_addr){address(1 - i), PORT}, &h->peer), &err);
}

/* Moves what one host sent to the other; what does not fit is lost, as in any switch. */
static void forward(struct weft_port *from, struct weft_port *to)
{
	struct weft_pkt *pkts[BURST];
	uint16_t n = from->ops->rx(from, pkts, BURST), taken = to->ops->tx(to, pkts, n);

	from->ops->free(from, pkts + taken, (uint16_t)(n - taken));
}

/* A message from `a` to `b`: polls until it is complete at both. */
static void send_message(struct host *a, struct host *b)
{
	struct weft_op send = {.kind = WEFT_OP_SEND, .peer = a->peer, .buf = a->buf, .len = BYTES};
	struct weft_op recv = {.kind = WEFT_OP_RECV, .peer = WEFT_PEER_ANY, .buf = b->buf, .len = BYTES};
	struct weft_cqe cqe = {.err = 0};
	unsigned sent = 0, received = 0;

	weft_submit(b->ep, &recv);
	weft_submit(a->ep, &send);
	while (!sent || !received) {
		for (unsigned i = 0; i < HOSTS; i++) {
			weft_engine_poll(hosts[i].engine, weft_clock_ns());
			forward(hosts[i].wire, hosts[1 - i].wire);
		}
		sent += weft_cq_take(a->ep, &cqe, 1);
		received += weft_cq_take(b->ep, &cqe, 1);
		check(cqe.err, &(struct weft_err){"operation failed"});
	}
}

int main(void)
{
	for (unsigned i = 0; i < HOSTS; i++)
		open_host(i);
	weft_ns start = weft_clock_ns();
	for (unsigned i = 0; i < ROUNDS; i++) {
		send_message(&hosts[0], &hosts[1]);
		send_message(&hosts[1], &hosts[0]);
	}
	printf("%d round trips of %d bytes, %" PRIu64 " ns each\n", ROUNDS, BYTES, (weft_clock_ns() - start) / ROUNDS);
	for (unsigned i = 0; i < HOSTS; i++)
		weft_engine_destroy(hosts[i].engine);
	return 0;
}
