#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""host.py WEFT PEER_APP MPI_APP CASE - processes that share one end of a veth through `weft host`, and others at its other
end. MPI_APP may be '-'. Needs FI_PROVIDER_PATH."""
from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

import namespaces
from namespaces import Namespace, Peer, exchange, expect

WEFT, APP, MPI = (os.path.abspath(path) for path in sys.argv[1:4])
CASE = sys.argv[4]
USERS = (54321, 54322)  # nobody's
GROUP = 54320
LIMIT_S = 60
PORTS = 6


class Net:
    """A veth: a is the host with `weft host`, b has processes of its own."""

    def __init__(self) -> None:
        self.a, self.b = Namespace(), Namespace()
        self.a.ip(f"link add v0 type veth peer name v0 netns {self.b.pid}\naddr add 10.9.0.1/24 dev v0\nlink set v0 up\n"
                  "link set lo up\n")
        self.b.ip("addr add 10.9.0.2/24 dev v0\naddr add 10.9.0.3/24 dev v0\nlink set v0 up\nlink set lo up\n")


class Host:
    """`weft host` in the first namespace. Without channels unless asked for: what is tested is the way through it."""

    def __init__(self, net: Net, *options: str, local: str = "off") -> None:
        self.net, self.options = net, ("--local", local, *options)
        self.folder = tempfile.TemporaryDirectory(prefix="weft-host-")
        atexit.register(self.folder.cleanup)
        os.chmod(self.folder.name, 0o755)
        self.directory = self.folder.name + "/run"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.net.a.command(WEFT, "host", "--uplink", "v0", "--addresses", f"10.9.0.100+{PORTS}", "--dir", self.directory,
                               *self.options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, RUNTIME_DIRECTORY=self.folder.name))
        atexit.register(self.process.kill)
        assert self.process.stdout
        line = self.process.stdout.readline()
        if f"{PORTS} ports ready" not in line:
            self.process.terminate()
            raise AssertionError(line + self.process.communicate(timeout=LIMIT_S)[1])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> tuple[list[list[str]], str]:
        """Rows of the table of ports, the uplink's first, and what it said."""
        self.process.terminate()
        out, told = self.process.communicate(timeout=LIMIT_S)
        assert self.process.returncode == 0, (self.process.returncode, told)
        return [line.split() for line in out.splitlines() if line[:1].isdigit()], told

    def device(self) -> str:
        return "host:" + self.directory

    def ports(self) -> list[dict[str, int]]:
        """What telemetry says of the ports for processes."""
        return self.rows()[1:]

    def rows(self) -> list[dict[str, int]]:
        """Of all ports, the uplink's first."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(LIMIT_S)
            s.connect(f"{self.folder.name}/dpdk/weft-{self.process.pid}/dpdk_telemetry.v2")
            s.recv(4096)
            rows, page = [], 0
            while True:
                s.send(f"/weft/ports,host,{page}".encode() if page else b"/weft/ports,host")
                answer = json.loads(s.recv(1 << 16))["/weft/ports"]
                if answer is None:  # it starts, and has not said yet what it can tell
                    time.sleep(0.05)
                    continue
                page = answer.pop("next")
                rows += list(answer.values())
                if not page:
                    return rows

    def leases(self) -> list[tuple[int, int]]:
        """Ports with the processes that have them."""
        with open(self.directory + "/leases", encoding="ascii") as f:
            return [(int(line.split()[0]), int(line.split()[2])) for line in f]


class UserNamespace:
    """Commands in a namespace of somebody else's, by another user."""

    def __init__(self, namespace: Namespace, uid: int, gid: int = GROUP) -> None:
        self.namespace, self.uid, self.gid = namespace, uid, gid

    def command(self, *args: str) -> list[str]:
        return self.namespace.command("setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups", *args)


def needs_root() -> None:
    if os.environ.get("WEFT_IN_USER_NS"):
        print("two users need root", file=sys.stderr)
        sys.exit(namespaces.SKIPPED)
    for path in (WEFT, APP, os.environ["FI_PROVIDER_PATH"]):
        if subprocess.run(["setpriv", f"--reuid={USERS[0]}", f"--regid={GROUP}", "--clear-groups", "test", "-r",
                           path]).returncode:
            print(f"other users cannot read {path}", file=sys.stderr)
            sys.exit(namespaces.SKIPPED)


