# SPDX-License-Identifier: BSD-3-Clause
"""The table of NIC models and the table of cases. Host and guest read it; the functions run in the guest."""
from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from guest import Guest, Process

VLAN = 42
LIMIT_SECONDS = 600  # of a pair of processes: enough without KVM on a busy machine; who fails does so sooner
IDLE_SECONDS = 5
PREFIXES = False
NAMESPACES: list[list[str]] = [[], ["-n", "far"]]  # options of ip, by NIC


class Failed(Exception):
    """A case found something wrong; the text says what."""


@dataclass(frozen=True)
class Model:
    name: str
    device: str                 # QEMU's name of it, with properties
    kernel_driver: str
    newer_qemu: bool = False    # Debian 12's own QEMU does not have it
    virtual: bool = False       # the virtual functions of the device are used
    cannot: dict[str, str] = field(default_factory=dict)  # cases that make no sense with it, and why


@dataclass(frozen=True)
class Case:
    name: str
    run: Callable[[Guest, Model], None]
    seconds: int                # about, without KVM; for the time left
    what: str


def check(ok: bool, text: str) -> None:
    if not ok:
        raise Failed(text)


def all_sizes(g: Guest, model: Model) -> None:
    g.pingpong("-I", "2", "-S", "all").succeed()


def one_size(g: Guest, model: Model) -> None:
    g.pingpong("-I", "10", "-S", "65536").succeed()


def mtu_1500(g: Guest, model: Model) -> None:
    g.pingpong("-I", "10", "-S", "65536", env={"FI_WEFT_MTU": "1500"}).succeed()
    longest = g.ask("wire")["longest"]
    check(1000 < longest <= 1514, f"frames of up to {longest} bytes at MTU 1500")


def mtu_9000(g: Guest, model: Model) -> None:
    g.pingpong("-I", "10", "-S", "65536", env={"FI_WEFT_MTU": "9000"}).succeed()
    longest = g.ask("wire")["longest"]
    check(8192 < longest <= 9014, f"frames of up to {longest} bytes at MTU 9000")


def mtu_mixed(g: Guest, model: Model) -> None:
    """The receiver of large messages takes the smaller MTU."""
    envs = ({"FI_WEFT_MTU": "1500"}, {"FI_WEFT_MTU": "9000"})
    g.pingpong("-I", "5", "-S", "65536", envs=envs).succeed()


def vlan(g: Guest, model: Model) -> None:
    g.pingpong("-I", "5", "-S", "65536", env={"FI_WEFT_VLAN": str(VLAN)}).succeed()
    wire = g.ask("wire")
    check(wire["vlans"] == {str(VLAN): wire["frames"]}, f"VLANs of {wire['frames']} frames: {wire['vlans']}")


def bench(g: Guest, model: Model) -> None:
    """Every byte is verified by the benchmark. Its payload of 4,096 bytes by default does not fit MTU 1500."""
    options = ["--size", "2", "--mtu", "1024", "--matrix", "permutation:2:256KiB", "--link-gbps", "1", "--end", "60s"]
    both = [g.weft(i, ["/opt/weft/weft", "bench", "--rank", str(i), "--device", g.nics[i], *options],
                   {"FI_WEFT_ADDR": "", "FI_WEFT_DEVICE": ""}) for i in range(2)]
    ends = [process.end(time.monotonic() + LIMIT_SECONDS) for process in both]
    for end in ends:
        check(end.status == 0, end.reason())
    check("2 verified" in ends[0].text + ends[1].text, "not verified: " + ends[0].text[-200:])


def hugepages(g: Guest, model: Model) -> None:
    """Reserved ones are used; all other cases run without."""
    with open("/proc/sys/vm/nr_hugepages", "w", encoding="ascii") as file:
        file.write("400")
    os.makedirs("/dev/hugepages", exist_ok=True)
    subprocess.run(["mount", "-t", "hugetlbfs", "none", "/dev/hugepages"], check=True)
    try:
        pair = g.pingpong("-I", "2000", "-S", "65536")
        g.traffic(pair)
        with open("/proc/meminfo", encoding="ascii") as meminfo:
            free = next(int(line.split()[1]) for line in meminfo if line.startswith("HugePages_Free"))
        pair.succeed()
        check(free < 400, "no hugepage was in use")
    finally:
        subprocess.run(["umount", "/dev/hugepages"], check=False)
        with open("/proc/sys/vm/nr_hugepages", "w", encoding="ascii") as file:
            file.write("0")


