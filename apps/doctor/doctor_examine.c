/* SPDX-License-Identifier: BSD-3-Clause */
/* Which device is meant: the PCI function, its interface and its driver, whichever of them was named. */
#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

enum { PCI_CHARS = 12 }; /* 0000:03:00.0 */

static bool is_pci(const char *text)
{
	static const char shape[] = "xxxx:xx:xx.x";
	if (strlen(text) != PCI_CHARS)
		return false;
	for (int i = 0; i < PCI_CHARS; i++)
		if (shape[i] == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != shape[i])
			return false;
	return true;
}

/* The nearest PCI function in the path of the interface's device: a virtio device hangs below one. */
static void pci_of_iface(struct doctor *d)
{
	char path[512], real[PATH_MAX], *name;
	if (!fs_path(d, path, sizeof path, "sys/class/net/%s/device", d->iface) || realpath(path, real) == NULL)
		return;
	while ((name = strrchr(real, '/')) != NULL) {
		if (is_pci(name + 1)) {
			memcpy(d->pci, name + 1, PCI_CHARS + 1);
			return;
		}
		*name = '\0';
	}
}

static void iface_of_pci(struct doctor *d)
{
	static const char *const places[] = {"net/*", "virtio*/net/*"};
	for (unsigned i = 0; i < sizeof places / sizeof places[0] && d->iface[0] == '\0'; i++) {
		char pattern[512];
		glob_t found;
		snprintf(pattern, sizeof pattern, "%s/sys/bus/pci/devices/%s/%s", d->root, d->pci, places[i]);
		if (glob(pattern, 0, NULL, &found) != 0)
			continue;
		snprintf(d->iface, sizeof d->iface, "%s", strrchr(found.gl_pathv[0], '/') + 1);
		globfree(&found);
	}
}

static bool is_served(const char *device)
{
	return strcmp(device, "host") == 0 || strncmp(device, "host:", 5) == 0 || strncmp(device, "shm:", 4) == 0;
}

static void device_find(struct doctor *d)
{
	char path[512];
	d->is_served = is_served(d->device);
	if (d->is_served)
		return;
	if (is_pci(d->device)) {
		if (!fs_path(d, path, sizeof path, "sys/bus/pci/devices/%s", d->device))
			return;
		memcpy(d->pci, d->device, PCI_CHARS + 1);
		iface_of_pci(d);
	} else if (strchr(d->device, '/') == NULL && strlen(d->device) < sizeof d->iface &&
		   fs_path(d, path, sizeof path, "sys/class/net/%s", d->device)) {
		snprintf(d->iface, sizeof d->iface, "%s", d->device);
		pci_of_iface(d);
	} else {
		d->is_virtual = strncmp(d->device, "net_", 4) == 0;
	}
}

static void process_read(struct doctor *d)
{
	uint64_t uid = 0, gid = 0;
	fs_field_number(d, "proc/self/status", "Uid", 10, &uid);
	fs_field_number(d, "proc/self/status", "Gid", 10, &gid);
	fs_field_number(d, "proc/self/status", "CapEff", 16, &d->caps);
	d->uid = (uint32_t)uid;
	d->gid = (uint32_t)gid;
}

void doctor_examine(struct doctor *d)
{
	process_read(d);
	if (d->device != NULL)
		device_find(d);
	if (d->pci[0] != '\0')
		fs_link(d, d->driver, sizeof d->driver, "sys/bus/pci/devices/%s/driver", d->pci);
	doctor_eth_read(d);
}

bool doctor_is_userspace(const struct doctor *d)
{
	return strcmp(d->driver, "vfio-pci") == 0 || strcmp(d->driver, "uio_pci_generic") == 0 ||
	       strcmp(d->driver, "igb_uio") == 0;
}
