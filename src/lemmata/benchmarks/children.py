"""Processes that a benchmark starts: they end with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from lemmata.lab.errors import UserError
from lemmata.lab.interrupts import Party, involve


def ask(*arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """What a Python of its own prints when it is called like this."""
    line = [sys.executable, *arguments]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    with process, involve(Party(end=process.kill)):
        out, err = process.communicate()
    if process.returncode:
        last = (err.strip().splitlines() or ["no message"])[-1]
        raise UserError(f"A process of this benchmark, {' '.join(arguments)[:60]}, failed: {last}")
    return out
