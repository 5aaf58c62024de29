/* SPDX-License-Identifier: BSD-3-Clause */
/* What fi_info says of the hardware, from a directory that looks like the kernel's /sys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "prov_nic_info.h"
#include "temp_dir.h"

static char root[] = "/tmp/weft-sysfs-XXXXXX";

/* Parents are made as well. */
static const char *path_of(const char *file)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s", root, file);
	for (char *slash = path + sizeof root; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
	return path;
}

static void file(const char *name, const char *text)
{
	FILE *f = fopen(path_of(name), "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#define PCI "devices/pci0000:00/0000:af:10.5"

static int setup(void **state)
{
	assert_non_null(mkdtemp(root));
	file(PCI "/vendor", "0x15b3\n");
	file(PCI "/device", "0x1021\n");
	file(PCI "/revision", "0x02\n");
	file("bus/pci/drivers/mlx5_core/bind", "");
	assert_int_equal(symlink("../../../bus/pci/drivers/mlx5_core", path_of(PCI "/driver")), 0);
	assert_int_equal(symlink("../../../" PCI, path_of("bus/pci/devices/0000:af:10.5")), 0);
	file("class/net/lo/address", "b8:ce:f6:01:02:03\n");
	file("class/net/lo/mtu", "9000\n");
	file("class/net/lo/speed", "400000\n");
	file("class/net/lo/operstate", "up\n");
	assert_int_equal(symlink("../../../" PCI, path_of("class/net/lo/device")), 0);
	file(PCI "/virtio3/vendor", "0x1af4\n");
	assert_int_equal(symlink("../../../" PCI "/virtio3", path_of("class/net/virtual/device")), 0);
	file("class/net/down/speed", "-1\n");
	file("class/net/down/operstate", "down\n");
	return 0;
}

static int teardown(void **state)
{
	return temp_dir_remove(root);
}

static struct fid_nic *info_of(char *devargs, uint32_t mtu_bytes)
{
	struct prov_dev dev = {.name = "name", .devargs = devargs, .mtu_bytes = mtu_bytes};
	struct fid_nic *nic = prov_nic_info(&dev, root);
	assert_non_null(nic);
	assert_int_equal(nic->fid.fclass, FI_CLASS_NIC);
	assert_string_equal(nic->device_attr->name, "name");
	assert_string_equal(nic->link_attr->network_type, "Ethernet");
	return nic;
}

static void assert_function(const struct fid_nic *nic)
{
	const struct fi_pci_attr *pci = &nic->bus_attr->attr.pci;
	assert_string_equal(nic->device_attr->vendor_id, "0x15b3");
	assert_string_equal(nic->device_attr->device_id, "0x1021");
	assert_string_equal(nic->device_attr->device_version, "0x02");
	assert_string_equal(nic->device_attr->driver, "mlx5_core");
	assert_int_equal(nic->bus_attr->bus_type, FI_BUS_PCI);
	assert_true(pci->domain_id == 0 && pci->bus_id == 0xaf && pci->device_id == 0x10 && pci->function_id == 5);
}

/* As a device of its own name or named as "iface=" (the test's interface is one that every machine has). */
static void interface__link_and_function(void **state)
{
	char *devargs[] = {"lo", "net_af_packet0,iface=lo"};
	for (int i = 0; i < 2; i++) {
		struct fid_nic *nic = info_of(devargs[i], 0);
		assert_function(nic);
		assert_string_equal(nic->link_attr->address, "b8:ce:f6:01:02:03");
		assert_int_equal(nic->link_attr->mtu, 9000);
		assert_int_equal(nic->link_attr->speed, 400000000000);
		assert_int_equal(nic->link_attr->state, FI_LINK_UP);
		fi_close(&nic->fid);
	}
}

/* fi_dupinfo and fi_info -v, by libfabric's own code. */
static void copies_and_text(void **state)
{
	struct fi_info *info = fi_allocinfo(), *dup;
	info->nic = info_of("lo", 0);
	dup = fi_dupinfo(info);
	fi_freeinfo(info);
	assert_non_null(dup->nic);
	assert_function(dup->nic);
	assert_int_equal(dup->nic->link_attr->speed, 400000000000);
	const char *text = fi_tostr(dup, FI_TYPE_INFO);
	assert_non_null(strstr(text, "bus: FI_BUS_PCI 0000:af:10.5\n"));
	assert_non_null(strstr(text, "address: b8:ce:f6:01:02:03\n"));
	assert_non_null(strstr(text, "state: FI_LINK_UP\n"));
	fi_freeinfo(dup);
}

static void interface__down_and_virtual(void **state)
{
	struct fid_nic *nic = info_of("net_af_packet0,iface=down", 1400);
	assert_int_equal(nic->link_attr->speed, 0);
	assert_int_equal(nic->link_attr->state, FI_LINK_DOWN);
	assert_int_equal(nic->link_attr->mtu, 1400);
	assert_null(nic->link_attr->address);
	assert_int_equal(nic->bus_attr->bus_type, FI_BUS_UNKNOWN);
	assert_null(nic->device_attr->driver);
	fi_close(&nic->fid);
}

static void interface__behind_a_function(void **state)
{
	struct fid_nic *nic = info_of("net_af_packet0,iface=virtual", 0);
	assert_string_equal(nic->device_attr->vendor_id, "0x1af4");
	assert_int_equal(nic->bus_attr->bus_type, FI_BUS_PCI);
	assert_int_equal(nic->bus_attr->attr.pci.bus_id, 0xaf);
	fi_close(&nic->fid);
}

static void function__of_dpdk(void **state)
{
	char *devargs[] = {"0000:af:10.5", "0000:af:10.5,representor=0"};
	for (int i = 0; i < 2; i++) {
		struct fid_nic *nic = info_of(devargs[i], 0);
		assert_function(nic);
		assert_int_equal(nic->link_attr->state, FI_LINK_UNKNOWN);
		fi_close(&nic->fid);
	}
}

static void neither__is_named_alone(void **state)
{
	char *devargs[] = {"net_virtio_user0,path=/tmp/x", "0000:af:10", "0000:af:10.5x", "net_af_packet0,iface=gone"};
	for (size_t i = 0; i < sizeof devargs / sizeof *devargs; i++) {
		struct fid_nic *nic = info_of(devargs[i], 0);
		assert_int_equal(nic->bus_attr->bus_type, FI_BUS_UNKNOWN);
		assert_null(nic->device_attr->vendor_id);
		assert_null(nic->link_attr->address);
		fi_close(&nic->fid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interface__link_and_function),
		cmocka_unit_test(copies_and_text),
		cmocka_unit_test(interface__down_and_virtual),
		cmocka_unit_test(interface__behind_a_function),
		cmocka_unit_test(function__of_dpdk),
		cmocka_unit_test(neither__is_named_alone),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
