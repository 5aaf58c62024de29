#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""matrix.py BUILD [--quick] [--model NAME]... [--case NAME]... - Weft over emulated NICs: Debian's kernel in QEMU, on this
host's own root (read-only), one guest per model, two NICs on one wire, a process at each. Prints a table of models and
cases. Exit status: 0 everything that ran passed, 1 something failed, 77 nothing could run (the last line says why)."""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import parts
from cases import CASES, MODELS, ON_REQUEST, QUICK, Case, Model
from machine import Gone, Machine, kvm_boots

BOOT_SECONDS = 40    # about, for the time left
CASE_LIMIT = 1500    # seconds until a guest that says nothing is given up
NOT_RUN = "not run"
HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "results.json")
PAGE = os.path.join(HERE, "../../doc/guide/nics.md")
TABLE_BEGINS, TABLE_ENDS = "<!-- table of matrix.py -->", "<!-- end of the table -->"
SKIPPED = 77         # meson's status of a test that could not run


@dataclass
class Result:
    verdict: str     # PASS, FAIL or not run
    why: str = ""


class Progress:
    """Percent done and time left, by the cases' usual times and the speed so far."""

    def __init__(self, total_seconds: float) -> None:
        self._total = total_seconds
        self._done = 0.0
        self._start = time.monotonic()

    def add(self, usual_seconds: float) -> None:
        self._done += usual_seconds

    def __str__(self) -> str:
        spent = time.monotonic() - self._start
        pace = spent / self._done if self._done else 1.0
        left = (self._total - self._done) * pace
        return f"{100 * self._done / self._total:3.0f} %, {left / 60:3.0f} min left"


