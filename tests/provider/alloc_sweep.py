#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""alloc_sweep.py BUILD CASE [--runs N] [--seed N] - runs where one allocation fails, or all from one on (alloc_fail.c): the n-th
for every n, or for N of them that the seed chooses. CASE: `rings`, `keys` and `device` are programs of libfabric calls
(alloc_app.c), with `keys` encrypted and with losses; `switch` and `host` are `weft switch` and `weft host`, through which
processes with memory talk. Whatever is refused says so and leaves nothing behind; nothing crashes or hangs, no bytes are wrong.
Exit status: 0 all of it held."""
from __future__ import annotations

import argparse
import collections
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import namespaces
from namespaces import Namespace, Peer, exchange

LIMIT_S = 120
ALL = 0  # ALLOC_FAIL_COUNT: from there on
SHOWN = 10
RNDV_BYTES = "16384"
# libfabric's own words for no memory at fi_getinfo, which asks many providers; the provider logs the reason.
NOTHING_FOUND = "refused fi_getinfo: No data available"
SHORTAGES = ("Cannot allocate memory", "Resource temporarily unavailable")


@dataclass
class Run:
    """What came of one."""

    first: int
    count: int
    status: int
    out: str
    err: str
    refused: list[str]  # where
    counted: int        # calls, in a run to which nothing was refused
    wrong: str = ""


class Here:
    """This host."""

    def command(self, *args: str) -> list[str]:
        return list(args)


class Subject:
    """Something to run short of memory, in a folder of its own."""

    objects = "libweft-fi.so"
    first_number = 1

    def __init__(self, build: str) -> None:
        self.build = build
        self.tests = os.path.join(build, "tests", "provider")
        self.folder = tempfile.TemporaryDirectory(prefix="weft-alloc-")
        self.reference: list[tuple[int, int, int]] = []

    def environment(self, first: int, count: int, folder: str) -> dict[str, str]:
        env = dict(os.environ, FI_PROVIDER="weft", FI_LOG_LEVEL="warn",
                   LD_PRELOAD=os.path.join(self.tests, "alloc_fail.so"), ALLOC_FAIL_IN=self.objects, ALLOC_FAIL_AT=str(first),
                   ALLOC_FAIL_COUNT=str(count), ALLOC_FAIL_LOG=os.path.join(folder, "log"),
                   ALLOC_FAIL_UNTIL=os.path.join(folder, "until"))
        # Sanitizers are loaded with the program, behind what is preloaded.
        env["ASAN_OPTIONS"] = ":".join(filter(None, [env.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
        return env

    def run(self, first: int, count: int) -> Run:
        with tempfile.TemporaryDirectory(prefix="weft-alloc-") as folder:
            status, out, err, wrong = self.execute(self.environment(first, count, folder))
            with open(os.path.join(folder, "log"), encoding="utf-8") as f:
                told = f.read()
        counts = [int(n) for n in re.findall(r"^counted (\d+)", told, re.M)]
        run = Run(first, count, status, out, err, re.findall(r"^refused (.*)", told, re.M), max(counts, default=0), wrong)
        run.wrong = run.wrong or self.judge(run)
        return run

    def execute(self, env: dict[str, str]) -> tuple[int, str, str, str]:
        """Exit status, output, errors, and what is wrong that these do not say."""
        raise NotImplementedError

    def judge(self, run: Run) -> str:
        """What is wrong; empty: nothing."""
        raise NotImplementedError


class Program(Subject):
    """alloc_app."""

    arguments = ("rings",)

    def settings(self) -> dict[str, str]:
        return {"FI_WEFT_RNDV_BYTES": RNDV_BYTES}

    def execute(self, env: dict[str, str]) -> tuple[int, str, str, str]:
        done = subprocess.run([os.path.join(self.tests, "alloc_app"), *self.arguments], env={**env, **self.settings()}, text=True,
                              capture_output=True, timeout=LIMIT_S)
        return done.returncode, done.stdout, done.stderr, ""

    def left(self, out: str) -> list[tuple[int, int, int]]:
        """Bytes, pieces and descriptors that are left after the first time and the second; some drivers keep a little of each."""
        rows = re.findall(r"^left (\d+) bytes in (\d+) pieces, (\d+) descriptors", out, re.M)
        return [(int(row[0]), int(row[1]), int(row[2])) for row in rows]

    def judge(self, run: Run) -> str:
        if run.status:
            return f"exit status {run.status}"
        left = self.left(run.out)
        self.reference = self.reference or left
        if len(left) != 2 or any(have > usual for these, those in zip(left, self.reference) for have, usual in zip(these, those)):
            return f"left are {left}, and without a shortage {self.reference}"
        for line in re.findall(r"^(?:refused|failed) .*", run.out, re.M):
            if line == NOTHING_FOUND and "memory" in run.err:
                continue
            if not line.endswith(SHORTAGES):
                return f"'{line}' does not speak of memory"
        return ""


class Keys(Program):
    """Encrypted, and with losses."""

    def settings(self) -> dict[str, str]:
        path = os.path.join(self.folder.name, "keys")
        with open(path, "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
            f.write(f"key 1 {'5a' * 32}\ncurrent 1\n")
        return {**super().settings(), "FI_WEFT_KEY_FILE": path, "FI_WEFT_TUNE": "fault_loss_ppm=5000"}


class Device(Program):
    """Opens a device, and with it EAL, and closes it."""

    arguments = ("device",)

    def settings(self) -> dict[str, str]:
        return {"FI_WEFT_DEVICE": "net_null0"}


class Command(Subject):
    """A subcommand of weft, that says when it is ready and ends when told to."""

    objects = "/weft"
    name = ""

    def options(self) -> list[str]:
        raise NotImplementedError

    def command(self) -> list[str]:
        return [os.path.join(self.build, "weft"), self.name, *self.options()]

    def peers(self) -> list[Peer]:
        raise NotImplementedError

    def talk(self) -> str:
        peers: list[Peer] = []
        try:
            peers = self.peers()
            exchange(peers[0], peers[1], 7)
            for peer in peers:
                peer.end()
        except AssertionError as error:
            return f"its peers: {error}"
        finally:
            for peer in peers:
                peer.process.kill()
                peer.process.wait()
        return ""

    def talk_twice(self, env: dict[str, str]) -> str:
        """While all memory is gone processes may be turned away; once it is back, and if little was missing, none is."""
        wrong = self.talk()
        if not wrong or env["ALLOC_FAIL_COUNT"] != str(ALL):
            return wrong
        with open(env["ALLOC_FAIL_UNTIL"], "w", encoding="utf-8"):
            pass
        return self.talk()

    def execute(self, env: dict[str, str]) -> tuple[int, str, str, str]:
        with open(os.path.join(self.folder.name, "stderr"), "w+", encoding="utf-8") as err:
            process = subprocess.Popen(self.command(), env=env, text=True, stdout=subprocess.PIPE, stderr=err)
            assert process.stdout
            try:
                ready = process.stdout.readline()
                wrong = self.talk_twice(env) if "ready" in ready else ""
                process.send_signal(signal.SIGTERM)
                out, _ = process.communicate(timeout=LIMIT_S)
            finally:
                process.kill()
                process.wait()
            err.seek(0)
            return process.returncode, ready + out, err.read(), wrong

    def judge(self, run: Run) -> str:
        if run.status == 0:
            return "" if "ready" in run.out else "it ended without a word"
        if run.status not in (1, 2) or "ready" in run.out:
            return f"exit status {run.status}"
        if f"weft {self.name}: " in run.err and any(words in run.err for words in ("memory", *SHORTAGES)):
            return ""
        return "no message that speaks of a shortage"


class Switch(Command):
    """Two processes through vhost ports."""

    name = "switch"

    def options(self) -> list[str]:
        return ["--vhost", f"{self.folder.name}/port:2", "--topology", "leafspine:2:2:1", "--route", "drill"]

    def peers(self) -> list[Peer]:
        app, path = os.path.join(self.tests, "peer_app"), f"net_virtio_user0,path={self.folder.name}/port"
        return [Peer(Here(), app, f"{path}{i}", ADDR=f"10.0.0.{i + 1}") for i in range(2)]  # type: ignore[arg-type]


class Host(Command):
    """A process of this host and one at the other end of the uplink."""

    name = "host"

    def __init__(self, build: str) -> None:
        super().__init__(build)
        self.a, self.b = Namespace(), Namespace()
        self.a.ip(f"link add v0 type veth peer name v0 netns {self.b.pid}\naddr add 10.9.0.1/24 dev v0\nlink set v0 up\n"
                  "link set lo up\n")
        self.b.ip("addr add 10.9.0.2/24 dev v0\nlink set v0 up\nlink set lo up\n")

    def options(self) -> list[str]:
        return ["--uplink", "v0", "--addresses", "10.9.0.100+2", "--dir", self.folder.name + "/run"]

    def command(self) -> list[str]:
        return self.a.command(*super().command())

    def peers(self) -> list[Peer]:
        app = os.path.join(self.tests, "peer_app")
        return [Peer(self.a, app, f"host:{self.folder.name}/run"), Peer(self.b, app, "v0", ADDR="10.9.0.2/24")]


SUBJECTS: dict[str, type[Subject]] = {"rings": Program, "keys": Keys, "device": Device, "switch": Switch, "host": Host}


def numbers(total: int, runs: int, seed: int) -> Iterator[tuple[int, int]]:
    """First call that fails, and how many."""
    every = [(first, count) for first in range(1, total + 1) for count in (1, ALL)]
    return iter(sorted(random.Random(seed).sample(every, runs)) if 0 < runs < len(every) else every)


def tell(name: str, run: Run) -> None:
    how = "from" if run.count == ALL else "at"
    where = " ".join(run.refused[:2])
    print(f"{name}: {run.wrong}: no memory {how} call {run.first}: {where}\n{run.out}{run.err}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("case", choices=SUBJECTS)
    parser.add_argument("--runs", type=int, default=0, help="0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--objects", help="words in the paths of objects whose calls fail, such as librte_")
    args = parser.parse_args()
    if args.case == "host":
        namespaces.enter()
    build = os.environ["FI_PROVIDER_PATH"] = os.path.abspath(args.build)
    subject = SUBJECTS[args.case](build)
    subject.objects = args.objects or subject.objects
    reference = subject.run(0, 1)
    if reference.wrong or not reference.counted:
        tell(args.case, reference)
        return 1
    came: collections.Counter[str] = collections.Counter()
    for first, count in numbers(reference.counted, args.runs, args.seed):
        run = subject.run(first, count)
        came["wrong" if run.wrong else "nothing failed" if not run.refused else "refused or survived"] += 1
        if run.wrong and came["wrong"] <= SHOWN:
            tell(args.case, run)
    print(f"{args.case}: {reference.counted} calls; {', '.join(f'{n} runs {what}' for what, n in came.items())}")
    return 1 if came["wrong"] or not came["refused or survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
