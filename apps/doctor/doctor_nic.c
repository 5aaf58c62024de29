/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of a device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"

enum {
	CAP_NET_RAW_BIT = 13,
	MTU_JUMBO = 9000,
	IP_PACKET_MAX = 65535, /* the kernel tells no larger MTU of a path */
	MODE_RW = 6,
	PATH_TEXT_BYTES = 128,
};

/* These drivers of the kernel share the NIC with DPDK. */
static bool is_bifurcated(const char *driver)
{
	static const char *const names[] = {"mlx5_core", "mlx4_core", "mana"};
	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(driver, names[i]) == 0)
			return true;
	return false;
}

static void check_device(const struct doctor *d, struct doctor_finding *f)
{
	if (d->is_served) {
		doctor_say(f, DOCTOR_OK, "a port of %s: there is nothing to check",
			   d->device[0] == 'h' ? "weft host" : "weft switch, in shared memory");
	} else if (d->pci[0] == '\0' && d->iface[0] == '\0' && !d->is_virtual) {
		doctor_say(f, DOCTOR_ERROR, "no such PCI device or interface: %.80s", d->device);
		doctor_mend(f, "weft doctor    (lists the NICs)");
	} else if (d->is_virtual) {
		doctor_say(f, DOCTOR_OK, "a virtual device of DPDK");
	} else {
		doctor_say(f, DOCTOR_OK, "%s%s%s", d->pci[0] != '\0' ? d->pci : "no PCI device",
			   d->iface[0] != '\0' ? ", interface " : "", d->iface);
	}
}

static void driver_of_pci(const struct doctor *d, struct doctor_finding *f)
{
	if (strcmp(d->driver, "vfio-pci") == 0 || is_bifurcated(d->driver)) {
		doctor_say(f, DOCTOR_OK, "%s", d->driver);
	} else if (doctor_is_userspace(d)) {
		doctor_say(f, DOCTOR_WARNING, "%s: needs root, and the NIC can write to all memory", d->driver);
		doctor_mend(f, "modprobe vfio-pci; dpdk-devbind.py -b vfio-pci %s", d->pci);
	} else {
		doctor_say(f, DOCTOR_ERROR, "%s: DPDK cannot use it%s%s", d->driver[0] != '\0' ? d->driver : "none",
			   d->iface[0] != '\0' ? "; the kernel's interface can be named instead: " : "", d->iface);
		doctor_mend(f, "modprobe vfio-pci; dpdk-devbind.py -b vfio-pci %s", d->pci);
	}
}

static void check_driver(const struct doctor *d, struct doctor_finding *f)
{
	bool named_iface = d->iface[0] != '\0' && strcmp(d->device, d->iface) == 0;
	if (named_iface)
		doctor_say(f, DOCTOR_OK, "%s, by the kernel's interface", d->driver[0] != '\0' ? d->driver : "virtual");
	else if (d->pci[0] != '\0')
		driver_of_pci(d, f);
}

/* Whether a CPU list such as 0-3,8 has a CPU of another. */
static bool cpus_meet(const char *a, const char *b)
{
	char rest[512], *save = NULL;
	snprintf(rest, sizeof rest, "%s", a);
	for (char *part = strtok_r(rest, ",", &save); part != NULL; part = strtok_r(NULL, ",", &save)) {
		unsigned long first = strtoul(part, &part, 10),
			      last = *part == '-' ? strtoul(part + 1, NULL, 10) : first;
		for (const char *p = b; *p != '\0';) {
			char *end;
			unsigned long low = strtoul(p, &end, 10), high = *end == '-' ? strtoul(end + 1, &end, 10) : low;
			if (end == p || (first <= high && low <= last))
				return end != p;
			p = *end == ',' ? end + 1 : "";
		}
	}
	return false;
}

static void check_numa(const struct doctor *d, struct doctor_finding *f)
{
	char near[256] = "", ours[256] = "";
	int64_t node = -1;
	if (d->pci[0] == '\0' || !fs_number(d, &node, "sys/bus/pci/devices/%s/numa_node", d->pci))
		return;
	if (node < 0) {
		doctor_say(f, DOCTOR_OK, "no node of its own");
		return;
	}
	fs_text(d, near, sizeof near, "sys/bus/pci/devices/%s/local_cpulist", d->pci);
	fs_field(d, "proc/self/status", "Cpus_allowed_list", ours, sizeof ours);
	if (near[0] == '\0' || ours[0] == '\0' || cpus_meet(ours, near)) {
		doctor_say(f, DOCTOR_OK, "node %" PRId64 ", CPUs %s", node, near);
	} else {
		doctor_say(f, DOCTOR_WARNING, "node %" PRId64 " has CPUs %s, this process may run on %s", node, near,
			   ours);
		doctor_mend(f, "numactl --cpunodebind=%" PRId64 " --membind=%" PRId64 " PROGRAM", node, node);
	}
}

