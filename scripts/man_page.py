#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""man_page.py TEMPLATE WEFT VERSION DATA_DIR - the manual page weft(1): the template with the commands and options that
the program's own help lists."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator


def help_of(weft: str, *args: str) -> list[str]:
    """Lines of the program's help."""
    return subprocess.run([weft, *args, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def roff(text: str) -> str:
    """Plain text, safe at any place of a page."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def commands(weft: str) -> Iterator[tuple[str, str]]:
    """Name and help of each command."""
    for line in help_of(weft):
        if match := re.match(r"  (\S+)\s+(.*)", line):
            yield match.group(1), match.group(2)


def options(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Name, argument and help of each option; help may go on in further lines."""
    found: list[list[str]] = []
    for line in lines:
        if match := re.match(r"  (--\S+)( \S+)?  +(.*)", line):
            found.append([match.group(1), (match.group(2) or "").strip(), match.group(3)])
        elif found and re.match(r" {20,}\S", line):
            found[-1][2] += " " + line.strip()
        elif found and not line:
            break
    return ((name, arg, text) for name, arg, text in found)


def section(weft: str, command: str) -> Iterator[str]:
    """What the page says of one command."""
    lines = help_of(weft, command)
    usage = lines[0].removeprefix("usage: ")
    first = next(i for i, line in enumerate(lines) if line.startswith("  --"))
    yield f".SS {roff(usage)}"
    for line in lines[1:first]:
        yield roff(line) if line else ".PP"
    for name, arg, text in options(lines[first:]):
        yield ".TP"
        yield f'.BI "{roff(name)} " "{roff(arg)}"' if arg else f".B {roff(name)}"
        yield roff(text)


def main(template: str, weft: str, version: str, data: str) -> None:
    known = list(commands(weft))
    with open(template, encoding="utf-8") as f:
        page = f.read()
    listed = "\n".join(f".TP\n.B {roff(name)}\n{roff(text)}" for name, text in known)
    told = "\n".join(line for name, _ in known for line in section(weft, name))
    for key, value in {"VERSION": version, "DATA": data, "COMMANDS": listed, "OPTIONS": told}.items():
        page = page.replace(f"@{key}@", value)
    sys.stdout.write(page)


main(*sys.argv[1:])
