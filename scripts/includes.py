#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""includes.py SOURCE_ROOT - no room includes another room's inside: a header that lies neither in include/weft nor in a
folder api/ is included by its own room and by tests alone."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys


def room(path: str) -> str:
    """The folder a file belongs to, without its api/."""
    folder = str(pathlib.PurePath(path).parent)
    return folder.removesuffix("/api")


def main(root: str) -> int:
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.c", "*.h"],
                            stdout=subprocess.PIPE, text=True, check=True)
    files = listed.stdout.split()
    headers = {pathlib.PurePath(f).name: f for f in files
               if f.endswith(".h") and not f.startswith(("include/", "tests/"))}
    found = 0
    for path in files:
        if path.startswith(("tests/", "include/", "examples/")):
            continue
        text = (pathlib.Path(root) / path).read_text(encoding="utf-8")
        for name in re.findall(r'^#include "([^"/]+)"', text, re.M):
            header = headers.get(name)
            if header and "/api/" not in header and room(header) != room(path):
                print(f"{path}: includes {header}, the inside of {room(header)}")
                found += 1
    return 1 if found else 0


sys.exit(main(sys.argv[1]))
