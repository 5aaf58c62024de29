#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""guide.py PAGE - runs the commands of a page, block by block in one shell, in a network and mount namespace of the test. Exit
77: the kernel gives no namespaces. Needs FI_PROVIDER_PATH."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

import namespaces

PAGE = pathlib.Path(sys.argv[1])
LIMIT_S = 150


def commands(page: str) -> str:
    """The indented blocks of the page; each command is shown before it runs."""
    return "\n".join(line[4:] for line in page.splitlines() if line.startswith("    "))


def main() -> None:
    namespaces.enter()
    text = commands(PAGE.read_text(encoding="utf-8"))
    assert "fi_pingpong" in text, f"{PAGE} has no commands"
    script = f"set -evu\nmount -t tmpfs none /run\n{text}\n"
    with tempfile.TemporaryDirectory(prefix="weft-guide-") as folder:
        subprocess.run(["unshare", "--mount", "--net", "bash", "-c", script], cwd=folder, check=True, timeout=LIMIT_S,
                       stdin=subprocess.DEVNULL, env=dict(os.environ))


main()
