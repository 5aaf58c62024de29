/* SPDX-License-Identifier: BSD-3-Clause */
/* `weft conform`: what a UET endpoint supports and where it departs from the standard. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conform_cmd.h"
#include "conform_net.h"
#include "conform_report.h"
#include "opt_table.h"

enum { EXIT_USAGE = 2 };

struct conform_opts {
	const char *peer, *encap, *row;
	uint32_t udp_port, job, pid, index, initiator, mtu, region;
	uint64_t key, tag;
	uint64_t timeout_ns;
	bool crc, json, list;
};

#define FIELD(name) offsetof(struct conform_opts, name)

static const struct opt_desc conform_options[] = {
	{"peer", "ADDRESS", "the endpoint's host; default: the only neighbour of DEVICE", opt_string, FIELD(peer)},
	{"encap", "NAME", "native (IP protocol 253), udp, or both (default)", opt_string, FIELD(encap)},
	{"udp-port", "PORT", "UDP destination port; default 4793", opt_u32, FIELD(udp_port)},
	{"crc", NULL, "packets end in a CRC32C, and answers must", opt_flag, FIELD(crc)},
	{"job", "ID", "job id of the endpoint; default 1", opt_u32, FIELD(job)},
	{"pid", "N", "its PIDonFEP; default 0", opt_u32, FIELD(pid)},
	{"index", "N", "its resource index; default 15", opt_u32, FIELD(index)},
	{"initiator", "ID", "initiator id of ours; default 16", opt_u32, FIELD(initiator)},
	{"tag", "BITS", "match bits of tagged messages; default 0xabcd", opt_u64, FIELD(tag)},
	{"key", "KEY", "key of a region that may be written and read; default 0", opt_u64, FIELD(key)},
	{"region", "BYTES", "size of that region; default 0: there is none, and its rows are skipped", opt_u32,
	 FIELD(region)},
	{"mtu", "BYTES", "Payload MTU: 1024 (default), 2048, 4096 or 8192", opt_u32, FIELD(mtu)},
	{"timeout", "TIME", "an answer is waited for so long, three times; default 100ms", opt_duration,
	 FIELD(timeout_ns)},
	{"row", "NAME", "only this row", opt_string, FIELD(row)},
	{"list", NULL, "print the rows, and what is not compared", opt_flag, FIELD(list)},
	{"json", NULL, "print JSON: per encapsulation the rows with result and why", opt_flag, FIELD(json)},
	{NULL, NULL, NULL, NULL, 0},
};

static const struct opt_command conform_command = {
	.name = "conform",
	.args = " [DEVICE]",
	.about = "Plays scripts of packets against the Ultra Ethernet endpoint that is reached through the interface "
		 "DEVICE, and\n"
		 "prints a matrix of what it supports and where it departs from the standard. The endpoint's "
		 "application should\n"
		 "have receives posted and nothing else to do. Needs CAP_NET_RAW.\n"
		 "\n"
		 "Results: pass; departs; refused, an operation that is not served; silent, no answer; skipped, needs "
		 "a region.\n"
		 "Exit status: 0 all that AI Base asks for passes, 1 something departs, 2 wrong usage or all rows "
		 "skipped,\n"
		 "3 nobody answers.",
	.table = conform_options,
	.positional_max = 1,
};

static void print_list(void)
{
	for (const struct conform_row *row = conform_rows; row->name; row++)
		printf("%-18s %-9s %s\n", row->name, conform_need_name(row->need), row->title);
	printf("\nNot compared:\n");
	for (const struct conform_free *f = conform_free_fields; f->name; f++)
		printf("  %s: %s\n", f->name, f->why);
}

static bool is_mtu(uint32_t mtu)
{
	return mtu == 1024 || mtu == 2048 || mtu == 4096 || mtu == 8192;
}

/* What the table of options cannot check. */
static int check(const struct conform_opts *o, struct weft_err *err)
{
	bool row_there = o->row == NULL;

	for (const struct conform_row *row = conform_rows; row->name && !row_there; row++)
		row_there = strcmp(row->name, o->row) == 0;
	if (!row_there)
		return weft_err_set(err, -EINVAL, "there is no row '%s' (see --list)", o->row);
	if (!is_mtu(o->mtu))
		return weft_err_set(err, -EINVAL, "--mtu: %u is no Payload MTU", o->mtu);
	if (o->job >> 24 || o->pid >> 12 || o->index >> 12 || o->udp_port >> 16)
		return weft_err_set(err, -EINVAL, "--job has 24 bits, --pid and --index 12, --udp-port 16");
	if (strcmp(o->encap, "native") != 0 && strcmp(o->encap, "udp") != 0 && strcmp(o->encap, "both") != 0)
		return weft_err_set(err, -EINVAL, "--encap: '%s' is neither native, udp nor both", o->encap);
	return 0;
}

