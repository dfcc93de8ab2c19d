"""`lemmata bench coverage`: how often the interval of `lm.find_threshold` holds the true crossing, for single curves.

Searches along 2 to 128 at thirteen values, simulated: success curves whose 50 % lie anywhere between 2^1.5 and 2^6.5,
with 2 % of lapses, and runs that end at an interval of two octaves or after a fixed number. On average over the prior
of the method the level is exact whatever ends the runs; for a single curve it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lemmata.lab import psi
from lemmata.lab.intervals import Array

SEARCHES, LAPSE, MOST = 1000, 0.02, 70
VALUES = 2.0 ** np.arange(1, 7.25, 0.5)
ENDS = {"at two octaves": None, "after 7 runs": 7, "after 12 runs": 12}


def logistic(rise: float) -> Callable[[Array], Array]:
    """From 10 % to 90 % within `rise` octaves, 50 % at 0."""
    return lambda u: 1 / (1 + np.exp(-2 * np.log(9) / rise * u))


def skewed(rise: float) -> Callable[[Array], Array]:
    """The complementary log-log curve, likewise."""
    slope = (np.log(-np.log(0.1)) - np.log(-np.log(0.9))) / rise
    return lambda u: -np.expm1(-np.log(2) * np.exp(slope * u))


CURVES = {
    "step": lambda u: 1.0 * (u >= 0),
    **{f"logistic, {rise:g}": logistic(rise) for rise in (1, 2, 3, 4.5, 6)},
    "skewed, 2": skewed(2),
}


def cover(curve: Callable[[Array], Array], runs: int | None) -> tuple[float, float]:
    """The share of searches whose interval holds the crossing, and their mean number of runs."""
    rng = np.random.default_rng(0)
    crossing = rng.uniform(1.5, 6.5, SEARCHES)
    rates = LAPSE + (1 - 2 * LAPSE) * curve(np.log2(VALUES) - crossing[:, None])
    model = psi.make_model(VALUES[0], VALUES[-1], VALUES, 0.5)
    belief, made = psi.prior(model, SEARCHES), np.full(SEARCHES, runs or MOST)
    active = np.arange(SEARCHES)
    for trial in range(runs or MOST):
        chosen = psi.place(model, belief[active])
        belief[active] = psi.update(model, belief[active], chosen, rng.random(len(active)) < rates[active, chosen])
        if runs is None:
            done = psi.is_narrow(model, belief[active], width=2)
            made[active[done]] = trial + 1
            active = active[~done]
    _, low, high = psi.credible(model, belief)
    return float(np.mean((low <= 2**crossing) & (2**crossing <= high))), float(made.mean())


def coverage(quiet: bool = False) -> list[dict[str, Any]]:
    """Simulate; prints a table unless `quiet`, and returns its rows."""
    rows = []
    if not quiet:
        print(f"{'octaves from 10 % to 90 %':<26}" + "".join(f"{end:>22}" for end in ENDS))
    for name, curve in CURVES.items():
        found = {end: cover(curve, runs) for end, runs in ENDS.items()}
        rows.append({"curve": name, **{end: {"coverage": c, "runs": r} for end, (c, r) in found.items()}})
        if not quiet:
            print(f"{name:<26}" + "".join(f"{c:>12.2f} ({r:4.1f} runs)" for c, r in found.values()), flush=True)
    return rows
