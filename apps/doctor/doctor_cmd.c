/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft doctor`: what is wrong with this machine or a device, and what mends it. */
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "doctor.h"
#include "doctor_cmd.h"
#include "opt_table.h"

enum {
	FINDINGS_MAX = 32,
	CLASS_ETHERNET = 0x0200, /* PCI, without the programming interface */
	CLASS_SHIFT = 8,
	EXIT_FINE = 0,
	EXIT_ERRORS = 1,
	EXIT_USAGE = 2,
	EXIT_WARNINGS = 3,
};

struct doctor_opts {
	const char *peer, *root;
	bool json;
};

struct report {
	struct doctor_finding findings[FINDINGS_MAX];
	uint32_t count, warnings, errors;
};

static const char *const level_names[] = {"none", "ok", "warning", "error"};

static void run_checks(const struct doctor *d, const struct doctor_check *table, struct report *r)
{
	for (const struct doctor_check *c = table; c->name != NULL && r->count < FINDINGS_MAX; c++) {
		struct doctor_finding *f = &r->findings[r->count];
		*f = (struct doctor_finding){.check = c->name};
		c->run(d, f);
		r->count += f->level != DOCTOR_NONE;
		r->warnings += f->level == DOCTOR_WARNING;
		r->errors += f->level == DOCTOR_ERROR;
	}
}

static void print_text(const struct report *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct doctor_finding *f = &r->findings[i];
		printf("%-8s %-12s %s\n", level_names[f->level], f->check, f->text);
		if (f->fix[0] != '\0')
			printf("%-8s %-12s mend: %s\n", "", "", f->fix);
	}
}

/* The NICs of this machine: Ethernet controllers, and interfaces without one. */
static void print_nics(const struct doctor *d)
{
	char pattern[512];
	glob_t found;
	snprintf(pattern, sizeof pattern, "%s/sys/bus/pci/devices/*", d->root);
	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		int64_t class = 0;
		struct doctor one = {.root = d->root, .device = strrchr(found.gl_pathv[i], '/') + 1};
		fs_number(d, &class, "sys/bus/pci/devices/%s/class", one.device);
		if (class >> CLASS_SHIFT != CLASS_ETHERNET)
			continue;
		doctor_examine(&one);
		printf("NIC      %s %s, driver %s\n", one.pci,
		       one.iface[0] != '\0' ? one.iface : "without an interface",
		       one.driver[0] != '\0' ? one.driver : "none");
	}
	globfree(&found);
}

static bool print_json(const struct doctor *d, const struct report *r)
{
	json_t *findings = json_array();
	for (uint32_t i = 0; i < r->count; i++) {
		const struct doctor_finding *f = &r->findings[i];
		json_array_append_new(findings, json_pack("{s:s, s:s, s:s, s:s}", "check", f->check, "level",
							  level_names[f->level], "text", f->text, "fix", f->fix));
	}
	json_t *root = json_pack("{s:s?, s:s, s:s, s:s, s:i, s:i, s:o}", "device", d->device, "pci", d->pci,
				 "interface", d->iface, "driver", d->driver, "warnings", (int)r->warnings, "errors",
				 (int)r->errors, "findings", findings);
	bool printed = root != NULL && json_dumpf(root, stdout, JSON_INDENT(2)) == 0;
	json_decref(root);
	putchar('\n');
	return printed;
}

#define FIELD(name) offsetof(struct doctor_opts, name)
#define BELOW       "\n                               "

static const struct opt_desc doctor_options[] = {
	{"peer", "ADDRESS", "compare the MTU with that of the path to this address", opt_string, FIELD(peer)},
	{"json", NULL, "print JSON: findings with check, level (ok, warning, error), text and fix", opt_flag,
	 FIELD(json)},
	{"root", "DIR",
	 "examine sys, proc and dev in this directory, a copy from another machine;" BELOW
	 "its file ethtool/INTERFACE has lines such as 'rx_queues 4'",
	 opt_string, FIELD(root)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command doctor_command = {
	.name = "doctor",
	.args = " [DEVICE]",
	.about = "Examines this machine, and the DEVICE (a PCI address or an interface) that FI_WEFT_DEVICE shall "
		 "name:\n"
		 "driver, permissions, NUMA, MTU, speed, PCIe, offloads, RSS, AF_XDP, hugepages, memlock, IOMMU and "
		 "clock.\n"
		 "Each finding comes with the command that mends it. Nothing is changed.\n"
		 "\n"
		 "Exit status: 0 everything is fine, 3 it works, with warnings, 1 it will not work, 2 wrong usage.",
	.table = doctor_options,
	.positional_max = 1,
};

static int exit_status(const struct report *r)
{
	if (r->errors > 0)
		return EXIT_ERRORS;
	return r->warnings > 0 ? EXIT_WARNINGS : EXIT_FINE;
}

static bool is_ip(const char *text)
{
	uint8_t ip[sizeof(struct in6_addr)];
	return inet_pton(AF_INET, text, ip) == 1 || inet_pton(AF_INET6, text, ip) == 1;
}

static bool root_is_there(const char *root)
{
	struct stat about;
	if (stat(root, &about) != 0)
		return false;
	errno = ENOTDIR;
	return S_ISDIR(about.st_mode);
}

/* Whether the options can be followed; else says why not. */
static bool check(const struct doctor_opts *o, const char *device)
{
	if (o->root[0] != '\0' && !root_is_there(o->root))
		fprintf(stderr, "weft doctor: %s: %s\n", o->root, strerror(errno));
	else if (o->peer != NULL && !is_ip(o->peer))
		fprintf(stderr, "weft doctor: --peer: %s is not an IP address\n", o->peer);
	else if (o->peer != NULL && device == NULL)
		fputs("weft doctor: --peer needs a DEVICE, with whose MTU the path's is compared\n", stderr);
	else
		return true;
	return false;
}

int weft_cmd_doctor(int argc, char **argv)
{
	struct doctor_opts o = {.root = ""};
	struct report r = {0};
	uint32_t devices;
	int status;

	if (!opt_main(&doctor_command, &o, argc, argv, &devices, &status))
		return status;
	struct doctor d = {.root = o.root, .device = devices > 0 ? argv[1] : NULL, .peer = o.peer};
	if (!check(&o, d.device))
		return EXIT_USAGE;
	doctor_examine(&d);
	if (d.device != NULL)
		run_checks(&d, doctor_nic_checks, &r);
	if (!d.is_served)
		run_checks(&d, doctor_host_checks, &r);
	if (o.json)
		return print_json(&d, &r) ? exit_status(&r) : EXIT_ERRORS;
	if (d.device == NULL)
		print_nics(&d);
	print_text(&r);
	return exit_status(&r);
}
