/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues and counters. */
#include "fixture.h"
#include "member.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static struct host *const a = &hosts[0], *const b = &hosts[1];

static const struct host_opts with_auto = {.progress = FI_PROGRESS_AUTO};

static const struct host_opts with_fd = {.wait_obj = FI_WAIT_FD};

static const struct host_opts with_mutex_cond = {.wait_obj = FI_WAIT_MUTEX_COND};

/* Afterwards the hosts know each other's MAC addresses and a message needs no answer to reach its receiver. */
static void meet(void)
{
	ok(fi_recv(b->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
	ok(fi_send(a->ep, NULL, 0, NULL, a->peer, NULL));
	next_done(a);
	next_done(b);
}

/* A second endpoint of b whose queue has this format; sends one message to it and reads its completion. */
static ssize_t complete_in_format(enum fi_cq_format format, void *entry)
{
	struct fi_cq_attr attr = {.format = format};
	struct fid_cq *cq;
	struct fid_ep *ep;
	char name[FI_NAME_MAX], in[64];
	size_t len = sizeof name;
	fi_addr_t addr;
	ssize_t n;
	ok(fi_cq_open(b->domain, &attr, &cq, NULL));
	ok(fi_endpoint(b->domain, b->info, &ep, NULL));
	ok(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(ep, &b->av->fid, 0));
	ok(fi_enable(ep));
	ok(fi_getname(&ep->fid, name, &len));
	assert_int_equal(fi_av_insert(a->av, name, 1, &addr, 0, NULL), 1);
	ok(fi_trecv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, 5, 0, hosts));
	ok(fi_tsenddata(a->ep, "format", 7, NULL, 66, addr, 5, NULL));
	next_done(a);
	while ((n = fi_cq_read(cq, entry, 1)) == -FI_EAGAIN)
		fi_cq_read(a->cq, NULL, 0);
	assert_string_equal(in, "format");
	assert_int_equal(fi_close(&cq->fid), -FI_EBUSY);
	ok(fi_close(&ep->fid));
	ok(fi_close(&cq->fid));
	return n;
}

static void read__formats(void **state)
{
	struct fi_cq_tagged_entry e[2];
	static const struct {
		enum fi_cq_format format;
		size_t bytes;
	} rows[] = {
		{FI_CQ_FORMAT_UNSPEC, sizeof(struct fi_cq_entry)},
		{FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry)},
		{FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry)},
		{FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry)},
		{FI_CQ_FORMAT_TAGGED, sizeof(struct fi_cq_tagged_entry)},
	};
	for (size_t i = 0; i < count_of(rows); i++) {
		memset(e, 0x5a, sizeof e);
		assert_int_equal(complete_in_format(rows[i].format, e), 1);
		assert_ptr_equal(e[0].op_context, hosts);
		if (rows[i].bytes >= sizeof(struct fi_cq_msg_entry))
			assert_int_equal(e[0].len, 7);
		if (rows[i].bytes >= sizeof(struct fi_cq_data_entry))
			assert_int_equal(e[0].data, 66);
		if (rows[i].bytes >= sizeof(struct fi_cq_tagged_entry))
			assert_int_equal(e[0].tag, 5);
		assert_int_equal(((uint8_t *)e)[rows[i].bytes], 0x5a); /* not a byte more */
	}
}

static void read__several_at_once(void **state)
{
	enum { COUNT = 10 };
	struct fi_cq_tagged_entry e[COUNT];
	int contexts[COUNT], n = 0;
	for (int i = 0; i < COUNT; i++)
		ok(fi_send(a->ep, NULL, 0, NULL, a->peer, &contexts[i]));
	while (n < COUNT) {
		ssize_t got = fi_cq_read(a->cq, e + n, (size_t)(COUNT - n));
		if (got > 0)
			n += (int)got;
		fi_cq_read(b->cq, NULL, 0);
	}
	for (int i = 0; i < COUNT; i++)
		assert_ptr_equal(e[i].op_context, &contexts[i]);
}

