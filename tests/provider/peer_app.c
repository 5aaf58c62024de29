/* SPDX-License-Identifier: BSD-3-Clause */
/* One process of a test in Python: does what its standard input says, a command per line, and answers each with a line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 20, SLOTS = 64 };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep;
static struct fid_eq *eq;      /* of the domain */
static struct fid_pep *pep;    /* after "listen" */
static struct fid_ep *eps[16]; /* connected ones, `ep` among them */
static int ep_count;
static bool has_fd;
static char **arguments;

/* A buffer and the operation that uses it; its address is the operation's context. */
static struct slot {
	bool busy;
	uint64_t tag;
	size_t len;
	uint8_t *buf;
} slots[SLOTS];

static void answer(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static void must(int ret, const char *what)
{
	if (ret) {
		answer("failed %s: %s", what, fi_strerror(-ret));
		_exit(3);
	}
}

static struct slot *slot_get(uint64_t tag, size_t len)
{
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &slots[i];
		if (s->busy)
			continue;
		if (!s->buf)
			s->buf = malloc(BYTES_MAX);
		*s = (struct slot){.busy = true, .tag = tag, .len = len, .buf = s->buf};
		return s;
	}
	must(-FI_ENOMEM, "slot");
	return NULL;
}

static uint8_t byte_of(uint64_t tag, size_t i)
{
	return (uint8_t)(tag * 131 + i * 7 + (i >> 8));
}

static bool options_have(const char *options, const char *word)
{
	return options && strstr(options, word);
}

static struct fi_info *hints_of(const char *options)
{
	struct fi_info *hints = fi_allocinfo();
	hints->caps = FI_MSG | FI_TAGGED;
	hints->ep_attr->type = options_have(options, "msg") ? FI_EP_MSG : FI_EP_RDM;
	hints->domain_attr->data_progress = options_have(options, "auto") ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
	return hints;
}

static void name_tell(struct fid *fid)
{
	uint8_t name[FI_NAME_MAX];
	char text[2 * FI_NAME_MAX + 1] = "";
	size_t len = sizeof name;
	must(fi_getname(fid, name, &len), "fi_getname");
	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", name[i]);
	answer("name %s", text);
}

/* open [auto] [fd] [msg]: with "msg" there is no endpoint yet */
static void open_all(char *options)
{
	struct fi_info *hints = hints_of(options);
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_av_attr av_attr = {.type = FI_AV_MAP};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_UNSPEC};
	has_fd = options_have(options, "fd");
	cq_attr.wait_obj = has_fd ? FI_WAIT_FD : FI_WAIT_UNSPEC;
	must(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), "fi_getinfo");
	fi_freeinfo(hints);
	must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	must(fi_eq_open(fabric, &eq_attr, &eq, NULL), "fi_eq_open");
	must(fi_domain_bind(domain, &eq->fid, 0), "fi_domain_bind");
	must(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	must(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	if (info->ep_attr->type == FI_EP_MSG) {
		answer("open");
		return;
	}
	must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_enable(ep), "fi_enable");
	name_tell(&ep->fid);
}

static int close_connections(void)
{
	int ret = pep ? fi_close(&pep->fid) : 0;
	pep = NULL;
	while (ep_count && !ret)
		ret = fi_close(&eps[--ep_count]->fid);
	return ret;
}

static int close_all(void)
{
	struct fid *fids[] = {&cq->fid, &av->fid, &domain->fid, &eq->fid, &fabric->fid};
	int ret = info->ep_attr->type == FI_EP_MSG ? close_connections() : fi_close(&ep->fid);
	for (size_t i = 0; i < sizeof fids / sizeof *fids && !ret; i++)
		ret = fi_close(fids[i]);
	return ret;
}

static void do_close(char *args)
{
	must(close_all(), "fi_close");
	fi_freeinfo(info);
	cq = NULL;
	answer("closed");
}

static void name_read(const char *text, uint8_t name[FI_NAME_MAX])
{
	unsigned byte;
	for (size_t i = 0; sscanf(text + 2 * i, "%2x", &byte) == 1; i++)
		name[i] = (uint8_t)byte;
}

