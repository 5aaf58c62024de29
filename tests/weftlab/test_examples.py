# SPDX-License-Identifier: BSD-3-Clause
"""The guide's first experiment and the notebook work as they stand."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "apps" / "weftlab" / "examples"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that looks like the top of the source tree; results stay for the next test."""
    directory = tmp_path_factory.mktemp("tree")
    (directory / "apps").symlink_to(ROOT / "apps")
    return directory


def blocks(page: str, heading: str) -> list[str]:
    """Python in a section of a page."""
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```", section, re.S | re.M)


def test_the_first_experiment_of_the_guide(tree: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tree)
    block, = blocks((ROOT / "doc" / "guide" / "weftlab.md").read_text(), "A first experiment")
    assert len(block.strip().splitlines()) <= 10
    names: dict[str, Any] = {}
    exec(block, names)
    assert len(names["runs"]) == 24
    assert set(names["runs"]["status"]) == {"done"}
    assert (tree / "first.pdf").read_bytes().startswith(b"%PDF")
    said = capsys.readouterr().out
    assert "link-gbps" in said and "±" in said


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
