"""The check on the user's own rows: refits on subsamples, with and without more of a group, judged on held-out rows.

Every split holds out a share of the rows of each group. From the others a base of some size is drawn with the groups'
own shares, and for each group as many further rows of it as the base has: its count is doubled. The change of the
held-out risk of every group is measured, and predicted from the base alone.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

import lemmata as lm
from lemmata.lab.intervals import t_quantile
from lemmata.theories.group_imbalance.diagnose.columns import Columns
from lemmata.theories.group_imbalance.diagnose.prediction import change, fit, fitted, losses

HELD_OUT = 0.3
SIZES = (0.125, 0.25, 0.5)
"""Sizes of the base as shares of the rows that are not held out."""
SPLITS = 10
MOST = 40_000
"""Rows of the largest base pool: beyond, a random part of the table is used for the check."""
FEWEST_TESTED = 20
"""Held-out rows that a group needs for its risk to be looked at."""
Array = np.ndarray
YES, NO, CANNOT_TELL = "yes", "no", "cannot tell"


class Check(NamedTuple):
    """For every split, size, doubled group and judged group (the last one is the average over all rows)."""

    rows: Float[Array, " sizes"]
    measured: Float[Array, "splits sizes doubled judged"]
    predicted: Float[Array, "splits sizes doubled judged"]
    theory: Float[Array, "splits sizes doubled judged"]
    risk: Float[Array, "splits sizes judged"]
    expected_excess: Float[Array, "splits sizes judged"]
    """tr(F_l N⁻¹)/2 at the base."""

    def interval(self, values: Float[Array, " splits"]) -> lm.Estimate:
        """Mean over splits; splits share rows, so their variance counts (1/splits + held out/kept) times."""
        splits = len(values)
        half = t_quantile(splits, 0.95) * float(values.std(ddof=1)) * (1 / splits + HELD_OUT / (1 - HELD_OUT)) ** 0.5
        mean = float(values.mean())
        return lm.Estimate(mean, mean - half, mean + half)

    def says(self, size: int, doubled: int, judged: int, by: str = "predicted") -> str:
        """What the refits say of the mean prediction (or of the theory's part alone).

        `no`: it lies outside the interval of the measured change; `yes`: inside, and no change lies outside;
        `cannot tell`: both lie inside.
        """
        found = self.interval(self.measured[:, size, doubled, judged])
        predicted = getattr(self, by)[:, size, doubled, judged].mean()
        if not found.low <= predicted <= found.high:
            return NO
        return CANNOT_TELL if found.low <= 0 <= found.high else YES

    def tally(self, by: str = "predicted") -> Array:
        """`says` for every one."""
        places = np.ndindex(*self.measured.shape[1:])
        return np.array([self.says(*place, by=by) for place in places]).reshape(self.measured.shape[1:])


def check(data: Columns, seed: int, progress: Callable[[float], None], splits: int = SPLITS) -> Check:
    """Refit on subsamples of all sizes, and once more with each group doubled."""
    rng = np.random.default_rng(seed)
    groups = len(data.groups)
    shares = data.counts() / len(data.y)
    shape = (splits, len(SIZES), groups, groups + 1)
    measured, predicted, theory = np.empty(shape), np.empty(shape), np.empty(shape)
    risk, excess = np.empty((*shape[:2], groups + 1)), np.empty((*shape[:2], groups + 1))
    base_rows = np.zeros(len(SIZES))
    for split in range(splits):
        held, pools = _split(data, rng)
        for index, size in enumerate(SIZES):
            taken = [max(1, int(size * len(pool))) for pool in pools]
            base = np.concatenate([pool[:count] for pool, count in zip(pools, taken, strict=True)])
            base_rows[index] = len(base)
            w = fit(data.x[base], data.y[base])
            at = fitted(w, data.x[base], data.y[base], data.members[base], groups)
            risk[split, index] = before = _risks(w, data, held, shares)
            factors = np.einsum("lij,ji->l", at.information, np.linalg.inv(at.total))
            excess[split, index] = _with_average(factors / 2, shares)
            for group, (pool, count) in enumerate(zip(pools, taken, strict=True)):
                more = pool[count : 2 * count]
                rows = np.concatenate([base, more])
                after = _risks(fit(data.x[rows], data.y[rows], w), data, held, shares)
                measured[split, index, group] = after - before
                found = change(at, group, len(more))
                predicted[split, index, group] = _with_average(found.both, shares)
                theory[split, index, group] = _with_average(found.theory, shares)
        progress((split + 1) / splits)
    return Check(base_rows, measured, predicted, theory, risk, excess)


def _split(data: Columns, rng: np.random.Generator) -> tuple[list[Array], list[Array]]:
    """Held-out rows and the others, in random order, by group."""
    share = min(1.0, MOST / len(data.y))
    held, pools = [], []
    for group in range(len(data.groups)):
        mine = rng.permutation(np.flatnonzero(data.members == group))
        mine = mine[: max(int(share * len(mine)), min(len(mine), 2 * FEWEST_TESTED))]
        cut = max(FEWEST_TESTED, int(HELD_OUT * len(mine)))
        held.append(mine[:cut])
        pools.append(mine[cut:])
    return held, pools


def _risks(w: Array, data: Columns, held: list[Array], shares: Array) -> Array:
    each = np.array([losses(w, data.x[rows], data.y[rows]).mean() for rows in held])
    return _with_average(each, shares)


def _with_average(each: Float[Array, " groups"], shares: Float[Array, " groups"]) -> Float[Array, " judged"]:
    return np.append(each, shares @ each)
