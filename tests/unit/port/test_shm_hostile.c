/* SPDX-License-Identifier: BSD-3-Clause */
/* A process at a port with shared buffers that writes anything to the rings, and a switch that does. */
#include "shm_port.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ethdev_fixture.h"
#include "rng.h"

enum { PORTS = 2, PKTS = 128, OURS = PKTS / 8, THEIRS = PKTS - OURS, IP = 0x0a000001, FRAME_BYTES = 60 };

static char dir[32], paths[PORTS][48];
static struct weft_port *sw[PORTS];

static int setup(void **state)
{
	const char *const at[PORTS] = {paths[0], paths[1]};
	const struct weft_ethdev_shm_conf conf = {.paths = at, .count = PORTS, .pool_pkts = PKTS};
	struct weft_err err;
	snprintf(dir, sizeof dir, "/tmp/weft-shm-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	for (unsigned i = 0; i < PORTS; i++)
		snprintf(paths[i], sizeof paths[i], "%s/s%u", dir, i);
	return weft_ethdev_shm_serve(&conf, sw, &err);
}

static int teardown(void **state)
{
	for (unsigned i = 0; i < PORTS; i++) {
		sw[i]->ops->close(sw[i]);
		unlink(paths[i]);
	}
	return rmdir(dir);
}

/* Packets of port 0 leave through port 1, and the other way. Returns how many were received. */
static unsigned switch_poll(void)
{
	struct weft_pkt *pkts[ETHDEV_BURST];
	unsigned got = 0;
	for (unsigned i = 0; i < PORTS; i++) {
		struct weft_port *to = sw[!i];
		uint16_t n = sw[i]->ops->rx(sw[i], pkts, ETHDEV_BURST), sent = to->ops->tx(to, pkts, n);
		to->ops->free(to, pkts + sent, (uint16_t)(n - sent));
		got += n;
	}
	return got;
}

static struct shm_link *link_of(struct weft_port *port)
{
	return &to_ethdev(port)->shm->link;
}

/* ---- the process ---- */

struct raw {
	int fd;
	struct shm_hello hello;
	struct shm_rings *rings;
	uint8_t *bufs;
	struct shm_end tx, rx;
};

static int connect_to(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	strcpy(addr.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	return fd;
}

static void raw_hello(struct raw *r, int fds[2])
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = &r->hello, .iov_len = sizeof r->hello};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	while (recvmsg(r->fd, &msg, 0) != sizeof r->hello) {
		msg.msg_controllen = sizeof control;
		switch_poll();
	}
	assert_non_null(CMSG_FIRSTHDR(&msg));
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), 2 * sizeof(int));
}

