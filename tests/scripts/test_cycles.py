#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_cycles.py CYCLES - the check of call directions accepts calls in the order of the rooms. It refuses a cycle within a
room, and a call against the order. CYCLES is scripts/cycles.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

# Sources that call in the order of the rooms.
GOOD = {
    "base/leaf.c": "void leaf(void) {}",
    "wire/check.c": "void leaf(void); void check(void) { leaf(); }",
    "wire/build.c": "void check(void); void build(void) { check(); }",
}


def outcome(sources: dict[str, str]) -> tuple[int, str]:
    """Exit status and output of the check over a tree of these sources."""
    with tempfile.TemporaryDirectory(prefix="weft-cycles-") as folder:
        tree, build = os.path.join(folder, "tree"), os.path.join(folder, "build")
        os.mkdir(build)
        commands = []
        for source, text in sources.items():
            path, output = os.path.join(tree, source), source.replace("/", "_") + ".o"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            subprocess.run(["cc", "-c", path, "-o", os.path.join(build, output)], check=True)
            commands.append({"directory": build, "file": "../tree/" + source, "output": output})
        os.mkdir(os.path.join(build, "meson-info"))
        with open(os.path.join(build, "compile_commands.json"), "w", encoding="utf-8") as f:
            json.dump(commands, f)
        with open(os.path.join(build, "meson-info", "meson-info.json"), "w", encoding="utf-8") as f:
            json.dump({"directories": {"source": tree}}, f)
        run = subprocess.run([sys.executable, sys.argv[1], build, "-v"], capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def expect(text: str, sources: dict[str, str]) -> None:
    """The check fails and says so."""
    status, out = outcome(sources)
    assert status == 1 and text in out, (status, out)


status, out = outcome(GOOD)
assert status == 0 and "3 object files, 0 cycles, 0 calls against the order" in out, (status, out)
expect("cycle of 2 files: wire/build.c wire/check.c", {**GOOD, "wire/check.c": "void build(void); void check(void) { build(); }"})
expect("base/leaf.c may not see wire/build.c: build", {**GOOD, "base/leaf.c": "void build(void); void leaf(void) { build(); }"})
ENGINE = {"transport/engine/engine.c": "void weft_open(void) {} void engine_open(void) {}"}
status, out = outcome({**ENGINE, "provider/core/nic.c": "void weft_open(void); void nic(void) { weft_open(); }"})
assert status == 0, out
expect("provider/core/nic.c may not see transport/engine/engine.c: engine_open",
       {**ENGINE, "provider/core/nic.c": "void engine_open(void); void nic(void) { engine_open(); }"})
expect("lost/leaf.c: in no room", {"lost/leaf.c": "void leaf(void) {}"})
