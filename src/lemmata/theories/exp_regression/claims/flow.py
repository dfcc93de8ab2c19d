"""One point in closed form (Q21), and orthonormal points as separate problems."""

from __future__ import annotations

import xarray as xr

import lemmata as lm


def _errors(data: xr.Dataset, formula: str) -> xr.DataArray:
    """Error of <w_r, x> against gradient flow on one point by step constant, coarse to fine."""
    return lm.cells(data, samples=1).flow_error.sel(formula=formula, drop=True)


@lm.evidence("q21-flow")
def error_at_finest(data: xr.Dataset, formula: str = "exact") -> xr.DataArray:
    """The largest error of <w_r, x> against gradient flow at the smallest step."""
    return _errors(data, formula).isel(variant=-1)


@lm.evidence("q21-flow")
def error_ratio(data: xr.Dataset, formula: str = "exact") -> xr.DataArray:
    """Ratios of that error at successive step constants, each a tenth of the one before."""
    errors = _errors(data, formula)
    return errors.isel(variant=slice(None, -1)) / errors.isel(variant=slice(1, None)).values


@lm.evidence("q21-flow")
def off_the_line(data: xr.Dataset, samples: int = 1) -> xr.DataArray:
    """The largest part of a weight's path orthogonal to x."""
    return lm.cells(data, samples=samples).flow_across


@lm.evidence("x2-orthonormal")
def joint_less_separate(data: xr.Dataset, data_law: str = "orthonormal") -> xr.DataArray:
    """The first seed's difference between 50 joint steps and separate ones, at c = 0.5."""
    return lm.cells(data, data_law=data_law, step_constant=0.5).separate_difference.isel(seed=0)


DROPPED = lm.Control("a_r dropped from the denominator", formula="a_r dropped")

CLAIMS = (
    lm.Claim("q21-limit", "Q21, derived", "identity", source="derived")
    .states("""On one point gradient descent with c = 1e-3 ends at the weights of gradient flow: <w_r, x> to 1e-6, in
        every seed.""")
    .in_symbols(r"""e^{-\langle w_r(\infty),x\rangle} = c_r+a_r\lVert x\rVert^2\mathcal{E}_\infty, \quad
        F(\mathcal{E}_\infty) = y""")
    .judged(error_at_finest(), lm.at_most(1e-6, by="every"), DROPPED),
    lm.Claim("q21-order", "Q21, derived", "scaling", source="derived")
    .states("""On one point, dividing the step by ten divides the distance of gradient descent's final <w_r, x> from
        gradient flow's by about ten: ratio in [8, 12], in every seed.""")
    .in_symbols(r"8 \le \frac{\mathrm{error}(c)}{\mathrm{error}(c/10)} \le 12")
    .judged(error_ratio(), lm.within(8.0, 12.0, by="every", predicted=10.0), DROPPED),
    lm.Claim("q21-line", "Q21, derived", "identity", source="derived")
    .states("On one point every weight moves along x only, to 1e-12.")
    .in_symbols(r"w_r(t)-w_r(0) \parallel x")
    .judged(off_the_line(), lm.at_most(1e-12, by="every"), lm.Control("a second, generic point", samples=2)),
    lm.Claim("q21-decoupling", "Q21, orthonormal data", "identity", source="derived")
    .states("""Gradient descent on orthonormal points is one separate run per point: outputs and projections agree to
        1e-12 after 50 steps.""")
    .in_symbols(r"""F_i^{\text{joint}} = F_i^{\text{separate}},\ \langle w_r,x_i\rangle^{\text{joint}} = \langle
        w_r,x_i\rangle^{\text{separate}}""")
    .judged(joint_less_separate(), lm.at_most(1e-12), lm.Control("points of the sphere", data_law="sphere")),
)
