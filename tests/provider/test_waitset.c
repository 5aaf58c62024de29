/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait sets: completion queues, counters and event queues, also of several devices, that wake the same sleepers. */
#include "fixture.h"
#include "member.h"

#include <poll.h>
#include <pthread.h>
#include <rdma/fi_eq.h>
#include <time.h>

static struct host *const a = &hosts[0], *const b = &hosts[1];
static struct fid_wait *set;

static struct fid_wait *set_open(enum fi_wait_obj kind)
{
	struct fi_wait_attr attr = {.wait_obj = kind};
	ok(fi_wait_open(a->fabric, &attr, &set));
	return set;
}

/* One of our endpoints that reports to a queue in the set. */
struct member {
	struct fid_domain *domain; /* of a's fabric, as the set is, on the host's device */
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t addr; /* for sending to it from the same host */
};

static void member_open(struct member *m, struct host *host)
{
	struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_SET, .wait_set = set};
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	struct fi_av_attr av_attr = {.type = FI_AV_MAP};
	ok(fi_domain(a->fabric, host->info, &m->domain, NULL));
	ok(fi_av_open(m->domain, &av_attr, &m->av, NULL));
	ok(fi_cq_open(m->domain, &attr, &m->cq, m));
	ok(fi_endpoint(m->domain, host->info, &m->ep, NULL));
	ok(fi_ep_bind(m->ep, &m->cq->fid, FI_TRANSMIT | FI_RECV));
	ok(fi_ep_bind(m->ep, &m->av->fid, 0));
	ok(fi_enable(m->ep));
	ok(fi_getname(&m->ep->fid, name, &len));
	assert_int_equal(fi_av_insert(m->av, name, 1, &m->addr, 0, NULL), 1);
}

static void member_close(struct member *m)
{
	ok(fi_close(&m->ep->fid));
	ok(fi_close(&m->cq->fid));
	ok(fi_close(&m->av->fid));
	ok(fi_close(&m->domain->fid));
}

/* From now on nothing happens until member_finish. */
static void member_start(struct member *m)
{
	ok(fi_recv(m->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
}

static void member_finish(const struct member *m)
{
	ok(fi_inject(m->ep, NULL, 0, m->addr));
}

static void wait__one_of_two_devices(void **state)
{
	static const enum fi_wait_obj kinds[] = {FI_WAIT_UNSPEC, FI_WAIT_YIELD, FI_WAIT_FD, FI_WAIT_MUTEX_COND};
	struct member members[2];
	struct fi_cq_entry e;
	for (size_t k = 0; k < count_of(kinds); k++) {
		set_open(kinds[k]);
		for (int i = 0; i < 2; i++)
			member_open(&members[i], &hosts[i]);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(fi_wait(set, 1), -FI_ETIMEDOUT);
			member_start(&members[i]);
			member_finish(&members[i]);
			ok(fi_wait(set, -1));
			ok(fi_wait(set, 0)); /* still unread */
			assert_int_equal(fi_cq_read(members[i].cq, &e, 1), 1);
			assert_int_equal(fi_cq_read(members[!i].cq, &e, 1), -FI_EAGAIN);
		}
		member_close(&members[0]);
		member_close(&members[1]);
		ok(fi_close(&set->fid));
	}
}

static void *finish_later(void *member)
{
	struct timespec nap = {.tv_nsec = 2000000};
	nanosleep(&nap, NULL);
	member_finish(member);
	return NULL;
}

static void wait__sleeper_is_woken(void **state)
{
	struct member m;
	struct fi_cq_entry e;
	pthread_t thread;
	set_open(FI_WAIT_UNSPEC);
	member_open(&m, b);
	for (int i = 0; i < 20; i++) {
		member_start(&m);
		ok(pthread_create(&thread, NULL, finish_later, &m));
		ok(fi_wait(set, -1));
		ok(pthread_join(thread, NULL));
		assert_int_equal(fi_cq_read(m.cq, &e, 1), 1);
	}
	member_close(&m);
	ok(fi_close(&set->fid));
}

static void wait__counter_and_event_queue(void **state)
{
	struct fi_cntr_attr cntr_attr = {.wait_obj = FI_WAIT_SET};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_SET, .flags = FI_WRITE};
	struct fi_eq_entry entry = {.data = 1};
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	uint32_t event;
	cntr_attr.wait_set = eq_attr.wait_set = set_open(FI_WAIT_UNSPEC);
	ok(fi_cntr_open(a->domain, &cntr_attr, &cntr, NULL));
	ok(fi_eq_open(a->fabric, &eq_attr, &eq, NULL));
	assert_int_equal(fi_wait(set, 1), -FI_ETIMEDOUT);
	ok(fi_cntr_add(cntr, 1));
	ok(fi_wait(set, -1));
	assert_int_equal(fi_wait(set, 1), -FI_ETIMEDOUT); /* a change wakes once */
	assert_int_equal(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0), sizeof entry);
	ok(fi_wait(set, -1));
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof entry, 0), sizeof entry);
	assert_int_equal(fi_wait(set, 1), -FI_ETIMEDOUT);
	ok(fi_close(&cntr->fid));
	ok(fi_close(&eq->fid));
	ok(fi_close(&set->fid));
}

