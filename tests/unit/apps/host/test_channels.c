/* SPDX-License-Identifier: BSD-3-Clause */
#include "channels.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "rng.h"

enum { COUNT = 4, MTU = 1500, FIRST = 0x0a000010 };

static struct channels channels;
static int clients[COUNT]; /* their ends */
static weft_ns now;

static struct weft_ip ip_of(uint32_t i)
{
	return weft_ip_v4(FIRST + i);
}

static void join(uint32_t port)
{
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	assert_true(channels_join(&channels, port, ends[0], now));
	clients[port] = ends[1];
}

/* A message for a client, whose files are given away in `files`; false: there is none. */
static bool heard(uint32_t port, struct local_msg *m, int files[2])
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct iovec iov = {m, sizeof *m};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
	files[0] = files[1] = -1;
	if (recvmsg(clients[port], &msg, MSG_DONTWAIT) != sizeof *m)
		return false;
	if (CMSG_FIRSTHDR(&msg))
		memcpy(files, CMSG_DATA(CMSG_FIRSTHDR(&msg)), 2 * sizeof(int));
	return true;
}

static void hears(uint32_t port, uint32_t what, uint32_t about)
{
	struct local_msg m;
	struct weft_ip ip = ip_of(about);
	int files[2];
	assert_true(heard(port, &m, files));
	assert_int_equal(m.what, what);
	assert_true(weft_ip_eq(&m.ip, &ip));
	assert_int_equal(files[0] >= 0, what == LOCAL_OPEN);
	if (files[0] >= 0)
		close(files[0]), close(files[1]);
}

static void hears_nothing(uint32_t port)
{
	struct local_msg m;
	int files[2];
	assert_false(heard(port, &m, files));
	assert_int_equal(errno, EAGAIN);
}

static const char *ask(uint32_t port, uint32_t about)
{
	const struct local_msg m = {.what = LOCAL_ASK, .ip = ip_of(about)};
	assert_int_equal(send(clients[port], &m, sizeof m, 0), sizeof m);
	return channels_from_client(&channels, port, now);
}

static int setup(void **state)
{
	struct weft_ip first = ip_of(0);
	now = 1;
	channels_init(&channels, &first, COUNT, MTU);
	for (uint32_t i = 0; i < 3; i++) {
		join(i);
		hears(i, LOCAL_HELLO, 0);
	}
	return 0;
}

static int teardown(void **state)
{
	for (uint32_t i = 0; i < COUNT; i++)
		channels_leave(&channels, i);
	for (uint32_t i = 0; i < 3; i++)
		close(clients[i]);
	return 0;
}

