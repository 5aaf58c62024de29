# SPDX-License-Identifier: BSD-3-Clause
"""embed.py OUTPUT FILE... - a C table of text files, so that the program has them wherever it is started."""
import os
import sys

out, files = sys.argv[1], sys.argv[2:]
rows = []
for path in sorted(files):
    with open(path, encoding="ascii") as f:
        lines = f.read().splitlines()
    name = os.path.splitext(os.path.basename(path))[0]
    text = "\n".join('\t "%s\\n"' % line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    rows.append('\t{"%s",\n%s},\n' % (name, text))
with open(out, "w", encoding="ascii") as f:
    f.write('#include "workload_cdf.h"\n\nconst struct cdf_text cdf_texts[] = {\n%s\t{0, 0},\n};\n' % "".join(rows))
