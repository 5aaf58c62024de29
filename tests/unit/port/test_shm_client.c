/* SPDX-License-Identifier: BSD-3-Clause */
/* A process at a port with shared buffers; the test plays the switch, and whoever else may listen there. */
#include "shm_port.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ethdev_fixture.h"

enum {
	BUFS = 16,
	COUNT = 4,
	IP_BYTES = 1001,
	FRAME_OVERHEAD = RTE_PKTMBUF_HEADROOM + RTE_ETHER_HDR_LEN,
	STRIDE_MIN = IP_BYTES + FRAME_OVERHEAD + 1,
	HEAD_BYTES = 28, /* IPv4, UDP */
	TEXT_BYTES = 16,
	IP = 0x0a000001,
	STRANGER = 54321,
	BOTH_SEALS = F_SEAL_SHRINK | F_SEAL_GROW,
};

static const struct shm_hello good = {.magic = SHM_MAGIC,
				      .version = SHM_VERSION,
				      .bufs = BUFS,
				      .stride_bytes = STRIDE_MIN,
				      .first = 2,
				      .count = COUNT,
				      .ip_bytes_max = IP_BYTES};

static struct sockaddr_un addr;
static char dir[32], dev[sizeof addr.sun_path + 8];
static int listener;

static int listen_there(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return bind(fd, (struct sockaddr *)&addr, sizeof addr) == 0 && listen(fd, 1) == 0 ? fd : -1;
}

static int setup(void **state)
{
	addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(dir, sizeof dir, "/tmp/weft-shm-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(addr.sun_path, sizeof addr.sun_path, "%s/s", dir);
	snprintf(dev, sizeof dev, "shm:%s", addr.sun_path);
	listener = listen_there();
	return listener < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	close(listener);
	unlink(addr.sun_path);
	return rmdir(dir);
}

/* ---- the process ---- */

struct opening {
	struct weft_port *port;
	struct weft_err err;
	int rc;
	pthread_t thread;
};

static void *open_run(void *arg)
{
	struct opening *o = arg;
	const struct weft_ethdev_conf conf = {.dev = dev, .ip = weft_ip_v4(IP), .no_arp = true};
	o->rc = weft_ethdev_open(&conf, &o->port, &o->err);
	return NULL;
}

static void opening_start(struct opening *o)
{
	*o = (struct opening){.rc = -1};
	assert_int_equal(pthread_create(&o->thread, NULL, open_run, o), 0);
}

/* ---- the switch ---- */

struct played {
	int bufs_fd, rings_fd;
	int fd; /* the connection; -1: none */
	uint32_t stride;
	struct shm_rings *rings;
	struct shm_end tx;
};

static int file_make(const char *name, uint64_t bytes, int seals)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static struct played played_open(const char *name, const struct shm_hello *h)
{
	struct played s = {.fd = -1, .stride = h->stride_bytes};
	s.bufs_fd = file_make(name, (uint64_t)h->bufs * h->stride_bytes, BOTH_SEALS);
	s.rings_fd = file_make("weft-test-rings", sizeof *s.rings, BOTH_SEALS);
	s.rings = mmap(NULL, sizeof *s.rings, PROT_READ | PROT_WRITE, MAP_SHARED, s.rings_fd, 0);
	assert_true((void *)s.rings != MAP_FAILED);
	s.tx.shared = &s.rings->down;
	return s;
}

static void played_close(struct played *s)
{
	munmap(s->rings, sizeof *s->rings);
	close(s->bufs_fd);
	close(s->rings_fd);
	if (s->fd >= 0)
		close(s->fd);
}

static void say(int fd, const struct shm_hello *hello, size_t bytes, const int *files, unsigned count)
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {(void *)(uintptr_t)hello, bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (count > 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		*c = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(c), files, count * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &msg, MSG_NOSIGNAL), bytes);
}

/* What becomes of a process that is told this. */
static struct opening opening_of(const struct shm_hello *hello, size_t bytes, const int *files, unsigned count)
{
	struct opening o;
	opening_start(&o);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	say(fd, hello, bytes, files, count);
	pthread_join(o.thread, NULL);
	close(fd);
	return o;
}

/* With files as the hello says. */
static struct opening opening_of_hello(const struct shm_hello *hello)
{
	struct played s = played_open("weft-test", hello);
	struct opening o = opening_of(hello, sizeof *hello, (int[]){s.bufs_fd, s.rings_fd}, 2);
	played_close(&s);
	return o;
}

