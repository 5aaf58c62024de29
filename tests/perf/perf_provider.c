/* SPDX-License-Identifier: BSD-3-Clause */
/* Latency, message rate and bandwidth of tagged messages between two processes through the public libfabric interface:
 * the same code for every provider. The two are children of one process, each with an environment, a CPU and, if
 * wanted, a network namespace of its own, and exchange addresses over a pair of sockets. Prints one line per
 * measurement. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fi_side.h"

enum {
	WINDOW = 64,         /* sends outstanding */
	BYTES_MAX = 4 << 20, /* largest message */
	SIDES = 2,
	ENV_MAX = 16,
	NAME_MAX_BYTES = 256,
	TAG = 7,
	POLLS_PER_LOOK = 1024, /* looks at the queue between looks at the clock */
	STALL_S = 20,          /* nothing moves for so long: give up */
	BATCHES = 10,          /* of a measurement; the best counts, what else runs on the machine costs the others */
	TIME_MAX_S = 120,      /* in all */
};

/* What the command line says of one side. */
struct side {
	const char *node;  /* local address given to fi_getinfo; NULL: the provider chooses */
	const char *netns; /* path of a network namespace; NULL: ours */
	char *env[ENV_MAX];
	unsigned envs;
};

struct bench {
	const char *prov;
	struct side sides[SIDES];
	double seconds; /* per measurement */
	size_t bytes;   /* this size alone; 0: all */
	unsigned me;
	int peer_sock;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *tx_cq, *rx_cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t peer;
	uint8_t *tx_buf, *rx_buf;
	struct fi_context contexts[2][2 * WINDOW]; /* sends, receives */
	uint64_t sent, received;                   /* completions */
};

static uint64_t cq_drain(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entries[16];
	struct fi_cq_err_entry err = {0};
	ssize_t n = fi_cq_read(cq, entries, 16);
	if (n == -FI_EAGAIN)
		return 0;
	if (n == -FI_EAVAIL && fi_cq_readerr(cq, &err, 0) == 1)
		fail("completion", -err.err);
	check("fi_cq_read", n);
	return (uint64_t)n;
}

static void progress(struct bench *b)
{
	b->received += cq_drain(b->rx_cq);
	b->sent += cq_drain(b->tx_cq);
}

/* Polls until a count is reached. */
static void wait_for(struct bench *b, const uint64_t *count, uint64_t target)
{
	double limit = 0;
	for (uint64_t polls = 1; *count < target; polls++) {
		uint64_t before = b->sent + b->received;
		progress(b);
		if (b->sent + b->received != before)
			limit = 0;
		if (polls % POLLS_PER_LOOK)
			continue;
		if (limit == 0)
			limit = now_s() + STALL_S;
		else if (now_s() > limit)
			fail("no completion", -FI_ETIMEDOUT);
	}
}

