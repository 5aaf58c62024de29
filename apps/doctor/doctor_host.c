/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the machine and of this process, whatever the device. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"

enum {
	POOL_MIB = 256,     /* what a process asks EAL for */
	HUGE_MIN_MIB = 128, /* free, or it starts EAL without hugepages */
	KIB_PER_MIB = 1024,
	CAP_IPC_LOCK_BIT = 14,
};

/* Whatever the default size is, which may be 1 GiB. */
#define HUGE_2M "sys/kernel/mm/hugepages/hugepages-2048kB"
#define MIB     (UINT64_C(1) << 20)

/* Of pages of all sizes, in KiB: what `file` counts. */
static int64_t huge_kib(const struct doctor *d, const char *file)
{
	static const unsigned page_kib[] = {64, 2 << 10, 16 << 10, 32 << 10, 512 << 10, 1 << 20};
	int64_t kib = 0;
	for (size_t i = 0; i < sizeof page_kib / sizeof *page_kib; i++) {
		int64_t pages = 0;
		fs_number(d, &pages, "sys/kernel/mm/hugepages/hugepages-%ukB/%s", page_kib[i], file);
		kib += pages * page_kib[i];
	}
	return kib;
}

static void check_hugepages(const struct doctor *d, struct doctor_finding *f)
{
	const int64_t all_mib = huge_kib(d, "nr_hugepages") / KIB_PER_MIB,
		      free_mib = huge_kib(d, "free_hugepages") / KIB_PER_MIB;
	int64_t reserved = 0;
	if (all_mib == 0) {
		doctor_say(f, DOCTOR_WARNING, "none reserved: works with pages of 4 KiB, at more TLB misses");
		doctor_mend(f, "echo %d > /" HUGE_2M "/nr_hugepages", 2 * POOL_MIB);
	} else if (free_mib < POOL_MIB) {
		fs_number(d, &reserved, HUGE_2M "/nr_hugepages");
		doctor_say(f, DOCTOR_WARNING,
			   "%" PRId64 " of %" PRId64
			   " MiB free, a process needs %d MiB; with less than %d it takes pages of 4 KiB",
			   free_mib, all_mib, POOL_MIB, HUGE_MIN_MIB);
		doctor_mend(f, "echo %" PRId64 " > /" HUGE_2M "/nr_hugepages", reserved + POOL_MIB);
	} else {
		doctor_say(f, DOCTOR_OK, "%" PRId64 " of %" PRId64 " MiB free, a process needs %d MiB", free_mib,
			   all_mib, POOL_MIB);
	}
}

/* "Max locked memory  SOFT  HARD  bytes". */
static uint64_t memlock_bytes(const struct doctor *d)
{
	char text[128];
	uint64_t bytes = 0;
	if (!fs_field(d, "proc/self/limits", "Max locked memory", text, sizeof text) ||
	    !isdigit((unsigned char)text[0]))
		return UINT64_MAX;
	sscanf(text, "%" SCNu64, &bytes);
	return bytes;
}

static void check_memlock(const struct doctor *d, struct doctor_finding *f)
{
	uint64_t bytes = memlock_bytes(d);
	if (bytes == UINT64_MAX) {
		doctor_say(f, DOCTOR_OK, "unlimited");
	} else if ((d->caps >> CAP_IPC_LOCK_BIT & 1) != 0) {
		doctor_say(f, DOCTOR_OK, "%" PRIu64 " MiB, which does not bind this user", bytes / MIB);
	} else if (bytes < POOL_MIB * MIB) {
		bool must = strcmp(d->driver, "vfio-pci") == 0;
		doctor_say(f, must ? DOCTOR_ERROR : DOCTOR_WARNING,
			   "%" PRIu64 " MiB may be locked; NICs on vfio-pci and af_xdp need %d MiB and more",
			   bytes / MIB, POOL_MIB);
		doctor_mend(f, "echo '* - memlock unlimited' > /etc/security/limits.d/weft.conf, then log in again");
	} else {
		doctor_say(f, DOCTOR_OK, "%" PRIu64 " MiB", bytes / MIB);
	}
}

