/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's configuration from FI_WEFT_CC, _LB, _TUNE, _MTU and so on. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "prov_log.h"
#include "prov_tune.h"
#include "weft/algos.h"

enum {
	WAIT_DEFAULT_MS = 5000,
	LINGER_DEFAULT_MS = 500,
	ACK_EVERY = 32,      /* packets in the middle of a message; a packet that changes the receiver's state is
				acknowledged at once ... */
	ACKS_PER_WINDOW = 8, /* ... and more often where windows are small, as at congested links */
};

/* Peers are processes that share CPUs with others: a base RTT measured in a lucky moment must not become the target. */
#define BRTT_FLOOR_NS WEFT_US(500)
/* doc/notes/performance.md has what eager and announced messages of various lengths take. */
#define RNDV_BYTES (UINT64_C(256) << 10)
/* With manual progress a peer that computes is silent: waiting longer is cheap, aborting a job too early is not. */
#define PEER_TIMEOUT_NS WEFT_S(120)

/* A number of the environment, or `def` when it is not set. */
static int param_int(const char *name, int min, int def, int *value, struct weft_err *err)
{
	int n = def;
	int ret = fi_param_get_int(&prov_weft, name, &n);
	if (ret == -FI_EINVAL || (!ret && n < min))
		return weft_err_set(err, -EINVAL, "FI_WEFT parameter '%s' is not a number of at least %d", name, min);
	*value = ret ? def : n;
	return 0;
}

static void *tune_alloc(const struct weft_param *table, size_t size)
{
	void *tune = calloc(1, size ? size : 1);
	if (tune)
		weft_param_defaults(table, tune);
	return tune;
}

/* "auto": a host knows nothing of its switches but that packets may take any path; taken to hash, mark and trim, as
 * `weft switch` does unless told otherwise. */
static int lb_find(const struct weft_algos *algos, const char *name, const struct weft_lb_ops **lb,
		   struct weft_err *err)
{
	const struct weft_lb_offer offer = {.ecn = 1, .trimming = 1, .ack_every = ACK_EVERY, .all_acked = 1};
	const char *reason;
	if (strcmp(name, "auto") != 0)
		return weft_lb_choose_from(algos->lb, name, lb, err);
	*lb = weft_lb_auto(&offer, &reason);
	FI_INFO(&prov_weft, FI_LOG_CORE, "load balancer %s: %s\n", (*lb)->name, reason);
	return 0;
}

/* The files of FI_WEFT_PLUGIN, separated by colons. */
static int plugins_load(struct weft_algos *algos, struct weft_err *err)
{
	char *text = NULL, *save = NULL;
	weft_algos_init(algos);
	if (fi_param_get_str(&prov_weft, "plugin", &text) || !text)
		return 0;
	char *copy = strdup(text);
	int ret = copy ? 0 : weft_err_set(err, -ENOMEM, "out of memory");
	for (char *file = copy ? strtok_r(copy, ":", &save) : NULL; file && !ret; file = strtok_r(NULL, ":", &save))
		ret = weft_plugin_load(algos, file, err);
	free(copy);
	return ret;
}

/* FI_WEFT_CC and FI_WEFT_LB among the library's algorithms and those of plug-ins. */
static int algorithms_choose(struct prov_tune *tune, const char *cc, const char *lb, struct weft_cc_choice *choice,
			     struct weft_err *err)
{
	struct weft_err why = {""};
	struct weft_algos algos;
	if (plugins_load(&algos, &why))
		return weft_err_set(err, -EINVAL, "FI_WEFT_PLUGIN: %.200s", why.msg);
	if (weft_cc_select_from(&(struct weft_cc_tables){algos.cc, algos.rcc}, cc, choice, &why))
		return weft_err_set(err, -EINVAL, "FI_WEFT_CC: %.200s", why.msg);
	if (lb_find(&algos, lb, &tune->engine.lb, &why))
		return weft_err_set(err, -EINVAL, "FI_WEFT_LB: %.200s", why.msg);
	return 0;
}

