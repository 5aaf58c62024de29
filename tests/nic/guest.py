# SPDX-License-Identifier: BSD-3-Clause
"""PID 1 of a guest, once init.sh has made the root: gets the NICs ready, runs the cases that the host names, answers with
their results. Speaks to the host over the second serial port, one line of JSON at a time."""
from __future__ import annotations

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
import tty
from dataclasses import dataclass, field
from typing import Any, NoReturn

import cases

PCI = "/sys/bus/pci/devices/"
PROGRAMS = "/opt/weft"
LOGS = "/run/logs"
# EAL opens every driver in its folder, which takes seconds without KVM. These are the ones that cases need.
DRIVERS = ["bus_pci", "bus_vdev", "mempool_ring", "net_virtio", "net_e1000", "net_vmxnet3", "net_vhost", "net_af_packet",
           "net_af_xdp", "net_ring", "net_memif"]
COUNTER = re.compile(r": (\w+) (\d+): ")
LISTEN = "0A"
CONTROL_PORT = 47592  # of fi_pingpong


def shell(*command: str) -> str:
    return subprocess.run(command, text=True, check=True, capture_output=True).stdout


def put(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def wait_for(what: str, seconds: float, done: Any) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise cases.Failed(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.1)


def listening(pid: int) -> bool:
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
        return any(f":{CONTROL_PORT:04X} " in line and f" {LISTEN} " in line for line in file)


@dataclass
class Ended:
    """How a process ended, and what it said."""

    name: str
    status: int
    text: str
    counters: dict[str, int] = field(default_factory=dict)

    def reason(self) -> str:
        """The most telling line of its output."""
        lines = [line for line in self.text.splitlines() if line.strip() and not COUNTER.search(line)]
        marked = [line for line in lines if re.search(r"weft.*warn|EAL|ERR|error|panic|assert|differ|:-\d", line, re.IGNORECASE)]
        how = f"signal {signal.Signals(-self.status).name}" if self.status < 0 else f"status {self.status}"
        return f"{self.name}: {how}: {(marked or lines or ['no output'])[-1][-160:]}"


class Process:
    """`talks`: it takes commands and answers each with a line."""

    def __init__(self, name: str, log: str, command: list[str], env: dict[str, str], talks: bool = False) -> None:
        self.name = name
        self.log = log
        with open(log, "w", encoding="utf-8") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                                            stdout=subprocess.PIPE if talks else out, stderr=out, cwd="/tmp", text=True,
                                            env={**os.environ, **env})

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        line: str = self.process.stdout.readline().rstrip()
        if not line or line.startswith("failed"):
            raise cases.Failed(f"{self.name}: {line or self.end(time.monotonic() + 5).reason()}")
        return line

    def ask(self, command: str) -> str:
        self.tell(command)
        return self.hear()

    def running(self) -> bool:
        return self.process.poll() is None

    def end(self, until: float) -> Ended:
        late = ""
        try:
            self.process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            late = "\nerror: did not end in time"
        with open(self.log, encoding="utf-8", errors="replace") as file:
            text = file.read() + late
        counters: dict[str, int] = {}
        for name, value in COUNTER.findall(text):
            counters[name] = counters.get(name, 0) + int(value)
        return Ended(self.name, self.process.returncode, text, counters)