/* Sends the process a packet with a text in it, in a buffer of the switch's choice. */
static void played_send(struct played *s, uint32_t buf, const char *text)
{
	uint8_t frame[RTE_ETHER_HDR_LEN + HEAD_BYTES + TEXT_BYTES] = {2,  0,  10, 0, 0,  1, 2, 0, 10, 0,   0,  9,  8,
								      0,  69, 0,  0, 0,  0, 0, 0, 0,  64,  17, 0,  0,
								      10, 0,  0,  9, 10, 0, 0, 1, 18, 185, 18, 185};
	frame[RTE_ETHER_HDR_LEN + 3] = HEAD_BYTES + TEXT_BYTES;
	frame[RTE_ETHER_HDR_LEN + 25] = HEAD_BYTES + TEXT_BYTES - 20;
	memcpy(frame + RTE_ETHER_HDR_LEN + HEAD_BYTES, text, strlen(text));
	off_t at = (off_t)buf * s->stride + RTE_PKTMBUF_HEADROOM;
	assert_int_equal(pwrite(s->bufs_fd, frame, sizeof frame, at), sizeof frame);
	shm_ring_put(&s->tx, (struct shm_desc){.buf = buf, .offset = RTE_PKTMBUF_HEADROOM, .bytes = sizeof frame});
}

/* ---- what it is told ---- */

static void hello__all_fields_at_their_limits(void **state)
{
	struct shm_hello at[7];
	for (unsigned i = 0; i < sizeof at / sizeof *at; i++)
		at[i] = good;
	at[1].first = 0;
	at[2].first = BUFS - COUNT;
	at[3].first = 0, at[3].count = BUFS - 1;
	at[4].first = BUFS - 1, at[4].count = 1;
	at[5].stride_bytes = UINT16_MAX;
	at[6].ip_bytes_max = 1, at[6].stride_bytes = FRAME_OVERHEAD + 2;
	for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
		struct opening o = opening_of_hello(&at[i]);
		if (o.rc != 0)
			fail_msg("%u: %s", i, o.err.msg);
		assert_int_equal(o.port->max_ip_bytes, at[i].ip_bytes_max);
		o.port->ops->close(o.port);
	}
}

/* A field beyond its limit each; their files are as long as they say. */
static void hello__fields_beyond_their_limits_are_refused(void **state)
{
	struct shm_hello bad[17];
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		bad[i] = good;
	bad[0].magic = SHM_MAGIC + 1;
	bad[1].magic = 0;
	bad[2].version = SHM_VERSION + 1;
	bad[3].version = SHM_VERSION - 1;
	bad[4].bufs = 0;
	bad[5].bufs = SHM_BUFS_MAX + 1, bad[5].ip_bytes_max = 1, bad[5].stride_bytes = 256;
	bad[6].count = 0;
	bad[7].first = 0, bad[7].count = BUFS;
	bad[8].first = 0, bad[8].count = BUFS + 1;
	bad[9].count = UINT32_MAX;
	bad[10].first = BUFS - COUNT + 1;
	bad[11].first = UINT32_MAX - COUNT + 1; /* the sum would wrap */
	bad[12].ip_bytes_max = 0;
	bad[13].ip_bytes_max = UINT16_MAX + 1, bad[13].stride_bytes = UINT16_MAX;
	bad[14].ip_bytes_max = UINT32_MAX - FRAME_OVERHEAD + 1; /* and here */
	bad[15].stride_bytes = STRIDE_MIN - 1;
	bad[16].stride_bytes = UINT16_MAX + 1;
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct opening o = opening_of_hello(&bad[i]);
		if (o.rc != -EPROTO || strstr(o.err.msg, "shares buffers in another way") == NULL)
			fail_msg("%u: %d, %s", i, o.rc, o.err.msg);
	}
}

static void hello__without_its_bytes_or_its_files_is_none(void **state)
{
	struct played s = played_open("weft-test", &good);
	const int files[] = {s.bufs_fd, s.rings_fd};
	struct opening o = opening_of(&good, sizeof good - 1, files, 2);
	assert_int_equal(o.rc, -EPROTO);
	for (unsigned count = 0; count < 2; count++) {
		o = opening_of(&good, sizeof good, files, count);
		assert_int_equal(o.rc, -EPROTO);
		assert_non_null(strstr(o.err.msg, "no port of weft switch --shm"));
	}
	played_close(&s);
}

