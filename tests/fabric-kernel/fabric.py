# SPDX-License-Identifier: BSD-3-Clause
"""A leaf-spine of network namespaces: the kernel routes (ECMP over the 5-tuple), HTB gives every cable its rate, and
fabric.bpf.c marks and trims. Nothing of it is Weft's. Needs root, iproute2, ethtool, clang and bpftool."""
import dataclasses
import os
import pathlib
import platform
import subprocess

HERE = pathlib.Path(__file__).parent
ETHERNET_BYTES = 14
FIRST_CLASS, DATA_CLASS = 0x10010, 0x10020  # of HTB: control and trimmed packets, everything else


@dataclasses.dataclass(frozen=True)
class Shape:
    """The fabric. A queue holds seven jumbo packets and marks from the second on."""
    leaves: int = 2
    spines: int = 4
    hosts: int = 4  # per leaf
    rate_mbit: int = 40
    mtu: int = 9000
    queue_bytes: int = 60000
    mark_min_bytes: int = 12000
    mark_max_bytes: int = 48000
    trim_ip_bytes: int = 100
    burst_bytes: int = 15000  # of the token buckets: what a port sends at once after a pause


def run(*command: str, text: str | None = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


class Fabric:
    """Namespaces PREFIXl0 (leaf 0), PREFIXs0 (spine 0), PREFIXh0_0 (host 0 of leaf 0) and so on."""

    def __init__(self, shape: Shape, prefix: str = "wf") -> None:
        self.shape = shape
        self.state = pathlib.Path("/run") / f"weft-fabric-{prefix}{os.getpid()}"
        self.prefix = f"{prefix}{os.getpid()}"

    def __enter__(self) -> "Fabric":
        try:
            self._up()
        except BaseException:
            self._down()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._down()

    def leaf(self, leaf: int) -> str:
        return f"{self.prefix}l{leaf}"

    def spine(self, spine: int) -> str:
        return f"{self.prefix}s{spine}"

    def host(self, index: int) -> str:
        return f"{self.prefix}h{index}"

    def address(self, index: int) -> str:
        return f"10.{index // self.shape.hosts + 1}.{index % self.shape.hosts}.2"

    @property
    def host_count(self) -> int:
        return self.shape.leaves * self.shape.hosts

    def _namespaces(self) -> list[str]:
        s = self.shape
        return ([self.leaf(i) for i in range(s.leaves)] + [self.spine(i) for i in range(s.spines)] +
                [self.host(i) for i in range(self.host_count)])

    def _cables(self) -> list[tuple[str, str, str, str]]:
        """Namespace and interface of both ends. Hosts' interfaces have unlike names."""
        s = self.shape
        to_hosts = [(self.leaf(i // s.hosts), f"h{i % s.hosts}", self.host(i), f"eth{i}") for i in range(self.host_count)]
        return to_hosts + [(self.leaf(a), f"u{b}", self.spine(b), f"l{a}")
                           for a in range(s.leaves) for b in range(s.spines)]

    def _up(self) -> None:
        self._load_program()
        for name in self._namespaces():
            run("ip", "netns", "add", name)
        run("ip", "-batch", "-", text="".join(
            f"link add {b} mtu {self.shape.mtu} netns {a} type veth peer name {d} mtu {self.shape.mtu} netns {c}\n"
            for a, b, c, d in self._cables()))
        for name in self._namespaces():
            self._set_kernel(name)
        for a, b, c, d in self._cables():
            for name, device in ((a, b), (c, d)):
                self._inside(name, "ethtool", "-K", device, "tx", "off", "tso", "off", "gso", "off", "gro", "off")
                run("ip", "-n", name, "link", "set", device, "up")
        self._route()
        for a, b, c, d in self._cables():
            self._shape_port(a, b, True)
            self._shape_port(c, d, not d.startswith("eth"))

    def _load_program(self) -> None:
        s = self.shape
        numbers = {"MARK_MIN_BYTES": s.mark_min_bytes, "MARK_MAX_BYTES": s.mark_max_bytes,
                   "QUEUE_BYTES": s.queue_bytes, "CONTROL_BYTES": s.queue_bytes // 4,
                   "TRIM_IP_BYTES": s.trim_ip_bytes, "FIRST_CLASS": FIRST_CLASS, "DATA_CLASS": DATA_CLASS,
                   "DSCP_DATA": 8, "DSCP_TRIMMED": 16, "DSCP_CONTROL": 46}
        self.state.mkdir()
        run("mount", "-t", "bpf", "bpf", str(self.state))
        program = pathlib.Path(f"{self.state}.o")
        run("clang", "-O2", "-g", "-target", "bpf", f"-I/usr/include/{platform.machine()}-linux-gnu",
            *[f"-D{key}={value}" for key, value in numbers.items()], "-c", str(HERE / "fabric.bpf.c"), "-o", str(program))
        run("bpftool", "prog", "load", str(program), str(self.state / "port"), "type", "classifier")
        program.unlink()

    def _inside(self, name: str, *command: str) -> str:
        """Not `ip netns exec`, which hides the file system of BPF."""
        return run("nsenter", f"--net=/run/netns/{name}", *command)

    def _set_kernel(self, name: str) -> None:
        settings = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv4.conf.all.rp_filter": 0,
                    "net.ipv4.conf.default.rp_filter": 0, "net.ipv4.tcp_ecn": 1}
        if not name.startswith(f"{self.prefix}h"):
            settings |= {"net.ipv4.ip_forward": 1, "net.ipv4.fib_multipath_hash_policy": 1,
                         "net.ipv4.conf.all.ignore_routes_with_linkdown": 1, "net.ipv4.conf.all.send_redirects": 0}
        self._inside(name, "sysctl", "-q", "-w", *[f"{key}={value}" for key, value in settings.items()])

    def _route(self) -> None:
        s = self.shape
        for i in range(self.host_count):
            leaf, h = divmod(i, s.hosts)
            net = f"10.{leaf + 1}.{h}"
            run("ip", "-n", self.leaf(leaf), "address", "add", f"{net}.1/24", "dev", f"h{h}")
            run("ip", "-n", self.host(i), "address", "add", f"{net}.2/24", "dev", f"eth{i}")
            run("ip", "-n", self.host(i), "route", "add", "default", "via", f"{net}.1")
        for leaf in range(s.leaves):
            for spine in range(s.spines):
                run("ip", "-n", self.leaf(leaf), "address", "add", f"172.{16 + leaf}.{spine}.1/24", "dev", f"u{spine}")
                run("ip", "-n", self.spine(spine), "address", "add", f"172.{16 + leaf}.{spine}.2/24", "dev", f"l{leaf}")
                run("ip", "-n", self.spine(spine), "route", "add", f"10.{leaf + 1}.0.0/16", "via",
                    f"172.{16 + leaf}.{spine}.1")
            for other in set(range(s.leaves)) - {leaf}:
                run("ip", "-n", self.leaf(leaf), "route", "add", f"10.{other + 1}.0.0/16", *self._next_hops(leaf))

    def _next_hops(self, leaf: int) -> list[str]:
        return [word for spine in range(self.shape.spines)
                for word in ("nexthop", "via", f"172.{16 + leaf}.{spine}.2", "dev", f"u{spine}")]

    def _classes(self, device: str, verb: str, mbit: int) -> str:
        limits = f"ceil {mbit}mbit burst {self.shape.burst_bytes} cburst {self.shape.burst_bytes} quantum 9100"
        share = f"{max(mbit // 5, 1)}mbit"
        return (f"class {verb} dev {device} parent 1: classid 1:1 htb rate {mbit}mbit {limits}\n"
                f"class {verb} dev {device} parent 1:1 classid 1:10 htb rate {share} {limits} prio 0\n"
                f"class {verb} dev {device} parent 1:1 classid 1:20 htb rate {share} {limits} prio 1\n")

    def _shape_port(self, name: str, device: str, is_switch: bool) -> None:
        """A host's own queue holds what its applications write, as the kernel's does."""
        data_bytes = self.shape.queue_bytes + 20000 if is_switch else 4000000
        run("nsenter", f"--net=/run/netns/{name}", "tc", "-batch", "-",
            text=f"qdisc add dev {device} root handle 1: htb default 20\n"
            f"{self._classes(device, 'add', self.shape.rate_mbit)}"
            f"qdisc add dev {device} parent 1:10 handle 10: bfifo limit {self.shape.queue_bytes // 4 + 20000}\n"
            f"qdisc add dev {device} parent 1:20 handle 20: bfifo limit {data_bytes}\n")
        if is_switch:
            self._inside(name, "tc", "qdisc", "add", "dev", device, "clsact")
            self._inside(name, "tc", "filter", "add", "dev", device, "egress", "bpf", "da", "object-pinned",
                         str(self.state / "port"))

    def _down(self) -> None:
        present = run("ip", "netns", "list").split()
        for name in self._namespaces():
            if name in present:
                run("ip", "netns", "delete", name)
        if self.state.exists():
            subprocess.run(["umount", str(self.state)], check=False, capture_output=True)
            self.state.rmdir()

    # What may happen to it, as commands for the shell, and how it is undone.

    def cut(self) -> tuple[str, str]:
        """The cable between leaf 0 and spine 0. Leaf 0 sees it and takes the other spines; leaf 1 goes on."""
        back = [f"ip -n {self.leaf(0)} link set u0 up",
                f"ip -n {self.spine(0)} route replace 10.1.0.0/16 via 172.16.0.1",
                *(f"ip -n {self.leaf(0)} route replace 10.{other + 1}.0.0/16 {' '.join(self._next_hops(0))}"
                  for other in range(1, self.shape.leaves))]
        return f"ip -n {self.leaf(0)} link set u0 down", " && ".join(back)

    def silence(self) -> tuple[str, str]:
        """Spine 0 forwards nothing any more, and nobody is told."""
        inside = f"nsenter --net=/run/netns/{self.spine(0)} sysctl -q -w net.ipv4.ip_forward="
        return inside + "0", inside + "1"

    def slow(self) -> tuple[str, str]:
        """The cable from spine 0 to leaf 1 has a tenth of its rate."""
        inside = f"nsenter --net=/run/netns/{self.spine(0)} tc -batch - <<'END'\n%sEND\n"
        return (inside % self._classes("l1", "change", self.shape.rate_mbit // 10),
                inside % self._classes("l1", "change", self.shape.rate_mbit))