static bool may_use(const struct doctor *d, const char *path)
{
	struct stat s;
	if (stat(path, &s) != 0)
		return false;
	if (d->uid == 0 || (d->root[0] == '\0' && access(path, R_OK | W_OK) == 0))
		return true;
	unsigned shift = s.st_uid == d->uid ? 6 : s.st_gid == d->gid ? 3 : 0;
	return (s.st_mode >> shift & MODE_RW) == MODE_RW;
}

static void permissions_of_vfio(const struct doctor *d, struct doctor_finding *f)
{
	char group[32] = "", path[512];
	if (!fs_link(d, group, sizeof group, "sys/bus/pci/devices/%s/iommu_group", d->pci))
		return;
	if (!fs_path(d, path, sizeof path, "dev/vfio/%s", group)) {
		doctor_say(f, DOCTOR_ERROR, "there is no /dev/vfio/%s", group);
		doctor_mend(f, "modprobe vfio-pci; in a container: --device /dev/vfio");
	} else if (may_use(d, path)) {
		doctor_say(f, DOCTOR_OK, "/dev/vfio/%s may be used", group);
	} else {
		doctor_say(f, DOCTOR_ERROR, "user %u may not use /dev/vfio/%s", d->uid, group);
		doctor_mend(f, "chown %u /dev/vfio/%s    (after each boot; or a rule of udev)", d->uid, group);
	}
}

static void check_permissions(const struct doctor *d, struct doctor_finding *f)
{
	if (strcmp(d->driver, "vfio-pci") == 0) {
		permissions_of_vfio(d, f);
	} else if (d->iface[0] != '\0' || doctor_is_userspace(d)) {
		bool raw = (d->caps >> CAP_NET_RAW_BIT & 1) != 0;
		doctor_say(f, raw ? DOCTOR_OK : DOCTOR_ERROR, "raw sockets are %s",
			   raw ? "allowed" : "not allowed: needs root or CAP_NET_RAW");
		if (!raw)
			doctor_mend(f, "sudo capsh --keep=1 --user=$USER --inh=cap_net_raw --addamb=cap_net_raw -- -c "
				       "PROGRAM");
	}
}

/* What is known of the path to the peer, behind the MTU of the interface; empty: no peer was named. */
static void path_text(const struct doctor *d, int64_t mtu_bytes, char text[PATH_TEXT_BYTES])
{
	int64_t most = mtu_bytes < IP_PACKET_MAX ? mtu_bytes : IP_PACKET_MAX;
	text[0] = '\0';
	if (d->peer == NULL)
		return;
	if (d->path_mtu_bytes == 0)
		snprintf(text, PATH_TEXT_BYTES, "; no route to %.60s", d->peer);
	else if (d->path_mtu_bytes == most)
		snprintf(text, PATH_TEXT_BYTES, ", the path's as well");
	else
		snprintf(text, PATH_TEXT_BYTES, ", and %u on the path to %.60s", d->path_mtu_bytes, d->peer);
}

/* Of a device without an interface of the kernel: other routes than the device's own may lead to the peer. */
static void path_alone(const struct doctor *d, struct doctor_finding *f)
{
	if (d->peer == NULL || d->is_served)
		return;
	if (d->path_mtu_bytes != 0)
		doctor_say(f, DOCTOR_OK, "%u on the kernel's path to %.60s", d->path_mtu_bytes, d->peer);
	else
		doctor_say(f, DOCTOR_OK, "not known: the kernel has no route to %.60s", d->peer);
}

static void mtu_of_iface(const struct doctor *d, int64_t mtu_bytes, struct doctor_finding *f)
{
	char path[PATH_TEXT_BYTES];
	bool has_path = d->peer != NULL && d->path_mtu_bytes != 0;
	path_text(d, mtu_bytes, path);
	if (has_path && d->path_mtu_bytes < mtu_bytes && d->path_mtu_bytes < IP_PACKET_MAX) {
		doctor_say(f, DOCTOR_WARNING,
			   "%" PRId64 ", but %u on the path to %.60s: large packets are probed and given up", mtu_bytes,
			   d->path_mtu_bytes, d->peer);
		doctor_mend(f, "FI_WEFT_MTU=%u, or raise the MTU of every hop", d->path_mtu_bytes);
	} else if (d->peer != NULL && !has_path) {
		doctor_say(f, DOCTOR_WARNING, "%" PRId64 "%s", mtu_bytes, path);
		doctor_mend(f, "ip route add %.60s dev %s    (or its network, by a router)", d->peer, d->iface);
	} else if (mtu_bytes < MTU_JUMBO) {
		doctor_say(f, DOCTOR_WARNING, "%" PRId64 "%s: small packets cost more CPU time per byte", mtu_bytes,
			   path);
		doctor_mend(f, "ip link set dev %s mtu %d    (switches and peers must carry it as well)", d->iface,
			    MTU_JUMBO);
	} else {
		doctor_say(f, DOCTOR_OK, "%" PRId64 "%s", mtu_bytes, path);
	}
}

