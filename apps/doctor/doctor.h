/* SPDX-License-Identifier: BSD-3-Clause */
/* What the checks of `weft doctor` share: the device under examination, and what a check found. */
#ifndef WEFT_DOCTOR_H
#define WEFT_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum doctor_level {
	DOCTOR_NONE, /* the check does not apply */
	DOCTOR_OK,
	DOCTOR_WARNING, /* works, but slower or less safe than it could */
	DOCTOR_ERROR,   /* will not work */
};

struct doctor_finding {
	const char *check; /* its name in the table, static */
	enum doctor_level level;
	char text[320]; /* what is, in one line */
	char fix[320];  /* the command that mends it; empty: nothing to mend */
};

/* What the driver of an interface says through ioctl. */
struct doctor_eth {
	bool is_known;       /* false: nothing of the below */
	bool hash_is_known;  /* the driver tells what its RSS hashes */
	bool hashes_ports;   /* RSS of UDP over IPv4 looks at the ports */
	bool tx_csum, tx_sg; /* transmit checksums; packets of several segments */
	uint32_t rx_queues;  /* 0: unknown */
	bool xdp_is_known;   /* false: not asked */
	char no_xdp[256];    /* why AF_XDP does not suit; empty: it does */
};

/* Strings are terminated, and empty where there is no such thing. */
struct doctor {
	const char *root;   /* directory with sys, proc and dev; "" is that of this machine */
	const char *device; /* as named on the command line; NULL: the host alone */
	const char *peer;   /* address whose path is asked for; NULL: none */
	bool is_virtual;    /* a virtual device of DPDK, such as net_virtio_user0 */
	bool is_served;     /* a port of weft host or weft switch, which have the device */
	char pci[16];       /* PCI address */
	char iface[16];     /* interface of the kernel */
	char driver[32];    /* of the PCI device */
	uint32_t uid, gid;
	uint64_t caps;           /* effective capabilities, a bit each */
	uint32_t path_mtu_bytes; /* what the kernel knows of the path to `peer`; 0: it has no route */
	struct doctor_eth eth;
};

/* One finding about one thing; `f` comes zeroed but for `check`. */
struct doctor_check {
	const char *name;
	void (*run)(const struct doctor *d, struct doctor_finding *f);
};

extern const struct doctor_check doctor_host_checks[], doctor_nic_checks[]; /* ended by a NULL name */

void doctor_say(struct doctor_finding *f, enum doctor_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void doctor_mend(struct doctor_finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fills in everything of `d` behind `peer`, from root, device and peer. */
void doctor_examine(struct doctor *d);

/* The facts of `d->eth`, and the path's MTU. */
void doctor_eth_read(struct doctor *d);

/* Whether the device is for vfio-pci or another driver that hands it to user space. */
bool doctor_is_userspace(const struct doctor *d);

/* Files below d->root; paths are formats and begin with "sys/", "proc/" or "dev/". False: there is none. */
bool fs_path(const struct doctor *d, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The first line, without the space at its end. */
bool fs_text(const struct doctor *d, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool fs_number(const struct doctor *d, int64_t *out, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The last name of the path that a symbolic link points to. */
bool fs_link(const struct doctor *d, char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* What follows `key`, and a colon or space, in the first line that begins with it. */
bool fs_field(const struct doctor *d, const char *path, const char *key, char *out, size_t size);
bool fs_field_number(const struct doctor *d, const char *path, const char *key, int base, uint64_t *out);

#endif