def wait_for(what: str, condition) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def mpi(net: Net, host: Host, uid: int) -> subprocess.Popen[str]:
    folder = tempfile.mkdtemp(prefix="weft-mpi-", dir=host.folder.name)
    os.chown(folder, uid, GROUP)
    env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_DEVICE=host.device(), TMPDIR=folder, HOME=folder)
    command = ["mpirun.openmpi", "--oversubscribe", "-n", "2", "-x", "FI_PROVIDER_PATH", "-x", "FI_PROVIDER", "-x",
               "FI_WEFT_DEVICE", "--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "btl", "self,vader", "--mca", "osc",
               "pt2pt", "--mca", "opal_common_ofi_provider_include", "weft", MPI, "modes", "matching",
               "collectives=1048576"]
    process = subprocess.Popen(UserNamespace(net.a, uid).command(*command), env=env, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, cwd=folder)
    atexit.register(process.kill)
    return process


def mpi_finish(process: subprocess.Popen[str]) -> None:
    out, _ = process.communicate(timeout=150)
    assert process.returncode == 0, out
    for part in ("modes", "matching", "collectives=1048576"):
        assert f"{part}: 2 ranks agree" in out, out


def shared(net: Net) -> None:
    """An MPI program of one user, two processes of another, and two at the other end."""
    needs_root()
    host = Host(net, "--group", str(GROUP))
    ranks = mpi(net, host, USERS[0])
    inside = [Peer(UserNamespace(net.a, USERS[1]), APP, host.device()) for _ in range(2)]  # type: ignore[arg-type]
    outside = [Peer(net.b, APP, "v0", ADDR=f"10.9.0.{2 + i}/24") for i in range(2)]
    for round in range(3):
        exchange(inside[0], inside[1], 10 + round)
        for i in range(2):
            exchange(inside[i], outside[i], 20 + 2 * round + i)
    mpi_finish(ranks)
    # Each had a port, and gave it back.
    wait_for("ranks gave back nothing", lambda: len(host.leases()) == 2)
    for peer in inside + outside:
        peer.end()
    rows, told = host.end()
    assert len([row for row in rows[1:] if int(row[1]) > 20]) == 4 and int(rows[0][1]) > 200, (rows, told)
    assert all(row[7] == "0" for row in rows), rows


def killed(net: Net) -> None:
    """A process is killed, then `weft host` is: the others go on, and the port is free at once."""
    host = Host(net)
    inside = [Peer(net.a, APP, host.device()) for _ in range(3)]
    outside = Peer(net.b, APP, "v0")
    for peer in inside:
        exchange(peer, outside, 1)
    had = host.leases()
    inside[0].process.kill()
    wait_for("the port of a killed process is not free", lambda: len(host.leases()) == 2)
    exchange(inside[1], inside[2], 2)
    exchange(inside[1], outside, 3)
    host.kill()
    expect(inside[1].ask("recv 4"), "posted")
    outside.send(inside[1].name, 4)  # meanwhile
    host.start()
    expect(inside[1].wait(), "received 4 length 100 wrong 0")
    expect(outside.wait(), "sent 4")
    exchange(inside[1], inside[2], 5)
    assert sorted(host.leases()) == sorted(had[1:]), (had, host.leases())
    # All ports but those of the living can be had.
    more = [Peer(net.a, APP, host.device()) for _ in range(PORTS - 2)]
    assert len({peer.name for peer in more + inside[1:]}) == PORTS
    exchange(more[0], outside, 6)
    for peer in inside[1:] + more + [outside]:
        peer.end()
    host.end()