/* add NAME */
static void do_add(char *args)
{
	uint8_t name[FI_NAME_MAX] = {0};
	fi_addr_t addr;
	name_read(args, name);
	must(fi_av_insert(av, name, 1, &addr, 0, NULL) == 1 ? 0 : -FI_EINVAL, "fi_av_insert");
	answer("addr %llu", (unsigned long long)addr);
}

static void posted(struct slot *s, ssize_t ret)
{
	s->busy = !ret;
	if (ret)
		answer("refused %d", (int)-ret);
	else
		answer("posted");
}

/* ADDR TAG LENGTH */
static struct slot *message(const char *args, unsigned long long *addr)
{
	unsigned long long tag, len;
	sscanf(args, "%llu %llu %llu", addr, &tag, &len);
	struct slot *s = slot_get(tag, len);
	for (size_t i = 0; i < len; i++)
		s->buf[i] = byte_of(tag, i);
	return s;
}

/* send ADDR TAG LENGTH: what becomes of it is told by "wait" */
static void do_send(char *args)
{
	unsigned long long addr;
	struct slot *s = message(args, &addr);
	posted(s, fi_tsend(ep, s->buf, s->len, NULL, addr, s->tag, s));
}

static ssize_t cancelled_ret; /* of the send in the thread; -1: it was not finished */

static void *cancelled_run(void *args)
{
	unsigned long long addr;
	struct slot *s = message(args, &addr);
	cancelled_ret = -1;
/* They keep records of each thread's stack, which cancellation unwinds without telling them. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	pthread_cancel(pthread_self());
#endif
	cancelled_ret = fi_tsend(ep, s->buf, s->len, NULL, addr, s->tag, s);
	pthread_testcancel();
	return s;
}

/* cancelled ADDR TAG LENGTH: a send by a thread that is cancelled before and ends at the first chance */
static void do_cancelled(char *args)
{
	pthread_t thread;
	must(-pthread_create(&thread, NULL, cancelled_run, args), "pthread_create");
	pthread_join(thread, NULL);
	answer(cancelled_ret == 0 ? "posted" : "refused %d", (int)-cancelled_ret);
}

/* recv TAG */
static void do_recv(char *args)
{
	struct slot *s = slot_get(strtoull(args, NULL, 10), BYTES_MAX);
	posted(s, fi_trecv(ep, s->buf, BYTES_MAX, NULL, FI_ADDR_UNSPEC, s->tag, 0, s));
}

/* cancel TAG: every operation with it; their completions follow */
static void do_cancel(char *args)
{
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].busy && slots[i].tag == strtoull(args, NULL, 10))
			fi_cancel(&ep->fid, &slots[i]);
	answer("cancelled");
}

static char why[256]; /* the last error, in words */

static void error_tell(void)
{
	struct fi_cq_err_entry err = {0};
	must(fi_cq_readerr(cq, &err, 0) == 1 ? 0 : -FI_EAGAIN, "fi_cq_readerr");
	struct slot *s = err.op_context;
	s->busy = false;
	fi_cq_strerror(cq, err.prov_errno, err.err_data, why, sizeof why);
	answer("error %d tag %llu", err.err, (unsigned long long)s->tag);
}

static void entry_tell(const struct fi_cq_tagged_entry *e)
{
	struct slot *s = e->op_context;
	size_t wrong = 0;
	for (size_t i = 0; e->flags & FI_RECV && i < e->len; i++)
		wrong += s->buf[i] != byte_of(s->tag, i);
	s->busy = false;
	if (e->flags & FI_SEND)
		answer("sent %llu", (unsigned long long)s->tag);
	else
		answer("received %llu length %zu wrong %zu", (unsigned long long)s->tag, e->len, wrong);
}

