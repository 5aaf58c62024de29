# SPDX-License-Identifier: BSD-3-Clause
"""The package as pip installs it: complete without the source tree."""
from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, Write
from weftlab.binary import Binary

BUILDS = all(importlib.util.find_spec(name) for name in ("pip", "setuptools", "wheel"))


@pytest.mark.skipif(not BUILDS, reason="no pip with setuptools and wheel")
def test_pip_installs_all_that_is_needed(write: Write, weft: Binary, tmp_path: Path) -> None:
    source, target, out = (str(tmp_path / name) for name in ("source", "target", "out"))
    shutil.copytree(ROOT / "apps" / "weftlab", source, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-build-isolation",
                    "--target", target, source], check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": target}
    command = [sys.executable, "-m", "weftlab"]
    subprocess.run([*command, "sweep", write("topology: star:4\nmatrix: permutation:4:16KiB\nlb: ops\n"), "--out", out,
                    "--binary", weft.path, "--quiet"], check=True, capture_output=True, env=environment, cwd=tmp_path)
    subprocess.run([*command, "report", out, "--html", f"{out}/page.html", "--figure", "fct-cdf", "--pdf",
                    f"{out}/figure.pdf"], check=True, capture_output=True, env=environment, cwd=tmp_path)
    assert os.path.getsize(f"{out}/page.html") > 10000 and os.path.getsize(f"{out}/figure.pdf") > 1000
    installed = {str(path.relative_to(target)) for path in Path(target, "weftlab").rglob("*") if path.is_file()}
    wanted = {str(path.relative_to(source)) for path in Path(source, "weftlab").rglob("*") if path.is_file()}
    assert wanted <= installed
