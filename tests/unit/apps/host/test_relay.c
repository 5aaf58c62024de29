/* SPDX-License-Identifier: BSD-3-Clause */
#include "relay.h"

#include <fcntl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmocka_all.h"

enum {
	GET_FEATURES = 1,
	SET_MEM_TABLE = 5,
	SET_LOG_BASE = 6,
	SET_VRING_KICK = 12,
	SET_VRING_CALL = 13,
	SET_VRING_ERR = 14,
	SET_SLAVE_REQ_FD = 21,
	FEATURES_BYTES = 8
};

static char path[64];
static int listener;

struct message {
	uint32_t request, flags, size;
	uint64_t payload[4 * RELAY_FDS + 1];
};

struct world {
	struct relay relay;
	int client, backend; /* the other ends; backend -1 until accepted */
};

static void world_open(struct world *w)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	w->client = pair[0];
	w->backend = -1;
	relay_open(&w->relay, pair[1]);
}

static void world_close(struct world *w)
{
	relay_close(&w->relay);
	close(w->client);
	if (w->backend >= 0)
		close(w->backend);
}

static void say(struct world *w, const void *bytes, size_t n, const int *fds, unsigned fd_count)
{
	char control[CMSG_SPACE(32 * sizeof(int))] = {0};
	struct iovec iov = {(void *)(uintptr_t)bytes, n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (fd_count > 0) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		*c = (struct cmsghdr){.cmsg_len = CMSG_LEN(fd_count * sizeof(int)),
				      .cmsg_level = SOL_SOCKET,
				      .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
	}
	assert_int_equal(sendmsg(w->client, &msg, 0), n);
}

/* Lets the relay read until it has handed something on, or complains. */
static const char *pump(struct world *w)
{
	const char *why = NULL;
	for (int i = 0; i < 8 && why == NULL; i++)
		why = relay_from_client(&w->relay, path);
	if (w->backend < 0 && w->relay.backend >= 0)
		w->backend = accept(listener, NULL, NULL);
	return why;
}

static size_t message_bytes(const struct message *m)
{
	return RELAY_HEADER_BYTES + m->size;
}

static void say_whole(struct world *w, struct message m, const int *fds, unsigned fd_count)
{
	uint8_t bytes[sizeof m];
	memcpy(bytes, &m, RELAY_HEADER_BYTES);
	memcpy(bytes + RELAY_HEADER_BYTES, m.payload, sizeof m.payload);
	say(w, bytes, message_bytes(&m), fds, fd_count);
}

/* A file in memory of so many bytes, and a table that names `claim` of them. */
static struct message table_of(int fd, off_t bytes, uint64_t claim)
{
	struct message m = {SET_MEM_TABLE, 1, 8 + 32, {1, 0, claim, 0, 0}};
	assert_int_equal(ftruncate(fd, bytes), 0);
	return m;
}

static void from_client__only_whole_messages_go_on(void **state)
{
	static const uint8_t bytes[RELAY_HEADER_BYTES + 8] = {2, 0, 0, 0, 1, 0, 0, 0, FEATURES_BYTES, 0, 0, 0,
							      1, 2, 3, 4, 5, 6, 7, 8};
	uint8_t got[64];
	struct world w;
	world_open(&w);
	for (unsigned i = 0; i < sizeof bytes; i++) {
		assert_int_equal(w.relay.backend, -1);
		say(&w, bytes + i, 1, NULL, 0);
		assert_null(pump(&w));
	}
	assert_int_equal(recv(w.backend, got, sizeof got, 0), sizeof bytes);
	assert_memory_equal(got, bytes, sizeof bytes);
	world_close(&w);
}

static void from_backend__answers_come_back(void **state)
{
	char got[64];
	struct world w;
	world_open(&w);
	say_whole(&w, (struct message){.request = GET_FEATURES, .flags = 1}, NULL, 0);
	assert_null(pump(&w));
	assert_int_equal(send(w.backend, "answer", 6, 0), 6);
	assert_null(relay_from_backend(&w.relay));
	assert_int_equal(recv(w.client, got, sizeof got, 0), 6);
	shutdown(w.backend, SHUT_RDWR);
	assert_non_null(relay_from_backend(&w.relay));
	world_close(&w);
}

static void from_client__leaving_is_no_complaint(void **state)
{
	struct world w;
	world_open(&w);
	shutdown(w.client, SHUT_RDWR);
	assert_string_equal(pump(&w), "");
	world_close(&w);
}

static void from_client__what_is_not_served_is_refused(void **state)
{
	const struct message bad[] = {
		{.request = SET_LOG_BASE, .flags = 1, .size = 16},
		{.request = SET_SLAVE_REQ_FD, .flags = 1},
		{.request = 0, .flags = 1},
		{.request = 64, .flags = 1},
		{.request = UINT32_MAX, .flags = 1},
		{.request = GET_FEATURES, .flags = 1, .size = RELAY_PAYLOAD_MAX + 1},
		{.request = GET_FEATURES, .flags = 1, .size = UINT32_MAX},
	};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct world w;
		world_open(&w);
		say(&w, &bad[i], RELAY_HEADER_BYTES, NULL, 0);
		assert_non_null(pump(&w));
		assert_int_equal(w.relay.backend, -1);
		world_close(&w);
	}
}