class Pair:
    """Two processes, a NIC each."""

    def __init__(self, first: Process, second: Process) -> None:
        self.processes = (first, second)

    def running(self) -> bool:
        return all(process.running() for process in self.processes)

    def end(self, seconds: float = cases.LIMIT_SECONDS) -> list[Ended]:
        """How they ended, of their own accord or after so many seconds; one may not outlive the other's failure by much."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and any(p.running() for p in self.processes):
            if any(p.process.poll() for p in self.processes):
                until = min(until, time.monotonic() + 5)
            time.sleep(0.05)
        return [process.end(until) for process in self.processes]

    def succeed(self) -> dict[str, int]:
        """Both must end well. Returns the sum of their counters."""
        ended = self.end()
        for one in sorted(ended, key=lambda e: "did not end in time" in e.text):  # who failed first says why
            if one.status != 0:
                raise cases.Failed(one.reason())
        total: dict[str, int] = {}
        for one in ended:
            for name, value in one.counters.items():
                total[name] = total.get(name, 0) + value
        return total


class Guest:
    """What cases use."""

    def __init__(self, talk: Any) -> None:
        self._talk = talk
        self._log = LOGS
        self.nics: list[str] = []

    def ask(self, what: str, **details: Any) -> Any:
        """Asks the host for a deed (nic_run.py lists them) and returns its answer."""
        self._say({"ask": what, **details})
        return json.loads(self._talk.readline())["told"]

    def _say(self, message: dict[str, Any]) -> None:
        self._talk.write(json.dumps(message).encode() + b"\n")

    def group(self, i: int) -> str:
        """The device of NIC i's IOMMU group."""
        return "/dev/vfio/" + os.path.basename(os.readlink(PCI + self.nics[i] + "/iommu_group"))

    def bind(self, driver: str) -> None:
        """Gives both NICs to a driver."""
        for nic in self.nics:
            give(nic, driver)

    def interfaces(self, driver: str) -> list[str]:
        """Gives both NICs to a driver of the kernel, and returns the names of their interfaces."""
        shell("modprobe", "virtio_net")  # there is no udev that would load it for a virtio device
        self.bind(driver)
        names: list[str] = []
        for nic in self.nics:
            wait_for(f"an interface of {nic}", 120, lambda path=PCI + nic + "/": glob.glob(path + "net/*") or
                     glob.glob(path + "virtio*/net/*"))
            path = glob.glob(PCI + nic + "/net/*") + glob.glob(PCI + nic + "/virtio*/net/*")
            names.append(os.path.basename(path[0]))
        return names

    def weft(self, i: int, command: list[str], env: dict[str, str], prefix: list[str] | None = None,
             talks: bool = False) -> Process:
        """Process i of two. Its device and address are set, unless `env` has others."""
        own = {"FI_PROVIDER_PATH": PROGRAMS, "FI_PROVIDER": "weft", "FI_LOG_LEVEL": "info", "FI_LOG_PROV": "weft",
               "FI_WEFT_DEVICE": self.nics[i],
               "FI_WEFT_ADDR": f"10.0.0.{i + 1}/24" if cases.PREFIXES else f"10.0.0.{i + 1}", **env}
        name = ("server", "client")[i]
        return Process(name, f"{self._log}.{name}.txt", [*(prefix or []), *command], {k: v for k, v in own.items() if v},
                       talks)

    def pingpong(self, *options: str, env: dict[str, str] | None = None, envs: tuple[dict[str, str], dict[str, str]] = ({}, {}),
                 prefixes: tuple[list[str], list[str]] = ([], []), server: str = "127.0.0.1") -> Pair:
        """fi_pingpong with its data check, started. `envs` and `prefixes` are those of each process."""
        command = ["fi_pingpong", "-p", "weft", "-e", "rdm", "-c", *options]
        first = self.weft(0, command, {**(env or {}), **envs[0]}, prefixes[0])
        wait_for("fi_pingpong listens", cases.LIMIT_SECONDS, lambda: not first.running() or listening(first.process.pid))
        return Pair(first, self.weft(1, [*command, server], {**(env or {}), **envs[1]}, prefixes[1]))

    def traffic(self, pair: Pair, frames: int = 300) -> None:
        """Waits until so many more frames crossed the wire."""
        start = self.ask("wire")["frames"]
        wait_for("traffic", cases.LIMIT_SECONDS, lambda: not pair.running() or self.ask("wire")["frames"] > start + frames)
        if not pair.running():
            raise cases.Failed("ended before the event: " + pair.end(5)[0].reason())

    def work(self, request: dict[str, Any]) -> dict[str, Any]:
        """Runs a case."""
        case = next(c for c in cases.CASES if c.name == request["case"])
        self._log = f"{LOGS}/{case.name.replace(' ', '-')}"
        try:
            self.find(request["vf"])
            self.bind("vfio-pci")
            case.run(self, cases.model_named(request["model"]))
        except cases.Failed as failed:
            return {"verdict": "FAIL", "why": str(failed)}
        except Exception:  # pylint: disable=broad-except
            return {"verdict": "FAIL", "why": traceback.format_exc()}
        return {"verdict": "PASS", "why": ""}

    def find(self, virtual: bool) -> None:
        """The NICs behind the two root ports, or a virtual function of each."""
        found = []
        for port in ("0000:00:08.0", "0000:00:09.0"):
            nic = [name for name in sorted(os.listdir(PCI + port)) if re.fullmatch(r"0000:..:00\.0", name)]
            if not nic:
                raise cases.Failed(f"no NIC behind {port}")
            found.append(virtual_function(nic[0]) if virtual else nic[0])
        self.nics = found

    def serve(self) -> NoReturn:
        self._say({"hello": os.uname().release})
        while True:
            self._say(self.work(json.loads(self._talk.readline())))