class Host:
    """What guests ask of the host."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def do(self, request: dict[str, Any]) -> Any:
        deed = getattr(self, request.pop("ask"))
        return deed(**request)

    def wire(self) -> dict[str, Any]:
        wire = self._machine.wire
        return {"frames": wire.frames, "longest": wire.longest, "vlans": wire.vlans, "lost": wire.lost,
                "corrupted": wire.corrupted}

    def faults(self, loss: float = 0.0, corruption: float = 0.0) -> None:
        self._machine.wire.loss, self._machine.wire.corruption = loss, corruption

    def link(self, nic: int, up: bool) -> None:
        self._machine.control("set_link", name=f"nic{nic}", up=up)

    def pause(self, seconds: float) -> None:
        self._machine.control("stop")
        time.sleep(seconds)
        self._machine.control("cont")

    def unplug(self, nic: int) -> None:
        self._machine.control("device_del", id=f"nic{nic}")

    def plug(self, nic: int) -> None:
        self._machine.plug(nic)


class Station:
    """The guest of a model; a new one after one died."""

    def __init__(self, boot: Callable[[], Machine]) -> None:
        self._boot = boot
        self._machine: Machine | None = None

    def close(self) -> None:
        if self._machine:
            self._machine.stop()
        self._machine = None

    def run(self, model: Model, case: Case) -> Result:
        try:
            self._machine = self._machine or self._boot()
            self._machine.wire.reset()
            request = {"case": case.name, "model": model.name, "vf": model.virtual}
            answer = self._machine.call(request, CASE_LIMIT, Host(self._machine).do)
            return Result(answer["verdict"], answer["why"])
        except Gone as gone:
            end = self._machine.end_of_console() if self._machine else ""
            self.close()
            return Result("FAIL", f"{end}the guest: {gone}")


@dataclass
class Record:
    """Results that outlive a run: a file with the latest of each model and case, and a page with their table."""

    file: str
    page: str

    def add(self, setting: str, results: dict[tuple[str, str], Result]) -> None:
        """What did not run here leaves an earlier result alone."""
        known: dict[str, dict[str, dict[str, str]]] = {}
        if os.path.exists(self.file):
            with open(self.file, encoding="utf-8") as file:
                known = json.load(file)
        for (model, case), result in results.items():
            row = known.setdefault(model, {})
            if result.verdict != NOT_RUN or case not in row:
                row[case] = {"verdict": result.verdict, "why": last_line(result.why), "setting": setting}
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(known, file, indent=1, sort_keys=True)
            file.write("\n")
        self._write_page(known)

    def _write_page(self, known: dict[str, dict[str, dict[str, str]]]) -> None:
        with open(self.page, encoding="utf-8") as file:
            before, rest = file.read().split(TABLE_BEGINS)
        after = rest.split(TABLE_ENDS)[1]
        with open(self.page, "w", encoding="utf-8") as file:
            file.write(before + TABLE_BEGINS + "\n" + page_table(known) + TABLE_ENDS + after)


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""


def page_table(known: dict[str, dict[str, dict[str, str]]]) -> str:
    """Verdicts by case and model, in the order of cases.py, then the reasons and with what it was run."""
    models = [model.name for model in MODELS if model.name in known]
    lines = ["| case | " + " | ".join(models) + " |", "|" + "---|" * (len(models) + 1)]
    notes, settings = [], set()
    for case in CASES:
        cells = [known[model].get(case.name, {"verdict": "", "why": "", "setting": ""}) for model in models]
        if any(cell["verdict"] for cell in cells):
            lines.append(f"| {case.name} | " + " | ".join(cell["verdict"] for cell in cells) + " |")
        notes += [f"* {model}, {case.name}: {cell['verdict']}: {cell['why']}" for model, cell in zip(models, cells)
                  if cell["why"]]
        settings |= {cell["setting"] for cell in cells if cell["verdict"] not in ("", NOT_RUN)}
    return "\n".join([*lines, "", *notes, *([""] if notes else []), *(f"Run with {s}." for s in sorted(settings))]) + "\n"


@dataclass
class Run:
    """Everything the runs of models share."""

    build: str
    kernel: parts.Kernel
    folder: str
    progress: Progress
    results: dict[tuple[str, str], Result]
    settings: list[str]

    def note(self, model: Model, case: Case, result: Result, seconds: float = 0) -> None:
        self.results[model.name, case.name] = result
        self.progress.add(case.seconds)
        took = f" ({seconds:.0f} s)" if seconds else ""
        why = f": {last_line(result.why)}" if result.why else ""
        print(f"[{self.progress}] {model.name}, {case.name}: {result.verdict}{took}{why}", flush=True)

    def guest(self, model: Model, qemu: list[str], kvm: bool, cases: list[Case]) -> None:
        """The cases of a model."""
        folder = f"{self.folder}/{model.name.replace(' ', '-')}"
        with contextlib.closing(Station(lambda: Machine(qemu, kvm, self.kernel, model.device, folder, self.build))) as station:
            for case in cases:
                start = time.monotonic()
                reason = model.cannot.get(case.name)
                result = Result(NOT_RUN, reason) if reason else station.run(model, case)
                self.note(model, case, result, 0 if reason else time.monotonic() - start)
        self.progress.add(BOOT_SECONDS)

    def table(self, models: list[Model], cases: list[Case]) -> None:
        wide = max(len(case.name) for case in cases)
        print("\n" + " " * wide + "".join(f"  {model.name:>10}" for model in models))
        for case in cases:
            row = [self.results[model.name, case.name].verdict for model in models]
            print(f"{case.name:<{wide}}" + "".join(f"  {verdict:>10}" for verdict in row))
        for verdict in (NOT_RUN, "FAIL"):
            for (model_name, case_name), result in self.results.items():
                if result.verdict == verdict:
                    print(f"{verdict}: {model_name}, {case_name}: {result.why.strip()}")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build directory with libweft-fi.so and weft")
    parser.add_argument("--quick", action="store_true", help="one guest with virtio-net, one case")
    parser.add_argument("--model", action="append", choices=[model.name for model in MODELS], help="only this model; repeatable")
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], help="only this case; repeatable")
    parser.add_argument("--record", action="store_true", help="keep the results, and write the table of doc/guide/nics.md")
    parser.add_argument("--keep", metavar="DIR", help="keep logs and consoles there; default: removed unless something fails")
    return parser.parse_args()


def chosen(args: argparse.Namespace) -> tuple[list[Model], list[Case]]:
    if args.quick:
        return MODELS[:1], [QUICK]
    models = [model for model in MODELS if not args.model or model.name in args.model]
    cases = [case for case in CASES if (case.name in args.case if args.case else case not in ON_REQUEST)]
    return models, cases


def run_models(run: Run, models: list[Model], cases: list[Case]) -> None:
    kvm: dict[bool, bool] = {}  # by whether the QEMU is the newer one
    for model in models:
        try:
            qemu = parts.backports_qemu() if model.newer_qemu else parts.qemu()
            if not parts.has_device(qemu, model.device.split(",", maxsplit=1)[0]):
                raise parts.Missing(f"QEMU has no {model.device}")
        except parts.Missing as why:
            for case in cases:
                run.note(model, case, Result(NOT_RUN, str(why)))
            continue
        if model.newer_qemu not in kvm:
            kvm[model.newer_qemu] = kvm_boots(qemu, run.kernel, run.folder + "/probe")
            run.settings.append(f"{parts.run(*qemu, '-version').split(chr(10))[0]}, "
                                f"{'KVM' if kvm[model.newer_qemu] else 'emulation'}, kernel {run.kernel.version}")
            print(run.settings[-1], flush=True)
        run.guest(model, qemu, kvm[model.newer_qemu], cases)


def main() -> int:
    args = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that QEMU ends as well
    models, cases = chosen(args)
    try:
        kernel = parts.kernel()
        parts.qemu()
    except parts.Missing as why:
        print(f"not run: {why}")
        return SKIPPED
    total = sum(case.seconds for case in cases) * len(models) + BOOT_SECONDS * len(models)
    folder = args.keep or tempfile.mkdtemp(prefix="weft-nic-")
    run = Run(os.path.abspath(args.build), kernel, os.path.abspath(folder), Progress(total), {}, [])
    run_models(run, models, cases)
    run.table(models, cases)
    if args.record:
        Record(RESULTS, PAGE).add("; ".join(run.settings), run.results)
    verdicts = [result.verdict for result in run.results.values()]
    print(", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("PASS", "FAIL", NOT_RUN)))
    if "FAIL" in verdicts:
        print(f"logs: {folder}")
        return 1
    if not args.keep:
        shutil.rmtree(folder)
    return 0 if "PASS" in verdicts else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