static void check_mtu(const struct doctor *d, struct doctor_finding *f)
{
	int64_t mtu_bytes;
	if (d->iface[0] == '\0')
		path_alone(d, f);
	else if (fs_number(d, &mtu_bytes, "sys/class/net/%s/mtu", d->iface))
		mtu_of_iface(d, mtu_bytes, f);
}

static void check_speed(const struct doctor *d, struct doctor_finding *f)
{
	int64_t mbps = -1, carrier = 0;
	if (d->iface[0] == '\0')
		return;
	if (!fs_number(d, &carrier, "sys/class/net/%s/carrier", d->iface) || carrier == 0) {
		doctor_say(f, DOCTOR_ERROR, "the link is down");
		doctor_mend(f, "ip link set dev %s up; check the cable and the switch", d->iface);
	} else if (!fs_number(d, &mbps, "sys/class/net/%s/speed", d->iface) || mbps <= 0) {
		doctor_say(f, DOCTOR_WARNING, "unknown: the rate is found by measuring, which takes some round trips");
		doctor_mend(f, "FI_WEFT_TUNE=link_bps=25G    (the true speed)");
	} else {
		doctor_say(f, DOCTOR_OK, "%g Gb/s", (double)mbps / 1e3);
	}
}

/* Gb/s of a PCIe slot: GT/s times lanes, less the line code. */
static double pcie_gbps(const struct doctor *d, const char *kind)
{
	char speed[64] = "";
	int64_t lanes = 0;
	fs_text(d, speed, sizeof speed, "sys/bus/pci/devices/%s/%s_link_speed", d->pci, kind);
	fs_number(d, &lanes, "sys/bus/pci/devices/%s/%s_link_width", d->pci, kind);
	double giga = strtod(speed, NULL);
	return giga * (double)lanes * (giga > 7.9 ? 128.0 / 130.0 : 0.8);
}

static void check_pcie(const struct doctor *d, struct doctor_finding *f)
{
	int64_t mbps = 0;
	double now = pcie_gbps(d, "current"), most = pcie_gbps(d, "max");
	if (d->pci[0] == '\0' || now <= 0)
		return;
	if (d->iface[0] != '\0')
		fs_number(d, &mbps, "sys/class/net/%s/speed", d->iface);
	bool slow = mbps > 0 ? now < (double)mbps / 1e3 : now < most;
	doctor_say(f, slow ? DOCTOR_WARNING : DOCTOR_OK, "%.0f of %.0f Gb/s", now, most);
	if (slow)
		doctor_mend(f, "move the NIC to a slot with more lanes; lspci -vv -s %s    (LnkSta)", d->pci);
}

static void check_offloads(const struct doctor *d, struct doctor_finding *f)
{
	if (!d->eth.is_known)
		return;
	doctor_say(f, d->eth.tx_sg ? DOCTOR_OK : DOCTOR_WARNING, "transmit checksums %s, scatter-gather %s",
		   d->eth.tx_csum ? "on" : "off", d->eth.tx_sg ? "on" : "off: payload is copied");
	if (!d->eth.tx_sg)
		doctor_mend(f, "ethtool -K %s sg on    (if the NIC can)", d->iface);
}

static void check_rss(const struct doctor *d, struct doctor_finding *f)
{
	if (!d->eth.is_known || d->eth.rx_queues == 0)
		return;
	if (d->eth.rx_queues == 1) {
		doctor_say(f, DOCTOR_OK, "one receive queue");
	} else if (!d->eth.hash_is_known) {
		doctor_say(f, DOCTOR_WARNING, "%u receive queues; the driver does not tell what their hash looks at",
			   d->eth.rx_queues);
		doctor_mend(f, "ethtool -L %s combined 1", d->iface);
	} else if (d->eth.hashes_ports) {
		doctor_say(f, DOCTOR_WARNING,
			   "%u receive queues by UDP ports, which change per packet: a peer's packets scatter",
			   d->eth.rx_queues);
		doctor_mend(f, "ethtool -N %s rx-flow-hash udp4 sd", d->iface);
	} else {
		doctor_say(f, DOCTOR_OK, "%u receive queues, by addresses", d->eth.rx_queues);
	}
}

static void check_af_xdp(const struct doctor *d, struct doctor_finding *f)
{
	if (!d->eth.xdp_is_known)
		return;
	if (d->eth.no_xdp[0] == '\0')
		doctor_say(f, DOCTOR_OK, "can be used on %s", d->iface);
	else
		doctor_say(f, DOCTOR_WARNING, "packet sockets, which are slower, are used on %s: %s", d->iface,
			   d->eth.no_xdp);
}

const struct doctor_check doctor_nic_checks[] = {
	{"device", check_device},
	{"driver", check_driver},
	{"permissions", check_permissions},
	{"numa", check_numa},
	{"mtu", check_mtu},
	{"speed", check_speed},
	{"pcie", check_pcie},
	{"offloads", check_offloads},
	{"rss", check_rss},
	{"af_xdp", check_af_xdp},
	{NULL, NULL},
};
