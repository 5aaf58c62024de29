/* SPDX-License-Identifier: BSD-3-Clause */
/* The libfabric provider `weft`: objects and the calls between its files. Each object starts with its fid, so that the
 * application's pointer is ours. One lock per open device (struct prov_nic) guards everything reached from it:
 * endpoints, address vectors, completion queues, counters and requests. */
#ifndef WEFT_PROV_H
#define WEFT_PROV_H

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "wait.h"
#include "weft/addr.h"
#include "weft/engine.h"
#include "weft/err.h"
#include "weft/fault.h"
#include "weft/spi/port.h"
#include "weft/telemetry.h"

#define PROV_NAME "weft"

enum {
	PROV_IOV_MAX = 4,          /* segments per operation */
	PROV_MR_IOV_MAX = 16,      /* segments per memory region */
	PROV_INJECT_BYTES = 4096,  /* largest message copied at once */
	PROV_QUEUE_DEFAULT = 1024, /* entries of a transmit, receive or completion queue nobody sized */
	PROV_QUEUE_MAX = 65536,    /* largest size granted */
	PROV_DGRAM_BYTES = 1392,   /* longest datagram: a packet of 1500 bytes */
	PROV_MIN_MULTI_RECV = 64,  /* default of FI_OPT_MIN_MULTI_RECV, bytes */
};

/* Private operation flag (bits 60 to 63 are the provider's): no entry for success whatever the endpoint's binding. */
#define PROV_NO_COMPLETION (1ULL << 60)

extern struct fi_provider prov_weft;

/* ---- configuration (conf.c) ---- */

/* One device the user named, usable as one domain. */
struct prov_dev {
	char *name;          /* domain name: the device without its arguments */
	char *devargs;       /* what DPDK gets */
	struct weft_ip ip;   /* our address on it */
	struct weft_ip base; /* the same before +N: names all processes that share the setting */
};

/* The environment, read anew by each fi_getinfo and fi_domain. */
struct prov_conf {
	struct prov_dev *devs;
	unsigned count;
};

void prov_conf_define(void);
/* -ENODATA: no device named; -EINVAL, -ENOMEM. Free with prov_conf_free also after an error. */
int prov_conf_load(struct prov_conf *conf, struct weft_err *err);
void prov_conf_free(struct prov_conf *conf);
/* NULL when no device has this name. */
const struct prov_dev *prov_conf_find(const struct prov_conf *conf, const char *name);
/* The first number that no other living process of this host, user and setting has (seat.c). */
int prov_seat_number(const char *setting, unsigned *number, struct weft_err *err);
/* The engine's numbers and algorithms from FI_WEFT_CC, _LB, _TUNE, _MTU and so on. */
struct prov_tune {
	struct weft_engine_conf engine; /* cc_tune and lb_tune are ours, freed by prov_tune_free */
	void *cc_tune, *lb_tune, *rcc_tune;
	uint32_t max_ip_bytes;        /* 0: the port's default */
	uint32_t pool_pkts;           /* 0: the port's default */
	bool payload_chosen;          /* FI_WEFT_TUNE says payload_bytes */
	bool link_chosen;             /* or link_bps */
	bool pacing_chosen;           /* or pacing */
	bool faulty;                  /* or one of the faults below */
	struct weft_fault_conf fault; /* breaks what we send, for tests */
	bool no_arp;
	bool telemetry;       /* EAL is started with it, unless eal_args say how */
	const char *eal_args; /* NULL: the defaults */
	weft_ns wait_ns;      /* how long an open waits for the other end's socket */
	weft_ns linger_ns;    /* how long a close waits for the last packets */
};
int prov_tune_load(struct prov_tune *tune, struct weft_err *err);
void prov_tune_free(struct prov_tune *tune);

/* ---- addresses (addr.c) ---- */

/* Length of the socket address that `ip` needs. */
socklen_t prov_addr_len(const struct weft_ip *ip);
/* Writes a sockaddr_in or sockaddr_in6 of prov_addr_len() bytes. */
void prov_addr_to_sock(const struct weft_addr *addr, struct sockaddr_storage *ss);
/* -EINVAL: another address family than `like` has (NULL: any), or too short. */
int prov_addr_from_sock(const void *sock, size_t len, const struct weft_ip *like, struct weft_addr *addr);

/* The addresses of a name. */
struct prov_addrs {
	struct weft_addr addr[16];
	unsigned count;
};
/* Resolves host and service names, or FI_ADDR_STR as the host alone. Either may be NULL: no IP address, or port 0.
 * -FI_ENODATA: unknown. */