static void from_client__memory_is_a_file_in_memory_that_is_long_enough(void **state)
{
	struct world w;
	int memory = memfd_create("weft-test", MFD_CLOEXEC), disk = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct message good = table_of(memory, 8192, 8192);
	const struct {
		struct message m;
		int fd;
	} bad[] = {
		{{SET_MEM_TABLE, 1, 40, {1, 0, 8193, 0, 0}}, memory},
		{{SET_MEM_TABLE, 1, 40, {1, 0, 8192, 0, 1}}, memory},
		{{SET_MEM_TABLE, 1, 40, {1, 0, 4096, 0, UINT64_MAX}}, memory},
		{{SET_MEM_TABLE, 1, 40, {1, 0, UINT64_MAX, 0, 4096}}, memory},
		{{SET_MEM_TABLE, 1, 40, {2, 0, 4096, 0, 0}}, memory},
		{{SET_MEM_TABLE, 1, 40, {0, 0, 4096, 0, 0}}, memory},
		{{SET_MEM_TABLE, 1, 39, {1, 0, 4096, 0, 0}}, memory},
		{{SET_MEM_TABLE, 1, 0, {1}}, memory},
		{{SET_MEM_TABLE, 1, 40, {1, 0, 1, 0, 0}}, disk},
		{{SET_MEM_TABLE, 1, 40, {1, 0, 1, 0, 0}}, listener},
	};
	world_open(&w);
	say_whole(&w, good, &memory, 1);
	assert_null(pump(&w));
	assert_int_equal(w.relay.region_count, 1);
	world_close(&w);
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		world_open(&w);
		say_whole(&w, bad[i].m, &bad[i].fd, 1);
		assert_non_null(pump(&w));
		assert_int_equal(w.relay.backend, -1);
		world_close(&w);
	}
	close(memory);
	close(disk);
}

/* Otherwise a number that is no file of this message's would be used as one. */
static void from_client__each_region_has_one_file(void **state)
{
	const struct {
		struct message m;
		unsigned files;
	} bad[] = {
		{{SET_MEM_TABLE, 1, 40, {1, 0, 4096, 0, 0}}, 0},
		{{SET_MEM_TABLE, 1, 40, {1, 0, 4096, 0, 0}}, 2},
		{{SET_MEM_TABLE, 1, 72, {2, 0, 4096, 0, 0, 4096, 4096, 0, 0}}, 1},
		{{SET_MEM_TABLE, 1, 72, {2, 0, 4096, 0, 0, 4096, 4096, 0, 0}}, 3},
	};
	const struct message good = {SET_MEM_TABLE, 1, 72, {2, 0, 4096, 0, 0, 4096, 4096, 0, 0}};
	int memory = memfd_create("weft-test", MFD_CLOEXEC);
	int files[3] = {memory, memory, memory};
	struct world w;
	assert_int_equal(ftruncate(memory, 4096), 0);
	world_open(&w);
	say_whole(&w, good, files, 2);
	assert_null(pump(&w));
	assert_int_equal(w.relay.region_count, 2);
	world_close(&w);
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		world_open(&w);
		say_whole(&w, bad[i].m, files, bad[i].files);
		assert_string_equal(pump(&w), "a memory table that is none");
		assert_int_equal(w.relay.region_count, 0);
		assert_int_equal(w.relay.backend, -1);
		world_close(&w);
	}
	close(memory);
}

