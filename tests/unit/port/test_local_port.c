/* SPDX-License-Identifier: BSD-3-Clause */
/* The test is `weft host` and the peer; the port below is a virtual NIC. */
#include "weft/local.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "local_ring.h"
#include "rng.h"
#include "sim_port.h"

enum { MTU = WEFT_PKT_HEAD_MAX, OWN = 2, PEER = 3, COUNT = 5, HEAD = 40, FIRST = 0x0a000010 };

static weft_ns now;
static struct sim_slab *slab;
static struct weft_port *nic, *port;
static char folder[] = "/tmp/weft-local-XXXXXX", path[64], socket_path[80];
static int listener, door;

static weft_ns clock_of_test(void)
{
	return now;
}

static struct weft_ip ip_of(uint32_t i)
{
	return weft_ip_v4(FIRST + i);
}

static int door_listen(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	snprintf(addr.sun_path, sizeof addr.sun_path, "%s", socket_path);
	unlink(socket_path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return bind(listener, (struct sockaddr *)&addr, sizeof addr) || listen(listener, 4);
}

static void say(struct local_msg m, const int *files)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = {0};
	struct iovec iov = {&m, sizeof m};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (files) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof control.room;
		control.align = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.align), files, 2 * sizeof(int));
	}
	assert_int_equal(sendmsg(door, &msg, 0), sizeof m);
}

static void hello(void)
{
	door = accept(listener, NULL, NULL);
	say((struct local_msg){.what = LOCAL_HELLO, .count = COUNT, .ip = ip_of(0)}, NULL);
}

/* Packets that are received `later`. */
static uint16_t receive(weft_ns later, struct weft_pkt **pkts, uint16_t n)
{
	now += later;
	return port->ops->rx(port, pkts, n);
}

static void pass(weft_ns later)
{
	struct weft_pkt *none;
	assert_int_equal(receive(later, &none, 1), 0);
}

static int setup(void **state)
{
	struct sim_port_conf sim = {.link_bps = 1000, .max_ip_bytes = MTU, .tx_entries = 8, .rx_entries = 8};
	struct weft_local_conf conf = {.path = path, .ip = ip_of(OWN), .clock = clock_of_test};
	now = WEFT_S(1);
	sim.slab = slab = sim_slab_create(4096);
	if (!slab || sim_port_create(&sim, &nic, NULL) || door_listen() || weft_local_open(&conf, nic, &port, NULL))
		return -1;
	hello();
	pass(WEFT_MS(10));
	return 0;
}

static int teardown(void **state)
{
	port->ops->close(port);
	close(listener);
	close(door);
	int used = (int)sim_slab_used(slab);
	sim_slab_destroy(slab);
	return used;
}

static struct weft_local_stats stats(void)
{
	struct weft_local_stats s;
	weft_local_stats(port, &s);
	return s;
}

/* ---- the peer ---- */

struct peer {
	int fd;
	void *shm;
	struct local_end tx, rx; /* as it sees them */
};

static struct local_end end_of(void *shm, uint32_t side)
{
	return (struct local_end){.shared = &((struct local_shm *)shm)->rings[side],
				  .slots = (uint8_t *)shm + local_slots_at(side, MTU),
				  .stride = local_slot_stride(MTU),
				  .mtu_bytes = MTU};
}