int prov_addr_resolve(const char *node, const char *service, uint64_t flags, struct prov_addrs *addrs);
/* The first one of the same address family as `like`, or NULL. */
const struct weft_addr *prov_addr_pick(const struct prov_addrs *addrs, const struct weft_ip *like);
/* Copies a socket address as fi_getname and fi_av_lookup do: `*len` becomes its length; -FI_ETOOSMALL when cut. */
int prov_addr_give(const struct sockaddr_storage *ss, void *buf, size_t *len);
bool prov_ip_is_any(const struct weft_ip *ip);
const char *prov_addr_print(const struct weft_addr *addr, char *buf, size_t len);

/* ---- capabilities and fi_getinfo (attr.c, getinfo.c) ---- */

/* Endpoint types, in the order fi_getinfo lists them. */
enum prov_kind { PROV_RDM, PROV_DGRAM, PROV_KINDS };

/* True when endpoints of this type can do everything `hints` (may be NULL) asks for; the reason is logged if not. */
bool prov_attr_fits(uint32_t version, enum prov_kind kind, const struct fi_info *hints);
/* Fills everything but addresses and names: our capabilities, narrowed to what `hints` asked for. */
void prov_attr_fill(uint32_t version, enum prov_kind kind, const struct fi_info *hints, struct fi_info *info);
int prov_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		 struct fi_info **out);

/* ---- device: port and engine, shared by the domains opened on it (nic.c) ---- */

struct prov_ep;
struct prov_stx;
struct prov_coll;
struct prov_trigger;
TAILQ_HEAD(prov_trigger_list, prov_trigger);
struct prov_cntr;
TAILQ_HEAD(prov_cntr_list, prov_cntr);
TAILQ_HEAD(prov_ep_list, prov_ep);

struct prov_avshare;
struct prov_req;
TAILQ_HEAD(prov_req_list, prov_req);

struct prov_nic {
	TAILQ_ENTRY(prov_nic) link; /* all open devices */
	char *name;                 /* device name */
	unsigned users;             /* domains */
	pthread_mutex_t lock;       /* guards all that follows and what hangs from it */
	struct weft_port *port;     /* the device's */
	struct weft_port *wire;     /* the engine's: the same, or faults around it; closes both */
	struct weft_engine *engine;
	struct weft_ip ip;
	weft_ns linger_ns;
	struct prov_ep_list eps;   /* enabled endpoints */
	uint32_t scopes;           /* given out to domains so far */
	struct prov_req_list reqs; /* free requests */
	size_t req_count;          /* of them */
	struct prov_cntr_list cntrs;
	unsigned waiting;             /* triggered operations that wait for one of them */
	struct prov_trigger_list due; /* triggered operations to be started (trigger.c) */
	atomic_bool firing;           /* one is being started, by `firer`, who holds the lock */
	pthread_t firer;
	bool is_work; /* it is deferred work, to be counted by `work_completion` (or NULL) */
	struct prov_cntr *work_completion;
	void *req_chunks;    /* all request memory, chained through its first word */
	weft_ns now_ns;      /* of the latest poll or push */
	weft_ns polled_ns;   /* of the latest poll */
	unsigned held;       /* calls of prov_push since then that did nothing */
	weft_ns next_ns;     /* when the engine wants to be polled again */
	weft_ns active_ns;   /* when a poll last found something to do */
	uint64_t rx_seen;    /* received packets at the latest poll */
	unsigned auto_users; /* who needs the progress thread */
	pthread_t thread;
	bool thread_stop;
	bool listening;              /* a thread sleeps until the device has packets */
	bool listener_cares;         /* it also waits for operations to finish, which others may see first */
	weft_ns listen_until_ns;     /* when it looks again at the latest */
	int wake_fd;                 /* ends its sleep */
	unsigned sleepers;           /* threads that wait for `news` while another one listens or polls */
	pthread_cond_t news;         /* an operation finished, or nobody listens any more */
	struct prov_wait_list kicks; /* wait objects to be notified once the lock is free */
	struct weft_telemetry telemetry;
	bool has_telemetry; /* it is known by it */
	bool orphan;        /* inherited by a forked child: nothing reaches the device any more */
};

