/* SPDX-License-Identifier: BSD-3-Clause */
#include "prov_nic_info.h"

#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prov_net.h"

/* All in one piece of memory but the strings. `nic` is its first member: libfabric's pointer is ours. */
struct nic_info {
	struct fid_nic nic;
	struct fi_device_attr device;
	struct fi_bus_attr bus;
	struct fi_link_attr link;
};

enum { VALUE_BYTES = 128, MBPS = 1000000, STRINGS = 8 };

static struct nic_info *nic_info_new(void);

static void strings_of(struct nic_info *n, char **at[STRINGS])
{
	char **const all[STRINGS] = {&n->device.name,      &n->device.device_id, &n->device.device_version,
				     &n->device.vendor_id, &n->device.driver,    &n->device.firmware,
				     &n->link.address,     &n->link.network_type};
	memcpy(at, all, sizeof all);
}

static int nic_info_close(struct fid *fid)
{
	struct nic_info *n = (struct nic_info *)fid;
	char **strings[STRINGS];
	strings_of(n, strings);
	for (size_t i = 0; i < STRINGS; i++)
		free(*strings[i]);
	free(n);
	return 0;
}

static struct nic_info *nic_info_dup(struct nic_info *n)
{
	struct nic_info *dup = nic_info_new();
	char **from[STRINGS], **to[STRINGS];
	bool good = dup != NULL;
	if (!good)
		return NULL;
	dup->device = n->device;
	dup->bus = n->bus;
	dup->link = n->link;
	strings_of(n, from);
	strings_of(dup, to);
	for (size_t i = 0; i < STRINGS; i++) {
		*to[i] = *from[i] ? strdup(*from[i]) : NULL;
		good = good && (*to[i] || !*from[i]);
	}
	if (!good)
		nic_info_close(&dup->nic.fid);
	return good ? dup : NULL;
}

/* What fi_dupinfo asks for. */
static int nic_info_control(struct fid *fid, int command, void *arg)
{
	struct fid_nic **out = arg;
	if (command != FI_DUP)
		return -FI_ENOSYS;
	*out = (struct fid_nic *)nic_info_dup((struct nic_info *)fid);
	return *out ? 0 : -FI_ENOMEM;
}

static const char *or_none(const char *text)
{
	return text ? text : "(null)";
}

static const char *state_name(enum fi_link_state state)
{
	return state == FI_LINK_UP ? "FI_LINK_UP" : state == FI_LINK_DOWN ? "FI_LINK_DOWN" : "FI_LINK_UNKNOWN";
}

/* As fi_info -v shows it, behind what is in `buf`. */
static int nic_info_tostr(const struct fid *fid, char *buf, size_t len)
{
	const struct nic_info *n = (const struct nic_info *)fid;
	const struct fi_pci_attr *pci = &n->bus.attr.pci;
	char place[32] = "FI_BUS_UNKNOWN";
	size_t used = strnlen(buf, len);
	if (n->bus.bus_type == FI_BUS_PCI)
		snprintf(place, sizeof place, "FI_BUS_PCI %04x:%02x:%02x.%x", pci->domain_id, pci->bus_id,
			 pci->device_id, pci->function_id);
	snprintf(buf + used, len - used,
		 "    nic:\n        name: %s\n        driver: %s\n        vendor_id: %s\n        device_id: %s\n"
		 "        bus: %s\n        address: %s\n        mtu: %zu\n        speed: %zu\n        state: %s\n"
		 "        network_type: %s\n",
		 n->device.name, or_none(n->device.driver), or_none(n->device.vendor_id), or_none(n->device.device_id),
		 place, or_none(n->link.address), n->link.mtu, n->link.speed, state_name(n->link.state),
		 n->link.network_type);
	return 0;
}

static struct fi_ops nic_info_ops = {
	.size = sizeof(struct fi_ops), .close = nic_info_close, .control = nic_info_control, .tostr = nic_info_tostr};

static struct nic_info *nic_info_new(void)
{
	struct nic_info *n = calloc(1, sizeof *n);
	if (n)
		n->nic = (struct fid_nic){.fid = {.fclass = FI_CLASS_NIC, .ops = &nic_info_ops},
					  .device_attr = &n->device,
					  .bus_attr = &n->bus,
					  .link_attr = &n->link};
	return n;
}

