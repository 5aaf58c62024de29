# SPDX-License-Identifier: BSD-3-Clause
"""The scenarios of all publications: each combination can be run, and each claim be judged."""
from __future__ import annotations

import pytest

from conftest import ROOT
from weftlab.__main__ import main


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "configs" / "papers").iterdir() if path.is_dir()))
def test_published_figures_can_be_planned(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every combination of every scenario, with its claims; nothing runs."""
    directory = ROOT / "configs" / "papers" / name
    assert main(["reproduce", str(directory), "--list"]) == 0
    said = capsys.readouterr().out
    assert [line.split(":")[0] for line in said.splitlines() if not line.startswith(" ")] == \
        sorted(path.stem for path in directory.glob("*.yaml"))