static int algorithms_find(struct prov_tune *tune, struct weft_err *err)
{
	char *cc = "smartt", *lb = "reps";
	fi_param_get_str(&prov_weft, "cc", &cc);
	fi_param_get_str(&prov_weft, "lb", &lb);
	struct weft_cc_choice choice = {NULL};
	int ret = algorithms_choose(tune, cc, lb, &choice, err);
	if (ret)
		return ret;
	tune->engine.cc = choice.cc;
	tune->engine.rcc = choice.rcc;
	if (!choice.cc || !tune->engine.lb)
		return weft_err_set(err, -EINVAL, "FI_WEFT_CC '%s' or FI_WEFT_LB '%s' chooses nothing", cc, lb);
	const struct weft_rcc_ops *rcc = choice.rcc;
	tune->rcc_tune = tune_alloc(rcc ? rcc->tunes : NULL, rcc ? rcc->tune_size : 0);
	/* With manual progress an application may stop polling after its last injected message: that one must not wait
	 * for credit. */
	if (rcc && rcc->schedule && tune->rcc_tune)
		weft_param_set(rcc->tunes, tune->rcc_tune, "unscheduled", "on", NULL);
	tune->cc_tune = tune_alloc(tune->engine.cc->tunes, tune->engine.cc->tune_size);
	tune->lb_tune = tune_alloc(tune->engine.lb->tunes, tune->engine.lb->tune_size);
	if (!tune->cc_tune || !tune->lb_tune || !tune->rcc_tune)
		return weft_err_set(err, -ENOMEM, "out of memory");
	weft_cc_select_defaults(cc, &choice, tune->cc_tune);
	tune->engine.cc_tune = tune->cc_tune;
	tune->engine.lb_tune = tune->lb_tune;
	tune->engine.rcc_tune = tune->rcc_tune;
	return 0;
}

/* The first of the tables that knows `key` takes the value. */
static int tune_set(struct prov_tune *tune, const char *key, const char *value, struct weft_err *err)
{
	assert(tune->engine.cc && tune->engine.lb);
	const struct {
		const struct weft_param *table;
		void *base;
	} places[] = {
		{weft_engine_tunes, &tune->engine.tune},
		{tune->engine.cc->tunes, tune->cc_tune},
		{tune->engine.lb->tunes, tune->lb_tune},
		{tune->engine.rcc ? tune->engine.rcc->tunes : NULL, tune->rcc_tune},
		{weft_fault_params, &tune->fault},
	};
	for (size_t i = 0; i < count_of(places); i++) {
		int ret = places[i].table ? weft_param_set(places[i].table, places[i].base, key, value, err) : -ENOENT;
		if (ret != -ENOENT)
			return ret;
	}
	return weft_err_set(err, -EINVAL, "FI_WEFT_TUNE: neither the engine nor %s nor %s has a parameter '%s'",
			    tune->engine.cc->name, tune->engine.lb->name, key);
}

static int tunes_parse(struct prov_tune *tune, struct weft_err *err)
{
	char *text = NULL, *save = NULL;
	if (fi_param_get_str(&prov_weft, "tune", &text) || !text)
		return 0;
	char *copy = strdup(text);
	int ret = copy ? 0 : weft_err_set(err, -ENOMEM, "out of memory");
	for (char *item = copy ? strtok_r(copy, ",", &save) : NULL; item && !ret; item = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(item, '=');
		if (!eq) {
			ret = weft_err_set(err, -EINVAL, "FI_WEFT_TUNE: '%s' is not key=value", item);
			break;
		}
		*eq = 0;
		tune->payload_chosen |= strcmp(item, "payload_bytes") == 0;
		tune->link_chosen |= strcmp(item, "link_bps") == 0;
		tune->pacing_chosen |= strcmp(item, "pacing") == 0;
		tune->faulty |= strncmp(item, "fault_", 6) == 0;
		ret = tune_set(tune, item, eq + 1, err);
	}
	free(copy);
	return ret;
}

