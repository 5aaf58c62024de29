/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's configuration from FI_WEFT_CC, _LB, _TUNE, _MTU and so on. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "member.h"
#include "name_match.h"
#include "prov_log.h"
#include "prov_text.h"
#include "prov_tune.h"
#include "weft/algos.h"

enum {
	WAIT_DEFAULT_MS = 5000,
	LINGER_DEFAULT_MS = 500,
	RECORD_EVENTS = 8192, /* 32 bytes each: some milliseconds of a busy link, and all of one that hangs */
	COPY_BYTES = 16384,   /* a copy takes less than two microseconds, less than any round trip */
	ACK_EVERY = 32,       /* packets in the middle of a message; a packet that changes the receiver's state is
				 acknowledged at once ... */
	ACKS_PER_WINDOW = 8,  /* ... and more often where windows are small, as at congested links */
};

/* Peers are processes that share CPUs with others: a base RTT measured in a lucky moment must not become the target.
 * A larger floor makes windows of megabytes on fast links, which fill the rings and queues between processes of a host.
 */
#define BRTT_FLOOR_NS WEFT_US(100)
#define RTT_MEMORY_NS WEFT_MS(500)
/* A peer that computes is not silent (stand_in.c), but its processors may be busy. */
#define PEER_TIMEOUT_NS WEFT_S(10)
/* doc/notes/performance.md has what eager and announced messages of various lengths take. */
#define RNDV_BYTES (UINT64_C(128) << 10)

/* By weft_engine_tune.encap. */
static const char *const encaps[] = {"udp", "udp-49150", "native", NULL};

const char *const prov_profiles[] = {"weft", "ai-base", "ai-full", "hpc", NULL};

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
		return weft_lb_choose_from(algos->lb, "auto", name, lb, err);
	*lb = weft_lb_auto(&offer, &reason);
	FI_INFO(&prov_weft, FI_LOG_CORE, "load balancer %s: %s\n", (*lb)->name, reason);
	return 0;
}

/* The files of FI_WEFT_PLUGIN, separated by colons. */
static int plugins_load(struct weft_algos *algos, struct weft_err *err)
{
	char *copy = NULL, *save = NULL;
	weft_algos_init(algos);
	int ret = prov_param_text("plugin", &copy, err);
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
	if (weft_cc_select_from(&(struct weft_cc_tables){algos.cc, algos.rcc, "auto"}, cc, choice, &why))
		return weft_err_set(err, -EINVAL, "FI_WEFT_CC: %.200s", why.msg);
	if (lb_find(&algos, lb, &tune->engine.lb, &why))
		return weft_err_set(err, -EINVAL, "FI_WEFT_LB: %.200s", why.msg);
	return 0;
}

/* Parameters of the chosen algorithms, at their defaults. */
static int algorithms_tune(struct prov_tune *tune, const char *cc, const struct weft_cc_choice *choice,
			   struct weft_err *err)
{
	const struct weft_rcc_ops *rcc = choice->rcc;
	tune->rcc_tune = tune_alloc(rcc ? rcc->tunes : NULL, rcc ? rcc->tune_size : 0);
	/* With manual progress an application may stop polling after its last injected message: that one must not wait
	 * for credit. */
	if (rcc && rcc->schedule && tune->rcc_tune)
		weft_param_set(rcc->tunes, tune->rcc_tune, "unscheduled", "on", NULL);
	tune->cc_tune = tune_alloc(tune->engine.cc->tunes, tune->engine.cc->tune_size);
	tune->lb_tune = tune_alloc(tune->engine.lb->tunes, tune->engine.lb->tune_size);
	if (!tune->cc_tune || !tune->lb_tune || !tune->rcc_tune)
		return weft_err_set(err, -ENOMEM, "out of memory");
	weft_cc_select_defaults(cc, choice, tune->cc_tune);
	tune->engine.cc_tune = tune->cc_tune;
	tune->engine.lb_tune = tune->lb_tune;
	tune->engine.rcc_tune = tune->rcc_tune;
	return 0;
}

