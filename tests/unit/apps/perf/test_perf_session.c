/* SPDX-License-Identifier: BSD-3-Clause */
/* A server and a client that the test plays, whose endpoints are the server's own. The clock is moved by hand. */
#include "cmocka_all.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf_ctl.h"
#include "perf_session.h"

#define S UINT64_C(1000000000)

enum { WAIT_MS = 60000, HEARD_US = 200000 };

static _Atomic uint64_t now_ns = 1000 * S;

/* In place of perf_now_ns (--wrap). */
uint64_t __wrap_perf_now_ns(void);
uint64_t __wrap_perf_now_ns(void)
{
	return now_ns;
}

struct server {
	struct perf_ctl ctl;
	pthread_t id;
	struct weft_err err;
	int rc;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	struct perf_where where = {.provider = NULL};
	s->rc = perf_serve(&s->ctl, &where, &s->err);
	return NULL;
}

static void start(struct server *s, struct perf_ctl *client)
{
	struct sockaddr_in6 addr;
	socklen_t len = sizeof addr;
	int listener;
	assert_int_equal(perf_ctl_listen(0, &listener, &s->err), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(perf_ctl_connect("127.0.0.1", ntohs(addr.sin6_port), 0, client, &s->err), 0);
	assert_int_equal(perf_ctl_accept(listener, &s->ctl, &s->err), 0);
	close(listener);
	assert_int_equal(pthread_create(&s->id, NULL, serve, s), 0);
}

static void say(struct perf_ctl *c, json_t *object)
{
	struct weft_err err;
	if (perf_ctl_send(c, object, &err))
		fail_msg("%s", err.msg);
}

static json_t *hear(struct perf_ctl *c, const char *key)
{
	struct weft_err err;
	json_t *answer;
	if (perf_ctl_recv(c, WAIT_MS, &answer, &err))
		fail_msg("%s", err.msg);
	json_t *value = json_incref(json_object_get(answer, key));
	assert_non_null(value);
	json_decref(answer);
	return value;
}

static void expect(struct perf_ctl *c, const char *key)
{
	json_decref(hear(c, key));
}

/* The server begins nothing, as it has no iterations, and is done at once; the client goes on for a minute. */
static void serve__waits_for_a_client_that_goes_on(void **state)
{
	struct server s = {.rc = 0};
	struct perf_ctl client;
	start(&s, &client);
	say(&client, json_pack("{s:i, s:s, s:i, s:[i], s:i, s:i, s:i, s:b, s:i, s:i, s:i}", "weft_perf", 1, "provider",
			       "shm", "op", PERF_WRITE, "sizes", 8, "connections", 1, "threads", 1, "window", 1,
			       "check", 0, "row_ns", 0, "iterations", 0, "warmup", 0));
	say(&client, json_pack("{s:o}", "connections", hear(&client, "connections")));
	expect(&client, "ready");
	say(&client, json_pack("{s:i, s:i, s:b}", "row", PERF_BOTH_WAYS, "bytes", 8, "warmup", 0));
	expect(&client, "go");
	usleep(HEARD_US); /* it waits by now */
	now_ns += 60 * S;
	usleep(HEARD_US);
	say(&client, json_pack("{s:[i]}", "end", 0));
	expect(&client, "sent");
	say(&client, json_pack("{s:b}", "clean", 1));
	expect(&client, "cleaned");
	say(&client, json_pack("{s:b}", "bye", 1));
	perf_ctl_close(&client);
	assert_int_equal(pthread_join(s.id, NULL), 0);
	if (s.rc)
		fail_msg("%s", s.err.msg);
	perf_ctl_close(&s.ctl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serve__waits_for_a_client_that_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
