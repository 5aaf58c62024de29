#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""links.py ROOT - the target of every relative link of the pages (*.md) below ROOT exists: the file and the heading. For
what is installed; pages.py checks those of this tree."""
import os
import re
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as f:
        return f.read()


def prose(text):
    """The page without its blocks of code, in which a bracket is no link."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return "\n".join(line for line in text.split("\n") if not line.startswith("    "))


def anchors(text):
    """GitHub's names of the headings of a page."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        found.add(plain.replace(" ", "-"))
    return found


def links(root, name, text):
    """What the links of a page promise and the tree below root does not have."""
    for target in LINK.findall(prose(re.sub(r"`[^`\n]*`", "", text))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
        if not os.path.exists(os.path.join(root, file)):
            yield f"link to {target}: no such file"
        elif anchor and anchor not in anchors(read(root, file)):
            yield f"link to {target}: no such heading"


def main(root):
    pages = sorted(os.path.relpath(os.path.join(d, f), root) for d, _, files in os.walk(root) for f in files
                   if f.endswith(".md"))
    bad = [f"{page}: {what}" for page in pages for what in links(root, page, read(root, page))]
    print("\n".join(bad) or f"{len(pages)} pages link only to what exists")
    return 1 if bad or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