static void from_client__events_are_eventfds(void **state)
{
	struct world w;
	int event = eventfd(0, EFD_CLOEXEC), pipes[2];
	const struct message kick = {SET_VRING_KICK, 1, 8, {0}};
	assert_int_equal(pipe(pipes), 0);
	world_open(&w);
	say_whole(&w, kick, &event, 1);
	assert_null(pump(&w));
	say_whole(&w, kick, &pipes[1], 1);
	assert_non_null(pump(&w));
	world_close(&w);
	close(event);
	close(pipes[0]);
	close(pipes[1]);
}

static void from_client__events_of_the_rings_that_there_are(void **state)
{
	int event = eventfd(0, EFD_CLOEXEC);
	struct world w;
	world_open(&w);
	for (uint32_t ring = 0; ring < RELAY_RINGS; ring++) {
		for (uint32_t request = SET_VRING_KICK; request <= SET_VRING_ERR; request++) {
			say_whole(&w, (struct message){request, 1, 8, {ring}}, &event, 1);
			assert_null(pump(&w));
			assert_int_equal(w.relay.call_fds[ring] >= 0, request >= SET_VRING_CALL);
		}
	}
	world_close(&w);
	close(event);
}

static void from_client__events_of_other_rings_are_refused(void **state)
{
	/* Ring 0 in a message that is too short or too long, too. */
	static const struct {
		uint32_t size;
		uint64_t ring;
	} bad[] = {{8, RELAY_RINGS}, {8, 255}, {0, 0}, {4, 0}, {7, 0}, {9, 0}, {16, 0}};
	int event = eventfd(0, EFD_CLOEXEC);
	for (uint32_t request = SET_VRING_KICK; request <= SET_VRING_ERR; request++) {
		for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
			struct world w;
			world_open(&w);
			say_whole(&w, (struct message){request, 1, bad[i].size, {bad[i].ring}}, &event, 1);
			assert_string_equal(pump(&w), "a ring that the port has not");
			for (int k = 0; k < RELAY_RINGS; k++)
				assert_int_equal(w.relay.call_fds[k], -1);
			assert_int_equal(w.relay.backend, -1);
			world_close(&w);
		}
	}
	close(event);
}

static void from_client__too_many_files(void **state)
{
	struct world w;
	int many[32];
	int before = dup(0);
	for (unsigned i = 0; i < 32; i++)
		many[i] = 0;
	close(before);
	world_open(&w);
	say_whole(&w, (struct message){.request = GET_FEATURES, .flags = 1}, many, 32);
	assert_non_null(pump(&w));
	world_close(&w);
	world_open(&w);
	say_whole(&w, (struct message){.request = GET_FEATURES, .flags = 1}, many, 1);
	assert_non_null(pump(&w));
	world_close(&w);
	int after = dup(0); /* all that came were closed */
	assert_int_equal(after, before);
	close(after);
}

static void has_lost_memory__when_it_shrinks(void **state)
{
	struct world w;
	int memory = memfd_create("weft-test", MFD_CLOEXEC);
	world_open(&w);
	say_whole(&w, table_of(memory, 8192, 4096), &memory, 1);
	assert_null(pump(&w));
	assert_false(relay_has_lost_memory(&w.relay));
	assert_int_equal(ftruncate(memory, 4096), 0);
	assert_true(relay_has_lost_memory(&w.relay));
	world_close(&w);
	assert_false(relay_has_lost_memory(&w.relay));
	close(memory);
}

static int setup(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	snprintf(path, sizeof path, "/tmp/weft-relay-%d", (int)getpid());
	snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(listener, (struct sockaddr *)&addr, sizeof addr) || listen(listener, 16);
}

static int teardown(void **state)
{
	close(listener);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_client__only_whole_messages_go_on),
		cmocka_unit_test(from_backend__answers_come_back),
		cmocka_unit_test(from_client__leaving_is_no_complaint),
		cmocka_unit_test(from_client__what_is_not_served_is_refused),
		cmocka_unit_test(from_client__memory_is_a_file_in_memory_that_is_long_enough),
		cmocka_unit_test(from_client__each_region_has_one_file),
		cmocka_unit_test(from_client__events_are_eventfds),
		cmocka_unit_test(from_client__events_of_the_rings_that_there_are),
		cmocka_unit_test(from_client__events_of_other_rings_are_refused),
		cmocka_unit_test(from_client__too_many_files),
		cmocka_unit_test(has_lost_memory__when_it_shrinks),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