def refused(net: Net) -> None:
    """Who is not of the group, who has enough ports, and who comes when there are none."""
    needs_root()
    host = Host(net, "--group", str(GROUP), "--per-user", "1")

    def is_refused(said: str) -> bool:  # before or after it wrote
        return "reset" in said or "Broken pipe" in said

    def ask(uid: int, gid: int) -> str:
        env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_DEVICE=host.device(), FI_LOG_LEVEL="warn")
        run = subprocess.run(UserNamespace(net.a, uid, gid).command(APP), input="open\n", env=env, text=True,
                             capture_output=True, timeout=LIMIT_S)
        return run.stdout + run.stderr
    assert "Permission denied" in ask(USERS[0], USERS[0])
    peer = Peer(UserNamespace(net.a, USERS[0]), APP, host.device())  # type: ignore[arg-type]
    assert "as many ports as a user may have" in ask(USERS[0], GROUP)
    # Another user's port does not listen to others, whatever its name.
    (port, _), = host.leases()
    probe = ("import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
             "s.send(bytes([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])); print(len(s.recv(100)))")
    for uid, wanted in ((USERS[0], "20"), (USERS[1], "0")):
        run = subprocess.run(UserNamespace(net.a, uid).command(sys.executable, "-c", probe, f"{host.directory}/ports/{port}"),
                             text=True, capture_output=True)
        assert run.stdout.strip() == wanted or (wanted == "0" and is_refused(run.stderr)), (uid, run)
    everybody = [Peer(net.a, APP, host.device()) for _ in range(PORTS - 1)]
    assert "all ports are taken" in ask(USERS[1], GROUP)
    for p in everybody:
        p.end()
    peer.process.kill()
    host.end()


def spoofed(net: Net) -> None:
    """A process that uses another one's address is heard by nobody."""
    host = Host(net)
    honest, outside = Peer(net.a, APP, host.device()), Peer(net.b, APP, "v0")
    exchange(honest, outside, 1)
    # One that takes a port, and another address than it was given.
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(host.directory + "/host")
        path, address = control.recv(200).decode().split()[1:3]
        assert address == "10.9.0.101", address
        for fake in ("10.9.0.100", "10.9.0.3", "10.9.0.77"):
            liar = Peer(net.a, APP, f"net_virtio_user_liar,path={path}", ADDR=fake, PEER_TIMEOUT_MS="400")
            liar.send(outside.name, 7, 200000)
            answer = liar.ask(f"wait {namespaces.LIMIT_MS}")
            assert not answer.startswith("sent"), (fake, answer)
            liar.process.kill()
            liar.process.wait()
    exchange(honest, outside, 2)
    honest.end()
    outside.end()
    rows, _ = host.end()
    assert int(rows[2][7]) > 0 and int(rows[1][7]) == 0, rows


def dropped(net: Net) -> None:
    """What the uplink drops itself, as nobody has the address, is shown, and is not sent."""
    host = Host(net)
    inside, outside = Peer(net.a, APP, host.device()), Peer(net.b, APP, "v0", ADDR="10.9.0.3/24")
    outside.process.kill()
    outside.process.wait()
    net.b.ip("addr del 10.9.0.3/24 dev v0\n")
    inside.send(outside.name, 1)
    wait_for("nothing is dropped", lambda: host.rows()[0]["drop_port"] > 0)
    inside.process.kill()
    rows, _ = host.end()
    assert int(rows[0][2]) < int(rows[1][1]) and int(rows[0][4]) > 0, rows


def user(net: Net) -> None:
    """Root starts it because of the uplink, and another user goes on, without a capability."""
    needs_root()
    host = Host(net, "--user", "nobody")
    with open(f"/proc/{host.process.pid}/status", encoding="ascii") as f:
        assert "CapEff:\t0000000000000000" in f.read()
    nobody = os.stat(host.directory).st_uid
    assert nobody != 0 and nobody == os.stat(host.directory + "/host").st_uid
    inside = Peer(UserNamespace(net.a, nobody), APP, host.device())  # type: ignore[arg-type]
    outside = Peer(net.b, APP, "v0")
    exchange(inside, outside, 1)
    host.kill()
    host.start()
    exchange(inside, outside, 2)
    inside.end()
    outside.end()
    host.end()