static struct raw raw_open(unsigned i)
{
	struct raw r = {.fd = connect_to(paths[i])};
	int fds[2];
	raw_hello(&r, fds);
	size_t bytes = (size_t)r.hello.bufs * r.hello.stride_bytes;
	r.bufs = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	r.rings = mmap(NULL, sizeof *r.rings, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	assert_true(r.bufs != MAP_FAILED && (void *)r.rings != MAP_FAILED);
	assert_int_equal(ftruncate(fds[0], 0), -1);
	assert_int_equal(ftruncate(fds[1], 0), -1);
	close(fds[0]);
	close(fds[1]);
	r.tx.shared = &r.rings->up;
	r.rx.shared = &r.rings->down;
	return r;
}

static void raw_close(struct raw *r)
{
	munmap(r->bufs, (size_t)r->hello.bufs * r->hello.stride_bytes);
	munmap(r->rings, sizeof *r->rings);
	close(r->fd);
}

/* A frame for the other port in buffer `buf`, which the process may have or not. */
static void frame_write(struct raw *r, uint32_t buf, uint32_t dst)
{
	const uint8_t frame[FRAME_BYTES] = {2,
					    0,
					    10,
					    0,
					    0,
					    (uint8_t)dst,
					    2,
					    0,
					    10,
					    0,
					    0,
					    9,
					    8,
					    0, /* Ethernet */
					    0x45,
					    0,
					    0,
					    FRAME_BYTES - 14,
					    0,
					    0,
					    0,
					    0,
					    64,
					    17,
					    0,
					    0,
					    10,
					    0,
					    0,
					    9,
					    (uint8_t)(dst >> 24),
					    (uint8_t)(dst >> 16),
					    (uint8_t)(dst >> 8),
					    (uint8_t)dst};
	memcpy(r->bufs + (size_t)buf * r->hello.stride_bytes + 128, frame, sizeof frame);
}

static void raw_send(struct raw *r, uint32_t buf, uint16_t offset, uint16_t bytes)
{
	assert_int_not_equal(shm_ring_room(&r->tx, 1), 0);
	shm_ring_put(&r->tx, (struct shm_desc){.buf = buf, .offset = offset, .bytes = bytes});
}

static bool has_ended(const struct raw *r)
{
	char byte;
	return recv(r->fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* The port was taken from the process, and the next one has all of it. */
static void assert_refused(struct raw *r)
{
	for (int i = 0; i < 100; i++)
		switch_poll();
	assert_int_equal(port_stats(sw[0]).shm_refused, 1);
	assert_false(weft_ethdev_has_link(sw[0]));
	assert_true(has_ended(r));
	raw_close(r);
	struct raw next = raw_open(0);
	struct shm_desc d;
	uint32_t got = 0;
	for (; shm_ring_get(&next.rx, &d); got++)
		assert_true(d.bytes == 0 && d.buf >= next.hello.first && d.buf - next.hello.first < next.hello.count);
	assert_int_equal(got, THEIRS);
	assert_int_equal(rte_mempool_avail_count(link_of(sw[0])->own), OURS);
	raw_close(&next);
}

/* ---- what it writes ---- */

static void sound__is_taken(void **state)
{
	struct raw r = raw_open(0);
	assert_int_equal(r.hello.first, 0);
	assert_int_equal(r.hello.count, THEIRS);
	frame_write(&r, 0, IP + 1);
	raw_send(&r, 0, 128, FRAME_BYTES);
	assert_int_equal(switch_poll(), 1);
	assert_int_equal(port_stats(sw[0]).shm_refused, 0);
	raw_close(&r);
}

static void refused__buffer_that_is_none(void **state)
{
	struct raw r = raw_open(0);
	raw_send(&r, r.hello.bufs, 128, FRAME_BYTES);
	assert_refused(&r);
}

static void refused__largest_number(void **state)
{
	struct raw r = raw_open(0);
	raw_send(&r, SHM_BUFS_MAX - 1, 0, 0);
	assert_refused(&r);
}

static void refused__buffer_of_the_switch(void **state)
{
	struct raw r = raw_open(0);
	raw_send(&r, THEIRS, 0, 0);
	assert_refused(&r);
}

static void refused__buffer_of_another_process(void **state)
{
	struct raw r = raw_open(0);
	raw_send(&r, PKTS, 128, FRAME_BYTES);
	assert_refused(&r);
}

static void refused__frame_beyond_the_buffer(void **state)
{
	struct raw r = raw_open(0);
	raw_send(&r, 0, (uint16_t)(r.hello.stride_bytes - FRAME_BYTES + 1), FRAME_BYTES);
	assert_refused(&r);
}

static void refused__offset_that_would_wrap(void **state)
{
	struct raw r = raw_open(0);
	raw_send(&r, 0, UINT16_MAX, UINT16_MAX);
	assert_refused(&r);
}

static void refused__odd_offset(void **state)
{
	struct raw r = raw_open(0);
	raw_send(&r, 0, 129, FRAME_BYTES);
	assert_refused(&r);
}

static void refused__the_same_buffer_twice(void **state)
{
	struct raw r = raw_open(0);
	raw_send(&r, 3, 0, 0);
	raw_send(&r, 3, 0, 0);
	/* Given back once it comes home, so the second time may come too late to be wrong. */
	assert_refused(&r);
}

static void refused__sent_and_returned(void **state)
{
	struct raw r = raw_open(0);
	frame_write(&r, 3, IP + 1);
	raw_send(&r, 3, 128, FRAME_BYTES);
	raw_send(&r, 3, 0, 0);
	assert_refused(&r);
}

/* More taken than there was. The switch finds out when it has filled the ring, as far as it knows. */
static void refused__takes_what_was_not_there(void **state)
{
	struct raw r = raw_open(0);
	r.rings->down.taken = UINT32_MAX / 2;
	for (uint32_t i = 0; i < 3 * SHM_SLOTS / THEIRS && port_stats(sw[0]).shm_refused == 0; i++) {
		for (uint32_t buf = 0; buf < THEIRS; buf++)
			raw_send(&r, buf, 0, 0);
		for (int k = 0; k < 100; k++)
			switch_poll();
	}
	assert_refused(&r);
}

/* Frames that are none do not hurt, whatever is in them. */
static void dropped__frames_without_sense(void **state)
{
	struct raw r = raw_open(0);
	struct rng rng;
	struct shm_desc d;
	rng.state = 3;
	while (shm_ring_get(&r.rx, &d))
		;
	shm_ring_release(&r.rx);
	for (int round = 0; round < 200; round++) {
		for (uint32_t buf = 0; buf < 64; buf++) {
			uint8_t *at = r.bufs + (size_t)buf * r.hello.stride_bytes;
			for (uint32_t i = 0; i < r.hello.stride_bytes; i += 1 + rng_below(&rng, 64))
				at[i] = (uint8_t)rng_next(&rng);
			frame_write(&r, buf, IP + 1);
			at[128 + rng_below(&rng, 64)] = (uint8_t)rng_next(&rng);
			raw_send(&r, buf, (uint16_t)(rng_below(&rng, 2) ? 128 : 2 * rng_below(&rng, 4500)),
				 (uint16_t)(1 + rng_below(&rng, 200)));
		}
		for (unsigned home = 0; home < 64;) {
			switch_poll();
			while (shm_ring_get(&r.rx, &d))
				home += d.bytes == 0;
			shm_ring_release(&r.rx);
		}
	}
	assert_int_equal(port_stats(sw[0]).shm_refused, 0);
	raw_close(&r);
}

/* Anything in the rings, again and again. */
static void fuzz__any_words(void **state)
{
	struct rng rng;
	rng.state = 4;
	for (int round = 0; round < 100; round++) {
		struct raw r = raw_open(0);
		for (int i = 0; i < 1000; i++) {
			uint32_t at = rng_below(&rng, 8);
			uint64_t word = rng_next(&rng) & ((UINT64_C(1) << 52) - 1), times = UINT64_C(1) << 52;
			word &= ~(UINT64_C(0xfff80) << 32); /* a buffer of the first 128 */
			r.rings->up.slots[i % SHM_SLOTS] = word | times;
			if (at == 0)
				r.rings->down.taken = (uint32_t)rng_next(&rng);
			if (at == 1)
				r.rings->down.sleeps = 1;
			switch_poll();
		}
		raw_close(&r);
	}
	assert_true(port_stats(sw[0]).shm_refused > 10);
	struct raw r = raw_open(0);
	struct shm_desc d;
	uint32_t got = 0;
	while (shm_ring_get(&r.rx, &d))
		got++;
	assert_int_equal(got, THEIRS);
	raw_close(&r);
}

/* Words over the socket that are none of ours, and nobody who reads. */
static void socket__floods(void **state)
{
	struct raw r = raw_open(0);
	static const char message[1000];
	for (int i = 0; i < 1000; i++) {
		(void)!send(r.fd, message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
		switch_poll();
		weft_ethdev_sleep(sw, PORTS, 1);
	}
	assert_true(weft_ethdev_has_link(sw[0]));
	raw_close(&r);
}

/* ---- a switch that does the same ---- */

struct opening {
	char dev[80];
	struct weft_port *port;
	_Atomic bool done;
};

static void *open_run(void *arg)
{
	struct opening *o = arg;
	struct weft_ethdev_conf conf = {.dev = o->dev, .ip = weft_ip_v4(IP), .no_arp = true};
	struct weft_err err;
	if (weft_ethdev_open(&conf, &o->port, &err) != 0)
		o->port = NULL;
	o->done = true;
	return NULL;
}

static struct weft_port *client_open(void)
{
	struct opening o = {.done = false};
	pthread_t thread;
	snprintf(o.dev, sizeof o.dev, "shm:%s", paths[0]);
	assert_int_equal(pthread_create(&thread, NULL, open_run, &o), 0);
	while (!o.done)
		switch_poll();
	pthread_join(thread, NULL);
	assert_non_null(o.port);
	return o.port;
}

/* The process ends the connection, and joins anew as it does after the switch's end. */
static void switch_says(struct shm_desc desc)
{
	struct weft_port *port = client_open();
	struct shm_link *l = link_of(sw[0]);
	shm_ring_put(&l->tx, desc);
	while (port_stats(port).shm_refused == 0)
		port_poll(port);
	port_poll(port);
	assert_int_equal(port_stats(port).link_downs, 1);
	for (int after = 0; after < 20; after += weft_ethdev_has_link(port)) {
		switch_poll();
		port_poll(port);
	}
	assert_int_equal(rte_mempool_avail_count(link_of(port)->own), THEIRS);
	port->ops->close(port);
}

static void client__refuses_what_the_switch_does_not_have(void **state)
{
	switch_says((struct shm_desc){.buf = 0});
	switch_says((struct shm_desc){.buf = PORTS * PKTS, .offset = 128, .bytes = 100});
	switch_says((struct shm_desc){.buf = THEIRS, .offset = UINT16_MAX, .bytes = 100});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sound__is_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(refused__buffer_that_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(refused__largest_number, setup, teardown),
		cmocka_unit_test_setup_teardown(refused__buffer_of_the_switch, setup, teardown),
		cmocka_unit_test_setup_teardown(refused__buffer_of_another_process, setup, teardown),
		cmocka_unit_test_setup_teardown(refused__frame_beyond_the_buffer, setup, teardown),
		cmocka_unit_test_setup_teardown(refused__offset_that_would_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(refused__odd_offset, setup, teardown),
		cmocka_unit_test_setup_teardown(refused__the_same_buffer_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(refused__sent_and_returned, setup, teardown),
		cmocka_unit_test_setup_teardown(refused__takes_what_was_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(dropped__frames_without_sense, setup, teardown),
		cmocka_unit_test_setup_teardown(fuzz__any_words, setup, teardown),
		cmocka_unit_test_setup_teardown(socket__floods, setup, teardown),
		cmocka_unit_test_setup_teardown(client__refuses_what_the_switch_does_not_have, setup, teardown),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
