#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""seed_duo.py DIR - first inputs for fuzz_duo: programs of random bytes, most of which mean something."""

import random
import sys
from pathlib import Path

PROGRAMS = 200


def main() -> None:
    """Writes them."""
    out = Path(sys.argv[1])
    for i in range(PROGRAMS):
        dice = random.Random(i)
        (out / f"program-{i}").write_bytes(dice.randbytes(dice.randrange(20, 24 + 4 * i)))


if __name__ == "__main__":
    main()
