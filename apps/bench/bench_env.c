/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider takes its parameters from the environment, as every libfabric provider does. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define PROVIDER_FILE "libweft-fi.so"

void bench_rank_host(uint32_t rank, char host[BENCH_NAME_MAX])
{
	uint32_t ip = weft_net_host_ip(rank);
	snprintf(host, BENCH_NAME_MAX, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
}

/* The provider built beside this program comes before an installed one. */
static void provider_path_set(void)
{
	char dir[4096], file[sizeof dir + sizeof PROVIDER_FILE];
	ssize_t len = readlink("/proc/self/exe", dir, sizeof dir - 1);
	if (len <= 0)
		return;
	dir[len] = 0;
	*strrchr(dir, '/') = 0;
	snprintf(file, sizeof file, "%s/" PROVIDER_FILE, dir);
	if (access(file, R_OK) == 0)
		setenv("FI_PROVIDER_PATH", dir, 0);
}

/* The provider's warnings say why something failed. What libfabric's core says about providers nobody asked for does
 * not. */
static void log_set(void)
{
	if (getenv("FI_LOG_LEVEL"))
		return;
	setenv("FI_LOG_LEVEL", "warn", 1);
	setenv("FI_LOG_PROV", "weft", 1);
	setenv("FI_LOG_SUBSYS", "fabric,domain,ep_ctrl,ep_data,av,cq,eq", 1);
}

/* Where the provider's own default is another than the engine's and ours is meant, and what the user has set: that may
 * be the engine's default. */
static bool must_pass(const struct options *o, const char *key)
{
	static const char *const keys[] = {"payload_bytes", "peer_timeout_ns"};
	size_t len = strlen(key);
	for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (!strcmp(key, keys[i]))
			return true;
	for (uint32_t i = 0; i < o->given_count; i++) {
		const struct run_option *g = &o->given[i];
		if (g->value && !strcmp(g->name, "set") && !strncmp(g->value, key, len) && g->value[len] == '=')
			return true;
	}
	return false;
}

/* Appends key=value, for each parameter that is not at its default; and the payload, which the provider would fit to
 * the device. */
static void tunes_print(FILE *out, const struct options *o, const struct weft_param *table, const void *base)
{
	for (const struct weft_param *p = table; base && p && p->key; p++)
		if (options_param_value(p, base) != p->def || must_pass(o, p->key))
			fprintf(out, "%s=%" PRIu64 ",", p->key, options_param_value(p, base));
}

/* The provider does not know the fabric. Where its switches read digits, the parts of an entropy are told as parameters
 * of PRIME; other load balancers have no such parameters. */
static void pass_digits(struct options *o)
{
	if (!o->lab.route->reads_digits)
		return;
	for (uint32_t tier = 0; tier + 1 < o->lab.topo.tiers && tier < WEFT_LB_PARTS; tier++) {
		char key[16], value[16];
		snprintf(key, sizeof key, "prime_part%u", tier);
		snprintf(value, sizeof value, "%u", weft_topo_uplinks(&o->lab.topo, tier));
		weft_param_set(o->lab.lb->tunes, o->lab.lb_tune, key, value, NULL);
	}
	weft_param_set(o->lab.lb->tunes, o->lab.lb_tune, "prime_recycle", "off", NULL);
}

static int tunes_set(struct options *o)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return -ENOMEM;
	pass_digits(o);
	tunes_print(out, o, weft_engine_tunes, &o->lab.engine);
	tunes_print(out, o, o->lab.cc->tunes, o->lab.cc_tune);
	tunes_print(out, o, o->lab.lb->tunes, o->lab.lb_tune);
	if (o->lab.rcc)
		tunes_print(out, o, o->lab.rcc->tunes, o->lab.rcc_tune);
	if (fclose(out)) {
		free(text);
		return -ENOMEM;
	}
	if (len && text[len - 1] == ',')
		text[len - 1] = 0;
	int rc = setenv("FI_WEFT_TUNE", text, 1) ? -errno : 0;
	free(text);
	return rc;
}

/* All plug-ins, in the order given, by whole paths: a name without a slash is a file here, and one of the system's
 * libraries to the provider. Each was loaded before. */
static int plugins_set(const struct options *o, struct weft_err *err)
{
	char *text = NULL, path[PATH_MAX];
	size_t len = 0;
	int rc = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->given_count; i++) {
		if (strcmp(o->given[i].name, "plugin") != 0 || !realpath(o->given[i].value, path))
			continue;
		if (strchr(path, ':')) /* which separates them */
			rc = weft_err_set(err, -EINVAL, "--plugin: %s: weft bench takes no path with a colon", path);
		fprintf(out, "%s%s", ftell(out) ? ":" : "", path);
	}
	if (fclose(out))
		rc = -ENOMEM;
	if (!rc && len && setenv("FI_WEFT_PLUGIN", text, 1))
		rc = -errno;
	free(text);
	return rc;
}

/* Named by PCI addresses. NICs may take frames to their own MAC address only, as virtual functions do; everything else
 * here takes those to addresses that are derived from IP. */
static bool are_nics(const char *devices)
{
	return strncmp(devices, "net_", 4) != 0 && strcspn(devices, ":") < strcspn(devices, ",;");
}

int bench_env_set(struct options *o, const char *devices, const char *addrs, struct weft_err *err)
{
	provider_path_set();
	char seed[16];
	/* The provider takes an int, and 0 for a random one. */
	snprintf(seed, sizeof seed, "%u", (unsigned)(o->lab.seed & INT32_MAX));
	log_set();
	int rc = tunes_set(o);
	if (!rc)
		rc = plugins_set(o, err);
	if (rc == -EINVAL) /* with its message */
		return rc;
	/* A flow's time ends with the acknowledgement of its last byte, however short it is. */
	if (rc || setenv("FI_WEFT_COPY_BYTES", "0", 1) || setenv("FI_WEFT_CC", o->lab.cc_name, 1) ||
	    setenv("FI_WEFT_LB", o->lab.lb->name, 1) || setenv("FI_WEFT_SEED", seed, 1) ||
	    setenv("FI_WEFT_DEVICE", devices, 1) || setenv("FI_WEFT_ADDR", addrs, 1) ||
	    setenv("FI_WEFT_NO_ARP", are_nics(devices) ? "0" : "1", 1))
		return weft_err_set(err, rc ? rc : -errno, "cannot set the provider's environment");
	return 0;
}