static int algorithms_named(struct prov_tune *tune, const char *cc, const char *lb, struct weft_err *err)
{
	struct weft_cc_choice choice = {NULL};
	if (strcmp(cc, "auto") == 0) {
		cc = weft_cc_auto()->name;
		weft_engine_tune_auto(&tune->engine.tune);
	}
	int ret = algorithms_choose(tune, cc, lb, &choice, err);
	if (ret)
		return ret;
	FI_INFO(&prov_weft, FI_LOG_CORE, "congestion control %s\n", cc);
	tune->engine.cc = choice.cc;
	tune->engine.rcc = choice.rcc;
	if (!choice.cc || !tune->engine.lb)
		return weft_err_set(err, -EINVAL, "FI_WEFT_CC '%s' or FI_WEFT_LB '%s' chooses nothing", cc, lb);
	return algorithms_tune(tune, cc, &choice, err);
}

static int algorithms_find(struct prov_tune *tune, struct weft_err *err)
{
	char *cc = NULL, *lb = NULL;
	int ret = prov_param_text("cc", &cc, err);
	if (!ret)
		ret = prov_param_text("lb", &lb, err);
	if (!ret)
		ret = algorithms_named(tune, cc ? cc : "auto", lb ? lb : "auto", err);
	free(cc);
	free(lb);
	return ret;
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
	struct name_guess guess = {.typed = key, .letters = NAME_FAR};
	for (size_t i = 0; i < count_of(places); i++) {
		int ret = places[i].table ? weft_param_set(places[i].table, places[i].base, key, value, err) : -ENOENT;
		if (ret != -ENOENT)
			return ret;
		name_guess_param(&guess, places[i].table);
	}
	if (guess.nearest)
		return weft_err_set(err, -EINVAL, "FI_WEFT_TUNE: unknown parameter '%s'; was '%s' meant?", key,
				    guess.nearest);
	return weft_err_set(err, -EINVAL, "FI_WEFT_TUNE: neither the engine nor %s nor %s has a parameter '%s'",
			    tune->engine.cc->name, tune->engine.lb->name, key);
}

static int tunes_parse(struct prov_tune *tune, struct weft_err *err)
{
	char *copy = NULL, *save = NULL;
	int ret = prov_param_text("tune", &copy, err);
	for (char *item = copy ? strtok_r(copy, ",", &save) : NULL; item && !ret; item = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(item, '=');
		if (!eq) {
			ret = weft_err_set(err, -EINVAL, "FI_WEFT_TUNE: '%s' is not key=value", item);
			break;
		}
		*eq = 0;
		tune->payload_chosen |= strcmp(item, "payload_bytes") == 0;
		tune->link_chosen |= strcmp(item, "link_bps") == 0;
		tune->probe_chosen |= strcmp(item, "probe_rate") == 0;
		tune->faulty |= strncmp(item, "fault_", 6) == 0;
		ret = tune_set(tune, item, eq + 1, err);
	}
	free(copy);
	return ret;
}

/* Our sequence numbers and connection ids must differ from those of an earlier process with our address: peers may
 * still know its connections. Process ids do not help, they stay the same over exec and often in containers. */
static int secret_draw(struct prov_tune *tune, struct weft_err *err)
{
	if (getrandom(tune->secret, sizeof tune->secret, 0) != sizeof tune->secret)
		return weft_err_set(err, -errno,
				    "getrandom: %s; FI_WEFT_SEED needs none, but its numbers can be guessed",
				    strerror(errno));
	tune->engine.secret = tune->secret;
	return 0;
}

