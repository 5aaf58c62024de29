# SPDX-License-Identifier: BSD-3-Clause
"""The `weft` executable: where it is, which options `weft sim` has, and whether it accepts some of them."""
from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Sequence

from .errors import WeftlabError
from .work import digest_of

OPTION = re.compile(r"^  --([a-z][a-z-]*)(?: (\S+))? ")
REPEATABLE = re.compile(r"^  --([a-z][a-z-]*) .*; repeatable$", re.M)
MESSAGE = re.compile(r"^weft sim: ")
LIST = "; valid:"


@dataclass(frozen=True)
class Metric:
    """A number of a run, as the command describes it."""

    json: str | None  # where run.json has it: "fct_us.max"
    unit: str | None
    help: str  # meaning, one line


@dataclass(frozen=True)
class Binary:
    """One build of `weft`."""

    path: str  # absolute
    options: dict[str, str]  # of `weft sim`: name without dashes -> placeholder of its value, "" for a flag
    digest: str  # of the file's contents, 16 hexadecimal digits
    repeatable: frozenset[str] = frozenset()  # options that add up; `set` does so by parameter

    @cached_property
    def bench_options(self) -> dict[str, str]:
        """Those of `weft bench`."""
        done = subprocess.run([self.path, "bench", "--help"], capture_output=True, text=True, check=False)
        return options_in(done.stdout)

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        """The metrics that have a name for people and claims."""
        said = subprocess.run([self.path, "sim", "--metrics"], capture_output=True, text=True, check=False).stdout
        return {entry["name"]: Metric(entry["json"], entry["unit"], entry["help"])
                for entry in json.loads(said or "[]") if entry["name"]}

    def refusal(self, arguments: Sequence[str]) -> str | None:
        """Why `weft sim` does not take these arguments; None: it does. Runs nothing: `--help` stops the command before
        it puts names and files together, so that each value is judged alone."""
        return self._complaint([*arguments, "--help"])

    def impossible(self, arguments: Sequence[str]) -> str | None:
        """Why a run with these arguments cannot be: unknown names, files, hosts that do not exist. None: it can. Runs
        nothing."""
        return self._complaint([*arguments, "--dry-run"])

    def _complaint(self, arguments: Sequence[str]) -> str | None:
        try:
            done = subprocess.run([self.path, "sim", *arguments], capture_output=True, text=True, errors="replace")
        except OSError as error:
            if error.errno != errno.E2BIG:
                raise WeftlabError(f"{self.path}: {error.strerror}") from error
            return "too long for a command line"
        return None if done.returncode == 0 else message_of(done.stderr, done.returncode)


def options_in(help_text: str) -> dict[str, str]:
    """The options that a help describes: name without dashes -> placeholder of its value, "" for a flag."""
    found = map(OPTION.match, help_text.splitlines())
    return {each.group(1): each.group(2) or "" for each in found if each}


def message_of(stderr: str, code: int) -> str:
    """What `weft sim` said on standard error, without its name before it."""
    lines = [line for line in stderr.splitlines() if MESSAGE.match(line)]
    if not lines:
        return stderr.strip() or f"weft sim ended with exit code {code}"
    message = MESSAGE.sub("", lines[0])
    if message.endswith(LIST):  # the valid ones are on the lines behind it
        return message.removesuffix(LIST) + "; see weft sim --help-params"
    return message


def find(path: str | os.PathLike[str] | None = None) -> Binary:
    """The executable at `path`, else what the variable WEFT names, else ./build/weft, else the one in PATH."""
    wanted = os.fspath(path) if path else os.environ.get("WEFT")
    if wanted:
        found = shutil.which(wanted)
    else:
        found = shutil.which("build/weft") or shutil.which("weft")
    if not found:
        raise WeftlabError(f"{wanted or 'weft'}: no such program (build it, put it into PATH, or set WEFT to its path)")
    found = os.path.realpath(found)
    return _describe(found, os.stat(found).st_mtime_ns)


@lru_cache(maxsize=8)
def _describe(path: str, mtime_ns: int) -> Binary:
    del mtime_ns  # a key of the cache only: a new build is looked at again
    try:
        said = subprocess.run([path, "sim", "--help"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise WeftlabError(f"{path}: {error}") from error
    options = options_in(said)
    if "topology" not in options:
        raise WeftlabError(f"{path}: is not the weft command")
    return Binary(path, options, digest_of(path), frozenset(REPEATABLE.findall(said)) - {"set"})
