# SPDX-License-Identifier: BSD-3-Clause
"""bytes.py NAME OUTPUT [FILE] - a C array of a file's bytes; a single zero without a file."""
import sys

name, out, files = sys.argv[1], sys.argv[2], sys.argv[3:]
data = b"\0"
if files:
    with open(files[0], "rb") as source:
        data = source.read()
rows = [" ".join(f"{byte}," for byte in data[i:i + 24]) for i in range(0, len(data), 24)]
with open(out, "w", encoding="ascii") as target:
    target.write(f"#include <stdint.h>\n\nstatic const uint8_t {name}[] = {{\n\t" + "\n\t".join(rows) + "\n};\n")
