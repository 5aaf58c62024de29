# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of weftlab share. WEFT in the environment names the executable."""
from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Callable

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "apps" / "weftlab"))

from weftlab import Runs, run  # noqa: E402
from weftlab.binary import Binary, find  # noqa: E402

TWO_CASES = """title: two cases
topology: star:4
matrix: permutation:4:16KiB
cases:
  - {name: sprayed, lb: ops}
  - {name: hashed, lb: ecmp}
seeds: 3
sweep: {mtu: [1024, 4096]}
outputs: {series: 1us}
pcap: all.pcapng
"""

Write = Callable[[str], str]


@pytest.fixture(scope="session")
def weft() -> Binary:
    """The command under test."""
    return find(os.environ.get("WEFT"))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a scenario file and returns its path."""
    def write_text(text: str) -> str:
        path = tmp_path / "case.yaml"
        path.write_text(text)
        return str(path)
    return write_text


@pytest.fixture
def rebuilding(weft: Binary, tmp_path: Path) -> Callable[[str], str]:
    """A weft that is another build once it has been called with a word."""
    def write_program(word: str) -> str:
        path = tmp_path / "weft"
        path.write_text(f"""#!/bin/sh
case "$*" in *{word}*) tail -n 1 "$0" | grep -q anew || echo "# anew" >> "$0" ;; esac
exec {weft.path} "$@"
""")
        path.chmod(0o755)
        return str(path)
    return write_program


@pytest.fixture(scope="session")
def two_cases(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Results of TWO_CASES; not to be changed."""
    directory = tmp_path_factory.mktemp("two")
    (directory / "case.yaml").write_text(TWO_CASES)
    return run(directory / "case.yaml", jobs=2, out=directory / "out", quiet=True)