static void read__error_comes_in_turn(void **state)
{
	struct fi_cq_err_entry err = {0};
	struct fi_cq_tagged_entry e[2];
	char in[8];
	ok(fi_send(b->ep, NULL, 0, NULL, b->peer, NULL));
	next_done(b);
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_cancel(&b->ep->fid, in));
	assert_int_equal(next_error(b).err, FI_ECANCELED);
	assert_int_equal(fi_cq_readerr(b->cq, &err, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(b->cq, e, 2), -FI_EAGAIN);
}

static void sread__times_out(void **state)
{
	struct fi_cq_tagged_entry e;
	assert_int_equal(fi_cq_sread(a->cq, &e, 1, NULL, 1), -FI_EAGAIN);
}

static void sread__wakes_for_a_message(void **state)
{
	struct fi_cq_tagged_entry e;
	char in[16];
	meet();
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_inject(a->ep, "wake", 5, a->peer));
	assert_int_equal(fi_cq_sread(b->cq, &e, 1, NULL, -1), 1);
	assert_string_equal(in, "wake");
}

static void *signal_later(void *cq)
{
	fi_cq_signal(cq);
	return NULL;
}

static void signal__ends_the_wait(void **state)
{
	struct fi_cq_tagged_entry e;
	pthread_t thread;
	ok(pthread_create(&thread, NULL, signal_later, a->cq));
	assert_int_equal(fi_cq_sread(a->cq, &e, 1, NULL, -1), -FI_EAGAIN);
	pthread_join(thread, NULL);
}

struct sreader {
	struct fid_cq *cq;
	int timeout_ms;
	ssize_t got;
};

static void *sread_run(void *arg)
{
	struct sreader *r = arg;
	struct fi_cq_tagged_entry e;
	r->got = fi_cq_sread(r->cq, &e, 1, NULL, r->timeout_ms);
	return NULL;
}

/* Every waiter gets one message and none comes back without, whoever sees the messages first. */
static void sread__several_threads(void **state)
{
	enum { THREADS = 4, ROUNDS = 25 };
	struct sreader readers[THREADS];
	pthread_t threads[THREADS];
	meet();
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < THREADS; i++) {
			readers[i] = (struct sreader){.cq = b->cq, .timeout_ms = -1};
			ok(fi_recv(b->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
			ok(pthread_create(&threads[i], NULL, sread_run, &readers[i]));
		}
		for (int i = 0; i < THREADS; i++)
			ok(fi_inject(a->ep, NULL, 0, a->peer));
		for (int i = 0; i < THREADS; i++) {
			ok(pthread_join(threads[i], NULL));
			assert_int_equal(readers[i].got, 1);
		}
		fi_cq_read(a->cq, NULL, 0);
	}
}

/* They keep records of each thread's stack, which cancellation unwinds without telling them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MAY_CANCEL = 0 };
#else
enum { MAY_CANCEL = 1 };
#endif

/* Threads that wait are cancelled: one that listens to the device, others beside it. Nobody is kept waiting for them.
 */
static void sread__cancelled_threads(void **state)
{
	enum { THREADS = 4, ROUNDS = 10 };
	struct sreader reader = {.cq = b->cq, .timeout_ms = -1};
	pthread_t threads[THREADS];
	void *result;
	if (!MAY_CANCEL) {
		print_message("not with sanitizers\n");
		skip();
	}
	meet();
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < THREADS; i++)
			ok(pthread_create(&threads[i], NULL, sread_run, &reader));
		usleep(1000 * (unsigned)round); /* they spin, then yield, then sleep */
		for (int i = 0; i < THREADS; i++)
			ok(pthread_cancel(threads[i]));
		for (int i = 0; i < THREADS; i++) {
			ok(pthread_join(threads[i], &result));
			assert_ptr_equal(result, PTHREAD_CANCELED);
		}
		meet();
	}
}

