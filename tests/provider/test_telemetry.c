/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider starts EAL itself here, on a ring that leads back to us: what it counts is read over the socket. */
#include "fixture.h"
#include "member.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weft/provider.h"

#define DEVICE "net_ring0"

static pid_t parent;
static char base[] = "/tmp/weft-telemetry-XXXXXX";

/* "BASE/weft-PID" as root and as anybody else: root's is not in the user's runtime directory. */
static void socket_dir(pid_t pid, char *buf, size_t size)
{
	snprintf(buf, size, "%s/dpdk/weft-%d", getuid() == 0 ? "/var/run" : base, (int)pid);
}

static int telemetry_connect(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	char dir[64], banner[1024];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	socket_dir(getpid(), dir, sizeof dir);
	snprintf(sun.sun_path, sizeof sun.sun_path, "%s/dpdk_telemetry.v2", dir);
	ok(connect(fd, (struct sockaddr *)&sun, sizeof sun));
	assert_true(recv(fd, banner, sizeof banner, 0) > 0);
	return fd;
}

static void ask(int fd, const char *command, char *answer, size_t size)
{
	assert_int_equal(send(fd, command, strlen(command), 0), strlen(command));
	ssize_t len = recv(fd, answer, size - 1, 0);
	assert_true(len > 0);
	answer[len] = 0;
}

static void domain_open(struct host *h)
{
	struct fi_info *hints = fi_allocinfo();
	assert_non_null(hints);
	hints->ep_attr->type = FI_EP_RDM;
	host_open_domain(h, hints);
}

/* To an address nobody has. */
static void send_tagged(struct host *h, uint64_t tag)
{
	static const struct host_opts none;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1)};
	struct fi_cq_tagged_entry entry;
	fi_addr_t peer;
	to.sin_addr.s_addr = htonl(0x0a000009);
	host_open_ep(h, &none);
	assert_int_equal(fi_av_insert(h->av, &to, 1, &peer, 0, NULL), 1);
	ok(fi_tsend(h->ep, "x", 1, NULL, peer, tag, NULL));
	assert_int_equal(fi_cq_read(h->cq, &entry, 1), -FI_EAGAIN);
}

static void send_one(struct host *h)
{
	send_tagged(h, 0);
}

static void expect_counters(const char *answer, const struct weft_stats *stats, const struct weft_ethdev_stats *port)
{
	char text[96];
	for (int i = 0; i < WEFT_PORT_COUNTER_COUNT; i++) {
		snprintf(text, sizeof text, "\"%s\":%llu", weft_port_counter_descs[i].name,
			 (unsigned long long)((const uint64_t *)port)[i]);
		assert_non_null(strstr(answer, text));
	}
	for (int i = 0; i < WEFT_COUNTER_COUNT; i++) {
		snprintf(text, sizeof text, "\"%s\":%llu", weft_counter_descs[i].name,
			 (unsigned long long)((const uint64_t *)stats)[i]);
		assert_non_null(strstr(answer, text));
	}
}

static void stats__are_those_of_engine_and_port(void **state)
{
	static char answer[16384];
	struct weft_stats stats;
	struct weft_ethdev_stats port;
	struct weft_fi_ops *ops;
	struct host h = {0};
	domain_open(&h);
	int fd = telemetry_connect();
	ask(fd, "/weft/devices", answer, sizeof answer);
	assert_string_equal(answer, "{\"/weft/devices\":[\"" DEVICE "\"]}");
	send_one(&h);
	ok(fi_open_ops(&h.domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL));
	ok(ops->stats(&h.domain->fid, &stats));
	assert_int_equal(stats.tx_data, 1);
	ok(ops->port_stats(&h.domain->fid, &port));
	assert_int_equal(port.tx_pkts, 1);
	ask(fd, "/weft/stats," DEVICE, answer, sizeof answer);
	expect_counters(answer, &stats, &port);
	assert_null(strstr(answer, "tss_"));
	struct weft_tss_stats tss;
	assert_int_equal(ops->tss_stats(&h.domain->fid, &tss), -FI_ENOSYS);
	host_close(&h);
	close(fd);
}

static void keys_write(char *path)
{
	FILE *keys = fdopen(mkstemp(path), "w"); /* which nobody else may read */
	assert_non_null(keys);
	fprintf(keys, "key 1 %064d\ncurrent 1\n", 7);
	assert_int_equal(fclose(keys), 0);
	setenv("FI_WEFT_KEY_FILE", path, 1);
}

static void stats__of_encryption(void **state)
{
	static char answer[16384];
	char path[] = "/tmp/weft-telemetry-keys-XXXXXX", text[96];
	struct weft_tss_stats tss;
	struct weft_fi_ops *ops;
	struct host h = {0};
	keys_write(path);
	domain_open(&h);
	int fd = telemetry_connect();
	send_one(&h);
	ok(fi_open_ops(&h.domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL));
	ok(ops->tss_stats(&h.domain->fid, &tss));
	assert_int_equal(tss.tss_sealed, 1);
	ask(fd, "/weft/stats," DEVICE, answer, sizeof answer);
	for (int i = 0; i < WEFT_TSS_COUNTER_COUNT; i++) {
		snprintf(text, sizeof text, "\"%s\":%llu", weft_tss_counter_descs[i].name,
			 (unsigned long long)((const uint64_t *)&tss)[i]);
		assert_non_null(strstr(answer, text));
	}
	host_close(&h);
	close(fd);
	unsetenv("FI_WEFT_KEY_FILE");
	assert_int_equal(unlink(path), 0);
}

