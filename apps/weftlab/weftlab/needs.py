# SPDX-License-Identifier: BSD-3-Clause
"""Packages that weftlab needs: which are missing, and what to install."""
from __future__ import annotations

import importlib.util
import os
import sys
from typing import Iterable

NEEDS = {  # package -> name in Debian; in the index of Python packages
    "yaml": ("python3-yaml", "PyYAML"),
    "pandas": ("python3-pandas", "pandas"),
    "scipy": ("python3-scipy", "scipy"),
    "matplotlib": ("python3-matplotlib", "matplotlib"),
    "jinja2": ("python3-jinja2", "jinja2"),
    "distributed": ("python3-distributed", "distributed"),
}
SYSTEM_PYTHON = "/usr/bin/python3"  # Debian's packages belong to it alone


def missing(packages: Iterable[str] = tuple(NEEDS)) -> list[str]:
    """Those of the packages that this interpreter does not find."""
    return [name for name in packages if importlib.util.find_spec(name) is None]


def advice(names: Iterable[str]) -> str:
    """What to install, one line."""
    debian = " ".join(NEEDS[name][0] for name in names)
    index = " ".join(NEEDS[name][1] for name in names)
    return (f"{sys.executable} has no {', '.join(names)}: apt install {debian}, or pip install {index} "
            "(WEFT_PYTHON names another interpreter)")


def try_system_python(arguments: Iterable[str]) -> None:
    """Goes on with Debian's interpreter when this one comes first in PATH, lacks a package, and nobody chose it.
    Returns when it does not help."""
    other = os.path.realpath(SYSTEM_PYTHON)
    if "WEFT_PYTHON" in os.environ or not os.path.exists(other) or other == os.path.realpath(sys.executable):
        return
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), home]
    os.environ.update(WEFT_PYTHON=SYSTEM_PYTHON, PYTHONPATH=os.pathsep.join(paths))
    code = "import sys; from weftlab.__main__ import main; sys.exit(main(prog='weft'))"
    os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-c", code, *arguments])
