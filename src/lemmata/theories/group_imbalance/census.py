"""Figures 4.1 and 4.8 on Adult: logistic regression on two groups of the census table, from $LEMMATA_DATA/tabular.

The paper says nothing about it, so there is no claim. Beside the measured risks stands the theory's predictor at the
fit, tr(F_l N⁻¹)/2, the excess over the best model.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import lemmata as lm
from lemmata.datasets import files
from lemmata.lab.inputs import remember
from lemmata.theories.group_imbalance.diagnose.columns import Columns, read_columns
from lemmata.theories.group_imbalance.diagnose.prediction import fit, fitted, losses
from lemmata.theories.group_imbalance.images.training import by_group
from lemmata.theories.group_imbalance.studies import study

PAIRS = {
    "Female": ("sex", "Male"), "Male": ("sex", "Female"), "Black": ("race", "White"), "White": ("race", "Black")
}  # fmt: skip
"""The minority -> the column of groups and the majority."""


class CensusSetting(lm.Setting):
    """One problem on Adult: income above 50K, two groups, a fixed number of rows."""

    minority: str = lm.choice("Female", "the group that is the minority", *PAIRS)
    samples: int = lm.number(4000, "n", "training rows without the extra ones", low=100, high=40_000, integer=True)
    fraction: float = lm.number(0.2, "λ", "fraction of the minority", low=0, high=1, open_ends="low high")
    extra: int = lm.number(0, "", "minority rows that come once more, with noise", low=0, high=10_000, integer=True)
    noise_variance: float = lm.number(0.0, "δ²", "variance of the noise on every input of the extra rows", low=0)

    @property
    def minority_samples(self) -> int:
        """How many of the training rows are of the minority."""
        return max(2, round(self.fraction * self.samples))

    def refusals(self, given: list[str]) -> Iterator[str]:
        if self.extra > self.minority_samples:
            yield f"extra = {self.extra} is not allowed: the minority has {self.minority_samples} training rows."


HELD_OUT = 0.3
"""Share of the rows of each group that are for the test."""


def load(column: str) -> Columns:
    """Adult with groups by this column, from $LEMMATA_DATA/tabular/adult.npz."""
    place = files.home("Adult", "tabular", "Adult is the file adult.npz") / "adult.npz"
    if not place.is_file():
        raise lm.UserError(f"There is no Adult at {place}: it is an npz with num, cat, their names, and y.")
    return _remembered(place, column, place.stat().st_mtime_ns)


@remember(4)
def _remembered(place: Path, column: str, changed: int) -> Columns:
    return read_columns(place, "y", column, ["is_test"])


@study(
    lm.Variable("test_accuracy", (), "", "accuracy on held-out rows, both groups alike"),
    lm.Variable("test_loss", (), "", "log loss on them"),
    *by_group(
        accuracy=("", "accuracy on held-out rows of the {}"),
        loss=("", "log loss on held-out rows of the {}"),
        excess=("tr(F_l F⁻¹)/2n", "excess of the {} by the theory"),
    ),
)
def simulate(setting: CensusSetting, seed: int) -> dict[str, Any]:
    """Draw the rows, fit, and look at the held-out rows of both groups."""
    column, majority = PAIRS[setting.minority]
    data = load(column)
    few = setting.minority_samples
    rows, held = [], []
    for name, count in ((setting.minority, few), (majority, setting.samples - few)):
        mine = lm.generator(seed, "rows", name).permutation(np.flatnonzero(data.members == data.groups.index(name)))
        cut = int(HELD_OUT * len(mine))
        if count > len(mine) - cut:
            raise lm.UserError(f"{count} training rows of {name} are asked for, and Adult has {len(mine) - cut}.")
        held.append(mine[:cut])
        rows.append(mine[cut : cut + count])
    x, y = data.x[np.concatenate(rows)], data.y[np.concatenate(rows)]
    again = rows[0][: setting.extra]
    noise = lm.generator(seed, "noise").standard_normal((len(again), x.shape[1] - 1))
    noisy = data.x[again]
    noisy[:, 1:] += np.sqrt(setting.noise_variance) * noise
    w = fit(np.concatenate([x, noisy]), np.concatenate([y, data.y[again]]))
    at = fitted(w, x, y, np.repeat([0, 1], [len(part) for part in rows]), 2)
    inverse = np.linalg.inv(at.total)
    found: dict[str, Any] = {}
    for group, (name, mine) in enumerate(zip(("minority", "majority"), held, strict=True)):
        found[f"{name}_accuracy"] = float(((data.x[mine] @ w > 0) == (data.y[mine] > 0.5)).mean())
        found[f"{name}_loss"] = float(losses(w, data.x[mine], data.y[mine]).mean())
        found[f"{name}_excess"] = float(np.trace(at.information[group] @ inverse) / 2)
    for what in ("accuracy", "loss"):
        found[f"test_{what}"] = (found[f"minority_{what}"] + found[f"majority_{what}"]) / 2
    return found
