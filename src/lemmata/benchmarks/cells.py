"""`lemmata bench cells`: time and peak memory of a sweep of 1,000 and of 10,000 cells, stored on disk.

Every cell has two short runs, so that this measures planning, calling, writing and reading, not computing. Each size
has a process of its own, whose peak memory is that of the whole command.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.benchmarks.children import ask
from lemmata.lab.declarations import number
from lemmata.lab.runner import Options, run
from lemmata.lab.setting import Setting
from lemmata.lab.simulation import Variable, piece, simulation, stream
from lemmata.lab.theory import Experiment, Preset, Theory

SIZES = (1_000, 10_000)
STEPS = 1000


class Walk(Setting):
    """A small random start that slides downhill."""

    rate: float = number(0.5, "η", "step size", low=0)
    shift: float = number(0.5, "b", "shift", low=0)


@piece()
def slide(problem: Walk, key: jax.Array) -> jax.Array:
    """x - 0.001 η sin(x + b), repeated."""
    start = jax.random.normal(key, (8,))
    return jax.lax.fori_loop(0, STEPS, lambda t, x: x - 1e-3 * problem.rate * jnp.sin(x + problem.shift), start)


@simulation(Variable("place", ("part",), "x", "where it ends"), Variable("sum", (), "", "sum of the parts"))
def simulate(problem: Walk, key: jax.Array, prepared: None = None) -> dict[str, jax.Array]:
    """One run."""
    place = slide(problem, stream(key, "init"))
    return {"place": place, "sum": jnp.sum(place)}


def make_theory(cells: int) -> Theory:
    """A theory of one experiment with this many cells (a multiple of ten)."""
    from matplotlib.figure import Figure

    axes = {"rate": np.linspace(0.1, 1, cells // 10).tolist(), "shift": np.linspace(0.1, 1, 10).tolist()}
    experiment = Experiment(
        "walk", "How long does a sweep take?", "", simulate, {"quick": Preset(Walk(), axes, 2)}, lambda data: Figure()
    )
    card = dict.fromkeys(("title", "authors", "question", "answer"), "") | {"name": "cells", "headlines": []}
    return Theory(card, Walk, simulate, [experiment], [])


def measure(cells: int) -> None:
    """Run one size and print one JSON line."""
    theory = make_theory(cells)
    with tempfile.TemporaryDirectory() as folder:
        options = Options("quick", out=Path(folder))
        began = time.perf_counter()
        run(theory, "walk", options)
        computed = time.perf_counter() - began
        again = time.perf_counter()
        run(theory, "walk", options)
        reread = time.perf_counter() - again
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cells": cells, "seconds": computed, "again_seconds": reread, "peak_mebibytes": peak}))


def cells(quiet: bool = False) -> list[dict[str, Any]]:
    """Measure; prints a table unless `quiet`, and returns its rows."""
    rows = []
    if not quiet:
        print(f"{'cells':>6}  {'seconds':>8}  {'ms a cell':>9}  {'again':>7}  {'peak memory':>12}")
    for size in SIZES:
        row = json.loads(ask("-c", f"from lemmata.benchmarks.cells import measure; measure({size})"))
        rows.append(row)
        if not quiet:
            print(
                f"{size:>6}  {row['seconds']:8.1f}  {1e3 * row['seconds'] / size:9.2f}  {row['again_seconds']:5.1f} s  "
                f"{row['peak_mebibytes']:8.0f} MiB",
                flush=True,
            )
    if not quiet:
        print("two runs a cell; again: the same command, which finds everything done")
    return rows