static void fd__of_the_set(void **state)
{
	struct pollfd pfd = {.events = POLLIN};
	struct fi_wait_pollfd multi = {.nfds = 0};
	enum fi_wait_obj kind;
	struct fid *fids[1];
	struct member m;
	struct fi_cq_entry e;
	fids[0] = &set_open(FI_WAIT_FD)->fid;
	member_open(&m, a);
	ok(fi_control(&set->fid, FI_GETWAIT, &pfd.fd));
	ok(fi_control(&set->fid, FI_GETWAITOBJ, &kind));
	assert_int_equal(kind, FI_WAIT_FD);
	member_start(&m);
	ok(fi_trywait(a->fabric, fids, 1));
	assert_int_equal(poll(&pfd, 1, 0), 0);
	member_finish(&m);
	assert_int_equal(poll(&pfd, 1, -1), 1);
	assert_int_equal(fi_trywait(a->fabric, fids, 1), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(m.cq, &e, 1), 1);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	assert_int_equal(fi_control(&m.cq->fid, FI_GETWAIT, &pfd.fd), -FI_ENODATA); /* the set has it */
	member_close(&m);
	ok(fi_close(&set->fid));

	set_open(FI_WAIT_POLLFD);
	assert_int_equal(fi_control(&set->fid, FI_GETWAIT, &multi), -FI_ETOOSMALL);
	assert_int_equal(multi.nfds, 1);
	multi.fd = &pfd;
	ok(fi_control(&set->fid, FI_GETWAIT, &multi));
	assert_int_equal(poll(&pfd, 1, 0), 0);
	ok(fi_close(&set->fid));
}

/* The device's thread finds the mutex busy; closing the last member ends that thread. */
static void mutex__held_while_a_member_is_closed(void **state)
{
	struct timespec nap = {.tv_nsec = 50000000};
	char name[FI_NAME_MAX];
	size_t len = sizeof name;
	struct fi_mutex_cond wait;
	struct member m;
	fi_addr_t addr;
	set_open(FI_WAIT_MUTEX_COND);
	ok(fi_control(&set->fid, FI_GETWAIT, &wait));
	member_open(&m, a);
	ok(fi_getname(&m.ep->fid, name, &len));
	assert_int_equal(fi_av_insert(b->av, name, 1, &addr, 0, NULL), 1);
	member_start(&m);
	ok(pthread_mutex_lock(wait.mutex));
	ok(fi_inject(b->ep, NULL, 0, addr));
	nanosleep(&nap, NULL);
	member_close(&m);
	ok(pthread_mutex_unlock(wait.mutex));
	ok(fi_close(&set->fid));
}

static void open__refusals(void **state)
{
	struct fi_wait_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_cq_attr cq_attr = {.wait_obj = FI_WAIT_SET};
	struct fid_wait *other;
	struct member m;
	struct fid_cq *cq;
	assert_int_equal(fi_wait_open(a->fabric, &attr, &other), -FI_EINVAL);
	attr = (struct fi_wait_attr){.wait_obj = FI_WAIT_FD, .flags = FI_PEEK};
	assert_int_equal(fi_wait_open(a->fabric, &attr, &other), -FI_EINVAL);
	assert_int_equal(fi_cq_open(a->domain, &cq_attr, &cq, NULL), -FI_EINVAL); /* which set? */
	attr = (struct fi_wait_attr){.wait_obj = FI_WAIT_UNSPEC};
	ok(fi_wait_open(b->fabric, &attr, &other));
	cq_attr.wait_set = other;
	assert_int_equal(fi_cq_open(a->domain, &cq_attr, &cq, NULL), -FI_EINVAL); /* of another fabric */
	ok(fi_close(&other->fid));
	set_open(FI_WAIT_UNSPEC);
	member_open(&m, a);
	assert_int_equal(fi_close(&set->fid), -FI_EBUSY);
	member_close(&m);
	ok(fi_close(&set->fid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(wait__one_of_two_devices, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(wait__sleeper_is_woken, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(wait__counter_and_event_queue, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(fd__of_the_set, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(mutex__held_while_a_member_is_closed, hosts_setup, hosts_teardown),
		cmocka_unit_test_setup_teardown(open__refusals, hosts_setup, hosts_teardown),
	};
	return cmocka_run_group_tests(tests, rings_setup, NULL);
}