def give(nic: str, driver: str) -> None:
    """Binds a NIC to a driver, if it is not."""
    here = PCI + nic + "/driver"
    if os.path.exists(here):
        if os.path.basename(os.readlink(here)) == driver:
            return
        put(here + "/unbind", nic)
    subprocess.run(["modprobe", driver], check=False)
    put(PCI + nic + "/driver_override", driver)
    put("/sys/bus/pci/drivers_probe", nic)
    if not os.path.exists(here):
        raise cases.Failed(f"{driver} does not take {nic}")


def virtual_function(nic: str) -> str:
    """The first virtual function of a NIC, which the kernel's driver keeps."""
    count = PCI + nic + "/sriov_numvfs"
    if not glob.glob(PCI + nic + "/net/*"):
        give(nic, "igb")
        wait_for("an interface", 120, lambda: glob.glob(PCI + nic + "/net/*"))
    interface = os.path.basename(glob.glob(PCI + nic + "/net/*")[0])
    with open(count, encoding="ascii") as file:
        made = int(file.read())
    if not made:
        put("/proc/sys/net/ipv4/conf/all/arp_ignore", "1")  # or the physical functions' interfaces answer for our address
        put("/sys/bus/pci/drivers_autoprobe", "0")
        put(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6", "1")  # no frames of the kernel's own on the wire
        shell("ip", "link", "set", interface, "up", "mtu", "9000")
        put(count, "1")
        shell("ip", "link", "set", interface, "vf", "0", "mac", "02:00:00:00:00:0" + nic[6])
        put("/sys/bus/pci/drivers_autoprobe", "1")
    return os.path.basename(os.readlink(PCI + nic + "/virtfn0"))


def mount(kind: str, source: str, target: str, *options: str) -> None:
    os.makedirs(target, exist_ok=True)
    shell("mount", "-t", kind, *options, source, target)


def few_drivers() -> None:
    folder = glob.glob("/usr/lib/x86_64-linux-gnu/dpdk/pmds-*")[0]
    os.makedirs("/opt/pmds")
    for name in DRIVERS:
        for file in glob.glob(f"{folder}/librte_{name}.so*"):
            shutil.copy(file, "/opt/pmds", follow_symlinks=False)
    shell("mount", "--bind", "/opt/pmds", folder)


def prepare() -> None:
    os.environ.update(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", LANG="C")
    mount("tmpfs", "run", "/run")
    mount("tmpfs", "shm", "/dev/shm")
    mount("devpts", "pts", "/dev/pts")
    mount("9p", "logs", LOGS, "-o", "trans=virtio,version=9p2000.L,cache=none,msize=262144")
    if not os.path.exists("/dev/fd"):
        os.symlink("/proc/self/fd", "/dev/fd")
    shell("ip", "link", "set", "lo", "up")
    few_drivers()
    shell("modprobe", "vfio-pci")
    shell("modprobe", "vfio_iommu_type1")


def take_programs(build: str) -> None:
    """Copies, so that users without rights to the build directory can read them."""
    os.makedirs(PROGRAMS, exist_ok=True)
    for file in ("libweft-fi.so", "weft", "weft-bench", "tests/provider/peer_app"):
        if os.path.exists(f"{build}/{file}"):
            os.chmod(shutil.copy(f"{build}/{file}", PROGRAMS), 0o755)


def warm_up() -> None:
    """Reads what the processes of cases will load: fi_pingpong gives up a peer that takes too long to start."""
    env = {**os.environ, "FI_PROVIDER_PATH": PROGRAMS, "FI_PROVIDER": "weft"}
    subprocess.run(["fi_info", "-l"], env=env, check=False, capture_output=True)


def main() -> None:
    prepare()
    with open("/dev/ttyS1", "r+b", buffering=0) as talk:
        tty.setraw(talk.fileno())
        with open("/proc/cmdline", encoding="ascii") as file:
            take_programs(next(w.split("=", 1)[1] for w in file.read().split() if w.startswith("weft.build=")))
        warm_up()
        Guest(talk).serve()


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        raise