/* Opens the device or shares it with an open domain. */
int prov_nic_get(const struct prov_dev *dev, struct prov_nic **out, struct weft_err *err);
/* The last user waits, for a bounded time, until connections are closed and peers have their acknowledgements. */
void prov_nic_put(struct prov_nic *nic);
/* Starts or ends the need for a progress thread. The caller does not hold the lock. */
int prov_nic_auto_get(struct prov_nic *nic);
void prov_nic_auto_put(struct prov_nic *nic);

/* True for the thread that starts triggered operations: it has the lock already. */
static inline bool prov_nic_fires(struct prov_nic *nic)
{
	return atomic_load_explicit(&nic->firing, memory_order_acquire) && pthread_equal(nic->firer, pthread_self());
}

static inline void prov_nic_lock(struct prov_nic *nic)
{
	if (!prov_nic_fires(nic))
		pthread_mutex_lock(&nic->lock);
}

/* Notifies and unlocks. */
void prov_nic_unlock_kick(struct prov_nic *nic);

static inline void prov_nic_unlock(struct prov_nic *nic)
{
	if (prov_nic_fires(nic))
		return;
	if (TAILQ_EMPTY(&nic->kicks))
		pthread_mutex_unlock(&nic->lock);
	else
		prov_nic_unlock_kick(nic);
}

/* prov_wait_raise for an object whose owner lives on the device. Lock held. */
void prov_nic_raise(struct prov_nic *nic, struct prov_wait_obj *w, bool raised);
/* The object is going away: no notification is due or under way any more. Lock held, but given up meanwhile. */
void prov_nic_unkick(struct prov_nic *nic, struct prov_wait_obj *w);

/* ---- forked children (fork.c) ---- */

void prov_fork_watch(void);
/* Forks between the process that loaded us and this one. */
unsigned prov_forks(void);
/* In the child: cuts one device, or all, off from the parent's. */
void prov_nic_orphan(struct prov_nic *nic);
void prov_nics_orphan(void);

/* ---- progress (progress.c) ---- */

/* Polls the engine once and hands finished operations to their queues. Lock held. True when anything happened. */
bool prov_progress(struct prov_nic *nic);

/* The same for what is to leave alone, if the device was looked at just before. `late`: a few such calls may do
 * nothing; the next one, or prov_progress, makes up for them. Lock held. */
void prov_push(struct prov_nic *nic, bool late);

/* Polls until done(arg) or until `timeout_ms` (negative: for ever) is over; false then. Lock not held, but held around
 * `done`. */
bool prov_wait_until(struct prov_nic *nic, bool (*done)(void *arg), void *arg, int timeout_ms);
/* The same without ever sleeping (FI_WAIT_YIELD). */
bool prov_yield_until(struct prov_nic *nic, bool (*done)(void *arg), void *arg, int timeout_ms);
/* Something happened that sleepers in prov_wait_until may be waiting for. Lock held. */
void prov_nic_news(struct prov_nic *nic);
/* `limit` as CLOCK_MONOTONIC tells the time. */
void prov_deadline(weft_ns limit, struct timespec *ts);
/* Nothing has happened for a while: a caller that spins on an empty queue should let others run. Lock held. */
bool prov_is_idle(const struct prov_nic *nic);
/* Body of the thread for automatic progress. */
void *prov_progress_thread(void *nic);

/* ---- fabric, event queue ---- */

struct prov_fabric {
	struct fid_fabric fid;
	atomic_uint refs; /* domains and event queues */
};

struct prov_event;
TAILQ_HEAD(prov_event_list, prov_event);

struct prov_eq {
	struct fid_eq fid;
	struct prov_fabric *fabric;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct prov_event_list events;
	size_t count, size; /* events; fi_eq_write fails beyond `size`, our own events never do */
	bool writable;      /* FI_WRITE */
	bool overrun;       /* fi_eq_write found no room: nothing is added any more */
	struct prov_wait_obj wait;
	atomic_uint refs; /* objects bound to it */
};

int prov_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context);
/* Adds an event; `err` != 0 makes it an error entry. No lock held. -FI_ENOMEM, -FI_EOVERRUN. */
int prov_eq_post(struct prov_eq *eq, uint32_t event, const struct fi_eq_err_entry *entry);
/* The same while the device's lock is held. */
int prov_eq_post_locked(struct prov_eq *eq, struct prov_nic *nic, uint32_t event, const struct fi_eq_err_entry *entry);
int prov_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
/* fi_trywait for one object: -FI_EAGAIN when there is something to look at. */
int prov_trywait(struct fid *fid);
int prov_cq_trywait(struct fid *fid);
int prov_eq_trywait(struct fid *fid);
int prov_cntr_trywait(struct fid *fid);
/* Interfaces before 1.5 have error entries without err_data_size. */
static inline bool prov_api_has_err_size(const struct prov_fabric *fabric)
{
	return FI_VERSION_GE(fabric->fid.api_version, FI_VERSION(1, 5));
}