static struct fid_ep *connecting_ep(struct host *h, struct fid_eq **eq)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7), .sin_addr.s_addr = htonl(0x0a000009)};
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fid_ep *ep;
	ok(fi_eq_open(h->fabric, &attr, eq, NULL));
	ok(fi_cq_open(h->domain, &(struct fi_cq_attr){.format = FI_CQ_FORMAT_TAGGED}, &h->cq, NULL));
	ok(fi_endpoint(h->domain, h->info, &ep, NULL));
	ok(fi_ep_bind(ep, &(*eq)->fid, 0));
	ok(fi_ep_bind(ep, &h->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_enable(ep));
	ok(fi_connect(ep, &to, NULL, 0));
	return ep;
}

static void stats__of_connections(void **state)
{
	static char answer[16384];
	struct fi_info *hints = fi_allocinfo();
	struct weft_cm_stats cm;
	struct weft_fi_ops *ops;
	struct fid_eq *eq;
	struct host h = {0};
	char text[96];
	hints->ep_attr->type = FI_EP_MSG;
	host_open_domain(&h, hints);
	int fd = telemetry_connect();
	struct fid_ep *ep = connecting_ep(&h, &eq);
	ok(fi_open_ops(&h.domain->fid, WEFT_FI_OPS, 0, (void **)&ops, NULL));
	ok(ops->cm_stats(&h.domain->fid, &cm));
	assert_int_equal(cm.cm_called, 1);
	ask(fd, "/weft/stats," DEVICE, answer, sizeof answer);
#define EXPECT(name, help)                                                                                             \
	snprintf(text, sizeof text, "\"" #name "\":%llu", (unsigned long long)cm.name);                                \
	assert_non_null(strstr(answer, text));
	WEFT_CM_COUNTERS(EXPECT)
#undef EXPECT
	ok(fi_close(&ep->fid));
	ok(fi_close(&h.cq->fid));
	h.cq = NULL;
	ok(fi_close(&eq->fid));
	host_close(&h);
	close(fd);
}

static struct host host_with_a_send(int *fd)
{
	struct host h = {0};
	domain_open(&h);
	*fd = telemetry_connect();
	send_one(&h);
	return h;
}

static void expect_parts(const char *answer, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strstr(answer, parts[i]))
			fail_msg("no %s in %s", parts[i], answer);
}

/* One send to an address that nobody answers for. */
static void pages__of_a_send(void **state)
{
	static const char *const conns[] = {"\"next\":0",    "\"0\":{\"peer\":\"10.0.0.9\"", "\"state\":\"unanswered\"",
					    "\"has_ops\":1", "\"inflight_pkts\":1",          "\"sends\":1",
					    "\"receives\":0"};
	static const char *const ops[] = {
		"\"kind\":\"tsend\"", "\"wait\":\"ack\"", "\"peer\":\"10.0.0.9:1\"", "\"bytes\":1,",
		"\"done_bytes\":1,",  "\"conn\":",        "\"tag\":\"0x0\""};
	static const char *const ports[] = {"\"name\":\"" DEVICE "\"", "\"up\":1", "\"tx_pkts\":1",
					    "\"drop_no_route\":0"};
	static char answer[16384];
	int fd;
	struct host h = host_with_a_send(&fd);
	ask(fd, "/weft/conns," DEVICE, answer, sizeof answer);
	expect_parts(answer, conns, count_of(conns));
	ask(fd, "/weft/ops," DEVICE ",0", answer, sizeof answer);
	expect_parts(answer, ops, count_of(ops));
	ask(fd, "/weft/ports," DEVICE, answer, sizeof answer);
	expect_parts(answer, ports, count_of(ports));
	ask(fd, "/weft/neigh," DEVICE, answer, sizeof answer);
	assert_string_equal(answer, "{\"/weft/neigh\":{\"next\":0}}");
	host_close(&h);
	close(fd);
}

/* As a number the tag would be above INT64_MAX, for which readers of JSON refuse the whole answer. */
static void pages__of_a_tag_of_64_bits(void **state)
{
	static const char *const ops[] = {"\"tag\":\"0x8000000000000007\""};
	static char answer[16384];
	struct host h = {0};
	domain_open(&h);
	int fd = telemetry_connect();
	send_tagged(&h, UINT64_C(1) << 63 | 7);
	ask(fd, "/weft/ops," DEVICE, answer, sizeof answer);
	expect_parts(answer, ops, count_of(ops));
	host_close(&h);
	close(fd);
}