/* Both sides are here. The queues are served meanwhile: a peer may still wait for an acknowledgement. */
static void meet(struct bench *b)
{
	char c = 'x';
	ssize_t n;
	if (write(b->peer_sock, &c, 1) != 1)
		fail("peer", -errno);
	while ((n = recv(b->peer_sock, &c, 1, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
		progress(b);
	if (n != 1)
		fail("the peer is gone", 0);
}

static void post_recv(struct bench *b, size_t bytes, uint64_t slot)
{
	ssize_t ret;
	while ((ret = fi_trecv(b->ep, b->rx_buf, bytes, NULL, FI_ADDR_UNSPEC, TAG, 0,
			       &b->contexts[1][slot % (2 * WINDOW)])) == -FI_EAGAIN)
		progress(b);
	check("fi_trecv", ret);
}

/* True when the send counts as a completion later. */
static bool post_send(struct bench *b, size_t bytes, uint64_t slot)
{
	bool inject = bytes <= b->info->tx_attr->inject_size;
	ssize_t ret;
	do {
		ret = inject ? fi_tinject(b->ep, b->tx_buf, bytes, b->peer, TAG)
			     : fi_tsend(b->ep, b->tx_buf, bytes, NULL, b->peer, TAG, &b->contexts[0][slot % WINDOW]);
		if (ret == -FI_EAGAIN)
			progress(b);
	} while (ret == -FI_EAGAIN);
	check("fi_tsend", ret);
	return !inject;
}

/* Ping-pong; the result is half a round trip. */
static double latency_us(struct bench *b, size_t bytes, uint64_t rounds)
{
	uint64_t got = b->received, done = b->sent;
	meet(b);
	post_recv(b, bytes, 0);
	meet(b);
	double start = now_s();
	for (uint64_t i = 0; i < rounds; i++) {
		if (b->me == 0)
			done += post_send(b, bytes, i);
		wait_for(b, &b->received, ++got);
		if (i + 1 < rounds)
			post_recv(b, bytes, i + 1);
		if (b->me == 1)
			done += post_send(b, bytes, i);
		wait_for(b, &b->sent, done);
	}
	double us = (now_s() - start) * 1e6 / (double)rounds / 2;
	meet(b);
	return us;
}

static void stream_send(struct bench *b, size_t bytes, uint64_t count)
{
	uint64_t before = b->sent, got = b->received;
	post_recv(b, 0, 0);
	meet(b);
	for (uint64_t i = 0; i < count; i++) {
		if (i >= WINDOW)
			wait_for(b, &b->sent, before + i - WINDOW + 1);
		ssize_t ret;
		while ((ret = fi_tsend(b->ep, b->tx_buf, bytes, NULL, b->peer, TAG, &b->contexts[0][i % WINDOW])) ==
		       -FI_EAGAIN)
			progress(b);
		check("fi_tsend", ret);
	}
	wait_for(b, &b->sent, before + count);
	wait_for(b, &b->received, got + 1);
}

static void stream_receive(struct bench *b, size_t bytes, uint64_t count)
{
	uint64_t before = b->received, posted = 0;
	for (; posted < count && posted < 2 * WINDOW; posted++)
		post_recv(b, bytes, posted);
	meet(b);
	for (uint64_t got = 0; got < count;) {
		wait_for(b, &b->received, before + got + 1);
		got = b->received - before;
		for (; posted < count && posted < got + 2 * WINDOW; posted++)
			post_recv(b, bytes, posted);
	}
	if (post_send(b, 0, 0))
		wait_for(b, &b->sent, b->sent + 1);
}

/* Seconds for `count` messages from side 0 to side 1, up to the latter's word that all are there. */
static double stream_s(struct bench *b, size_t bytes, uint64_t count)
{
	meet(b);
	double start = now_s();
	if (b->me == 0)
		stream_send(b, bytes, count);
	else
		stream_receive(b, bytes, count);
	double seconds = now_s() - start;
	meet(b);
	return seconds;
}

/* As many rounds as fill a batch's time, by a first estimate; both sides learn side 0's number. */
static uint64_t agree(struct bench *b, double seconds_each)
{
	double rounds = b->seconds / BATCHES / (seconds_each > 1e-9 ? seconds_each : 1e-9);
	uint64_t n = rounds < 4 ? 4 : (uint64_t)rounds;
	if (b->me == 0 && write(b->peer_sock, &n, sizeof n) != sizeof n)
		fail("peer", -errno);
	if (b->me == 1 && recv(b->peer_sock, &n, sizeof n, MSG_WAITALL) != sizeof n)
		fail("peer", -errno);
	return n;
}

static void measure_latency(struct bench *b, size_t bytes)
{
	uint64_t rounds = agree(b, 2e-6 * latency_us(b, bytes, 50));
	double best = 0;
	for (int i = 0; i < BATCHES; i++) {
		double us = latency_us(b, bytes, rounds);
		best = i == 0 || us < best ? us : best;
	}
	if (b->me == 0)
		printf("%s latency_us %zu %.3f\n", b->prov, bytes, best);
}

static void measure_stream(struct bench *b, size_t bytes)
{
	uint64_t count = agree(b, stream_s(b, bytes, 2 * WINDOW) / (2 * WINDOW));
	double best = 0;
	for (int i = 0; i < BATCHES; i++) {
		double seconds = stream_s(b, bytes, count);
		best = i == 0 || seconds < best ? seconds : best;
	}
	double per_s = (double)count / best;
	if (b->me == 0 && bytes < 1024)
		printf("%s rate_mps %zu %.4f\n", b->prov, bytes, per_s * 1e-6);
	else if (b->me == 0)
		printf("%s bandwidth_mbs %zu %.1f\n", b->prov, bytes, per_s * (double)bytes * 1e-6);
}

/* What arrives is what was sent: looked at once, before anything is timed. */
static void verify(struct bench *b, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		b->tx_buf[i] = (uint8_t)(i * 131 >> 3);
	memset(b->rx_buf, 0, bytes);
	latency_us(b, bytes, 1);
	for (size_t i = 0; i < bytes; i++)
		if (b->rx_buf[i] != b->tx_buf[i])
			fail("a byte is wrong", 0);
}

static void measure(struct bench *b)
{
	static const size_t pings[] = {8, 64, 512, 1024, 4096, 16384, 65536};
	static const size_t streams[] = {8, 64, 4096, 16384, 65536, 262144, 1048576, 4194304};
	verify(b, 300000);
	for (size_t i = 0; i < sizeof pings / sizeof *pings; i++)
		if (!b->bytes || b->bytes == pings[i])
			measure_latency(b, pings[i]);
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
		if (!b->bytes || b->bytes == streams[i])
			measure_stream(b, streams[i]);
}

static void info_get(struct bench *b, const char *node)
{
	struct fi_info *hints = fi_allocinfo();
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->fabric_attr->prov_name = strdup(b->prov);
	int ret = fi_getinfo(FI_VERSION(1, 17), node, NULL, node ? FI_SOURCE : 0, hints, &b->info);
	if (ret && node) /* some resolve only addresses of the kernel's */
		ret = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &b->info);
	check("fi_getinfo", ret);
	fi_freeinfo(hints);
}

static void endpoint_open(struct bench *b)
{
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED, .size = 4 * WINDOW};
	struct fi_av_attr av_attr = {.type = b->info->domain_attr->av_type, .count = SIDES};
	check("fi_fabric", fi_fabric(b->info->fabric_attr, &b->fabric, NULL));
	check("fi_domain", fi_domain(b->fabric, b->info, &b->domain, NULL));
	check("fi_cq_open", fi_cq_open(b->domain, &cq_attr, &b->tx_cq, NULL));
	check("fi_cq_open", fi_cq_open(b->domain, &cq_attr, &b->rx_cq, NULL));
	check("fi_av_open", fi_av_open(b->domain, &av_attr, &b->av, NULL));
	check("fi_endpoint", fi_endpoint(b->domain, b->info, &b->ep, NULL));
	check("fi_ep_bind", fi_ep_bind(b->ep, &b->tx_cq->fid, FI_TRANSMIT));
	check("fi_ep_bind", fi_ep_bind(b->ep, &b->rx_cq->fid, FI_RECV));
	check("fi_ep_bind", fi_ep_bind(b->ep, &b->av->fid, 0));
	check("fi_enable", fi_enable(b->ep));
}

static void peer_find(struct bench *b)
{
	char mine[NAME_MAX_BYTES] = {0}, theirs[NAME_MAX_BYTES];
	size_t len = sizeof mine;
	check("fi_getname", fi_getname(&b->ep->fid, mine, &len));
	if (write(b->peer_sock, mine, sizeof mine) != sizeof mine ||
	    recv(b->peer_sock, theirs, sizeof theirs, MSG_WAITALL) != sizeof theirs)
		fail("address exchange", -errno);
	if (fi_av_insert(b->av, theirs, 1, &b->peer, 0, NULL) != 1)
		fail("fi_av_insert", 0);
}

static void all_close(struct bench *b)
{
	struct fid *const fids[] = {&b->ep->fid, &b->rx_cq->fid,  &b->tx_cq->fid,
				    &b->av->fid, &b->domain->fid, &b->fabric->fid};
	for (size_t i = 0; i < sizeof fids / sizeof *fids; i++)
		check("fi_close", fi_close(fids[i]));
	fi_freeinfo(b->info);
}

static void side_enter(const struct side *side, unsigned me)
{
	cpu_set_t cpus;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(TIME_MAX_S);
	CPU_ZERO(&cpus);
	CPU_SET(me % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus); /* a preference */
	for (unsigned i = 0; i < side->envs; i++)
		putenv(side->env[i]);
	if (!side->netns)
		return;
	int fd = open(side->netns, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail(side->netns, -errno);
	close(fd);
}

static int side_run(struct bench *b)
{
	side_enter(&b->sides[b->me], b->me);
	b->tx_buf = aligned_alloc(4096, BYTES_MAX);
	b->rx_buf = aligned_alloc(4096, BYTES_MAX);
	if (b->tx_buf == NULL || b->rx_buf == NULL)
		fail("memory", -FI_ENOMEM);
	memset(b->tx_buf, 1, BYTES_MAX);
	memset(b->rx_buf, 1, BYTES_MAX);
	info_get(b, b->sides[b->me].node);
	endpoint_open(b);
	peer_find(b);
	measure(b);
	all_close(b);
	free(b->tx_buf);
	free(b->rx_buf);
	return 0;
}

static int options_parse(int argc, char **argv, struct bench *b)
{
	static const struct option options[] = {
		{"env", required_argument, NULL, 'e'},   {"netns", required_argument, NULL, 'n'},
		{"node", required_argument, NULL, 'a'},  {"prov", required_argument, NULL, 'p'},
		{"second", no_argument, NULL, '2'},      {"seconds", required_argument, NULL, 's'},
		{"bytes", required_argument, NULL, 'b'}, {NULL, 0, NULL, 0},
	};
	struct side *side = &b->sides[0];
	int c;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '2')
			side = &b->sides[1];
		else if (c == 'p')
			b->prov = optarg;
		else if (c == 's')
			b->seconds = strtod(optarg, NULL);
		else if (c == 'b')
			b->bytes = strtoul(optarg, NULL, 0);
		else if (c == 'n')
			side->netns = optarg;
		else if (c == 'a')
			side->node = optarg;
		else if (c == 'e' && side->envs < ENV_MAX)
			side->env[side->envs++] = optarg;
		else
			return -1;
	}
	return b->prov && optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct bench b = {.seconds = 0.3};
	int socks[2], status, bad = 0;
	if (options_parse(argc, argv, &b) || !b.prov) {
		fprintf(stderr, "usage: perf_provider --prov NAME [--seconds S] [--bytes N] [SIDE OPTION]... --second "
				"[SIDE OPTION]...\n"
				"side options: --env NAME=VALUE, --netns PATH, --node ADDRESS\n");
		return 2;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, socks))
		fail("socketpair", -errno);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (b.me = 0; b.me < SIDES; b.me++) {
		pid_t pid = fork();
		if (pid < 0)
			fail("fork", -errno);
		if (pid)
			continue;
		b.peer_sock = socks[b.me];
		close(socks[1 - b.me]);
		exit(side_run(&b));
	}
	close(socks[0]);
	close(socks[1]);
	while (wait(&status) > 0) {
		if (WIFSIGNALED(status))
			fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
		bad |= status;
	}
	return bad != 0;
}
