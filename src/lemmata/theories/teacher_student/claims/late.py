"""The second phase (its end T*, P17; the escape, C2), and the late one beyond Theorem 3.1 (P18, T4, C1)."""

import math
from collections.abc import Mapping

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.teacher_student.dynamics.limit import escape_integral
from lemmata.theories.teacher_student.dynamics.reduced import Task
from lemmata.theories.teacher_student.gaussian import mean_square_slope
from lemmata.theories.teacher_student.measures import SLOPES, SWEEPS, Slopes, around, extremes, multiples
from lemmata.theories.teacher_student.theorem import FROZEN, RIGID, dimension_claims, over_law, rate_claim

BENT = [0.1, 0.0]
"""κ of the activations that are not the identity."""


@lm.evidence("p17-escape")
def exponent(data: xr.Dataset, sweep: str, of: str, slopes: Slopes = SLOPES, shift: float = 0.0) -> xr.DataArray:
    """The exponent of T* in a variable of the data along one sweep, by activation.

    `shift` moves the claimed exponent by as much.
    """
    data = lm.cells(data, variant=list(SWEEPS[sweep]), negative_slope=slopes)
    x = np.sqrt(data.squared_norm) if of == "norm" else data[of]
    return lm.log_slopes(data.escape_step, "variant", x=x) - shift


@lm.evidence("c2-phases")
def escape_exponent(data: xr.Dataset, slopes: Slopes) -> xr.DataArray:
    """d ln Δp / d ln p at p = 2/D, D = 400."""
    rate = lm.cells(data, size="D=400", negative_slope=slopes).rate
    return np.log(lm.cells(rate, level="2.1/D") / lm.cells(rate, level="1.9/D")) / math.log(2.1 / 1.9)


@lm.evidence("c2-phases")
def cubic_growth(data: xr.Dataset, slopes: Slopes) -> xr.DataArray:
    """How much KΔp/(η‖V*‖²p³) at p = 1.1/D grows from D/K = 400 to 10⁴; K and η are the same."""
    data = lm.cells(data, level="1.1/D", negative_slope=slopes)
    scaled = data.rate / (data.squared_norm * data.score**3)
    return lm.cells(scaled, size="D=10000") / lm.cells(scaled, size="D=400")


@lm.evidence("c2-phases")
def second_half(data: xr.Dataset, slopes: Slopes = SLOPES, factor: bool = True, level: str = "0.4/K") -> xr.DataArray:
    """dp/dt at p = 0.4/K over η‖V*‖²δ³/(K³D²p), with or without the factor a_κ (which is 1 for the identity)."""
    data = lm.cells(data, size="D=400", level=level, negative_slope=slopes)
    eta, K, D = data.eta, data.support_count, data.token_count
    expected = eta * data.squared_norm * (1 - K * data.score) ** 3 / (K**3 * D**2 * data.score)
    return data.rate / (expected * (mean_square_slope(data.negative_slope) if factor else 1.0))


def prefactor(ratio: float, slope: float) -> float:
    """φ(D/K, κ) = ηT* ‖V*‖² / (KD²) on the slow manifold, at K = 1."""
    task = Task(ratio, 1, 1.0, slope, 1.0)
    return escape_integral(task) * float(task.separation)


@lm.fact
def prefactor_limit(limits: Mapping[float, float]) -> xr.DataArray:
    """φ(10⁹, κ) over its limit."""
    ratios = [prefactor(1e9, slope) / limit for slope, limit in limits.items()]
    return xr.DataArray(ratios, coords={"κ": list(limits)})


def against(other: float, shift: float) -> lm.Control:
    return lm.Control(f"judged against {other:g} (arithmetic)", shift=shift)


STEP_SWEPT = lm.Control("η swept in the place of V*", sweep="step", of="eta")
NORM_SWEPT = lm.Control("V* scaled in the place of η", sweep="norm", of="norm")
UNIT_ROWS = lm.Control("unit rows, M = 1, 2, 4", sweep="rows")
FIXED_SUPPORT = lm.Control("the sweep at fixed K", sweep="dimension")
FIXED_RATIO, IDENTITY = lm.Control("the sweep at fixed D/K", sweep="ratio"), lm.Control("κ = 1", slopes=[1.0])
AT_FIRST = lm.Control("early in the escape, at p = 2.1/D", level="2.1/D")
LOGARITHM = lm.Control("a curve (log T)/T (arithmetic)", curve="logarithm")