def rates(net: Net) -> None:
    """--port-gbps limits a process both ways, whoever is at the other end; --uplink-gbps what leaves and enters the host."""
    length, bps = 500000, 20_000_000  # 0.2 s
    inside_links = {("--port-gbps", "0.02"): True, ("--uplink-gbps", "0.02"): False}
    for options, limits_inside in inside_links.items():
        host = Host(net, *options)
        one, other, outside = (*(Peer(net.a, APP, host.device()) for _ in range(2)), Peer(net.b, APP, "v0"))
        for tag, (source, sink) in enumerate(((one, outside), (outside, one), (one, other))):
            expect(sink.ask(f"recv {tag}"), "posted")
            sink.tell(f"wait {namespaces.LIMIT_MS}")
            before = time.monotonic()
            source.send(sink.name, tag, length)
            source.tell(f"wait {namespaces.LIMIT_MS}")
            expect(sink.hear(), f"received {tag} length {length} wrong 0")
            took_s = time.monotonic() - before
            expect(source.hear(), f"sent {tag}")
            if sink is outside or source is outside or limits_inside:
                assert took_s >= 8 * length / bps, (options, tag, took_s)
        for peer in (one, other, outside):
            peer.end()
        host.end()


def ipv6(net: Net) -> None:
    """Neighbour discovery instead of ARP."""
    for namespace, address in ((net.a, "fd00:9::1"), (net.b, "fd00:9::2")):
        namespace.ip(f"addr add {address}/64 dev v0 nodad\n")
    host = Host(net, "--addresses", f"fd00:9::100+{PORTS}")
    inside = [Peer(net.a, APP, host.device()) for _ in range(2)]
    outside = Peer(net.b, APP, "v0", ADDR="fd00:9::2/64")
    exchange(inside[0], inside[1], 1)
    exchange(inside[0], outside, 2)
    exchange(outside, inside[1], 3)
    for peer in [*inside, outside]:
        peer.end()
    rows, _ = host.end()
    assert all(row[7] == "0" for row in rows), rows