/* ---- domain and what it holds ---- */

struct prov_domain {
	struct fid_domain fid;
	struct prov_fabric *fabric;
	struct prov_nic *nic;
	TAILQ_ENTRY(prov_domain) link; /* all domains */
	struct prov_eq *eq;            /* where asynchronous operations report by default; may be NULL */
	bool mr_events;                /* memory is registered asynchronously (FI_REG_MR) */
	bool auto_progress;
	bool mr_basic;    /* FI_MR_BASIC: our keys, virtual addresses */
	uint32_t scope;   /* of its regions on the engine */
	uint64_t mr_keys; /* given out so far with mr_basic */
	atomic_uint refs; /* endpoints, queues, counters, vectors, regions */
};

/* The first domain opened on this device, or NULL. */
struct prov_domain *prov_domain_find(const char *name);
int prov_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context);

struct prov_av_entry {
	uint32_t peer;   /* the engine's id */
	uint32_t uses;   /* times inserted; 0: free */
	fi_addr_t alias; /* what completions report: its index, or the FI_AV_USER_ID given */
};

/* An fi_addr_t is an index in both AV types. All under the device's lock. */
struct prov_av {
	struct fid_av fid;
	struct prov_domain *domain;
	struct prov_av_entry *entries;
	uint32_t count, capacity; /* entries in use or free again; allocated */
	uint32_t lowest_free;     /* no free entry is below */
	int rx_ctx_bits;          /* the top bits of an fi_addr_t name a receive context (fi_rx_addr) */
	fi_addr_t *of_peer;       /* index by engine peer id; FI_ADDR_NOTAVAIL when not inserted */
	uint32_t peers;           /* entries of of_peer */
	bool has_events;          /* FI_EVENT: insertions complete on `eq` */
	bool read_only;           /* FI_READ */
	struct prov_eq *eq;
	struct prov_avshare *share; /* the table is shared by processes; ours follows it. NULL: it is not */
	uint64_t share_version;     /* of the shared table when ours was brought up to date */
	atomic_uint refs;           /* endpoints bound */
};

int prov_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context);
/* -FI_EINVAL when `addr` is not in the vector. Lock held. */
int prov_av_peer(struct prov_av *av, fi_addr_t addr, uint32_t *peer);
/* The peer messages come from, for receives directed to it. Lock held. */
int prov_av_source(struct prov_av *av, fi_addr_t addr, uint32_t *peer);
/* Entry of an address, whatever receive context it names; NULL: none. Lock held. */
struct prov_av_entry *prov_av_entry_of(struct prov_av *av, fi_addr_t addr);
/* What completions call a peer; FI_ADDR_NOTAVAIL when it is not in the vector. Lock held. */
fi_addr_t prov_av_of_peer(struct prov_av *av, uint32_t peer);
/* Another use of an address. A new entry goes to `wanted`, UINT32_MAX: to the lowest free place. Lock held. -FI_ENOMEM.
 */
int prov_av_entry_add(struct prov_av *av, const struct weft_addr *addr, uint32_t wanted, fi_addr_t *out);
/* One use less. Lock held. */
void prov_av_entry_del(struct prov_av *av, uint32_t index);
/* Does what other processes did to a shared vector. Lock held. */
void prov_av_follow(struct prov_av *av);
/* Inserting and removing (av_insert.c). */
extern struct fi_ops_av prov_av_ops;

struct prov_cq {
	struct fid_cq fid;
	struct prov_domain *domain;
	struct prov_req_list done; /* finished requests, oldest first: the queue itself */
	size_t count;              /* in `done` */
	size_t errors;             /* of these, failed operations */
	size_t size;               /* unread entries beyond which new operations get -FI_EAGAIN */
	size_t entry_bytes;        /* of the application's format */
	bool has_threshold;        /* FI_CQ_COND_THRESHOLD */
	void *err_data;            /* of the error entry read last, until the next read; ours */
	struct prov_wait_obj wait;
	unsigned waiters;    /* in fi_cq_sread */
	unsigned signals;    /* times fi_cq_signal ended their waits */
	bool signal_pending; /* fi_cq_signal came when nobody waited */
	atomic_uint refs;    /* endpoints, poll sets */
};

