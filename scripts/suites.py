#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""suites.py BUILD TESTS MPIEXEC [DIRECTORY]... [--provider NAME]... [--ranks N] [--timeout S] [--out FOLDER] - the tests of
Sandia OpenSHMEM over the provider, through `weft switch`, and over another provider, with a table of what passed and a list of
what failed. TESTS is the folder modules/tests-sos/test of Sandia OpenSHMEM's build, MPIEXEC a Hydra mpiexec. doc/notes/suites.md
says how to build it."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

Results = dict[str, str]  # test: PASS, FAIL, SKIP, XFAIL (its suite expects that), ...

DIRECTORIES = ["unit", "shmemx", "spec-example"]
# Sandia OpenSHMEM wants counters of remote writes (FI_RMA_EVENT), which tcp;ofi_rxm of libfabric 1.17 does not have.
PROVIDERS = ["weft", "sockets"]


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


def command_of(options: argparse.Namespace, directory: str) -> list[str]:
    return ["make", "-k", "-C", str(options.tests / directory), "check", f"TEST_RUNNER={options.mpiexec} -n {options.ranks}"]


def results_of(output: str) -> Results:
    return {name: result for result, name in re.findall(r"^(PASS|FAIL|ERROR|SKIP|XFAIL|XPASS): (\S+)$", output, re.MULTILINE)}


def run(options: argparse.Namespace, directory: str, provider: str, extra: dict[str, str]) -> Results:
    env = {"SHMEM_OFI_PROVIDER": provider, "MPIEXEC_TIMEOUT": str(options.timeout)}
    log = options.out / f"{directory}-{provider.replace(';', '-')}.log"
    with open(log, "w") as out:
        subprocess.run(command_of(options, directory), stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                       env=os.environ | env | extra)
    results = results_of(log.read_text(errors="replace"))
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
    parser.add_argument("directory", nargs="*", default=DIRECTORIES, help="of the tests; default: " + ", ".join(DIRECTORIES))
    parser.add_argument("--provider", action="append", help="default: " + " and ".join(PROVIDERS))
    parser.add_argument("--ranks", type=int, default=2, help="PEs of each test")
    parser.add_argument("--timeout", type=int, default=180, help="seconds for a test")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the logs")
    options = parser.parse_args()
    for name in ("build", "tests", "mpiexec", "out"):
        setattr(options, name, getattr(options, name).resolve())
    options.provider = options.provider or PROVIDERS
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
