"""Theorem 3.1, the headline of the paper: its words, its hypotheses, and the claims that test it.

Let the teacher be f*(X) = σ(V*XS*) with unit rows of V* and K equal weights 1/K in every column of S*, σ the identity,
ReLU or leaky ReLU, and D ≥ Ω(poly(M, K)). Let the student σ(W_V X softmax(PᵀW_KQ P/√D)) be trained from W_V = 0 and
W_KQ = 0 by gradient descent on the population loss over Gaussian inputs, with a step size η ≤ O(M⁻¹D^(-5/2)). Then
there is T* = Θ(KD²/(ηM)) such that for every T ≥ T*

1. the attention scores are recovered, ‖S - S*‖_F = Θ(D^(5/2) / √(ηMT)),
2. so are the values, ‖W_V - V*‖_F = Θ(D²√K / √(ηMT)) ‖V*‖_F,
3. and the excess loss vanishes at a tight rate, c KD⁴/(ηT) ≤ L(T) - L_opt ≤ c' KD⁴/(ηT).

The powers of T and T* are right; D^(5/2), D² and D⁴ should be D^(3/2), D and D² (erratum 2), and for rows that are not
of norm 1 ‖V*‖_F² stands in the place of M (erratum 3). With constants: `bounds.delta_asymptote`, `excess_asymptote`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

import lemmata as lm
from lemmata.theories.teacher_student import measures
from lemmata.theories.teacher_student.dynamics.follow import follow_recursion
from lemmata.theories.teacher_student.dynamics.limit import follow_limit
from lemmata.theories.teacher_student.dynamics.reduced import Scalars, Task, excess, gap, pattern
from lemmata.theories.teacher_student.measures import QUANTITIES, Slopes, around, extremes, multiples
from lemmata.theories.teacher_student.setting import SEPARATED, largest_score_step, largest_value_step

THOUSAND = {"10³T*": 1e3}
TASKS = {"D=20, K=1": (20.0, 1.0, 10.0), "D=36, K=4": (36.0, 4.0, 40.0), "D=64, K=2": (64.0, 2.0, 40.0)}
"""D, K and ‖V*‖² of three of the late runs."""
ETA = 0.05


def phases_separate(separation: Any) -> Any:
    """D ≥ Ω(poly(M, K)), read as χ = ‖V*‖²/(KD²) ≤ 0.005: phases 1 and 2 are separated."""
    return separation <= SEPARATED


def step_is_small(step_size: Any, tokens: Any, support: Any, slope: Any, strength: Any) -> Any:
    """η ≤ O(M⁻¹D^(-5/2)), read as the two limits of stability of 2.5."""
    stable = step_size <= largest_value_step(tokens, support, slope)
    return stable & (step_size <= largest_score_step(tokens, support, slope, strength))


@lm.evidence("t3-late")
def rate(data: xr.Dataset, quantity: str, frozen: str = "none", slopes: Slopes = measures.SLOPES) -> xr.DataArray:
    """The least and the largest exponent in T over [10², 10⁴] T*, over sizes and activations."""
    data = lm.cells(data, frozen=frozen, negative_slope=slopes)
    return extremes(measures.late_slope(QUANTITIES[quantity](data), data))


OVER_LAW: dict[str, Callable[[xr.Dataset], xr.DataArray]] = {
    "scores": lambda data: data.score_error / measures.score_law(data),
    "values": lambda data: data.value_error / data.odds,
    "excess": lambda data: data.excess / measures.excess_law(data),
    "mass": lambda data: data.mass / measures.late_mass(data),
    "odds": lambda data: data.odds / measures.late_mass(data),
    "overshoot": lambda data: (data.value - 1) / data.odds,
}
"""Late quantities over their derived laws: ‖S - S*‖, ‖W_V - V*‖/‖V*‖, the excess, δ, δ/(Kp), C_1 - 1."""


@lm.evidence("t3-late")
def over_law(
    data: xr.Dataset, quantity: str, frozen: str = "none", moments: Mapping[str, float] = THOUSAND
) -> xr.DataArray:
    """The least and the largest ratio of a quantity to its derived law, over sizes and activations."""
    data = lm.cells(data, frozen=frozen)
    ratio, clock = OVER_LAW[quantity](data), multiples(data)
    return lm.stack({words: extremes(lm.at(ratio, clock, moment)) for words, moment in moments.items()}, "time")


@lm.evidence("t3-dimension")
def power(
    data: xr.Dataset, quantity: str, law: float | None = None, shift: float = 0.0, by_escape: bool = False
) -> xr.DataArray:
    """The exponent in D at ηT = 10⁹, of T_ε that of its first passage.

    `law` puts the residuals on that exponent first; `shift` moves the claimed exponent by as much; `by_escape` has
    time in units of T*: at 10³T*, or T_ε/T*.
    """
    if quantity == "epsilon":
        values = measures.passage(data) / (data.escape_step if by_escape else 1.0)
    else:
        moment = measures.nearest(data, multiples(data), 1e3) if by_escape else measures.at_fixed_time(data)
        values = QUANTITIES[quantity](moment)
    if law is not None:
        each = [lm.on_law(values.sel(negative_slope=slope), "tokens", law) for slope in values.negative_slope]
        values = xr.concat(each, "negative_slope")
    return lm.log_slopes(values, "tokens") - shift


@lm.evidence(precision="float64")
def limit_error(times: float = 1.0) -> xr.DataArray:
    """The largest relative difference of C_1, p and the excess between the recursion and its continuous limit, by step.

    Over sizes and activations, η = 0.05; the recursion has `times` as large a step.
    """
    at = np.array([0, 10**3, 10**4, 10**5])
    worst = np.zeros(len(at) - 1)
    for size in TASKS.values():
        for slope in (1.0, 0.1, 0.0):
            task, path = Task(*size, slope, ETA), follow_limit(Task(*size, slope, ETA), at)
            run = follow_recursion(task._replace(step_size=times * ETA), at, Scalars(0.0, 0.0, 0.0)).records
            state = Scalars(*(np.asarray(run[name]) for name in Scalars._fields))
            exact, smooth = pattern(task, gap(task, state)), pattern(task, path.gap)
            pairs = ((state.value, path.value), (exact.score, smooth.score))
            pairs += ((excess(task, state.value, exact), excess(task, path.value, smooth)),)
            worst = np.maximum(worst, np.max([np.abs(np.asarray(a)[1:] / np.asarray(b)[1:] - 1) for a, b in pairs], 0))
    return xr.DataArray(worst, coords={"steps": at[1:]})


FROZEN, RIGID = lm.Control("attention frozen", frozen="attention"), lm.Control("values frozen", frozen="values")
BENT = lm.Control("attention frozen, κ = 0, 0.1", frozen="attention", slopes=(0.1, 0.0))
SYMBOLS = {
    "score_error": r"\lVert S-S^*\rVert_F",
    "value_error": r"\lVert W_V-V^*\rVert_F",
    "excess": r"\mathrm{Excess}",
    "off_support": r"(1/K-p)",
    "product": r"|pC_1-1/K|",
    "epsilon": r"T_\epsilon",
}
"""The quantities of which a power of T or of D is claimed, in formulas."""


def rate_claim(
    name: str, reference: str, what: str, quantity: str, exponent: float, width: float, control: lm.Control = FROZEN
) -> lm.Claim:
    """A quantity falls as this power of T."""
    return (
        lm.Claim(name, reference, "scaling", source="derived" if "derived" in reference else "paper")
        .states(f"{what} falls as T^{exponent:g} over [10², 10⁴] T*, all sizes and activations.")
        .in_symbols(rf"{SYMBOLS[quantity]} \propto T^{{{exponent:g}\pm{width:g}}}")
        .judged(rate(quantity), around(exponent, width), control)
    )


def dimension_claims(
    name: str, reference: str, what: str, quantity: str, printed: tuple[float, float], right: tuple[float, float]
) -> list[lm.Claim]:
    """The power of D with its width, as printed and as corrected by erratum 2."""
    on_law = lm.Control("the residuals on the printed law", law=printed[0])
    unfixed = lm.Control("at the same multiple of T* instead of the same ηT", by_escape=True)
    moved = lm.Control(f"judged against {printed[0]:g} (arithmetic)", shift=printed[0] - right[0])
    first = lm.Claim(name, f"{reference}, as printed", "scaling")
    second = lm.Claim(f"{name}-corrected", f"{reference}, corrected", "scaling", corrects=name)
    return [
        claim.states(f"{what} grows as D^{exponent:g}.")
        .in_symbols(rf"{SYMBOLS[quantity]} \propto D^{{{exponent:g}\pm{width:g}}}")
        .judged(power(quantity), around(exponent, width), *controls, expected=expected)
        for claim, (exponent, width), controls, expected in (
            (first, printed, [on_law], lm.FAILS),
            (second, right, [unfixed, moved], lm.HOLDS),
        )
    ]


CLAIMS = (
    rate_claim("t1-rate", "Theorem 3.1(1)", "The error ‖S - S*‖_F of the scores", "score_error", -0.5, 0.02),
    lm.Claim("t1-constant", "Theorem 3.1(1), derived", "limit", source="derived")
    .states("‖S - S*‖_F is D√((D-K)/(2a_κη‖V*‖²T)), to 3 % at 10³T*.")
    .in_symbols(r"\lVert S-S^*\rVert_F \simeq D\sqrt{\frac{D-K}{2a_\kappa\eta\lVert V^*\rVert_F^2T}}")
    .judged(over_law("scores"), around(1.0, 0.03), RIGID),
    *dimension_claims(
        "t1-dimension", "Theorem 3.1(1)", "At fixed ηT and K, ‖S - S*‖_F", "score_error", (2.5, 0.25), (1.5, 0.05)
    ),
    rate_claim("t2-rate", "Theorem 3.1(2)", "The error ‖W_V - V*‖_F of the values", "value_error", -0.5, 0.02, BENT),
    lm.Claim("t2-constant", "Theorem 3.1(2), derived", "limit", source="derived")
    .states("‖W_V - V*‖_F is the odds o = δ/(Kp) off the support times ‖V*‖_F, to 2 % at 10³T*.")
    .in_symbols(r"\lVert W_V-V^*\rVert_F \simeq o\,\lVert V^*\rVert_F, \quad o = \frac{\delta}{Kp}")
    .judged(over_law("values"), around(1.0, 0.02), FROZEN),
    *dimension_claims(
        "t2-dimension", "Theorem 3.1(2)", "At fixed ηT and K, ‖W_V - V*‖_F", "value_error", (2.0, 0.2), (1.0, 0.1)
    ),
    rate_claim("t3-rate", "Theorem 3.1(3)", "The excess loss", "excess", -1.0, 0.02),
    lm.Claim("t3-constant", "Theorem 3.1(3), derived", "limit", source="derived")
    .states("The excess loss is KD(D-K)/(4ηT), whatever κ and ‖V*‖² (two rows): to [0.99, 1.02] at 10³T*.")
    .in_symbols(r"\mathrm{Excess} \simeq \frac{KD(D-K)}{4\eta T}")
    .judged(over_law("excess"), lm.within(0.99, 1.02, by="every", predicted=1.0), FROZEN),
    lm.Claim("t3-continuous", "Theorem 3.1, derived", "limit", source="derived")
    .states("""The continuous limit, from which the late rates and constants are read, follows the recursion: at 10³,
        10⁴ and 10⁵ steps of η = 0.05 C_1, p and the excess loss differ by at most η/10, relative, for three sizes and
        three activations.""")
    .in_symbols(r"""\left|\frac{\text{recursion}}{\text{continuous limit}}-1\right| \le \eta/10 \quad \text{for } C_1,\
        p,\ \mathrm{Excess}""")
    .judged(limit_error(), lm.at_most(ETA / 10), lm.Control("the recursion with 2η", times=2.0)),
    *dimension_claims(
        "t3-dimension", "Theorem 3.1(3)", "At fixed ηT and K, the excess loss", "excess", (4.0, 0.4), (2.0, 0.05)
    ),
)
