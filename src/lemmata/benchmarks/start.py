"""`lemmata bench start`: `lemmata verify` of one claim with an empty and with a warm compilation cache, and `list`."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from lemmata.benchmarks.children import ask

CLAIM = "vit/v3-iterations-eta"


def command(arguments: list[str], cache: Path) -> float:
    """Seconds of one command in a process of its own."""
    began = time.perf_counter()
    ask("-m", "lemmata", *arguments, environment={**os.environ, "LEMMATA_CACHE": str(cache)})
    return time.perf_counter() - began


def start(quiet: bool = False) -> list[dict[str, Any]]:
    """Measure; prints a table unless `quiet`, and returns its rows."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "compiled"
        for state in ("empty", "warm"):
            seconds = command(["verify", CLAIM, "--out", f"{folder}/{state}"], cache)
            rows.append({"command": f"verify {CLAIM}", "cache": state, "seconds": seconds})
        rows.append({"command": "list", "cache": "", "seconds": command(["list"], cache)})
    if not quiet:
        for row in rows:
            cache = f"{row['cache']} cache" if row["cache"] else ""
            print(f"lemmata {row['command']:<40} {cache:<12} {row['seconds']:6.1f} s")
    return rows