/* Reads an entry, although its thread was cancelled before. */
static void *cancelled_run(void *arg)
{
	ok(pthread_cancel(pthread_self()));
	while (fi_cq_readerr(b->cq, arg, 0) == -FI_EAGAIN)
		; /* the last entry makes the queue's descriptor quiet, by a system call */
	pthread_testcancel();
	return NULL;
}

/* A call that makes a system call is finished before its thread ends; otherwise the device would stay locked. */
static void call__is_finished_in_a_cancelled_thread(void **state)
{
	struct fi_cq_err_entry e = {0};
	pthread_t thread;
	void *result;
	if (!MAY_CANCEL) {
		print_message("not with sanitizers\n");
		meet(); /* before it ends: the thread sanitizer does not see that rings of DPDK order what threads do */
		skip();
	}
	ok(fi_recv(b->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
	ok(fi_cancel(&b->ep->fid, NULL));
	ok(pthread_create(&thread, NULL, cancelled_run, &e));
	ok(pthread_join(thread, &result));
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(e.err, FI_ECANCELED);
	meet();
}

static void signal__ends_all_waits(void **state)
{
	enum { THREADS = 3 };
	struct sreader readers[THREADS];
	pthread_t threads[THREADS];
	struct fi_cq_tagged_entry e;
	ok(fi_cq_signal(a->cq)); /* is kept for the next wait, and for that alone */
	assert_int_equal(fi_cq_sread(a->cq, &e, 1, NULL, -1), -FI_EAGAIN);
	for (int i = 0; i < THREADS; i++) {
		readers[i] = (struct sreader){.cq = a->cq, .timeout_ms = -1};
		ok(pthread_create(&threads[i], NULL, sread_run, &readers[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		while (pthread_tryjoin_np(threads[i], NULL) != 0)
			ok(fi_cq_signal(a->cq));
		assert_int_equal(readers[i].got, -FI_EAGAIN);
	}
}

/* A queue of a whose entries are cancelled receives of an endpoint of its own. */
struct own {
	struct fid_cq *cq;
	struct fid_ep *ep;
	int contexts[8];
};

static void own_open(struct own *own, struct fi_cq_attr *attr)
{
	ok(fi_cq_open(a->domain, attr, &own->cq, NULL));
	ok(fi_endpoint(a->domain, a->info, &own->ep, NULL));
	ok(fi_ep_bind(own->ep, &own->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(own->ep, &a->av->fid, 0));
	ok(fi_enable(own->ep));
}

static void own_close(struct own *own)
{
	ok(fi_close(&own->ep->fid));
	ok(fi_close(&own->cq->fid));
}

static void own_self(const struct own *own, fi_addr_t *self)
{
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	ok(fi_getname(&own->ep->fid, name, &len));
	assert_int_equal(fi_av_insert(a->av, name, 1, self, 0, NULL), 1);
}

static void sread__threshold(void **state)
{
	struct fi_cq_attr attr = {.wait_obj = FI_WAIT_UNSPEC, .wait_cond = FI_CQ_COND_THRESHOLD};
	struct fi_cq_entry e[8];
	struct own own;
	fi_addr_t self;
	own_open(&own, &attr);
	own_self(&own, &self);
	for (int i = 0; i < 6; i++) {
		ok(fi_recv(own.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
		ok(fi_inject(own.ep, NULL, 0, self));
	}
	assert_int_equal(fi_cq_sread(own.cq, e, 8, (void *)4, -1) >= 4, 1);
	while (fi_cq_read(own.cq, e, 8) != -FI_EAGAIN || fi_cq_sread(own.cq, e, 8, (void *)1, 20) != -FI_EAGAIN)
		;
	ok(fi_recv(own.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
	ok(fi_inject(own.ep, NULL, 0, self));
	assert_int_equal(fi_cq_sread(own.cq, e, 8, (void *)4, 50), 1); /* the time is over: better one than none */
	ok(fi_recv(own.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, e));
	ok(fi_cancel(&own.ep->fid, e));
	assert_int_equal(fi_cq_sread(own.cq, e, 8, (void *)4, -1), -FI_EAVAIL); /* errors are not held back */
	own_close(&own);
}

static void readerr__buffers_of_details(void **state)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_MSG};
	char details[8];
	struct fi_cq_err_entry err = {.err_data = details, .err_data_size = sizeof details};
	struct own own;
	own_open(&own, &attr);
	for (int i = 0; i < 2; i++) {
		ok(fi_recv(own.ep, details, 1, NULL, FI_ADDR_UNSPEC, &own.contexts[i]));
		ok(fi_cancel(&own.ep->fid, &own.contexts[i]));
		while (fi_cq_readerr(own.cq, &err, 0) != 1)
			;
		assert_int_equal(err.err, FI_ECANCELED);
		assert_ptr_equal(err.op_context, &own.contexts[i]);
		assert_int_equal(err.err_data_size, 0); /* there are none */
		assert_ptr_equal(err.err_data, i ? NULL : details);
	}
	assert_string_equal(fi_cq_strerror(own.cq, err.prov_errno, NULL, NULL, 0), fi_strerror(FI_ECANCELED));
	assert_string_equal(fi_cq_strerror(own.cq, err.prov_errno, NULL, details, 4), "Ope");
	own_close(&own);
}

/* Programs of interface 1.4 have a shorter error entry. */
static void readerr__old_interface(void **state)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT};
	struct fi_cq_err_entry err;
	struct host old = {.info = fi_dupinfo(a->info)};
	struct own own;
	old.info->fabric_attr->api_version = FI_VERSION(1, 4);
	ok(fi_fabric(old.info->fabric_attr, &old.fabric, NULL));
	ok(fi_domain(old.fabric, old.info, &old.domain, NULL));
	ok(fi_av_open(old.domain, &(struct fi_av_attr){.type = FI_AV_MAP}, &old.av, NULL));
	ok(fi_cq_open(old.domain, &attr, &own.cq, NULL));
	ok(fi_endpoint(old.domain, old.info, &own.ep, NULL));
	ok(fi_ep_bind(own.ep, &own.cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(own.ep, &old.av->fid, 0));
	ok(fi_enable(own.ep));
	ok(fi_recv(own.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, &own));
	ok(fi_cancel(&own.ep->fid, &own));
	memset(&err, 0x5a, sizeof err);
	while (fi_cq_readerr(own.cq, &err, 0) != 1)
		;
	assert_int_equal(err.err, FI_ECANCELED);
	assert_ptr_equal(err.err_data, NULL);
	assert_int_equal(err.err_data_size, 0x5a5a5a5a5a5a5a5aULL);
	own_close(&own);
	ok(fi_close(&old.av->fid));
	ok(fi_close(&old.domain->fid));
	ok(fi_close(&old.fabric->fid));
	fi_freeinfo(old.info);
}

static void open__refusals(void **state)
{
	struct fid_cq *cq;
	const struct {
		struct fi_cq_attr attr;
		int result;
	} rows[] = {
		{{.format = (enum fi_cq_format)99}, -FI_EINVAL},
		{{.wait_obj = (enum fi_wait_obj)99}, -FI_EINVAL},
		{{.wait_cond = (enum fi_cq_wait_cond)99}, -FI_EINVAL},
		{{.wait_obj = FI_WAIT_SET}, -FI_EINVAL},
		{{.flags = FI_PEEK}, -FI_EBADFLAGS},
		{{.flags = FI_AFFINITY, .signaling_vector = 1}, 0},
		{{.size = 1}, 0},
		{{.size = (size_t)1 << 40}, 0},
	};
	for (size_t i = 0; i < count_of(rows); i++) {
		struct fi_cq_attr attr = rows[i].attr;
		assert_int_equal(fi_cq_open(a->domain, &attr, &cq, NULL), rows[i].result);
		if (!rows[i].result)
			ok(fi_close(&cq->fid));
	}
}

static void control__every_wait_object(void **state)
{
	static const enum fi_wait_obj kinds[] = {FI_WAIT_NONE, FI_WAIT_UNSPEC,     FI_WAIT_YIELD,
						 FI_WAIT_FD,   FI_WAIT_MUTEX_COND, FI_WAIT_POLLFD};
	union {
		int fd;
		struct fi_mutex_cond mutex_cond;
		struct fi_wait_pollfd pollfd;
	} wait;
	for (size_t i = 0; i < count_of(kinds); i++) {
		struct fi_cq_attr attr = {.wait_obj = kinds[i]};
		struct pollfd fd;
		struct own own;
		enum fi_wait_obj kind;
		fi_addr_t self;
		struct fi_cq_entry e;
		own_open(&own, &attr);
		own_self(&own, &self);
		wait.pollfd = (struct fi_wait_pollfd){.nfds = 1, .fd = &fd};
		ok(fi_control(&own.cq->fid, FI_GETWAITOBJ, &kind));
		assert_int_equal(kind, kinds[i]);
		assert_int_equal(fi_control(&own.cq->fid, FI_GETWAIT, &wait), i < 3 ? -FI_ENODATA : 0);
		ok(fi_recv(own.ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
		ok(fi_inject(own.ep, NULL, 0, self));
		assert_int_equal(fi_cq_sread(own.cq, &e, 1, NULL, -1), 1);
		own_close(&own);
	}
}

static void *inject_later(void *peer)
{
	fi_inject(a->ep, NULL, 0, a->peer);
	return NULL;
}

/* While the application sleeps on the condition, nobody but the provider's thread makes progress at the receiver. */
static void mutex_cond__wakes_for_a_message(void **state)
{
	struct fi_mutex_cond wait;
	struct fid *fids[1] = {&b->cq->fid};
	struct fi_cq_tagged_entry e;
	pthread_t thread;
	meet();
	ok(fi_control(&b->cq->fid, FI_GETWAIT, &wait));
	for (int i = 0; i < 100; i++) {
		ok(fi_recv(b->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
		ok(pthread_create(&thread, NULL, inject_later, NULL));
		ok(pthread_mutex_lock(wait.mutex));
		while (fi_trywait(b->fabric, fids, 1) == 0)
			ok(pthread_cond_wait(wait.cond, wait.mutex));
		assert_int_equal(fi_cq_read(b->cq, &e, 1), 1);
		ok(pthread_mutex_unlock(wait.mutex));
		ok(pthread_join(thread, NULL));
	}
}

/* One call for queues of several devices and kinds. */
static void trywait__several(void **state)
{
	struct fi_cq_attr attr = {.wait_obj = FI_WAIT_FD};
	struct fid_cq *empty;
	ok(fi_cq_open(b->domain, &attr, &empty, NULL));
	struct fid *fids[3] = {&a->cq->fid, &empty->fid, &b->cq->fid}, *wrong[1] = {&a->av->fid};
	meet();
	ok(fi_trywait(a->fabric, fids, 3));
	ok(fi_recv(b->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, b));
	ok(fi_cancel(&b->ep->fid, b));
	while (fi_trywait(a->fabric, fids, 3) == 0)
		;
	assert_int_equal(fi_trywait(a->fabric, fids, 3), -FI_EAGAIN);
	assert_int_equal(next_error(b).err, FI_ECANCELED);
	ok(fi_trywait(a->fabric, fids, 3));
	assert_int_equal(fi_trywait(a->fabric, wrong, 1), -FI_EINVAL);
	ok(fi_close(&empty->fid));
}

static void fd__readable_after_arrival(void **state)
{
	struct fid *fids[1] = {&b->cq->fid};
	struct fi_cq_tagged_entry e;
	struct pollfd pfd = {.events = POLLIN};
	char in[16];
	meet();
	ok(fi_control(&b->cq->fid, FI_GETWAIT, &pfd.fd));
	ok(fi_recv(b->ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_trywait(b->fabric, fids, 1));
	assert_int_equal(poll(&pfd, 1, 0), 0);
	ok(fi_inject(a->ep, "fd", 3, a->peer));
	assert_int_equal(poll(&pfd, 1, -1), 1); /* nobody but the provider's thread makes progress here */
	assert_int_equal(fi_trywait(b->fabric, fids, 1), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(b->cq, &e, 1), 1);
	assert_int_equal(poll(&pfd, 1, 0), 0);
}

/* With automatic progress a message arrives, and is acknowledged, while its receiver does nothing. */
static void auto__peer_need_not_call(void **state)
{
	struct fi_cq_tagged_entry e;
	ssize_t n;
	ok(fi_send(a->ep, "auto", 5, NULL, a->peer, &e));
	while ((n = fi_cq_read(a->cq, &e, 1)) == -FI_EAGAIN)
		;
	assert_int_equal(n, 1);
}

static void cntr__counts_both_sides(void **state)
{
	struct fid_cntr *cntr;
	struct fid_ep *ep;
	char name[FI_NAME_MAX], in[8];
	size_t len = sizeof name;
	fi_addr_t self;
	ok(fi_cntr_open(a->domain, NULL, &cntr, NULL));
	ok(fi_endpoint(a->domain, a->info, &ep, NULL));
	ok(fi_ep_bind(ep, &cntr->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(ep, &a->av->fid, 0));
	ok(fi_enable(ep));
	ok(fi_getname(&ep->fid, name, &len));
	assert_int_equal(fi_av_insert(a->av, name, 1, &self, 0, NULL), 1);
	ok(fi_recv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, NULL));
	ok(fi_inject(ep, "count", 6, self));
	ok(fi_cntr_wait(cntr, 2, -1));
	assert_int_equal(fi_cntr_read(cntr), 2);
	assert_int_equal(fi_cntr_wait(cntr, 3, 1), -FI_ETIMEDOUT);
	ok(fi_recv(ep, in, sizeof in, NULL, FI_ADDR_UNSPEC, in));
	ok(fi_cancel(&ep->fid, in));
	assert_int_equal(fi_cntr_wait(cntr, 3, -1), -FI_EAVAIL);
	assert_int_equal(fi_cntr_readerr(cntr), 1);
	ok(fi_cntr_set(cntr, 10));
	ok(fi_cntr_add(cntr, 5));
	assert_int_equal(fi_cntr_read(cntr), 15);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	ok(fi_close(&ep->fid));
	ok(fi_close(&cntr->fid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(read__formats, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(read__several_at_once, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(read__error_comes_in_turn, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(sread__times_out, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(sread__wakes_for_a_message, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(signal__ends_the_wait, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(sread__several_threads, hosts_setup, hosts_teardown),
		cmocka_unit_test_prestate_setup_teardown(sread__several_threads, hosts_setup, hosts_teardown,
							 (void *)&with_auto),
		cmocka_unit_test_setup_teardown(sread__cancelled_threads, hosts_setup, hosts_teardown),
		cmocka_unit_test_prestate_setup_teardown(sread__cancelled_threads, hosts_setup, hosts_teardown,
							 (void *)&with_auto),
		cmocka_unit_test_prestate_setup_teardown(call__is_finished_in_a_cancelled_thread, hosts_setup,
							 hosts_teardown, (void *)&with_fd),
		cmocka_unit_test_setup_teardown(signal__ends_all_waits, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(sread__threshold, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(readerr__buffers_of_details, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(readerr__old_interface, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(open__refusals, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(control__every_wait_object, hosts_setup, hosts_teardown),
		cmocka_unit_test_prestate_setup_teardown(mutex_cond__wakes_for_a_message, hosts_setup, hosts_teardown,
							 (void *)&with_mutex_cond),
		cmocka_unit_test_prestate_setup_teardown(trywait__several, hosts_setup, hosts_teardown,
							 (void *)&with_fd),
		cmocka_unit_test_prestate_setup_teardown(fd__readable_after_arrival, hosts_setup, hosts_teardown,
							 (void *)&with_fd),
		cmocka_unit_test_prestate_setup_teardown(auto__peer_need_not_call, hosts_setup, hosts_teardown,
							 (void *)&with_auto),
		cmocka_unit_test_setup_teardown(cntr__counts_both_sides, hosts_setup, hosts_teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
