"""Weights that move by at most R: projections and exponentials (Q2, parts 2-6) and the kernel (Q6)."""

from __future__ import annotations

import jax.numpy as jnp
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_most, within
from lemmata.theories.exp_regression.claims.common import SLACK, all_runs, in_float64, tight_network
from lemmata.theories.exp_regression.studies.perturbation import moved_ratios

SMALL = 1e-3
"""The R of Lemma 6.7."""


def _ratio(variable: str, factor: float = 1.0, shift: str = "", below: float = 0.01) -> Evidence:
    """Left side / right side in every case: all shifts or one, R below a limit."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        data = datasets["q6-perturbation"].sel(factor=factor)
        data = data.sel(radius=data.radius[data.radius < below])
        return all_runs(data.sel(shift=shift)[variable] if shift else data[variable])

    return evidence


@in_float64
def _one_point(datasets: Datasets) -> float:
    """n = 1, W = 0, every weight moved by 1.6 R along x."""
    weights, head = tight_network()
    R = 9e-4
    moved = moved_ratios(head, jnp.ones((1, 1)), weights, weights + 1.6 * R, jnp.asarray(R))
    return float(moved["frobenius_change"])


def _claim(name: str, reference: str, statement: str, evidence: Evidence, control: Control) -> Claim:
    return Claim(
        name=name,
        reference=reference,
        kind="bound",
        statement=statement,
        reads=("q6-perturbation",),
        evidence=evidence,
        judge=at_most(SLACK, by="every"),
        controls=(control,),
    )


CLAIMS = (
    _claim(
        "q2-moved-projection",
        "Lemma 6.2, part 2",
        "Weights within R of the initial ones have |<v_r, x_i>| ≤ B + R, for random shifts and for those that push the "
        "largest projection outward.",
        _ratio("moved_projection"),
        Control("outward shift of 1.1 R", _ratio("moved_projection", 1.1, "point")),
    ),
    _claim(
        "q2-exponentials",
        "Lemma 6.2, parts 4 and 5",
        "Exponentials of projections are at most e^B, and e^{B+R} after a move of R, with B even the largest positive "
        "projection.",
        _ratio("moved_exponential"),
        Control("upward shift of 1.1 R at the largest positive projection", _ratio("moved_exponential", 1.1, "point")),
    ),
    _claim(
        "q2-difference",
        "Lemma 6.2, part 3",
        "|<w_r - v_r, x_i + x_j>| ≤ 2R in every entry.",
        _ratio("difference"),
        Control("shift of 1.1 R along x_i (i = j)", _ratio("difference", 1.1, "point")),
    ),
    _claim(
        "q2-exponential-difference",
        "Lemma 6.2, part 6",
        "|e^{<w_r - v_r, x_i + x_j>} - 1| ≤ 4R in every entry, for R < 0.01.",
        _ratio("exponential_difference"),
        Control("shift of 2.1 R along x_i (i = j)", _ratio("exponential_difference", 2.1, "point")),
    ),
    _claim(
        "q6-frobenius",
        "Lemma 6.7",
        "Moving every weight by at most R < 10^-3 changes the kernel by at most 3nRe^{2B} in Frobenius norm.",
        _ratio("frobenius_change", below=SMALL),
        Control("one point, W = 0, shift of 1.6 R", _one_point),
    ),
    _claim(
        "q6-entrywise",
        "Lemma 6.7, sharpened",
        "|ΔH_ij| ≤ (e^{R‖x_i+x_j‖} - 1) |H_ij| in every entry and case.",
        _ratio("entry_change", below=SMALL),
        Control("shift of 1.1 R along x_i + x_j", _ratio("entry_change", 1.1, "pair", SMALL)),
    ),
    Claim(
        name="q6-equality",
        reference="Lemma 6.7, sharpened",
        kind="identity",
        statement="Moving every weight by R along x_i + x_j reaches that bound in the entry (i, j), to 1e-10.",
        reads=("q6-perturbation",),
        evidence=_ratio("pair_change", 1.0, "pair", SMALL),
        judge=within(1 - 1e-10, 1 + 1e-10, by="every", predicted=1.0),
        controls=(Control("shift along x_i alone", _ratio("pair_change", 1.0, "point", SMALL)),),
    ),
)
