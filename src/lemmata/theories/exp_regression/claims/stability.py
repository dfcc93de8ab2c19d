"""The edge of stability: monotone runs, catapults, flatter kernels (X6)."""

from __future__ import annotations

import xarray as xr

import lemmata as lm
from lemmata.theories.exp_regression.measures import CLASSES, classes, linear_classes, step_constants, worst


@lm.evidence("x6-stability")
def in_class(data: xr.Dataset, wanted: str, low: float, high: float, dynamics: str = "trained") -> xr.DataArray:
    """1 where a seed's runs are all of the wanted class, c in [low, high]."""
    found = (linear_classes if dynamics == "linearised" else classes)(step_constants(data, low, high))
    return (found == CLASSES.index(wanted)).all(("neurons", "step_constant")) * 1.0


@lm.evidence("x6-stability")
def final_constant(data: xr.Dataset, kernel: str = "end_largest") -> xr.DataArray:
    """The largest c λ_max(H(T))/λ_max(H(0)) over 2.1 ≤ c ≤ 3; with a frozen kernel it is c."""
    data = step_constants(data, 2.1, 3)
    return worst(data.step_constant * data[kernel] / data.start_largest)


CLAIMS = (
    lm.Claim("x6-monotone", "linearised dynamics, experiment X6", "ordering", source="derived")
    .states("For mηλ_max ≤ 1.9 the squared error never exceeds 1.01 of its start, in every seed and at both widths.")
    .in_symbols(r"m\eta\lambda_{\max} \le 1.9 \Rightarrow \max_t\lVert e(t)\rVert^2 \le 1.01\,\lVert e(0)\rVert^2")
    .judged(in_class("monotone", 0, 1.9), lm.at_least(1.0, by="every"), lm.Control("c = 2.1", low=2.1, high=2.1)),
    lm.Claim("x6-catapult", "linearised dynamics, experiment X6", "ordering", source="derived")
    .states("""For 2.1 ≤ mηλ_max ≤ 3 the squared error first grows and then falls below 1e-3 of its start, in every seed
        and at both widths.""")
    .in_symbols(r"""2.1 \le m\eta\lambda_{\max} \le 3 \Rightarrow \max_t\lVert e(t)\rVert^2 > 1.01\,\lVert
        e(0)\rVert^2,\ \lVert e(T)\rVert^2 < 10^{-3}\,\lVert e(0)\rVert^2""")
    .judged(
        in_class("catapult", 2.1, 3),
        lm.at_least(1.0, by="every"),
        lm.Control("the linearised dynamics, which diverges", dynamics="linearised"),
    ),
    lm.Claim("x6-flattening", "linearised dynamics, experiment X6", "bound", source="derived")
    .states("A catapult ends where the step is stable: mηλ_max(H(T)) < 2 for 2.1 ≤ c ≤ 3, in every seed.")
    .in_symbols(r"2.1 \le m\eta\lambda_{\max}(H(0)) \le 3 \Rightarrow m\eta\lambda_{\max}(H(T)) < 2")
    .judged(
        final_constant(),
        lm.at_most(2.0, by="every", strict=True),
        lm.Control("λ_max(H(0)) for λ_max(H(T)): a frozen kernel", kernel="start_largest"),
    ),
)
