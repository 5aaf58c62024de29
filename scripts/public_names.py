#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""public_names.py INCLUDE_DIR - the functions and variables that the headers of weft/ declare, one a line."""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator


def declarations(text: str) -> Iterator[str]:
    """Statements at the top level of preprocessed C, without the bodies of structs, enums and functions."""
    depth, statement = 0, ""
    for char in text:
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            statement += " {} " if depth == 0 else ""
        elif depth == 0 and char == ";":
            yield statement.strip()
            statement = ""
        elif depth == 0:
            statement += char


def name(statement: str) -> str | None:
    """What the statement declares for the linker, or None."""
    statement = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?|_Pragma\([^)]*\)", "", statement).strip()
    # An inline function has no semicolon behind its body.
    while inline := re.match(r"static\b[^{}]*\{\}", statement):
        statement = statement[inline.end():].strip()
    if not statement or re.match(r"(typedef|static|_Static_assert)\b|(struct|enum|union)\s*\w*\s*(\{\})?\s*$", statement):
        return None
    function = re.search(r"(\w+)\s*\(", statement)
    if function:
        return function.group(1)
    variable = re.search(r"(\w+)\s*(\[[^]]*\]\s*)*$", statement)
    return variable.group(1) if variable else None


def own_lines(preprocessed: str) -> Iterator[str]:
    """Lines that come from weft/, by the line markers of the preprocessor."""
    own = False
    for line in preprocessed.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = bool(re.match(r"(\./|.*/)?weft/[\w/]+\.h$", marker.group(1)))
        elif own and not line.startswith("#"):
            yield line


def main(include: str) -> None:
    headers = sorted(p.relative_to(include) for p in pathlib.Path(include).glob("weft/**/*.h"))
    source = "".join(f'#include "{h}"\n' for h in headers)
    text = subprocess.run(["cc", "-E", "-I", include, "-x", "c", "-"], input=source, stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    print("\n".join(sorted({n for s in declarations("\n".join(own_lines(text))) if (n := name(s))})))


main(sys.argv[1])
