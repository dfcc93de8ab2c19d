"""Weights that move by at most R: projections and exponentials (Q2, parts 2-6) and the kernel (Q6)."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.exp_regression.measures import SLACK, worst
from lemmata.theories.exp_regression.network import Head
from lemmata.theories.exp_regression.studies.perturbation import moved_ratios

SMALL = 1e-3
"""The R of Lemma 6.7."""
OUTWARD = {"factor": 1.1, "shift": "point"}


def _moved(data: xr.Dataset, factor: float, shift: str, below: float) -> xr.Dataset:
    """Every weight moved by `factor` R, R < below: in every direction, or in one."""
    data = lm.cells(data, factor=factor, radius=data.radius.values[data.radius.values < below])
    return lm.cells(data, shift=shift) if shift else data


@lm.evidence("q6-perturbation")
def ratio(data: xr.Dataset, variable: str, factor: float = 1.0, shift: str = "", below: float = 0.01) -> xr.DataArray:
    """The largest left side / right side over R and the directions."""
    return worst(_moved(data, factor, shift, below)[variable])


@lm.evidence("q6-perturbation")
def pair_ratio(data: xr.Dataset, shift: str = "pair") -> xr.DataArray:
    """|ΔH_ij| over its bound in the entry (i, j) of the pair that is aimed at, by R."""
    return _moved(data, 1.0, shift, SMALL).pair_change


@lm.evidence(precision="float64")
def one_point(factor: float) -> float:
    """‖ΔH‖_F over its bound with n = 1, W = 0, every weight moved by `factor` R along x."""
    weights, head, R = np.zeros((1, 8)), Head(np.ones(8), np.ones(())), 9e-4
    return float(jax.jit(moved_ratios)(head, np.ones((1, 1)), weights, weights + factor * R, R)["frobenius_change"])


def _claim(
    name: str, reference: str, statement: str, evidence: lm.Evidence, control: lm.Control, **rest: Any
) -> lm.Claim:
    return lm.Claim(name, reference, "bound", statement, evidence, lm.at_most(SLACK, by="every"), control, **rest)


CLAIMS = (
    _claim(
        "q2-moved-projection",
        "Lemma 6.2, part 2",
        "Weights within R of the initial ones have |<v_r, x_i>| ≤ B + R, for random shifts and for those that push the "
        "largest projection outward.",
        ratio("moved_projection"),
        lm.Control("outward shift of 1.1 R", **OUTWARD),
    ),
    _claim(
        "q2-exponentials",
        "Lemma 6.2, parts 4 and 5",
        "Exponentials of projections are at most e^B, and e^{B+R} after a move of R, with B even the largest positive "
        "projection.",
        ratio("moved_exponential"),
        lm.Control("upward shift of 1.1 R at the largest positive projection", **OUTWARD),
    ),
    _claim(
        "q2-difference",
        "Lemma 6.2, part 3",
        "|<w_r - v_r, x_i + x_j>| ≤ 2R in every entry.",
        ratio("difference"),
        lm.Control("shift of 1.1 R along x_i (i = j)", **OUTWARD),
    ),
    _claim(
        "q2-exponential-difference",
        "Lemma 6.2, part 6",
        "|e^{<w_r - v_r, x_i + x_j>} - 1| ≤ 4R in every entry, for R < 0.01.",
        ratio("exponential_difference"),
        lm.Control("shift of 2.1 R along x_i (i = j)", factor=2.1, shift="point"),
    ),
    _claim(
        "q6-frobenius",
        "Lemma 6.7",
        "Moving every weight by at most R < 10^-3 changes the kernel by at most 3nRe^{2B} in Frobenius norm.",
        ratio("frobenius_change", below=SMALL),
        lm.Control("one point, W = 0, shift of 1.6 R", one_point(1.6)),
    ),
    _claim(
        "q6-entrywise",
        "Lemma 6.7, sharpened",
        "|ΔH_ij| ≤ (e^{R‖x_i+x_j‖} - 1) |H_ij| in every entry and case.",
        ratio("entry_change", below=SMALL),
        lm.Control("shift of 1.1 R along x_i + x_j", factor=1.1, shift="pair"),
        source="derived",
    ),
    lm.Claim(
        "q6-equality",
        "Lemma 6.7, sharpened",
        "identity",
        "Moving every weight by R along x_i + x_j reaches that bound in the entry (i, j), to 1e-10.",
        pair_ratio(),
        lm.within(1 - 1e-10, 1 + 1e-10, by="every", predicted=1.0),
        lm.Control("shift along x_i alone", shift="point"),
        source="derived",
    ),
)