static ssize_t next_by_fd(struct fi_cq_tagged_entry *e, int timeout_ms)
{
	struct fid *fids[1] = {&cq->fid};
	struct pollfd pfd = {.events = POLLIN};
	must(fi_control(&cq->fid, FI_GETWAIT, &pfd.fd), "FI_GETWAIT");
	if (fi_trywait(fabric, fids, 1) == 0 && poll(&pfd, 1, timeout_ms) == 0)
		return -FI_EAGAIN;
	return fi_cq_read(cq, e, 1);
}

/* wait MILLISECONDS */
static void do_wait(char *args)
{
	struct fi_cq_tagged_entry e;
	int timeout_ms = atoi(args);
	ssize_t n = has_fd ? next_by_fd(&e, timeout_ms) : fi_cq_sread(cq, &e, 1, NULL, timeout_ms);
	if (n == 1)
		entry_tell(&e);
	else if (n == -FI_EAVAIL)
		error_tell();
	else
		answer("nothing");
}

/* Of a connection: the number of its endpoint, as for "use". */
static void connection_tell(uint32_t event, const struct fid *fid)
{
	int i = 0;
	while (i < ep_count && &eps[i]->fid != fid)
		i++;
	answer("event %s %d", event == FI_CONNECTED ? "connected" : event == FI_SHUTDOWN ? "shutdown" : "strange", i);
}

/* event MILLISECONDS: what the event queue tells; nothing but that call makes progress */
static void do_event(char *args)
{
	struct fi_eq_err_entry err = {0};
	union {
		struct fi_eq_entry any;
		struct fi_eq_cm_entry cm;
	} entry;
	uint32_t event;
	ssize_t n = fi_eq_sread(eq, &event, &entry, sizeof entry, atoi(args), 0);
	if (n == -FI_EAVAIL && fi_eq_readerr(eq, &err, 0) > 0)
		answer("event error %d", err.err);
	else if (n == sizeof entry.cm)
		connection_tell(event, entry.cm.fid);
	else if (n == sizeof entry.any && event == FI_NOTIFY && entry.any.fid == &domain->fid)
		answer("event notify");
	else
		answer(n == -FI_EAGAIN ? "event none" : "event strange");
}

/* ---- connections ---- */

/* The new endpoint becomes the one that commands are about. */
static void connected_new(struct fi_info *of)
{
	must(ep_count < 16 ? 0 : -FI_ENOMEM, "endpoints");
	must(fi_endpoint(domain, of, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &eq->fid, 0), "fi_ep_bind");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	eps[ep_count++] = ep;
}

/* listen PORT */
static void do_listen(char *args)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(args))};
	must(fi_passive_ep(fabric, info, &pep, NULL), "fi_passive_ep");
	must(fi_setname(&pep->fid, &name, sizeof name), "fi_setname");
	must(fi_pep_bind(pep, &eq->fid, 0), "fi_pep_bind");
	must(fi_listen(pep), "fi_listen");
	name_tell(&pep->fid);
}

/* connect NAME: what becomes of it is told by "event" */
static void do_connect(char *args)
{
	uint8_t name[FI_NAME_MAX] = {0};
	name_read(args, name);
	connected_new(info);
	must(fi_connect(ep, name, NULL, 0), "fi_connect");
	answer("connecting");
}

/* accept MILLISECONDS */
static void do_accept(char *args)
{
	struct fi_eq_cm_entry entry;
	uint32_t event = 0;
	ssize_t n = fi_eq_sread(eq, &event, &entry, sizeof entry, atoi(args), 0);
	must(n == sizeof entry && event == FI_CONNREQ ? 0 : -FI_EAGAIN, "fi_eq_sread");
	connected_new(entry.info);
	fi_freeinfo(entry.info);
	must(fi_accept(ep, NULL, 0), "fi_accept");
	answer("accepted");
}

/* use NUMBER: of an endpoint, in the order of "connect" and "accept" */
static void do_use(char *args)
{
	ep = eps[atoi(args)];
	answer("used");
}

