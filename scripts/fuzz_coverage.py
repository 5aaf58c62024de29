#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""fuzz_coverage.py BUILD_DIR PROGRAM... - what the fuzz targets in BUILD_DIR have reached of transport and wire, from the
PROGRAM.profraw of each: a table of lines per file, the receive path marked with `*`, totals, and in BUILD_DIR/holes.txt the lines
not reached."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

LLVM = "-14"
ROOMS = ("transport/", "wire/")
# The receive path is what calls lead to from where packets are told apart ...
ROOT = "transport_engine_engine_rx.o"
# ... and these by themselves: PDS calls SES by a table in the first, and the second looks at packets before that.
ALSO = {"transport_ses_ses.o", "transport_engine_engine_prefetch.o"}
# Inline functions are part of it, but those that only print.
NOT_RECEIVED = {"wire/wire_fmt.h"}


class Lines(NamedTuple):
    """Of a file, or of many: how many there are with code, and how many were reached."""

    there: int
    covered: int

    def percent(self) -> float:
        """Share reached."""
        return 100 * self.covered / self.there if self.there else 100.0


def llvm(tool: str, *args: str) -> str:
    """Output of one of LLVM's tools."""
    return subprocess.run([tool + LLVM, *args], check=True, capture_output=True, text=True).stdout


def calls_lead_to(objects: Path) -> set[str]:
    """The sources of the rooms that a received packet can get to."""
    defined: dict[str, str] = {}
    needed: dict[str, list[str]] = {}
    for path in objects.glob("*.o"):
        symbols = [line.split()[-2:] for line in llvm("llvm-nm", str(path)).splitlines()]
        defined.update({name: path.name for kind, name in symbols if kind in "TDR"})
        needed[path.name] = [name for kind, name in symbols if kind == "U"]
    found, new = {ROOT}, [ROOT]
    while new:
        for name in needed[new.pop()]:
            other = defined.get(name)
            if other and other not in found:
                found.add(other)
                new.append(other)
    return found | ALSO


def is_receive_path(name: str, found: set[str]) -> bool:
    """Whether a file is part of it."""
    if name.endswith(".h"):
        return name not in NOT_RECEIVED
    return name.removesuffix(".c").replace("/", "_") + ".o" in found


def summary(objects: list[str], data: str) -> dict[str, Lines]:
    """Lines of each file of the rooms."""
    report = json.loads(llvm("llvm-cov", "export", "--summary-only", f"--instr-profile={data}", *objects))
    root = Path.cwd()
    lines = {}
    for file in report["data"][0]["files"]:
        path = Path(file["filename"])
        name = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
        if name.startswith(ROOMS):
            got = file["summary"]["lines"]
            lines[name] = Lines(got["count"], got["covered"])
    return lines


def total(lines: dict[str, Lines]) -> Lines:
    """Of all files."""
    return Lines(sum(one.there for one in lines.values()), sum(one.covered for one in lines.values()))


def row(name: str, lines: Lines) -> str:
    """One line of the table."""
    return f"{name:40} {lines.there:7} {lines.covered:8} {lines.percent():7.1f}"


def holes(objects: list[str], data: str, names: list[str]) -> str:
    """The lines that nobody reached, by file."""
    text = []
    for name in names:
        shown = llvm("llvm-cov", "show", f"--instr-profile={data}", *objects, name)
        missing = [line for line in shown.splitlines() if line.split("|")[1:2] and line.split("|")[1].strip() == "0"]
        if missing:
            text += [name, *missing, ""]
    return "\n".join(text)


def main() -> None:
    """Prints the table."""
    build, programs = Path(sys.argv[1]), sys.argv[2:]
    data = str(build / "fuzz.profdata")
    llvm("llvm-profdata", "merge", "-o", data, *(str(build / f"{name}.profraw") for name in programs))
    objects = [str(build / programs[0])] + [f"--object={build / name}" for name in programs[1:]]
    lines = summary(objects, data)
    found = calls_lead_to(build / "obj")
    print(f"{'file':40} {'lines':>7} {'covered':>8} {'percent':>7}")
    for name in sorted(lines):
        print(row(("* " if is_receive_path(name, found) else "  ") + name, lines[name]))
    receive = {name: one for name, one in lines.items() if is_receive_path(name, found)}
    print(row("* the receive path", total(receive)))
    print(row("  " + " and ".join(room.rstrip("/") for room in ROOMS), total(lines)))
    (build / "holes.txt").write_text(holes(objects, data, sorted(lines)))
    print(f"lines not reached: {build / 'holes.txt'}")


if __name__ == "__main__":
    main()