/* The first line of a file of sysfs; false: there is none, or the kernel does not know (a speed of a link that is
 * down). */
static bool value_read(const char *dir, const char *file, char value[VALUE_BYTES])
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof path, "%s/%s", dir, file);
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	bool good = fgets(value, VALUE_BYTES, f);
	fclose(f);
	if (good)
		value[strcspn(value, "\n")] = 0;
	return good;
}

static uint64_t number_read(const char *dir, const char *file)
{
	char value[VALUE_BYTES];
	long long n = value_read(dir, file, value) ? strtoll(value, NULL, 0) : 0;
	return n > 0 ? (uint64_t)n : 0;
}

/* NULL: there is no such file, or no memory. */
static char *value_dup(const char *dir, const char *file)
{
	char value[VALUE_BYTES];
	return value_read(dir, file, value) ? strdup(value) : NULL;
}

/* The driver is where a link leads to. */
static char *driver_dup(const char *dir)
{
	char path[PATH_MAX + 32], target[PATH_MAX];
	snprintf(path, sizeof path, "%s/driver", dir);
	return realpath(path, target) ? strdup(basename(target)) : NULL;
}

static bool pci_parse(const char *name, struct fi_pci_attr *pci)
{
	int len = 0;
	bool good = sscanf(name, "%4" SCNx16 ":%2" SCNx8 ":%2" SCNx8 ".%1" SCNx8 "%n", &pci->domain_id, &pci->bus_id,
			   &pci->device_id, &pci->function_id, &len) == 4;
	return good && (name[len] == 0 || name[len] == ',');
}

/* `dir` leads to the device of a bus. Its name is the PCI address where it is a PCI function, or that of the directory
 * around it where it is behind one, as virtio's are. */
static void device_fill(struct nic_info *n, const char *dir)
{
	char path[PATH_MAX];
	n->device.device_id = value_dup(dir, "device");
	n->device.vendor_id = value_dup(dir, "vendor");
	n->device.device_version = value_dup(dir, "revision");
	n->device.driver = driver_dup(dir);
	char *at = realpath(dir, path);
	for (int up = 0; at && up < 2 && n->bus.bus_type != FI_BUS_PCI; up++) {
		if (pci_parse(basename(at), &n->bus.attr.pci))
			n->bus.bus_type = FI_BUS_PCI;
		at = dirname(at);
	}
}

static void link_fill(struct nic_info *n, const char *dir)
{
	char value[VALUE_BYTES];
	n->link.address = value_dup(dir, "address");
	n->link.mtu = number_read(dir, "mtu");
	n->link.speed = number_read(dir, "speed") * MBPS;
	if (!value_read(dir, "operstate", value))
		return;
	if (!strcmp(value, "up"))
		n->link.state = FI_LINK_UP;
	else if (!strcmp(value, "down"))
		n->link.state = FI_LINK_DOWN;
}

static void fill(struct nic_info *n, const struct prov_dev *dev, const char *sysfs)
{
	char iface[WEFT_IF_NAME_BYTES], dir[PATH_MAX], bus_dir[PATH_MAX + 16];
	struct fi_pci_attr pci;
	if (prov_net_iface(dev, iface, sizeof iface)) {
		snprintf(dir, sizeof dir, "%s/class/net/%s", sysfs, iface);
		link_fill(n, dir);
		snprintf(bus_dir, sizeof bus_dir, "%s/device", dir);
		device_fill(n, bus_dir);
	} else if (pci_parse(dev->devargs, &pci)) {
		snprintf(dir, sizeof dir, "%s/bus/pci/devices/%.*s", sysfs, (int)strcspn(dev->devargs, ","),
			 dev->devargs);
		device_fill(n, dir);
		n->bus = (struct fi_bus_attr){.bus_type = FI_BUS_PCI, .attr.pci = pci};
	}
	if (dev->mtu_bytes)
		n->link.mtu = dev->mtu_bytes;
}

struct fid_nic *prov_nic_info(const struct prov_dev *dev, const char *sysfs)
{
	struct nic_info *n = nic_info_new();
	if (!n)
		return NULL;
	n->device.name = strdup(dev->name);
	n->link.network_type = strdup("Ethernet");
	if (!n->device.name || !n->link.network_type) {
		nic_info_close(&n->nic.fid);
		return NULL;
	}
	fill(n, dev, sysfs);
	return &n->nic;
}
