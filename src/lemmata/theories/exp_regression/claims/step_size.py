"""Large steps and small ones: beyond the edge of stability (X6), where runs are monotone, catapults or diverge; and one
point against gradient flow in closed form (Q21), with orthonormal points as separate problems."""

import xarray as xr

import lemmata as lm
from lemmata.theories.exp_regression.measures import CLASSES, classes, step_constants, worst


@lm.evidence("x6-stability")
def in_class(data: xr.Dataset, wanted: str, low: float, high: float, dynamics: str = "trained") -> xr.DataArray:
    """1 where a seed's runs are all of the wanted class, c in [low, high]."""
    kinds = classes(step_constants(data, low, high), dynamics)
    return (kinds == CLASSES.index(wanted)).all(("neurons", "step_constant")) * 1.0


@lm.evidence("x6-stability")
def final_constant(data: xr.Dataset, kernel: str = "end_largest") -> xr.DataArray:
    """The largest c λ_max(H(T))/λ_max(H(0)) over 2.1 ≤ c ≤ 3; with a frozen kernel it is c."""
    data = step_constants(data, 2.1, 3)
    return worst(data.step_constant * data[kernel] / data.start_largest)


@lm.evidence("q21-flow")
def error_at_finest(data: xr.Dataset, formula: str = "exact") -> xr.DataArray:
    """The largest error of <w_r, x> against gradient flow at the smallest step."""
    return lm.cells(data, samples=1).flow_error.sel(formula=formula, drop=True).isel(variant=-1)


@lm.evidence("q21-flow")
def error_ratio(data: xr.Dataset, formula: str = "exact") -> xr.DataArray:
    """Ratios of that error at successive step constants, each a tenth of the one before."""
    errors = lm.cells(data, samples=1).flow_error.sel(formula=formula, drop=True)
    return errors.isel(variant=slice(None, -1)) / errors.isel(variant=slice(1, None)).values


@lm.evidence("q21-flow")
def off_the_line(data: xr.Dataset, samples: int = 1) -> xr.DataArray:
    """The largest part of a weight's path orthogonal to x."""
    return lm.cells(data, samples=samples).flow_across


@lm.evidence("x2-orthonormal")
def joint_less_separate(data: xr.Dataset, data_law: str = "orthonormal") -> xr.DataArray:
    """The first seed's difference between 50 joint steps and separate ones, at c = 0.5."""
    return lm.cells(data, data_law=data_law, step_constant=0.5).separate_difference.isel(seed=0)


ALL = lm.at_least(1.0, by="every")
DROPPED = lm.Control("a_r dropped from the denominator", formula="a_r dropped")

CLAIMS = (
    lm.Claim("x6-monotone", "linearised dynamics, experiment X6", "ordering", source="derived")
    .states("For mηλ_max ≤ 1.9 the squared error never exceeds 1.01 of its start, in every seed and at both widths.")
    .in_symbols(r"m\eta\lambda_{\max} \le 1.9 \Rightarrow \max_t\lVert e(t)\rVert^2 \le 1.01\,\lVert e(0)\rVert^2")
    .judged(in_class("monotone", 0, 1.9), ALL, lm.Control("c = 2.1", low=2.1, high=2.1)),
    lm.Claim("x6-catapult", "linearised dynamics, experiment X6", "ordering", source="derived")
    .states("""For 2.1 ≤ mηλ_max ≤ 3 the squared error first grows and then falls below 1e-3 of its start, in every seed
        and at both widths.""")
    .in_symbols(r"""2.1 \le m\eta\lambda_{\max} \le 3 \Rightarrow \max_t\lVert e(t)\rVert^2 > 1.01\,\lVert
        e(0)\rVert^2,\ \lVert e(T)\rVert^2 < 10^{-3}\,\lVert e(0)\rVert^2""")
    .judged(
        in_class("catapult", 2.1, 3), ALL, lm.Control("the linearised dynamics, which diverges", dynamics="linearised")
    ),
    lm.Claim("x6-flattening", "linearised dynamics, experiment X6", "bound", source="derived")
    .states("A catapult ends where the step is stable: mηλ_max(H(T)) < 2 for 2.1 ≤ c ≤ 3, in every seed.")
    .in_symbols(r"2.1 \le m\eta\lambda_{\max}(H(0)) \le 3 \Rightarrow m\eta\lambda_{\max}(H(T)) < 2")
    .judged(
        final_constant(),
        lm.at_most(2.0, by="every", strict=True),
        lm.Control("λ_max(H(0)) for λ_max(H(T)): a frozen kernel", kernel="start_largest"),
    ),
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
