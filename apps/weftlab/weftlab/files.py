# SPDX-License-Identifier: BSD-3-Clause
"""Files that are written whole."""
from __future__ import annotations

import os

from .errors import UnwritableError, WeftlabError


def names_in(directory: str) -> list[str]:
    """The names in a directory, in order."""
    try:
        return sorted(os.listdir(directory))
    except OSError as error:
        raise WeftlabError(f"{directory}: {error.strerror or error}") from error


def write_text(path: str, text: str) -> None:
    """A file, complete or as it was before."""
    try:
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".part", path)
    except OSError as error:
        raise UnwritableError(f"{path}: {error.strerror or error}") from error
