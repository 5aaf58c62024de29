# SPDX-License-Identifier: BSD-3-Clause
"""The guide's first experiment and the notebook work as they stand."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weftlab
from conftest import ROOT
from weftlab.binary import Binary

EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that looks like the top of the source tree; results stay for the next test."""
    directory = tmp_path_factory.mktemp("tree")
    for name in ("apps", "examples", "Makefile"):
        (directory / name).symlink_to(ROOT / name)
    return directory


def blocks(page: str, heading: str, language: str) -> list[list[str]]:
    """Lines of the blocks of code in a section of a page."""
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [block.splitlines() for block in re.findall(rf"^```{language}\n(.*?)^```", section, re.S | re.M)]


def test_the_first_experiment_of_the_guide(tree: Path, weft: Binary) -> None:
    """A newcomer's path, line by line as the page has it. `make` only tells what it would do: the build is there."""
    page = (ROOT / "doc" / "guide" / "weftlab.md").read_text()
    shell, = blocks(page, "A first experiment", "sh")
    python, = blocks(page, "A first experiment", "python")
    assert len(shell) + len(python) <= 10
    assert shell[-1] == "/usr/bin/python3"
    shell[-1] = sys.executable
    script = "\n".join(["set -e", *(re.sub("^make", "make -n", line) for line in shell)]) + " - <<'END'\n" + \
        "\n".join(python) + "\nEND\n"
    environment = {**os.environ, "WEFT": weft.path, "PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"]}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(["bash", "-c", script], cwd=tree, env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert "scripts/deps.sh" in done.stdout and "ninja" in done.stdout
    assert "link-gbps" in done.stdout and re.search(r"^0\.\d+ \[0\.\d+, 0\.\d+\]$", done.stdout, re.MULTILINE)
    assert (tree / "weft-out" / "first.pdf").read_bytes().startswith(b"%PDF")
    runs = weftlab.load(tree / "weft-out" / "first-experiment")
    assert len(runs) == 24 and set(runs["status"]) == {"done"}
    assert runs["link-gbps"].nunique() == 2 and runs["mtu"].nunique() == 2 and set(runs["flows"]) == {128}


def test_the_notebook(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    notebook = json.loads((EXAMPLES / "first-experiment.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 4
    assert not any(cell.get("outputs") for cell in notebook["cells"])
    names: dict[str, Any] = {}
    for cell in cells:
        exec("\n".join(line for line in cell.splitlines() if not line.startswith("%")), names)
    assert names["found"].pairs == 6
    assert names["found"].ratio.mean < 1
