#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""suites.py BUILD TESTS MPIEXEC [DIRECTORY]... [--provider NAME]... [--ranks N] [--timeout S] [--out FOLDER] - the tests of
Sandia OpenSHMEM or of MPICH over the provider, through `weft switch`, and over another provider, with a table of what passed and
a list of what failed. TESTS is the folder modules/tests-sos/test of Sandia OpenSHMEM's build, or test/mpi of MPICH's, MPIEXEC a
Hydra mpiexec. doc/notes/suites.md says how to build them."""

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

Results = dict[str, str]  # test: PASS, FAIL, SKIP, XFAIL (its suite expects that), ...


@dataclass(frozen=True)
class Suite:
    """Whose tests they are."""

    directories: list[str]
    providers: list[str]
    ranks: int
    command: Callable[[argparse.Namespace, str, Path], list[str]]  # runs a directory; its output goes to the log at the path
    env: Callable[[str, int], dict[str, str]]  # of a provider, and the seconds that a test may take
    results: Callable[[Path], Results]  # of a log


def sos_command(options: argparse.Namespace, directory: str, log: Path) -> list[str]:
    return ["make", "-k", "-C", str(options.tests / directory), "check", f"TEST_RUNNER={options.mpiexec} -n {options.ranks}"]


def sos_env(provider: str, timeout: int) -> dict[str, str]:
    return {"SHMEM_OFI_PROVIDER": provider, "MPIEXEC_TIMEOUT": str(timeout)}


def sos_results(log: Path) -> Results:
    lines = re.findall(r"^(PASS|FAIL|ERROR|SKIP|XFAIL|XPASS): (\S+)$", log.read_text(errors="replace"), re.MULTILINE)
    return {name: result for result, name in lines}


def mpich_command(options: argparse.Namespace, directory: str, log: Path) -> list[str]:
    """A directory may be followed by the name of a list of its tests: pt2pt/testlist.dtp."""
    folder, _, tests = directory.partition("/")
    source = re.search(r"^srcdir = (.*)$", (options.tests / "Makefile").read_text(), re.MULTILINE)
    assert source
    return ["./runtests", f"-srcdir={source[1]}", f"-testdirs={folder}", f"-tests={tests or 'testlist'}",
            f"-mpiexec={options.mpiexec}", f"-maxnp={options.ranks}", f"-tapfile={log.with_suffix('.tap')}"]


def mpich_env(provider: str, timeout: int) -> dict[str, str]:
    # Without NOLOCAL the processes of a host would use shared memory.
    return {"FI_PROVIDER": provider, "MPIR_CVAR_NOLOCAL": "1", "MPITEST_TIMEOUT": str(timeout),
            "MPITEST_CLEANUP": "0"}


def mpich_results(log: Path) -> Results:
    """Numbered, because the list has some tests several times, with other options."""
    results = {}
    text = log.with_suffix(".tap").read_text(errors="replace")
    lines = re.findall(r"^(not )?ok \d* - \./(?:\w+/)?(\S+ \d+)(.*)$", text, re.MULTILINE)
    for number, (bad, name, rest) in enumerate(lines, 1):
        failure = "XFAIL" if "# TODO" in rest else "FAIL"
        results[f"{number} {name}"] = "SKIP" if "# SKIP" in rest else failure if bad else "PASS"
    return results


# Sandia OpenSHMEM wants counters of remote writes (FI_RMA_EVENT), which tcp;ofi_rxm of libfabric 1.17 does not have.
SOS = Suite(["unit", "shmemx", "spec-example"], ["weft", "sockets"], 2, sos_command, sos_env, sos_results)
# Some of MPICH's tests of collectives want a number of processes that divides 10.
MPICH = Suite(["pt2pt", "coll", "rma"], ["weft", "tcp;ofi_rxm"], 5, mpich_command, mpich_env, mpich_results)


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


def run(options: argparse.Namespace, directory: str, provider: str, extra: dict[str, str]) -> Results:
    suite: Suite = options.suite
    log = options.out / f"{directory.replace('/', '-')}-{provider.replace(';', '-')}.log"
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
    with switched(options.build, options.ranks) as extra:
        return run(options, directory, provider, extra)


def show(directory: str, provider: str, results: Results, seconds: float) -> int:
    """How many failed."""
    values = list(results.values())
    passed, skipped = values.count("PASS") + values.count("XFAIL"), values.count("SKIP")
    failed = len(values) - passed - skipped
    print(f"| {directory} | {provider} | {len(values)} | {passed} | {failed} | {skipped} | {seconds:.0f} |", flush=True)
    for name, result in sorted(results.items()):
        if result not in ("PASS", "XFAIL", "SKIP"):
            print(f"# {provider}: {result} {directory}/{name}", flush=True)
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
    options = parser.parse_args()
    for name in ("build", "tests", "mpiexec", "out"):
        setattr(options, name, getattr(options, name).resolve())
    options.suite = MPICH if (options.tests / "runtests").exists() else SOS
    options.directory = options.directory or options.suite.directories
    options.provider = options.provider or options.suite.providers
    options.ranks = options.ranks or options.suite.ranks
    return options


def main() -> None:
    if os.environ.get("SUITES_INSIDE") != "yes":
        # In a namespace of its own, so nothing of a test that hangs is left.
        os.environ["SUITES_INSIDE"] = "yes"
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        os.execvp("unshare", ["unshare", *user, "--pid", "--mount", "--fork", "--mount-proc", "--kill-child", *sys.argv])
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    print("| tests | over | all | passed | failed | skipped | s |\n|---|---|--:|--:|--:|--:|--:|")
    for directory in options.directory:
        for provider in options.provider:
            begin = time.monotonic()
            results = over(options, directory, provider)
            failed += show(directory, provider, results, time.monotonic() - begin)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