/* Cursors that no answer gave. */
static void pages__beyond_the_end(void **state)
{
	static const char *const commands[] = {"/weft/conns", "/weft/ops", "/weft/neigh", "/weft/ports"};
	char answer[4096], text[96];
	int fd;
	struct host h = host_with_a_send(&fd);
	for (size_t i = 0; i < count_of(commands); i++) {
		snprintf(text, sizeof text, "%s," DEVICE ",99999999999", commands[i]);
		ask(fd, text, answer, sizeof answer);
		snprintf(text, sizeof text, "{\"%s\":{\"next\":0}}", commands[i]);
		assert_string_equal(answer, text);
	}
	host_close(&h);
	close(fd);
}

static void stats__unknown_and_closed_devices(void **state)
{
	static const char *const unknown[] = {"/weft/stats", "/weft/stats,net_ring", "/weft/stats,nobody"};
	static const char *const pages[] = {"/weft/conns", "/weft/ops,nobody", "/weft/ports," DEVICE ",x",
					    "/weft/neigh,,,"};
	char answer[1024];
	struct host h = {0};
	domain_open(&h);
	int fd = telemetry_connect();
	for (size_t i = 0; i < count_of(unknown); i++) {
		ask(fd, unknown[i], answer, sizeof answer);
		assert_string_equal(answer, "{\"/weft/stats\":null}");
	}
	for (size_t i = 0; i < count_of(pages); i++) {
		ask(fd, pages[i], answer, sizeof answer);
		assert_non_null(strstr(answer, ":null}"));
	}
	host_close(&h);
	ask(fd, "/weft/stats," DEVICE, answer, sizeof answer);
	assert_string_equal(answer, "{\"/weft/stats\":null}");
	ask(fd, "/weft/devices", answer, sizeof answer);
	assert_string_equal(answer, "{\"/weft/devices\":[]}");
	close(fd);
}

/* What a child saw of the directory named after it. */
enum seen { SEEN_NONE, SEEN_DIR, SEEN_OLD };

/* Opens a domain and looks. SEEN_OLD: a killed process that had the same PID left its directory, so this child's own
 * cannot be told from it. */
static enum seen look_for_dir(void)
{
	struct host h = {0};
	struct stat st;
	char dir[64];
	socket_dir(getpid(), dir, sizeof dir);
	if (stat(dir, &st) == 0)
		return SEEN_OLD;
	domain_open(&h);
	enum seen seen = stat(dir, &st) == 0 ? SEEN_DIR : SEEN_NONE;
	host_close(&h);
	return seen;
}

/* A process with the parameter as given, which opens a domain and exits. True when it had a directory meanwhile. */
static bool child_had_dir(const char *telemetry, pid_t *child)
{
	int status;
	do {
		*child = fork();
		if (*child == 0) {
			setenv("FI_WEFT_TELEMETRY", telemetry, 1);
			exit(look_for_dir());
		}
		assert_int_equal(waitpid(*child, &status, 0), *child);
		assert_true(WIFEXITED(status));
	} while (WEXITSTATUS(status) == SEEN_OLD);
	assert_in_range(WEXITSTATUS(status), SEEN_NONE, SEEN_DIR);
	return WEXITSTATUS(status) == SEEN_DIR;
}

static void directory__comes_and_goes(void **state)
{
	struct stat st;
	char dir[64];
	pid_t child;
	assert_false(child_had_dir("0", &child));
	assert_true(child_had_dir("1", &child));
	socket_dir(child, dir, sizeof dir);
	assert_int_equal(stat(dir, &st), -1);
}

/* Begun first, so that it ends last: after the provider's own. EAL without telemetry leaves its common "rte". */
static void base_remove(void)
{
	static const char *const below[] = {"/dpdk/rte", "/dpdk", ""};
	char dir[64];
	if (getpid() != parent)
		return;
	int left = 0;
	for (size_t i = 0; i < count_of(below); i++) {
		snprintf(dir, sizeof dir, "%s%s", base, below[i]);
		left = rmdir(dir);
	}
	if (left)
		_exit(1);
}

static int setup(void **state)
{
	parent = getpid();
	fixture_env();
	setenv("FI_WEFT_DEVICE", DEVICE, 1);
	setenv("FI_WEFT_ADDR", "10.0.0.1", 1);
	setenv("FI_WEFT_NO_ARP", "1", 1);
	setenv("FI_WEFT_TELEMETRY", "1", 1);
	if (!mkdtemp(base) || atexit(base_remove))
		return -1;
	return setenv("XDG_RUNTIME_DIR", base, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directory__comes_and_goes), /* first: forks before EAL is up */
		cmocka_unit_test(stats__are_those_of_engine_and_port),
		cmocka_unit_test(stats__of_encryption),
		cmocka_unit_test(stats__of_connections),
		cmocka_unit_test(pages__of_a_send),
		cmocka_unit_test(pages__of_a_tag_of_64_bits),
		cmocka_unit_test(pages__beyond_the_end),
		cmocka_unit_test(stats__unknown_and_closed_devices),
	};
	setenv("FI_WEFT_COPY_BYTES", "0", 1); /* a completed send has arrived */
	return cmocka_run_group_tests(tests, setup, NULL);
}