@lm.evidence("t3-late")
def growth(data: xr.Dataset, curve: str = "measured", frozen: str = "none") -> xr.DataArray:
    """excess · T at 10⁴ T* over its value at 10² T*, or that of a curve (log T)/T at the same times."""
    data = lm.cells(data, frozen=frozen)
    logarithm = xr.apply_ufunc(np.log, data.step.where(data.step > 0))
    scaled, clock = data.excess * data.step if curve == "measured" else logarithm, multiples(data)
    return extremes(lm.at(scaled, clock, 1e4) / lm.at(scaled, clock, 1e2))


LATE_MASS = r"(D-K)\sqrt{\frac{K}{2a_\kappa\eta\lVert V^*\rVert_F^2T}}"
CLAIMS = (
    lm.Claim("p17-norm", "Lemma C.17, as printed", "scaling")
    .states("T* falls as the inverse of the sum of the norms of the rows of V*, when V* is scaled.")
    .in_symbols(r"T^* \propto \left(\sum_m\lVert v_m\rVert\right)^{-1\pm0.1}")
    .judged(exponent("norm", "row_norms"), around(-1.0, 0.1), UNIT_ROWS, expected=lm.FAILS),
    lm.Claim("p17-norm-corrected", "Lemma C.17, corrected", "scaling", corrects="p17-norm")
    .states("T* falls as the inverse square of the Frobenius norm of V*.")
    .in_symbols(r"T^* \propto \lVert V^*\rVert_F^{-2\pm0.02}")
    .judged(exponent("norm", "norm"), around(-2.0, 0.02), STEP_SWEPT, against(-1, 1.0)),
    lm.Claim("p17-step-size", "Lemma C.17", "scaling")
    .states("T* falls as the inverse of the step size.")
    .in_symbols(r"T^* \propto \eta^{-1\pm0.02}")
    .judged(exponent("step", "eta"), around(-1.0, 0.02), NORM_SWEPT, against(-2, -1.0)),
    lm.Claim("p17-fixed-ratio", "Lemma C.17", "scaling")
    .states("At a fixed ratio D/K = 20, T* grows as D³.")
    .in_symbols(r"T^* \propto D^{3\pm0.05} \quad (D/K=20)")
    .judged(exponent("ratio", "token_count"), around(3.0, 0.05), FIXED_SUPPORT, against(4, 1.0)),
    lm.Claim("p17-dimension-identity", "Lemma C.17", "scaling")
    .states("At fixed K = 1 and κ = 1, T* grows as D².")
    .in_symbols(r"T^* \propto D^{2\pm0.1} \quad (K=1,\ \kappa=1)")
    .judged(exponent("dimension", "token_count", [1.0]), around(2.0, 0.1), FIXED_RATIO, against(4, 2.0)),
    lm.Claim("p17-dimension-relu", "Lemma C.17", "scaling")
    .states("At fixed K = 1 and κ = 0, 0.1, T* grows as D² with a prefactor that still falls: exponent 1.75 to 2.05.")
    .in_symbols(r"T^* \propto D^k, \quad 1.75 \le k \le 2.05 \quad (K=1,\ \kappa=0,\,0.1)")
    .judged(exponent("dimension", "token_count", BENT), around(1.9, 0.15), FIXED_RATIO),
    lm.Claim("p17-prefactor-limit", "Lemma C.17, derived", "limit", source="derived")
    .states("""The time of escape in units of KD²/(η‖V*‖²) tends to 1 for the identity and to 1/(1+κ²) for κ < 1 as D/K
        grows: its ratio to the limit at D/K = 10^9 is within 1 % of 1.""")
    .in_symbols(r"""\frac{\eta\lVert V^*\rVert_F^2T^*}{KD^2} \to 1\ (\kappa=1),\ \frac{1}{1+\kappa^2}\ (\kappa<1) \quad
        \text{as } D/K\to\infty""")
    .judged(
        prefactor_limit({1.0: 1.0} | {slope: 1 / (1 + slope**2) for slope in (0.0, 0.1, 0.5)}),
        lm.within(0.99, 1.01, predicted=1.0),
        lm.Control("limit 1 for κ = 0.5", limits={0.5: 1.0}),
    ),
    lm.Claim("c2-escape-identity", "proof of Lemma C.17", "scaling")
    .states("For κ = 1 the score escapes cubically: the exponent of its growth at p = 2/D is 2.96 for D = 400.")
    .in_symbols(r"\frac{d\ln\Delta p}{d\ln p} = 2.96\pm0.1 \quad (\kappa=1)")
    .judged(escape_exponent([1.0]), around(2.96, 0.1), lm.Control("ReLU", slopes=[0.0])),
    lm.Claim("c2-cubic-upper", "Lemma C.17, as printed", "bound")
    .states("""Also for κ = 0, 0.1 the growth of the score is at most of order p³: KΔp/(η‖V*‖²p³) at p = 1.1/D grows by
        less than 1.5 from D/K = 400 to 10⁴.""")
    .in_symbols(r"\Delta p \le c\,\frac{\eta\lVert V^*\rVert_F^2p^3}{K}")
    .judged(cubic_growth(BENT), lm.at_most(1.5, by="every", strict=True), IDENTITY, expected=lm.FAILS),
    lm.Claim("c2-escape-corrected", "Lemma C.17, corrected", "scaling", corrects="c2-cubic-upper")
    .states("For κ = 0, 0.1 the score escapes quadratically: the exponent at p = 2/D is 2.2 for D = 400.")
    .in_symbols(r"\frac{d\ln\Delta p}{d\ln p} = 2.2\pm0.1 \quad (\kappa=0,\,0.1)")
    .judged(escape_exponent(BENT), lm.within(2.1, 2.3, by="every", predicted=2.2), IDENTITY),
    lm.Claim("c2-second-half", "C2, derived", "comparison", source="derived")
    .states("Later in the escape, at p = 0.4/K, the score grows as η‖V*‖²δ³/(K³D²p), times a_κ for κ < 1, to 5 %.")
    .in_symbols(r"\frac{dp}{dt} \simeq \frac{a_\kappa\eta\lVert V^*\rVert_F^2\delta^3}{K^3D^2p}")
    .judged(second_half(), around(1.0, 0.05), AT_FIRST, lm.Control("without a_κ, ReLU", slopes=[0.0], factor=False)),
    rate_claim("p18-time", "Lemma C.18", "The missing score 1/K - p", "off_support", -0.5, 0.02),
    *dimension_claims(
        "p18-dimension", "Lemma C.18", "At fixed ηT and K, 1/K - p", "off_support", (2.0, 0.2), (1.0, 0.1)
    ),
    lm.Claim("p18a-off-support", "P18', derived", "limit", source="derived")
    .states("The mass off the support is (D - K)√(K/(2a_κη‖V*‖²T)): to 3 % at 10³T*, to 1 % at 10⁴T*.")
    .in_symbols(rf"\delta \simeq {LATE_MASS}")
    .judged(
        over_law("mass", moments={"10³T*": 1e3, "10⁴T*": 1e4}),
        lm.within({"10³T*": (0.97, 1.03), "10⁴T*": (0.99, 1.01)}, by="every", predicted=1.0),
        lm.Control("values frozen at V*", frozen="values"),
    ),
    lm.Claim("p18a-odds", "P18', derived", "limit", source="derived")
    .states("The odds off the support are (D - K)√(K/(2a_κη‖V*‖²T)), to 1 % at 10³T*.")
    .in_symbols(rf"o = \frac{{\delta}}{{Kp}} \simeq {LATE_MASS}")
    .judged(over_law("odds"), around(1.0, 0.01), RIGID),
    lm.Claim("p18a-value", "P18', derived", "limit", source="derived")
    .states("C_1 exceeds 1 by the odds off the support, to 2 % at 10³T*.")
    .in_symbols(r"C_1-1 \simeq o, \quad o = \frac{\delta}{Kp}")
    .judged(over_law("overshoot"), around(1.0, 0.02), FROZEN),
    rate_claim("p18a-product", "P18', derived", "|pC_1 - 1/K|", "product", -1.0, 0.03),
    *dimension_claims(
        "t4-epsilon-dimension",
        "Theorem 3.2",
        "The time from which the bound on the out-of-distribution excess is below ε",
        "epsilon",
        (6.0, 0.6),
        (4.0, 0.1),
    ),
    lm.Claim("c1-no-log", "comparison with earlier work", "comparison")
    .states("""The excess loss falls as 1/T, not as (log T)/T: excess · T at 10⁴T* is 0.93 to 1.02 times its value at
        10²T*.""")
    .in_symbols(r"0.93 \le \frac{10^4T^*\cdot\mathrm{Excess}(10^4T^*)}{10^2T^*\cdot\mathrm{Excess}(10^2T^*)} \le 1.02")
    .judged(growth(), lm.within(0.93, 1.02, by="every", predicted=1.0), FROZEN, LOGARITHM),
)
