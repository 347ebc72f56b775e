"""The one error that becomes one line on standard error."""

from __future__ import annotations

FAILED = 1  # input/output, a broken file, a program that failed
USAGE = 2  # something was asked for that does not exist


class LabError(Exception):
    """A failure that the user can mend; its text says how. `status` is the exit status."""

    def __init__(self, text: str, status: int = FAILED) -> None:
        super().__init__(text)
        self.status = status
