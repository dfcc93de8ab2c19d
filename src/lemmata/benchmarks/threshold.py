"""`lemmata bench threshold`: the sample thresholds of `vit` F1a at `quick` by adaptive runs and by the full grid.

For every relevant fraction the grid spends 35 runs (7 sample numbers, 5 seeds). The adaptive search goes on until its
interval is as narrow as the grid's; where the grid's has one limit only, until its own limit is as good. Twice:

- *counting*: the grid's interval as the claims use it (`fits.threshold`), which supposes nothing about the curve, while
  the adaptive one supposes a logistic curve;
- *same posterior*: the grid's runs analysed with the adaptive search's own posterior, so that only the placement
  differs. (It takes them for independent, though the cells of one seed share their data: a favour to the grid.)

Every block of seeds is a repetition of the whole comparison.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

CANDIDATES = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
"""The range of the grid in half octaves."""
MOST = 70
"""Runs after which a cell is given up: twice those of the grid."""
BLOCKS = (0, 1000, 2000)


class Goals:
    """Intervals [cell, (low, high)] to be matched, and what the search had found when it first matched each."""

    def __init__(self, intervals: dict[str, np.ndarray]) -> None:
        self.intervals = intervals
        self.found = {name: np.full((len(goal), 3), np.nan) for name, goal in intervals.items()}

    def __call__(self, data: xr.Dataset) -> np.ndarray:
        """Take down which cells match their goals by now; true where all are matched."""
        state = np.stack([data.low, data.high, data.runs], axis=1)
        for name, goal in self.intervals.items():
            new = np.isnan(self.found[name][:, 2]) & matches(goal, state)
            self.found[name][new] = state[new]
        return np.all([np.isfinite(found[:, 2]) for found in self.found.values()], axis=0)


def matches(goal: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Whether an interval is as narrow as the goal, in octaves; of a goal with one limit, whether that limit is met."""
    met_low, met_high = state[:, 0] >= goal[:, 0], state[:, 1] <= goal[:, 1]
    one_sided = (goal[:, 0] == 0) | np.isinf(goal[:, 1])
    return np.where(one_sided, met_low & met_high, octaves(state) <= octaves(goal))


def octaves(intervals: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log2(intervals[:, 1]) - np.log2(intervals[:, 0])


def grid_posterior(x: np.ndarray, success: np.ndarray) -> np.ndarray:
    """Intervals [cell, (low, high)] of the adaptive search's posterior from success[cell, x, seed] of a grid."""
    from lemmata.lab import psi

    model = psi.make_model(x[0], x[-1], x, 0.5)
    belief = psi.prior(model, len(success))
    for i in range(len(x)):
        for outcome in success[:, i].T:
            belief = psi.update(model, belief, np.full(len(success), i), outcome)
    return np.stack(psi.credible(model, belief)[1:], axis=1)


def threshold(quiet: bool = False, blocks: Sequence[int] = BLOCKS) -> list[dict[str, Any]]:
    """Compare; prints a table for every block of seeds unless `quiet`, and returns its rows and totals."""
    from lemmata.lab.sweep import sweep
    from lemmata.lab.thresholds import find_threshold
    from lemmata.theories import vit
    from lemmata.theories.vit.experiments import samples_axis
    from lemmata.theories.vit.measures import half_thresholds, success

    preset = vit.theory.experiments["f1a-samples"].presets["quick"]
    fractions = {"relevant_fraction": preset.axes["relevant_fraction"]}
    rows: list[dict[str, Any]] = []
    for seed in blocks:
        began = time.perf_counter()
        data = sweep(vit.simulate, preset.setting, preset.axes, preset.seeds, seed=seed)
        grid_seconds = time.perf_counter() - began
        outcomes = success(data).transpose("relevant_fraction", "samples", "seed").values
        counted = [each.estimate for each in half_thresholds(data).values()]
        goals = Goals(
            {
                "counting": np.array([[each.low, each.high] for each in counted]),
                "same posterior": grid_posterior(data.samples.values, outcomes),
            }
        )
        began = time.perf_counter()
        find_threshold(
            vit.simulate, preset.setting, "samples", success=success, values=samples_axis(*CANDIDATES)["samples"],
            axes=fractions, until=goals, runs=MOST, seed=seed,
        )  # fmt: skip
        seconds = {"grid": grid_seconds, "adaptive": time.perf_counter() - began}
        rows.append(_rows(seed, data.relevant_fraction.values, outcomes[0].size, goals, seconds))
        if not quiet:
            _print(rows[-1])
    if not quiet and len(rows) > 1:
        for name in rows[0]["ratio"]:
            print(f"{name}, mean of the blocks: {np.mean([row['ratio'][name] for row in rows]):.3f} of the grid's runs")
    return rows


def _rows(seed: int, fractions: np.ndarray, runs: int, goals: Goals, seconds: dict[str, float]) -> dict[str, Any]:
    """The comparison of one block of seeds; a cell given up counts with all its runs."""
    cells, spent = [], {}
    for name, goal in goals.intervals.items():
        found = goals.found[name]
        used = np.where(np.isnan(found[:, 2]), MOST, found[:, 2])
        spent[name] = int(used.sum())
        for i, fraction in enumerate(fractions.tolist()):
            cells.append(
                {"against": name, "relevant_fraction": fraction, "grid": _ends(goal[i]), "grid_runs": runs,
                 "adaptive": _ends(found[i, :2]), "runs": int(used[i]), "reached": bool(np.isfinite(found[i, 2]))}
            )  # fmt: skip
    total = runs * len(fractions)
    ratio = {name: used / total for name, used in spent.items()}
    return {"seed": seed, "grid_runs": total, "runs": spent, "ratio": ratio, "seconds": seconds, "cells": cells}


def _ends(interval: np.ndarray) -> list[float | None]:
    """An interval without infinities: None is no limit."""
    return [float(end) if np.isfinite(end) and end > 0 else None for end in interval]


def _print(row: dict[str, Any]) -> None:
    print(f"vit F1a at quick, seeds from {row['seed']}: N50 with 95 % interval (width in octaves), training runs")
    for name, used in row["runs"].items():
        print(f"  {name:<16}{'alpha':>6}{'full grid':>24}{'runs':>6}{'adaptive':>26}{'runs':>6}")
        for cell in row["cells"]:
            if cell["against"] == name:
                print(
                    f"{cell['relevant_fraction']:>24.2f}{_spell(cell['grid']):>24}{cell['grid_runs']:>6}"
                    f"{_spell(cell['adaptive']) if cell['reached'] else 'not reached':>26}{cell['runs']:>6}"
                )
        print(f"{'in all':>24}{row['grid_runs']:>30}{used:>32}   ratio {row['ratio'][name]:.3f}", flush=True)
    seconds = row["seconds"]
    print(f"  seconds, compiling included: grid {seconds['grid']:.0f}, adaptive {seconds['adaptive']:.0f}", flush=True)


def _spell(interval: list[float | None]) -> str:
    low, high = interval
    width = f"{np.log2(high / low):.1f}" if low and high else "one limit"
    return f"[{low or 0:.1f}, {f'{high:.1f}' if high else 'inf'}] ({width})"
