"""The error that the command line prints as one line on standard error."""

from __future__ import annotations

FAILED = 1  # input/output, a malformed file, a program that failed
USAGE = 2  # wrong usage, or a name that does not exist
UNFINISHED = 3  # --limit left something to measure
NOTHING_DECIDED = 3  # compare --fail-slower: the data cannot tell for any row


class LabError(Exception):
    """A failure that the user can fix; its text says how. `status` is the exit status."""

    def __init__(self, text: str, status: int = FAILED) -> None:
        super().__init__(text)
        self.status = status