static void do_shutdown(char *args)
{
	must(fi_shutdown(ep, 0), "fi_shutdown");
	answer("shut");
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* cpu: processor time per wall-clock time since the last such command, in percent, and how many threads there are */
static void do_cpu(char *args)
{
	static double cpu_before, wall_before;
	struct rusage usage;
	struct timespec now;
	char line[128];
	int threads = 0;
	getrusage(RUSAGE_SELF, &usage);
	clock_gettime(CLOCK_MONOTONIC, &now);
	double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
	double wall = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
	FILE *status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof line, status))
		sscanf(line, "Threads: %d", &threads);
	fclose(status);
	answer("cpu %.2f threads %d", 100 * (cpu - cpu_before) / (wall - wall_before), threads);
	cpu_before = cpu;
	wall_before = wall;
}

/* why: the last error in the provider's words */
static void do_why(char *args)
{
	answer("why %s", why);
}

/* sleep MILLISECONDS: without progress of our own */
static void do_sleep(char *args)
{
	usleep((useconds_t)atoi(args) * 1000);
	answer("slept");
}

/* What a child tries with what it inherited. Returns a number for each thing that went wrong. */
static int child_tries(void)
{
	struct fi_cq_tagged_entry e;
	struct fid_domain *other;
	char buf[8] = "child";
	if (fi_tsend(ep, buf, sizeof buf, NULL, 0, 1, NULL) >= 0 || fi_trecv(ep, buf, 8, NULL, 0, 1, 0, NULL) >= 0)
		return 10;
	if (fi_cq_read(cq, &e, 1) != -FI_EAGAIN || fi_cq_sread(cq, &e, 1, NULL, 20) != -FI_EAGAIN)
		return 11;
	if (fi_domain(fabric, info, &other, NULL) != -FI_ENOSYS)
		return 12;
	return close_all() ? 13 : 0;
}

/* LeakSanitizer asks whether to look for leaks at the end. In the child of a process with threads it would wait for a
 * lock that one of them held at the fork, for ever; the parent looks. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
static bool is_child;
int __lsan_is_turned_off(void)
{
	return is_child;
}

/* fork: the child uses, then closes, everything, and exits as programs do */
static void do_fork(char *args)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		is_child = true;
		exit(child_tries());
	}
	waitpid(pid, &status, 0);
	answer("child %d", status);
}

/* exec: another program takes this process over without closing anything */
static void do_exec(char *args)
{
	execv("/proc/self/exe", arguments);
	answer("failed exec: %s", strerror(errno));
}

/* exit: without closing anything */
static void do_exit(char *args)
{
	exit(0);
}

static const struct {
	const char *name;
	void (*run)(char *args);
} commands[] = {
	{"open", open_all},      {"close", do_close},         {"add", do_add},       {"send", do_send},
	{"recv", do_recv},       {"wait", do_wait},           {"cpu", do_cpu},       {"sleep", do_sleep},
	{"fork", do_fork},       {"exec", do_exec},           {"exit", do_exit},     {"why", do_why},
	{"event", do_event},     {"cancelled", do_cancelled}, {"cancel", do_cancel}, {"listen", do_listen},
	{"connect", do_connect}, {"accept", do_accept},       {"use", do_use},       {"shutdown", do_shutdown},
};

/* Next command; the transport works while we wait for it. */
static bool line_read(char *line, int size)
{
	struct pollfd pfd = {.events = POLLIN};
	while (poll(&pfd, 1, 2) == 0)
		if (cq)
			fi_cq_read(cq, NULL, 0);
	return fgets(line, size, stdin);
}

int main(int argc, char **argv)
{
	char line[512];
	arguments = argv;
	setenv("FI_WEFT_COPY_BYTES", "0", 0); /* a completed send has arrived */
	setvbuf(stdin, NULL, _IONBF, 0);      /* a program that takes over must find the next line */
	while (line_read(line, sizeof line)) {
		line[strcspn(line, "\n")] = 0;
		char *args = strchr(line, ' ');
		if (args)
			*args++ = 0;
		for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
			if (strcmp(line, commands[i].name) == 0)
				commands[i].run(args ? args : "");
	}
	return 0;
}