def service(net: Net) -> None:
    """A service manager opens the socket, hears that all is ready and lives, and processes that came before are served."""
    with tempfile.TemporaryDirectory(prefix="weft-host-") as folder:
        with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            os.mkdir(folder + "/run")
            listener.bind(folder + "/run/host")
            listener.listen(4)
            manager.bind(folder + "/notify")
            manager.settimeout(LIMIT_S)
            early = socket.socket(socket.AF_UNIX)
            early.settimeout(LIMIT_S)
            early.connect(folder + "/run/host")
            start = (f"exec 3<&{listener.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 exec {WEFT} host --uplink v0 "
                     f"--addresses 10.9.0.100+2 --dir {folder}/run")
            process = subprocess.Popen(net.a.command("sh", "-c", start), pass_fds=[listener.fileno()],
                                       stdout=subprocess.DEVNULL,
                                       env=dict(os.environ, NOTIFY_SOCKET=folder + "/notify", WATCHDOG_USEC="20000"))
            atexit.register(process.kill)
            assert [manager.recv(64) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
            assert early.recv(200).split()[2] == b"10.9.0.100"
            peer, outside = Peer(net.a, APP, f"host:{folder}/run"), Peer(net.b, APP, "v0")
            exchange(peer, outside, 1)
            peer.end()
            outside.end()
            process.terminate()
            assert process.wait(LIMIT_S) == 0
            assert os.path.exists(folder + "/run/host"), "the manager's socket is gone"
            early.close()


def relative(net: Net) -> None:
    """--dir is where `weft host` was started, and processes may be anywhere. A directory that was there stays as it was."""
    with tempfile.TemporaryDirectory(prefix="weft-host-") as folder:
        for name, mode in (("new", 0o755), ("old", 0o700)):
            if name == "old":
                os.mkdir(f"{folder}/{name}", mode)
            process = subprocess.Popen(net.a.command(WEFT, "host", "--uplink", "v0", "--addresses", "10.9.0.100+2", "--dir", name,
                                                     "--group", "0"), cwd=folder, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            atexit.register(process.kill)
            assert process.stdout and f"ready in {folder}/{name}," in process.stdout.readline()
            assert os.stat(f"{folder}/{name}").st_mode & 0o7777 == mode, name
            peer, outside = Peer(net.a, APP, f"host:{folder}/{name}"), Peer(net.b, APP, "v0")
            exchange(peer, outside, 1)
            peer.end()
            outside.end()
            process.terminate()
            told = process.communicate(timeout=LIMIT_S)[1]
            assert process.returncode == 0, told
            assert ("cannot search this directory" in told) == (name == "old"), told


def nonsense(net: Net) -> None:
    """What makes no sense is refused, by its name."""
    scratch = tempfile.TemporaryDirectory(prefix="weft-host-")
    os.mkdir(scratch.name + "/everybodys")
    os.chmod(scratch.name + "/everybodys", 0o1777)
    good = {"--uplink": "v0", "--addresses": "10.9.0.100+2", "--dir": scratch.name + "/run"}
    for option, value, why in (("--uplink", "v9", "--uplink: there is no interface v9"),
                               ("--addresses", "10.9.0.100", "FIRST-LAST"),
                               ("--addresses", "10.9.0.1+2", "the kernel's on v0"), ("--addresses", "10.9.0.5+32", "1 to 31"),
                               ("--addresses", "fd00::1+2", "no address of the family"),
                               ("--addresses", "10.9.0.253+4", "number 3 of them is the first or the last"),
                               ("--uplink-addr", "10.9.0.1/40", "prefix"),
                               ("--uplink-addr", "fd00::1", "two families"), ("--group", "nobody-at-all", "no such group"),
                               ("--user", "nobody-at-all", "no such user"), ("--gateway", "x", "--gateway"),
                               ("--gateway", "fd00::1", "--gateway: fd00::1 is not of the address family of the uplink"),
                               ("--mtu", "100", "100"), ("--local", "maybe", "neither on nor off"),
                               ("--dscp", "x", "weft host: --dscp: 'x' is not CLASS:CODE"),
                               ("--dir", "/proc/none/run", "/proc/none"),
                               ("--dir", scratch.name + "/a b", "white space or a comma"),
                               ("--dir", scratch.name + "/a,b", "white space or a comma"),
                               ("--dir", scratch.name + "/everybodys", "everybody may write to this directory")):
        words = [word for pair in (good | {option: value}).items() for word in pair]
        run = subprocess.run(net.a.command(WEFT, "host", *words), capture_output=True, text=True, timeout=LIMIT_S)
        assert run.returncode in (1, 2) and why in run.stderr, (option, value, run)
    assert sorted(os.listdir(scratch.name)) == ["everybodys", "run"], os.listdir(scratch.name)
    assert os.stat(scratch.name + "/everybodys").st_mode & 0o7777 == 0o1777
    words = ["--uplink", "net_null0", "--uplink-addr", "10.9.0.1/24", "--addresses", "10.9.0.253+4", "--dir", good["--dir"]]
    run = subprocess.run(net.a.command(WEFT, "host", *words), capture_output=True, text=True, timeout=LIMIT_S)
    assert run.returncode == 1 and "number 3 of them is the first or the last" in run.stderr, run
    run = subprocess.run([WEFT, "host", "--uplink", "v0"], capture_output=True, text=True)
    assert run.returncode == 2 and "--addresses" in run.stderr, run
    busy = Host(net)
    words = ["--uplink", "v0", "--addresses", "10.9.0.200+2", "--dir", busy.directory]
    run = subprocess.run(net.a.command(WEFT, "host", *words), capture_output=True, text=True, timeout=LIMIT_S)
    assert run.returncode == 1 and busy.directory in run.stderr and "another process listens there" in run.stderr, run
    for device, addr, why in (("host:/nowhere", "", "no weft host"), (busy.device(), "10.9.0.100", "FI_WEFT_ADDR")):
        env = dict(os.environ, FI_PROVIDER="weft", FI_WEFT_DEVICE=device, FI_WEFT_ADDR=addr, FI_LOG_LEVEL="warn")
        run = subprocess.run(net.a.command(APP), input="open\n", env=env, text=True, capture_output=True, timeout=LIMIT_S)
        assert why in run.stderr, (device, run)
    busy.end()
    scratch.cleanup()


def main() -> None:
    namespaces.enter()
    every = (shared, killed, refused, spoofed, dropped, user, rates, ipv6, service, relative, nonsense)
    cases = {case.__name__: case for case in every}
    cases[CASE](Net())


if __name__ == "__main__":
    main()