def nobody(memlock: str) -> list[str]:
    return ["prlimit", f"--memlock={memlock}", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def not_root(g: Guest, model: Model) -> None:
    for i in range(2):
        os.chown(g.group(i), 65534, 65534)
    g.pingpong("-I", "5", "-S", "65536", prefixes=(nobody("unlimited"), nobody("unlimited"))).succeed()


def memlock(g: Guest, model: Model) -> None:
    """Too little memory may be locked: a refusal that names the limit."""
    for i in range(2):
        os.chown(g.group(i), 65534, 65534)
    ends = g.pingpong("-I", "1", "-S", "64", prefixes=(nobody("8388608"), nobody("8388608"))).end()
    check(all(end.status > 0 for end in ends), "not refused: " + ends[0].reason())
    check(any("memlock" in end.text for end in ends), "the refusal does not name memlock: " + ends[0].reason())


def corruption(g: Guest, model: Model) -> None:
    """Bits flip on the wire, and the frame check of the wire does not see it: Weft's own CRC does."""
    g.ask("faults", corruption=0.02)
    counters = g.pingpong("-I", "20", "-S", "65536", env={"FI_WEFT_TUNE": "crc=on"}).succeed()
    corrupted = g.ask("wire")["corrupted"]
    check(corrupted > 0, "the wire corrupted nothing")
    check(counters.get("rx_bad_crc", 0) > 0, f"{corrupted} frames corrupted, counters {counters}")


def loss(g: Guest, model: Model) -> None:
    g.ask("faults", loss=0.02)
    counters = g.pingpong("-I", "20", "-S", "65536").succeed()
    lost = g.ask("wire")["lost"]
    check(lost > 0, "the wire lost nothing")
    check(any(name.startswith("retx") or "retx" in name for name in counters), f"{lost} frames lost, counters {counters}")


def link_flap(g: Guest, model: Model) -> None:
    pair = g.pingpong("-I", "20000", "-S", "64")
    g.traffic(pair)
    g.ask("link", nic=0, up=False)
    time.sleep(3)
    check(pair.running(), "ended while the link was down")
    g.ask("link", nic=0, up=True)
    g.traffic(pair, 20)
    pair.succeed()


def paused(g: Guest, model: Model) -> None:
    pair = g.pingpong("-I", "20000", "-S", "64")
    g.traffic(pair)
    g.ask("pause", seconds=5)
    pair.succeed()


def unplug(g: Guest, model: Model) -> None:
    """The NIC goes away: its process says why and ends, nothing crashes or hangs. A new NIC works. The process at the
    other NIC may be waiting for a message that nobody sends any more, so it is ended."""
    pair = g.pingpong("-I", "1000000", "-S", "64")
    g.traffic(pair)
    g.ask("unplug", nic=1)
    end = pair.processes[1].end(time.monotonic() + LIMIT_SECONDS)
    check(end.status > 0, "did not end with an error: " + end.reason())
    check("removed" in end.text or "is gone" in end.text, "the process says nothing of the removal: " + end.reason())
    pair.processes[0].end(time.monotonic() + 1)
    g.ask("plug", nic=1)
    for attempt in range(100):
        try:
            g.find(model.virtual)
            break
        except (Failed, OSError):
            if attempt == 99:
                raise
            time.sleep(0.3)
    time.sleep(1)  # the kernel assigns its address ranges after it has shown the device
    g.bind("vfio-pci")
    one_size(g, model)


def kernel_interface(g: Guest, model: Model, tag: int = 0) -> None:
    """FI_WEFT_DEVICE=eth0: the kernel's driver keeps the NIC, and fi_pingpong's own TCP connection runs over it."""
    names = g.interfaces(model.kernel_driver)
    subprocess.run(["ip", "netns", "add", "far"], check=True)
    try:
        subprocess.run(["ip", "link", "set", names[1], "netns", "far"], check=True)
        for i, inside in enumerate(NAMESPACES):
            subprocess.run(["ip", *inside, "link", "set", names[i], "up"], check=True)
            if tag:
                tagged = f"{names[i]}.{tag}"
                subprocess.run(["ip", *inside, "link", "add", "link", names[i], "name", tagged, "type", "vlan", "id", str(tag)],
                               check=True)
                subprocess.run(["ip", *inside, "link", "set", tagged, "up"], check=True)
                names[i] = tagged
            subprocess.run(["ip", *inside, "addr", "add", f"10.0.0.{i + 1}/24", "dev", names[i]], check=True)
        envs = tuple({"FI_WEFT_DEVICE": name, "FI_WEFT_ADDR": ""} for name in names)
        g.pingpong("-I", "5", "-S", "65536", envs=(envs[0], envs[1]), server="10.0.0.1",
                   prefixes=([], ["ip", "netns", "exec", "far"])).succeed()
    finally:
        subprocess.run(["ip", "netns", "del", "far"], check=False)
        time.sleep(1)


def kernel_vlan(g: Guest, model: Model) -> None:
    """FI_WEFT_DEVICE=eth0.42: the kernel's VLAN interface. Every UET frame carries the tag; the kernel's own ones do, too."""
    subprocess.run(["modprobe", "8021q"], check=True)
    before = g.ask("wire")
    kernel_interface(g, model, VLAN)
    after = g.ask("wire")
    tagged = after["vlans"].get(str(VLAN), 0) - before["vlans"].get(str(VLAN), 0)
    check(tagged > 200, f"{tagged} of {after['frames'] - before['frames']} frames have tag {VLAN}")


def interrupts(nic: str) -> int:
    """How many the NIC has raised for VFIO."""
    with open("/proc/interrupts", encoding="ascii") as file:
        return sum(int(word) for line in file if nic in line for word in line.split()[1:] if word.isdigit())


def naps(process: int) -> int:
    """How often it gave its CPU away."""
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary"))


def deliver(g: Guest, first: Process, second: Process, to_first: str, tag: int) -> int:
    """A message to a process that sleeps. Returns how many interrupts that took."""
    first.ask(f"recv {tag}")
    first.tell(f"wait {1000 * LIMIT_SECONDS}")
    time.sleep(0.5)
    before = interrupts(g.nics[0])
    second.ask(f"send {to_first} {tag} 100")
    check((got := first.hear()) == f"received {tag} length 100 wrong 0", got)
    raised = interrupts(g.nics[0]) - before
    check((got := second.ask(f"wait {1000 * LIMIT_SECONDS}")) == f"sent {tag}", got)
    return raised


def sleep(process: Process) -> None:
    """It waits for what does not come."""
    process.ask("cpu")
    before = naps(process.process.pid)
    check((got := process.ask(f"wait {1000 * IDLE_SECONDS}")) == "nothing", got)
    cpu, count = float(process.ask("cpu").split()[1]), naps(process.process.pid) - before
    check(cpu < 50, f"the idle process takes {cpu:.0f} % of a CPU")
    check(0 < count < IDLE_SECONDS * 200, f"it slept {count} times in {IDLE_SECONDS} s; each sleep may last 10 ms")


def idle(g: Guest, model: Model) -> None:
    """FI_WEFT_RX_INTERRUPT: a process that waits sleeps, and the interrupt of a packet ends its sleep."""
    env = {"FI_WEFT_RX_INTERRUPT": "1"}
    first, second = both = [g.weft(i, ["/opt/weft/peer_app"], env, talks=True) for i in range(2)]
    try:
        name = first.ask("open").removeprefix("name ")
        second.ask("open")
        to_first = second.ask(f"add {name}").removeprefix("addr ")
        deliver(g, first, second, to_first, 1)  # who is where is known then
        sleep(first)
        check(deliver(g, first, second, to_first, 2) > 0, "the packet raised no interrupt")
        for process in both:
            process.ask("close")
            process.tell("exit")
    finally:
        ends = [process.end(time.monotonic() + 20) for process in both]
    for end in ends:
        check(end.status == 0, end.reason())
        check("rx_interrupt" in end.text, "no receive interrupts: " + end.reason())


CASES = [
    Case("messages", all_sizes, 60, "`fi_pingpong -c`, all sizes to 8 MiB, no hugepages"),
    Case("MTU 1500", mtu_1500, 20, "frames on the wire have at most 1,514 bytes"),
    Case("MTU 9000", mtu_9000, 20, "payloads of 8,192 bytes"),
    Case("MTU mixed", mtu_mixed, 20, "1500 at one end, 9000 at the other"),
    Case("VLAN", vlan, 20, "all frames carry the tag of `FI_WEFT_VLAN`"),
    Case("bench", bench, 30, "`weft bench`, two processes, every byte verified"),
    Case("hugepages", hugepages, 40, "reserved hugepages are used"),
    Case("not root", not_root, 20, "user `nobody` who owns the VFIO groups"),
    Case("memlock", memlock, 15, "8 MiB of lockable memory: a refusal that names the limit"),
    Case("loss", loss, 40, "2 % of the frames are lost"),
    Case("corruption", corruption, 40, "a bit flips in 2 % of the frames; `crc=on`"),
    Case("link flap", link_flap, 60, "the link goes down for three seconds during traffic"),
    Case("pause", paused, 60, "the guest stands still for five seconds during traffic"),
    Case("kernel interface", kernel_interface, 40, "`FI_WEFT_DEVICE=eth0`, the kernel's driver keeps the NIC"),
    Case("kernel VLAN", kernel_vlan, 40, "`FI_WEFT_DEVICE=eth0.42`, an interface of the kernel for a VLAN"),
    Case("unplug", unplug, 60, "hot unplug during traffic; a NIC plugged later works"),
]
QUICK = Case("quick", one_size, 20, "`fi_pingpong -c` with 64 KiB")
IDLE = Case("idle", idle, 25, "`FI_WEFT_RX_INTERRUPT=1`: a process that waits sleeps until a packet's interrupt")
ON_REQUEST = [QUICK, IDLE]  # what --case alone starts
CASES += ON_REQUEST

VIRTIO = "virtio-net-pci,disable-legacy=on,iommu_platform=on,ats=on"
MODELS = [
    Model("virtio-net", VIRTIO, "virtio-pci"),
    Model("e1000", "e1000", "e1000"),
    Model("e1000e", "e1000e", "e1000e"),
    Model("vmxnet3", "vmxnet3", "vmxnet3"),
    Model("igb", "igb", "igb", newer_qemu=True),
    Model("igb VF", "igb", "igbvf", newer_qemu=True, virtual=True),
]


def model_named(name: str) -> Model:
    return next(model for model in MODELS if model.name == name)