int prov_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);
int prov_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **poll);
/* Takes over a finished request; entry and src are filled in. Lock held. */
void prov_cq_push(struct prov_cq *cq, struct prov_req *req);
/* Forgets that entries came from `ep`, which is being closed. Lock held. */
void prov_cq_detach(struct prov_cq *cq, const struct prov_ep *ep);

/* What somebody saw of a counter last. */
struct prov_cntr_seen {
	uint64_t value, errors;
};

struct prov_cntr {
	struct fid_cntr fid;
	TAILQ_ENTRY(prov_cntr) link; /* prov_nic.cntrs */
	struct prov_domain *domain;
	struct prov_trigger_list triggers; /* operations that wait for it, by threshold */
	uint64_t value, errors;            /* under the device's lock */
	struct prov_cntr_seen polled;      /* by fi_poll, fi_cntr_set and so on */
	struct prov_cntr_seen waited;      /* by fi_trywait and fi_wait */
	uint64_t op_flags;                 /* FI_SETOPSFLAG; nothing depends on them */
	struct prov_wait_obj wait;
	atomic_uint refs; /* endpoints, regions, poll sets */
};

/* Operations finished, well or not; either may be 0. Lock held. */
void prov_cntr_count(struct prov_cntr *cntr, uint64_t done, uint64_t failed);
/* The application's own change: multiplied by `factor`, `value` added. Lock held. */
void prov_cntr_change(struct prov_cntr *cntr, uint64_t factor, uint64_t value);
/* True, once, when it has changed since fi_poll looked last. Lock held. */
bool prov_cntr_polled(struct prov_cntr *cntr);
int prov_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context);

/* ---- endpoint and requests ---- */

/* What a bound counter counts. */
enum prov_cntr_of {
	PROV_CNTR_TRANSMIT,
	PROV_CNTR_RECV,
	PROV_CNTR_READ,
	PROV_CNTR_WRITE,
	PROV_CNTR_REMOTE_READ,
	PROV_CNTR_REMOTE_WRITE,
	PROV_CNTRS,
};

struct prov_ep {
	struct fid_ep fid;
	struct prov_ep *root;      /* itself; of an alias the endpoint that has all state but the operation flags */
	atomic_uint refs;          /* aliases, contexts of a scalable endpoint, endpoints that share the context */
	TAILQ_ENTRY(prov_ep) link; /* prov_nic.eps */
	struct prov_domain *domain;
	struct weft_ep *wep;   /* NULL until enabled */
	struct weft_addr addr; /* port 0 until known */
	uint64_t caps;         /* of the fi_info */
	uint64_t tx_flags;     /* tx_attr->op_flags */
	uint64_t rx_flags;     /* rx_attr->op_flags */
	uint32_t tx_size;      /* sends that may be outstanding */
	uint32_t tx_used;      /* sends outstanding */
	size_t min_multi_recv; /* FI_OPT_MIN_MULTI_RECV */
	bool enabled;
	bool is_dgram;                     /* FI_EP_DGRAM */
	bool no_tx, no_rx;                 /* of a receive or transmit context */
	int (*listen)(struct prov_ep *ep); /* opens `wep`; errors of weft_ep_open */
	struct prov_ep *sep;               /* of a context: its scalable endpoint */
	uint32_t index;                    /* of a context */
	struct prov_stx *stx;              /* shared transmit context, or NULL */
	struct prov_ep *srx;               /* shared receive context that has our receives, or NULL */
	struct prov_ep_list members;       /* of a shared receive context: endpoints bound to it */
	TAILQ_ENTRY(prov_ep) member;
	bool tx_selective, rx_selective; /* bound with FI_SELECTIVE_COMPLETION */
	struct prov_av *av;
	struct prov_cq *tx_cq, *rx_cq;
	struct prov_cntr *cntrs[PROV_CNTRS]; /* may be the same one several times; NULL: nobody counts */
	struct prov_eq *eq;
	struct prov_coll *coll;      /* with FI_COLLECTIVE, once enabled (coll.c); or NULL */
	struct prov_req_list posted; /* handed to the engine, not finished */
	struct prov_req_list claims; /* messages reserved by FI_PEEK | FI_CLAIM whose completion was read */
};

/* The endpoint behind the application's pointer. Every call that takes a fid_ep begins with this. */
static inline struct prov_ep *prov_ep_of(const struct fid_ep *fid)
{
	return container_of(fid, struct prov_ep, fid)->root;
}