/* Whoever made such a file could take memory away that the process uses. */
static void files__without_seals_or_of_another_size_are_refused(void **state)
{
	static const struct {
		int seals, more_bytes;
	} bad[] = {{0, 0}, {F_SEAL_SHRINK, 0}, {F_SEAL_GROW, 0}, {BOTH_SEALS, -1}, {BOTH_SEALS, 1}};
	struct played s = played_open("weft-test", &good);
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		const int files[] = {
			file_make("weft-test", (uint64_t)(BUFS * STRIDE_MIN + bad[i].more_bytes), bad[i].seals),
			file_make("weft-test", sizeof(struct shm_rings) + (uint64_t)bad[i].more_bytes, bad[i].seals)};
		struct opening o = opening_of(&good, sizeof good, (int[]){files[0], s.rings_fd}, 2);
		assert_int_equal(o.rc, -EPROTO);
		assert_non_null(strstr(o.err.msg, "cannot map 16 packet buffers"));
		o = opening_of(&good, sizeof good, (int[]){s.bufs_fd, files[1]}, 2);
		assert_int_equal(o.rc, -EPROTO);
		assert_non_null(strstr(o.err.msg, "cannot map the rings"));
		close(files[0]);
		close(files[1]);
	}
	played_close(&s);
}

/* ---- who listens ---- */

/* Another user was there first. Only root can play both. */
static void listener__a_stranger_is_refused(void **state)
{
	int ready[2];
	char byte;
	if (geteuid() != 0) {
		print_message("needs root, to listen as another user\n");
		skip();
	}
	close(listener);
	unlink(addr.sun_path);
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(chmod(dir, 01777), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setuid(STRANGER) == 0 && listen_there() >= 0 && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	struct opening o;
	opening_start(&o);
	pthread_join(o.thread, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	listener = -1;
	assert_int_equal(o.rc, -EPERM);
	assert_non_null(strstr(o.err.msg, "user 54321 listens there"));
}

/* ---- a switch that is started anew ---- */

static void played_hello(struct played *s)
{
	s->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(s->fd >= 0);
	say(s->fd, &good, sizeof good, (int[]){s->bufs_fd, s->rings_fd}, 2);
}

static void look(struct weft_port *port)
{
	to_ethdev(port)->shm->look(to_ethdev(port), weft_clock_ns());
}

static struct weft_pkt *receive(struct weft_port *port)
{
	struct weft_pkt *pkt = NULL;
	for (int i = 0; i < 100 && port->ops->rx(port, &pkt, 1) == 0; i++)
		;
	assert_non_null(pkt);
	return pkt;
}

static bool is_mapped(const char *name)
{
	char line[512];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f) != NULL)
		found |= strstr(line, name) != NULL;
	fclose(f);
	return found;
}

/* What was received stays as it is, and its memory goes with the last packet: one of the process's own pool (0), one of
 * the other pool (1). */
static void restart_with_packets(struct played *before, struct played *after, int last)
{
	static const char texts[2][TEXT_BYTES] = {"of its own", "of another"};
	struct weft_pkt *pkts[2];
	struct opening o;
	opening_start(&o);
	played_hello(before);
	pthread_join(o.thread, NULL);
	assert_int_equal(o.rc, 0);
	played_send(before, good.first, texts[0]);
	played_send(before, good.first + COUNT, texts[1]);
	for (int i = 0; i < 2; i++)
		pkts[i] = receive(o.port);
	close(before->fd);
	before->fd = -1;
	look(o.port); /* hears of the end, and calls */
	played_hello(after);
	look(o.port);
	assert_true(is_mapped("weft-test-after"));
	look(o.port);
	assert_true(is_mapped("weft-test-before"));
	for (int i = 0; i < 2; i++)
		assert_memory_equal(pkts[i]->head + HEAD_BYTES, texts[i], TEXT_BYTES);
	o.port->ops->free(o.port, &pkts[!last], 1);
	look(o.port);
	assert_true(is_mapped("weft-test-before"));
	assert_memory_equal(pkts[last]->head + HEAD_BYTES, texts[last], TEXT_BYTES);
	o.port->ops->free(o.port, &pkts[last], 1);
	look(o.port);
	assert_false(is_mapped("weft-test-before"));
	assert_true(is_mapped("weft-test-after"));
	o.port->ops->close(o.port);
	assert_false(is_mapped("weft-test-after"));
}

static void restart__buffers_stay_while_packets_in_them_are_in_use(void **state)
{
	for (int last = 0; last < 2; last++) {
		struct played before = played_open("weft-test-before", &good),
			      after = played_open("weft-test-after", &good);
		restart_with_packets(&before, &after, last);
		played_close(&before);
		played_close(&after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hello__all_fields_at_their_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(hello__fields_beyond_their_limits_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(hello__without_its_bytes_or_its_files_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(files__without_seals_or_of_another_size_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(listener__a_stranger_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(restart__buffers_stay_while_packets_in_them_are_in_use, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, fixture_eal, NULL);
}
