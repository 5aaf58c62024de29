# SPDX-License-Identifier: BSD-3-Clause
"""What weftlab raises. The text of each is fit to be shown to a user as it stands."""


class WeftlabError(Exception):
    """Anything that a user can put right: a file, an option, a missing program."""


class ScenarioError(WeftlabError):
    """Something in a scenario file is wrong. The text is FILE:LINE: KEY: REASON, as far as each is known."""

    def __init__(self, path: str, line: int | None, key: str | None, reason: str) -> None:
        self.path = path
        self.line = line  # counts from 1
        self.key = key
        self.reason = reason
        place = f"{path}:{line}" if line else path
        super().__init__(f"{place}: {key}: {reason}" if key else f"{place}: {reason}")


class StoppedError(WeftlabError):
    """A sweep could not go on; its complete results are kept."""


class UnwritableError(StoppedError):
    """A result could not be written; the text names the file."""


class UsageError(WeftlabError):
    """The command line is wrong."""
