# SPDX-License-Identifier: BSD-3-Clause
"""Scripts that check: without a check they do not pass."""
from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

MESON = """#!/bin/sh
{log}
exit {code}
"""


def function_of(script: str, name: str) -> str:
    """The text of a shell function."""
    found = re.search(rf"^{name}\(\) {{\n.*?^}}\n", (ROOT / "scripts" / script).read_text(), re.M | re.S)
    assert found, name
    return found.group(0)


@pytest.mark.parametrize("log, code, said", [
    ([("a", "OK")], 0, ["OK release:a OK"]),
    ([("a", "OK"), ("b", "FAIL")], 1, ["OK release:a OK", "FAIL release:b FAIL"]),
    ([("a", "OK")], 2, ["OK release:a OK", "FAIL release: meson ended with 2"]),
    (None, 1, ["FAIL release: no test log"])])
def test_meson_has_to_end_well(log: list[tuple[str, str]] | None, code: int, said: list[str], tmp_path: Path) -> None:
    """An earlier log is there: of a meson that builds nothing and runs nothing it would be taken again."""
    (tmp_path / "meson-logs").mkdir()
    (tmp_path / "meson-logs" / "release.json").write_text(json.dumps({"name": "old", "result": "OK"}))
    (tmp_path / "new.json").write_text("".join(json.dumps({"name": name, "result": result}) + "\n"
                                               for name, result in log or []))
    meson = tmp_path / "meson"
    meson.write_text(MESON.format(log=f"cp {tmp_path}/new.json {tmp_path}/meson-logs/release.json" if log else "",
                                  code=code))
    meson.chmod(0o755)
    script = f"build={tmp_path} results={tmp_path}/results failures={tmp_path}/failures\n" + \
        function_of("test.sh", "suites") + function_of("test.sh", "taken") + f"suites {tmp_path} release\n"
    subprocess.run(["bash", "-uc", script], env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False,
                   capture_output=True)
    assert (tmp_path / "results.new").read_text().splitlines() == said


@pytest.mark.parametrize("results, code", [(["Pass"], 0), (["Pass", "Notrun"], 0), (["Pass", "Fail"], 1), ([], 1)])
def test_no_fabtest_is_no_success(results: list[str], code: int, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("".join(f"- name:   fi_{at}\n  result: {result}\n  time:   1\n"
                                          for at, result in enumerate(results)))
    done = subprocess.run(["bash", "-uc", function_of("fabtests.sh", "tally") + f"tally {tmp_path}/log"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == code and done.stdout.count("fi_") == len(results)


def test_types_and_style_are_not_checked_by_nothing(tmp_path: Path) -> None:
    check = ROOT / "tests" / "weftlab" / "check.sh"
    done = subprocess.run(["/bin/sh", str(check), str(ROOT)], env={"PATH": str(tmp_path)}, check=False)
    assert done.returncode == 77
