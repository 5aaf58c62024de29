#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_doctor.py WEFT - `weft doctor` on trees that look like /sys, /proc and /dev: a sound one, and one change at a time."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

WEFT = sys.argv[1]
PCI = "0000:03:00.0"
NIC = "sys/devices/pci0000:00/" + PCI

FILES = {
    NIC + "/class": "0x020000",
    NIC + "/numa_node": "1",
    NIC + "/local_cpulist": "8-15",
    NIC + "/current_link_speed": "16.0 GT/s PCIe",
    NIC + "/current_link_width": "16",
    NIC + "/max_link_speed": "16.0 GT/s PCIe",
    NIC + "/max_link_width": "16",
    NIC + "/net/eth0/mtu": "9000",
    NIC + "/net/eth0/carrier": "1",
    NIC + "/net/eth0/speed": "100000",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "1024",
    "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "1024",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "proc/sys/kernel/sched_autogroup_enabled": "0",
    "proc/meminfo": "MemTotal:  1000 kB\nHugePages_Total:    1024\nHugePages_Free:     1024",
    "proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu tsc constant_tsc nonstop_tsc aes",
    "proc/self/status": "Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000002000\n"
                        "Cpus_allowed_list:\t0-15",
    "proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units\n"
                        "Max locked memory         unlimited            unlimited            bytes",
    "ethtool/eth0": "rx_queues 4\nhashes_ports 0\ntx_csum 1\ntx_sg 1\nno_xdp 0\npath_mtu 9000",
    "dev/vfio/17": "",
}
LINKS = {
    "sys/bus/pci/devices/" + PCI: "../../../devices/pci0000:00/" + PCI,
    "sys/class/net/eth0": "../../devices/pci0000:00/" + PCI + "/net/eth0",
    NIC + "/net/eth0/device": "../..",
    NIC + "/driver": "../../../bus/pci/drivers/ice",
    NIC + "/iommu_group": "../../../kernel/iommu_groups/17",
}
VFIO = {NIC + "/driver": "../../../bus/pci/drivers/vfio-pci"}
NO_INTERFACE = {path: None for path in FILES if "/net/" in path}
NO_INTERFACE_LINKS: dict[str, str | None] = {**VFIO, "sys/class/net/eth0": None, NIC + "/net/eth0/device": None}


def make(root, files, links):
    """The sound tree with other files and links; None: without it."""
    for path, text in (FILES | files).items():
        if text is not None:
            os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
            with open(f"{root}/{path}", "w", encoding="ascii") as file:
                file.write(text + "\n")
    for path, target in (LINKS | links).items():
        if target is not None:
            os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
            os.symlink(target, f"{root}/{path}")
    os.chmod(f"{root}/dev/vfio/17", 0o666)


def run(*args):
    return subprocess.run([WEFT, "doctor", *args], text=True, capture_output=True, timeout=60, check=False)


