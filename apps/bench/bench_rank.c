/* SPDX-License-Identifier: BSD-3-Clause */
/* One node per process. The ranks meet, start together and hand their results to rank 0 through the fabric itself, so a
 * launcher is needed for nothing but ranks and names. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "rng.h"

#define GRACE_NS  WEFT_S(5)   /* for handing results over, after the run's time is up */
#define LINGER_NS WEFT_MS(50) /* for the acknowledgement of the last message to get away */
#define REPORT_NS WEFT_MS(10) /* at least, between two reports of a rank to rank 0 */

/* A rank's results as they travel, in the machine's byte order; followed by one rank_flow for each flow that starts or
 * ends at the rank, in the matrix's order. */
struct rank_head {
	uint64_t clock; /* equal: the ranks share one */
	weft_ns t0;     /* on it: when the rank saw the start */
	struct weft_stats stats;
};

struct rank_flow {
	uint64_t start_ns, sent_ns, delivered_ns;
	int32_t send_err, recv_err;
	uint64_t verified;
};

struct rank_state {
	const struct bench_job *job;
	struct bench_node node;
	struct bench_driver driver;
	struct bench_op *results; /* rank 0: one receive per rank; others: one send */
	uint8_t *result_mem;
	weft_ns deadline;
};

/* ---- names ---- */

static void expand_rank(const char *device, uint32_t rank, char *out, size_t size)
{
	size_t len = 0;
	while (*device && len + 1 < size) {
		if (device[0] == '%' && device[1] == 'r') {
			len += (size_t)snprintf(out + len, size - len, "%u", rank);
			device += 2;
		} else {
			out[len++] = *device++;
		}
	}
	out[len < size ? len : size - 1] = 0;
}

/* Without a launcher names are known by construction. */
static void names_construct(uint32_t size, uint8_t *names)
{
	for (uint32_t r = 0; r < size; r++) {
		struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(BENCH_SERVICE)};
		sa.sin_addr.s_addr = htonl(weft_net_host_ip(r));
		memset(names + (size_t)r * BENCH_NAME_MAX, 0, BENCH_NAME_MAX);
		memcpy(names + (size_t)r * BENCH_NAME_MAX, &sa, sizeof sa);
	}
}

static int learn_names(struct rank_state *s, struct weft_err *err)
{
	uint8_t *names = calloc(s->job->size, BENCH_NAME_MAX);
	if (!names)
		return weft_err_set(err, -ENOMEM, "no memory for %u names", s->job->size);
	int rc = 0;
	if (s->job->pmix) {
		rc = bench_node_name(&s->node, names + (size_t)s->job->rank * BENCH_NAME_MAX, err);
		if (!rc)
			rc = bench_job_exchange(s->job, names, err);
	} else {
		names_construct(s->job->size, names);
	}
	if (!rc)
		rc = bench_node_connect(&s->node, names, err);
	free(names);
	return rc;
}

static int open_node(struct rank_state *s, struct options *o, const struct bench_opts *b, struct weft_err *err)
{
	char device[256], host[BENCH_NAME_MAX];
	expand_rank(b->device, s->job->rank, device, sizeof device);
	bench_rank_host(s->job->rank, host);
	int rc = bench_env_set(o, device, host, err);
	if (rc)
		return rc;
	struct bench_node_conf conf = {.provider = "weft", .host = host, .rank = s->job->rank, .ranks = s->job->size};
	rc = bench_node_open(&s->node, &conf, err);
	return rc ? rc : learn_names(s, err);
}

/* ---- results ---- */

static bool flow_of_rank(const struct weft_flow *flow, uint32_t rank)
{
	return flow->src == rank || flow->dst == rank;
}

static size_t result_bytes(const struct weft_workload *w, uint32_t rank)
{
	size_t flows = 0;
	for (uint32_t i = 0; i < w->flow_count; i++)
		flows += flow_of_rank(&w->flows[i], rank);
	return sizeof(struct rank_head) + flows * sizeof(struct rank_flow);
}

static uint64_t text_mix(uint64_t id, const char *text)
{
	for (const char *p = text; *p; p++)
		id = rng_mix(id ^ (uint8_t)*p);
	return id;
}

/* A hash of the kernel's boot id, as CLOCK_MONOTONIC counts from there, and of the time namespace, which may move it.
 */