/* Our sequence numbers and connection ids must differ from those of an earlier process with our address: peers may
 * still know its connections. Process ids do not help, they stay the same over exec and often in containers. */
static uint64_t seed_random(void)
{
	struct timespec now;
	uint64_t seed;
	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed)
		return seed;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)getpid() << 32 ^ (uint64_t)now.tv_sec * 1000000000u ^ (uint64_t)now.tv_nsec;
}

static int limits_load(struct prov_tune *tune, struct weft_err *err)
{
	weft_ns *peer_ns = &tune->engine.tune.peer_timeout_ns;
	int rndv_bytes = -1;
	int mtu = 0, pool_pkts = 0, no_arp = 0, telemetry = 0, peer_ms = 0, wait_ms = 0, linger_ms = 0, seed = 0;
	const struct {
		const char *name;
		int min, def, *value;
	} rows[] = {
		{"mtu", 0, 0, &mtu},
		{"pool_pkts", 0, 0, &pool_pkts},
		{"peer_timeout_ms", 1, 0, &peer_ms},
		{"rndv_bytes", 0, -1, &rndv_bytes},
		{"wait_ms", 0, WAIT_DEFAULT_MS, &wait_ms},
		{"linger_ms", 0, LINGER_DEFAULT_MS, &linger_ms},
		{"seed", 0, 0, &seed},
	};
	for (size_t i = 0; i < count_of(rows); i++) {
		int ret = param_int(rows[i].name, rows[i].min, rows[i].def, rows[i].value, err);
		if (ret)
			return ret;
	}
	fi_param_get_bool(&prov_weft, "no_arp", &no_arp);
	fi_param_get_bool(&prov_weft, "telemetry", &telemetry);
	tune->max_ip_bytes = (uint32_t)mtu;
	tune->pool_pkts = (uint32_t)pool_pkts;
	if (peer_ms)
		*peer_ns = WEFT_MS(peer_ms);
	if (rndv_bytes >= 0)
		tune->engine.tune.rndv_bytes = (uint64_t)rndv_bytes;
	tune->wait_ns = WEFT_MS(wait_ms);
	tune->linger_ns = WEFT_MS(linger_ms);
	tune->no_arp = no_arp != 0;
	tune->telemetry = telemetry != 0;
	tune->engine.seed = seed ? (uint64_t)seed : seed_random();
	tune->engine.ids_by_seed = 1;
	return 0;
}

int prov_tune_load(struct prov_tune *tune, struct weft_err *err)
{
	*tune = (struct prov_tune){0};
	char *eal_args = NULL;
	weft_param_defaults(weft_engine_tunes, &tune->engine.tune);
	weft_param_defaults(weft_fault_params, &tune->fault);
	tune->engine.tune.brtt_floor_ns = BRTT_FLOOR_NS;
	tune->engine.tune.peer_timeout_ns = PEER_TIMEOUT_NS;
	tune->engine.tune.rndv_bytes = RNDV_BYTES;
	/* A CPU does the work of the NIC here, so the cost per packet counts. */
	tune->engine.tune.ack_every = ACK_EVERY;
	tune->engine.tune.acks_per_window = ACKS_PER_WINDOW;
	tune->engine.tune.ack_burst = tune->engine.tune.lb_all_acked = 1;
	int ret = algorithms_find(tune, err);
	if (!ret)
		ret = tunes_parse(tune, err);
	if (!ret)
		ret = limits_load(tune, err);
	if (fi_param_get_str(&prov_weft, "eal_args", &eal_args) == 0)
		tune->eal_args = eal_args;
	return ret;
}

void prov_tune_free(struct prov_tune *tune)
{
	free(tune->cc_tune);
	free(tune->lb_tune);
	free(tune->rcc_tune);
}