static struct peer channel(uint32_t with)
{
	struct peer p;
	int ends[2], memory = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(ftruncate(memory, (off_t)local_shm_bytes(MTU)), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	p.shm = mmap(NULL, local_shm_bytes(MTU), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	p.fd = ends[1];
	p.rx = end_of(p.shm, 1);
	p.tx = end_of(p.shm, 0);
	say((struct local_msg){.what = LOCAL_OPEN, .side = 0, .mtu_bytes = MTU, .ip = ip_of(with)},
	    (int[]){memory, ends[0]});
	close(memory);
	close(ends[0]);
	pass(WEFT_MS(10));
	return p;
}

static void peer_end(struct peer *p)
{
	munmap(p->shm, local_shm_bytes(MTU));
	close(p->fd);
}

static void head_write(uint8_t *head, uint32_t src, uint32_t dst)
{
	struct weft_ip from = ip_of(src), to = ip_of(dst);
	memset(head, 0, HEAD);
	head[0] = 0x45;
	head[3] = HEAD;
	memcpy(head + 12, from.b + 12, 4);
	memcpy(head + 16, to.b + 12, 4);
}

static struct weft_pkt *pkt_to(uint32_t dst)
{
	struct weft_pkt *pkt;
	assert_int_equal(port->ops->alloc(port, &pkt, 1), 1);
	head_write(pkt->head, OWN, dst);
	pkt->head_len = HEAD;
	pkt->dst = FIRST + dst;
	return pkt;
}

static void send_to(uint32_t dst)
{
	struct weft_pkt *pkt = pkt_to(dst);
	assert_int_equal(port->ops->tx(port, &pkt, 1), 1);
}

/* How many packets went to the port below. */
static uint32_t pulled(void)
{
	struct weft_pkt *pkt;
	uint32_t n = 0;
	for (; (pkt = sim_port_pull(nic)); n++)
		sim_slab_put(slab, pkt);
	return n;
}

static bool hears(uint32_t what, uint32_t about)
{
	struct local_msg m;
	struct weft_ip ip = ip_of(about);
	return recv(door, &m, sizeof m, MSG_DONTWAIT) == sizeof m && m.what == what && weft_ip_eq(&m.ip, &ip);
}

static void peer_sends(struct peer *p, uint32_t src, uint32_t dst)
{
	uint8_t head[HEAD];
	struct weft_pkt pkt = {.head = head, .head_len = HEAD};
	head_write(head, src, dst);
	assert_int_equal(local_ring_put(&p->tx, &pkt), LOCAL_PUT);
}

static uint16_t received(void)
{
	struct weft_pkt *pkts[32];
	uint16_t n = receive(0, pkts, 32);
	for (uint16_t i = 0; i < n; i++) {
		assert_int_equal(pkts[i]->head_len, HEAD);
		assert_int_equal(pkts[i]->wire_bytes, WEFT_WIRE_MIN_BYTES);
		assert_int_equal(pkts[i]->arrived_ns, now);
	}
	port->ops->free(port, pkts, n);
	return n;
}

/* ---- tests ---- */

static void asks__once_a_second_and_only_for_addresses_of_the_host(void **state)
{
	send_to(PEER);
	assert_true(hears(LOCAL_ASK, PEER));
	send_to(PEER);
	send_to(OWN);
	send_to(COUNT);
	send_to((uint32_t)-1);
	assert_false(hears(LOCAL_ASK, PEER));
	assert_int_equal(pulled(), 5);
	say((struct local_msg){.what = LOCAL_NO, .ip = ip_of(PEER)}, NULL);
	pass(WEFT_MS(1)); /* an answer is awaited */
	now += WEFT_MS(990);
	send_to(PEER);
	assert_false(hears(LOCAL_ASK, PEER));
	pass(WEFT_MS(10));
	send_to(PEER);
	assert_true(hears(LOCAL_ASK, PEER));
	pulled();
}

static void channel__carries_packets_both_ways_and_nothing_else_does(void **state)
{
	struct peer p = channel(PEER);
	send_to(PEER);
	send_to(PEER + 1);
	assert_int_equal(pulled(), 1);
	assert_true(local_ring_has(&p.rx));
	for (int i = 0; i < 40; i++)
		peer_sends(&p, PEER, OWN);
	assert_int_equal(received(), 32);
	assert_int_equal(received(), 8);
	assert_int_equal(atomic_load(&p.tx.shared->taken), 40);
	assert_int_equal(stats().local_tx_pkts, 1);
	assert_int_equal(stats().local_rx_pkts, 40);
	assert_int_equal(stats().local_channels, 1);
	struct weft_ip ip = ip_of(PEER), hop;
	assert_int_equal(port->ops->reach(port, &ip, &hop), 0);
	peer_end(&p);
}

static void fill(void)
{
	for (int i = 0; i < LOCAL_SLOTS; i++)
		send_to(PEER);
	assert_int_equal(stats().local_tx_pkts, LOCAL_SLOTS);
}

/* A packet with payload elsewhere, and a number in it. */
static void send_numbered(uint8_t number)
{
	const uint8_t payload[4] = {number, 1, 2, 3};
	struct weft_pkt *pkt = pkt_to(PEER);
	pkt->head[3] = HEAD + sizeof payload;
	pkt->payload = payload;
	pkt->payload_len = sizeof payload;
	assert_int_equal(port->ops->tx(port, &pkt, 1), 1);
}

static uint8_t peer_reads(struct peer *p)
{
	uint8_t out[MTU];
	assert_true(local_ring_has(&p->rx));
	uint32_t bytes = local_ring_get(&p->rx, out, sizeof out);
	local_ring_release(&p->rx);
	return bytes == HEAD ? 255 : out[HEAD];
}

/* Others are not held up, and the order stays. */
static void channel__full__packets_wait_for_room(void **state)
{
	static const uint32_t to[] = {PEER, PEER + 1, PEER, PEER + 1, PEER + 1, PEER};
	struct peer p = channel(PEER);
	struct weft_pkt *pkts[6];
	fill();
	for (int i = 0; i < 6; i++)
		pkts[i] = pkt_to(to[i]);
	assert_int_equal(port->ops->tx(port, pkts, 6), 6);
	assert_int_equal(pulled(), 3);
	assert_int_equal(stats().local_late, 3);
	for (uint8_t i = 0; i < 4; i++)
		send_numbered(i);
	for (int i = 0; i < LOCAL_SLOTS; i++)
		assert_int_equal(peer_reads(&p), 255);
	assert_false(local_ring_has(&p.rx));
	pass(0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(peer_reads(&p), 255);
	for (uint8_t i = 0; i < 4; i++)
		assert_int_equal(peer_reads(&p), i);
	assert_int_equal(stats().local_tx_pkts, LOCAL_SLOTS + 7);
	assert_int_equal(stats().local_full, 0);
	peer_end(&p);
}

/* When the thread sleeps, and when too many wait. */
static void channel__full__packets_go_the_other_way(void **state)
{
	struct peer p = channel(PEER);
	fill();
	send_numbered(1);
	send_to(PEER);
	weft_local_arm(port, true);
	assert_int_equal(pulled(), 2);
	assert_int_equal(stats().local_full, 2);
	for (int i = 0; i < 512; i++)
		send_to(PEER);
	assert_int_equal(pulled(), 0);
	for (int i = 0; i < 8; i++)
		send_to(PEER); /* the port below has room for so many */
	struct weft_pkt *rest = pkt_to(PEER);
	assert_int_equal(port->ops->tx(port, &rest, 1), 0);
	port->ops->free(port, &rest, 1);
	assert_int_equal(pulled(), 8);
	close(p.fd);
	pass(WEFT_MS(10));
	assert_int_equal(pulled(), 8);
	assert_int_equal(stats().local_dropped, 504);
	munmap(p.shm, local_shm_bytes(MTU));
}

static void channel__other_sources_targets_and_lengths_are_dropped(void **state)
{
	struct peer p = channel(PEER);
	uint8_t head[HEAD];
	struct weft_pkt pkt = {.head = head, .head_len = HEAD};
	peer_sends(&p, PEER + 1, OWN);
	peer_sends(&p, OWN, OWN);
	peer_sends(&p, PEER, PEER + 1);
	head_write(head, PEER, OWN);
	for (uint8_t bytes = 0; bytes < 60; bytes += 19) { /* never HEAD */
		head[3] = bytes;
		local_ring_put(&p.tx, &pkt);
	}
	head[3] = HEAD;
	head[0] = 0x65;
	local_ring_put(&p.tx, &pkt);
	assert_int_equal(received(), 0);
	assert_int_equal(stats().local_refused, 8);
	peer_sends(&p, PEER, OWN);
	assert_int_equal(received(), 1);
	peer_end(&p);
}

static void channel__a_ring_that_makes_no_sense_is_closed(void **state)
{
	struct peer p = channel(PEER);
	for (int i = 0; i < LOCAL_SLOTS / 2; i++)
		send_to(PEER);
	atomic_store(&p.rx.shared->taken, 12345);
	send_to(PEER);
	assert_int_equal(pulled(), 1);
	assert_int_equal(stats().local_refused, 1);
	char byte;
	assert_int_equal(recv(p.fd, &byte, 1, MSG_DONTWAIT), 0);
	send_to(PEER);
	assert_false(hears(LOCAL_ASK, PEER)); /* not at once */
	pulled();
	peer_end(&p);
}

/* What the peer had sent arrives, and nothing more is sent to it. */
static void channel__ends_with_its_peer(void **state)
{
	for (int way = 0; way < 2; way++) {
		struct peer p = channel(PEER);
		peer_sends(&p, PEER, OWN);
		if (way == 0)
			close(p.fd);
		else
			say((struct local_msg){.what = LOCAL_GONE, .ip = ip_of(PEER)}, NULL);
		now += WEFT_MS(10);
		assert_int_equal(received(), 1);
		pass(0);
		send_to(PEER);
		assert_int_equal(pulled(), 1);
		peer_sends(&p, PEER, OWN);
		assert_int_equal(received(), 0);
		munmap(p.shm, local_shm_bytes(MTU));
		if (way == 1)
			close(p.fd);
	}
	assert_int_equal(stats().local_channels, 2);
}

/* The port below has no packets left for a moment. */
static void channel__that_has_ended__waits_for_packets_to_receive_into(void **state)
{
	struct weft_pkt *taken = NULL, *pkt;
	struct peer p = channel(PEER);
	peer_sends(&p, PEER, OWN);
	close(p.fd);
	while ((pkt = sim_slab_get(slab))) {
		pkt->next = taken;
		taken = pkt;
	}
	pass(WEFT_MS(10));
	for (; (pkt = taken); sim_slab_put(slab, pkt))
		taken = pkt->next;
	assert_int_equal(received(), 1);
	pass(0);
	peer_sends(&p, PEER, OWN);
	assert_int_equal(received(), 0); /* closed once it was empty */
	munmap(p.shm, local_shm_bytes(MTU));
}

/* A peer that goes on for ever although it is gone: no more than a ring is received. */
static void channel__that_has_ended_brings_no_more_than_it_holds(void **state)
{
	struct peer p = channel(PEER);
	uint32_t got = 0;
	say((struct local_msg){.what = LOCAL_GONE, .ip = ip_of(PEER)}, NULL);
	now += WEFT_MS(10);
	for (int i = 0; i < LOCAL_SLOTS + 100; i++) {
		peer_sends(&p, PEER, OWN);
		got += received();
		if (i >= LOCAL_SLOTS / 2)
			p.tx.emptied = p.tx.next; /* as if there were room */
	}
	assert_in_range(got, 1, LOCAL_SLOTS);
	peer_end(&p);
}

/* A new owner of the address has a channel of its own. */
static void channel__a_second_one_takes_the_place_of_the_first(void **state)
{
	struct peer old = channel(PEER), young = channel(PEER);
	peer_sends(&old, PEER, OWN);
	assert_int_equal(received(), 0);
	peer_sends(&young, PEER, OWN);
	assert_int_equal(received(), 1);
	send_to(PEER);
	assert_false(local_ring_has(&old.rx));
	assert_true(local_ring_has(&young.rx));
	peer_end(&old);
	peer_end(&young);
}

static void host__restarted__channels_go_on_until_it_is_back(void **state)
{
	struct peer p = channel(PEER);
	close(door);
	pass(WEFT_MS(10));
	send_to(PEER);
	assert_int_equal(pulled(), 0);
	pass(WEFT_MS(500)); /* it calls again */
	hello();
	pass(WEFT_MS(10));
	send_to(PEER);
	assert_int_equal(pulled(), 1);
	assert_true(hears(LOCAL_ASK, PEER));
	peer_end(&p);
}

static void host__not_there__is_called_again(void **state)
{
	close(door);
	close(listener);
	for (int i = 0; i < 10; i++)
		pass(WEFT_MS(300));
	send_to(PEER);
	assert_int_equal(pulled(), 1);
	assert_int_equal(door_listen(), 0);
	pass(WEFT_MS(500));
	hello();
	pass(WEFT_MS(10));
	send_to(PEER);
	assert_true(hears(LOCAL_ASK, PEER));
	pulled();
}

/* Messages of anything, in any order: files that come with them are closed or used. */
static void host__nonsense_is_survived(void **state)
{
	struct rng rng = {4};
	int before = dup(0);
	close(before);
	for (int i = 0; i < 3000; i++) {
		struct local_msg m = {.what = (uint32_t)rng_below(&rng, 8),
				      .count = (uint32_t)rng_below(&rng, 40),
				      .side = (uint32_t)rng_below(&rng, 3),
				      .mtu_bytes = rng_below(&rng, 2) ? MTU : (uint32_t)rng_below(&rng, 70000),
				      .ip = ip_of((uint32_t)rng_below(&rng, 40))};
		int ends[2];
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		int memory = memfd_create("test", MFD_CLOEXEC);
		assert_int_equal(ftruncate(memory, (off_t)local_shm_bytes(MTU)), 0);
		say(m, rng_below(&rng, 3) ? (int[]){memory, ends[0]} : NULL);
		close(memory);
		close(ends[0]);
		close(ends[1]);
		pass(WEFT_MS(10));
		send_to((uint32_t)rng_below(&rng, 40));
		pulled();
		while (recv(door, &m, sizeof m, MSG_DONTWAIT) > 0) {
		}
	}
	say((struct local_msg){.what = LOCAL_HELLO, .count = COUNT, .ip = ip_of(0)}, NULL);
	pass(WEFT_MS(10));
	int after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

static bool readable(void)
{
	struct pollfd fd = {.fd = weft_local_fd(port), .events = POLLIN};
	return poll(&fd, 1, 0) == 1;
}

static void sleeper__is_woken_by_packets_and_by_what_is_watched(void **state)
{
	struct peer p = channel(PEER);
	assert_false(local_ring_wants_wake(&p.tx));
	weft_local_arm(port, true);
	peer_sends(&p, PEER, OWN);
	assert_true(local_ring_wants_wake(&p.tx));
	assert_false(readable());
	assert_int_equal(write(p.fd, "", 1), 1);
	assert_true(readable());
	weft_local_arm(port, false);
	assert_int_equal(received(), 1);
	assert_false(readable());
	assert_false(local_ring_wants_wake(&p.tx));

	int pipe_fds[2];
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(weft_local_watch(port, pipe_fds[0]), 0);
	assert_int_equal(write(pipe_fds[1], "", 1), 1);
	assert_true(readable());
	pass(WEFT_MS(10));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	peer_end(&p);
}

static void sleeping_peer__is_woken_and_never_waited_for(void **state)
{
	struct peer p = channel(PEER);
	char bytes[8];
	atomic_store(&p.rx.shared->sleeps, 1);
	send_to(PEER);
	send_to(PEER);
	assert_int_equal(recv(p.fd, bytes, sizeof bytes, MSG_DONTWAIT), 1);
	assert_int_equal(stats().local_wakes, 1);
	for (int i = 0; i < 100000; i++) { /* it reads nothing, and wants to be woken all the time */
		atomic_store(&p.rx.shared->sleeps, 1);
		atomic_store(&p.rx.shared->taken, p.rx.next = (uint32_t)i + 2);
		send_to(PEER);
	}
	pulled();
	peer_end(&p);
}

/* The peer writes anything anywhere while we receive and send. */
static void channel__random_memory_harms_nobody(void **state)
{
	struct rng rng = {7};
	struct peer p = channel(PEER);
	struct weft_pkt *pkts[8];
	uint32_t slot_bytes = local_slot_stride(MTU), channels = 1;
	for (uint32_t i = 0; i < 200000; i++) {
		if (stats().local_channels == channels && rng_below(&rng, 4) == 0)
			peer_sends(&p, PEER, OWN), p.tx.emptied = p.tx.next;
		uint64_t at = rng_below(&rng, 2) ? rng_below(&rng, sizeof(struct local_shm) / 4) * 4
						 : LOCAL_SLOTS_AT + rng_below(&rng, 2 * LOCAL_SLOTS) * slot_bytes +
							   rng_below(&rng, 12) * 4;
		uint32_t word = rng_below(&rng, 2) ? (uint32_t)rng_below(&rng, 400)
						   : (uint32_t)rng_below(&rng, UINT64_C(1) << 32);
		memcpy((uint8_t *)p.shm + at, &word, sizeof word);
		uint16_t got = receive(WEFT_US(50), pkts, 8);
		for (uint16_t k = 0; k < got; k++) {
			assert_in_range(pkts[k]->head_len, 20, MTU);
			assert_memory_equal(pkts[k]->head + 12, ip_of(PEER).b + 12, 4);
		}
		port->ops->free(port, pkts, got);
		struct weft_pkt *pkt = pkt_to(PEER);
		if (port->ops->tx(port, &pkt, 1) == 0) /* what waited has filled the port below */
			port->ops->free(port, &pkt, 1);
		pulled();
		char wakes[64];
		ssize_t n;
		while ((n = recv(p.fd, wakes, sizeof wakes, MSG_DONTWAIT)) > 0) {
		}
		if (n == 0) {
			peer_end(&p);
			p = channel(PEER);
			channels++;
		}
	}
	assert_in_range(channels, 10, 100000);
	assert_in_range(stats().local_rx_pkts, 100, 100000);
	peer_end(&p);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof path, "%s/port", folder);
	snprintf(socket_path, sizeof socket_path, "%s" LOCAL_SOCKET_SUFFIX, path);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(asks__once_a_second_and_only_for_addresses_of_the_host, setup,
						teardown),
		cmocka_unit_test_setup_teardown(channel__carries_packets_both_ways_and_nothing_else_does, setup,
						teardown),
		cmocka_unit_test_setup_teardown(channel__full__packets_wait_for_room, setup, teardown),
		cmocka_unit_test_setup_teardown(channel__full__packets_go_the_other_way, setup, teardown),
		cmocka_unit_test_setup_teardown(channel__other_sources_targets_and_lengths_are_dropped, setup,
						teardown),
		cmocka_unit_test_setup_teardown(channel__a_ring_that_makes_no_sense_is_closed, setup, teardown),
		cmocka_unit_test_setup_teardown(channel__ends_with_its_peer, setup, teardown),
		cmocka_unit_test_setup_teardown(channel__that_has_ended__waits_for_packets_to_receive_into, setup,
						teardown),
		cmocka_unit_test_setup_teardown(channel__that_has_ended_brings_no_more_than_it_holds, setup, teardown),
		cmocka_unit_test_setup_teardown(channel__a_second_one_takes_the_place_of_the_first, setup, teardown),
		cmocka_unit_test_setup_teardown(host__restarted__channels_go_on_until_it_is_back, setup, teardown),
		cmocka_unit_test_setup_teardown(host__not_there__is_called_again, setup, teardown),
		cmocka_unit_test_setup_teardown(host__nonsense_is_survived, setup, teardown),
		cmocka_unit_test_setup_teardown(sleeper__is_woken_by_packets_and_by_what_is_watched, setup, teardown),
		cmocka_unit_test_setup_teardown(sleeping_peer__is_woken_and_never_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(channel__random_memory_harms_nobody, setup, teardown),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(socket_path);
	rmdir(folder);
	return failed;
}