/* Operation flags of calls without a flags argument; an alias has its own. */
static inline uint64_t prov_tx_flags(const struct fid_ep *fid)
{
	return container_of(fid, struct prov_ep, fid)->tx_flags;
}

static inline uint64_t prov_rx_flags(const struct fid_ep *fid)
{
	return container_of(fid, struct prov_ep, fid)->rx_flags;
}

/* Where receives of the endpoint are kept. */
static inline struct prov_ep *prov_rx_of(struct prov_ep *ep)
{
	return ep->srx ? ep->srx : ep;
}

/* Gives the endpoint its number on the engine, unless it has one. Lock held. */
int prov_ep_listen(struct prov_ep *ep);
/* FI_GETOPSFLAG and FI_SETOPSFLAG: default operation flags; FI_TRANSMIT or FI_RECV in `*flags` says which side. */
int prov_ep_op_flags(struct prov_ep *ep, bool set, uint64_t *flags);
/* FI_ALIAS: another name for the endpoint, with its own operation flags. (alias.c) */
int prov_ep_alias(struct prov_ep *ep, const struct fi_alias *arg);
extern struct fi_ops_ep prov_ep_ops;
extern struct fi_ops_cm prov_cm_ops;
int prov_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);

/* One operation from fi_send to fi_cq_read. `context` of the engine's operation is its address. */
struct prov_req {
	TAILQ_ENTRY(prov_req) link;   /* free, posted, done or claims */
	struct prov_ep *ep;           /* NULL: closed meanwhile */
	struct fi_cq_err_entry entry; /* what the application will read; starts like every CQ format */
	fi_addr_t src;                /* of a received message */
	void *bounce;                 /* copy of injected or gathered data, ours */
	bool is_send;                 /* or a read or write: of the transmit side */
	uint8_t counter;              /* enum prov_cntr_of, of the transmit side */
	bool gathered;                /* a read that goes to `bounce` first, and then to the pieces of `iov` */
	uint32_t parts;               /* operations of the engine that have not ended */
	uint64_t part_bytes;          /* of those that have */
	bool wants_entry;             /* success is reported */
	bool claim;                   /* FI_PEEK | FI_CLAIM: lives on until the message is fetched */
	bool deferred;                /* work of the domain: counted by work_cntr (or NULL) alone */
	struct prov_cntr *work_cntr;
	bool is_multi;      /* FI_MULTI_RECV: each message gets a request of its own, this one is for the end */
	uint32_t iov_count; /* > 1: payload is scattered as it arrives */
	struct iovec iov[PROV_IOV_MAX];
	/* Of the parts of an atomic request. */
	struct weft_op_atomic atomics[PROV_IOV_MAX];
};

/* NULL: no memory. Lock held for all of these. */
struct prov_req *prov_req_get(struct prov_nic *nic);
void prov_req_put(struct prov_nic *nic, struct prov_req *req);
/* True when at least `count` prov_req_get in a row would succeed. */
bool prov_req_ensure(struct prov_nic *nic, size_t count);
void prov_req_free_all(struct prov_nic *nic);
/* Frees what an endpoint had under way, after weft_ep_close: the engine has copies of what it still sends. */
void prov_req_abandon(struct prov_ep *ep);

/* One send or receive as the API describes it. */
struct prov_op {
	uint8_t kind; /* enum weft_op_kind */
	const struct iovec *iov;
	size_t iov_count;
	fi_addr_t addr;
	uint64_t tag, ignore, data;
	uint64_t flags; /* FI_* and PROV_NO_COMPLETION */
	void *context;
};

ssize_t prov_send(struct prov_ep *ep, const struct prov_op *op);
ssize_t prov_recv(struct prov_ep *ep, const struct prov_op *op);
ssize_t prov_cancel(fid_t fid, void *context);
/* The engine finished a request, or one message of it, at endpoint `ep`. Needs up to one free request. Lock held. */
void prov_req_done(struct prov_ep *ep, struct prov_req *req, const struct weft_cqe *cqe);

extern struct fi_ops_msg prov_msg_ops;
extern struct fi_ops_tagged prov_tagged_ops;

/* ---- shared refusals ---- */

int prov_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int prov_no_control(struct fid *fid, int command, void *arg);
int prov_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
/* fi_open_ops of domains and endpoints: WEFT_FI_OPS (weft/provider.h). */
int prov_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif
