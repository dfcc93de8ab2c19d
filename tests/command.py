"""The command line in tests: what a command gave."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Result(NamedTuple):
    """Exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return strict(self.out)

    @property
    def sentences(self) -> list[str]:
        """The lines on stderr."""
        return sentences(self.err)


Lemmata = Callable[..., Result]
"""The command, in this process (fixture `lemmata`)."""


def sentences(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def strict(text: str) -> Any:
    """JSON as the standard has it: no NaN, no Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)
