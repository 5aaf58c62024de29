/* SPDX-License-Identifier: BSD-3-Clause */
/* flows weft|tcp:ALGORITHM [-n ROUNDS] [-t SECONDS] [-x COMMAND -X MS] HOST... -- FLOW...
 * HOST: NETNS,DEVICE,IP; FLOW: SRC,DST,BYTES, all begin together. One line of JSON per round, one with
 * counters. Exit status 1: a flow was not delivered as it was sent; 2: something else failed. */
#include "flows.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

double flows_now_s(const struct flows *f)
{
	return now_s() - f->start_s;
}

void flows_enter(const struct host *host)
{
	int fd = open(host->netns, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail(host->netns, -errno);
	close(fd);
}

static void host_add(struct flows *f, char *text)
{
	struct host *h = &f->hosts[f->host_count];
	char *netns = strsep(&text, ","), *device = strsep(&text, ",");
	if (f->host_count++ == HOSTS_MAX || !device || !text)
		fail("HOST is NETNS,DEVICE,IP", 0);
	snprintf(h->netns, sizeof h->netns, "%s", netns);
	snprintf(h->device, sizeof h->device, "%s", device);
	snprintf(h->ip, sizeof h->ip, "%s", text);
}

static void flow_add(struct flows *f, const char *text)
{
	struct flow *w = &f->flows[f->flow_count];
	if (f->flow_count++ == FLOWS_MAX || sscanf(text, "%d,%d,%zu", &w->src, &w->dst, &w->bytes) != 3 || w->src < 0 ||
	    w->src >= f->host_count || w->dst < 0 || w->dst >= f->host_count || !w->bytes)
		fail("FLOW is SRC,DST,BYTES", 0);
	w->sent = malloc(w->bytes);
	w->received = malloc(w->bytes);
	if (!w->sent || !w->received)
		fail("memory", -FI_ENOMEM);
	for (size_t i = 0; i < w->bytes; i++)
		w->sent[i] = (uint8_t)((i * UINT32_C(2654435761) >> 13) + (i >> 8) + (size_t)f->flow_count);
}

/* The command runs beside the flows; whoever wrote it looks at its result. */
static void run_event(struct flows *f)
{
	char *args[] = {"sh", "-c", (char *)(uintptr_t)f->event, NULL};
	pid_t pid;
	if (!f->event || flows_now_s(f) < f->event_s)
		return;
	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, args, environ))
		fail("sh", 0);
	f->event = NULL;
}

static int count_left(const struct flows *f)
{
	int left = 0;
	for (int k = 0; k < f->flow_count; k++)
		left += !f->flows[k].send_done || !f->flows[k].receive_done;
	return left;
}

static void round_reset(struct flows *f)
{
	for (int k = 0; k < f->flow_count; k++) {
		struct flow *w = &f->flows[k];
		w->send_done = w->receive_done = false;
		w->error = 0;
		w->fct_s = 0;
		w->send_bytes = w->receive_bytes = 0;
		memset(w->received, 0, w->bytes);
	}
}

/* How many flows failed. */
static int round_report(const struct flows *f)
{
	int failed = 0;
	double last_s = 0;
	printf("{\"fct_ms\": [");
	for (int k = 0; k < f->flow_count; k++) {
		const struct flow *w = &f->flows[k];
		bool good = w->send_done && w->receive_done && !w->error && !memcmp(w->sent, w->received, w->bytes);
		failed += !good;
		last_s = good && w->fct_s > last_s ? w->fct_s : last_s;
		printf("%s%.3f", k ? ", " : "", good ? w->fct_s * 1e3 : -1);
		if (!good)
			fprintf(stderr, "flows: %d -> %d: %s\n", w->src, w->dst,
				w->error           ? fi_strerror(w->error)
				: !w->receive_done ? "not delivered"
						   : "wrong bytes");
	}
	printf("], \"makespan_ms\": %.3f, \"failed\": %d}\n", last_s * 1e3, failed);
	fflush(stdout);
	return failed;
}

static int round_run(struct flows *f)
{
	round_reset(f);
	if (f->tcp_algorithm)
		tcp_open(f);
	f->start_s = now_s();
	if (!f->tcp_algorithm)
		weft_begin(f);
	do {
		run_event(f);
		if (f->tcp_algorithm)
			tcp_poll(f);
		else
			weft_poll(f);
	} while (count_left(f) && flows_now_s(f) < f->limit_s);
	int failed = round_report(f);
	if (f->tcp_algorithm)
		tcp_close(f);
	return failed;
}

static void counters_report(struct flows *f)
{
	struct weft_stats sum = {0};
	weft_count(f, &sum);
	printf("{\"counters\": {");
#define PRINT(name, help) printf("\"" #name "\": %llu, ", (unsigned long long)sum.name);
	WEFT_COUNTERS(PRINT)
#undef PRINT
	printf("\"hosts\": %d}}\n", f->host_count);
}

static int parse(struct flows *f, int argc, char **argv)
{
	int option, rounds = 1;
	optind = 2;
	while ((option = getopt(argc, argv, "+n:t:x:X:")) >= 0) {
		if (option == 'n')
			rounds = atoi(optarg);
		else if (option == 't')
			f->limit_s = atof(optarg);
		else if (option == 'x')
			f->event = optarg;
		else if (option == 'X')
			f->event_s = atof(optarg) * 1e-3;
		else
			exit(2);
	}
	for (; optind < argc && strcmp(argv[optind], "--") != 0; optind++)
		host_add(f, argv[optind]);
	for (optind++; optind < argc; optind++)
		flow_add(f, argv[optind]);
	return rounds;
}

int main(int argc, char **argv)
{
	static struct flows f = {.limit_s = 60};
	int failed = 0;
	if (argc < 2)
		fail("usage: flows weft|tcp:ALGORITHM ...", 0);
	if (strncmp(argv[1], "tcp:", 4) == 0)
		f.tcp_algorithm = argv[1] + 4;
	int rounds = parse(&f, argc, argv);
	if (!f.tcp_algorithm)
		weft_open(&f);
	for (int i = 0; i < rounds && !failed; i++)
		failed = round_run(&f);
	if (!f.tcp_algorithm) {
		counters_report(&f);
		weft_close(&f);
	}
	return failed != 0;
}