static bool is_intel(const struct doctor *d)
{
	char vendor[64] = "";
	return fs_field(d, "proc/cpuinfo", "vendor_id", vendor, sizeof vendor) && strcmp(vendor, "GenuineIntel") == 0;
}

static void check_iommu(const struct doctor *d, struct doctor_finding *f)
{
	char group[32] = "", mode[8] = "";
	bool wants = strcmp(d->driver, "vfio-pci") == 0;
	if (d->pci[0] == '\0')
		return;
	if (fs_link(d, group, sizeof group, "sys/bus/pci/devices/%s/iommu_group", d->pci)) {
		doctor_say(f, DOCTOR_OK, "on, group %s", group);
		return;
	}
	if (!wants && strcmp(d->device, d->pci) != 0) {
		doctor_say(f, DOCTOR_OK, "off, which the kernel's interface does not mind");
		return;
	}
	fs_text(d, mode, sizeof mode, "sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
	if (wants && mode[0] == 'Y')
		doctor_say(f, DOCTOR_WARNING, "off, and vfio works without: the NIC can write to all memory");
	else
		doctor_say(f, wants ? DOCTOR_ERROR : DOCTOR_WARNING, "off: vfio-pci needs one");
	doctor_mend(f,
		    "add '%s' to the kernel's command line (GRUB_CMDLINE_LINUX), update-grub, reboot; check the BIOS "
		    "for it",
		    is_intel(d) ? "intel_iommu=on iommu=pt" : "iommu=pt");
}

static bool has_flag(const char *flags, const char *flag)
{
	const char *at = strstr(flags, flag);
	return at != NULL && (at[strlen(flag)] == ' ' || at[strlen(flag)] == '\0');
}

static void check_clock(const struct doctor *d, struct doctor_finding *f)
{
	char flags[4096] = "", source[32] = "";
	fs_field(d, "proc/cpuinfo", "flags", flags, sizeof flags);
	fs_text(d, source, sizeof source, "sys/devices/system/clocksource/clocksource0/current_clocksource");
	bool steady = has_flag(flags, "constant_tsc") && has_flag(flags, "nonstop_tsc");
	bool trusted =
		strcmp(source, "tsc") == 0 || strcmp(source, "kvm-clock") == 0 || strncmp(source, "hyperv", 6) == 0;
	if (steady && trusted) {
		doctor_say(f, DOCTOR_OK, "TSC is invariant, clock source %s", source);
	} else if (steady) {
		doctor_say(f, DOCTOR_WARNING,
			   "TSC is invariant, but the kernel uses %s: it may have found the TSC unstable",
			   source[0] != '\0' ? source : "an unknown clock source");
		doctor_mend(f, "dmesg | grep -i tsc; if the TSC is sound: tsc=reliable on the kernel's command line");
	} else {
		doctor_say(f, DOCTOR_WARNING,
			   "TSC is not invariant: times may be wrong after changes of the CPU's frequency");
		doctor_mend(
			f, "cpupower frequency-set -g performance; in a virtual machine: CPU model 'host' with invtsc");
	}
}

/* sched_yield gives way within the autogroup, that is the session; a launcher such as Hydra starts ranks in another one
 * than `weft switch` has. */
static void check_sessions(const struct doctor *d, struct doctor_finding *f)
{
	int64_t on = 0;
	if (!fs_number(d, &on, "proc/sys/kernel/sched_autogroup_enabled"))
		return;
	if (on == 0) {
		doctor_say(f, DOCTOR_OK, "processes give way to those of other sessions");
		return;
	}
	doctor_say(f, DOCTOR_WARNING,
		   "autogroups are on: where processes share a processor, ranks do not give way to a weft switch or "
		   "weft host of another session");
	doctor_mend(f, "sysctl -w kernel.sched_autogroup_enabled=0");
}

const struct doctor_check doctor_host_checks[] = {
	{"hugepages", check_hugepages}, {"memlock", check_memlock},   {"iommu", check_iommu},
	{"clock", check_clock},         {"sessions", check_sessions}, {NULL, NULL},
};
