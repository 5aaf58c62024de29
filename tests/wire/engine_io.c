/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_io.h"

#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

enum {
	NATIVE_WITH_CRC = 2,
	TIMEOUT_NS = 200000,
	MTU = 1024,
	MILLION = 1000000,
	LCG_FACTOR = 1664525,
	LCG_ADD = 1013904223
};

static bool is_lost(struct engine_box *b)
{
	b->random = b->random * LCG_FACTOR + LCG_ADD;
	bool lost = (uint64_t)b->random * MILLION >> 32 < b->loss_ppm;
	b->lost += lost;
	return lost;
}

static bool box_send(void *arg, const uint8_t *ip, size_t len)
{
	struct engine_box *b = arg;

	if (!is_lost(b))
		duo_inject(&b->duo, 0, ip, (uint16_t)len);
	return true;
}

/* The oldest packet that the engine sent and that was not lost; 0: there is none. */
static size_t take(struct engine_box *b, uint8_t *ip, size_t room)
{
	struct duo_port *port = &b->duo.port[1];
	struct weft_pkt *pkt;

	while (port->port.ops->rx(&port->port, &pkt, 1) == 1) {
		size_t len = pkt->head_len;
		assert_true(len <= room && pkt->payload_len == 0);
		memcpy(ip, pkt->head, len);
		port->port.ops->free(&port->port, &pkt, 1);
		if (!is_lost(b))
			return len;
	}
	return 0;
}

/* Moves the clock to the next thing that happens, `end` at most. */
static void step(struct engine_box *b, weft_ns end)
{
	struct duo *d = &b->duo;
	weft_ns at = d->due[0];

	for (int i = 0; i < 2; i++)
		if (d->port[i].rx && d->port[i].rx->arrived_ns < at)
			at = d->port[i].rx->arrived_ns;
	at = at > end ? end : at;
	d->now = at > d->now ? at : d->now;
	duo_poll(d, 0);
	if (d->due[0] <= d->now && !d->port[0].rx)
		d->due[0] = d->now + 1;
}

static size_t box_recv(void *arg, uint8_t *ip, size_t room, uint64_t *left_ns)
{
	struct engine_box *b = arg;
	weft_ns end = b->duo.now + *left_ns;
	size_t len;

	duo_poll(&b->duo, 0);
	while (!(len = take(b, ip, room)) && b->duo.now < end)
		step(b, end);
	*left_ns = end - b->duo.now;
	return len;
}

void box_run(struct engine_box *b, uint64_t ns)
{
	weft_ns end = b->duo.now + ns;

	duo_poll(&b->duo, 0);
	while (b->duo.now < end)
		step(b, end);
}

/* Our own way to write the addresses of duo's sides. */
static void set_link(struct engine_box *b, bool v6, enum uet_encap encap, bool crc)
{
	b->link = (struct uet_link){.v6 = v6, .crc = crc, .encap = encap, .udp_port = UET_PORT};
	const struct weft_ip *engine = &weft_peer_addr(b->duo.e[1], b->duo.peer[1])->ip;
	const struct weft_ip *peer = &weft_peer_addr(b->duo.e[0], b->duo.peer[0])->ip;
	size_t skip = v6 ? 0 : 12;
	memcpy(b->link.remote, engine->b + skip, 16 - skip);
	memcpy(b->link.local, peer->b + skip, 16 - skip);
}

void box_region(struct engine_box *b, uint32_t bytes)
{
	struct weft_mr_attr attr = {
		.key = BOX_KEY, .base = b->region, .bytes = bytes, .access = WEFT_MR_READ | WEFT_MR_WRITE};

	if (b->mr)
		weft_mr_del(b->mr);
	if (b->idempotent)
		weft_mr_del(b->idempotent);
	assert_int_equal(weft_mr_add(b->duo.e[0], &attr, &b->mr), 0);
	attr.key |= WEFT_MR_KEY_IDEMPOTENT;
	assert_int_equal(weft_mr_add(b->duo.e[0], &attr, &b->idempotent), 0);
}

void box_open(struct engine_box *b, bool v6, enum uet_encap encap, bool crc)
{
	struct duo_conf conf;
	struct weft_err err = {""};

	*b = (struct engine_box){.random = 1};
	duo_conf_init(&conf);
	conf.ipv6 = v6;
	conf.tune.crc = crc;
	conf.tune.encap = encap == UET_NATIVE && crc ? NATIVE_WITH_CRC : 0;
	conf.tune.payload_bytes = MTU;
	conf.tune.job_id = BOX_JOB;
	conf.tune.profile = WEFT_PROFILE_AI_BASE;
	duo_open(&b->duo, &conf);
	set_link(b, v6, encap, crc);
	assert_int_equal(weft_ep_open(b->duo.e[0], BOX_NUMBER, 64, 256, &b->ep, &err), 0);
	struct weft_addr other = {weft_peer_addr(b->duo.e[0], b->duo.peer[0])->ip, BOX_PEER_NUMBER};
	assert_int_equal(weft_peer_add(b->duo.e[0], &other, &b->peer), 0);
	b->region = calloc(1, BOX_REGION_BYTES);
	assert_non_null(b->region);
	box_region(b, BOX_REGION_BYTES);
}

void box_close(struct engine_box *b)
{
	weft_mr_del(b->mr);
	weft_mr_del(b->idempotent);
	duo_close(&b->duo);
	free(b->region);
	for (uint32_t i = 0; i < BOX_RECEIVES; i++)
		free(b->buffers[i]);
}

void box_peer(struct engine_box *b, struct conform_peer *p)
{
	struct conform_io io = {.arg = b, .send = box_send, .receive = box_recv};
	struct conform_target target = {.job = BOX_JOB,
					.pid = 0,
					.index = BOX_NUMBER,
					.initiator = BOX_PEER_NUMBER,
					.tag = BOX_TAG,
					.key = BOX_KEY,
					.key_bytes = BOX_REGION_BYTES,
					.mtu = MTU,
					.timeout_ns = TIMEOUT_NS};
	conform_peer_init(p, &io, &b->link, &target);
}

void box_receive(struct engine_box *b, uint32_t n, bool tagged)
{
	if (!b->buffers[n])
		b->buffers[n] = malloc(BOX_MESSAGE_MAX);
	assert_non_null(b->buffers[n]);
	struct weft_op op = {.kind = tagged ? WEFT_OP_TRECV : WEFT_OP_RECV,
			     .peer = WEFT_PEER_ANY,
			     .buf = b->buffers[n],
			     .len = BOX_MESSAGE_MAX,
			     .ignore = tagged ? UINT64_MAX : 0,
			     .context = b->buffers[n]};
	assert_int_equal(weft_submit(b->ep, &op), 0);
	duo_poll(&b->duo, 0);
}

bool box_completion(struct engine_box *b, struct weft_cqe *cqe)
{
	return weft_cq_take(b->ep, cqe, 1) == 1;
}

void box_expect_message(struct engine_box *b, uint32_t id, uint32_t len)
{
	struct weft_cqe cqe;

	assert_true(box_completion(b, &cqe));
	assert_int_equal(cqe.err, 0);
	assert_int_equal(cqe.len, len);
	const uint8_t *bytes = cqe.context;
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], conform_byte(id, i));
}