static uint64_t clock_id(void)
{
	char boot[64] = "", space[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
	if (f && !fgets(boot, sizeof boot, f))
		boot[0] = '\0';
	if (f)
		fclose(f);
	ssize_t len = readlink("/proc/self/ns/time", space, sizeof space - 1);
	space[len > 0 ? len : 0] = '\0';
	return text_mix(text_mix(0, boot), space);
}

static void result_pack(struct rank_state *s, const struct bench_run *run, weft_ns t0, uint8_t *to)
{
	struct rank_head *head = (struct rank_head *)to;
	struct rank_flow *out = (struct rank_flow *)(head + 1);
	head->clock = clock_id();
	head->t0 = t0;
	bench_node_stats(&s->node, &head->stats);
	for (uint32_t i = 0; i < run->work->flow_count; i++) {
		const struct bench_flow *f = &run->flows[i];
		if (flow_of_rank(&run->work->flows[i], s->job->rank))
			*out++ = (struct rank_flow){.start_ns = f->start_ns,
						    .sent_ns = f->sent_ns,
						    .delivered_ns = f->delivered_ns,
						    .send_err = f->send_err,
						    .recv_err = f->recv_err,
						    .verified = f->verified};
	}
}

/* A time of a rank on the clock of rank 0. Of another clock nothing is known but that both saw the start, which took
 * the message about it to get there: that moment is the same on both. */
static weft_ns on_our_clock(const struct bench_outcome *out, const struct rank_head *head, weft_ns at)
{
	return at == 0 || head->clock == clock_id() ? at : at - head->t0 + out->t0;
}

static void result_unpack(struct bench_outcome *out, uint32_t rank, const uint8_t *from)
{
	const struct rank_head *head = (const struct rank_head *)from;
	const struct rank_flow *in = (const struct rank_flow *)(head + 1);
	const struct weft_workload *w = out->run.work;
	weft_stats_add(&out->stats, &head->stats);
	out->one_clock &= head->clock == clock_id();
	for (uint32_t i = 0; i < w->flow_count; i++) {
		struct bench_flow *f = &out->run.flows[i];
		if (!flow_of_rank(&w->flows[i], rank))
			continue;
		if (w->flows[i].src == rank) {
			f->start_ns = on_our_clock(out, head, in->start_ns);
			f->sent_ns = on_our_clock(out, head, in->sent_ns);
			f->send_err = in->send_err;
		}
		if (w->flows[i].dst == rank) {
			f->delivered_ns = on_our_clock(out, head, in->delivered_ns);
			f->recv_err = in->recv_err;
			f->verified = in->verified;
		}
		in++;
	}
}

/* Room for the results of all ranks (rank 0) or ours; rank 0 waits for the others' from now on. */
static int results_prepare(struct rank_state *s, const struct weft_workload *w, struct weft_err *err)
{
	uint32_t first = s->job->rank, last = s->job->rank ? s->job->rank : s->job->size - 1;
	size_t bytes = 0;
	for (uint32_t r = first; r <= last; r++)
		bytes += result_bytes(w, r);
	s->results = calloc(last - first + 1, sizeof *s->results);
	s->result_mem = calloc(1, bytes);
	if (!s->results || !s->result_mem)
		return weft_err_set(err, -ENOMEM, "no memory for the results of %u ranks", s->job->size);
	uint8_t *mem = s->result_mem;
	for (uint32_t r = first; r <= last; r++) {
		struct bench_op *op = &s->results[r - first];
		*op = (struct bench_op){.buf = mem,
					.len = result_bytes(w, r),
					.tag = BENCH_TAG_CALLER | r,
					.kind = s->job->rank ? BENCH_OP_SEND : BENCH_OP_RECV};
		mem += op->len;
		if (first == 0 && r > 0)
			bench_driver_post(&s->driver, 0, op);
	}
	return 0;
}

/* ---- meeting ---- */

static bool wait_flag(struct rank_state *s, const bool *flag)
{
	while (!*flag && !s->driver.queue_err && bench_now() < s->deadline)
		bench_driver_poll(&s->driver);
	return *flag;
}

static bool wait_count(struct rank_state *s, const uint32_t *count, uint32_t want)
{
	while (*count != want && !s->driver.queue_err && bench_now() < s->deadline)
		bench_driver_poll(&s->driver);
	return *count == want;
}

/* Rank 0 may be started later than this one, or have no endpoint yet: what did not get there is reported again. */
static bool wait_go(struct rank_state *s)
{
	struct bench_driver *d = &s->driver;
	weft_ns again_at = 0;
	while (!d->go && !d->queue_err && bench_now() < s->deadline) {
		if (!d->is_reported && !d->ctl_under_way && bench_now() >= again_at) {
			bench_ctl_send(d, s->job->rank, 0, BENCH_CTL_READY, s->job->rank);
			again_at = bench_now() + REPORT_NS;
		}
		bench_driver_poll(d);
	}
	return d->go;
}

/* Sets *t0: no rank begins before that of rank 0. */
static int start_together(struct rank_state *s, weft_ns *t0, struct weft_err *err)
{
	struct bench_driver *d = &s->driver;
	uint32_t others = s->job->size - 1;
	if (s->job->rank) {
		if (!wait_go(s))
			return weft_err_set(err, -ETIMEDOUT, "rank %u: rank 0 did not answer", s->job->rank);
		*t0 = bench_now();
		return 0;
	}
	if (!wait_count(s, &d->ready, others))
		return weft_err_set(err, -ETIMEDOUT, "only %u of %u ranks reported", d->ready + 1, others + 1);
	*t0 = bench_now();
	for (uint32_t r = 1; r <= others; r++)
		bench_ctl_send(d, 0, r, BENCH_CTL_GO, 0);
	return 0;
}

static void linger(struct rank_state *s)
{
	weft_ns until = bench_now() + LINGER_NS;
	while (bench_now() < until)
		bench_driver_poll(&s->driver);
}

/* Rank 0: takes everybody's results and lets everybody go. */
static void gather(struct rank_state *s, struct bench_outcome *out)
{
	struct bench_driver *d = &s->driver;
	uint32_t others = s->job->size - 1;
	out->one_clock = true;
	result_unpack(out, 0, s->result_mem);
	if (!wait_count(s, &d->caller_over, others))
		fprintf(stderr, "weft bench: the results of %u ranks did not arrive\n", others - d->caller_over);
	for (uint32_t r = 1; r <= others; r++) {
		if (s->results[r].result == 1)
			result_unpack(out, r, s->results[r].buf);
		bench_ctl_send(d, 0, r, BENCH_CTL_BYE, 0);
	}
	wait_count(s, &d->ctl_under_way, 0);
}

/* Other ranks: a rank stays until rank 0 has its results, to acknowledge what is sent again. */
static int hand_over(struct rank_state *s, struct weft_err *err)
{
	bench_driver_post(&s->driver, s->job->rank, &s->results[0]);
	if (!wait_flag(s, &s->driver.bye))
		return weft_err_set(err, -ETIMEDOUT, "rank %u: rank 0 did not take the results", s->job->rank);
	linger(s);
	return 0;
}

/* When to stop waiting for the other ranks. Who saw a flow fail gives them the time to see it, too. */
static weft_ns results_deadline(const struct rank_state *s, const struct options *o, const struct bench_outcome *out)
{
	weft_ns end = out->t0 + o->lab.end_ns, soon = bench_now() + 2 * o->lab.engine.peer_timeout_ns;
	bool failed = false;
	for (uint32_t i = 0; i < o->lab.workload.flow_count; i++)
		failed |= out->run.flows[i].send_err || out->run.flows[i].recv_err;
	return (failed && soon < end ? soon : end) + (s->job->rank ? 2 : 1) * GRACE_NS;
}

static int run_matrix(struct rank_state *s, const struct options *o, struct bench_outcome *out, struct weft_err *err)
{
	s->deadline = bench_now() + o->lab.end_ns;
	int rc = start_together(s, &out->t0, err);
	if (rc)
		return rc;
	bench_driver_start(&s->driver, out->t0);
	bench_drive(&s->driver, out->t0 + o->lab.end_ns);
	bench_run_verify(&out->run);
	s->deadline = results_deadline(s, o, out);
	result_pack(s, &out->run, out->t0, s->result_mem);
	out->report = s->job->rank == 0;
	if (!out->report)
		return hand_over(s, err);
	gather(s, out);
	return 0;
}

static int check_size(const struct options *o, const struct bench_job *job, struct weft_err *err)
{
	if (o->lab.workload.nodes <= job->size)
		return 0;
	return weft_err_set(err, -EINVAL, "the matrix has %u nodes, but there %s %u process%s", o->lab.workload.nodes,
			    job->size == 1 ? "is" : "are", job->size, job->size == 1 ? "" : "es");
}

int bench_rank(struct options *o, const struct bench_opts *b, const struct bench_job *job, struct bench_outcome *out,
	       struct weft_err *err)
{
	struct rank_state s = {.job = job};
	int rc = check_size(o, job, err);
	if (!rc)
		rc = open_node(&s, o, b, err);
	if (!rc)
		rc = bench_run_init(&out->run, &o->lab.workload, job->rank, 1, err);
	if (!rc)
		rc = bench_driver_init(&s.driver, &out->run, &s.node, job->rank, 1, err);
	if (!rc)
		rc = results_prepare(&s, &o->lab.workload, err);
	if (!rc)
		rc = run_matrix(&s, o, out, err);
	bench_node_close(&s.node);
	bench_driver_free(&s.driver);
	free(s.results);
	free(s.result_mem);
	return rc;
}