/* Both get the same memory, which has its size for good, and the two ends of one socket. */
static void ask__both_get_one_channel(void **state)
{
	struct local_msg m[2];
	int files[2][2];
	char byte = 7;
	assert_null(ask(0, 2));
	for (int i = 0; i < 2; i++) {
		struct weft_ip other = ip_of(i == 0 ? 2 : 0);
		struct stat st;
		assert_true(heard(i == 0 ? 0 : 2, &m[i], files[i]));
		assert_int_equal(m[i].what, LOCAL_OPEN);
		assert_int_equal(m[i].mtu_bytes, MTU);
		assert_true(weft_ip_eq(&m[i].ip, &other));
		assert_int_equal(fstat(files[i][0], &st), 0);
		assert_int_equal(st.st_size, local_shm_bytes(MTU));
		assert_int_equal(fcntl(files[i][0], F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
		assert_int_not_equal(ftruncate(files[i][0], 0), 0);
	}
	assert_int_equal(m[0].side + m[1].side, 1);
	assert_int_equal(pwrite(files[0][0], &byte, 1, 5000), 1);
	assert_int_equal(pread(files[1][0], &byte, 1, 5000), 1);
	assert_int_equal(byte, 7);
	close(files[0][1]);
	assert_int_equal(recv(files[1][1], &byte, 1, 0), 0); /* the door has no copy */
	close(files[1][1]);
	close(files[0][0]);
	close(files[1][0]);
	hears_nothing(1);
}

static void ask__there_is_one_at_a_time(void **state)
{
	assert_null(ask(0, 1));
	assert_null(ask(1, 0)); /* both asked */
	hears(0, LOCAL_OPEN, 1);
	hears(1, LOCAL_OPEN, 0);
	hears_nothing(0);
	hears_nothing(1);
	now += WEFT_S(1);
	assert_null(ask(1, 0)); /* it closed it */
	hears(0, LOCAL_OPEN, 1);
	hears(1, LOCAL_OPEN, 0);
}

static void ask__nobody_there__no(void **state)
{
	assert_null(ask(0, 3));
	hears(0, LOCAL_NO, 3);
	hears_nothing(0);
}

static void leave__peers_hear_of_it_and_the_next_one_is_nobody_they_know(void **state)
{
	assert_null(ask(0, 1));
	hears(0, LOCAL_OPEN, 1);
	hears(1, LOCAL_OPEN, 0);
	close(clients[1]);
	assert_string_equal(channels_from_client(&channels, 1, now), "");
	channels_leave(&channels, 1);
	hears(0, LOCAL_GONE, 1);
	hears_nothing(2);
	join(1);
	hears(1, LOCAL_HELLO, 0);
	hears_nothing(0);
	now += WEFT_S(1);
	assert_null(ask(1, 0));
	hears(0, LOCAL_OPEN, 1);
	hears(1, LOCAL_OPEN, 0);
}

static void join__an_older_connection_ends(void **state)
{
	char byte;
	int old = clients[1];
	assert_null(ask(0, 1));
	hears(0, LOCAL_OPEN, 1);
	hears(1, LOCAL_OPEN, 0);
	join(1);
	hears(0, LOCAL_GONE, 1);
	assert_int_equal(recv(old, &byte, 1, 0), 0);
	close(old);
}

static void from_client__nonsense_has_to_go(void **state)
{
	const struct local_msg wrong[] = {
		{.what = LOCAL_ASK, .ip = ip_of(0)},   {.what = LOCAL_ASK, .ip = ip_of(COUNT)},
		{.what = LOCAL_ASK, .ip = {{1}}},      {.what = LOCAL_OPEN, .ip = ip_of(1)},
		{.what = LOCAL_HELLO, .ip = ip_of(1)}, {.what = 0, .ip = ip_of(1)},
		{.what = UINT32_MAX, .ip = ip_of(1)},
	};
	static const char text[4096] = "peer 10.0.0.1\n";
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		send(clients[0], &wrong[i], sizeof wrong[i], 0);
		assert_string_equal(channels_from_client(&channels, 0, now), "a question for a channel that is none");
	}
	for (size_t bytes = 1; bytes < sizeof text; bytes += 31) {
		if (bytes == sizeof(struct local_msg))
			continue;
		send(clients[0], text, bytes, 0);
		assert_string_equal(channels_from_client(&channels, 0, now), "a question for a channel that is none");
	}
	assert_null(channels_from_client(&channels, 0, now));
	hears_nothing(1);
}

static void from_client__too_many_questions(void **state)
{
	const char *why = NULL;
	int asked = 0;
	for (; asked < 10000 && !why; asked++) {
		struct local_msg m;
		int files[2];
		why = ask(0, 3);
		while (heard(0, &m, files)) {
		}
	}
	assert_string_equal(why, "too many questions for channels");
	assert_in_range(asked, 200, 300);
	now += WEFT_S(1);
	assert_null(ask(0, 3));
}

/* Its connection ends, and nobody waits for it; the files in it are bounded. */
static void from_client__who_reads_nothing_is_cut_off(void **state)
{
	int made = 0;
	const char *why = NULL;
	for (; made < 1000 && !why; made++) {
		struct local_msg m;
		int files[2];
		now += WEFT_S(1);
		why = ask(1, 0);
		while (heard(1, &m, files))
			if (files[0] >= 0)
				close(files[0]), close(files[1]);
		if (channels_from_client(&channels, 0, now))
			break;
	}
	assert_null(why);
	assert_in_range(made, 20, 200);
	channels_leave(&channels, 0);
	assert_null(ask(1, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ask__both_get_one_channel, setup, teardown),
		cmocka_unit_test_setup_teardown(ask__there_is_one_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(ask__nobody_there__no, setup, teardown),
		cmocka_unit_test_setup_teardown(leave__peers_hear_of_it_and_the_next_one_is_nobody_they_know, setup,
						teardown),
		cmocka_unit_test_setup_teardown(join__an_older_connection_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(from_client__nonsense_has_to_go, setup, teardown),
		cmocka_unit_test_setup_teardown(from_client__too_many_questions, setup, teardown),
		cmocka_unit_test_setup_teardown(from_client__who_reads_nothing_is_cut_off, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
