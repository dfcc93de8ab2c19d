"""One point in closed form (Q21), and orthonormal points as separate problems."""

from __future__ import annotations

import numpy as np
import xarray as xr

from lemmata.lab.claims import Claim, Control, Datasets, Evidence
from lemmata.lab.judges import at_most, within

EXACT, DROPPED = 0, 1


def _errors(datasets: Datasets, formula: int) -> xr.DataArray:
    """Error of <w_r, x> against gradient flow by step constant, coarse to fine."""
    data = datasets["q21-flow"]
    variants = [str(variant) for variant in data.variant.values if str(variant).startswith("c=")]
    return data.flow_error.isel(formula=formula).sel(variant=variants)


def _limit(formula: int) -> Evidence:
    return lambda datasets: _errors(datasets, formula).isel(variant=-1)


def _order(formula: int) -> Evidence:
    """Ratios of the errors at successive step constants, each a tenth of the one before."""

    def evidence(datasets: Datasets) -> xr.DataArray:
        errors = _errors(datasets, formula)
        return errors.isel(variant=slice(None, -1)) / errors.isel(variant=slice(1, None)).values

    return evidence


def _line(two: bool = False) -> Evidence:
    def evidence(datasets: Datasets) -> xr.DataArray:
        across = datasets["q21-flow"].flow_across
        chosen = np.array([str(variant) == "two points" for variant in across.variant.values]) == two
        return across.isel(variant=np.flatnonzero(chosen))

    return evidence


def _separate(data_law: str) -> Evidence:
    """The first seed's difference between 50 joint steps and separate ones, at c = 0.5."""

    def evidence(datasets: Datasets) -> float:
        data = datasets["x2-orthonormal"].sel(data_law=data_law).isel(step_constant=-1, seed=0)
        return float(data.separate_difference)

    return evidence


CLAIMS = (
    Claim(
        name="q21-limit",
        reference="Q21, derived",
        kind="identity",
        statement="On one point gradient descent with c = 1e-3 ends at the weights of gradient flow: <w_r, x> to 1e-6, "
        "in every seed.",
        formula="e^{-<w_r, x>} = c_r + a_r ‖x‖² ℰ, F(ℰ_∞) = y",
        reads=("q21-flow",),
        evidence=_limit(EXACT),
        judge=at_most(1e-6, by="every"),
        controls=(Control("a_r dropped from the denominator", _limit(DROPPED)),),
    ),
    Claim(
        name="q21-order",
        reference="Q21, derived",
        kind="scaling",
        statement="Dividing the step by ten divides that error by about ten: ratio in [8, 12], in every seed.",
        reads=("q21-flow",),
        evidence=_order(EXACT),
        judge=within(8.0, 12.0, by="every", predicted=10.0),
        controls=(Control("a_r dropped from the denominator", _order(DROPPED)),),
    ),
    Claim(
        name="q21-line",
        reference="Q21, derived",
        kind="identity",
        statement="On one point every weight moves along x only, to 1e-12.",
        reads=("q21-flow",),
        evidence=_line(),
        judge=at_most(1e-12, by="every"),
        controls=(Control("a second, generic point", _line(two=True)),),
    ),
    Claim(
        name="q21-decoupling",
        reference="Q21, orthonormal data",
        kind="identity",
        statement="Gradient descent on orthonormal points is one separate run per point: outputs and projections agree "
        "to 1e-12 after 50 steps.",
        reads=("x2-orthonormal",),
        evidence=_separate("orthonormal"),
        judge=at_most(1e-12),
        controls=(Control("points of the sphere", _separate("sphere")),),
    ),
)
