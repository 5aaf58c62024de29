#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""dissector.py WIRE_LUA SCRIPT [--write] - whether the list of fields in the Wireshark dissector is the one that
build/wire/wire_lua prints from wire/api/wire_fields.h. With --write it is put there."""
import subprocess
import sys

BEGIN, END = "-- BEGIN OF LIST\n", "-- END OF LIST\n"


def main(program: str, path: str, write: bool) -> int:
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    present, after = rest.split(END)
    wanted = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + wanted + END + after)
    elif present != wanted:
        print(f"{path} is not up to date: {sys.argv[0]} {program} {path} --write", file=sys.stderr)
        return 1
    return 0


sys.exit(main(sys.argv[1], sys.argv[2], "--write" in sys.argv[3:]))