class Doctor(unittest.TestCase):
    def examine(self, device, files=None, links=None, mode=0o666, args=()):
        """Exit status, and the findings by check."""
        with tempfile.TemporaryDirectory(prefix="weft-doctor-") as root:
            make(root, files or {}, links or {})
            os.chmod(f"{root}/dev/vfio/17", mode)
            done = run("--root", root, "--json", *args, *([device] if device else []))
        report = json.loads(done.stdout)
        self.assertEqual(report["errors"], sum(f["level"] == "error" for f in report["findings"]))
        return done.returncode, {f["check"]: f for f in report["findings"]}

    def finds(self, check, level, word, fix, device="eth0", **tree):
        """One change of the tree changes this check's level, and no other's."""
        code, found = self.examine(device, **tree)
        self.assertEqual(found[check]["level"], level, found[check])
        self.assertIn(word, found[check]["text"])
        self.assertIn(fix, found[check]["fix"])
        others = {name: f for name, f in found.items() if name != check and f["level"] != "ok"}
        self.assertEqual(others, {})
        self.assertEqual(code, {"ok": 0, "warning": 3, "error": 1}[level])

    def vfio(self, check, level, word, fix, files=None, links=None, **tree):
        self.finds(check, level, word, fix, device=PCI, files={**NO_INTERFACE, **(files or {})},
                   links={**NO_INTERFACE_LINKS, **(links or {})}, **tree)

    def test_a_sound_interface_has_no_complaint(self):
        code, found = self.examine("eth0")
        self.assertEqual({f["level"] for f in found.values()}, {"ok"}, found)
        self.assertEqual(code, 0)
        self.assertEqual(set(found), {"device", "driver", "permissions", "numa", "mtu", "speed", "pcie", "offloads", "rss",
                                      "af_xdp", "hugepages", "memlock", "iommu", "clock", "sessions"})
        self.assertIn("100 Gb/s", found["speed"]["text"])
        self.assertIn(PCI, found["device"]["text"])

    def test_a_sound_nic_on_vfio_has_no_complaint(self):
        self.vfio("driver", "ok", "vfio-pci", "")

    def test_device_that_is_not_there(self):
        code, found = self.examine("eth7")
        self.assertEqual((code, found["device"]["level"]), (1, "error"))
        self.assertIn("eth7", found["device"]["text"])

    def test_driver_of_the_kernel_at_a_pci_address(self):
        self.finds("driver", "error", "ice: DPDK cannot use it", "dpdk-devbind.py -b vfio-pci " + PCI, device=PCI)

    def test_driver_that_shares_the_nic(self):
        self.finds("driver", "ok", "mlx5_core", "", device=PCI, links={NIC + "/driver": "../../../bus/pci/drivers/mlx5_core"})

    def test_permissions_of_the_vfio_group(self):
        self.vfio("permissions", "error", "user 1000 may not use /dev/vfio/17", "chown 1000 /dev/vfio/17", mode=0o600)

    def test_permissions_of_raw_sockets(self):
        status = FILES["proc/self/status"].replace("2000", "0000")
        self.finds("permissions", "error", "raw sockets", "cap_net_raw", files={"proc/self/status": status})

    def test_numa_node_of_other_cpus(self):
        status = FILES["proc/self/status"].replace("0-15", "0-3,6")
        self.finds("numa", "warning", "node 1 has CPUs 8-15", "numactl --cpunodebind=1", files={"proc/self/status": status})

    def test_mtu_of_the_interface(self):
        self.finds("mtu", "warning", "1500", "ip link set dev eth0 mtu 9000", files={NIC + "/net/eth0/mtu": "1500"})

    def test_mtu_of_the_path(self):
        told = FILES["ethtool/eth0"].replace("9000", "1450")
        self.finds("mtu", "warning", "1450 on the path to 10.1.0.2", "FI_WEFT_MTU=1450", files={"ethtool/eth0": told},
                   args=("--peer", "10.1.0.2"))

    def test_mtu_of_a_path_is_told_in_every_case(self):
        peer = ("--peer", "10.1.0.2")
        for own, path, level, word in (("1500", "1500", "warning", "1500, the path's as well: small packets"),
                                       ("1500", "9000", "warning", "1500, and 9000 on the path to 10.1.0.2: small"),
                                       ("9000", "9000", "ok", "9000, the path's as well"),
                                       ("9000", "0", "warning", "9000; no route to 10.1.0.2")):
            told = FILES["ethtool/eth0"].replace("path_mtu 9000", f"path_mtu {path}")
            self.finds("mtu", level, word, "", files={NIC + "/net/eth0/mtu": own, "ethtool/eth0": told}, args=peer)
        self.vfio("mtu", "ok", "the kernel has no route to 10.1.0.2", "", args=peer)

    def test_ports_of_others_have_nothing_to_check(self):
        for device, whose in (("host", "weft host"), ("host:/tmp/x", "weft host"), ("shm:/tmp/x", "weft switch")):
            code, found = self.examine(device, files={"proc/meminfo": "MemTotal: 1 kB"})
            self.assertEqual((code, set(found)), (0, {"device"}))
            self.assertIn(whose, found["device"]["text"])
            self.assertIn("nothing to check", found["device"]["text"])

    def test_speed_of_a_link_that_is_down(self):
        self.finds("speed", "error", "down", "ip link set dev eth0 up", files={NIC + "/net/eth0/carrier": "0"})

    def test_speed_that_nobody_knows(self):
        self.finds("speed", "warning", "unknown", "link_bps=", files={NIC + "/net/eth0/speed": "-1"})

    def test_pcie_slot_slower_than_the_nic(self):
        self.finds("pcie", "warning", "63 of 252 Gb/s", "lspci -vv -s " + PCI, files={NIC + "/current_link_width": "4"})

    def test_offload_of_segments(self):
        told = FILES["ethtool/eth0"].replace("tx_sg 1", "tx_sg 0")
        self.finds("offloads", "warning", "copied", "ethtool -K eth0 sg on", files={"ethtool/eth0": told})

    def test_rss_by_ports(self):
        told = FILES["ethtool/eth0"].replace("hashes_ports 0", "hashes_ports 1")
        self.finds("rss", "warning", "4 receive queues by UDP ports", "rx-flow-hash udp4 sd", files={"ethtool/eth0": told})

    def test_interface_without_af_xdp(self):
        told = FILES["ethtool/eth0"].replace("no_xdp 0", "no_xdp it has 4 receive queues")
        self.finds("af_xdp", "warning", "packet sockets, which are slower, are used on eth0: it has 4 receive queues", "",
                   files={"ethtool/eth0": told})

    def test_hugepages_that_are_not_there(self):
        none = {path: "0" for path in FILES if "hugepages" in path}
        self.finds("hugepages", "warning", "none reserved", "echo 512 > /sys", files={**none, "proc/meminfo": "MemTotal: 1 kB"})

    def test_hugepages_that_others_have(self):
        for size, page_mib, free, level in ((2048, 2, 3, "warning"), (2048, 2, 127, "warning"), (2048, 2, 128, "ok"),
                                            (1048576, 1024, 0, "warning"), (1048576, 1024, 1, "ok")):
            pages = f"sys/kernel/mm/hugepages/hugepages-{size}kB/"
            none = {path: None for path in FILES if "hugepages-" in path}
            tree = {pages + "nr_hugepages": "300", pages + "free_hugepages": str(free),
                    "proc/meminfo": f"HugePages_Total: 300\nHugePages_Free: {free}\nHugepagesize: {size} kB"}
            self.finds("hugepages", level, f"{free * page_mib} of {300 * page_mib} MiB free, a process needs 256 MiB",
                       f"echo {556 if size == 2048 else 256} > /sys" if level == "warning" else "", files={**none, **tree})

    def test_memlock_of_a_user_of_vfio(self):
        limits = FILES["proc/self/limits"].replace("unlimited ", "8388608   ", 1)
        self.vfio("memlock", "error", "8 MiB", "memlock unlimited", files={"proc/self/limits": limits})

    def test_memlock_that_does_not_bind(self):
        limits = FILES["proc/self/limits"].replace("unlimited ", "8388608   ", 1)
        status = FILES["proc/self/status"].replace("2000", "6000")
        self.vfio("memlock", "ok", "does not bind", "", files={"proc/self/limits": limits, "proc/self/status": status})

    def test_iommu_that_is_off(self):
        code, found = self.examine(PCI, NO_INTERFACE, {**NO_INTERFACE_LINKS, NIC + "/iommu_group": None})
        self.assertEqual((code, found["iommu"]["level"]), (1, "error"))
        self.assertIn("intel_iommu=on", found["iommu"]["fix"])

    def test_clock_that_the_kernel_distrusts(self):
        source = "sys/devices/system/clocksource/clocksource0/current_clocksource"
        self.finds("clock", "warning", "hpet", "tsc=reliable", files={source: "hpet"})

    def test_clock_that_changes_with_frequency(self):
        cpu = FILES["proc/cpuinfo"].replace("nonstop_tsc ", "")
        self.finds("clock", "warning", "not invariant", "cpupower", files={"proc/cpuinfo": cpu})

    def test_ranks_of_another_session(self):
        setting = "proc/sys/kernel/sched_autogroup_enabled"
        self.finds("sessions", "warning", "do not give way", "sched_autogroup_enabled=0", files={setting: "1"})
        self.assertNotIn("sessions", self.examine("eth0", files={setting: None})[1])

    def test_without_a_device_the_nics_are_listed(self):
        with tempfile.TemporaryDirectory(prefix="weft-doctor-") as root:
            make(root, {}, {})
            done = run("--root", root)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(f"NIC      {PCI} eth0, driver ice", done.stdout)

    def test_this_machine(self):
        """Whatever it is like, it is examined."""
        done = run("lo", "--peer", "127.0.0.1")
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)
        self.assertRegex(done.stdout, r"(?m)^\w+ +mtu +65536, the path's as well$")

    def test_wrong_usage(self):
        self.assertEqual(run("--nonsense").returncode, 2)
        self.assertEqual(run("eth0", "eth1").returncode, 2)
        for args, message in ((("lo", "--peer", "foo"), "--peer: foo is not an IP address"),
                              (("--peer", "127.0.0.1"), "--peer needs a DEVICE"),
                              (("--root", "/nosuch"), "/nosuch: No such file or directory"),
                              (("--root", "/dev/null"), "/dev/null: Not a directory")):
            done = run(*args)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
