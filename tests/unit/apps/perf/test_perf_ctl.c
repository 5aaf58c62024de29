/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf_ctl.h"

struct pair {
	struct perf_ctl server, client;
};

static uint16_t port_of(int listener)
{
	struct sockaddr_in6 addr;
	socklen_t len = sizeof addr;
	assert_int_equal(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
	return ntohs(addr.sin6_port); /* an IPv4 address has its port there, too */
}

static void open_pair(struct pair *p)
{
	struct weft_err err;
	int listener;
	assert_int_equal(perf_ctl_listen(0, &listener, &err), 0);
	assert_int_equal(perf_ctl_connect("127.0.0.1", port_of(listener), 0, &p->client, &err), 0);
	assert_int_equal(perf_ctl_accept(listener, &p->server, &err), 0);
	close(listener);
	assert_string_equal(p->client.peer, "127.0.0.1");
	assert_string_equal(p->server.local, "127.0.0.1");
}

static void close_pair(struct pair *p)
{
	perf_ctl_close(&p->client);
	perf_ctl_close(&p->server);
}

static void say(const struct perf_ctl *c, const char *text)
{
	assert_int_equal(send(c->fd, text, strlen(text), 0), strlen(text));
}

static void poll__objects_in_pieces(void **state)
{
	struct pair p;
	struct weft_err err;
	json_t *o;
	open_pair(&p);
	assert_int_equal(perf_ctl_poll(&p.client, 0, &o, &err), 0);
	say(&p.server, "{\"a\":");
	assert_int_equal(perf_ctl_poll(&p.client, 20, &o, &err), 0);
	say(&p.server, "1}\n{\"b\":2}\n");
	assert_int_equal(perf_ctl_recv(&p.client, 1000, &o, &err), 0);
	assert_int_equal(json_integer_value(json_object_get(o, "a")), 1);
	json_decref(o);
	assert_int_equal(perf_ctl_recv(&p.client, 1000, &o, &err), 0);
	assert_int_equal(json_integer_value(json_object_get(o, "b")), 2);
	json_decref(o);
	assert_int_equal(perf_ctl_recv(&p.client, 10, &o, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.msg, "127.0.0.1"));
	close_pair(&p);
}

static void poll__nonsense_and_errors(void **state)
{
	static const struct {
		const char *text;
		int rc;
		const char *says;
	} cases[] = {
		{"\n", -EPROTO, "not what weft perf says"},
		{"[1]\n", -EPROTO, "not what weft perf says"},
		{"{\"a\":\n", -EPROTO, "not what weft perf says"},
		{"SSH-2.0-x\r\n", -EPROTO, "not what weft perf says"},
		{"{\"error\":\"no such device\"}\n", -EREMOTEIO, "127.0.0.1 says: no such device"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pair p;
		struct weft_err err;
		json_t *o;
		open_pair(&p);
		say(&p.server, cases[i].text);
		assert_int_equal(perf_ctl_recv(&p.client, 1000, &o, &err), cases[i].rc);
		assert_non_null(strstr(err.msg, cases[i].says));
		close_pair(&p);
	}
}

static void poll__peer_is_gone(void **state)
{
	struct pair p;
	struct weft_err err;
	json_t *o;
	open_pair(&p);
	perf_ctl_close(&p.server);
	assert_int_equal(perf_ctl_recv(&p.client, 1000, &o, &err), -ECONNRESET);
	assert_non_null(strstr(err.msg, "127.0.0.1 has closed"));
	close_pair(&p);
}

static void *send_much(void *arg)
{
	struct perf_ctl *c = arg;
	static char block[65536];
	memset(block, 'x', sizeof block);
	for (int i = 0; i < 2 * PERF_CTL_LINE_MAX / (int)sizeof block; i++)
		if (send(c->fd, block, sizeof block, MSG_NOSIGNAL) < 0)
			break;
	return NULL;
}

/* A line without end is not kept. */
static void poll__endless_line(void **state)
{
	struct pair p;
	struct weft_err err;
	json_t *o;
	pthread_t id;
	open_pair(&p);
	assert_int_equal(pthread_create(&id, NULL, send_much, &p.server), 0);
	assert_int_equal(perf_ctl_recv(&p.client, 10000, &o, &err), -EPROTO);
	assert_non_null(strstr(err.msg, "a line of more than"));
	perf_ctl_close(&p.client);
	pthread_join(id, NULL);
	close_pair(&p);
}

static void connect__nobody_listens(void **state)
{
	struct perf_ctl c;
	struct weft_err err;
	int listener;
	assert_int_equal(perf_ctl_listen(0, &listener, &err), 0);
	uint16_t port = port_of(listener);
	close(listener);
	assert_int_equal(perf_ctl_connect("127.0.0.1", port, 0, &c, &err), -ECONNREFUSED);
	assert_non_null(strstr(err.msg, "is `weft perf` running there?"));
	assert_int_equal(perf_ctl_connect("no.such.host.invalid", port, 0, &c, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "no.such.host.invalid"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll__objects_in_pieces), cmocka_unit_test(poll__nonsense_and_errors),
		cmocka_unit_test(poll__peer_is_gone),      cmocka_unit_test(poll__endless_line),
		cmocka_unit_test(connect__nobody_listens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
