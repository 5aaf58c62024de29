#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""suites.py BUILD TESTS MPIEXEC [DIRECTORY]... [--provider NAME]... [--ranks N] [--timeout S] [--out FOLDER] [--turns [REGEX]]
[--host] - the tests of Sandia OpenSHMEM or of MPICH over the provider, through `weft switch` or `weft host`, and over another
provider, with a table of what passed and a list of what failed. TESTS is the folder modules/tests-sos/test of Sandia OpenSHMEM's
build, or test/mpi of MPICH's, MPIEXEC a Hydra mpiexec. doc/notes/suites.md says how to build them."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Result:
    """Of a test."""

    value: str  # PASS, FAIL, SKIP, XFAIL (its suite expects that), ...
    seconds: float = 0  # that it took, if its suite tells


Results = dict[str, Result]  # by the name of the test


@dataclass(frozen=True)
class Suite:
    """Whose tests they are."""

    directories: list[str]
    providers: list[str]
    ranks: int
    command: Callable[[argparse.Namespace, str, Path], list[str]]  # runs a directory; its output goes to the log at the path
    env: Callable[[str, int], dict[str, str]]  # of a provider, and the seconds that a test may take
    results: Callable[[Path], Results]  # of a log
    lines: Callable[[argparse.Namespace, str], list[str]] | None = None  # of a directory's list, a test each


def sos_command(options: argparse.Namespace, directory: str, log: Path) -> list[str]:
    return ["make", "-k", "-C", str(options.tests / directory), "check", f"TEST_RUNNER={options.mpiexec} -n {options.ranks}"]


def sos_env(provider: str, timeout: int) -> dict[str, str]:
    return {"SHMEM_OFI_PROVIDER": provider, "MPIEXEC_TIMEOUT": str(timeout)}


def sos_results(log: Path) -> Results:
    lines = re.findall(r"^(PASS|FAIL|ERROR|SKIP|XFAIL|XPASS): (\S+)$", log.read_text(errors="replace"), re.MULTILINE)
    return {name: Result(value) for value, name in lines}


def mpich_source(options: argparse.Namespace) -> str:
    source = re.search(r"^srcdir = (.*)$", (options.tests / "Makefile").read_text(), re.MULTILINE)
    assert source
    return source[1]


def mpich_command(options: argparse.Namespace, directory: str, log: Path) -> list[str]:
    """A directory may be followed by the name of a list of its tests: pt2pt/testlist.dtp."""
    folder, _, tests = directory.partition("/")
    return ["./runtests", f"-srcdir={mpich_source(options)}", f"-testdirs={folder}", f"-tests={tests or 'testlist'}",
            f"-mpiexec={options.mpiexec}", f"-maxnp={options.ranks}", f"-tapfile={log.with_suffix('.tap')}"]


def mpich_env(provider: str, timeout: int) -> dict[str, str]:
    # Without NOLOCAL the processes of a host would use shared memory.
    return {"FI_PROVIDER": provider, "MPIR_CVAR_NOLOCAL": "1", "MPITEST_TIMEOUT": str(timeout),
            "MPITEST_CLEANUP": "0"}


def mpich_results(log: Path) -> Results:
    """Numbered, because the list has some tests several times, with other options. One that was not built has no number of
    processes."""
    results = {}
    text = log.with_suffix(".tap").read_text(errors="replace")
    lines = re.findall(r"^(not )?ok \d* - \./(?:\w+/)?(\S+ \d*)(.*)$", text, re.MULTILINE)
    for number, (bad, name, rest) in enumerate(lines, 1):
        failure = "XFAIL" if "# TODO" in rest else "FAIL"
        seconds = re.search(r"# time=([\d.]+)", rest)
        results[f"{number} {name}"] = Result("SKIP" if "# SKIP" in rest else failure if bad else "PASS",
                                             float(seconds[1]) if seconds else 0)
    return results


def mpich_lines(options: argparse.Namespace, directory: str) -> list[str]:
    folder, _, tests = directory.partition("/")
    name = f"{folder}/{tests or 'testlist'}"
    listed = next(path for path in (options.tests / name, options.tests / mpich_source(options) / name) if path.exists())
    lines = [line.partition("#")[0].strip() for line in listed.read_text().splitlines()]
    return [line for line in lines if line]


# Sandia OpenSHMEM wants counters of remote writes (FI_RMA_EVENT), which tcp;ofi_rxm of libfabric 1.17 does not have.
SOS = Suite(["unit", "shmemx", "spec-example"], ["weft", "sockets"], 2, sos_command, sos_env, sos_results)
# Some of MPICH's tests of collectives want a number of processes that divides 10.
MPICH = Suite(["pt2pt", "coll", "rma"], ["weft", "tcp;ofi_rxm"], 5, mpich_command, mpich_env, mpich_results, mpich_lines)