/* All rows over one encapsulation, in column `column`. */
static void run_rows(const struct conform_opts *o, struct conform_peer *p, struct conform_report *r, uint32_t column)
{
	uint32_t i = 0;

	for (const struct conform_row *row = conform_rows; row->name && i < REPORT_ROWS_MAX; row++) {
		if (o->row && strcmp(o->row, row->name) != 0)
			continue;
		r->rows[i].row = row;
		r->rows[i].results[column] = conform_run(p, row);
		snprintf(r->rows[i].why[column], sizeof r->rows[i].why[column], "%s", p->said);
		i++;
	}
	r->row_count = i;
}

/* The endpoint may still know connections of the run before this one. */
static uint32_t seed_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint32_t)now.tv_sec * 1000003u ^ (uint32_t)now.tv_nsec;
}

static int run(const struct conform_opts *o, const char *device, struct weft_err *err)
{
	static const char *const names[] = {"native", "UDP"};
	static const char *const chosen[] = {"native", "udp"};
	static struct conform_report r;
	static struct conform_peer p;
	struct uet_link link = {.crc = o->crc, .udp_port = (uint16_t)o->udp_port};
	struct conform_target target = {.job = o->job,
					.pid = o->pid,
					.index = o->index,
					.initiator = o->initiator,
					.tag = o->tag,
					.key = o->key,
					.key_bytes = o->region,
					.mtu = o->mtu,
					.timeout_ns = o->timeout_ns,
					.seed = seed_now()};
	struct conform_net net;
	int rc = conform_net_open(&net, device, o->peer, &link, err);

	if (rc)
		return rc;
	struct conform_io io = conform_net_io(&net);
	r.device = device;
	inet_ntop(link.v6 ? AF_INET6 : AF_INET, link.remote, r.peer, sizeof r.peer);
	for (int encap = UET_NATIVE; encap <= UET_UDP; encap++) {
		if (strcmp(o->encap, "both") != 0 && strcmp(o->encap, chosen[encap]) != 0)
			continue;
		link.encap = (enum uet_encap)encap;
		conform_peer_init(&p, &io, &link, &target);
		r.column_names[r.columns] = names[encap];
		run_rows(o, &p, &r, r.columns++);
		target.seed = p.pdcid; /* so that connections of both have other numbers */
	}
	conform_net_close(&net);
	if (!o->json)
		conform_print(&r);
	else if (!conform_print_json(&r))
		return weft_err_set(err, -EIO, "the result cannot be written");
	return conform_verdict(&r);
}

int weft_cmd_conform(int argc, char **argv)
{
	struct conform_opts o = {.encap = "both",
				 .udp_port = UET_PORT,
				 .job = 1,
				 .index = 15,
				 .initiator = 16,
				 .tag = 0xabcd,
				 .mtu = 1024,
				 .timeout_ns = 100000000};
	struct weft_err err = {""};
	uint32_t devices;
	int status;

	if (!opt_main(&conform_command, &o, argc, argv, &devices, &status))
		return status;
	if (o.list) {
		print_list();
		return 0;
	}
	status = devices ? check(&o, &err) : weft_err_set(&err, -EINVAL, "name the interface (see --help)");
	status = status ? status : run(&o, argv[1], &err);
	if (status < 0)
		fprintf(stderr, "weft conform: %s\n", err.msg);
	return status < 0 ? EXIT_USAGE : status;
}
