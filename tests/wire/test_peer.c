/* SPDX-License-Identifier: BSD-3-Clause */
/* The scripted peer against an endpoint that only says what the test wants. */
#include "conform.h"

#include "cmocka_all.h"

#include <string.h>

enum { WAITS = 10, TRIES = 3, RECEIVES_MAX = 1000, TIMEOUT_NS = 1000, SENT_MAX = 8 };

/* Sends the same packet again and again, each after a part of the time that the peer waits, and gives up when that does
 * not end. */
struct chatter {
	uint8_t packet[UET_PACKET_MAX];
	size_t bytes; /* 0: it is silent */
	uint32_t receives, sent_count;
	struct uet_link link;            /* as the endpoint sees it */
	struct uet_frame sent[SENT_MAX]; /* to it */
};

static bool chatter_send(void *arg, const uint8_t *ip, size_t len)
{
	struct chatter *c = arg;

	assert_true(c->sent_count < SENT_MAX);
	return uet_unwrap(&c->link, ip, len, &c->sent[c->sent_count++]);
}

static size_t chatter_receive(void *arg, uint8_t *ip, size_t room, uint64_t *left_ns)
{
	struct chatter *c = arg;

	if (!*left_ns || !c->bytes || c->receives == RECEIVES_MAX)
		return 0;
	assert_true(c->bytes <= room);
	*left_ns -= TIMEOUT_NS / WAITS;
	c->receives++;
	memcpy(ip, c->packet, c->bytes);
	return c->bytes;
}

static void chatter_init(struct chatter *c, struct conform_peer *p, const struct conform_target *target)
{
	struct uet_link link = {
		.encap = UET_UDP, .udp_port = UET_PORT, .local = {10, 0, 0, 1}, .remote = {10, 0, 0, 2}};
	struct conform_io io = {.arg = c, .send = chatter_send, .receive = chatter_receive};

	*c = (struct chatter){.link = link};
	memcpy(c->link.local, link.remote, sizeof link.remote);
	memcpy(c->link.remote, link.local, sizeof link.local);
	conform_peer_init(p, &io, &link, target);
}

/* An acknowledgement for another connection of the peer's. */
static void chatter_acks(struct chatter *c)
{
	struct uet_pkt ack = {.f = {[UET_TYPE] = UET_ACK, [UET_SPDCID] = 7, [UET_DPDCID] = 9}};

	c->bytes = uet_wrap(&c->link, 1, 0, &ack, c->packet);
	assert_true(c->bytes > 0);
}

static bool asks(struct conform_peer *p)
{
	struct conform_pdc pdc;

	conform_open(p, &pdc, UET_RUD_REQ);
	struct uet_pkt pkt = conform_request(p, &pdc, UET_NO_OP, 0);
	return conform_ask(p, &pdc, &pkt);
}

static const struct conform_target target = {.index = 15, .mtu = 1024, .timeout_ns = TIMEOUT_NS};

static void ask__ends_while_other_packets_come(void **state)
{
	static struct conform_peer p;
	static struct chatter c;

	chatter_init(&c, &p, &target);
	chatter_acks(&c);
	assert_false(asks(&p));
	assert_int_equal(c.receives, TRIES * WAITS);
	assert_int_equal(c.sent_count, TRIES);
}

static void ask__ends_while_other_bytes_come(void **state)
{
	static struct conform_peer p;
	static struct chatter c;

	chatter_init(&c, &p, &target);
	c.bytes = 40; /* that are no packet */
	assert_false(asks(&p));
	assert_int_equal(c.receives, TRIES * WAITS);
}

/* Runs a row that nobody answers. Returns the field of its question. */
static uint64_t asked(const char *name, const struct conform_target *to, enum uet_field field)
{
	static struct conform_peer p;
	static struct chatter c;
	const struct conform_row *row = conform_rows;

	while (strcmp(row->name, name) != 0)
		row++;
	chatter_init(&c, &p, to);
	assert_int_equal(conform_run(&p, row), CONFORM_SILENT);
	assert_true(c.sent_count > 0);
	return c.sent[0].pkt.f[field];
}

static void run__unknown_numbers_are_not_the_endpoints(void **state)
{
	for (uint32_t number = 0; number < 1 << 12; number++) {
		struct conform_target to = target;
		to.pid = to.index = number;
		assert_int_not_equal(asked("bad-pid", &to, UET_PID), number);
		assert_int_not_equal(asked("bad-index", &to, UET_INDEX), number);
	}
}

/* The chosen port, and those that an endpoint may answer to in its place, for a row to say so. */
static void unwrap__reads_the_chosen_port_and_known_ones(void **state)
{
	static const struct {
		uint16_t port;
		bool read;
	} cases[] = {{5000, true}, {UET_PORT, true}, {UET_PORT_OLD, true}, {5001, false}, {0, false}};
	static struct conform_peer p;
	static struct chatter c;
	struct uet_frame frame;

	chatter_init(&c, &p, &target);
	p.link.udp_port = 5000;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		c.link.udp_port = cases[i].port;
		chatter_acks(&c);
		assert_int_equal(uet_unwrap(&p.link, c.packet, c.bytes, &frame), cases[i].read);
		assert_int_equal(frame.udp_port, cases[i].port);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ask__ends_while_other_packets_come),
		cmocka_unit_test(ask__ends_while_other_bytes_come),
		cmocka_unit_test(run__unknown_numbers_are_not_the_endpoints),
		cmocka_unit_test(unwrap__reads_the_chosen_port_and_known_ones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