@contextlib.contextmanager
def switched(build: Path, ports: int) -> Iterator[dict[str, str]]:
    """A switch, and what a process needs to take a port of it."""
    # Not below the build folder: the path of a socket has at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="weft-suites.") as folder:
        command = [str(build / "weft"), "switch", "--vhost", f"{folder}/port:{ports}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as switch:
            assert switch.stdout
            if "ready" not in switch.stdout.readline():
                sys.exit("suites: weft switch did not start")
            try:
                yield {"FI_PROVIDER_PATH": str(build), "FI_WEFT_DEVICE": f"net_virtio_user0,path={folder}/port%n",
                       "FI_WEFT_ADDR": "10.97.0.1+%n"}
            finally:
                switch.terminate()


def uplink() -> None:
    """In a namespace of its own: an interface that weft host can have."""
    for command in ("link set lo up", "link add uplink type veth peer name far", "addr add 10.97.0.1/24 dev uplink",
                    "link set uplink up", "link set far up"):
        subprocess.run(["ip", *command.split()], check=True)


@contextlib.contextmanager
def hosted(build: Path, ports: int) -> Iterator[dict[str, str]]:
    """The same with `weft host`, past which the processes reach each other by memory of the two."""
    with tempfile.TemporaryDirectory(prefix="weft-suites.") as folder:
        command = [str(build / "weft"), "host", "--uplink", "uplink", "--addresses", f"10.97.0.2+{ports}", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
            assert host.stdout
            if "ready" not in host.stdout.readline():
                sys.exit("suites: weft host did not start")
            try:
                yield {"FI_PROVIDER_PATH": str(build), "FI_WEFT_DEVICE": f"host:{folder}"}
            finally:
                host.terminate()


def run(options: argparse.Namespace, directory: str, provider: str, extra: dict[str, str]) -> Results:
    suite: Suite = options.suite
    name = directory.replace(f"{options.out}/", "").replace("/", "-")
    log = options.out / f"{name}-{provider.replace(';', '-')}.log"
    with open(log, "w") as out:
        subprocess.run(suite.command(options, directory, log), stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                       cwd=options.tests, env=os.environ | suite.env(provider, options.timeout) | extra)
    results = suite.results(log)
    if not results:
        sys.exit(f"suites: {log}: no results")
    return results


def over(options: argparse.Namespace, directory: str, provider: str) -> Results:
    if provider != "weft":
        return run(options, directory, provider, {})
    with (hosted if options.host else switched)(options.build, options.ranks) as extra:
        return run(options, directory, provider, extra)


def cell(result: Result) -> str:
    return f"{result.value} {result.seconds:.1f} s"


def in_turns(options: argparse.Namespace, directory: str) -> dict[str, Results]:
    """Each test over each provider before the next, so that a busy machine is busy for all of them. By the provider."""
    results: dict[str, Results] = {provider: {} for provider in options.provider}
    folder, _, tests = directory.partition("/")
    for number, line in enumerate(options.suite.lines(options, directory), 1):
        if not re.search(options.turns, line):
            continue
        alone = options.out / f"{tests or 'testlist'}-{number}"
        alone.write_text(line + "\n")
        for provider in options.provider:
            results[provider][f"{number} {line}"] = next(iter(over(options, f"{folder}/{alone}", provider).values()))
        cells = [cell(results[provider][f"{number} {line}"]) for provider in options.provider]
        print(f"| {directory} {number} | {line} | {' | '.join(cells)} |", flush=True)
    return results


HEAD = "\n| tests | over | all | passed | failed | skipped | s |\n|---|---|--:|--:|--:|--:|--:|"


def run_in_turns(options: argparse.Namespace) -> int:
    print(f"| | test | {' | '.join(options.provider)} |\n|---|---|{'--:|' * len(options.provider)}", flush=True)
    results = {directory: in_turns(options, directory) for directory in options.directory}
    print(HEAD)
    return sum(show(directory, provider, ended, sum(result.seconds for result in ended.values()))
               for directory, of in results.items() for provider, ended in of.items())


def run_all(options: argparse.Namespace) -> int:
    failed = 0
    print(HEAD)
    for directory in options.directory:
        for provider in options.provider:
            begin = time.monotonic()
            results = over(options, directory, provider)
            failed += show(directory, provider, results, time.monotonic() - begin)
    return failed


def show(directory: str, provider: str, results: Results, seconds: float) -> int:
    """How many failed."""
    values = [result.value for result in results.values()]
    passed, skipped = values.count("PASS") + values.count("XFAIL"), values.count("SKIP")
    failed = len(values) - passed - skipped
    print(f"| {directory} | {provider} | {len(values)} | {passed} | {failed} | {skipped} | {seconds:.0f} |", flush=True)
    for name, result in sorted(results.items()):
        if result.value not in ("PASS", "XFAIL", "SKIP"):
            print(f"# {provider}: {result.value} {directory}/{name}", flush=True)
    return failed


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("tests", type=Path)
    parser.add_argument("mpiexec", type=Path)
    parser.add_argument("directory", nargs="*", help=f"of the tests; default: {SOS.directories}; MPICH: {MPICH.directories}")
    parser.add_argument("--provider", action="append", help=f"default: {SOS.providers}; MPICH: {MPICH.providers}")
    parser.add_argument("--ranks", type=int, help="PEs of each test; MPICH: processes at most")
    parser.add_argument("--timeout", type=int, default=180, help="seconds for a test")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the logs")
    parser.add_argument("--host", action="store_true", help="through weft host with its channels, not weft switch")
    parser.add_argument("--turns", nargs="?", const="", metavar="REGEX",
                        help="of MPICH alone: each test over each provider before the next; those whose line of the list has it")
    options = parser.parse_args()
    for name in ("build", "tests", "mpiexec", "out"):
        setattr(options, name, getattr(options, name).resolve())
    options.suite = MPICH if (options.tests / "runtests").exists() else SOS
    options.directory = options.directory or options.suite.directories
    options.provider = options.provider or options.suite.providers
    options.ranks = options.ranks or options.suite.ranks
    if options.turns is not None and not options.suite.lines:
        parser.error("--turns: of MPICH alone")
    return options


def main() -> None:
    if os.environ.get("SUITES_INSIDE") != "yes":
        # In a namespace of its own, so nothing of a test that hangs is left.
        os.environ["SUITES_INSIDE"] = "yes"
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        user += ["--net"] if "--host" in sys.argv else []
        os.execvp("unshare", ["unshare", *user, "--pid", "--mount", "--fork", "--mount-proc", "--kill-child", *sys.argv])
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.host:
        uplink()
    failed = run_all(options) if options.turns is None else run_in_turns(options)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