static int limits_load(struct prov_tune *tune, struct weft_err *err)
{
	weft_ns *peer_ns = &tune->engine.tune.peer_timeout_ns;
	int mtu = 0, pool_pkts = 0, peer_ms = 0, seed = 0, rndv_bytes = -1;
	int wait_ms = WAIT_DEFAULT_MS, linger_ms = LINGER_DEFAULT_MS, copy_bytes = COPY_BYTES;
	int record_events = RECORD_EVENTS;
	const struct {
		const char *name;
		int min, *value;
	} rows[] = {
		{"mtu", 0, &mtu},
		{"pool_pkts", 0, &pool_pkts},
		{"peer_timeout_ms", 1, &peer_ms},
		{"rndv_bytes", 0, &rndv_bytes},
		{"wait_ms", 0, &wait_ms},
		{"linger_ms", 0, &linger_ms},
		{"copy_bytes", 0, &copy_bytes},
		{"record_events", 0, &record_events},
		{"seed", 0, &seed},
	};
	int ret = 0;
	for (size_t i = 0; i < count_of(rows) && !ret; i++)
		ret = prov_param_int(rows[i].name, rows[i].min, rows[i].value, err);
	if (!ret)
		ret = prov_param_bool("no_arp", &tune->no_arp, err);
	if (!ret)
		ret = prov_param_bool("rx_interrupt", &tune->rx_interrupt, err);
	if (!ret)
		ret = prov_param_bool("telemetry", &tune->telemetry, err);
	if (ret)
		return ret;
	tune->max_ip_bytes = (uint32_t)mtu;
	tune->pool_pkts = (uint32_t)pool_pkts;
	if (peer_ms)
		*peer_ns = WEFT_MS(peer_ms);
	if (rndv_bytes >= 0)
		tune->engine.tune.rndv_bytes = (uint64_t)rndv_bytes;
	tune->wait_ns = WEFT_MS(wait_ms);
	tune->linger_ns = WEFT_MS(linger_ms);
	tune->copy_bytes = (uint32_t)copy_bytes;
	tune->record_events = (uint32_t)record_events;
	tune->engine.seed = (uint64_t)seed;
	tune->engine.ids_by_seed = 1;
	return seed ? 0 : secret_draw(tune, err);
}

/* A variable whose value is one of these names, whose number it sets; left alone when it is not set. */
static int name_load(const char *param, const char *const *names, uint32_t *number, struct weft_err *err)
{
	char *text = NULL;
	int ret = prov_param_text(param, &text, err);
	uint32_t i = 0;
	if (ret || !text)
		return ret;
	while (names[i] && strcmp(names[i], text) != 0)
		i++;
	if (names[i])
		*number = i;
	else
		ret = weft_err_set(err, -EINVAL, "FI_WEFT_%s: '%.64s' is none of its values, such as '%s'", param, text,
				   names[0]);
	free(text);
	return ret;
}

int prov_tune_load(struct prov_tune *tune, struct weft_err *err)
{
	*tune = (struct prov_tune){0};
	weft_param_defaults(weft_engine_tunes, &tune->engine.tune);
	weft_param_defaults(weft_fault_params, &tune->fault);
	tune->engine.tune.brtt_floor_ns = BRTT_FLOOR_NS;
	tune->engine.tune.rtt_memory_ns = RTT_MEMORY_NS;
	tune->engine.tune.peer_timeout_ns = PEER_TIMEOUT_NS;
	tune->engine.tune.rndv_bytes = RNDV_BYTES;
	tune->engine.tune.pmtu_discovery = 1; /* between our interface and the peer's there may be anything */
	/* A CPU does the work of the NIC here, so the cost per packet counts. */
	tune->engine.tune.ack_every = ACK_EVERY;
	tune->engine.tune.acks_per_window = ACKS_PER_WINDOW;
	tune->engine.tune.ack_burst = tune->engine.tune.lb_all_acked = 1;
	int ret = algorithms_find(tune, err);
	if (!ret)
		ret = tunes_parse(tune, err);
	if (!ret)
		ret = limits_load(tune, err);
	if (!ret)
		ret = name_load("profile", prov_profiles, &tune->engine.tune.profile, err);
	if (!ret)
		ret = name_load("encap", encaps, &tune->engine.tune.encap, err);
	if (!ret)
		ret = prov_param_text("eal_args", &tune->eal_args, err);
	if (!ret)
		ret = prov_param_text("key_file", &tune->key_file, err);
	return ret;
}

void prov_tune_free(struct prov_tune *tune)
{
	free(tune->cc_tune);
	free(tune->lb_tune);
	free(tune->rcc_tune);
	free(tune->eal_args);
	free(tune->key_file);
}
